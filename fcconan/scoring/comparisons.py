"""Verdicts on pairs of replies: validation, and verdicts by rater and pair."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fcconan.data import VERDICTS, optional_id, required_id
from fcconan.errors import InputError
from fcconan.scoring.arrays import Flags, Floats, Ints, Row
from fcconan.scoring.reply_metadata import record_kind, row_place

Side = tuple[str, str | None]
OUTCOME = {"a": 1.0, "tie": 0.5, "b": 0.0, "invalid": np.nan}
SWAPPED = {"a": "b", "b": "a", "tie": "tie", "invalid": "invalid"}
CODES = ("a", "b", "tie")
NONE = -1  # no verdict
NO_RATER = "rater"  # the rater of rows without one


@dataclass(frozen=True)
class Verdicts:
    """Verdicts, one for each rater and pair of replies.

    Attributes:
        systems: Names of the systems, in alphabetical order.
        items: Ids of the items, in alphabetical order.
        raters: Names of the raters, in alphabetical order.
        first: Positions of the systems in the column `system_a`, shape (verdicts,).
        second: Positions of the systems in the column `system_b`, shape (verdicts,).
        outcome: 1 if the first system won, 0 if the second won, 0.5 for a tie, nan for an invalid verdict; shape
            (verdicts,).
        item: Positions of the items, shape (verdicts,).
        rater: Positions of the raters, shape (verdicts,).
        replies: Ids of the two replies of each verdict; None if the row has no id.
        unresolved: Whether the verdict is invalid because there was no majority, shape (verdicts,).
        kinds: Kinds of the raters, from `fcconan.data.schemas.RATER_KINDS`; None if no row states the kind.
        corpora: Items of each corpus, for rows with a column `corpus`.
        n_repeated: Number of rows that repeat an earlier row and are ignored.
        n_both_orders: Number of verdicts that were given in both orders and merged.
        n_flipped: Number of these whose orders disagree, which are ties.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    raters: tuple[str, ...]
    first: Ints
    second: Ints
    outcome: Floats
    item: Ints
    rater: Ints
    replies: tuple[tuple[str | None, str | None], ...]
    unresolved: Flags
    kinds: tuple[str | None, ...]
    corpora: Mapping[str, frozenset[str]]
    n_repeated: int = 0
    n_both_orders: int = 0
    n_flipped: int = 0

    def wins(self, rater: int | None = None) -> Floats:
        """Counts the wins of i over j on each item, a tie being half a win for both; shape (items, systems, systems).

        Args:
            rater: Position of the rater whose verdicts count; None for all raters.
        """
        there = ~np.isnan(self.outcome)
        if rater is not None:
            there &= self.rater == rater
        wins = np.zeros((len(self.items), len(self.systems), len(self.systems)))
        for winners, losers, points in (
            (self.first, self.second, self.outcome),
            (self.second, self.first, 1 - self.outcome),
        ):
            np.add.at(wins, (self.item[there], winners[there], losers[there]), points[there])
        return wins


class _ComparisonRow(NamedTuple):
    """A row of comparisons.

    Attributes:
        place: Location of the row, for messages.
        item: The item.
        rater: The rater.
        sides: System and reply of a and of b.
        verdict: `a`, `b`, `tie` or `invalid`.
        unresolved: Whether the verdict is invalid because there was no majority.
    """

    place: str
    item: str
    rater: str
    sides: tuple[Side, Side]
    verdict: str
    unresolved: bool


@dataclass
class _PairVerdicts:
    """The verdicts of one rater on one pair of replies.

    Attributes:
        turned: Whether the first row has the systems in reverse alphabetical order.
        verdicts: Whether the order is reverse -> verdict in that order.
        unresolved: Whether a verdict is invalid because there was no majority.
    """

    turned: bool
    verdicts: dict[bool, str] = field(default_factory=dict)
    unresolved: bool = False

    @property
    def flipped(self) -> bool:
        """Whether readable verdicts in both orders disagree."""
        other = self.verdicts.get(not self.turned, "invalid")
        return "invalid" not in (self.verdicts[self.turned], other) and self.verdicts[self.turned] != SWAPPED[other]

    @property
    def verdict(self) -> str:
        """Verdict in the order of the first row: a tie if the orders disagree, invalid if one of them is invalid."""
        if "invalid" in self.verdicts.values():
            return "invalid"
        return "tie" if self.flipped else self.verdicts[self.turned]


