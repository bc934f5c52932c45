"""The demo dataset, built once for the tests of a process; they must not change it."""

from pathlib import Path

import pytest

from fcconan.building import build


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters") / "demo"
    build("demo", out=folder)
    return folder
