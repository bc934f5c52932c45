"""Pinned upstream files: found in the mirror, the cache or on the network, and hashed wherever they are found."""

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from fcconan.build.recipe import Recipe, Source
from fcconan.errors import InputError
from fcconan.leftovers import leftovers

RAW_URL = "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = 60
ATTEMPTS = 3
PAUSE_SECONDS = 0.5
FETCHING = ".fetching-"

_noticed: set[str] = set()
_noticing = threading.Lock()


def cache_folder() -> Path:
    """Returns where fetched files are kept: `$FCCONAN_CACHE`, or the user's cache folder."""
    given = os.environ.get("FCCONAN_CACHE")
    if given:
        return Path(given)
    import pooch

    return Path(str(pooch.os_cache("fcconan")))


def source_url(source: Source) -> str:
    """Returns the raw URL of an upstream file; `$FCCONAN_RAW_URL` replaces the host, for a proxy."""
    from urllib.parse import quote

    base = os.environ.get("FCCONAN_RAW_URL", RAW_URL).rstrip("/")
    return f"{base}/{source.repository}/{source.commit}/{quote(source.path)}"


def sha256_of(path: Path) -> str:
    """Returns the sha256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(source: Source, *, folder: Path, terms: str = "", notice: Callable[[str], None] | None = None) -> Path | None:
    """Finds one file, fetching it if need be.

    The mirror (`$FCCONAN_MIRROR/<owner>/<repository>/<path>`) comes first, then the cache, then the network. A file
    reaches the cache under a temporary name and is renamed once its hash is right, so processes that fetch the same
    file at once do not disturb each other.

    Args:
        source: The file's entry in a recipe.
        folder: The recipe's folder, for sources without a repository.
        terms: The terms that upstream states, shown once for each repository that is fetched from.
        notice: Called with the notice of those terms; prints it to standard error by default.

    Returns:
        The local file, or None where an optional file is not to be had.

    Raises:
        InputError: The file is nowhere, or its hash differs from the recipe's.
    """
    if source.sha256 is None:
        return None  # optional and not pinned: what cannot be verified is not read
    if source.repository is None:
        local = folder / source.path
        if local.is_file():
            return _verified(local, source, str(local))
        if source.optional:
            return None
        raise InputError(f"{local} is missing: put the file there, or correct `path` in the recipe")
    mirror = os.environ.get("FCCONAN_MIRROR")
    mirrored = Path(mirror) / source.repository / source.path if mirror else None
    if mirrored and mirrored.is_file():
        return _verified(mirrored, source, f"{mirrored} (in the mirror)")
    cached = cache_folder() / source.repository / str(source.commit) / source.path
    if not cached.is_file():
        _show_terms(source.repository, terms, notice)
        try:
            _download(source, cached)
        except InputError:
            raise
        except Exception as error:
            if source.optional:
                return None
            by_hand = mirrored or cached
            raise InputError(
                f"{source_url(source)} cannot be fetched ({_first_line(error)}): download it by hand, in a browser, "
                f"and save it as {by_hand}"
            ) from error
    return _verified(cached, source, f"{cached} (in the cache)")


def fetch_all(recipe: Recipe, *, jobs: int = 4, progress: bool | None = None) -> dict[str, Path]:
    """Finds every file of a recipe, several at a time.

    Args:
        recipe: The recipe.
        jobs: How many files are fetched at once.
        progress: Whether to show a progress bar; by default where standard error is a terminal.

    Returns:
        The local file by the source's name in the recipe; optional files that are not to be had are left out.

    Raises:
        InputError: A file that is not optional cannot be had, or a hash differs.
    """
    from tqdm import tqdm

    shown = sys.stderr.isatty() if progress is None else progress
    found: dict[str, Path] = {}
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        tasks = {
            key: pool.submit(fetch, source, folder=recipe.folder, terms=recipe.card.terms)
            for key, source in recipe.sources.items()
        }
        try:
            for key, task in tqdm(
                tasks.items(),
                desc=f"{recipe.name}: upstream files",
                unit="file",
                disable=not shown,
                leave=False,
            ):
                path = task.result()
                if path is not None:
                    found[key] = path
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return found


def _verified(path: Path, source: Source, name: str) -> Path:
    found = sha256_of(path)
    if found != source.sha256:
        raise InputError(
            f"{name} has sha256 {found}, expected {source.sha256}: get the pinned file, or pin the new hash "
            "in the recipe if the change is meant"
        )
    return path


def _download(source: Source, target: Path) -> None:
    import pooch

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for stale in leftovers(target.parent, FETCHING):
            shutil.rmtree(stale, ignore_errors=True)
        stage = tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{FETCHING}{os.getpid()}-")
    except OSError as error:
        raise InputError(
            f"the cache folder {target.parent} cannot be written ({error.strerror}): "
            "set FCCONAN_CACHE to another folder"
        ) from error
    with stage as folder:
        fresh = Path(folder) / "file"
        downloader = pooch.HTTPDownloader(timeout=TIMEOUT_SECONDS)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                downloader(source_url(source), str(fresh), None)
                break
            except OSError as error:  # requests' errors are OSErrors
                response = getattr(error, "response", None)
                status = getattr(response, "status_code", None)
                if response is not None:
                    response.close()  # pooch leaves it open
                final = status is not None and status < 500 and status != 429
                if final or attempt == ATTEMPTS:
                    raise
                time.sleep(attempt * PAUSE_SECONDS)
        _verified(fresh, source, f"{source_url(source)}")
        fresh.replace(target)


def _show_terms(repository: str, terms: str, notice: Callable[[str], None] | None) -> None:
    with _noticing:
        if repository in _noticed:
            return
        _noticed.add(repository)
    text = f"note: fetching from {repository}. Terms: {' '.join(terms.split())}"
    if notice is not None:
        notice(text)
        return
    with suppress(OSError):
        print(text, file=sys.stderr)


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0][:160] if lines else type(error).__name__
