"""Files of rows in CSV, TSV, JSONL or Parquet, and the files of dataset folders."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fcconan.data.atomic import new_file
from fcconan.data.content import check_built
from fcconan.data.messages import one_line
from fcconan.data.schemas import DTYPES, LIST_TYPES, Columns
from fcconan.errors import InputError


def parse_json(text: str | bytes) -> Any:
    """Parses JSON.

    Args:
        text: The JSON text.

    Returns:
        The value.

    Raises:
        ValueError: The text is not JSON, or its arrays and objects are nested too deeply, for which the parser of
            Python raises `RecursionError`.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("its arrays and objects are nested too deeply") from error


def read_text(path: Path) -> str:
    """Reads a file of text in UTF-8, with or without a byte order mark.

    Raises:
        InputError: The file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8: save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path") from error


SUFFIXES = (".parquet", ".jsonl", ".csv", ".tsv")
_CELLS = {".csv": ",", ".tsv": "\t"}  # separator of cells
_BATCH = 2_000
_SEPARATORS = {";": ("semicolons", "with commas"), "\t": ("tabs", "with commas, or under a name in .tsv")}
Row = dict[str, Any]


def read_rows(path: Path) -> Iterator[Row]:
    """Yields the rows of a file. Cells of CSV and TSV are strings; empty cells are None.

    TSV is quoted like CSV, as spreadsheets and pandas write it.

    Raises:
        InputError: The file cannot be read in the format of its suffix.
    """
    _check_suffix(path)
    try:
        if path.suffix == ".parquet":
            from fcconan.data.parquet import read_batches

            for rows in read_batches(path, _BATCH):
                yield from rows
        elif path.suffix == ".jsonl":
            with path.open(encoding="utf-8-sig") as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield _object(path, number, line)
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                yield from _cells(path, file)
    except UnicodeDecodeError as error:
        found = error.object[error.start]
        raise InputError(f"{path} holds the byte 0x{found:02x}, which is not UTF-8 there: save it as UTF-8") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({one_line(error.strerror or error)}): check the path") from error
    except (ValueError, OverflowError) as error:  # pyarrow's, and dates after the year 9999
        raise InputError(f"{path} cannot be read ({one_line(error)}): check the file") from error


class RowWriter:
    """Writes rows one batch at a time to a temporary file, which replaces the target file at the end.

    Args:
        path: The file. Its suffix determines the format.
        columns: Names and types of the columns. Further values of a row are left out.

    Raises:
        InputError: The file cannot be written.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        _check_suffix(path)
        self.path, self.columns = path, columns
        self._stack = ExitStack()
        self._waiting: list[Row] = []
        self._parquet: Any = None
        self._file: Any = None

    def __enter__(self) -> Self:
        with self._writing(), ExitStack() as stack:
            temporary = stack.enter_context(new_file(self.path))
            if self.path.suffix == ".parquet":
                self._file = stack.enter_context(temporary.open("wb"))
                import pyarrow.parquet as pq

                self._parquet = stack.enter_context(pq.ParquetWriter(self._file, self._schema()))
            else:
                self._file = stack.enter_context(temporary.open("w", encoding="utf-8", newline=""))
                if self.path.suffix in _CELLS:
                    self._table().writerow(self.columns)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._writing():
            if error is not None:
                self._stack.__exit__(kind, error, trace)
                return
            with self._stack:
                self._flush()

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes rows.

        Raises:
            InputError: The disk is full.
        """
        self._waiting += [{name: row.get(name) for name in self.columns} for row in rows]
        if len(self._waiting) >= _BATCH:
            with self._writing():
                self._flush()

    def _flush(self) -> None:
        rows, self._waiting = self._waiting, []
        if self._parquet is not None:
            import pyarrow as pa

            if rows:
                self._parquet.write_table(pa.Table.from_pylist(rows, schema=self._schema()))
        elif self.path.suffix == ".jsonl":
            self._file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            self._table().writerows([_cell(row[name]) for name in self.columns] for row in rows)

    def _table(self) -> Any:
        # The writer quotes cells with a character of its line end. CRLF covers both characters.
        between = _CELLS[self.path.suffix]
        return csv.writer(_LineFeeds(self._file), delimiter=between, lineterminator="\r\n")

    def _schema(self) -> Any:
        import pyarrow as pa

        kinds = {"string": pa.string(), "int32": pa.int32(), "float64": pa.float64(), "bool": pa.bool_()}
        return pa.schema(
            [
                (name, pa.list_(kinds[DTYPES[kind]]) if kind in LIST_TYPES else kinds[DTYPES[kind]])
                for name, kind in self.columns.items()
            ]
        )

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"{self.path} cannot be written ({error.strerror or error}): choose another file"
            ) from error


class _LineFeeds:
    """Replaces CRLF at the ends of lines with LF."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, line: str) -> None:
        self._file.write(line.removesuffix("\r\n") + "\n")


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple | dict) else value


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path} has an unknown suffix: expected a name that ends in {', '.join(SUFFIXES)}")


