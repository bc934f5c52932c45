"""Files of ratings and comparisons for the verbs that score."""

from collections.abc import Sequence
from typing import Any

from fcconan import Result

RATING = ("reply_id", "rater", "rater_kind", "aspect", "value", "low", "high")
COMPARISON = ("item_id", "system_a", "system_b", "rater", "verdict")
# Item and system of six replies.
REPLIES = {f"r{item}{system}": (f"i{item}", system) for item in (1, 2, 3) for system in "AB"}


def ratings(rater: str, values: Sequence[Any], kind: str = "human", aspect: str = "relevance") -> list[dict[str, Any]]:
    """Ratings of the six replies on the scale 1 to 5, with items and systems."""
    return [
        {
            "reply_id": reply,
            "item_id": item,
            "system": system,
            "rater": rater,
            "rater_kind": kind,
            "aspect": aspect,
            "value": value,
            "low": 1,
            "high": 5,
        }
        for (reply, (item, system)), value in zip(REPLIES.items(), values, strict=True)
    ]


def verdicts(rater: str, given: Sequence[tuple[str, str, str, str]]) -> list[dict[str, Any]]:
    """Comparisons of (item, first system, second system, verdict)."""
    return [dict(zip(COMPARISON, (item, a, b, rater, verdict), strict=True)) for item, a, b, verdict in given]


def cells(result: Result, *columns: str, table: str | None = None, **where: Any) -> list[list[Any]]:
    """The cells of some columns of a table, by default the main one, in rows with these values."""
    frame = result.to_frame(table)
    for column, value in where.items():
        frame = frame[frame[column] == value]
    return [list(row) for row in frame[list(columns)].itertuples(index=False)]
