"""The list of conflicts that a person fills in, as CSV, and what they decided.

Comparisons stand in a random order that follows from the campaign's seed, half of them with their second reply as A, as
on raters' sheets. The column `shown_first` says which reply (`a` or `b`) of the unit stands there as A; votes, rule and
decision are about A and B as they stand there.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fcconan.annotation.adjudication import BY_RULE, BY_VOTES, Outcome, final_labels
from fcconan.annotation.assignment.assignments import derived_seed
from fcconan.annotation.assignment.sequence import in_order
from fcconan.annotation.campaigns import Assignment, Campaign, Decision
from fcconan.annotation.tools.csv_sheets import as_csv
from fcconan.annotation.tools.exchange import write
from fcconan.annotation.tools.files import csv_rows, decoded, listed, unguarded
from fcconan.annotation.tools.task_view import shown_texts, turned
from fcconan.errors import InputError

DISCARD = "discard"  # what a person writes who decides that a unit has no label
_KEYS = ("campaign", "unit_id")
_ORDER = "shown_first"
_ANSWERS = ("votes", "rule", "reason", "decision")
_NO_TEXTS = (*_KEYS, _ORDER, *_ANSWERS)
_FREE = ("rule", "reason", "decision")  # columns whose cells may change
_LONGEST = 80  # characters of a cell in a message
_PSEUDONYM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def conflict_rows(campaign: Campaign, outcome: Outcome, units: Sequence[str]) -> list[dict[str, str]]:
    """Returns a row for each unit: its texts, the votes without their raters, what the rule says, and the decision.

    Comparisons are shuffled and half of them swapped. The votes stand in the order of the task's labels, so that
    nothing tells who gave which.

    Args:
        campaign: The campaign.
        outcome: What `adjudicate` returned.
        units: Their ids, such as `outcome.open_conflicts`.
    """
    shown = [Assignment("", unit, 1) for unit in units]
    if campaign.task.unit == "comparison":
        seed = derived_seed(campaign.settings.seed, "adjudicate")
        shown = in_order({"": units}, seed=seed, swap=True)[""]
    return _rows(campaign, outcome, shown)


def _rows(campaign: Campaign, outcome: Outcome, shown: Sequence[Assignment]) -> list[dict[str, str]]:
    """The rows of units that stand there in the given order, swapped or not."""
    order = [label.name for label in campaign.task.labels]
    known, texts = campaign.units(), campaign.texts()
    decided = {each.unit_id: each for each in outcome.decisions if each.by not in (BY_VOTES, BY_RULE)}
    rows = []
    for each in shown:
        unit = known[each.unit_id]
        rule = outcome.by_rule[each.unit_id]
        mine = decided.get(each.unit_id)
        votes = [turned(vote, each, unit) for vote in outcome.votes.get(each.unit_id, {}).values()]
        replies = {_ORDER: "b" if each.swapped else "a"} if unit.reply_b is not None else {}
        rows.append(
            {"campaign": campaign.settings.name, "unit_id": each.unit_id}
            | replies
            | dict(shown_texts(campaign, each, unit, texts))
            | {
                "votes": " ".join(sorted(votes, key=order.index)),
                "rule": turned(rule.label, each, unit) or DISCARD,
                "reason": rule.reason,
                "decision": "" if mine is None else turned(mine.label, each, unit) or DISCARD,
            }
        )
    return rows


def write_conflicts(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Writes the list as sheets are written.

    Raises:
        InputError: It cannot be written, or is there with other content, which somebody may have filled in.
    """
    texts = dict.fromkeys(name for row in rows for name in row if name not in (*_KEYS, *_ANSWERS))
    content = as_csv(rows, [*_KEYS, *texts, *_ANSWERS])
    try:
        write(path.parent, {path.name: content})
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another file") from error


