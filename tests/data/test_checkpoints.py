"""Checkpoints return exactly what was computed, or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from fcconan.data.atomic import mark
from fcconan.data.checkpoints import Checkpoint, claim_folder
from fcconan.errors import InputError

INPUTS = {"version": "1", "task": "calm", "samples": 3}
VALUE = {"run": [["cn-x", 0.1 + 0.2], ["cn-y", -1e-300]], "none": None, "odd": "\ud800 Ombrey\n", "big": 2**70}
NOTE = "note: {} is damaged or of an older version: "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "checkpoint.json"


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


@given(content=st.binary(max_size=300), place=st.integers(0, 1200), length=st.integers(0, 300))
def test_no_bytes_in_a_file_give_a_wrong_value(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, place: int, length: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    checkpoint = Checkpoint(folder / "value", INPUTS)
    for only in (True, False):
        checkpoint.save(VALUE)
        before = checkpoint.path.read_bytes()
        checkpoint.path.write_bytes(content if only else before[:place] + content + before[place + length :])
        assert checkpoint.load() in (None, VALUE)


def test_where_nothing_can_be_written_the_work_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "file" / "value"):
        checkpoint = Checkpoint(path, INPUTS)
        with pytest.raises(OSError):
            checkpoint.save(VALUE)
        assert checkpoint.load() is None
    assert capsys.readouterr().err == ""
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder"}


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


def test_inputs_that_json_cannot_hold_are_refused(path: Path) -> None:
    for inputs in ({"weights": {1, 2}}, {"folder": path}, {(1, 2): 3}):
        with pytest.raises(TypeError):
            Checkpoint(path, inputs)  # type: ignore[arg-type]


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


def test_the_form_of_a_file_is_fixed(path: Path) -> None:
    """Checkpoints of this version stay readable."""
    Checkpoint(path, {"a": 1}).save([2])
    assert path.read_bytes() == (
        b'{"checksum": "b267f949200ddfffa0e3ee4e16d445f2", "format": 1, "inputs": {"a": 1}, "value": [2]}\n'
    )


def test_unfinished_work_belongs_to_its_inputs(tmp_path: Path) -> None:
    folder = tmp_path / "out.partial"
    for _ in range(2):
        claim_folder(folder, {"rates": (1, 2), "seed": 0}, "training")
    assert json.loads((folder / "what.json").read_text()) == {"rates": [1, 2], "seed": 0}
    with pytest.raises(InputError) as refused:
        claim_folder(folder, {"rates": (1,), "device": "cpu"}, "training")
    assert str(refused.value) == (
        f"{folder} holds an unfinished training with another device, rates, seed: finish it with the original "
        "options, or remove it"
    )
    for content in ("[]", "{", "\xff"):
        (folder / "what.json").write_bytes(content.encode("latin-1"))
        with pytest.raises(InputError, match="cannot be used"):
            claim_folder(folder, {"seed": 0}, "training")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be used"):
        claim_folder(tmp_path / "file", {"seed": 0}, "training")
