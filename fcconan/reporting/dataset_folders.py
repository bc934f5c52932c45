"""The tables of a dataset folder, and which of them a page can hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from fcconan.building import table_path
from fcconan.data import TEXT_COLUMNS, TIERS, read_manifest, read_table

MOST_ROWS = 100_000
# Kind of the rows of a table -> columns that no other kind has.
KINDS = {
    "votes": {"pair_id", "rater", "label"},
    "pairs": {"pair_id", "hs_id", "cn_id"},
    "ratings": {"reply_id", "rater", "aspect", "value"},
    "comparisons": {"item_id", "system_a", "system_b", "rater", "verdict"},
    "replies": {"reply_id", "system"},
    "qrels": {"query-id", "corpus-id", "score"},
}


@dataclass(frozen=True)
class Source:
    """A table of a dataset folder.

    Attributes:
        config: Its config.
        split: Its split.
        kind: Kind of its rows: a key of `KINDS`, or `rows`.
        table: Its columns.
        texts: Names of the columns that hold text.
    """

    config: str
    split: str
    kind: str
    table: pa.Table
    texts: frozenset[str]

    @property
    def title(self) -> str:
        """Config and split, as people read them."""
        return f"{self.config}, {self.split}"

    def values(self, name: str) -> list[Any]:
        """Returns the values of a column; None for each row if the column is missing."""
        if name not in self.table.column_names:
            return [None] * self.table.num_rows
        found: list[Any] = self.table[name].to_pylist()
        return found

    def rows(self, *names: str) -> list[tuple[Any, ...]]:
        """Returns the values of some columns, row by row."""
        return list(zip(*map(self.values, names), strict=True))

    def has(self, name: str) -> bool:
        """Whether there is such a column with a value."""
        return name in self.table.column_names and self.table[name].null_count < self.table.num_rows


def read_sources(folder: Path) -> list[Source]:
    """Reads all tables of a dataset folder.

    Raises:
        InputError: The folder is not a release, or a table cannot be read.
    """
    manifest = read_manifest(folder)
    restricted = manifest.get("restricted_columns", {})
    sources = []
    for config, splits in manifest["counts"].items():
        for split in splits:
            table = read_table(folder / table_path(config, split))
            names = set(table.column_names)
            kind = next((kind for kind, needed in KINDS.items() if needed <= names), "rows")
            texts = names & (TEXT_COLUMNS | set(restricted.get(config, ())))
            sources.append(Source(config, split, kind, table, frozenset(texts)))
    return sources


def browsable(sources: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Returns the tables to show on a page, and a sentence for each omitted table.

    Omitted are tiers within a broader one, whose pairs name their tier; qrels that repeat the labels of pairs; and
    tables of more than `MOST_ROWS` rows.
    """
    pairs = {source.config: source for source in sources if source.kind == "pairs" and source.config in TIERS}
    broadest = next((pairs[tier] for tier in reversed(TIERS) if tier in pairs), None)
    notes, shown, nested, repeated = [], [], [], []
    for source in sources:
        if not source.table.num_rows:
            continue
        if broadest is not None and _is_within(source, broadest):
            nested.append(source.config)
            continue
        if broadest is not None and source.kind == "qrels":
            repeated.append(source.config)
            continue
        if source.table.num_rows > MOST_ROWS:
            notes.append(
                f"{source.title} has {source.table.num_rows} rows, too many for a page: only the counts are shown."
            )
            continue
        shown.append(source)
    if nested and broadest is not None:
        notes.append(
            f"The pairs of {', '.join(nested)} are part of {broadest.config}; its column tier distinguishes them."
        )
    if repeated:
        notes.append(f"{', '.join(dict.fromkeys(repeated))} repeat the labels of the pairs and are not shown.")
    return shown, notes


def _is_within(source: Source, broadest: Source) -> bool:
    if source is broadest or source.kind != "pairs" or source.config not in TIERS:
        return False
    return set(source.values("pair_id")) <= set(broadest.values("pair_id"))