def read_verdicts(comparisons: Iterable[Row]) -> Verdicts:
    """Reads comparisons.

    A repeated verdict of a rater counts once. A verdict in both orders counts once, too: as a tie if the orders
    disagree, as invalid if one of them is invalid, as in `fcconan judge compare`. Missing reply ids are those of other
    rows on the same item and systems.

    Args:
        comparisons: Rows with `item_id`, `system_a`, `system_b` and `verdict` (`a`, `b`, `tie` or `invalid`), and
            optionally `rater`, `rater_kind`, `reply_a`, `reply_b`, `corpus` and `reason`. The reason `unresolved`
            (there is no majority) is counted separately.

    Raises:
        InputError: There are no comparisons, or a row is invalid. A row is invalid if a value is missing or unknown; if
            it compares a system with itself; if it contradicts another row in the rater's verdict or kind; if a reply
            belongs to another item or system; or if it lacks a reply id and other rows have several.
    """
    homes: dict[str, tuple[str, str]] = {}
    kinds: dict[str, str] = {}
    corpora: dict[str, set[str]] = {}
    rows: list[_ComparisonRow] = []
    for number, row in enumerate(comparisons, start=1):
        place = row_place(row, "comparison", number)
        rows.append(_read_row(row, place, homes, kinds))
        if corpus := optional_id(row, "corpus", place):
            corpora.setdefault(corpus, set()).add(rows[-1].item)
    if not rows:
        raise InputError("there are no comparisons: give rows with item_id, system_a, system_b, verdict and rater")
    found: dict[tuple[str, str, Side, Side], _PairVerdicts] = {}
    for place, item, rater, (a, b), verdict, unresolved in _add_reply_ids(rows):
        turned = b[0] < a[0]
        judged = found.setdefault((item, rater, b, a) if turned else (item, rater, a, b), _PairVerdicts(turned))
        judged.unresolved |= unresolved
        before = judged.verdicts.setdefault(turned, verdict)
        if before != verdict:
            raise InputError(
                f"{place}: the verdict of {rater} on {a[0]} and {b[0]}, item {item}, is {verdict!r}, but {before!r} in "
                "an earlier row; remove one of them"
            )
    systems = sorted({side[0] for _, _, *sides in found for side in sides})
    items, raters = sorted({item for item, *_ in found}), sorted({rater for _, rater, *_ in found})
    # Sides are in the order of the first row.
    sides = [(b, a) if judged.turned else (a, b) for (_, _, a, b), judged in found.items()]
    return Verdicts(
        tuple(systems),
        tuple(items),
        tuple(raters),
        first=_positions(systems, (a[0] for a, _ in sides)),
        second=_positions(systems, (b[0] for _, b in sides)),
        outcome=np.array([OUTCOME[judged.verdict] for judged in found.values()]),
        item=_positions(items, (item for item, *_ in found)),
        rater=_positions(raters, (rater for _, rater, *_ in found)),
        replies=tuple((a[1], b[1]) for a, b in sides),
        unresolved=np.array([judged.unresolved for judged in found.values()]),
        kinds=tuple(kinds.get(rater) for rater in raters),
        corpora={name: frozenset(corpora[name]) for name in sorted(corpora)},
        n_repeated=len(rows) - sum(len(judged.verdicts) for judged in found.values()),
        n_both_orders=sum(len(judged.verdicts) == 2 for judged in found.values()),
        n_flipped=sum(judged.flipped for judged in found.values()),
    )


def _positions(names: Sequence[str], wanted: Iterable[str]) -> Ints:
    places = {name: position for position, name in enumerate(names)}
    return np.array([places[name] for name in wanted], dtype=np.int64)


def _add_reply_ids(read: list[_ComparisonRow]) -> list[_ComparisonRow]:
    """Adds missing reply ids from other rows on the same item and systems, so that all raters judge the same pairs."""
    known: dict[tuple[str, frozenset[str], str], dict[str, None]] = {}
    for _, item, _, sides, *_ in read:
        systems = frozenset(system for system, _ in sides)
        for system, reply in sides:
            if reply is not None:
                known.setdefault((item, systems, system), {})[reply] = None
    if not known:
        return read
    new = []
    for given in read:
        place, item, _, sides, *_ = given
        systems = frozenset(system for system, _ in sides)
        a, b = (
            (system, reply or _single_reply(known.get((item, systems, system), {}), place, system, item))
            for system, reply in sides
        )
        new.append(given if (a, b) == sides else given._replace(sides=(a, b)))
    return new


