"""Files of rows in CSV, TSV, JSONL or Parquet, and the files of dataset folders."""

import csv
import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError

if TYPE_CHECKING:
    import pyarrow
    from pandas import DataFrame

SUFFIXES = (".parquet", ".jsonl", ".csv", ".tsv")
ROW = "row number"  # name of an index


def read_text(path: Path) -> str:
    """Returns the text of a file in UTF-8, UTF-16 or cp1252, as spreadsheets write them."""
    raw = path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or raw[1:2] == b"\0":
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252")


def read_file(path: Path) -> "DataFrame":
    """Returns the rows of a file as a data frame, by the numbers that a spreadsheet shows: 1 is the header.

    Cells of CSV and TSV are texts, such as `None` and `NA`; empty cells are None.

    Returns:
        The rows. If commas of a file may be decimal commas, `attrs["decimal"]` is ",".

    Raises:
        InputError: The file is missing, or cannot be read in the format of its suffix.
    """
    import pandas as pd

    if not path.is_file():
        raise InputError(f"there is no file {path}: check the path")
    if path.suffix not in SUFFIXES:
        raise InputError(f"found the file {path}, expected a name that ends in {', '.join(SUFFIXES)}")
    try:
        if path.suffix == ".parquet":
            return numbered(pd.read_parquet(path))
        if path.suffix == ".jsonl":
            return numbered(frame_of(_json_lines(read_text(path))))
        frame = read_cells(path)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): check the file") from error
    frame = frame.loc[:, ~frame.columns.str.fullmatch(r"(Unnamed: \d+)?")].replace("", None)  # indices of pandas
    return frame.loc[frame.notna().any(axis=1)]


def read_cells(path: Path, *, exact: bool = False) -> "DataFrame":
    """Returns the cells of a CSV file as texts, by row number, without empty lines.

    Args:
        path: The file. Its separator is the one that is most frequent in the header.
        exact: Whether spaces behind separators and around the names of columns stay.

    Raises:
        ValueError: The file is empty, or a row or a name of a column cannot be read.
    """
    import pandas as pd

    text, rows = read_text(path), dict[int, list[str]]()
    header = re.sub('"[^"]*"', "", next(io.StringIO(text.lstrip(), newline=""), ""))
    separator = max(",;\t", key=header.count)
    separator = separator if separator in header else "\x1f"  # one column, whose texts may have commas
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=not exact, strict=True)
    number = 0
    try:
        for number, row in enumerate(lines, start=1):
            if row:
                rows[number] = row
    except csv.Error as error:
        raise ValueError(f"row {number + 1}: {error}; look for a quotation mark that is not closed") from error
    if not rows:
        raise ValueError("it is empty")
    names = rows.pop(min(rows))
    names = names if exact else [name.strip() for name in names]
    if twice := [name for name in names if name and names.count(name) > 1]:
        raise ValueError(f"two columns have the name {twice[0]!r}; rename one")
    if long := [number for number, row in rows.items() if len(row) > len(names)]:
        found = f"row {long[0]} has {len(rows[long[0]])} cells, the header {len(names)}"
        raise ValueError(f"{found}; a cell with {separator!r} needs quotation marks")
    cells = [row + [""] * (len(names) - len(row)) for row in rows.values()]
    frame = pd.DataFrame(cells, pd.Index(rows, name=ROW), names, dtype=object)
    frame.attrs = {} if separator == "," else {"decimal": ","}
    return frame


def numbered(frame: "DataFrame") -> "DataFrame":
    """Returns rows by row number, as `read_file` does; the first row of other data is 1."""
    import pandas as pd

    if frame.index.name == ROW:
        return frame
    return frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name=ROW))


def frame_of(rows: Iterable[Any]) -> "DataFrame":
    """Returns mappings as a data frame; whole numbers of a column with missing cells stay whole: ids may be long."""
    import pandas as pd

    frame = pd.DataFrame([*rows], dtype=object)
    ids = [name for name in frame if frame[name].isna().any() and frame[name].dropna().map(type).eq(int).all()]
    return frame.infer_objects().assign(**{name: frame[name] for name in ids})


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a file; a row of JSONL has the keys of its line.

    Raises:
        InputError: As in `read_file`.
    """
    if path.suffix == ".parquet" and path.is_file():
        return list(read_table(path).to_pylist())
    if path.suffix == ".jsonl" and path.is_file():
        try:
            return _json_lines(read_text(path))
        except (TypeError, ValueError) as error:
            raise InputError(f"{path} cannot be read ({error}): check the file") from error
    frame = read_file(path)
    return list(frame.to_dict("records"))


def _json_lines(text: str) -> list[dict[str, Any]]:
    return [dict(json.loads(line)) for line in text.split("\n") if line.strip()]


def read_table(path: Path) -> "pyarrow.Table":
    """Returns the table of a Parquet file.

    One thread reads it: threads of pyarrow that still hold the file when Python ends abort the process
    (apache/arrow#33975).
    """
    import pyarrow.parquet as pq

    return pq.read_table(path, use_threads=False)


def part_files(folder: Path, split: str | None, part: str) -> list[Path]:
    """Returns the files of one split of one part of a dataset folder.

    Raises:
        InputError: The folder, part or split does not exist.
    """
    if not folder.is_dir():
        raise InputError(
            f"{folder} is neither a dataset folder nor a file of rows: give a folder that `fcconan build` wrote, or a "
            f"file that ends in {', '.join(SUFFIXES)}; save a spreadsheet as CSV"
        )
    found = sorted((folder / part).glob("*.parquet"))
    if not found:
        there = ", ".join(sorted(list_configs(folder))) or "no parquet files"
        raise InputError(f"{folder} has no config {part!r}, only {there}: choose another, or another dataset")
    splits = sorted({path.name.split("-")[0] for path in found})
    if split is None and len(splits) > 1:
        raise InputError(f"{folder / part} has the splits {', '.join(splits)}: choose one with --split")
    if split is not None and split not in splits:
        raise InputError(f"{folder / part} has no split {split!r}, only {', '.join(splits)}: choose one of these")
    return [path for path in found if path.name.split("-")[0] == (split or splits[0])]


def list_configs(folder: Path) -> set[str]:
    """Returns the configs of a dataset folder."""
    return {file.parent.name for file in folder.glob("*/*.parquet")}
