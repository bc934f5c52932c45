"""Replies with people's ratings for calibration, in three parts without a common HS."""

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.data import RowSource, is_blank, normalise, read_together
from fcconan.errors import InputError
from fcconan.groups import Rows
from fcconan.judging.tasks import Aspect, Task

if TYPE_CHECKING:
    from pandas import DataFrame, Series

SHARES = {"draft": 0.2, "select": 0.4, "report": 0.4}  # of the HS
LEAST_ITEMS = 5  # HS of a part; a bootstrap over fewer has no meaning
LARGEST_GROUP = 0.1  # share of all HS; larger groups with common CNs cannot be split into three parts


def rated_examples(
    task: Task, aspect: Aspect, replies: RowSource, ratings: RowSource | None, limit: int | None, rows: Rows
) -> "tuple[DataFrame, dict[str, Any], list[str]]":
    """Returns the replies that people rated (reply_id, item, texts, value), the names of the data, and notes.

    Args:
        task: Task, whose context names the texts.
        aspect: Aspect of the ratings.
        replies: The replies.
        ratings: The ratings; default: those of the source of the replies.
        limit: Largest number of replies, the first ones.
        rows: Which replies are read; of ratings the split, and names of columns.

    Raises:
        InputError: People rated none of the replies on the aspect, or a rating is out of range.
    """
    about = ("ratings", (replies if ratings is None else ratings,), Rows(rows.split, rows.rename))
    (frame, _, name), (given, _, rated_name) = read_together(("replies", (replies,), rows), about)
    by_people = given[given["aspect"].eq(aspect.name) & given["value"].notna()]
    if "rater_kind" in by_people:
        by_people = by_people[by_people["rater_kind"] == "human"]
    value = frame["reply_id"].map(by_people.groupby("reply_id")["value"].mean())
    if value.isna().all():
        raise InputError(
            f"found no rating of {aspect.name} by people for the replies of {name}, expected some: give --ratings, or "
            "another --aspect"
        )
    shown = ["hate_speech", "text", *(each for each in ("references", "background") if each in task.context)]
    frame = frame.assign(value=value, item=frame["hs_id"])[value.notna()].reset_index(drop=True)
    frame["texts"] = [_texts(row) for row in frame.reindex(columns=shown).to_dict("records")]
    whole = frame[frame["texts"].map(len) == len(shown)].head(limit or len(frame)).reset_index(drop=True)
    outside = whole["value"][~whole["value"].between(aspect.low, aspect.high)]
    if len(outside):
        raise InputError(
            f"found a rating of {aspect.name} of {outside.iloc[0]:g}, expected {aspect.low} to "
            f"{aspect.high}: correct it"
        )
    notes = [f"{len(frame) - len(whole)} of {len(frame)} rated replies lack one of {', '.join(shown)} and are left out"]
    return whole, {"replies": name, "ratings": rated_name}, notes if len(whole) < len(frame) and limit is None else []


def _texts(row: dict[str, Any]) -> dict[str, str]:
    """Returns the texts of a reply by prompt variable; missing ones are left out."""
    found = {}
    names = {"text": "counter_narrative", "references": "reference"}
    for column, value in row.items():
        several = value if isinstance(value, list | tuple | np.ndarray) else [value]
        text = next((each for each in several if not is_blank(each)), None)
        if text is not None:
            found[names.get(column, column)] = text
    return found


def split_examples(frame: "DataFrame", seed: int) -> "dict[str, DataFrame]":
    """Returns the examples of each part. Items with an equal HS, or else an equal CN, are one item if that is possible.

    Raises:
        InputError: There are too few items.
    """
    by_message, by_text = (_linked(frame, names) for names in (("hate_speech",), ("hate_speech", "counter_narrative")))

    def ends(items: "Series[str]") -> list[int]:
        return [round(items.nunique() * end) for end in np.cumsum([*SHARES.values()])]

    def is_enough(items: "Series[str]") -> bool:
        return bool(min(np.diff([0, *ends(items)])) >= LEAST_ITEMS)

    groups = frame.assign(group=by_text).drop_duplicates("item").groupby("group").size()
    apart = groups.max() <= max(1.0, LARGEST_GROUP * frame["item"].nunique()) and is_enough(by_text)
    frame = frame.assign(item=by_text if apart else by_message)
    if not is_enough(frame["item"]):
        raise InputError(
            f"found ratings of {frame['item'].nunique()} HS, expected {LEAST_ITEMS} or more for each of three parts: "
            f"give about {ceil(LEAST_ITEMS / min(SHARES.values()))} HS or more"
        )
    items = np.array(sorted(frame["item"].unique()), dtype=object)
    drawn = items[np.random.default_rng(seed).permutation(len(items))]
    found = {}
    for name, part in zip(SHARES, np.split(drawn, ends(frame["item"])[:-1]), strict=True):
        found[name] = frame[frame["item"].isin(part)].reset_index(drop=True)
        if name != "draft" and found[name]["value"].nunique() == 1:
            raise InputError(
                f"all {len(found[name])} ratings of one part are {found[name]['value'][0]:g}, expected different ones: "
                "a correlation needs them"
            )
    return found


def _linked(frame: "DataFrame", names: Sequence[str]) -> "Series[str]":
    """Returns the first item of the connected component of each row's item; items with an equal text are connected."""
    from scipy.cluster.hierarchy import DisjointSet

    linked: Any = DisjointSet(frame["item"])
    holder: dict[tuple[str, str], str] = {}
    for item, texts in zip(frame["item"], frame["texts"], strict=True):
        for name in names:
            linked.merge(item, holder.setdefault((name, normalise(texts[name]).casefold()), item))
    return frame["item"].map({item: min(group) for group in linked.subsets() for item in group})


def describe_parts(parts: "dict[str, DataFrame]") -> "DataFrame":
    """Returns numbers of items, of examples, and of examples whose CN is in another part, by part."""
    from pandas import DataFrame

    texts = {
        name: part["texts"].map(lambda each: normalise(each["counter_narrative"]).casefold())
        for name, part in parts.items()
    }
    rows = []
    for name, part in parts.items():
        elsewhere = set().union(*(texts[other] for other in parts if other != name))
        shared = int(texts[name].isin(elsewhere).sum())
        rows.append({"part": name, "items": part["item"].nunique(), "examples": len(part), "shared_texts": shared})
    return DataFrame(rows)
