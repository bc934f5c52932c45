"""Files of rows, CSV, TSV, JSONL or parquet: read one row at a time, written whole or not at all."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fcconan.data.atomic_files import is_special, may_be_written
from fcconan.data.columns import renamed
from fcconan.data.schemas import DTYPES, LIST_TYPES, Columns
from fcconan.data.stale_files import leftovers, mark
from fcconan.errors import InputError

SUFFIXES = (".parquet", ".jsonl", ".csv", ".tsv")
_CELLS = {".csv": ",", ".tsv": "\t"}  # what stands between cells
_BATCH = 2_000
_SEPARATORS = {";": ("semicolons", "with commas"), "\t": ("tabs", "with commas, or under a name in .tsv")}
Row = dict[str, Any]


def read_rows(path: Path) -> Iterator[Row]:
    """Yields the rows of a file; cells of CSV and TSV stay text, and empty ones are None.

    TSV has quotation marks around cells as CSV has, which is how spreadsheets and pandas write it.

    Raises:
        InputError: The file cannot be read as what its name says.
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
        said = " ".join(str(error.strerror or error).split())[:200]
        raise InputError(f"{path} cannot be read ({said}): check the path") from error
    except (ValueError, OverflowError) as error:  # pyarrow's, and dates after the year 9999
        raise InputError(f"{path} cannot be read ({' '.join(str(error).split())[:200]}): check the file") from error


def read_typed_rows(path: Path, columns: Columns, rename: Mapping[str, str] | None = None) -> Iterator[Row]:
    """Yields the rows of a file that `RowWriter` wrote, with numbers and truth values also where it is CSV or TSV.

    Args:
        path: The file.
        columns: Names and types of the columns; others are left as they are.
        rename: Name of a column here -> its name in the file.

    Raises:
        InputError: The file cannot be read, or a cell is not of its column's type.
    """
    kinds = {name: DTYPES[kind] for name, kind in columns.items() if kind not in LIST_TYPES}
    for number, read in enumerate(read_rows(path), start=1):
        row = renamed(read, rename) if rename else read
        if path.suffix in _CELLS:
            row |= {name: _typed(row[name], kinds[name], path, number, name) for name in kinds.keys() & row.keys()}
        yield row


def _typed(cell: str | None, kind: str, path: Path, number: int, name: str) -> Any:
    if cell is None or kind == "string":
        return cell
    try:
        return {"True": True, "False": False}[cell] if kind == "bool" else {"int32": int, "float64": float}[kind](cell)
    except (KeyError, ValueError):
        expected = {"bool": "True or False", "int32": "a whole number", "float64": "a number"}[kind]
        raise InputError(f"{path}, row {number}: {name} is {cell!r}, expected {expected}; mend that cell") from None


class RowWriter:
    """Writes rows as they come, under a temporary name that becomes the file's at the end.

    What killed processes left of the same file is removed.

    Args:
        path: The file; its suffix says how it is written.
        columns: Names and types of the columns. Further values of a row are left out.

    Raises:
        InputError: The file cannot be written.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        _check_suffix(path)
        self.path, self.columns = path, columns
        self._prefix = f".{path.name}."
        self._temporary = path.with_name(mark(self._prefix) + "rows")
        self._waiting: list[Row] = []
        self._parquet: Any = None
        self._file: Any = None

    def __enter__(self) -> Self:
        with suppress(OSError):  # a folder that cannot be listed may still be written
            for stale in leftovers(self.path.parent, self._prefix):
                stale.unlink()
        if is_special(self.path):
            raise InputError(f"{self.path} is a device, a pipe or a socket: choose another file")
        try:
            if self.path.suffix == ".parquet":
                import pyarrow.parquet as pq

                self._file = self._temporary.open("wb")
                self._parquet = pq.ParquetWriter(self._file, self._schema())
            else:
                self._file = self._temporary.open("w", encoding="utf-8", newline="")
                if self.path.suffix in _CELLS:
                    self._table().writerow(self.columns)
        except OSError as error:
            raise self._unwritable(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
            self._close()
            if kind is None:
                self._temporary.replace(self.path)
        except OSError as failure:
            raise self._unwritable(failure) from failure
        finally:
            with suppress(OSError):
                self._close()
            with suppress(OSError):
                self._temporary.unlink()

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes rows.

        Raises:
            InputError: The disk is full.
        """
        self._waiting += [{name: row.get(name) for name in self.columns} for row in rows]
        if len(self._waiting) >= _BATCH:
            try:
                self._flush()
            except OSError as error:
                raise self._unwritable(error) from error

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
        # A cell is quoted if it holds a character of the line's end: both kinds, so that both are safe.
        between = _CELLS[self.path.suffix]
        return csv.writer(_LineFeeds(self._file), delimiter=between, lineterminator="\r\n")

    def _close(self) -> None:
        for each in (self._parquet, self._file):
            if each is not None:
                each.close()
        self._parquet = self._file = None

    def _schema(self) -> Any:
        import pyarrow as pa

        kinds = {"string": pa.string(), "int32": pa.int32(), "float64": pa.float64(), "bool": pa.bool_()}
        return pa.schema(
            [
                (name, pa.list_(kinds[DTYPES[kind]]) if kind in LIST_TYPES else kinds[DTYPES[kind]])
                for name, kind in self.columns.items()
            ]
        )

    def _unwritable(self, error: OSError) -> InputError:
        return InputError(f"{self.path} cannot be written ({error.strerror or error}): choose another file")


class _LineFeeds:
    """Ends lines that come with carriage return and line feed in the line feed alone."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, line: str) -> None:
        self._file.write(line.removesuffix("\r\n") + "\n")


def check_row_target(path: Path) -> None:
    """Checks before long work that a file of rows can be written.

    Raises:
        InputError: It cannot.
    """
    _check_suffix(path)
    if not may_be_written(path):
        raise InputError(f"{path} cannot be written: choose another file, in a folder that is there")


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | tuple | dict) else value


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path} is no file of rows: expected a name that ends in {', '.join(SUFFIXES)}")


def _object(path: Path, number: int, line: str) -> Row:
    try:
        row = json.loads(line)
        if "\\ud" in line.lower():  # half a character can neither be sent nor be written
            json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise InputError(f"{path}, line {number}: {half!a} is half a character; mend that line") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}, line {number}: not JSON ({error}); mend that line") from error
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
        for cells in reader:
            if cells and len(cells) != len(header):
                raise InputError(
                    f"{path}, line {reader.line_num}: found {len(cells)} cells, expected {len(header)}; mend that line"
                )
            if cells:
                yield {name: cell or None for name, cell in zip(header, cells, strict=True)}
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: not {path.suffix[1:].upper()} ({error}); mend that line"
        ) from error
