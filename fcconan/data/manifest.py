"""Release folders: their manifests, and their download from the Hugging Face Hub."""

import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fcconan.data.files import SUFFIXES
from fcconan.data.messages import one_line
from fcconan.errors import InputError

MANIFEST = "manifest.json"
CARD = "README.md"
FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Reads the manifest of a release folder.

    Raises:
        InputError: The folder has no manifest, or one of another format.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder} has no {MANIFEST}: give a folder that `fcconan build` wrote")
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if manifest.get("format") != FORMAT:
        raise InputError(f"{path} has format {manifest.get('format')}, expected {FORMAT}: build the folder again")
    return manifest


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Hides log and warnings of the Hub's client, and its progress bars outside of a terminal."""
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    client, hides = logging.getLogger("huggingface_hub"), not (are_progress_bars_disabled() or sys.stderr.isatty())
    level = client.level
    client.setLevel(logging.ERROR)
    if hides:
        disable_progress_bars()
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        client.setLevel(level)
        if hides:
            enable_progress_bars()


def is_hub_name(name: str) -> bool:
    """Returns whether a name has the form of a dataset on the Hub, `owner/name`, and is not an existing path."""
    return _NAME.fullmatch(name) is not None and Path(name).suffix not in SUFFIXES and not Path(name).exists()


def release_folder(name: str, *, revision: str | None = None) -> Path:
    """Returns a local release folder, or downloads that of a dataset on the Hub.

    Args:
        name: A folder, or `owner/name`. An existing folder takes precedence.
        revision: A tag, branch or commit of the dataset on the Hub; by default the newest commit.

    Raises:
        InputError: The dataset does not exist or may not be read, the Hub cannot be reached, the dataset is not a
            release of this package, or a local folder has a revision.
    """
    if not is_hub_name(name):
        if revision is not None:
            raise InputError(f"{name} is a local folder and has no revision {revision!r}: leave it out")
        return Path(name)
    found = hub_release(name, revision=revision)
    if found is None:
        raise InputError(f"{name} on the Hub has no {MANIFEST}: give a dataset that `fcconan publish` wrote")
    return found


def hub_release(name: str, *, revision: str | None = None) -> Path | None:
    """Downloads a release from the Hub and returns its folder, or None if the dataset there is not one of this package.

    Args:
        name: `owner/name`.
        revision: A tag, branch or commit.

    Raises:
        InputError: As `release_folder`.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    log_in = "log in with `hf auth login` or HF_TOKEN"
    reasons = {
        GatedRepoError: f"it is gated: ask for access on its page, and {log_in}",
        RepositoryNotFoundError: f"there is neither a folder nor a dataset of this name; if private, {log_in}",
        RevisionNotFoundError: f"it has no revision {revision!r}: give one of its tags, or leave it out",
        LocalEntryNotFoundError: "no folder has this name, and the Hub cannot be reached: check path and network",
    }
    # huggingface_hub reads the variable when it is imported, which may have been before it was set.
    hub = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
    try:
        with quiet_hub():
            manifest = Path(hub.hf_hub_download(name, MANIFEST, repo_type="dataset", revision=revision))
            commit = manifest.parent.name  # all files of one commit, even if another is published meanwhile
            files = [MANIFEST, CARD, "*.parquet"]
            return Path(hub.snapshot_download(name, repo_type="dataset", revision=commit, allow_patterns=files))
    except (HfHubHTTPError, EntryNotFoundError) as error:
        if isinstance(error, EntryNotFoundError) and not isinstance(error, LocalEntryNotFoundError):
            return None
        reason = next((text for kind, text in reasons.items() if isinstance(error, kind)), None)
        reason = reason or f"{one_line(error, 80)}: check HF_TOKEN and the network"
        raise InputError(f"{name} cannot be read from the Hub; {reason}") from error
