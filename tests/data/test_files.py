import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fcconan.data.files import RowWriter, read_rows
from fcconan.errors import InputError

SUFFIXES = [".parquet", ".jsonl", ".csv", ".tsv"]
COLUMNS = {"reply_id": "string", "text": "text", "references": "texts", "value": "float", "n": "int", "good": "bool"}
ODD = [
    "plain",
    "commas, \"quotes\", and 'others'",
    "line\nfeed",
    "carriage\rreturn",
    "both\r\n",
    "\r",
    "separators \u2028 \u2029 \x85 \x0b \x0c \x1c",
    "\ufeffmark at the beginning",
    " spaces ",
    "NA",
    "None",
    "null",
    "\\u00e9 \\ud83d \\",
    "😀é",
    "[1]",
    "\ttab",
    "#",
]


def row(text: str | None, **more: Any) -> dict[str, Any]:
    return {"reply_id": "r1", "text": text, "references": [], "value": 0.1, "n": 3, "good": True, **more}


ROWS = [
    *(row(text, references=[text, ""]) for text in ODD),
    row(None, references=None, value=None, n=None, good=None),
    row("last", value=1e-300, n=-(2**31), good=False),
]


def write(path: Path, rows: list[dict[str, Any]], columns: dict[str, str] = COLUMNS) -> Path:
    with RowWriter(path, columns) as writer:
        writer.write(rows)
    return path


def as_cells(given: dict[str, Any]) -> dict[str, str | None]:
    def cell(value: Any) -> str | None:
        if isinstance(value, list):
            return json.dumps(value, ensure_ascii=False)
        return None if value is None else str(value)

    return {name: cell(value) for name, value in given.items()}


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_rows_come_back_as_they_were_written(tmp_path: Path, suffix: str) -> None:
    found = list(read_rows(write(tmp_path / f"rows{suffix}", ROWS)))
    assert found == ([as_cells(each) for each in ROWS] if suffix in (".csv", ".tsv") else ROWS)
    assert [list(each) for each in found] == [list(COLUMNS)] * len(ROWS)
    assert [path.name for path in tmp_path.iterdir()] == [f"rows{suffix}"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_any_number_of_rows_and_calls_make_one_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix}"
    with RowWriter(path, {"text": "text"}) as writer:
        for start in range(0, 5_000, 50):
            writer.write([{"text": f"t{number}", "further": 1} for number in range(start, start + 50)])
        writer.write([])
    assert [each["text"] for each in read_rows(path)] == [f"t{number}" for number in range(5_000)]
    assert list(read_rows(write(path, [], {"text": "text"}))) == []


def test_lines_end_in_line_feeds_and_cells_are_quoted_where_they_must_be(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"a": "x", "b": "y\r"}, {"a": None, "b": "é"}, {"a": ["z"]}]
    assert write(tmp_path / "a.csv", rows, {"a": "text", "b": "text"}).read_bytes() == (
        'a,b\nx,"y\r"\n,é\n"[""z""]",\n'.encode()
    )
    assert write(tmp_path / "a.jsonl", rows, {"a": "text", "b": "text"}).read_text() == (
        '{"a": "x", "b": "y\\r"}\n{"a": null, "b": "é"}\n{"a": ["z"], "b": null}\n'
    )


def test_a_single_empty_cell_is_a_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", [{"a": None}, {"a": "x"}], {"a": "text"})
    assert list(read_rows(path)) == [{"a": None}, {"a": "x"}]


