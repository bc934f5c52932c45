"""The reader of rows: files, dataset folders, names and objects as data frames of one kind of row."""

import hashlib
import io
import json
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data.columns import JUDGEMENT, MAPPED_COLUMNS, NEEDED
from fcconan.data.content import did_you_mean
from fcconan.data.files import SUFFIXES, list_configs, part_files
from fcconan.data.ids import cell_text, is_missing, name_with_hash
from fcconan.data.manifest import MANIFEST, read_manifest
from fcconan.data.schemas import COMPARISON, PAIR, RATING, REPLY, VOTE
from fcconan.data.tables import open_table
from fcconan.errors import InputError
from fcconan.groups import Rows
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

    # A path, the name of a dataset, a data frame, a `datasets.Dataset`, a result, or mappings.
    RowSource = str | PathLike[str] | Iterable[Any] | Result
else:
    RowSource = str  # on the command line

IDS = ("reply_id", "item_id", "hs_id", "pair_id", "reply_a", "reply_b", "rater", "system", "system_a", "system_b")
NUMBERS = ("value", "low", "high", "selection_probability", "score", "rank")
_KNOWN = {name for schema in (RATING, COMPARISON, VOTE, REPLY, PAIR) for name in schema.kinds} | {
    "source_id",
    "selection_probability",
}


def read(kind: str | Sequence[str], *sources: RowSource, rows: Rows = Rows()) -> tuple["DataFrame", str]:
    """Reads sources of one kind of row as one data frame.

    A source is a file (CSV with commas, semicolons or tabs in UTF-8, UTF-16 or cp1252; JSON Lines; Parquet), the folder
    of a dataset, its name in the catalogue or on the Hub, a data frame, a `datasets.Dataset`, a result, or mappings.
    Ratings may have one column for each aspect instead of `aspect` and `value`. Ratings of a dataset get item and
    system from its replies.

    Args:
        kind: `ratings`, `comparisons`, `votes`, `replies` or `pairs`; of several, the first that a dataset has.
        sources: The sources.
        rows: Split, names of columns, and filters.

    Returns:
        The rows, with ids as text, numbers as floats and None for missing cells; and the name of the data with its
        hash, for the identity of a result.

    Raises:
        InputError: A source does not exist or cannot be read, columns are missing, a cell is not a number, or no row
            is left.
    """
    import pandas as pd

    kinds = (kind,) if isinstance(kind, str) else kind
    if not sources:
        raise InputError(f"found no source of {' or '.join(kinds)}: give at least one file, folder or name")
    parts = [_read_one(kinds, source, rows) for source in sources]
    frame, name = pd.concat([part for part, _ in parts], ignore_index=True), "+".join(name for _, name in parts)
    for column, given in rows.filter.items():
        wanted = {cell_text(value) for value in ([given] if isinstance(given, str) else given)}
        _check_columns(name, [column], frame)
        texts = frame[column].map(cell_text)
        if unknown := wanted - set(texts):
            there = ", ".join(sorted(set(texts))[:20])
            raise InputError(f"found no row with {column} {', '.join(sorted(unknown))}: choose among {there}")
        frame, name = frame[texts.isin(wanted)], f"{name}({column}={'/'.join(sorted(wanted))})"
    if frame.empty:
        raise InputError(f"{name} has no rows left: check the file and the filters")
    return frame.reset_index(drop=True), name


def _read_one(kinds: Sequence[str], source: Any, rows: Rows) -> tuple["DataFrame", str]:
    """Returns the rows of one source with the columns of this package, and its name with a hash."""
    import pandas as pd

    if isinstance(source, str | PathLike):
        # By its name, as building is above this package; only the name of a dataset in the catalogue is built.
        path = pkgutil.resolve_name("fcconan.services:dataset_folder")(source)
        frame, name = _read_path(kinds, path, rows.split)
    else:
        frame = _from_memory(source, rows.split)
        name = f"rows@{hashlib.sha256(frame.to_json(orient='split', default_handler=str).encode()).hexdigest()[:12]}"
    if unknown := [ours for ours in rows.rename if ours not in MAPPED_COLUMNS]:
        raise InputError(
            f"rows have no column {unknown[0]!r}: {did_you_mean(unknown[0], MAPPED_COLUMNS)}choose another"
        )
    _check_columns(name, rows.rename.values(), frame)
    frame = frame.assign(**{ours: frame[theirs] for ours, theirs in rows.rename.items()})
    # The kind whose judgement is there, otherwise whose other columns are there: the message below names its columns.
    kind = max(kinds, key=lambda each: (JUDGEMENT.get(each) in frame, len({*NEEDED.get(each, ())} & {*frame})))
    if kind == "ratings" and {"reply_id", "rater"} <= set(frame) and not {"aspect", "value"} & set(frame):
        frame = _melted(frame.drop(columns={*rows.rename.values()} - {*rows.rename}))
    if kind == "replies" and not {"reply_id", "item_id", "system"} <= set(frame):
        frame = open_table("replies", [frame], complete=False).to_frame()  # the old reader derives the ids
    _check_columns(name, NEEDED[kind] if kind != "replies" else (), frame)
    for column in frame.columns.intersection(IDS):
        frame[column] = frame[column].map(lambda cell: None if is_missing(cell) else cell_text(cell))
    for column in frame.columns.intersection(NUMBERS):
        numbers = pd.to_numeric(frame[column], errors="coerce")
        if (wrong := numbers.isna() & frame[column].notna()).any():
            place = int(wrong.to_numpy().argmax())
            raise InputError(
                f"{name}, row {place + 1}: {column} is {frame[column].iloc[place]!r}, expected a number, or nothing "
                "where it is missing"
            )
        frame[column] = numbers.astype(float)
    return frame, name


