"""Checkpoints return exactly what was computed, or nothing."""

import fcntl
import json
import os
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fcconan.data import checkpoints
from fcconan.data.atomic import mark
from fcconan.data.checkpoints import Checkpoint, EntryLog, is_sealed, seal_folder

INPUTS = {"version": "1", "task": "calm", "samples": 3}
VALUE = {"run": [["cn-x", 0.1 + 0.2], ["cn-y", -1e-300]], "none": None, "odd": "\ud800 Ombrey\n", "big": 2**70}
ENTRIES: dict[str, Any] = {
    f"re-{number}": [{"reply": f"re-{number}", "value": number / 3, "reason": None}] for number in range(6)
}
NOTE = "note: {} is damaged or of an older version: "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "checkpoint.json"


def add(path: Path, entries: dict[str, Any] = ENTRIES, inputs: dict[str, Any] = INPUTS) -> None:
    with EntryLog(path, inputs) as log:
        for key, value in entries.items():
            log.append(key, value)


def read(path: Path, inputs: dict[str, Any] = INPUTS) -> dict[str, Any]:
    """The entries that a log has."""
    with EntryLog(path, inputs) as log:
        found = {key: log.get(key) for key in [*ENTRIES, "re-other"]}
    return {key: value for key, value in found.items() if value is not None}


def resumed(path: Path, entries: dict[str, Any] = ENTRIES) -> tuple[dict[str, Any], int]:
    """The result of a run that goes on from a log, and how many values it computed."""
    result, computed = {}, 0
    with EntryLog(path, INPUTS) as log:
        for key, value in entries.items():
            known = log.get(key)
            if known is None:
                computed += 1
                log.append(key, value)
            result[key] = value if known is None else known
    return result, computed


def flipped(content: bytes, bit: int) -> bytes:
    """The content with one bit flipped."""
    place = bit // 8
    return content[:place] + bytes([content[place] ^ 1 << bit % 8]) + content[place + 1 :]


# Every bit takes some ten seconds; a prime step meets every bit of a byte.
STEPS = [pytest.param(1, marks=pytest.mark.long), 37]


def test_a_value_is_read_back_exactly_and_only_for_its_inputs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = Checkpoint(path, INPUTS)
    assert checkpoint.load() is None
    checkpoint.save(VALUE)
    assert Checkpoint(path, dict(reversed(INPUTS.items()))).load() == VALUE
    for name in INPUTS:
        assert Checkpoint(path, {**INPUTS, name: "another"}).load() is None
        assert Checkpoint(path, {key: value for key, value in INPUTS.items() if key != name}).load() is None
    assert Checkpoint(path, {**INPUTS, "more": None}).load() is None
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert json.loads(path.read_text())["inputs"] == INPUTS
    assert capsys.readouterr().err == ""  # a value of other inputs is not damaged


@pytest.mark.parametrize("step", STEPS)
def test_no_flipped_bit_of_a_checkpoint_gives_a_value(
    path: Path, capsys: pytest.CaptureFixture[str], step: int
) -> None:
    checkpoint = Checkpoint(path, INPUTS)
    checkpoint.save(VALUE)
    content = path.read_bytes()
    for bit in range(0, 8 * len(content), step):
        path.write_bytes(flipped(content, bit))
        assert checkpoint.load() is None
        assert capsys.readouterr().err == NOTE.format(path) + "its content is computed again\n"
    path.write_bytes(content)
    assert (checkpoint.load(), capsys.readouterr().err) == (VALUE, "")


@pytest.mark.parametrize("step", STEPS)
def test_no_flipped_bit_of_a_log_changes_a_value(path: Path, capsys: pytest.CaptureFixture[str], step: int) -> None:
    add(path)
    content = path.read_bytes()
    assert 800 < len(content) < 1200
    header = len(content.splitlines(keepends=True)[0])
    for bit in range(0, 8 * len(content), step):
        path.write_bytes(flipped(content, bit))
        found, computed = resumed(path)
        said = capsys.readouterr().err
        assert found == ENTRIES
        # A flipped bit in the header costs nothing; one that makes or unmakes the end of a line costs two entries.
        assert computed <= 2
        assert computed > 0 or bit < 8 * header
        assert said.startswith(NOTE.format(path)) and said.count("\n") == 1
        assert (resumed(path), capsys.readouterr().err) == ((ENTRIES, 0), "")  # and then the file is whole again


@pytest.mark.parametrize("length", range(0, 900, 7))
def test_a_truncated_log_has_the_entries_before_the_cut(
    path: Path, capsys: pytest.CaptureFixture[str], length: int
) -> None:
    add(path)
    content = path.read_bytes()
    path.write_bytes(content[:length])
    whole = max(0, content[:length].count(b"\n") - 1)
    assert resumed(path) == (ENTRIES, len(ENTRIES) - whole)
    assert capsys.readouterr().err.count("\n") == (content[length - 1 : length] != b"\n")


