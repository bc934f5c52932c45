"""`annotate adjudicate`: final labels by rule, and by a person in a list of conflicts as CSV."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fcconan.annotation.campaigns import Assignment, Campaign, Decision
from fcconan.annotation.progress import next_step
from fcconan.annotation.questions import shown_texts, turned
from fcconan.annotation.sheets import as_csv, unguarded
from fcconan.annotation.votes import BY_RULE, BY_VOTES, NOT_ASSIGNED, NOT_SURE, WAITING, decide
from fcconan.data import read_file
from fcconan.errors import InputError
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

DISCARD = "discard"  # the decision that a unit has no label
# Reasons of decisions.
REASONS = {
    "decided": ("single", "unanimous", "majority", "other_not_sure", "person"),
    "discarded": ("not_sure", "no_majority", "all_skipped", "person_discarded"),
    "pending": (WAITING, NOT_ASSIGNED),
}


def adjudicate(
    campaign: Path,
    *,
    round: tuple[str, ...] = (),
    allow_pending: bool = False,
    export_conflicts: Path | None = None,
    all_conflicts: bool = False,
    import_decisions: Path | None = None,
    decided_by: str | None = None,
    allow_changes: bool = False,
) -> Result:
    """Determine the final label of each unit from its votes, by rule or by a person.

    One vote gives its label. Of two votes, `not_sure` gives way to the other label. Three or more votes give the label
    with a strict majority. Other units are discarded, unless a person decides them: `--export-conflicts` writes a CSV
    file with an empty column `decision`, and `--import-decisions` reads it. Half of the comparisons in the file are
    shown with the second reply as A. Final labels are in `decisions.jsonl`.

    Args:
        campaign: Folder of the campaign.
        round: Rounds whose answers are votes, or patterns such as 'queue-*'; default: all with answers.
        allow_pending: Also decide units with pending answers.
        export_conflicts: CSV file to write, with the units that the rule discards because votes differ or are not sure,
            and those whose votes have changed since a person decided them.
        all_conflicts: Also export units with different votes that the rule decides.
        import_decisions: CSV file with decisions of a person; an empty cell leaves the unit to the rule.
        decided_by: Pseudonym of the person.
        allow_changes: Replace earlier decisions of persons that differ.

    Returns:
        `units`: numbers of units, in rows of `kind` (label, decided, discarded, conflict or pending), `name` (label or
        reason) and `units`.

    Raises:
        InputError: The task has grades, the round does not exist, the list of decisions cannot be used, or its
            decisions contradict earlier ones.

    Examples:
        >>> found = adjudicate(answered).to_frame()
        >>> found[found["kind"] == "label"][["name", "units"]].values.tolist()
        [['not_appropriate', 3], ['appropriate', 2]]
    """
    from pandas import DataFrame

    opened = Campaign(Path(campaign))
    if opened.task.aspects:
        raise InputError(f"{opened.task.name} has grades, which are published as they are: leave this step out")
    if (import_decisions is None) != (decided_by is None):
        raise InputError("found one of --import-decisions and --decided-by, expected both or none: give the other")
    if export_conflicts is not None and Path(export_conflicts).exists():
        raise InputError(f"{export_conflicts} exists, perhaps with decisions: choose another name")
    rounds, notes = opened.rounds_like(round), []
    with opened.changing():
        persons = {unit: each for unit, each in opened.decisions().items() if each.by not in (BY_VOTES, BY_RULE)}
        found = decide(opened, rounds, allow_pending=allow_pending)
        if import_decisions is not None:
            new = _read(Path(import_decisions), opened, found, str(decided_by))
            notes.append(f"{import_decisions}: {len(new)} decisions of {decided_by}.")
            persons |= _merged(persons, new, allow_changes)
        found = decide(opened, rounds, allow_pending=allow_pending, persons=persons)
        votes = found["votes"].map(_seen)
        decided = found[~found["reason"].isin(REASONS["pending"])]
        opened.write(
            "decisions.jsonl",
            [
                Decision(unit, label, by, reason, persons[unit].votes if unit in persons else None)
                for unit, label, by, reason in decided[["label", "by", "reason"]].itertuples()
            ],
        )
    differ = found["votes"].map(lambda given: len({*given}) > 1) | found["rule_reason"].eq(NOT_SURE)
    conflict = differ & ~found["rule_reason"].isin(REASONS["pending"])
    unresolved = conflict & found["rule"].isna()
    changed = found.index.isin([unit for unit, each in persons.items() if each.votes != votes[unit]])
    if changed.any():
        notes.append(
            f"The votes have changed since {changed.sum()} decisions of persons, the first on "
            f"{found.index[changed][0]}. The decisions still apply: --export-conflicts lists them for confirmation."
        )
    if export_conflicts is not None:
        listed = found[(conflict if all_conflicts else unresolved) | changed]
        text = as_csv(_conflicts(opened, listed, persons), opened.task.delimiter)
        Path(export_conflicts).write_text(text, encoding="utf-8", newline="")
        notes.append(
            f"{export_conflicts}: {len(listed)} units to decide. Write one of {', '.join(_allowed(opened))} into the "
            f"column `decision`; then give --import-decisions {export_conflicts} --decided-by PSEUDONYM."
        )
    labels, reasons = found["label"].value_counts(), found["reason"].value_counts()
    rows = [("label", name, labels.get(name, 0)) for name in _allowed(opened)[:-1]]
    rows += [(kind, name, reasons.get(name, 0)) for kind, names in REASONS.items() for name in names]
    rows += [("conflict", "all", conflict.sum()), ("conflict", "open", unresolved.sum())]
    tables = {"units": DataFrame(rows, columns=["kind", "name", "units"])}
    identity = {"campaign": opened.settings.name, "rounds": ",".join(rounds)}
    return Result("annotate adjudicate", tables, identity, [*notes, next_step(opened)])


def _allowed(campaign: Campaign) -> list[str]:
    """Returns the possible decisions of a person, in the order of the task."""
    return [*(label.name for label in campaign.task.labels if label.name != NOT_SURE), DISCARD]


def _seen(votes: Iterable[str]) -> str:
    """Returns the votes on a unit as a decision keeps them, without their raters."""
    return " ".join(sorted(votes))


def _conflicts(campaign: Campaign, found: "DataFrame", persons: Mapping[str, Decision]) -> "DataFrame":
    """Returns the list of conflicts: texts, votes without raters, result of the rule, and decision."""
    from pandas import DataFrame

    units, swapped = [*found.index], set[str]()
    if compared := campaign.task.unit == "comparison":
        generator = np.random.default_rng(campaign.settings.seed)
        units = generator.permutation(units).tolist()
        swapped = {*generator.permutation(units)[: len(units) // 2].tolist()}
    known, texts, order = campaign.units(), campaign.texts(), [label.name for label in campaign.task.labels]
    rows = []
    for unit in units:
        shown, own = Assignment("", unit, 1, swapped=unit in swapped), persons.get(unit)
        votes = sorted((turned(vote, shown.swapped) for vote in found["votes"][unit]), key=order.index)
        rows.append(
            {"unit_id": unit}
            | ({"shown_first": "b" if shown.swapped else "a"} if compared else {})
            | shown_texts(campaign, shown, known[unit], texts)
            | {"votes": " ".join(votes), "rule": turned(found["rule"][unit], shown.swapped) or DISCARD}
            | {"reason": found["rule_reason"][unit]}
            | {"decision": "" if own is None else turned(own.label, shown.swapped) or DISCARD}
        )
    return DataFrame(rows or {"unit_id": [], "votes": [], "decision": []})


def _read(path: Path, campaign: Campaign, found: "DataFrame", by: str) -> dict[str, Decision]:
    """Returns the decisions in a list of conflicts, by unit.

    Raises:
        InputError: The pseudonym is a name, a column is missing, a unit or a decision is unknown, or votes have changed
            since the list was written.
    """
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_-]*", by) or by in (BY_VOTES, BY_RULE):
        raise InputError(f"found --decided-by {by!r}, expected a pseudonym of letters, digits, - and _: choose one")
    rows = read_file(path)
    compared = campaign.task.unit == "comparison"
    if missing := {"unit_id", "votes", "decision", *(["shown_first"] if compared else [])} - {*rows}:
        raise InputError(f"{path} lacks the column {min(missing)}: import the exported list with all its columns")
    decisions, words = {}, campaign.task.words
    allowed = {word.casefold(): name for name in _allowed(campaign) for word in (words.get(name, name), name)}
    rows = rows[rows["decision"].notna()].map(lambda cell: unguarded(str(cell or "")).strip())
    for number, row in zip(rows.index, rows.to_dict("records"), strict=True):
        unit, said, swapped = (
            row["unit_id"],
            allowed.get(row["decision"].casefold()),
            compared and row["shown_first"].lower() == "b",
        )
        if unit not in found.index:
            raise InputError(f"{path} has the unit {unit}, which the campaign lacks: give the list of this campaign")
        if said is None:
            raise InputError(
                f"{path}, row {number}: the decision on {unit} is {row['decision']!r}, expected one of "
                f"{', '.join(_allowed(campaign))}, or an empty cell: correct it"
            )
        votes = found["votes"][unit]
        if sorted(row["votes"].split()) != sorted(turned(vote, swapped) for vote in votes):
            raise InputError(f"the votes on {unit} have changed since {path} was written: export the list again")
        label = None if said == DISCARD else turned(said, swapped)
        decisions[unit] = Decision(unit, label, by, "person_discarded" if label is None else "person", _seen(votes))
    return decisions


def _merged(before: Mapping[str, Decision], new: Mapping[str, Decision], changes: bool) -> dict[str, Decision]:
    """Returns the new decisions; one that equals an earlier one confirms it, which keeps its person.

    Raises:
        InputError: Decisions contradict earlier ones, which `changes` allows.
    """
    if changes:
        return {**new}
    for unit, each in new.items():
        if unit in before and before[unit].label != each.label:
            raise InputError(
                f"{unit} is {each.label or DISCARD} now and was {before[unit].label or DISCARD} by {before[unit].by}: "
                "give --allow-changes to replace earlier decisions"
            )
    return {
        unit: Decision(unit, each.label, before.get(unit, each).by, each.reason, each.votes)
        for unit, each in new.items()
    }
