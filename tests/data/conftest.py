from pathlib import Path

import pytest

from fcconan.build import build


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("demo", tmp_path_factory.mktemp("data") / "demo", progress=False).folder
