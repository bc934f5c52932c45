"""Reads ratings, comparisons and replies for the audit, with the HS, length and refusal of each reply."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from fcconan.data import VERDICTS, normalise, required_id
from fcconan.errors import InputError
from fcconan.parsing import is_refusal

Row = Mapping[str, Any]
Order = Literal["ab", "ba"]
_SHARES = {"a": 1.0, "tie": 0.5, "b": 0.0, "invalid": None}  # of reply a
_SWAPPED: dict[Order, Order] = {"ab": "ba", "ba": "ab"}
_ABOUT_REPLIES = ["unit", "system", "words", "refuses", "text_key"]


@dataclass(frozen=True)
class AuditedComparison:
    """Verdict between replies a and b.

    Attributes:
        rater: Name of the rater.
        kind: `human`, `model` or `metric`.
        item: Item of both replies.
        replies: Ids of a and b; None if unknown.
        systems: Systems of a and b.
        share: 1 if a wins, 0.5 for a tie, 0 if b wins; None for an invalid verdict.
        reason: Reason of an invalid verdict.
        orders: Order in which a and b were shown -> share; only requested orders.
    """

    rater: str
    kind: str
    item: str
    replies: tuple[str | None, str | None]
    systems: tuple[str, str]
    share: float | None
    reason: str | None
    orders: Mapping[Order, float | None]

    @property
    def sides(self) -> tuple[str, str]:
        """Ids of the replies, or their systems."""
        return self.replies[0] or self.systems[0], self.replies[1] or self.systems[1]

    @property
    def pair(self) -> tuple[str, ...]:
        """Item and sorted sides; equal for both orders of a and b."""
        return (self.item, *sorted(self.sides))

    def swapped(self) -> "AuditedComparison":
        """Returns the verdict with a and b swapped."""
        return replace(
            self,
            replies=self.replies[::-1],
            systems=self.systems[::-1],
            share=_swapped(self.share),
            orders={_SWAPPED[order]: _swapped(share) for order, share in self.orders.items()},
        )


def read_replies(rows: Iterable[Row] | None) -> pd.DataFrame:
    """Reads metadata of the judged replies.

    Returns:
        Reply id -> `unit` (HS or item), `system`, `words` (number of words), `refuses` (1 or 0), and `text_key`, which
        is equal for replies with equal texts. Unknown cells are None.

    Raises:
        InputError: A reply has no id, or two replies have the same id.
    """
    known: dict[str, list[Any]] = {}
    for row in rows or ():
        name = required_id(row, "reply_id", "replies")
        if name in known:
            raise InputError(f"two replies have the id {name}: give each reply once")
        of_text: list[Any] = [None, None, None]
        if row.get("text") is not None:
            text = str(row["text"])
            of_text = [len(text.split()), int(is_refusal(text)), f"text {normalise(text)}"]
        system = None if row.get("system") is None else str(row["system"])
        known[name] = [row.get("hs_id") or row.get("item_id") or None, system, *of_text]
    return pd.DataFrame.from_dict(known, orient="index", columns=_ABOUT_REPLIES, dtype=object)


def read_ratings(rows: Iterable[Row], replies: pd.DataFrame) -> pd.DataFrame:
    """Reads ratings.

    Args:
        rows: Ratings.
        replies: Result of `read_replies`.

    Returns:
        Columns `rater`, `kind`, `aspect`, `reply`, `unit`, `value`, `reason` (of a missing value), `low` and `high`
        (ends of the scale, if known), `sign` (-1 if low grades are better, else 1), and those of `replies`.

    Raises:
        InputError: A row lacks a column, a value is not a number, or a rating occurs twice.
    """
    columns = ["rater", "kind", "aspect", "reply", "own_unit", "value", "reason", "low", "high", "sign"]
    read = pd.DataFrame([_rating_columns(row) for row in rows], columns=columns).join(replies, on="reply")
    again = read[read.duplicated(["rater", "aspect", "reply"])]
    if not again.empty:
        first = again.iloc[0]
        raise InputError(
            f"{first['rater']} has two ratings of {first['aspect']} of {first['reply']}: give each file once, and "
            "repeat ratings with another --rater-name"
        )
    read["unit"] = read["unit"].where(read["unit"].notna(), read["own_unit"]).astype(str)
    read["text_key"] = read["text_key"].where(read["text_key"].notna(), "id " + read["reply"].astype(str))
    return read.astype(dict.fromkeys(("value", "low", "high", "sign", "words", "refuses"), float))


def read_comparisons(rows: Iterable[Row], replies: pd.DataFrame) -> pd.DataFrame:
    """Reads comparisons, and merges both orders of a pair to one verdict of each rater.

    The two orders may be separate rows: with a column `order`, or with a and b swapped, where reply a was shown first.
    The share of merged rows is the mean of both, and invalid if one of them is.

    Args:
        rows: Comparisons.
        replies: Result of `read_replies`.

    Returns:
        The attributes of `AuditedComparison`, with `pair` and `unit`; the shares of both orders as `ab` and `ba`; and
        `words_a`, `words_b`, `refuses_a` and `refuses_b` of the replies.

    Raises:
        InputError: A row lacks a column, a verdict or an order is unknown, or a comparison or one of its orders occurs
            twice.
    """
    joined: dict[tuple[str, tuple[str, ...]], AuditedComparison] = {}
    for row in rows:
        verdict = _read_comparison(row)
        before = joined.get((verdict.rater, verdict.pair))
        joined[verdict.rater, verdict.pair] = verdict if before is None else _merge_orders(before, verdict)
    read = pd.DataFrame([{**vars(each), "pair": each.pair} for each in joined.values()])
    if read.empty:
        return pd.DataFrame(columns=["rater", "systems"])
    for order in _SWAPPED:
        read[order] = [each.get(order) for each in read["orders"]]
    for place, side in enumerate("ab"):
        about = replies.reindex([each[place] for each in read["replies"]])
        read[f"words_{side}"], read[f"refuses_{side}"] = about["words"].to_numpy(), about["refuses"].to_numpy()
        if side == "a":
            read["unit"] = about["unit"].to_numpy()
    read["unit"] = read["unit"].where(read["unit"].notna(), read["item"]).astype(str)
    numbers = ("share", "ab", "ba", "words_a", "words_b", "refuses_a", "refuses_b")
    return read.astype(dict.fromkeys(numbers, float))


def _merge_orders(one: AuditedComparison, other: AuditedComparison) -> AuditedComparison:
    item, *sides = one.pair
    if other.sides != one.sides:
        if not one.orders and not other.orders:  # each row shows its reply a first
            one, other = replace(one, orders={"ab": one.share}), replace(other, orders={"ab": other.share})
        other = other.swapped()
    if len(one.orders) != 1 or len(other.orders) != 1 or one.orders.keys() == other.orders.keys():
        raise InputError(
            f"{one.rater} has two comparisons of {' and '.join(sides)} of item {item}: give each file once, and "
            "repeat comparisons with another --rater-name"
        )
    share = None if one.share is None or other.share is None else (one.share + other.share) / 2
    return replace(one, share=share, reason=one.reason or other.reason, orders={**one.orders, **other.orders})


def _rating_columns(row: Row) -> list[Any]:
    reply, rater, aspect = (required_id(row, name, "ratings") for name in ("reply_id", "rater", "aspect"))
    value = row.get("value")
    if value is not None and not (isinstance(value, int | float) and math.isfinite(value)):
        raise InputError(
            f"the {aspect} of {reply} by {rater} is {value!r}: expected a number, or null with a reason; correct it"
        )
    low, high = row.get("low"), row.get("high")
    scale = (None, None) if low is None or high is None or not low < high else (low, high)
    reason = None if value is not None else str(row.get("reason") or "unknown")
    unit = str(row.get("hs_id") or row.get("item_id") or reply)
    sign = -1 if row.get("higher_is_better") is False else 1
    return [rater, str(row.get("rater_kind") or ""), aspect, reply, unit, value, reason, *scale, sign]


def _read_comparison(row: Row) -> AuditedComparison:
    item, rater, system_a, system_b, verdict = (
        required_id(row, name, "comparisons") for name in ("item_id", "rater", "system_a", "system_b", "verdict")
    )
    order = row.get("order")
    if order not in (None, *_SWAPPED):
        raise InputError(f"the order of a comparison is {order!r}: give ab (reply a shown first) or ba")
    share = _share(verdict)
    orders: dict[Order, float | None] = {
        each: None if row.get(f"verdict_{each}") is None else _share(row[f"verdict_{each}"])
        for each in _SWAPPED
        if row.get(f"verdict_{each}") is not None or row.get(f"reason_{each}") is not None
    }
    return AuditedComparison(
        rater=rater,
        kind=str(row.get("rater_kind") or ""),
        item=item,
        replies=(row.get("reply_a"), row.get("reply_b")),
        systems=(system_a, system_b),
        share=share,
        reason=None if share is not None else str(row.get("reason") or "unknown"),
        orders=orders if order is None else {order: share},
    )


def _swapped(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _share(verdict: str) -> float | None:
    if verdict not in _SHARES:
        raise InputError(f"a verdict is {verdict!r}: give one of {', '.join(VERDICTS)}")
    return _SHARES[verdict]
