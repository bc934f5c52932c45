"""Entries of a campaign's files by their ids; an id that a file lacks is refused in one line."""

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn, TypeVar

from fcconan.errors import InputError

Entry = TypeVar("Entry")


class Lookup(dict[str, Entry]):
    """Entries by their ids.

    Args:
        folder: The folder of the campaign, for messages.
        kind: What an entry is: `unit`, `text` or `rater`.
        entries: The entries.
    """

    def __init__(self, folder: Path, kind: str, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self._folder, self._kind = folder, kind

    def __missing__(self, key: str) -> NoReturn:
        """Refuses an id that no entry has, which other files of the campaign name."""
        raise InputError(f"{self._folder} has no {self._kind} {key}: take its files from a backup")