def _single_reply(replies: Iterable[str], place: str, system: str, item: str) -> str | None:
    named = list(replies)
    if len(named) > 1:
        raise InputError(
            f"{place}: the reply of {system} to the item {item} has no id, but other rows have "
            f"{len(named)} ids ({', '.join(named[:3])}), expected at most one; write reply_a and reply_b in every row"
        )
    return named[0] if named else None


def _read_row(row: Row, place: str, homes: dict[str, tuple[str, str]], kinds: dict[str, str]) -> _ComparisonRow:
    item, a, b = (required_id(row, column, place) for column in ("item_id", "system_a", "system_b"))
    if a == b:
        raise InputError(f"{place}: {a} is compared with itself, expected two systems; remove that row")
    verdict = row.get("verdict")
    if verdict not in VERDICTS:
        raise InputError(
            f"{place}: the verdict is {verdict!r}, expected one of {', '.join(VERDICTS)}; correct the "
            "row, and write invalid where there is no verdict"
        )
    sides = ((a, optional_id(row, "reply_a", place)), (b, optional_id(row, "reply_b", place)))
    for system, reply in sides:
        if reply is not None and homes.setdefault(reply, (item, system)) != (item, system):
            raise InputError(
                f"{place}: the reply {reply} is one of {system} to {item}, but before it was one of "
                f"{homes[reply][1]} to {homes[reply][0]}; give every reply an id of its own"
            )
    rater, kind = optional_id(row, "rater", place) or NO_RATER, optional_id(row, "rater_kind", place)
    record_kind(kinds, rater, kind, place)
    return _ComparisonRow(
        place, item, rater, sides, verdict, verdict == "invalid" and row.get("reason") == "unresolved"
    )


def verdict_table(comparisons: Iterable[Row] | Verdicts) -> tuple[list[str], Floats]:
    """Returns verdicts as input of `fcconan.scoring.measure_agreement`, with the domain (0, 1, 2) for a, b, tie.

    The sides a and b are those of the first row of a pair; Cohen's kappa depends on this order.

    Args:
        comparisons: Rows of `read_verdicts`, or its result.

    Returns:
        Names of the raters, and their verdicts, shape (raters, pairs of replies); nan for missing and invalid verdicts.

    Raises:
        InputError: See `read_verdicts`.
    """
    verdicts = _as_verdicts(comparisons)
    _, table = _judged_pairs(verdicts)
    return [*verdicts.raters], np.where((table == NONE) | (table >= len(CODES)), np.nan, table)


def pair_items(comparisons: Iterable[Row] | Verdicts) -> list[str]:
    """Returns the item of each pair of replies, in the order of the columns of `verdict_table`.

    Args:
        comparisons: Rows of `read_verdicts`, or its result.

    Raises:
        InputError: See `read_verdicts`.
    """
    return [item for item, _, _ in _judged_pairs(_as_verdicts(comparisons))[0]]


def _as_verdicts(comparisons: Iterable[Row] | Verdicts) -> Verdicts:
    return comparisons if isinstance(comparisons, Verdicts) else read_verdicts(comparisons)


def _judged_pairs(verdicts: Verdicts) -> tuple[list[tuple[str, Side, Side]], Ints]:
    """Returns the pairs of replies and the raters' verdicts on them.

    Returns:
        Item and sides of each pair, in the order of its first row; and verdicts, shape (raters, pairs), as positions in
        `CODES`, `len(CODES)` for an invalid verdict, `NONE` for a missing one.
    """
    places: dict[tuple[int, Side, Side], int] = {}
    columns, turned = [], []
    sides = zip(
        verdicts.item.tolist(), verdicts.first.tolist(), verdicts.second.tolist(), verdicts.replies, strict=True
    )
    for item, first, second, replies in sides:
        a, b = (verdicts.systems[first], replies[0]), (verdicts.systems[second], replies[1])
        turned.append((item, b, a) in places)
        columns.append(places.setdefault((item, b, a) if turned[-1] else (item, a, b), len(places)))
    outcome = np.where(turned, 1 - verdicts.outcome, verdicts.outcome)
    table = np.full((len(verdicts.raters), len(places)), NONE)
    codes = np.select([outcome == OUTCOME[verdict] for verdict in CODES], range(len(CODES)), len(CODES))
    table[verdicts.rater, columns] = codes
    return [(verdicts.items[item], a, b) for item, a, b in places], table
