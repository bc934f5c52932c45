"""The Hugging Face Hub: its client, and folders of published datasets."""

import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data.addresses import MASK, hub_address, without_secrets
from fcconan.data.files import SUFFIXES
from fcconan.errors import InputError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

LONGEST_SILENCE = 120.0  # seconds without a response of the Hub; its client has no limit


def hub_error(error: object, token: str | None) -> str:
    """Returns the message of an error as one short line, without the token and without secrets in addresses."""
    text = without_secrets(str(error), (token,) if token else ())
    text = " ".join(text.split()) or type(error).__name__
    text = re.sub(r"(?i)\b(bearer )[^\s'\"]+", rf"\1{MASK}", text)
    text = re.sub(r"(https?://[^\s?'\"]+)\?[^\s'\"]*", r"\1", text)
    return text if len(text) <= 300 else text[:297] + "..."


def limit_hub_wait() -> None:
    """Sets a timeout for all requests of this process to the Hub, whose client has none."""
    from huggingface_hub.utils import get_session

    session: Any = get_session()
    if hasattr(session, "timeout"):  # added in version 1.0
        session.timeout = LONGEST_SILENCE


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Hides the log of the Hub's client, which contains addresses, and its progress bars outside of a terminal."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    client = logging.getLogger("huggingface_hub")
    level = client.level
    showing = not are_progress_bars_disabled() and sys.stderr.isatty()
    was_showing = not are_progress_bars_disabled()
    client.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not showing:
            disable_progress_bars()
        try:
            yield
        finally:
            client.setLevel(level)
            if was_showing:
                enable_progress_bars()


_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def is_hub_name(name: str) -> bool:
    """Returns whether a name has the form of a dataset on the Hub, `owner/name`, and is not an existing path."""
    return _NAME.fullmatch(name) is not None and Path(name).suffix not in SUFFIXES and not Path(name).exists()


def release_folder(name: str, *, revision: str | None = None) -> Path:
    """Returns a local release folder, or downloads that of a dataset on the Hub.

    An existing folder takes precedence over a dataset of the same name on the Hub. Downloads stay in the cache of
    `huggingface_hub`. Each call compares them with the hashes in the manifest, except the card, which can be edited on
    the Hub.

    Args:
        name: A folder, or `owner/name`.
        revision: A tag, branch or commit of the dataset on the Hub; by default the newest commit.

    Raises:
        InputError: The dataset does not exist or may not be read, the Hub cannot be reached, the dataset is not a
            release of this package, a file differs from the published one, or a local folder has a revision.
    """
    if not is_hub_name(name):
        if revision is not None:
            raise InputError(f"{name} is a local folder and has no revision {revision!r}: leave it out")
        return Path(name)
    found = hub_release(name, revision=revision)
    if found is None:
        raise InputError(
            f"{name} is a dataset on the Hub without a manifest.json: give a dataset that `fcconan publish` wrote"
        )
    return found


def hub_release(name: str, *, revision: str | None = None) -> Path | None:
    """Downloads a release from the Hub and returns its folder, or None if the dataset there is not one of this package.

    Args:
        name: `owner/name`.
        revision: A tag, branch or commit.

    Raises:
        InputError: As `release_folder`.
    """
    endpoint = hub_address().with_login  # checked before the client is imported, which fails on a wrong address
    from huggingface_hub import HfApi
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    from fcconan.data.manifest import CARD, MANIFEST

    # huggingface_hub reads the variable when it is imported, which may have been before it was set.
    limit_hub_wait()
    hub = HfApi(endpoint=endpoint)
    try:
        with quiet_hub():
            try:
                manifest = Path(hub.hf_hub_download(name, MANIFEST, repo_type="dataset", revision=revision))
            except LocalEntryNotFoundError:
                raise  # not in the cache, and the Hub cannot be reached
            except EntryNotFoundError:
                return None
            commit = manifest.parent.name  # all files of one commit, even if another is published meanwhile
            folder = Path(
                hub.snapshot_download(
                    name, repo_type="dataset", revision=commit, allow_patterns=[MANIFEST, CARD, "*.parquet"]
                )
            )
    except Exception as error:
        raise _refusal(hub, name, revision, error) from error
    _check(name, folder)
    return folder


def _check(name: str, folder: Path) -> None:
    from fcconan.data.ids import file_sha256
    from fcconan.data.manifest import CARD, MANIFEST, read_manifest

    for file, written in read_manifest(folder)["files"].items():
        if file == CARD:
            continue
        path = folder / file
        found = f"sha256 {file_sha256(path)}" if path.is_file() else "no content"
        if found != f"sha256 {written['sha256']}":
            raise InputError(
                f"{file} of {name} has {found}, and its {MANIFEST} has sha256 {written['sha256']}: it was changed "
                f"after its publication, or in the cache; remove {folder.parent.parent} and try again"
            )


def _refusal(hub: "HfApi", name: str, revision: str | None, error: Exception) -> InputError:
    """Returns the reason of a failed download on one line, without addresses."""
    from huggingface_hub import get_token
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    if isinstance(error, GatedRepoError):
        address = f"{hub_address().url}/datasets/{name}"
        return InputError(f"{name} is gated: ask for access at {address}, then log in with `hf auth login` or HF_TOKEN")
    if isinstance(error, RepositoryNotFoundError):
        return InputError(
            f"there is no folder {name} here, and no dataset of that name on the Hub that you may read: check the "
            "name; for a private one, log in with `hf auth login` or HF_TOKEN"
        )
    if isinstance(error, RevisionNotFoundError):
        return InputError(f"{name} has no revision {revision!r} on the Hub: give one of its tags, or leave it out")
    if isinstance(error, LocalEntryNotFoundError | OfflineModeIsEnabled | ConnectionError | TimeoutError):
        return InputError(
            f"there is no folder {name} here, and the Hub cannot be reached to look for a dataset of that name: check "
            "the path, or the network"
        )
    reason = hub_error(error, get_token())[:200]
    if isinstance(error, HfHubHTTPError) and error.response is not None:
        status = error.response.status_code
        reason = "it does not accept the token: run `hf auth login` again" if status == 401 else f"status {status}"
    return InputError(f"{name} cannot be downloaded from the Hub ({reason}): try again, or download it by hand")
