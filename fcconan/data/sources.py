"""Pinned upstream files: their entries in recipes, and their download, cache and hashes."""

import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Annotated, BinaryIO

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fcconan.data.addresses import Address, parse_address
from fcconan.data.atomic import new_file
from fcconan.data.ids import file_sha256
from fcconan.errors import InputError

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Model(BaseModel):
    """A part of a recipe: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Model):
    """One upstream file: a raw file of a public repository at a commit, or a local file."""

    repository: str | None = Field(None, pattern=r"^[\w.-]+/[\w.-]+$", description="owner/name on GitHub")
    commit: str | None = Field(None, pattern=r"^[0-9a-f]{40}$")
    path: str = Field(description="Path in the repository; without a repository, relative to the recipe file.")
    sha256: Sha256 | None = None
    max_bytes: int = Field(100_000_000, ge=1, description="Maximum size of the download, in bytes.")
    optional: bool = False
    note: str | None = Field(None, description="Reason why the file is optional, or its peculiarities.")
    empty_texts: int = Field(0, ge=0, description="Number of known empty cells in text columns.")
    path_names_people: bool = Field(False, description="Whether to leave the path out of the manifest.")
    columns: dict[str, str] = Field(
        default_factory=dict,
        description="Column of the file by our column; a shell pattern must match one column.",
    )

    @model_validator(mode="after")
    def _pinned(self) -> "Source":
        if (self.repository is None) != (self.commit is None):
            raise ValueError("repository and commit go together")
        if self.repository is not None and (self.path.startswith("/") or ".." in self.path.split("/")):
            raise ValueError("path must lead down from the top of the repository")
        if self.sha256 is None and not (self.optional and self.note):
            raise ValueError(
                "sha256 is missing: every file is pinned (an optional one may say in `note` why it is not)"
            )
        return self


RAW_URL = "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = 60
ATTEMPTS = 3
PAUSE_SECONDS = 0.5

_noticed: set[str] = set()
_noticing = threading.Lock()


def cache_folder() -> Path:
    """Returns the folder of downloaded files: `$FCCONAN_CACHE`, or the user's cache folder."""
    given = os.environ.get("FCCONAN_CACHE")
    if given:
        return Path(given)
    import pooch

    return Path(str(pooch.os_cache("fcconan")))


def source_url(source: Source) -> str:
    """Returns the raw URL of an upstream file, without user name and password.

    Raises:
        InputError: `$FCCONAN_RAW_URL`, which replaces the host, is not a valid address.
    """
    return f"{_raw_host().url}/{_place(source)}"


def _raw_host() -> Address:
    return parse_address(os.environ.get("FCCONAN_RAW_URL") or RAW_URL, "FCCONAN_RAW_URL", example=RAW_URL)


def _place(source: Source) -> str:
    from urllib.parse import quote

    return f"{source.repository}/{source.commit}/{quote(source.path)}"


def fetch(source: Source, *, folder: Path, terms: str = "") -> Path | None:
    """Finds a source file, and downloads it if necessary.

    The mirror (`$FCCONAN_MIRROR/<owner>/<repository>/<path>`) comes first, then the cache, then the network. A download
    has a temporary name until its hash is verified, so that several processes can download the same file.

    Args:
        source: Entry of the file in a recipe.
        folder: Folder of the recipe, for sources without a repository.
        terms: Terms of the upstream data, shown once for each repository before a download.

    Returns:
        The local file, or None if an optional file is not available.

    Raises:
        InputError: The file is not available, or its hash differs from that of the recipe.
    """
    if source.sha256 is None:
        return None  # optional and not pinned: it cannot be verified
    mirror = os.environ.get("FCCONAN_MIRROR")
    if source.repository is not None and mirror and not Path(mirror).is_dir():
        raise InputError(
            f"FCCONAN_MIRROR is {mirror}, which is not a folder: correct it, or unset it to fetch the files"
        )
    places = _places(source, folder)
    for path, name in places.items():
        if path.is_file():
            return _verified(path, source, f"{path}{name}")
    if source.repository is None:
        if source.optional:
            return None
        raise InputError(f"{folder / source.path} is missing: put the file there, or correct `path` in the recipe")
    cached = list(places)[-1]
    _show_terms(source.repository, terms)
    try:
        _download(source, cached)
    except OSError as error:  # errors of requests are OSErrors without a number
        if error.errno is not None:
            raise InputError(
                f"the cache folder {cached.parent} cannot be written ({error.strerror}): set FCCONAN_CACHE to "
                "another folder"
            ) from error
        if source.optional:
            return None
        raise InputError(
            f"{source_url(source)} cannot be fetched ({_reason(error)}): download it by hand, in a browser, and "
            f"save it as {next(iter(places))}, or set FCCONAN_MIRROR to a folder that holds "
            f"{source.repository}/{source.path}"
        ) from error
    return cached