def read_conflicts(path: Path, campaign: Campaign, outcome: Outcome, by: str) -> list[Decision]:
    """Reads the list that a person filled in; an empty decision leaves the unit to the rule.

    It is read as sheets are, whether a program saved it with semicolons or tabs, as UTF-16 or with other line ends.

    Args:
        path: The file.
        campaign: The campaign.
        outcome: What `adjudicate` says now: the votes must still be those that the person saw.
        by: The person's pseudonym.

    Raises:
        InputError: The pseudonym is none, or the file is not this campaign's list, or one of its rows is wrong; the
            line names the first three and counts them.
    """
    if not _PSEUDONYM.fullmatch(by) or by in (BY_VOTES, BY_RULE):
        raise InputError(f"--decided-by is {by!r}: give letters, digits, - and _, and neither votes nor rule")
    allowed = [*final_labels(campaign), DISCARD]
    rows = _read(path)
    swapped = {row.get("unit_id") for _, row in rows if row.get(_ORDER) == "b"}
    shown = {unit: Assignment("", unit, 1, swapped=unit in swapped) for unit in outcome.by_rule}
    expected = {row["unit_id"]: row for row in _rows(campaign, outcome, [*shown.values()])}
    sides = [_ORDER] if campaign.task.unit == "comparison" else []
    texts = [name for _, row in rows for name in expected.get(row.get("unit_id", ""), {}) if name not in _NO_TEXTS]
    needed = dict.fromkeys([*_KEYS, *sides, "votes", "decision", *texts])
    if lacking := [name for name in needed if any(name not in row for _, row in rows)]:
        raise InputError(f"{path}: there is no column {', '.join(lacking)}: import the list with all its columns")
    units = campaign.units()
    found: list[Decision] = []
    problems = []
    repeated = {unit for unit, count in Counter(row["unit_id"] for _, row in rows).items() if count > 1}
    for number, row in rows:
        unit, said = row["unit_id"], row["decision"].strip()
        known = expected.get(unit)
        changed = known and [name for name in known if name not in _FREE and not _same(row, known, name)]
        if known is None:
            problems.append(f"row {number}: {unit!r} is no unit that all its raters have answered")
        elif unit in repeated:
            problems.append(f"row {number}: {unit} occurs more than once")
        elif changed:
            given, expect = row[changed[0]][:_LONGEST], known[changed[0]][:_LONGEST]
            problems.append(f"row {number}: {changed[0]} of {unit} is {given!r}, expected {expect!r}")
        elif said and said not in allowed:
            problems.append(f"row {number}: the decision is {said!r}, expected one of {', '.join(allowed)} or nothing")
        elif said:
            label = None if said == DISCARD else turned(said, shown[unit], units[unit])
            found.append(Decision(unit, label, by, "person_discarded" if said == DISCARD else "person"))
    if problems:
        raise InputError(f"{path}: {listed(problems)}: correct them; a new list lacks what was filled in")
    return found


def merged(before: Sequence[Decision], new: Sequence[Decision], *, changes: bool = False) -> list[Decision]:
    """Adds what a person decided to what persons decided before.

    Args:
        before: Earlier decisions of persons.
        new: Those of a file.
        changes: Whether they replace earlier ones, which they may contradict; otherwise who decides the same again
            confirms the earlier one, which stays that of the person who made it.

    Raises:
        InputError: They contradict earlier ones, and may not.
    """
    known = {each.unit_id: each for each in before}
    other = [each for each in new if each.unit_id in known and known[each.unit_id].label != each.label]
    if other and not changes:
        first, old = other[0], known[other[0].unit_id]
        raise InputError(
            f"{len(other)} units were decided otherwise before, the first is {first.unit_id} ({old.label or DISCARD} "
            f"by {old.by}, now {first.label or DISCARD}): give --allow-changes to replace earlier decisions"
        )
    # Who decides the same again decides on the votes as they are now.
    by = {} if changes else {unit: each.by for unit, each in known.items()}
    return [*(known | {each.unit_id: replace(each, by=by.get(each.unit_id, each.by)) for each in new}).values()]


def _same(row: dict[str, str], known: dict[str, str], name: str) -> bool:
    return row.get(name, "").split() == known[name].split()  # spreadsheets change white space


def _read(path: Path) -> list[tuple[int, dict[str, str]]]:
    """The rows with their numbers."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the list, filled in") from error
    rows = []
    for number, cells in csv_rows(path, decoded(path, content)):
        row = {name: unguarded(cell) for name, cell in cells.items()}
        if _ORDER in row:
            row[_ORDER] = row[_ORDER].strip().casefold()
        rows.append((number, row))
    return rows
