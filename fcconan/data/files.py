"""Files of rows in CSV, TSV, JSONL or Parquet, and the files of dataset folders."""

import io
import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError

if TYPE_CHECKING:
    import pyarrow
    from pandas import DataFrame

SUFFIXES = (".parquet", ".jsonl", ".csv", ".tsv")


def read_text(path: Path) -> str:
    """Returns the text of a file in UTF-8, UTF-16 with its mark, or cp1252, as spreadsheets write them."""
    raw = path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252")


def read_file(path: Path) -> "DataFrame":
    """Returns the rows of a file as a data frame. Cells of CSV and TSV are texts; empty cells are None.

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
            return pd.read_parquet(path)
        text = read_text(path)
        if path.suffix == ".jsonl":
            return frame_of(_json_lines(text))
        separator = max(",;\t", key=text.partition("\n")[0].count)
        # Texts such as `None` and `NA` are texts; an empty cell is missing.
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows with more cells than the header
            how: dict[str, Any] = {"dtype": str, "keep_default_na": False, "skipinitialspace": True, "index_col": False}
            frame = pd.read_csv(io.StringIO(text), sep=separator, **how)
    except (TypeError, ValueError, pd.errors.ParserWarning) as error:
        raise InputError(f"{path} cannot be read ({error}): check the file") from error
    if separator == ";":  # of spreadsheets with a decimal comma
        frame = frame.replace(r"^(-?\d+),(\d+)$", r"\1.\2", regex=True)
    frame = frame.loc[:, ~frame.columns.str.startswith("Unnamed:")]  # without a name, such as an index
    frame = frame.rename(columns=str.strip).replace("", None).astype(object)
    return frame.where(frame.notna(), None)


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
            f"file that ends in {', '.join(SUFFIXES)}"
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