def test_an_edit_that_fits_costs_the_entries_that_it_touched(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add(path)
    text = path.read_text()
    path.write_text(text.replace('"value": 1.0,', '"value": 5.0,'))
    assert text != path.read_text()
    assert resumed(path) == (ENTRIES, 1)
    assert capsys.readouterr().err == NOTE.format(path) + "1 of 6 entries are computed again\n"


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def _swapped_contents(header: bytes, lines: list[bytes]) -> list[bytes]:
    one, other = (line.partition(b'"value": ') for line in lines[:2])
    return [header, b"".join((*one[:2], other[2])), b"".join((*other[:2], one[2])), *lines[2:]]


def _swapped_keys(header: bytes, lines: list[bytes]) -> list[bytes]:
    one, other = (line.partition(b'"key": ') for line in lines[:2])
    return [header, b"".join((*one[:2], other[2])), b"".join((*other[:2], one[2])), *lines[2:]]


CHANGES: dict[str, tuple[Callable[[bytes, list[bytes]], list[bytes]], int, bool]] = {
    "reordered": (lambda header, lines: [header, *lines[::-1]], 0, False),
    "repeated": (lambda header, lines: [header, *lines, *lines], 0, False),
    "one line missing": (lambda header, lines: [header, *lines[1:]], 1, False),
    "no header": (lambda header, lines: lines, 0, True),
    "header in the middle": (lambda header, lines: [*lines[:3], header, *lines[3:]], 0, True),
    "empty lines": (lambda header, lines: [header, b"\n", *lines, b"\n"], 0, True),
    "other line ends": (lambda header, lines: [line.replace(b"\n", b"\r\n") for line in (header, *lines)], 6, True),
    "a byte order mark": (lambda header, lines: [b"\xef\xbb\xbf" + header, *lines], 0, True),
    "another encoding": (lambda header, lines: [b"".join((header, *lines)).decode().encode("utf-16")], 6, True),
    "contents swapped": (_swapped_contents, 2, True),
    "keys swapped": (_swapped_keys, 2, True),
    "nothing": (lambda header, lines: [], 6, True),
    "nested deep": (lambda header, lines: [b"[" * 100_000], 6, True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_log_gives_right_values_only(path: Path, capsys: pytest.CaptureFixture[str], change: str) -> None:
    add(path)
    header, *lines = lines_of(path)
    make, lost, said = CHANGES[change]
    path.write_bytes(b"".join(make(header, lines)))
    assert resumed(path) == (ENTRIES, lost)
    assert capsys.readouterr().err.count("note: ") == said
    assert (resumed(path), capsys.readouterr().err) == ((ENTRIES, 0), "")


def test_entries_of_other_inputs_do_not_count(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = path.with_name("other")
    add(path)
    add(other, {key: ["wrong"] for key in ENTRIES}, {**INPUTS, "task": "other"})
    path.write_bytes(b"".join([*lines_of(path)[:3], *lines_of(other)[1:]]))
    assert resumed(path) == (ENTRIES, 4)
    assert capsys.readouterr().err == NOTE.format(path) + "6 of 8 entries are computed again\n"
    path.write_bytes(other.read_bytes())  # a whole file of other inputs is not damaged
    assert (resumed(path), capsys.readouterr().err) == ((ENTRIES, 6), "")


def test_of_two_values_with_one_key_the_later_counts(path: Path) -> None:
    add(path, {"re-1": [1]})
    add(path, {"re-1": [2]})
    assert read(path) == {"re-1": [2]}


@given(content=st.binary(max_size=300), place=st.integers(0, 1200), length=st.integers(0, 300))
def test_no_bytes_in_a_file_give_a_wrong_value(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, place: int, length: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    log, checkpoint = folder / "log", Checkpoint(folder / "value", INPUTS)
    for only in (True, False):
        add(log)
        checkpoint.save(VALUE)
        for path in (log, checkpoint.path):
            before = path.read_bytes()
            path.write_bytes(content if only else before[:place] + content + before[place + length :])
        assert resumed(log)[0] == ENTRIES
        assert checkpoint.load() in (None, VALUE)
        log.unlink()


def test_random_damage_of_several_bytes_gives_right_values(path: Path) -> None:
    add(path)
    content = path.read_bytes()
    draw = random.Random(0)
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(draw.randint(2, 40)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path.write_bytes(damaged)
        assert resumed(path)[0] == ENTRIES


def test_where_nothing_can_be_written_the_work_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "folder", tmp_path / "file" / "log", tmp_path / "pipe"):
        assert resumed(path) == (ENTRIES, 6)
        assert resumed(path) == (ENTRIES, 6)
    for path in (tmp_path / "folder", tmp_path / "file" / "value"):
        checkpoint = Checkpoint(path, INPUTS)
        with pytest.raises(OSError):
            checkpoint.save(VALUE)
        assert checkpoint.load() is None
    assert capsys.readouterr().err == ""
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder", "pipe"}


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_in_a_folder_that_is_read_only_the_work_goes_on(path: Path) -> None:
    add(path)
    path.parent.chmod(0o500)
    path.chmod(0o400)
    try:
        assert resumed(path) == (ENTRIES, 6)
    finally:
        path.parent.chmod(0o700)


def test_on_a_full_disk_the_work_goes_on(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no device that is always full")
    with EntryLog(path, INPUTS) as log:
        assert log._writer is not None
        os.dup2(os.open("/dev/full", os.O_WRONLY), log._writer.fileno())
        for key, value in ENTRIES.items():
            log.append(key, value)
        log.flush()
        log.append("re-other", [1])
    said = f"note: {path} cannot be written (No space left on device): this run goes on without it\n"
    assert capsys.readouterr().err == said
    assert resumed(path) == (ENTRIES, 6)


def test_of_two_processes_at_once_one_has_the_log(path: Path) -> None:
    add(path, {"re-1": ENTRIES["re-1"]})
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert resumed(path) == (ENTRIES, 6)
    assert resumed(path) == (ENTRIES, 5)


def test_a_log_that_is_rewritten_stays_locked(path: Path) -> None:
    add(path)
    path.write_bytes(path.read_bytes()[:-5])
    with EntryLog(path, INPUTS) as log:
        assert resumed(path) == (ENTRIES, 6)  # the other one goes without
        log.append("re-5", ENTRIES["re-5"])
    assert resumed(path) == (ENTRIES, 0)


def test_a_kill_while_a_file_is_written_leaves_the_old_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = Checkpoint(path, INPUTS)
    checkpoint.save(1)

    def killed(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.save(2)
    assert checkpoint.load() == 1
    assert not any(mark(f".{path.name}.") in each.name for each in path.parent.iterdir())


def test_a_file_that_changes_while_the_log_is_open_gives_no_value(path: Path) -> None:
    add(path)
    with EntryLog(path, INPUTS) as log:
        path.write_bytes(path.read_bytes().replace(b"0.33", b"0.66"))
        assert (log.get("re-1"), log.get("re-2")) == (None, ENTRIES["re-2"])


def test_inputs_that_json_cannot_hold_are_refused(path: Path) -> None:
    for inputs in ({"weights": {1, 2}}, {"folder": path}, {(1, 2): 3}):
        for kind in (Checkpoint, EntryLog):
            with pytest.raises(TypeError):
                kind(path, inputs)  # type: ignore[arg-type]


def test_what_json_cannot_hold_is_refused(path: Path) -> None:
    with pytest.raises(TypeError):
        Checkpoint(path, INPUTS).save({"value": {1, 2}})
    assert not path.exists()


def test_a_note_is_one_line_whatever_the_name_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a\n\x1b[31m\u202eb"
    path.write_text("x")
    assert Checkpoint(path, INPUTS).load() is None
    said = capsys.readouterr().err
    assert (said.count("\n"), said.rstrip("\n").isprintable(), "/a??[31m?b is damaged" in said) == (1, True, True)


@pytest.mark.parametrize("damage", ["a bit", "cut", "missing", "more", "seal", "no seal", "seal of others"])
def test_a_folder_of_files_is_whole_or_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    for each in (folder, other):
        each.mkdir()
        for name in ("hs.npy", "cn.npy"):
            (each / name).write_bytes(f"{name} of {each.name}".encode() * 20)
        seal_folder(each, INPUTS)
    assert is_sealed(folder, INPUTS)
    assert not is_sealed(folder, {**INPUTS, "task": "other"})
    assert not is_sealed(tmp_path / "none", INPUTS)
    assert capsys.readouterr().err == ""
    file, seal = folder / "cn.npy", folder / checkpoints._SEAL
    content = file.read_bytes()
    match damage:
        case "a bit":
            file.write_bytes(content[:9] + bytes([content[9] ^ 4]) + content[10:])
        case "cut":
            file.write_bytes(content[:-1])
        case "missing":
            file.unlink()
        case "more":
            (folder / "more.npy").touch()
        case "seal":
            seal.write_bytes(seal.read_bytes().replace(b"a", b"b", 1))
        case "no seal":
            seal.unlink()
        case "seal of others":
            seal.write_bytes((other / seal.name).read_bytes())
    assert not is_sealed(folder, INPUTS)
    assert capsys.readouterr().err.count("note: ") == (damage != "no seal")


def test_places_of_entries_follow_each_other(path: Path) -> None:
    """The file is JSON Lines: what people and other programs see of it."""
    add(path)
    header, *entries = map(json.loads, path.read_text().splitlines())
    assert header | {"checksum": ""} == {"checksum": "", "format": 1, "inputs": INPUTS}
    assert [entry["value"] for entry in entries] == list(ENTRIES.values())
    assert all(one["key"] != other["key"] for one, other in pairwise(entries))
    assert {len(entry["checksum"]) for entry in entries} == {32}
