"""Replies with people's mean ratings: the table for training and evaluation of raters.

table = RatedTexts(reply_ids=..., messages=..., texts=..., aspects=..., ratings=..., systems=..., rounds=...,
                   groups=leakage_groups(messages))
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.data import UNKNOWN
from fcconan.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RatedAspect:
    """Aspect with its scale.

    Attributes:
        name: Name of the aspect.
        low: Lowest grade.
        high: Highest grade.
        higher_is_better: Whether high grades are better.
    """

    name: str
    low: float
    high: float
    higher_is_better: bool = True


@dataclass(frozen=True, eq=False)
class RatedTexts:
    """Replies with people's mean ratings, one row for each reply.

    Attributes:
        reply_ids: Ids of the replies; length n.
        messages: The HS; length n.
        texts: The replies; length n.
        aspects: Rated aspects; length m.
        ratings: Mean of people's ratings, shape (n, m); nan without a rating.
        systems: System of each reply, or `unknown`.
        rounds: Round of annotation of each reply, or `unknown`.
        groups: Leakage group of each HS; the messages of a group are equal or near-duplicates.

    Raises:
        InputError: The lengths differ, a reply occurs twice, or a rating is infinite.
    """

    reply_ids: Sequence[str]
    messages: Sequence[str]
    texts: Sequence[str]
    aspects: Sequence[RatedAspect]
    ratings: Floats
    systems: Sequence[str]
    rounds: Sequence[str]
    groups: Ints

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in _BY_REPLY}
        if len(set(lengths.values())) > 1:
            raise InputError(f"the columns of rated texts have different lengths ({lengths}): give one value for a row")
        if self.ratings.shape != (len(self), len(self.aspects)):
            raise InputError(
                f"the ratings have the shape {self.ratings.shape}, expected {(len(self), len(self.aspects))}: a row "
                "for each reply and a column for each aspect"
            )
        if len(set(self.reply_ids)) < len(self):
            raise InputError("a reply occurs twice among the rated texts: give one row for each reply_id")
        if np.isinf(self.ratings).any():
            raise InputError("a rating is infinite: expected numbers, or nan where a rating is missing")

    def __len__(self) -> int:
        return len(self.reply_ids)


_BY_REPLY = ("reply_ids", "messages", "texts", "systems", "rounds", "ratings", "groups")


def make_rated_texts(
    replies: Sequence[dict[str, Any]], aspects: Sequence[RatedAspect], ratings: Floats, groups: Ints
) -> RatedTexts:
    """Makes the table from rows of replies.

    Args:
        replies: Rows with `reply_id`, `hate_speech`, `text` and, if known, `system` and `round`; without `round`, the
            first name in `also_in` that contains "round" is the round. Length n.
        aspects: Rated aspects; length m.
        ratings: Mean of people's ratings, shape (n, m); nan is missing.
        groups: Leakage group of each row.
    """
    return RatedTexts(
        reply_ids=tuple(str(row["reply_id"]) for row in replies),
        messages=tuple(row.get("hate_speech") or "" for row in replies),
        texts=tuple(row.get("text") or "" for row in replies),
        aspects=tuple(aspects),
        ratings=ratings,
        systems=tuple(str(row.get("system") or UNKNOWN) for row in replies),
        rounds=tuple(_round_of(row) for row in replies),
        groups=groups,
    )


def _round_of(row: dict[str, Any]) -> str:
    if row.get("round"):
        return str(row["round"])
    splits = row.get("also_in")
    named = [str(split) for split in (splits if isinstance(splits, list | tuple | np.ndarray) else ())]
    return next((split for split in named if "round" in split), UNKNOWN)
