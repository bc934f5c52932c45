"""Parquet files that were damaged."""

import random
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.data import read_rows
from fcconan.data.parquet import read_batches, read_schema, read_table
from fcconan.errors import InputError


def whole_file(path: Path) -> None:
    texts = [f"The guild of bakers number {number} is open." for number in range(200)]
    tags = [["a", "bé"]] * 200
    pq.write_table(pa.table({"text": texts, "n": pa.array(range(200), pa.int32()), "tags": tags}), path)


def damaged(content: bytes, draw: random.Random) -> bytes:
    """Flips a bit, or overwrites bytes, of the pages or, once in five times, of the footer."""
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    at = draw.randrange(start, len(content) - 8) if draw.random() < 0.2 else draw.randrange(4, start)
    changed = bytearray(content)
    if draw.random() < 0.5:
        changed[at] ^= 1 << draw.randrange(8)
    else:
        changed[at : at + 3] = draw.choice((b"\xff\xfe\xfd", b"\0\0\0"))
    return bytes(changed[: len(content)])


@pytest.mark.parametrize("count", [300, pytest.param(20_000, marks=pytest.mark.long)])
def test_damage_is_one_line_wherever_it_is(tmp_path: Path, count: int) -> None:
    draw = random.Random(16)
    whole_file(tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    readers: tuple[Callable[[Path], object], ...] = (
        lambda path: read_table(path).to_pylist(),
        lambda path: list(read_batches(path, 50)),
        lambda path: list(read_rows(path)),
        lambda path: read_schema(path).names,
    )
    path = tmp_path / "folder" / "texts" / "test.parquet"
    path.parent.mkdir(parents=True)
    refused = 0
    for _ in range(count):
        path.write_bytes(damaged(content, draw))
        for reader in readers:
            try:
                reader(path)
            except InputError as error:
                refused += 1
                assert "\n" not in str(error)
                assert f"{path} cannot be read (" in str(error)
    assert refused > count


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"reply_id,text\n", b"PAR1\xff\xff\xff\x7fPAR1"])
def test_what_is_no_parquet_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"rows\.parquet cannot be read \(.+\): get or build this Parquet file"):
        read_table(path)


def test_text_that_is_not_utf_8_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    column = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    pq.write_table(pa.table({"text": column}), path)
    with pytest.raises(InputError, match=r"UTF-?8"):
        read_table(path)