def _check_columns(name: str, columns: Iterable[str], frame: "DataFrame") -> None:
    if lost := [column for column in columns if column not in frame]:
        cure = " ".join(f"--rename.{column} COLUMN" for column in lost)
        raise InputError(f"{name} has no column {', '.join(lost)}, only {', '.join(frame)}: name it with {cure}")


def _read_path(kinds: Sequence[str], path: Path, split: str | None) -> tuple["DataFrame", str]:
    import pandas as pd

    if path.suffix in SUFFIXES:
        if split is not None:
            raise InputError(f"{path} is a file and has no splits: leave --split out")
        return _read_file(path), name_with_hash(path)
    there = [each for each in kinds if any((path / each).glob(f"{split or '*'}-*.parquet"))]
    kind = [*there, *kinds][0]
    files = part_files(path, split, kind)
    frame = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    if kind == "ratings" and "system" not in frame and "replies" in list_configs(path):
        frame = add_replies(frame, pd.concat([pd.read_parquet(file) for file in (path / "replies").glob("*.parquet")]))
    if not (path / MANIFEST).is_file():
        return frame, "+".join(map(name_with_hash, files))
    manifest = read_manifest(path)
    return frame, f"{manifest['name']}@{manifest['fingerprint']}" + (f"/{split}" if split else "")


def add_replies(ratings: "DataFrame", replies: "DataFrame") -> "DataFrame":
    """Returns ratings with the item and the system of the rated replies.

    Raises:
        InputError: A rated reply is not among the replies.
    """
    about = replies[["reply_id", "item_id", "system"]].drop_duplicates("reply_id")
    found = ratings.drop(columns=["item_id", "system"], errors="ignore").merge(about, on="reply_id", how="left")
    if (lost := found["system"].isna()).any():
        raise InputError(
            f"the replies lack {lost.sum()} of {len(found)} rated ones, such as {found['reply_id'][lost].iloc[0]}: "
            "give the replies that were rated"
        )
    return found


def _read_file(path: Path) -> "DataFrame":
    import pandas as pd

    if not path.is_file():
        raise InputError(f"there is no file {path}: check the path")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        text = _decoded(path)
        if path.suffix == ".jsonl":
            return pd.DataFrame([json.loads(line) for line in text.split("\n") if line.strip()])
        separator = max(",;\t", key=text.partition("\n")[0].count)
        # Texts such as `None` and `NA` are texts; an empty cell is missing.
        frame = pd.read_csv(io.StringIO(text), sep=separator, dtype=str, keep_default_na=False, skipinitialspace=True)
        return frame.rename(columns=str.strip).replace("", None)
    except ValueError as error:  # also those of pyarrow and pandas
        raise InputError(f"{path} cannot be read ({error}): check the file") from error


def _decoded(path: Path) -> str:
    """Returns the text of a file in UTF-8, UTF-16 with its mark, or cp1252, as spreadsheets write them."""
    raw = path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252")


def _from_memory(source: Any, split: str | None) -> "DataFrame":
    import pandas as pd

    if isinstance(source, Result):
        return source.to_frame().copy()
    if isinstance(source, Mapping) and hasattr(source, "num_rows"):  # a `datasets.DatasetDict`
        if split not in source:
            raise InputError(f"the dataset has the splits {', '.join(source)}: choose one with --split")
        source = source[split]
    if hasattr(source, "to_pandas"):  # a `datasets.Dataset`
        return source.to_pandas()
    return source.copy() if isinstance(source, pd.DataFrame) else pd.DataFrame([*source])


def _melted(frame: "DataFrame") -> "DataFrame":
    """Returns ratings with a column for each aspect as one row for each aspect."""
    import pandas as pd

    aspects = [
        name for name in frame if name not in _KNOWN and pd.to_numeric(frame[name], errors="coerce").notna().any()
    ]
    kept = [name for name in frame if name in _KNOWN]
    return frame.melt(id_vars=kept, value_vars=aspects, var_name="aspect", value_name="value")
