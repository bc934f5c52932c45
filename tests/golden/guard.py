"""Keeps upstream text out of the record: six words of a source text in a row are the most that a string may share."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = 7
_WORD = re.compile(r"\w+")


def quotations(value: Any, folders: Iterable[Path]) -> list[str]:
    """Returns the places in a JSON value that share seven words in a row with a text in dataset folders.

    Args:
        value: What is about to be recorded.
        folders: Folders of built datasets; every string in them counts as a source text.
    """
    places: dict[tuple[str, ...], str] = {}
    for place, text in _strings(value):
        for run in _runs(text):
            places.setdefault(run, place)
    if not places:
        return []
    found = {places[run] for folder in folders for text in _texts(folder) for run in _runs(text) if run in places}
    return sorted(found)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    for start in range(len(words) - WORDS + 1):
        yield tuple(words[start : start + WORDS])


def _strings(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yields every string of a JSON value, names of fields included, with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield f"{place} (a name)", name
            yield from _strings(each, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _strings(each, f"{place}[{number}]")


def _texts(folder: Path) -> set[str]:
    """All different strings in the parquet files of a folder, those in lists and structs included."""
    found: set[str] = set()
    for path in folder.glob("*/*.parquet"):
        for column in pq.read_table(path).columns:
            values = column.unique() if pa.types.is_string(column.type) else column
            found.update(text for _, text in _strings(values.to_pylist()))
    return found
