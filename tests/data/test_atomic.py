"""Atomic files and folders."""

from pathlib import Path

import pytest

from fcconan.data import new_file, new_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


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
