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
    """Returns what an error says, short, in one line, without the token, and without secrets in addresses."""
    text = without_secrets(str(error), (token,) if token else ())
    text = " ".join(text.split()) or type(error).__name__
    text = re.sub(r"(?i)\b(bearer )[^\s'\"]+", rf"\1{MASK}", text)
    text = re.sub(r"(https?://[^\s?'\"]+)\?[^\s'\"]*", r"\1", text)
    return text if len(text) <= 300 else text[:297] + "..."


def limit_hub_wait() -> None:
    """Lets the Hub's client give up on a Hub that accepts requests and says nothing, in the whole process."""
    from huggingface_hub.utils import get_session

    session: Any = get_session()
    if hasattr(session, "timeout"):  # versions before 1.0 have no such setting
        session.timeout = LONGEST_SILENCE


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Keeps the Hub's client from writing addresses, and bars to where no terminal is."""
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
    """Whether something that is no path here has the form of a dataset's name on the Hub, `owner/name`."""
    return _NAME.fullmatch(name) is not None and Path(name).suffix not in SUFFIXES and not Path(name).exists()


def release_folder(name: str, *, revision: str | None = None) -> Path:
    """Returns the folder of a release: the folder that is named, or that of a dataset on the Hub, downloaded.

    What is a folder here is never looked for on the Hub. What was downloaded stays in the cache of `huggingface_hub`
    and is checked against the hashes of its manifest each time, but for the card, which the Hub lets people edit.

    Args:
        name: A folder, or `owner/name`.
        revision: A tag, branch or commit of the dataset on the Hub; by default the newest state.

    Raises:
        InputError: There is no such dataset, it may not be read, the Hub cannot be reached, it holds no release of
            this package, a file is not as it was published, or a folder is given a revision.
    """
    if not is_hub_name(name):
        if revision is not None:
            raise InputError(f"{name} is no dataset on the Hub, so it has no revision {revision!r}: leave it out")
        return Path(name)
    found = hub_release(name, revision=revision)
    if found is None:
        raise InputError(
            f"{name} is a dataset on the Hub without a manifest.json, so no release of fcconan: give one that "
            "`fcconan publish` wrote"
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
        with quiet_hub():  # it writes addresses, with whatever is in them
            try:
                manifest = Path(hub.hf_hub_download(name, MANIFEST, repo_type="dataset", revision=revision))
            except LocalEntryNotFoundError:
                raise  # which is what there is in the cache when the Hub cannot be reached
            except EntryNotFoundError:
                return None
            commit = manifest.parent.name  # so that all files are of one commit, whatever is published meanwhile
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
    from fcconan.data.ids import sha256_of
    from fcconan.data.manifest import CARD, MANIFEST, read_manifest

    for file, written in read_manifest(folder)["files"].items():
        if file == CARD:
            continue
        path = folder / file
        found = f"sha256 {sha256_of(path)}" if path.is_file() else "no content"
        if found != f"sha256 {written['sha256']}":
            raise InputError(
                f"{file} of {name} has {found}, and its {MANIFEST} says sha256 {written['sha256']}: it was changed "
                f"after it was published, or in the cache; remove {folder.parent.parent} and try again"
            )


def _refusal(hub: "HfApi", name: str, revision: str | None, error: Exception) -> InputError:
    """Says why a download failed; what the client raises has several lines, and names addresses."""
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
