"""Folders on the loopback Hub, as if they had been uploaded."""

from pathlib import Path

import pytest

from tests.publishing.hub import Blob, Hub, Repository

NAME = "our-group/small"


def reached(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    """Lets the real client reach an emptied loopback Hub, with a cache of its own and without a token."""
    from huggingface_hub import constants

    hub.reset()
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", "")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub-cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "no-token"))
    return hub


def publish(hub: Hub, folder: Path, *, private: bool = False) -> Repository:
    """Puts the files of a folder on the Hub, in one commit."""
    repo = hub.repos.get(NAME) or hub.add_repo(NAME, private=private)
    files = {
        path.relative_to(folder).as_posix(): Blob(path.read_bytes(), lfs=path.suffix == ".parquet")
        for path in folder.rglob("*")
        if path.is_file()
    }
    repo.add("a version", repo.commits[0].files | files)
    return repo
