"""The second round: validators who had no part in a unit's label agree or disagree with it.

    rounds/validation.jsonl         who validates what
    rounds/validation.json          how the round was made
    rounds/validation.shown.jsonl   the final label of a pair or comparison, or the medians of the grades of a reply,
                                    as each validator is shown it

An answer counts for the label that was shown only: where the label has changed since, the answer is outdated, and the
unit needs a validator who has not seen it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from fcconan.annotation.campaigns import LABEL, MAIN, VALIDATION, Answer, Assignment, Campaign, Row
from fcconan.annotation.votes import item_of, votes_of
from fcconan.building import grouped

AGREE, DISAGREE = "agree", "disagree"
COEFFICIENTS = ("raw", "cohen", "krippendorff_nominal")
KINDS = ("agreed", "disagreed", "skipped", "missing", "outdated")  # of the answers of a validator
# States of a unit.
STATES = {
    "agreed": "every validator who answered agrees",
    "disagreed": "every validator who answered disagrees",
    "split": "one agrees and another one disagrees, so the label is not confirmed",
    "skipped": "every validator who was asked skipped it",
    "missing": "a validator still has to answer, and none has",
    "outdated": "the label has changed since validators saw it",
    "not_assigned": "no validator was asked",
}


@dataclass(frozen=True)
class Verdict:
    """What validators say of a unit's label.

    Attributes:
        unit_id: The unit.
        state: A key of `STATES`.
        answers: `agree` or `disagree` by validator, of those who saw the label as it is now.
    """

    unit_id: str
    state: str
    answers: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class ShownAssignment:
    """An assignment of the round as it is.

    Attributes:
        assignment: The assignment.
        shown: The label or grades that the validator is shown.
        is_current: Whether these are the label or grades that hold now.
        answer: The answer of the validator.
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
        """The unit."""
        return self.assignment.unit_id

    @property
    def is_open(self) -> bool:
        """Whether the validator still has to answer."""
        return self.is_current and not self.assignment.withdrawn and self.answer is None

    @property
    def counts(self) -> bool:
        """Whether it gives, or will give, an answer to what is shown now, also if it was withdrawn in between."""
        return self.is_current and (self.answer is not None or not self.assignment.withdrawn)

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        if not self.is_current:
            return "outdated"
        if self.answer is None:
            return "missing"
        return {AGREE: "agreed", DISAGREE: "disagreed"}.get(str(self.answer.value), "skipped")


def validated_things(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[str, Row]:
    """Returns what validators are shown of every unit that has something to be validated, in the order of the units.

    Args:
        campaign: The campaign.
        rounds: The rounds in which replies were graded.

    Returns:
        `label` of units that have a final one; for a task with aspects `grades`, the median of each aspect, of units
        with a grade in all of them.
    """
    if campaign.task.labels:
        decisions = campaign.decisions()
        labels = {unit: decisions[unit].label for unit in campaign.units() if unit in decisions}
        return {unit: {LABEL: label} for unit, label in labels.items() if label is not None}
    votes = votes_of(campaign, rounds)
    first, *others = votes.values()
    return {
        unit: {"grades": {aspect: median(map(float, given[unit].values())) for aspect, given in votes.items()}}
        for unit in first
        if all(unit in each for each in others)
    }


def shown_assignments(campaign: Campaign, things: Mapping[str, Row]) -> list[ShownAssignment]:
    """Returns the assignments of the round; one without a note of its labels shows those that hold now.

    Args:
        campaign: The campaign.
        things: Result of `validated_things`.
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
    """Returns the verdict on every unit that has something to be validated, in the order of the units.

    Args:
        campaign: The campaign.
        rounds: Rounds in which replies were graded.
    """
    things = validated_things(campaign, rounds)
    return _verdicts(things, shown_assignments(campaign, things))


def _verdicts(things: Mapping[str, Row], before: Sequence[ShownAssignment]) -> dict[str, Verdict]:
    by_unit = grouped((each.unit, each) for each in before if not each.assignment.withdrawn or each.answer is not None)
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
        resamples: Resamples of the HS, for the intervals of the agreement of validators.
        seed: Seed of the resamples.

    Returns:
        `units` (how many are in each state), `labels` (the same by label, empty for grades), `validators` (their
        answers to labels as they are now), and `agreement` (rows of `fcconan.scoring.agreement` over the units with two
        answers).
    """
    from fcconan.scoring import measure_agreement

    things, units = validated_things(campaign, rounds), campaign.units()
    before = shown_assignments(campaign, things)
    found = _verdicts(things, before)
    names = list(dict.fromkeys(each.rater for each in before))
    kinds = Counter((each.rater, each.kind) for each in before if not each.assignment.withdrawn or each.answer)
    labels = sorted({str(thing[LABEL]) for thing in things.values() if LABEL in thing})
    return {
        "units": _states(found.values()),
        "labels": {
            label: _states(found[unit] for unit, thing in things.items() if thing[LABEL] == label) for label in labels
        },
        "validators": [{"rater": name} | {kind: kinds[name, kind] for kind in KINDS} for name in names],
        "agreement": measure_agreement(
            [
                [{AGREE: 1.0, DISAGREE: 0.0}.get(each.answers.get(name, ""), np.nan) for each in found.values()]
                for name in names
            ],
            [0.0, 1.0],
            items=[item_of(units[unit]) for unit in found],
            coefficients=COEFFICIENTS,
            raters=names,
            aspect=VALIDATION,
            resamples=resamples,
            seed=seed,
        )
        if any(len(each.answers) > 1 for each in found.values())
        else [],
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
