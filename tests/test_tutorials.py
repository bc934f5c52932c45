"""The tutorials run offline, print what they show, and stay short."""

from pathlib import Path

import nbformat
import pytest

from tests.tutorials import IMAGE, NOTEBOOKS, execute, texts, tidy

pytestmark = pytest.mark.slow

MOST_WORDS = 2_450  # in the Markdown cells of all tutorials


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_prints_what_it_shows(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    for cell, executed in zip(stored.cells, execute(path).cells, strict=True):
        assert texts(executed) == texts(cell), f"{cell.source}\npython -m tests.tutorials --update {path.stem}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_has_nothing_of_the_machine(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    assert tidy(nbformat.read(path, as_version=4), "/nowhere") == stored
    assert not [word for word in ("/tmp/", "/home/", "/root/", "/Users/") if word in path.read_text(encoding="utf-8")]
    for cell in stored.cells:
        outputs = cell.get("outputs", [])
        assert all(output.get("name", "stdout") == "stdout" for output in outputs), cell.source
        images = [output for output in outputs if IMAGE in output.get("data", {})]
        assert bool(images) == ("alt" in cell.metadata), f"an image needs a description, `alt` in the metadata: {cell}"


def test_the_tutorials_are_short() -> None:
    cells = [cell for path in NOTEBOOKS for cell in nbformat.read(path, as_version=4).cells]
    assert sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown") <= MOST_WORDS
    assert max(cell.source.count("\n") for cell in cells if cell.cell_type == "code") < 40  # the stub server
