"""Results replace nothing that is read, and go to files only."""

import os
from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.oldcli.output import check_replaced_json
from fcconan.services import check_files
from tests.cli.scored import ratings, write_rows


def _refused(target: Path, **given: list[Path]) -> str:
    with pytest.raises(InputError) as refused:
        check_files({"--json": target}, **given)
    return str(refused.value)


def test_results_replace_nothing_that_is_read(demo: Path, tmp_path: Path) -> None:
    file, model = write_rows(tmp_path / "ratings.csv", ratings("anna", [1, 2, 3, 4, 5, 1])), tmp_path / "encoder"
    model.mkdir()
    check_files({"--json": tmp_path / "new.json", "--report": tmp_path / "page.html"}, read=[file, demo])
    other = "choose another --json"
    assert _refused(file, read=[file]) == f"{file} is read, and --json would destroy it: {other}"
    assert _refused(model / "x", folders=[model]) == f"{model / 'x'} is in the folder {model}, which is read: {other}"
    for target in (demo / "manifest.json", demo / "x.json"):
        assert _refused(target) == f"{target} is in the folder {demo}, which holds the release only: {other}"
    with pytest.raises(InputError, match=r"x is named by --json and --report: give each a file of its own$"):
        check_files({"--json": tmp_path / "x", "--report": tmp_path / "x"})


def test_results_replace_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert (
        _refused(tmp_path / "pipe")
        == f"{tmp_path / 'pipe'} is a device or pipe; expected a file: choose another --json"
    )


def test_json_replaces_json_only(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    for content in ("", '{"rows": []}', " [1]\n"):
        file.write_text(content, encoding="utf-8")
        check_replaced_json(file)
    file.write_text("reply_id,text\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"mine.csv exists and is not JSON: choose another --json file, or remove"):
        check_replaced_json(file)
