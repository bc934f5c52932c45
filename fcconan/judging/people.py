"""Mean ratings of replies by people."""

import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

from fcconan.data import cell_number, optional_id
from fcconan.errors import InputError

Row = Mapping[str, Any]


def human_means(ratings: Iterable[Row], aspect: str, *, raters: Iterable[str] | None = None) -> dict[str, float]:
    """Returns the mean rating of each reply for one aspect; missing ratings are left out.

    Args:
        ratings: Rows of ratings.
        aspect: Name of the aspect.
        raters: Names of the raters; None for all people.

    Returns:
        Reply id -> mean rating.

    Raises:
        InputError: There are no ratings of this aspect by these raters, or one of them is invalid.
    """
    wanted = None if raters is None else set(raters)
    values: dict[str, list[float]] = {}
    seen: set[tuple[str, str]] = set()
    for number, row in enumerate(ratings, start=1):
        place = str(getattr(row, "place", f"rating {number}"))
        rater, reply = (optional_id(row, column, place) for column in ("rater", "reply_id"))
        seen.add((str(rater), str(row.get("aspect"))))
        mine = row.get("rater_kind") == "human" if wanted is None else rater in wanted
        if mine and row.get("aspect") == aspect and row.get("value") not in (None, ""):
            value = cell_number(row["value"])
            if value is None or math.isinf(value) or reply is None:
                raise InputError(
                    f"a rating of {aspect} is {row['value']!r} for the reply {reply!r}: expected a "
                    "number and a reply_id; correct or remove it"
                )
            if not math.isnan(value):  # some tools write nan for missing ratings
                values.setdefault(reply, []).append(value)
    if not values:
        known = ", ".join(sorted({name for _, name in seen})) or "no aspect"
        whose = "people" if wanted is None else ", ".join(sorted(wanted))
        raise InputError(f"found no ratings of {aspect} by {whose}; found ratings of {known}: choose another --aspect")
    return {reply: fmean(each) for reply, each in values.items()}
