"""Splits of a dataset that items and training pairs are read from, and names of their columns."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.data import (
    MANIFEST,
    SUFFIXES,
    TIERS,
    PlacedRow,
    cell_list,
    cell_text,
    check_there,
    file_sha256,
    first_column,
    is_missing,
    open_table,
    part_files,
    read_manifest,
    release_folder,
    row_file,
    short_hash,
)
from fcconan.errors import InputError

Row = dict[str, Any]
QUERIES_FILE = "queries.jsonl"
TRAIN = "train"
_LANGUAGE = re.compile(r"^language:.*(?:\n(?:-| ).*)*", re.MULTILINE)
_TEXTS = ("hate_speech", "counter_narrative", "references")


@dataclass(frozen=True)
class DatasetSplit:
    """One split of one config of a dataset folder, or a file of rows.

    Attributes:
        files: Files of the split.
        dataset: Name of the dataset, or of the file.
        fingerprint: Hash of the content.
        config: The config; None for a file.
        split: The split; None for a file.
        language: Language code, if the card of the dataset names a single language.
        columns: Name of a column here -> its name in the files.
        filter: Column -> the values, as text, of the rows that are read; None for all rows.
    """

    files: tuple[Path, ...]
    dataset: str
    fingerprint: str
    config: str | None = None
    split: str | None = None
    language: str | None = None
    columns: Mapping[str, str] | None = None
    filter: Mapping[str, Collection[str]] | None = None

    def rows(self) -> Iterator[tuple[str, Row]]:
        """Yields the position of each row, for messages, and the row with the column names of this package.

        Raises:
            InputError: A file cannot be read or lacks a column, a cell has another type than text, or no row matches
                the filter.
        """
        filters, found = sorted((self.filter or {}).items()), False
        where = ", ".join(map(str, self.files))
        for row in open_table("pairs", self.files, rename=self.columns):
            named = _named(row)
            check_there(where, [name for name, _ in filters if name not in named], named)
            # A value may be missing in this split: the same filter is applied to a validation split.
            if all(cell_text(named[name]) in values for name, values in filters):
                found = True
                yield str(self.files[0].parent / row.place), named
        if not found:
            shown = " and ".join(f"{name} {'/'.join(sorted(values))}" for name, values in filters)
            raise InputError(f"{where} has no rows with {shown}: choose values that it has")

    def all_rows(self) -> list[tuple[str, Row]]:
        """Returns all rows with their positions.

        Raises:
            InputError: As `rows`; or the rows have no messages.
        """
        rows = list(self.rows())
        where = ", ".join(map(str, self.files))
        if not any("hate_speech" in row for _, row in rows):
            first = rows[0][1]
            if "hs_id" in first:
                raise InputError(f"{where} holds labels without texts: `fcconan hydrate` brings them back")
            there = {name: value for name, value in first.items() if name != "references" or value}
            check_there(where, ["hate_speech"], there)
        return rows


def _named(row: PlacedRow) -> Row:
    """Returns a row with the column names of this package."""
    found: Row = dict(row)
    for name in _TEXTS:
        if (theirs := first_column(found, name)) is not None:
            found[name] = found[theirs]
    if "hate_speech" not in found and {"_id", "text"} <= found.keys():  # a query of BEIR
        found |= {"hate_speech": found["text"], "hs_id": found["_id"]}
    for name in ("hate_speech", "counter_narrative"):
        if name in found:
            found[name] = _text(found[name], name, row.place)
    found["references"] = _texts(found.get("references"), row.place)
    return found


def is_judged(rows: Sequence[tuple[str, Row]]) -> bool:
    """Returns whether the pairs are combinations of messages and CNs that annotators labelled."""
    return any(row.get("label") == "not_appropriate" or row.get("tier") for _, row in rows)


def open_split(
    source: Path,
    *,
    config: str | None,
    split: str | None,
    columns: Mapping[str, str] | None = None,
    filter: Mapping[str, Collection[str]] | None = None,
    training: bool = False,
) -> DatasetSplit:
    """Finds the split of a dataset that items or training pairs are read from.

    Args:
        source: A folder that `fcconan build` wrote, the name of one on the Hub, a BEIR folder, or a CSV, JSONL or
            parquet file.
        config: Config of the folder. The default for items is its replies, else its pairs, else its queries; for
            training pairs it is `train`, else its pairs.
        split: Split of the config; required if there are several, except for training pairs with a split `train`.
        columns: Name of a column here -> its name in a file.
        filter: Column -> the values, as text, of the rows that are read; by default all rows are read.
        training: Whether training pairs are read.

    Raises:
        InputError: The file, folder, config or split is missing, the config is ambiguous, or there are no texts.
    """
    if source.suffix in SUFFIXES and not source.is_dir():
        if config is not None:
            raise InputError(f"{source} is a file and has no config {config!r}: leave the config out")
        if split is not None:
            raise InputError(f"{source} is a file and has no splits: leave --split out")
        return DatasetSplit((row_file(source),), source.name, file_sha256(source)[:12], columns=columns, filter=filter)
    if config is None and not training and (source / QUERIES_FILE).is_file():
        file = source / QUERIES_FILE
        return DatasetSplit((file,), source.resolve().name, file_sha256(file)[:12], columns=columns, filter=filter)
    source = release_folder(str(source))
    manifest = read_manifest(source) if (source / MANIFEST).is_file() else {}
    if manifest.get("labels_only"):
        raise InputError(f"{source} holds labels without texts: `fcconan hydrate {source} --out DIR` brings them back")
    config = config or _choose(source, training=training)
    if training and split is None and any((source / config).glob(f"{TRAIN}-*.parquet")):
        split = TRAIN
    files = part_files(source, split, config)
    return DatasetSplit(
        tuple(files),
        manifest.get("name") or source.resolve().name,
        manifest.get("fingerprint") or short_hash(*map(file_sha256, files)),
        config,
        split or files[0].name.split("-")[0],
        _language(source),
        columns,
        filter,
    )


def _choose(source: Path, *, training: bool) -> str:
    columns = {each.parent.name: _columns(each) for each in sorted(source.glob("*/*.parquet"))}
    pairs = [name for name, has in columns.items() if {"hate_speech", "counter_narrative"} <= has]
    if training and TRAIN in pairs:
        return TRAIN
    if not training and "replies" in columns:
        return "replies"
    tiers = [tier for tier in TIERS if tier in pairs]
    if tiers:
        return tiers[-1]  # the broadest tier contains the others
    others = [name for name in pairs if name != TRAIN] or pairs
    if len(others) > 1:
        wanted = "training pairs" if training else "messages"
        raise InputError(f"{source} has {wanted} in {', '.join(others)}: choose one of these configs")
    if others:
        return others[0]
    if not training and "queries" in columns:
        return "queries"
    if columns:
        wanted = "pairs" if training else "replies, pairs or queries"
        raise InputError(f"{source} has the configs {', '.join(columns)}, and no {wanted}: choose another dataset")
    return TRAIN if training else "replies"  # `part_files` reports that it is missing


def _columns(path: Path) -> set[str]:
    from fcconan.data import read_schema

    return set(read_schema(path).names)


def _language(source: Path) -> str | None:
    """Returns the language of a dataset whose card names a single one."""
    import yaml

    try:
        card = (source / "README.md").read_text(encoding="utf-8")
        head = card.split("\n---")[0] if card.startswith("---") else ""
        stated = _LANGUAGE.search(head)  # parsing all lines of a card takes a second
        header = yaml.safe_load(stated[0]) if stated else None
    except (OSError, ValueError, yaml.YAMLError):
        return None
    languages = header.get("language") if isinstance(header, dict) else None
    if isinstance(languages, str):
        return languages
    return str(languages[0]) if isinstance(languages, list) and len(languages) == 1 else None


def _text(value: Any, name: str, place: str) -> str:
    if is_missing(value):
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}: {name} is {repr(value)[:40]}, expected a text; correct that row")
    return value


def _texts(value: Any, place: str) -> tuple[str, ...]:
    """Returns the texts of a cell with a list or a single text."""
    return tuple(text for each in cell_list(value) if (text := _text(each, "references", place)).strip())
