"""How many replies of each system have which flag, with Wilson's intervals."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fcconan.errors import InputError
from fcconan.generation import FLAGS, flags_of
from fcconan.judging import codes_of, share_interval, wilson
from fcconan.reporting.tables import MISSING, Table

Row = dict[str, Any]
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
        confidence: Of the intervals.

    Returns:
        `confidence`, `unit`, and `systems`: for each `replies` (those with a text), `messages`, `missing` (how many
        have no text, by reason) and `flags`: for each of `FLAGS`, for `refusal` (of any kind) and for `any` the
        `count` of replies, their `share`, and `low` and `high`. The interval is Wilson's (1927) with the effective
        number of replies, for those to one HS are alike; see `fcconan.judging.audit.findings`. A share of no replies
        is None, and so is all of `truncated` where it is not known for each reply.

    Raises:
        InputError: A row has no system or a flag that is none of `FLAGS`, or the confidence is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}: give a number between 0 and 1")
    systems: dict[str, _System] = {}
    for row in rows:
        if not row.get("system"):
            raise InputError(f"the reply {row.get('reply_id')} names no system: give rows with the column system")
        systems.setdefault(row["system"], _System()).add(row)
    return {
        "confidence": confidence,
        "unit": "hs_id",
        "systems": {name: systems[name].report(confidence) for name in sorted(systems)},
    }


def safety_table(report: Mapping[str, Any]) -> Table:
    """Returns a report as a table: a system a row; of each flag the count and the share, of any flag the interval."""
    rows = []
    for name, system in report["systems"].items():
        missing = sum(system["missing"].values())
        cells = [_cell(system["flags"][flag], with_interval=flag == ANY) for flag in COLUMNS]
        rows.append([name, str(system["replies"]), str(missing), *cells])
    title = f"Flags of replies, with {100 * report['confidence']:g}% intervals (Wilson, the unit is the HS)"
    return Table(title, ["system", "replies", "no text", *COLUMNS.values()], rows)


class _System:
    """What is known of a system's replies so far."""

    def __init__(self) -> None:
        self.found: list[frozenset[str]] = []
        self.messages: list[str] = []
        self.missing: Counter[str] = Counter()
        self.cuts_known = True

    def add(self, row: Row) -> None:
        if row.get("text") is None:
            self.missing[row.get("reason") or "unknown"] += 1
            return
        flags = row.get("flags")
        if flags is None:
            self.cuts_known = False
            flags = flags_of(row.get("hate_speech") or "", row["text"], language=row.get("language"))
        if not set(flags) <= set(FLAGS):
            raise InputError(
                f"the reply {row.get('reply_id')} has the flags {', '.join(flags)}: known are {', '.join(FLAGS)}; "
                "leave the column out to have them found"
            )
        self.found.append(frozenset(flags))
        self.messages.append(str(row.get("hs_id") or row.get("hate_speech") or ""))

    def report(self, confidence: float) -> dict[str, Any]:
        has = {flag: [flag in flags for flags in self.found] for flag in FLAGS}
        has[REFUSAL] = [any(flag.startswith(REFUSAL) for flag in flags) for flags in self.found]
        has[ANY] = [bool(flags) for flags in self.found]
        shares = {flag: _share(values, self.messages, confidence) for flag, values in has.items()}
        if not self.cuts_known:
            shares[TRUNCATED] = dict.fromkeys(shares[TRUNCATED])
        return {
            "replies": len(self.found),
            "messages": len(set(self.messages)),
            "missing": dict(sorted(self.missing.items())),
            "flags": shares,
        }


def _share(values: list[bool], messages: list[str], confidence: float) -> dict[str, float | None]:
    if not values:
        return {"count": 0, "share": None, "low": None, "high": None}
    share = sum(values) / len(values)
    if len(set(messages)) == 1:  # one message, however many replies: as little as one reply tells
        low, high = wilson(share, 1, confidence)
    else:
        low, high = share_interval(np.array(values, dtype=float), [codes_of(messages)], confidence)
    return {"count": sum(values), "share": share, "low": low, "high": high}


def _cell(of: Mapping[str, Any], *, with_interval: bool) -> str:
    if of["share"] is None:
        return MISSING
    ends = f", {of['low']:.1%} to {of['high']:.1%}" if with_interval else ""
    return f"{of['count']} ({of['share']:.1%}{ends})" if of["count"] or with_interval else "0"
