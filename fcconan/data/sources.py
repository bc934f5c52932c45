"""Pinned upstream files: their entries in recipes, and their mirror, cache and download."""

import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fcconan.data.ids import file_sha256
from fcconan.data.messages import one_line
from fcconan.errors import InputError

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Model(BaseModel):
    """A part of a recipe: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Model):
    """One upstream file: a raw file of a public repository at a commit, or a local file."""

    repository: str | None = Field(None, pattern=r"^[\w.-]+/[\w.-]+$")  # owner/name on GitHub
    commit: str | None = Field(None, pattern=r"^[0-9a-f]{40}$")
    path: str  # in the repository; without a repository, relative to the recipe file
    sha256: Sha256 | None = None
    optional: bool = False
    note: str | None = None  # why the file is optional, or its peculiarities
    empty_texts: int = Field(0, ge=0)  # known empty cells in text columns
    path_names_people: bool = False  # whether to leave the path out of the manifest
    columns: dict[str, str] = {}  # column of the file by our column; a shell pattern must match one column

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


def cache_folder() -> Path:
    """Returns the folder of downloaded files: `$FCCONAN_CACHE`, or the user's cache folder."""
    if given := os.environ.get("FCCONAN_CACHE"):
        return Path(given)
    import pooch

    return Path(str(pooch.os_cache("fcconan")))


def fetch(source: Source, *, folder: Path, terms: str = "") -> Path | None:
    """Finds a source file, and downloads it if necessary.

    The mirror (`$FCCONAN_MIRROR/<owner>/<repository>/<path>`) comes first, then the cache, then the network.

    Args:
        source: Entry of the file in a recipe.
        folder: Folder of the recipe, for sources without a repository.
        terms: Terms of the upstream data, shown once for each repository before a download.

    Returns:
        The local file, or None if an optional file is not available.

    Raises:
        InputError: The file is not available, or its hash differs from that of the recipe.
    """
    import pooch
    from requests import RequestException

    if source.sha256 is None:
        return None  # optional and not pinned: it cannot be verified
    if source.repository is None:
        first = last = folder / source.path
    else:
        mirror = os.environ.get("FCCONAN_MIRROR")
        last = cache_folder() / source.repository / str(source.commit) / source.path
        first = Path(mirror) / source.repository / source.path if mirror else last
    if first.is_file() and (source.repository is None or first != last):  # the cache compares hashes itself
        if (found := file_sha256(first)) != source.sha256:
            raise InputError(f"{first} has sha256 {found}, expected {source.sha256}: get the pinned file")
        return first
    if source.repository is None:
        if source.optional:
            return None
        raise InputError(f"{last} is missing: put the file there, or correct `path` in the recipe")
    if not last.is_file():
        _show_terms(source.repository, " ".join(terms.split()))
    pooch.get_logger().setLevel("WARNING")
    host = os.environ.get("FCCONAN_RAW_URL") or RAW_URL
    address = f"{host}/{source.repository}/{source.commit}/{quote(source.path)}"
    downloader = pooch.HTTPDownloader(timeout=60, progressbar=sys.stderr.isatty())
    hashes, addresses = {last.name: source.sha256}, {last.name: address}
    try:
        cache = pooch.create(last.parent, base_url="", registry=hashes, urls=addresses, retry_if_failed=2)
        return Path(cache.fetch(last.name, downloader=downloader))
    except (RequestException, ValueError) as error:  # the last for a wrong hash
        if source.optional:
            return None
        raise InputError(
            f"{source.path} cannot be fetched ({one_line(error, 300)}): save it as {last}, or set FCCONAN_MIRROR to a "
            f"folder with {source.repository}/{source.path}"
        ) from error


@cache
def _show_terms(repository: str, terms: str) -> None:
    print(f"note: fetching from {repository}. Terms: {terms}", file=sys.stderr)


def fetch_all(sources: Mapping[str, Source], *, folder: Path, terms: str = "") -> dict[str, Path]:
    """Finds every file of a recipe, as `fetch` does; optional files that are not available are left out."""
    found = {key: fetch(source, folder=folder, terms=terms) for key, source in sources.items()}
    return {key: path for key, path in found.items() if path is not None}