def test_parquet_has_the_types_of_the_columns_even_without_rows(tmp_path: Path) -> None:
    schema = pq.read_schema(write(tmp_path / "a.parquet", []))
    assert {name: str(kind) for name, kind in zip(schema.names, schema.types, strict=True)} == {
        "reply_id": "string",
        "text": "string",
        "references": "list<element: string>",
        "value": "double",
        "n": "int32",
        "good": "bool",
    }


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("rows", [1, 4_500])
def test_a_run_that_fails_leaves_the_earlier_file_and_nothing_else(tmp_path: Path, suffix: str, rows: int) -> None:
    path = write(tmp_path / f"rows{suffix}", ROWS[:1])
    before = path.read_bytes()

    def fail() -> None:
        with RowWriter(path, COLUMNS) as writer:
            for _ in range(rows):
                writer.write(ROWS[:1])
            raise ZeroDivisionError("own")

    with pytest.raises(ZeroDivisionError, match="own"):
        fail()
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (before, [path])


KILLED = """
import os, signal, sys
from pathlib import Path
from fcconan.data.files import RowWriter
with RowWriter(Path(sys.argv[1]), {"text": "text"}) as writer:
    for number in range(9_000):
        writer.write([{"text": "Ombrey"}])
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_run_that_is_killed_leaves_no_half_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix}"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr, path.exists()) == (-9, "", False)
    (half,) = tmp_path.iterdir()
    assert half.name.startswith(f".{path.name}.")
    others = [tmp_path / f".more{path.name}.host-1-rows", tmp_path / f".{path.name}.host-of-others-1-rows"]
    with RowWriter(tmp_path / f"more{path.name}", COLUMNS):  # another file's, and one that is being written
        assert half.exists()
        for each in others:
            each.touch()
        write(path, ROWS)
        assert not half.exists()
    assert len(list(read_rows(path))) == len(ROWS)
    assert sorted(tmp_path.iterdir()) == sorted([path, tmp_path / f"more{path.name}", *others])


def test_what_a_running_process_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    waiting = KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "print(flush=True), sys.stdin.read()")
    with subprocess.Popen(
        [sys.executable, "-c", waiting, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None and running.stdout.readline() == "\n"
        write(path, ROWS)
        assert len(list(tmp_path.iterdir())) == 2
        running.communicate(timeout=60)
    assert running.returncode == 0
    assert len(list(read_rows(path))) == 9_000
    assert list(tmp_path.iterdir()) == [path]


FULL = """
import resource, sys
from pathlib import Path
from fcconan.errors import InputError
from fcconan.data.files import RowWriter
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    with RowWriter(Path(sys.argv[1]), {"text": "text"}) as writer:
        for number in range(int(sys.argv[2])):
            writer.write([{"text": str(number) * 9}])
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("rows", [1_900, 9_000])  # the disk is found full at the end, or before it
def test_a_full_disk_is_told_in_one_line_and_leaves_nothing(tmp_path: Path, suffix: str, rows: int) -> None:
    path = tmp_path / f"rows{suffix}"
    command = [sys.executable, "-c", FULL, str(path), str(rows)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr, list(tmp_path.iterdir())) == (0, "", [])
    assert ended.stdout.startswith(f"{path} cannot be written (")
    assert ended.stdout.endswith("File too large): choose another file\n")
    assert ended.stdout.count("\n") == 1


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix}"

    def peak(rows: int) -> int:
        tracemalloc.start()
        with RowWriter(path, {"text": "text"}) as writer:
            for number in range(rows):
                writer.write([{"text": f"{number:0200d}"}])
        assert sum(1 for _ in read_rows(path)) == rows
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(16_000) < 1.1 * peak(4_000)


def test_parquet_is_written_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    with RowWriter(path, {"text": "text"}) as writer:
        for _ in range(70):
            writer.write([{"text": "x"}] * 100)
    assert [pq.ParquetFile(path).metadata.row_group(group).num_rows for group in range(4)] == [2000, 2000, 2000, 1000]


