"""The output of builders: tables with typed columns, counts and notes."""

import hashlib
import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pyarrow as pa

from fcconan.data import (
    ALLOWED_VALUES,
    DTYPES,
    LABELS,
    LIST_TYPES,
    RESTRICTED_TYPES,
    VOTE_LABELS,
    Columns,
    feature_specification,
    without_text,
)
from fcconan.errors import InputError

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
ARROW_TYPES: dict[str, Any] = {
    "string": pa.string(),
    "int32": pa.int32(),
    "float64": pa.float64(),
    "bool": pa.bool_(),
}


def arrow_schema(columns: Columns) -> pa.Schema:
    """Returns the Arrow schema of a table, with the features of `datasets` in its metadata."""
    fields = []
    for name, kind in columns.items():
        value = ARROW_TYPES[DTYPES[kind]]
        fields.append(pa.field(name, pa.list_(value) if kind in LIST_TYPES else value))
    return pa.schema(fields, {"huggingface": json.dumps({"info": {"features": feature_specification(columns)}})})


@dataclass(frozen=True)
class Table:
    """One split of one config.

    Attributes:
        config: Name of the config and of its folder.
        split: Name of the split.
        columns: Type of each column, by name (see `fcconan.data.schemas`).
        data: Values of each column; lists of equal length.
        key: Columns (not texts) that identify a row.
    """

    config: str
    split: str
    columns: Columns
    data: dict[str, list[Any]]
    key: tuple[str, ...]

    def __len__(self) -> int:
        return len(next(iter(self.data.values())))

    @classmethod
    def from_rows(
        cls, config: str, split: str, columns: Columns, rows: list[dict[str, Any]], key: tuple[str, ...]
    ) -> "Table":
        """Creates a table from dictionaries; missing keys become None.

        Args:
            config: Name of the config.
            split: Name of the split.
            columns: Type of each column, by name.
            rows: One dictionary per row.
            key: Columns that identify a row.

        Raises:
            KeyError: A row has an unknown column.
        """
        for row in rows:
            unknown = row.keys() - columns.keys()
            if unknown:
                raise KeyError(f"{config}/{split}: no column {sorted(unknown)}")
        return cls(config, split, columns, {name: [row.get(name) for row in rows] for name in columns}, key)

    def rows(self) -> list[dict[str, Any]]:
        """Returns one dictionary per row."""
        names = list(self.data)
        return [dict(zip(names, values, strict=True)) for values in zip(*self.data.values(), strict=True)]

    def keys(self) -> list[tuple[Any, ...]]:
        """Returns the key of every row."""
        return list(zip(*(self.data[name] for name in self.key), strict=True))

    def check(self) -> None:
        """Checks that keys are unique, and that labels, tiers, verdicts and similar columns have allowed values.

        Raises:
            InputError: A row is invalid.
        """
        allowed = ALLOWED_VALUES | {"label": VOTE_LABELS if "rater" in self.columns else LABELS}
        for name in self.columns.keys() & allowed.keys():
            unknown = set(self.data[name]) - {*allowed[name], None}
            if unknown:
                expected = ", ".join(allowed[name])
                raise InputError(
                    f"{self.config}/{self.split}: {name} is {str(min(unknown))[:20]!r}, expected one of {expected}"
                )
        keys = self.keys()
        if len(set(keys)) < len(keys):
            twice = next(key for key, count in Counter(keys).items() if count > 1)
            named = ", ".join(f"{name} {value}" for name, value in zip(self.key, twice, strict=True))
            raise InputError(f"{self.config}/{self.split}: two rows share {named}; remove one of them upstream")

    def labels_only(self) -> "Table":
        """Returns the table without its text columns."""
        kept = without_text(self.columns)
        return replace(self, columns=kept, data={name: self.data[name] for name in kept})

    def arrow(self) -> pa.Table:
        """Returns the table as Arrow, with the features of `datasets` in its metadata."""
        schema = arrow_schema(self.columns)
        return pa.table([self._array(field) for field in schema], schema=schema)

    def _array(self, field: pa.Field) -> pa.Array:
        values = self.data[field.name]
        try:
            if field.type == pa.int32() and any(isinstance(value, float) for value in values):
                raise pa.ArrowInvalid("a number with a fraction")  # Arrow would truncate it
            return pa.array(values, field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise InputError(
                f"{self.config}/{self.split}: column {field.name} holds no {field.type} ({error})"
            ) from error

    def content_hash(self) -> str:
        """Returns the sha256 of names, types and values, independent of the file format."""
        hasher = hashlib.sha256(json.dumps([self.split, self.columns]).encode())
        for name in self.columns:
            hasher.update(json.dumps(self.data[name], ensure_ascii=False).encode())
        return hasher.hexdigest()


@dataclass
class Built:
    """The output of a builder.

    Attributes:
        tables: Tables, in the order of the card.
        aliases: Mapping from further names of configs to configs (`gold-corpus` to `corpus`).
        facts: Further counts, which are compared with the recipe and written to the manifest.
        agreement: Lines about agreement for the card.
        notes: Sentences about omissions and peculiarities for the card.
    """

    tables: list[Table]
    aliases: dict[str, str] = field(default_factory=dict)
    facts: dict[str, int] = field(default_factory=dict)
    agreement: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def labels_only(self) -> "Built":
        """Returns the output without text columns."""
        return replace(self, tables=[table.labels_only() for table in self.tables])

    def table(self, config: str, split: str) -> Table:
        """Returns one table, which must exist."""
        return next(table for table in self.tables if (table.config, table.split) == (config, split))


def group_values(entries: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Returns the values by key; keys and values keep their order."""
    groups: dict[Key, list[Value]] = {}
    for key, value in entries:
        groups.setdefault(key, []).append(value)
    return groups


def table_texts(table: Table) -> Iterator[str]:
    """Yields the texts of a table."""
    for name, kind in table.columns.items():
        for value in table.data[name] if kind in RESTRICTED_TYPES else ():
            yield from filter(None, value if isinstance(value, list) else [value])
