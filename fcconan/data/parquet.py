"""Reads Parquet files; each fault is an `InputError` of one line.

A separate module, so that commands on CSV files do not load pyarrow (30 MB).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fcconan.data.messages import one_line
from fcconan.errors import InputError

# Errors of damaged files: thrift, zstd, base64, UTF-8 of names and values, sizes beyond the memory.
_FAULTS = (OSError, pa.ArrowException, ValueError, TypeError, LookupError, MemoryError, OverflowError)


def read_table(path: Path) -> pa.Table:
    """Reads a file and checks all of its values.

    Uses one thread: threads of pyarrow that still hold the file when Python ends abort the process
    (apache/arrow#33975).

    Raises:
        InputError: The file cannot be read.
    """
    with _opened(path) as file:
        table = file.read(use_threads=False)
        table.validate(full=True)
        return table


def read_batches(path: Path, size: int) -> Iterator[list[dict[str, Any]]]:
    """Yields the rows of a file in validated lists.

    Args:
        path: The file.
        size: Maximum number of rows in a list.

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
        with path.open("rb") as raw:  # pyarrow cannot open paths that are not Unicode
            file = pq.ParquetFile(raw)
            _ = file.schema_arrow.names  # fails if a name is not UTF-8
            yield file
    except _FAULTS as error:
        if isinstance(error, OSError) and error.strerror:  # of the file system
            raise InputError(f"{path} cannot be read ({error.strerror}): check the path") from error
        raise InputError(f"{path} cannot be read ({one_line(error)}): get or build this Parquet file again") from error
