"""The list of conflicts as CSV: a person fills in the decisions.

Comparisons are in a random order that depends on the campaign's seed, and half of them are shown with the second reply
as A, like in raters' sheets. The column `shown_first` names the reply (`a` or `b`) that is shown as A. Votes, rule and
decision refer to A and B as shown.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fcconan.annotation.adjudication import BY_RULE, BY_VOTES, Outcome, final_labels
from fcconan.annotation.campaigns import Assignment, Campaign, Decision
from fcconan.annotation.ordering import derived_seed, in_order
from fcconan.annotation.questions import shown_texts, turned
from fcconan.annotation.sheets import as_csv, unguarded
from fcconan.data import read_file
from fcconan.errors import InputError

DISCARD = "discard"  # the decision that a unit has no label
_KEYS = ("campaign", "unit_id")
_ORDER = "shown_first"
_ANSWERS = ("votes", "rule", "reason", "decision")
_NO_TEXTS = (*_KEYS, _ORDER, *_ANSWERS)
_FREE = ("rule", "reason", "decision")  # columns whose cells may be edited
_LONGEST = 80  # characters of a cell in a message
_PSEUDONYM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def conflict_rows(campaign: Campaign, outcome: Outcome, units: Sequence[str]) -> list[dict[str, str]]:
    """Returns a row for each unit: texts, votes without raters, result of the rule, and decision.

    Comparisons are shuffled, and half of them are swapped. Votes are in the order of the task's labels, which hides
    their raters.

    Args:
        campaign: The campaign.
        outcome: Result of `adjudicate`.
        units: Ids of the units, such as `outcome.open_conflicts`.
    """
    shown = [Assignment("", unit, 1) for unit in units]
    if campaign.task.unit == "comparison":
        seed = derived_seed(campaign.settings.seed, "adjudicate")
        shown = in_order({"": units}, seed=seed, swap=True)[""]
    return _rows(campaign, outcome, shown)


def _rows(campaign: Campaign, outcome: Outcome, shown: Sequence[Assignment]) -> list[dict[str, str]]:
    """Returns the rows of assigned units, in the given order."""
    order = [label.name for label in campaign.task.labels]
    known, texts = campaign.units(), campaign.texts()
    decided = {each.unit_id: each for each in outcome.decisions if each.by not in (BY_VOTES, BY_RULE)}
    rows = []
    for each in shown:
        unit = known[each.unit_id]
        rule = outcome.by_rule[each.unit_id]
        mine = decided.get(each.unit_id)
        votes = [turned(vote, each.swapped) for vote in outcome.votes.get(each.unit_id, {}).values()]
        replies = {_ORDER: "b" if each.swapped else "a"} if unit.reply_b is not None else {}
        rows.append(
            {"campaign": campaign.settings.name, "unit_id": each.unit_id}
            | replies
            | shown_texts(campaign, each, unit, texts)
            | {
                "votes": " ".join(sorted(votes, key=order.index)),
                "rule": turned(rule.label, each.swapped) or DISCARD,
                "reason": rule.reason,
                "decision": "" if mine is None else turned(mine.label, each.swapped) or DISCARD,
            }
        )
    return rows


def write_conflicts(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Writes the list.

    Raises:
        InputError: The file cannot be written, or exists with other content, which may contain decisions.
    """
    texts = dict.fromkeys(name for row in rows for name in row if name not in (*_KEYS, *_ANSWERS))
    content = as_csv(rows, [*_KEYS, *texts, *_ANSWERS])
    if path.exists() and path.read_bytes() != content.encode():
        raise InputError(f"{path} exists with other content, perhaps with decisions: choose another file")
    path.write_text(content, encoding="utf-8", newline="")


def read_conflicts(path: Path, campaign: Campaign, outcome: Outcome, by: str) -> list[Decision]:
    """Reads a completed list; units with an empty decision are left to the rule.

    Files of spreadsheet programs are accepted: semicolons or tabs, UTF-16, other line ends.

    Args:
        path: The file.
        campaign: The campaign.
        outcome: Current result of `adjudicate`; the votes must equal those in the list.
        by: Pseudonym of the person.

    Returns:
        The decisions.

    Raises:
        InputError: The pseudonym is not valid, the file is not a list of this campaign, or rows are wrong. The message
            names the first three rows and the number of others.
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
        raise InputError(f"{path} lacks the column {', '.join(lacking)}: import the list with all its columns")
    found: list[Decision] = []
    problems = []
    repeated = {unit for unit, count in Counter(row["unit_id"] for _, row in rows).items() if count > 1}
    for number, row in rows:
        unit, said = row["unit_id"], row["decision"].strip()
        known = expected.get(unit)
        changed = known and [name for name in known if name not in _FREE and not _same(row, known, name)]
        if known is None:
            problems.append(f"row {number}: {unit!r} is not a completely answered unit of the campaign")
        elif unit in repeated:
            problems.append(f"row {number}: {unit} occurs more than once")
        elif changed:
            given, expect = row[changed[0]][:_LONGEST], known[changed[0]][:_LONGEST]
            problems.append(f"row {number}: {changed[0]} of {unit} is {given!r}, expected {expect!r}")
        elif said and said not in allowed:
            problems.append(f"row {number}: the decision is {said!r}, expected one of {', '.join(allowed)} or nothing")
        elif said:
            label = None if said == DISCARD else turned(said, shown[unit].swapped)
            found.append(Decision(unit, label, by, "person_discarded" if said == DISCARD else "person"))
    if problems:
        raise InputError(f"{path}: {'; '.join(problems[:3])}: correct this file; a new list has no decisions")
    return found


def merge_decisions(before: Sequence[Decision], new: Sequence[Decision], *, changes: bool = False) -> list[Decision]:
    """Merges new decisions of a person with earlier ones.

    Args:
        before: Earlier decisions of persons.
        new: Decisions of a file.
        changes: Whether new decisions replace earlier ones, which they may contradict. Otherwise an equal decision
            confirms the earlier one, which remains the decision of the first person.

    Raises:
        InputError: New decisions contradict earlier ones, and `changes` is false.
    """
    known = {each.unit_id: each for each in before}
    other = [each for each in new if each.unit_id in known and known[each.unit_id].label != each.label]
    if other and not changes:
        first, old = other[0], known[other[0].unit_id]
        raise InputError(
            f"{len(other)} units have other decisions already, the first is {first.unit_id} ({old.label or DISCARD} "
            f"by {old.by}, now {first.label or DISCARD}): give --allow-changes to replace earlier decisions"
        )
    # An equal decision confirms the earlier one on the current votes.
    by = {} if changes else {unit: each.by for unit, each in known.items()}
    return [*(known | {each.unit_id: replace(each, by=by.get(each.unit_id, each.by)) for each in new}).values()]


def _same(row: dict[str, str], known: dict[str, str], name: str) -> bool:
    return row.get(name, "").split() == known[name].split()  # spreadsheets change white space


def _read(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Returns the rows with their numbers."""
    rows = []
    for number, cells in enumerate(read_file(path).fillna("").to_dict("records"), start=2):
        row = {name: unguarded(cell) for name, cell in cells.items()}
        if _ORDER in row:
            row[_ORDER] = row[_ORDER].strip().casefold()
        rows.append((number, row))
    return rows