def _object(path: Path, number: int, line: str) -> Row:
    try:
        row = json.loads(line)
        if "\\ud" in line.lower():  # half a character can neither be sent nor be written
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise InputError(f"{path}, line {number}: {half!a} is half a character; correct the line") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}, line {number}: not JSON ({error}); correct the line") from error
    if not isinstance(row, dict):
        raise InputError(f"{path}, line {number}: found {line.strip()[:40]}, expected a JSON object")
    return row


def _cells(path: Path, file: Any) -> Iterator[Row]:
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(file, strict=True, delimiter=_CELLS[path.suffix])
    try:
        header = next(reader, None)
        if header is None:
            return
        alone = header[0] if path.suffix == ".csv" and len(header) == 1 else ""
        for mark_between, (name, how) in _SEPARATORS.items():
            if mark_between in alone:
                raise InputError(f"{path} seems to have {name} between its cells: save it {how}")
        if len(set(header)) < len(header):
            raise InputError(f"{path}: two columns have one name; rename one of them")
        for cells in filter(None, reader):
            if len(cells) != len(header):
                raise csv.Error(f"found {len(cells)} cells, expected {len(header)}")
            yield {name: cell or None for name, cell in zip(header, cells, strict=True)}
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: not {path.suffix[1:].upper()} ({error}); correct the line"
        ) from error


def row_file(path: Path) -> Path:
    """Returns the path of an existing file of rows.

    Raises:
        InputError: The path is a folder, or does not exist.
    """
    if path.is_dir():
        raise InputError(f"{path} is a folder; expected a file of rows: give a dataset's folder another name")
    if not path.is_file():
        raise InputError(f"there is no file {path}: check the path")
    return path


def part_files(folder: Path, split: str | None, part: str) -> list[Path]:
    """Returns the files of one split of one part of a dataset folder.

    Raises:
        InputError: The folder, part or split does not exist.
    """
    if folder.name == "demo-dataset" and not folder.exists():
        raise InputError(f"there is no folder {folder} yet: `fcconan build demo --out demo-dataset` writes it")
    check_built(str(folder))
    if not folder.is_dir():
        raise InputError(
            f"{folder} is neither a dataset folder nor a file of rows: give a folder that `fcconan build` wrote, or a "
            f"file that ends in {', '.join(SUFFIXES)}"
        )
    if any(folder.glob("*.parquet")) and not any(folder.glob("*/*.parquet")):
        config = folder if folder.name not in ("", "..") else folder.resolve()
        raise InputError(f"{folder} is the config {config.name} of a dataset, not its folder: give {config.parent}")
    found = sorted((folder / part).glob("*.parquet"))
    if not found:
        there = ", ".join(sorted(list_configs(folder)))
        cure = f"{there}; choose one of these, or another dataset" if there else "no parquet files; run `fcconan build`"
        raise InputError(f"{folder} has no config {part!r}: it has {cure}")
    splits = sorted({path.name.split("-")[0] for path in found})
    if split is None and len(splits) > 1:
        raise InputError(f"{folder / part} has the splits {', '.join(splits)}: choose one with --split")
    if split is not None and split not in splits:
        raise InputError(f"{folder / part} has no split {split!r}: it has {', '.join(splits)}")
    return [path for path in found if path.name.split("-")[0] == (split or splits[0])]


def list_configs(folder: Path) -> set[str]:
    """Returns the configs of a dataset folder."""
    return {file.parent.name for file in folder.glob("*/*.parquet")}
