"""Validation: validators who had no part in a unit's label agree or disagree with it.

    rounds/validation.jsonl         assignments
    rounds/validation.json          options of the round
    rounds/validation.shown.jsonl   labels (pairs and comparisons) or median grades (replies), as shown to each
    validator

An answer counts only for the label that was shown. If the label has changed since, the answer is outdated, and the unit
needs another validator.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from fcconan.annotation.campaigns import LABEL, MAIN, VALIDATION, Answer, Assignment, Campaign, Row
from fcconan.annotation.votes import current_votes, item_of
from fcconan.building import group_values
from fcconan.groups import Bootstrap

AGREE, DISAGREE = "agree", "disagree"
COEFFICIENTS = ("raw", "cohen", "krippendorff_nominal")
KINDS = ("agreed", "disagreed", "skipped", "missing", "outdated")  # states of a validator's answer
# States of a unit.
STATES = {
    "agreed": "every validator who answered agrees",
    "disagreed": "every validator who answered disagrees",
    "split": "validators disagree with each other, so the label is not confirmed",
    "skipped": "every validator skipped it",
    "missing": "no validator has answered yet",
    "outdated": "the label has changed since validators saw it",
    "not_assigned": "no validator is assigned",
}


@dataclass(frozen=True)
class Verdict:
    """The validation of a unit's label.

    Attributes:
        unit_id: Id of the unit.
        state: A key of `STATES`.
        answers: `agree` or `disagree` by validator, of the validators who saw the current label.
    """

    unit_id: str
    state: str
    answers: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class ShownAssignment:
    """An assignment of the validation round.

    Attributes:
        assignment: The assignment.
        shown: Label or grades shown to the validator.
        is_current: Whether these are the current label or grades.
        answer: Answer of the validator; None if there is none.
    """

    assignment: Assignment
    shown: Row
    is_current: bool
    answer: Answer | None

    @property
    def rater(self) -> str:
        """The validator."""
        return self.assignment.rater

    @property
    def unit(self) -> str:
        """Id of the unit."""
        return self.assignment.unit_id

    @property
    def is_open(self) -> bool:
        """Whether the validator still has to answer."""
        return self.is_current and not self.assignment.withdrawn and self.answer is None

    @property
    def counts(self) -> bool:
        """Whether it has, or will have, an answer about the current label; answers of withdrawn assignments count."""
        return self.is_current and (self.answer is not None or not self.assignment.withdrawn)

    @property
    def kind(self) -> str:
        """State of the answer, one of `KINDS`."""
        if not self.is_current:
            return "outdated"
        if self.answer is None:
            return "missing"
        return {AGREE: "agreed", DISAGREE: "disagreed"}.get(str(self.answer.value), "skipped")


def validation_targets(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[str, Row]:
    """Returns the labels or grades to validate, by unit, in the order of the units.

    Args:
        campaign: The campaign.
        rounds: Rounds in which replies were graded.

    Returns:
        Rows with `label` for units with a final label; for tasks with aspects, `grades` with the median of each aspect,
        for units with a grade in all of them.
    """
    if campaign.task.labels:
        decisions = campaign.decisions()
        labels = {unit: decisions[unit].label for unit in campaign.units() if unit in decisions}
        return {unit: {LABEL: label} for unit, label in labels.items() if label is not None}
    votes = current_votes(campaign, rounds)
    first, *others = votes.values()
    return {
        unit: {"grades": {aspect: median(map(float, given[unit].values())) for aspect, given in votes.items()}}
        for unit in first
        if all(unit in each for each in others)
    }


def shown_assignments(campaign: Campaign, things: Mapping[str, Row]) -> list[ShownAssignment]:
    """Returns the assignments of the validation round; assignments without a record of their labels show the current
    ones.

    Args:
        campaign: The campaign.
        things: Result of `validation_targets`.
    """
    if VALIDATION not in campaign.rounds():
        return []
    shown = campaign.shown(VALIDATION)
    answers = {each.key: each for each in campaign.answers(VALIDATION).values()}
    found = []
    for each in campaign.assignments(VALIDATION):
        thing = things.get(each.unit_id)
        seen = (thing or {}) if shown is None else shown.get(each.key)
        found.append(ShownAssignment(each, seen or {}, seen == thing, answers.get(each.key)))
    return found


def verdicts(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[str, Verdict]:
    """Returns the validation of every unit with a label or grades, in the order of the units.

    Args:
        campaign: The campaign.
        rounds: Rounds in which replies were graded.
    """
    things = validation_targets(campaign, rounds)
    return _verdicts(things, shown_assignments(campaign, things))


def _verdicts(things: Mapping[str, Row], before: Sequence[ShownAssignment]) -> dict[str, Verdict]:
    by_unit = group_values(
        (each.unit, each) for each in before if not each.assignment.withdrawn or each.answer is not None
    )
    found = {}
    for unit in things:
        asked = by_unit.get(unit, [])
        current = [each for each in asked if each.is_current]
        answers = {each.rater: str(each.answer.value) for each in current if each.answer and each.answer.value}
        found[unit] = Verdict(unit, _state(answers, current, bool(asked)), answers)
    return found


def validation_summary(
    campaign: Campaign, *, rounds: Sequence[str] = (MAIN,), resamples: int = 10_000, seed: int = 0
) -> dict[str, Any]:
    """Summarises the validation.

    Args:
        campaign: The campaign.
        rounds: Rounds in which replies were graded.
        resamples: Number of bootstrap resamples of the HS, for the intervals of agreement.
        seed: Seed of the bootstrap.

    Returns:
        `units` (numbers by state), `labels` (the same by label; empty for grades), `validators` (numbers of answers by
        kind), and `agreement` (rows of `fcconan.scoring.measure_agreement` over units with two answers).
    """
    from fcconan.scoring import measure_agreement

    things, units = validation_targets(campaign, rounds), campaign.units()
    before = shown_assignments(campaign, things)
    found = _verdicts(things, before)
    names = list(dict.fromkeys(each.rater for each in before))
    kinds = Counter((each.rater, each.kind) for each in before if not each.assignment.withdrawn or each.answer)
    labels = sorted({str(thing[LABEL]) for thing in things.values() if LABEL in thing})
    agreement = measure_agreement(
        [
            [{AGREE: 1.0, DISAGREE: 0.0}.get(each.answers.get(name, ""), np.nan) for each in found.values()]
            for name in names
        ],
        items=[item_of(units[unit]) for unit in found],
        coefficients=COEFFICIENTS,
        raters=names,
        bootstrap=Bootstrap(resamples, seed=seed),
    )
    return {
        "units": _states(found.values()),
        "labels": {
            label: _states(found[unit] for unit, thing in things.items() if thing[LABEL] == label) for label in labels
        },
        "validators": [{"rater": name} | {kind: kinds[name, kind] for kind in KINDS} for name in names],
        "agreement": agreement.astype(object).where(agreement.notna(), None)[agreement["n"] > 0].to_dict("records"),
    }


def _states(found: Iterable[Verdict]) -> dict[str, int]:
    counts = Counter(each.state for each in found)
    return {state: counts[state] for state in STATES}


def _state(answers: Mapping[str, str], current: Sequence[ShownAssignment], asked: bool) -> str:
    if answers:
        values = set(answers.values())
        return "split" if len(values) > 1 else "agreed" if values == {AGREE} else "disagreed"
    if current:
        return "missing" if any(each.answer is None for each in current) else "skipped"
    return "outdated" if asked else "not_assigned"
