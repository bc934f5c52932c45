"""Results go to files that are nothing else, and options of the bootstrap are checked."""

import os
from pathlib import Path

import pytest

from fcconan.cli.files import check_files
from fcconan.cli.output import write_json
from fcconan.cli.row_options import check_targets, draws
from fcconan.errors import InputError
from tests.cli.scored import ratings, write_rows

ROWS = [*ratings("anna", [1, 2, 3, 4, 5, 1]), *ratings("ben", [2, 2, 3, 4, 4, 1])]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "ratings.csv", ROWS)


def test_results_go_to_files_that_are_nothing_else(demo: Path, file: Path, tmp_path: Path) -> None:
    check_targets([str(file), str(demo)], tmp_path / "new.json", tmp_path / "page.html")
    for targets, message in (
        ([file], f"{file} is what is read: choose another file for the result"),
        ([demo / "x.json"], f"{demo / 'x.json'} is in the folder {demo}, which holds the release only: choose another"),
        ([Path("/dev/null")], "/dev/null is no file: choose another file for the result"),
        ([tmp_path], f"{tmp_path} is no file: choose another file for the result"),
        ([tmp_path / "none" / "x.json"], "cannot be written: choose another file, in a folder that is there"),
        ([tmp_path / "x", tmp_path / "x"], f"{tmp_path / 'x'} is named for two results: choose another file for one"),
    ):
        with pytest.raises(InputError) as refused:
            check_targets([str(file), str(demo)], *targets)
        assert message in str(refused.value)


def test_results_destroy_no_release_no_model_no_folder_of_rows_and_no_pipe(demo: Path, tmp_path: Path) -> None:
    model, folder = tmp_path / "encoder", tmp_path / "rows" / "ratings"
    model.mkdir()
    folder.mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    manifest = (demo / "manifest.json").read_bytes()
    for source, target, message in (
        ("ratings.csv", demo / "manifest.json", f"is in the folder {demo}, which holds the release only"),
        ("ratings.csv", model / "config.json", f"is in the folder {model}, which is read: choose another --json"),
        (str(tmp_path / "rows"), folder / "test.parquet", f"is in the folder {tmp_path / 'rows'}, which is read"),
        ("ratings.csv", tmp_path / "pipe", f"{tmp_path / 'pipe'} is no file"),
    ):
        with pytest.raises(InputError) as refused:
            check_targets([source], target, models=[None, str(model)])
        assert message in str(refused.value)
    with pytest.raises(InputError, match=r"pipe is no file: choose another --journal$"):
        check_files({"--journal": tmp_path / "pipe"})
    assert (demo / "manifest.json").read_bytes() == manifest


def test_a_result_that_json_cannot_say_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"JSON cannot express .*: report this bug$"):
        write_json(tmp_path / "x.json", {"rows": [{"value": float("nan")}]})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, -0.5, float("nan"), float("inf")])
def test_a_confidence_is_between_0_and_1(confidence: float) -> None:
    with pytest.raises(InputError, match=r"^--confidence is .*: give a number between 0 and 1, such as 0\.95$"):
        draws(10, confidence, 0)
    assert draws(10, 0.5, 1) == {"resamples": 10, "confidence": 0.5, "seed": 1}
