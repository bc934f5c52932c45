"""Panels: combine the ratings of several judges."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from fcconan.data import ABOUT_REPLY
from fcconan.errors import InputError

Row = dict[str, Any]
_SHARED = ("reply_id", "pair_id", "aspect", "low", "high", "higher_is_better", *ABOUT_REPLY)
Rule = Literal["mean", "median", "majority"]
Reason = Literal["too_few_judges", "no_majority"]
_AVERAGES: dict[Rule, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "median": statistics.median}


def combine(judged: Sequence[Sequence[Row]], rule: Rule) -> list[Row]:
    """Combines the ratings of one reply by several judges.

    `mean` and `median` need ratings by more than half of the panel. `majority` is the value of more than half of the
    panel; judges that failed count as members. Otherwise the rating is missing: `too_few_judges`, `no_majority`.

    Args:
        judged: Ratings of each judge, in the same order of aspects.
        rule: Rule that combines the values.

    Returns:
        One row for each aspect, with the rater `panel:RULE`.

    Raises:
        InputError: The rule averages labels.
    """
    return [_combine(rows, rule) for rows in zip(*judged, strict=True)]


def rate_with_panel(judges: Sequence[Any], replies: Any, rule: Rule) -> Iterator[list[Row]]:
    """Yields the ratings of each reply by all judges, followed by those of the panel.

    Args:
        judges: Judges.
        replies: Replies; a collection that can be iterated once for each judge.
        rule: Rule that combines the values.
    """
    for judged in zip(*(judge.rate(replies) for judge in judges), strict=True):
        yield [row for rows in judged for row in rows] + combine(judged, rule)


def _combine(rows: Sequence[Row], rule: Rule) -> Row:
    first, size = rows[0], len(rows)
    key = "label" if "label" in first else "value"
    if key == "label" and rule != "majority":
        raise InputError(f"labels have no {rule}: use --panel majority")
    given = [row[key] for row in rows if row[key] is not None]
    value: Any = None
    reason: Reason | None = "no_majority" if rule == "majority" else "too_few_judges"
    if rule == "majority":
        value = next((each for each in given if 2 * given.count(each) > size), None)
    elif 2 * len(given) > size:
        value = _AVERAGES[rule](given)
    if value is not None:
        reason = None
    return {
        **{name: first.get(name) for name in _SHARED},
        key: value,
        "rater": f"panel:{rule}",
        "rater_kind": "model",
        "reason": reason,
        "explanation": None,
        "strategy": first.get("strategy"),
        "n_samples": size,
        "n_read": len(given),
    }
