"""The stub of the Hub, and dataset folders that are built once per session."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcconan.building import build
from tests import small
from tests.publishing.hub import Hub, connect


@pytest.fixture(scope="session")
def server() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


@pytest.fixture
def hub(server: Hub, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """An empty Hub; the clients of this process use it as the owner of `my-name`."""
    server.reset()
    connect(monkeypatch, server)
    return server


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small dataset, which is not redistributable: `full`, `labels`, and `other` with other training pairs."""
    folder = tmp_path_factory.mktemp("publish")
    recipe = str(small.write_small(folder / "upstream"))
    build(recipe, out=folder / "full")
    build(recipe, out=folder / "labels", labels_only=True)
    rows = [{"source_id": key, "hate_speech": hs, "counter_narrative": cn} for key, hs, cn in small.TRAIN]
    rows[2]["counter_narrative"] = "The inspector bakes, too."
    small.write_csv(folder / "upstream" / "train.csv", rows)
    small.write_recipe(folder / "upstream")
    build(recipe, out=folder / "other", labels_only=True)
    return folder


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    """Copies of `full` and `labels` that a test may change."""
    for name in ("full", "labels"):
        shutil.copytree(built / name, tmp_path / name)
    return tmp_path
