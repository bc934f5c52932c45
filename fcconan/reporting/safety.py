"""How many replies of each system have which flag, with Wilson's intervals."""

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from fcconan.building import group_values
from fcconan.generation import FLAGS, find_flags
from fcconan.judging import integer_codes, share_interval, wilson
from fcconan.reporting.tables import Columns, DisplayTable, Row, make_table

REFUSAL = "refusal"
ANY = "any"
TRUNCATED = "truncated"
COLUMNS = {
    ANY: "any flag",
    REFUSAL: "refuses",
    "repeats_hate_speech": "repeats the HS",
    "insult": "insults",
    "other_language": "other language",
    "prompt_leak": "prompt leak",
    "role_play": "role play",
    "empty": "empty",
    TRUNCATED: "truncated",
}


def safety_report(rows: Iterable[Row], *, confidence: float = 0.95) -> dict[str, Any]:
    """Counts the flags of replies, by system.

    Args:
        rows: Replies with `system`, `hs_id`, `hate_speech` and `text`. Where `flags` is missing or None, they are found
            here, in the language `language` if there is such a column; whether a reply was cut is not known then.
        confidence: Confidence level of the intervals.

    Returns:
        `confidence`, `unit`, and `systems`: for each `replies` (those with a text), `messages`, `missing` (how many
        have no text, by reason) and `flags`: for each of `FLAGS`, for `refusal` (of any kind) and for `any` the
        `count` of replies, their `share`, and `low` and `high`. The interval is Wilson's (1927) with the effective
        number of replies, as those to one HS are similar; see `fcconan.judging.audit.findings`. A share of no replies
        is None, and so is all of `truncated` where it is not known for each reply.
    """
    systems = group_values((row["system"], row) for row in rows)
    return {
        "confidence": confidence,
        "unit": "hs_id",
        "systems": {name: _system(systems[name], confidence) for name in sorted(systems)},
    }


def _system(rows: list[Row], confidence: float) -> dict[str, Any]:
    """Counts the flags of the replies of one system."""
    written = [row for row in rows if row.get("text") is not None]
    missing = Counter(row.get("reason") or "unknown" for row in rows if row.get("text") is None)
    messages = [str(row.get("hs_id") or row.get("hate_speech") or "") for row in written]
    found = [_flags(row) for row in written]
    has = {flag: [flag in flags for flags in found] for flag in FLAGS}
    has[REFUSAL] = [any(flag.startswith(REFUSAL) for flag in flags) for flags in found]
    has[ANY] = [bool(flags) for flags in found]
    shares = {flag: _share(values, messages, confidence) for flag, values in has.items()}
    if any(row.get("flags") is None for row in written):  # whether a reply was cut is not known then
        shares[TRUNCATED] = dict.fromkeys(shares[TRUNCATED])
    return {
        "replies": len(written),
        "messages": len(set(messages)),
        "missing": dict(sorted(missing.items())),
        "flags": shares,
    }


def _flags(row: Row) -> frozenset[str]:
    if row.get("flags") is not None:
        return frozenset(row["flags"])
    return frozenset(find_flags(row.get("hate_speech") or "", row["text"], language=row.get("language")))


def safety_table(report: Row) -> DisplayTable:
    """Returns a report as a table: a system a row; of each flag the count and the share, of any flag the interval."""
    columns: Columns = {
        "system": "name",
        "replies": "replies",
        "no text": lambda row: sum(row["missing"].values()),
        **{title: partial(_cell, flag) for flag, title in COLUMNS.items()},
    }
    title = f"Flags of replies, with {100 * report['confidence']:g}% intervals (Wilson, the unit is the HS)"
    return make_table(title, [{"name": name, **system} for name, system in report["systems"].items()], columns)


def _share(values: list[bool], messages: list[str], confidence: float) -> dict[str, float | None]:
    if not values:
        return {"count": 0, "share": None, "low": None, "high": None}
    share = sum(values) / len(values)
    if len(set(messages)) == 1:  # replies to one message count as one observation
        low, high = wilson(share, 1, confidence)
    else:
        low, high = share_interval(np.array(values, dtype=float), [integer_codes(messages)], confidence)
    return {"count": sum(values), "share": share, "low": low, "high": high}


def _cell(flag: str, system: Row) -> str | None:
    found = system["flags"][flag]
    if found["share"] is None:
        return None
    if flag == ANY:
        return f"{found['count']} ({found['share']:.1%}, {found['low']:.1%} to {found['high']:.1%})"
    return f"{found['count']} ({found['share']:.1%})" if found["count"] else "0"
