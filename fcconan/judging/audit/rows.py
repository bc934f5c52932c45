"""Reads ratings, comparisons and replies for the audit: what is compared with what, and which HS it belongs to."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fcconan.data import VERDICTS, normalise
from fcconan.errors import InputError
from fcconan.parsing import is_refusal

Row = Mapping[str, Any]
Order = Literal["ab", "ba"]
_SHARES = {"a": 1.0, "tie": 0.5, "b": 0.0, "invalid": None}  # of reply a
_ORDERS: tuple[Order, ...] = ("ab", "ba")


@dataclass(frozen=True)
class Graded:
    """One rating.

    Attributes:
        rater: Who rated.
        kind: `human`, `model` or `metric`.
        aspect: What was rated.
        reply: The id of the reply.
        unit: The HS, or what is known in its place.
        value: The grade; None where it is missing.
        reason: Why it is missing.
        scale: Lowest and highest grade, where they are known.
        sign: -1 where a low grade is praise, else 1.
    """

    rater: str
    kind: str
    aspect: str
    reply: str
    unit: str
    value: float | None
    reason: str | None
    scale: tuple[float, float] | None
    sign: int


@dataclass(frozen=True)
class Verdict:
    """One verdict between replies a and b.

    Attributes:
        rater: Who compared.
        kind: `human`, `model` or `metric`.
        unit: The HS, or the item.
        pair: The item and the two replies, or their systems, sorted: the same for either naming of a and b.
        replies: The ids of a and b, where they are given.
        systems: Who wrote a and b.
        share: 1 where a wins, 0.5 for a tie, 0 where b wins; None where the verdict is invalid.
        reason: Why it is invalid.
        orders: The same share by the order in which a and b were shown; without those that were not asked for.
    """

    rater: str
    kind: str
    unit: str
    pair: tuple[str, str, str]
    replies: tuple[str | None, str | None]
    systems: tuple[str, str]
    share: float | None
    reason: str | None
    orders: Mapping[Order, float | None]


class Replies:
    """What is known of the replies that are judged.

    Raises:
        InputError: A reply has no id, or two have one.
    """

    def __init__(self, rows: Iterable[Row] | None) -> None:
        self._rows: dict[str, Row] = {}
        self._refusals: dict[str, bool] = {}
        for row in rows or ():
            name = _given(row, "reply_id", "replies")
            if name in self._rows:
                raise InputError(f"two replies have the id {name}: give every reply once")
            self._rows[name] = row

    def text(self, name: str | None) -> str | None:
        """Returns the text of a reply; None where it is not known."""
        row = self._rows.get(name or "")
        return None if row is None or row.get("text") is None else str(row["text"])

    def words(self, name: str | None) -> int | None:
        """Returns the number of words, as white space parts them."""
        text = self.text(name)
        return None if text is None else len(text.split())

    def system(self, name: str) -> str | None:
        """Returns who wrote a reply; None where that is not known."""
        system = self._rows.get(name, {}).get("system")
        return None if system is None else str(system)

    def systems(self) -> set[str]:
        """Returns who wrote replies, as far as that is known."""
        return {str(row["system"]) for row in self._rows.values() if row.get("system") is not None}

    def key(self, name: str) -> str:
        """Returns what is the same for replies with the same text, or their id where that is not known."""
        text = self.text(name)
        return f"id {name}" if text is None else f"text {normalise(text)}"

    def refuses(self, name: str | None) -> bool | None:
        """Whether a reply is a refusal; None where its text is not known."""
        text = self.text(name)
        if text is None or name is None:
            return None
        if name not in self._refusals:
            self._refusals[name] = is_refusal(text)
        return self._refusals[name]

    def unit(self, name: str | None, otherwise: str) -> str:
        """Returns the HS of a reply, or its item, or what is to stand for it."""
        row = self._rows.get(name or "", {})
        return str(row.get("hs_id") or row.get("item_id") or otherwise)


def read_ratings(rows: Iterable[Row], replies: Replies) -> list[Graded]:
    """Returns the ratings.

    Raises:
        InputError: A row lacks a column, a value is no number, or a rating is given twice.
    """
    read, seen = [_graded(row, replies) for row in rows], set()
    for each in read:
        if (each.rater, each.aspect, each.reply) in seen:
            raise InputError(
                f"{each.rater} rated the {each.aspect} of {each.reply} twice: give every file once, and ratings made "
                "under other conditions with another --rater-name"
            )
        seen.add((each.rater, each.aspect, each.reply))
    return read


def read_comparisons(rows: Iterable[Row], replies: Replies) -> list[Verdict]:
    """Returns the comparisons. Rows with a column `order` are joined, so that each pair has one verdict of a rater.

    The verdict of joined rows is the mean of their shares, and invalid where one of them is.

    Raises:
        InputError: A row lacks a column, a verdict or an order is unknown, or a comparison or one order of it is given
            twice.
    """
    read = [_verdict(row, replies) for row in rows]
    seen = set()
    joined: dict[tuple[str, tuple[str | None, ...]], Verdict] = {}
    whole = []
    for verdict, is_part in read:
        if not is_part:
            if (verdict.rater, verdict.pair) in seen:
                item, *sides = verdict.pair
                raise InputError(
                    f"{verdict.rater} compared {' and '.join(sides)} of item {item} twice: give every file once, and "
                    "comparisons made under other conditions with another --rater-name"
                )
            seen.add((verdict.rater, verdict.pair))
            whole.append(verdict)
            continue
        key = (verdict.rater, (*verdict.pair, *verdict.systems, *verdict.replies))
        before = joined.get(key)
        joined[key] = verdict if before is None else _joined(before, verdict)
    return whole + list(joined.values())


def _joined(one: Verdict, other: Verdict) -> Verdict:
    twice = set(one.orders) & set(other.orders)
    if twice:
        item, *sides = one.pair
        raise InputError(
            f"{one.rater} compared {' and '.join(sides)} of item {item} twice in the order {twice.pop()}: "
            "give one verdict for each order"
        )
    shares = (one.share, other.share)
    share = None if None in shares else sum(each for each in shares if each is not None) / 2
    return Verdict(
        **{name: getattr(one, name) for name in ("rater", "kind", "unit", "pair", "replies", "systems")},
        share=share,
        reason=one.reason or other.reason,
        orders={**one.orders, **other.orders},
    )


def _graded(row: Row, replies: Replies) -> Graded:
    reply, rater, aspect = (_given(row, name, "ratings") for name in ("reply_id", "rater", "aspect"))
    value = row.get("value")
    if value is not None and not (isinstance(value, int | float) and math.isfinite(value)):
        raise InputError(f"{rater} gave {reply} the {aspect} {value!r}: give a number, or null with a reason")
    low, high = row.get("low"), row.get("high")
    return Graded(
        rater=rater,
        kind=str(row.get("rater_kind") or ""),
        aspect=aspect,
        reply=reply,
        unit=replies.unit(reply, str(row.get("hs_id") or row.get("item_id") or reply)),
        value=None if value is None else float(value),
        reason=None if value is not None else str(row.get("reason") or "unknown"),
        scale=None if low is None or high is None or not low < high else (float(low), float(high)),
        sign=-1 if row.get("higher_is_better") is False else 1,
    )


def _verdict(row: Row, replies: Replies) -> tuple[Verdict, bool]:
    """Returns the verdict, and whether it is that of one order alone."""
    item, rater, system_a, system_b, verdict = (
        _given(row, name, "comparisons") for name in ("item_id", "rater", "system_a", "system_b", "verdict")
    )
    order = row.get("order")
    if order not in (None, *_ORDERS):
        raise InputError(f"the order of a comparison is {order!r}: give ab, where reply a was shown first, or ba")
    share = _share(verdict)
    orders: dict[Order, float | None] = {
        each: None if row.get(f"verdict_{each}") is None else _share(row[f"verdict_{each}"])
        for each in _ORDERS
        if row.get(f"verdict_{each}") is not None or row.get(f"reason_{each}") is not None
    }
    if order is not None:
        orders = {order: share}
    ids = (row.get("reply_a"), row.get("reply_b"))
    sides = sorted((ids[0] or system_a, ids[1] or system_b))
    read = Verdict(
        rater=rater,
        kind=str(row.get("rater_kind") or ""),
        unit=replies.unit(ids[0], item),
        pair=(item, sides[0], sides[1]),
        replies=ids,
        systems=(system_a, system_b),
        share=share,
        reason=None if share is not None else str(row.get("reason") or "unknown"),
        orders=orders,
    )
    return read, order is not None


def _share(verdict: str) -> float | None:
    if verdict not in _SHARES:
        raise InputError(f"a verdict is {verdict!r}: give one of {', '.join(VERDICTS)}")
    return _SHARES[verdict]


def _given(row: Row, name: str, rows: str) -> str:
    if row.get(name) is None:
        raise InputError(f"{rows} have the columns {', '.join(row)}, and a row has no {name}: give one")
    return str(row[name])
