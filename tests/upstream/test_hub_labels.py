"""The labels of FC-CONAN, as they are published, give the full dataset back."""

from pathlib import Path

import pytest

from fcconan.building import hydrate
from tests.adapters.published import NAME, publish, reached
from tests.building.test_build import contents
from tests.publishing.hub import Hub
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream


def test_labels_on_the_hub_are_hydrated_to_the_full_build(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Hub() as server:
        hub = reached(server, tmp_path, monkeypatch)
        repo = publish(hub, release("fc-conan", labels_only=True))
        repo.tags["v1"] = repo.commits[-1].oid
        hydrate(NAME, out=tmp_path / "full", revision="v1")
    assert contents(tmp_path / "full") == contents(release("fc-conan"))