def test_rows_are_read_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\nno JSON\n')
    rows = read_rows(path)
    assert [next(rows), next(rows)] == [{"a": 1}, {"a": 2}]
    with pytest.raises(InputError, match="line 4: not JSON"):
        next(rows)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_a_mark_at_the_beginning_is_no_part_of_a_file(tmp_path: Path, mark: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(mark + b"a,b\r\n1,\r\n\r\n")
    (tmp_path / "a.jsonl").write_bytes(mark + b'{"a": "1", "b": null}\r\n')
    assert list(read_rows(tmp_path / "a.csv")) == list(read_rows(tmp_path / "a.jsonl")) == [{"a": "1", "b": None}]


@pytest.mark.parametrize(
    ("name", "raw", "message"),
    [
        ("a.jsonl", b'{"a": 1}\n[1]', "line 2: found [1], expected a JSON object"),
        (
            "a.jsonl",
            b'{"a": 1',
            "line 1: not JSON (Expecting ',' delimiter: line 1 column 8 (char 7)); correct the line",
        ),
        ("a.jsonl", b"[" * 100_000, "line 1: not JSON (maximum recursion depth exceeded"),
        ("a.jsonl", b'{"a": "\xe9"}', "holds the byte 0xe9, which is not UTF-8 there: save it as UTF-8"),
        ("a.jsonl", b'{"a": "1"}\n{"a": "x \\uD83D"}', r"line 2: '\ud83d' is half a character; correct the line"),
        ("a.csv", b"a,b\n1,2\n" * 5_000 + b"\xff", "holds the byte 0xff, which is not UTF-8 there"),
        ("a.csv", b"a;b\n1,2;3\n", "a.csv seems to have semicolons between its cells: save it with commas"),
        ("a.csv", b"a\tb\n1\t2\n", "a.csv seems to have tabs between its cells: save it with commas"),
        ("a.csv", b"a,b\n1,2\n\n1\n", "line 4: not CSV (found 1 cells, expected 2); correct the line"),
        ("a.csv", b'a,b\n1,"x"y\n', "line 2: not CSV (',' expected after '\"'); correct the line"),
        ("a.csv", b'a,b\n1,"open\n', "line 2: not CSV (unexpected end of data); correct the line"),
        ("a.csv", b"a,a\n1,2\n", "two columns have one name; rename one of them"),
        ("a.parquet", b"", "cannot be read ("),
        ("a.parquet", b"PAR1 and so on PAR1", "cannot be read ("),
        ("a.txt", b"", "has an unknown suffix: expected a name that ends in .parquet, .jsonl, .csv, .tsv"),
        ("a.CSV", b"", "has an unknown suffix: expected a name that ends in .parquet, .jsonl, .csv, .tsv"),
    ],
)
def test_a_bad_file_gives_one_line(tmp_path: Path, name: str, raw: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        list(read_rows(path))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_whole_character_in_escapes_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(r'{"a": "\ud83d\ude00", "b": "\\ud83d"}')
    assert list(read_rows(tmp_path / "a.jsonl")) == [{"a": "😀", "b": "\\ud83d"}]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_not_there_or_no_file_is_bad_input(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    for path in (folder, tmp_path / f"nowhere{suffix}"):
        with pytest.raises(InputError, match=r"cannot be read \(.*\): check the path") as caught:
            list(read_rows(path))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_where_no_file_can_be_written_is_bad_input(tmp_path: Path, suffix: str) -> None:
    folder = tmp_path / f"folder{suffix}"
    folder.mkdir()
    for path in (folder, tmp_path / "nowhere" / f"a{suffix}"):
        with pytest.raises(InputError, match=r"cannot be written \(.*\): choose another file"):
            write(path, ROWS)
    assert list(folder.iterdir()) == []


def test_rows_may_come_from_a_generator_that_reads_the_same_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"a": "1"}, {"a": "2"}], {"a": "text"})

    def longer() -> Iterator[dict[str, Any]]:
        for each in read_rows(path):
            yield {"a": each["a"] * 2}

    with RowWriter(path, {"a": "text"}) as writer:
        for each in longer():
            writer.write([each])
    assert list(read_rows(path)) == [{"a": "11"}, {"a": "22"}]