def _places(source: Source, folder: Path) -> dict[Path, str]:
    """Returns the paths to search for a file, in order, each with a note for messages."""
    if source.repository is None:
        return {folder / source.path: ""}
    cached = cache_folder() / source.repository / str(source.commit) / source.path
    mirror = os.environ.get("FCCONAN_MIRROR")
    mirrored = {Path(mirror) / source.repository / source.path: " (in the mirror)"} if mirror else {}
    return {**mirrored, cached: " (in the cache; delete it to fetch it again)"}


def fetch_all(
    sources: Mapping[str, Source],
    *,
    folder: Path,
    name: str,
    terms: str = "",
    jobs: int = 4,
    progress: bool | None = None,
) -> dict[str, Path]:
    """Finds every file of a recipe, several at a time.

    Args:
        sources: Entries of the recipe, by name.
        folder: Folder of the recipe, for sources without a repository.
        name: Name of the recipe, for the progress bar.
        terms: Terms of the upstream data, shown once for each repository before a download.
        jobs: Number of simultaneous downloads.
        progress: Whether to show a progress bar; by default where standard error is a terminal.

    Returns:
        Local files by name of the source; optional files that are not available are left out.

    Raises:
        InputError: A required file is not available, or a hash differs.
    """
    from tqdm import tqdm

    shown = sys.stderr.isatty() if progress is None else progress
    pending = iter(list(sources))
    finished: SimpleQueue[tuple[str, Path | BaseException | None]] = SimpleQueue()

    def work() -> None:
        for key in pending:
            try:
                finished.put((key, fetch(sources[key], folder=folder, terms=terms)))
            except BaseException as error:
                finished.put((key, error))

    # Daemon threads instead of a pool, whose threads Python waits for: Ctrl-C can end a stalled download.
    for _ in range(max(1, min(jobs, len(sources)))):
        threading.Thread(target=work, daemon=True).start()
    found: dict[str, Path] = {}
    label = f"{name}: upstream files"
    try:
        for _ in tqdm(range(len(sources)), desc=label, unit="file", disable=not shown, leave=False):
            key, outcome = finished.get()
            if isinstance(outcome, BaseException):
                raise outcome
            if outcome is not None:
                found[key] = outcome
    finally:
        list(pending)  # an error prevents further downloads
    return {key: found[key] for key in sources if key in found}


def _verified(path: Path, source: Source, name: str) -> Path:
    found = file_sha256(path)
    if found != source.sha256:
        raise InputError(
            f"{name} has sha256 {found}, expected {source.sha256}: get the pinned file, or pin the new hash "
            "in the recipe if the change is intended"
        )
    return path


class _LimitedFile:
    """A file with the maximum size of the recipe, so that a server cannot fill the disk."""

    def __init__(self, source: Source, file: BinaryIO) -> None:
        self._source, self._file = source, file
        self._left = source.max_bytes

    def write(self, content: bytes) -> None:
        self._left -= len(content)
        if self._left < 0:
            raise InputError(
                f"{source_url(self._source)} is larger than {self._source.max_bytes} bytes, the most that its recipe "
                "allows: check the address, or raise `max_bytes` of the source"
            )
        self._file.write(content)

    def flush(self) -> None:
        self._file.flush()


def _download(source: Source, target: Path) -> None:
    import pooch

    target.parent.mkdir(parents=True, exist_ok=True)
    with new_file(target) as fresh:
        downloader = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                with fresh.open("wb") as file:
                    downloader(f"{_raw_host().with_login}/{_place(source)}", _LimitedFile(source, file), None)
                break
            except OSError as error:
                response = getattr(error, "response", None)
                status = getattr(response, "status_code", None)
                if response is not None:
                    response.close()  # pooch leaves it open
                # Only errors of requests, which have no number, are retried; local errors (a full disk) persist.
                final = error.errno is not None or (status is not None and status < 500 and status != 429)
                if final or attempt == ATTEMPTS:
                    raise
                time.sleep(attempt * PAUSE_SECONDS)
            except ValueError as error:  # of urllib3, whose message repeats the address
                raise InputError(
                    f"{source_url(source)} cannot be fetched ({_reason(error)}): check the addresses in http_proxy and "
                    "https_proxy"
                ) from error
        _verified(fresh, source, f"{source_url(source)}")


def _show_terms(repository: str, terms: str) -> None:
    with _noticing:
        if repository in _noticed:
            return
        _noticed.add(repository)
    text = f"note: fetching from {repository}. Terms: {' '.join(terms.split())}"
    with suppress(OSError):
        print(text, file=sys.stderr)


def _reason(error: BaseException) -> str:
    """Returns a short reason for a network error, whose own text repeats the URL."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    return f"HTTP {status}" if status is not None else type(error).__name__


def is_available(source: Source, *, folder: Path) -> bool:
    """Returns whether a file is available without a download: in the mirror, the cache or the folder of the recipe."""
    return source.sha256 is not None and any(path.is_file() for path in _places(source, folder))
