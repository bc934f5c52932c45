"""Column mapping: the names that the columns of a file have here, from options and from YAML files next to the data.

A mapping is written the same way everywhere: `NAME=THEIRS` in options, `NAME: THEIRS` in a YAML file, where NAME is a
column of this package and THEIRS is its name in the file. `rows.columns.yaml` belongs to `rows.csv` alone, and all
columns that it names must be there. `columns.yaml` belongs to all files of its folder, each of which may lack some.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.data.schemas import COMPARISON, DTYPES, PAIR, RANKING, RATING, REPLY, VOTE, Columns
from fcconan.errors import InputError

COLUMNS_FILE = "columns.yaml"
KINDS = ("pairs", "votes", "replies", "ratings", "comparisons", "rankings")
# The column that holds the judgement of a rater; a file with a column for each rater has it under the raters' names.
JUDGEMENT = {"ratings": "value", "comparisons": "verdict", "votes": "label"}
# Columns that rows of a kind need.
NEEDED = {
    "ratings": ("reply_id", "rater", "aspect", "value"),
    "comparisons": ("item_id", "system_a", "system_b", "verdict"),
    "votes": ("pair_id", "rater", "label"),
    "replies": ("text", "hate_speech"),
}
# Columns that can be mapped.
MAPPED_COLUMNS = tuple(
    dict.fromkeys(
        [
            *(name for schema in (RATING, COMPARISON, VOTE, REPLY) for name in schema.kinds),
            *("pair_id", "source_id", "background", "selection_probability"),
            *(name for schema in (PAIR, RANKING) for name in schema.kinds),
        ]
    )
)
# Names of text columns in files of other projects.
OTHER_NAMES = {
    "text": ("counter_narrative", "counter_speech", "counterspeech", "reply", "response"),
    "hate_speech": ("hatespeech", "hateSpeech", "HATE_SPEECH", "HS", "hs"),
    "references": ("reference",),
    "counter_narrative": (
        "counternarrative", "counter_speech", "counterspeech", "counterSpeech", "COUNTER_NARRATIVE", "CN", "cn",
    ),
}  # fmt: skip
TEXTS = ("text", "hate_speech", "references")  # text columns of replies
WideColumns = dict[tuple[str, str], str]


def renamed(row: Mapping[str, Any], rename: Mapping[str, str]) -> dict[str, Any]:
    """Returns a row with further columns under the names of this package; columns that it lacks are left out.

    >>> renamed({"who": "anna", "rater": "old"}, {"rater": "who", "value": "grade"})
    {'who': 'anna', 'rater': 'anna'}
    """
    return {**row, **{name: row[theirs] for name, theirs in rename.items() if theirs in row}}


def first_name(row: Mapping[str, Any], name: str) -> str | None:
    """Returns the first name of a text column that a row has, or None."""
    return next((each for each in (name, *OTHER_NAMES.get(name, ())) if each in row), None)


def check_there(name: str, lost: Sequence[str], row: Mapping[str, Any], cure: str = "name one of these") -> None:
    """Refuses columns that a source lacks, all at once.

    Args:
        name: The source.
        lost: The columns that it lacks; none is no error.
        row: A row, whose columns are named.
        cure: What to do.

    Raises:
        InputError: There are such columns.
    """
    if lost:
        columns = f"column{'s' * (len(lost) > 1)} {', '.join(map(repr, dict.fromkeys(lost)))}"
        raise InputError(f"{name} has no {columns}, but {', '.join(row) or 'none'}: {cure}")


def read_mapping(file: Path) -> tuple[dict[str, str], bool]:
    """Reads the column mapping that lies next to a file.

    Args:
        file: A file of rows.

    Returns:
        The mapping, and whether it belongs to this file alone.

    Raises:
        InputError: The YAML file is not a mapping of known columns to names.
    """
    own = file.with_name(f"{file.stem}.{COLUMNS_FILE}")
    path = own if own.is_file() else file.with_name(COLUMNS_FILE)
    if not path.is_file():
        return {}, False
    from fcconan.data.yaml_files import YamlFile

    found: dict[str, str] = YamlFile(path).data
    for name, theirs in found.items():
        if not isinstance(theirs, str):
            found_value = "a block" if isinstance(theirs, dict) else repr(theirs)
            raise InputError(f"{path}: {name} is {found_value}, expected the name of a column, such as rater: who")
        if name not in MAPPED_COLUMNS:
            raise InputError(f"{path}: rows have no {name!r}, only {', '.join(MAPPED_COLUMNS)}")
    return found, path == own


def typed_row(row: Mapping[str, Any], columns: Columns, place: str) -> dict[str, Any]:
    """Returns a row whose texts are numbers and truth values where its columns have such a type.

    Args:
        row: The row.
        columns: Names and types of the columns; others are left as they are.
        place: The place of the row, for messages.

    Raises:
        InputError: A cell is not of its column's type.
    """
    return {name: _typed(cell, columns.get(name), place, name) for name, cell in row.items()}


def _typed(cell: Any, kind: str | None, place: str, name: str) -> Any:
    read, expected = _READ.get(DTYPES.get(kind or "", ""), (None, ""))
    if read is None or not isinstance(cell, str):
        return cell
    try:
        return read(cell)
    except (KeyError, ValueError):
        raise InputError(f"{place}: {name} is {cell!r}, expected {expected}; correct the cell") from None


_READ: dict[str, tuple[Callable[[str], Any], str]] = {
    "bool": ({"True": True, "False": False}.__getitem__, "True or False"),
    "int32": (int, "a whole number"),
    "float64": (float, "a number"),
}
