"""Reads Parquet files of any origin; each fault is an `InputError` of one line.

A module of its own, as pyarrow takes 30 MB that commands on CSV files spare.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fcconan.data.addresses import one_line
from fcconan.errors import InputError

# Damage shows in many places: thrift, zstd, base64, UTF-8 of names and values, sizes beyond the memory.
_FAULTS = (OSError, pa.ArrowException, ValueError, TypeError, LookupError, MemoryError, OverflowError)


def read_table(path: Path) -> pa.Table:
    """Reads a file and checks all of its values.

    One thread reads, as pyarrow's own may still hold the file when Python ends, which aborts the process
    (apache/arrow#33975).

    Raises:
        InputError: The file cannot be read.
    """
    with _opened(path) as file:
        table = file.read(use_threads=False)
        table.validate(full=True)
        return table


def read_batches(path: Path, size: int) -> Iterator[list[dict[str, Any]]]:
    """Yields the rows of a file in lists, each of which has been checked.

    Args:
        path: The file.
        size: Most rows of a list.

    Raises:
        InputError: The file cannot be read.
    """
    with _opened(path) as file:
        for batch in file.iter_batches(size, use_threads=False):
            batch.validate(full=True)
            yield batch.to_pylist()


def read_schema(path: Path) -> pa.Schema:
    """Reads names, types and metadata of the columns.

    Raises:
        InputError: The file cannot be read.
    """
    with _opened(path) as file:
        return file.schema_arrow


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with path.open("rb") as raw:  # pyarrow opens no path that is not Unicode
            file = pq.ParquetFile(raw)
            _ = file.schema_arrow.names  # which fails where a name is not UTF-8
            yield file
    except _FAULTS as error:
        if isinstance(error, OSError) and error.strerror:  # of the file system
            raise InputError(f"{path} cannot be read ({error.strerror}): check the path") from error
        raise InputError(f"{path} cannot be read ({one_line(error)}): get or build this Parquet file again") from error
