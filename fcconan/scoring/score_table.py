"""Scores of metrics and people for the same replies, as arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats, Ints


@dataclass(frozen=True)
class ScoreTable:
    """Values of metrics and of people; a row is a reply, and nan is missing.

    Attributes:
        metrics: Names of the metrics (or judges).
        aspects: Names of the aspects that people rated.
        metric_values: Values of the metrics, shape (metrics, rows).
        human_values: Mean ratings by people, shape (aspects, rows).
        items: Item of each reply (an HS with its reference); shape (rows,).
        systems: System of each reply; shape (rows,).
        annotators: Ratings of each person, for the human ceiling; shape (people, aspects, rows).
        about: Aspect that each row of `metric_values` rates, None for all aspects; by default None for all rows. A
            judge of several aspects has one name and a row for each aspect.

    Raises:
        InputError: The shapes differ, a name occurs twice, or a value is infinite.
    """

    metrics: tuple[str, ...]
    aspects: tuple[str, ...]
    metric_values: Floats
    human_values: Floats
    items: Sequence[str | int]
    systems: Sequence[str | int]
    annotators: Floats | None = None
    about: tuple[str | None, ...] | None = None

    def __post_init__(self) -> None:
        rows = len(self.items)
        shapes: dict[str, tuple[Floats | None, tuple[int, ...]]] = {
            "metric_values": (self.metric_values, (len(self.metrics), rows)),
            "human_values": (self.human_values, (len(self.aspects), rows)),
        }
        if self.annotators is not None:
            shapes["annotators"] = (self.annotators, (len(self.annotators), len(self.aspects), rows))
        for name, (values, shape) in shapes.items():
            if values is None:
                continue
            if values.shape != shape:
                raise InputError(f"{name} has the shape {values.shape}, expected {shape}: one value for every row")
            if np.isinf(values).any():
                raise InputError(f"{name} has an infinite value, expected numbers or nan; mark it as missing")
        if len(self.systems) != rows:
            raise InputError(f"found {len(self.systems)} systems for {rows} rows, expected one for every row")
        about = self.aspect_of
        unknown = [aspect for aspect in about if aspect is not None and aspect not in self.aspects]
        if unknown or len(about) != len(self.metrics):
            found = repr(unknown[0]) if unknown else f"{len(about)} entries for {len(self.metrics)} metrics"
            raise InputError(f"`about` has {found}, expected an aspect or None for every metric; correct it")
        named = [
            f"{metric} ({aspect})" if aspect else metric for metric, aspect in zip(self.metrics, about, strict=True)
        ]
        for kind, names in (("metric", named), ("aspect", list(self.aspects))):
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise InputError(f"the {kind} {twice[0]!r} occurs twice, expected different names; rename one")

    @property
    def aspect_of(self) -> tuple[str | None, ...]:
        """Aspect that each row of `metric_values` rates; None for all aspects."""
        return (None,) * len(self.metrics) if self.about is None else self.about

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Positions of the metrics and aspects that are compared."""
        return [
            (metric, aspect)
            for metric, only in enumerate(self.aspect_of)
            for aspect, name in enumerate(self.aspects)
            if only in (None, name)
        ]

    @cached_property
    def item_names(self) -> list[str]:
        """The items, in the order of `item`."""
        return np.unique(np.asarray(self.items, dtype=str)).tolist()

    @cached_property
    def system_names(self) -> list[str]:
        """The systems, in the order of `system`."""
        return np.unique(np.asarray(self.systems, dtype=str)).tolist()

    @cached_property
    def item(self) -> Ints:
        """Position of each row's item in `item_names`; shape (rows,)."""
        return _positions(self.items)

    @cached_property
    def system(self) -> Ints:
        """Position of each row's system in `system_names`; shape (rows,)."""
        return _positions(self.systems)

    def select(self, metrics: Sequence[int], rows: Sequence[int]) -> "ScoreTable":
        """Returns some of the metrics and rows, by their positions.

        Args:
            metrics: Positions of the metrics.
            rows: Positions of the rows.
        """
        return replace(
            self,
            metrics=tuple(self.metrics[position] for position in metrics),
            metric_values=self.metric_values[np.ix_(metrics, rows)],
            human_values=self.human_values[:, rows],
            items=[self.items[row] for row in rows],
            systems=[self.systems[row] for row in rows],
            annotators=None if self.annotators is None else self.annotators[..., rows],
            about=tuple(self.aspect_of[position] for position in metrics),
        )


def _positions(names: Sequence[str | int]) -> Ints:
    return np.unique(np.asarray(names, dtype=str), return_inverse=True)[1].reshape(-1).astype(np.int64)


@dataclass(frozen=True)
class CompleteRows:
    """Rows on which all given pairs of variables are complete.

    Attributes:
        x: Values of the metrics, shape (metrics, rows); without nan for the metrics of `pairs`.
        y: Values of people, shape (aspects, rows); without nan for the aspects of `pairs`.
        item: Position of each row's item; shape (rows,).
        system: Position of each row's system; shape (rows,).
        n_items: Number of items in the whole table.
        n_systems: Number of systems in the whole table.
        pairs: Positions in x and y.
        rows: Positions of the rows in the whole table.
    """

    x: Floats
    y: Floats
    item: Ints
    system: Ints
    n_items: int
    n_systems: int
    pairs: list[tuple[int, int]]
    rows: Ints

    def select(self, chosen: Ints) -> "CompleteRows":
        """Returns some of the rows."""
        return replace(
            self,
            x=self.x[:, chosen],
            y=self.y[:, chosen],
            item=self.item[chosen],
            system=self.system[chosen],
            rows=self.rows[chosen],
        )


def complete_rows(table: ScoreTable, x: Floats, y: Floats, pairs: Sequence[tuple[int, int]]) -> Iterator[CompleteRows]:
    """Groups pairs of variables by their missing rows, and yields each group with its complete rows.

    Args:
        table: Table with the items and systems.
        x: Values of the metrics, shape (metrics, rows); nan is missing.
        y: Values of people, shape (aspects, rows); nan is missing.
        pairs: Positions in x and y.
    """
    there_x, there_y = np.isfinite(x), np.isfinite(y)
    alike: dict[bytes, list[tuple[int, int]]] = {}
    for metric, aspect in pairs:
        alike.setdefault((there_x[metric] & there_y[aspect]).tobytes(), []).append((metric, aspect))
    for key, own in alike.items():
        rows = np.flatnonzero(np.frombuffer(key, dtype=np.bool_))
        sizes = (len(table.item_names), len(table.system_names))
        yield CompleteRows(x[:, rows], y[:, rows], table.item[rows], table.system[rows], *sizes, own, rows)
