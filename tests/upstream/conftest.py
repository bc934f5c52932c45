"""Builds each upstream recipe once in a test session, however many processes share the tests."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fcconan.building import build

Release = Callable[..., Path]


@contextmanager
def shared_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """A folder of the whole session, held by one process at a time: whoever comes first fills it."""
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder = root / "shared" / name
    folder.mkdir(parents=True, exist_ok=True)
    with (root / "shared" / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


@pytest.fixture
def release(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Returns the folder of a recipe, built from the mirror; tests must not change it."""

    def folder(recipe: str, *, labels_only: bool = False, tier_rule: str | None = None) -> Path:
        name = "-".join(filter(None, (recipe, tier_rule, "labels" if labels_only else "full")))
        with shared_folder(tmp_path_factory, name) as out:
            if not (out / "manifest.json").exists():
                build(recipe, out=out, labels_only=labels_only, tier_rule=tier_rule)
        return out

    return folder
