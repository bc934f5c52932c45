"""Atomic files and folders, and locks."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from fcconan.data import locked
from fcconan.data.atomic import mark, new_file, new_folder
from fcconan.errors import InputError


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def stale(name: str) -> str:
    """The temporary name of a file or folder in a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return mark(f".{name}.").replace(f"-{os.getpid()}-", f"-{process.pid}-")


class Stopped(BaseException):
    """As Ctrl-C."""


def test_a_file_has_its_old_content_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("old")
    with new_file(path) as temporary:
        temporary.write_text("new")
        assert (temporary.parent, path.read_text()) == (tmp_path, "old")
    assert (path.read_text(), names(tmp_path)) == ("new", ["rows.csv"])
    with pytest.raises(Stopped), new_file(path) as temporary:
        temporary.write_text("newer")
        raise Stopped
    assert (path.read_text(), names(tmp_path)) == ("new", ["rows.csv"])


def test_a_folder_has_its_old_content_until_the_block_ends(tmp_path: Path) -> None:
    folder = tmp_path / "further" / "out"
    for content in ("old", "new"):
        with new_folder(folder) as stage:
            assert names(stage) == []
            (stage / content).touch()
            assert not folder.exists() or names(folder) == ["old"]
        assert (names(folder), names(folder.parent)) == ([content], ["out"])
    with pytest.raises(Stopped), new_folder(folder) as stage:
        (stage / "newer").touch()
        raise Stopped
    assert (names(folder), names(folder.parent)) == (["new"], ["out"])
    assert folder.stat().st_mode & 0o777 == 0o755


def test_threads_write_the_same_file_at_once(tmp_path: Path) -> None:
    path, both = tmp_path / "rows.csv", threading.Barrier(2)

    def write(text: str) -> None:
        with new_file(path) as temporary:
            both.wait()
            temporary.write_text(text)
            both.wait()

    threads = [threading.Thread(target=write, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() in ("one", "two")
    assert names(tmp_path) == ["rows.csv"]


def test_stale_files_and_folders_of_the_same_name_are_removed(tmp_path: Path) -> None:
    (tmp_path / f"{stale('out')}1").touch()
    folder = tmp_path / f"{stale('out')}2"
    folder.mkdir()
    (folder / "file").touch()
    others = {f"{mark('.out.')}3", f"{stale('out.csv')}4", f"{stale('ou')}5"}
    for name in others:
        (tmp_path / name).touch()
    with new_file(tmp_path / "out") as temporary:
        temporary.touch()
    assert {*names(tmp_path)} == others | {"out"}


def test_of_two_processes_one_has_the_lock(tmp_path: Path) -> None:
    folder = tmp_path / "further" / "results"
    other = (
        "import sys; from pathlib import Path; from fcconan.data.locks import locked\n"
        "with locked(Path(sys.argv[1])): print('locked', flush=True); input()"
    )
    command = [sys.executable, "-c", other, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        with pytest.raises(InputError) as refused, locked(folder):
            pass
        assert str(refused.value) == f"another process is using {folder}: wait for it or choose another folder"
        process.kill()
    with locked(folder):
        (folder / "result").touch()
    assert names(folder) == ["result"]


def test_a_lock_waits(tmp_path: Path) -> None:
    folder, order = tmp_path / "results", list[str]()

    def second() -> None:
        with locked(folder, wait=60):
            order.append("second")

    with locked(folder):
        (folder / "result").touch()
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_folder_that_stays_empty_is_removed(tmp_path: Path) -> None:
    with locked(tmp_path / "results"):
        assert (tmp_path / "results").is_dir()
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_not_locked(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "more"):
        with pytest.raises(InputError, match=r"cannot be locked .*: check its permissions or choose"), locked(folder):
            pass


def test_a_lock_waits_for_a_folder_that_its_holder_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, order = tmp_path / "results", list[str]()
    removed = threading.Event()
    opened = os.open

    def open_later(path: Any, *arguments: Any, **named: Any) -> int:
        if threading.current_thread() is thread and str(path).startswith(str(folder)) and not removed.is_set():
            holder.set()
            removed.wait(10)  # between the making of the folder and that of its lock
        return opened(path, *arguments, **named)

    def second() -> None:
        with locked(folder, wait=60):
            order.append("second")
            assert folder.is_dir()

    holder = threading.Event()
    thread = threading.Thread(target=second)
    monkeypatch.setattr(os, "open", open_later)
    with locked(folder):
        thread.start()
        assert holder.wait(10)
        order.append("first")
    removed.set()
    thread.join()
    assert order == ["first", "second"]
    assert names(tmp_path) == []
