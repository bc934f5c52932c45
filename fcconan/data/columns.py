"""Column mapping: from the columns of a file to those of this package.

A mapping is `NAME=COLUMN` in options. NAME is a column of this package, and COLUMN is its name in the file.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fcconan.data.schemas import COMPARISON, DTYPES, PAIR, RANKING, RATING, REPLY, VOTE
from fcconan.errors import InputError

# The column of the judgement. A file with a column for each rater has the judgements in those columns instead.
JUDGEMENT = {"ratings": "value", "comparisons": "verdict", "votes": "label"}
# Required columns of each kind of row.
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


def rename_columns(row: Mapping[str, Any], rename: Mapping[str, str]) -> dict[str, Any]:
    """Returns a row with the mapped columns added under the names of this package; missing columns are skipped.

    >>> rename_columns({"who": "anna", "rater": "old"}, {"rater": "who", "value": "grade"})
    {'who': 'anna', 'rater': 'anna'}
    """
    return {**row, **{name: row[theirs] for name, theirs in rename.items() if theirs in row}}


def first_column(row: Mapping[str, Any], name: str) -> str | None:
    """Returns the first name of a text column that a row has, or None."""
    return next((each for each in (name, *OTHER_NAMES.get(name, ())) if each in row), None)


def check_there(name: str, lost: Sequence[str], row: Mapping[str, Any], cure: str = "name one of these") -> None:
    """Raises one error for all missing columns of a source.

    Args:
        name: Name of the source.
        lost: Missing columns; may be empty.
        row: A row, whose columns the message lists.
        cure: Advice at the end of the message.

    Raises:
        InputError: Columns are missing.
    """
    if lost:
        columns = f"column{'s' * (len(lost) > 1)} {', '.join(map(repr, dict.fromkeys(lost)))}"
        raise InputError(f"{name} has no {columns}, but {', '.join(row) or 'none'}: {cure}")


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
