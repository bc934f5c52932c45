"""Entries of a campaign's files by id; unknown ids are refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

from fcconan.errors import InputError

Entry = TypeVar("Entry")


class Lookup(dict[str, Entry]):
    """Entries by id.

    Args:
        folder: Folder of the campaign, for messages.
        kind: Kind of the entries: `unit`, `text` or `rater`.
        entries: The entries.
    """

    def __init__(self, folder: Path, kind: str, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self._folder, self._kind = folder, kind

    def __missing__(self, key: str) -> NoReturn:
        """Refuses an id without an entry."""
        raise InputError(f"{self._folder} has no {self._kind} {key}: restore its files from a backup")
