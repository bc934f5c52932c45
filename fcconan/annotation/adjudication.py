"""Final labels: the result of a rule over the votes, or the decision of a person.

The rule gives all labels of FC-CONAN's release:

- One vote: its label.
- Two votes: if one is `not_sure`, the other label; if they contradict each other, no label.
- Three or more votes: the label with a strict majority of all votes, `not_sure` included.

A unit without a label is discarded with a reason, unless a person decides it.

The release contains labelled pairs only. It therefore has no pair that the rule discards, and it cannot show whether
`not_sure` counts as a vote. The two readings differ first where two of three raters are not sure; the rule takes the
cautious one and discards the unit.

The rule applies to verdicts between two replies as well: a comparison without a strict majority is discarded. That is
different from `tie`, which is a verdict of its own.

Grades are not adjudicated. Raters may give different grades without an error; users of the ratings take their mean,
or use all of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fcconan.annotation.campaigns import LABEL, MAIN, Campaign, Decision
from fcconan.annotation.votes import NOT_SURE, answers_of, current_votes
from fcconan.building import group_values
from fcconan.errors import InputError

BY_VOTES, BY_RULE = "votes", "rule"
# Reasons of labels.
LABELLED = {
    "single": "one rater labelled it",
    "unanimous": "all raters gave this label",
    "majority": "more than half of three or more raters gave this label",
    "other_not_sure": "one of two raters was not sure; the label is the other rater's",
    "person": "a person decided",
}
# Reasons of discards.
DISCARDED = {
    "not_sure": "all raters, or most of three or more, were not sure",
    "no_majority": "raters contradict each other, and no label has a strict majority",
    "all_skipped": "all raters skipped it",
    "person_discarded": "a person decided that it has no label",
}
REASONS = (*LABELLED, *DISCARDED)


@dataclass(frozen=True)
class Outcome:
    """The result of adjudication.

    Attributes:
        decisions: Final labels and discards, in the order of the units.
        votes: Labels of the raters, by unit and rater.
        by_rule: Decision of the rule on every unit, including units that a person decided.
        waiting: Units with open assignments; they have no decision.
        not_assigned: Units without assignments; they have no decision.
        conflicts: Units whose raters gave different labels, and units of which all raters are not sure.
        needless: Units that a person decided although the current votes are not in conflict.
        own_raters: Units that a person decided who had also annotated them.
        other_votes: Units whose votes have changed since a person decided them.
    """

    decisions: list[Decision]
    votes: Mapping[str, Mapping[str, str]]
    by_rule: Mapping[str, Decision]
    waiting: list[str]
    not_assigned: list[str]
    conflicts: list[str]
    needless: list[str]
    own_raters: list[str]
    other_votes: list[str]

    @property
    def open_conflicts(self) -> list[str]:
        """Conflicts that the rule discards; only a person can give them a label."""
        return [unit for unit in self.conflicts if self.by_rule[unit].label is None]


def resolve(votes: Sequence[str]) -> tuple[str | None, str]:
    """Applies the rule to the votes on one unit.

    Args:
        votes: Labels of the raters, `not_sure` included, without skipped answers.

    Returns:
        The label, or None if the unit is discarded; and the reason, one of `REASONS`.
    """
    if not votes:
        return None, "all_skipped"
    label, backing = Counter(votes).most_common(1)[0]
    if backing == len(votes):
        reason = "not_sure" if label == NOT_SURE else "single" if backing == 1 else "unanimous"
        return (None if label == NOT_SURE else label), reason
    if len(votes) == 2 and NOT_SURE in votes:
        return next(vote for vote in votes if vote != NOT_SURE), "other_not_sure"
    if 2 * backing <= len(votes):
        return None, "no_majority"
    return (None, "not_sure") if label == NOT_SURE else (label, "majority")


def final_labels(campaign: Campaign) -> list[str]:
    """Returns the possible final labels, in the order of the task: all labels except `not_sure`.

    Raises:
        InputError: The task has aspects.
    """
    if campaign.task.aspects:
        raise InputError(f"{campaign.task.name} has grades, which are not adjudicated: use `fcconan agree`")
    return [label.name for label in campaign.task.labels if label.name != NOT_SURE]


def adjudicate(
    campaign: Campaign,
    *,
    rounds: Sequence[str] = (MAIN,),
    now: bool = False,
    persons: Iterable[Decision] | None = None,
) -> Outcome:
    """Decides every unit without open assignments; gold questions and qualification tests need no decision.

    Args:
        campaign: A campaign on a task with labels.
        rounds: Rounds whose answers are votes. If a rater judged a unit in several rounds, the last one counts.
        now: Whether units with open assignments are decided as well, if they have a vote.
        persons: Decisions of persons; None for those in `decisions.jsonl`. A decision without recorded votes counts as
            made on the current ones.

    Raises:
        InputError: The task has aspects, or a round does not exist.
    """
    final_labels(campaign)  # raises InputError for aspects
    answered = {(rater, unit) for rater, unit, _ in answers_of(campaign, rounds)}
    asked = group_values(
        (each.unit_id, each.rater)
        for name in rounds
        for each in campaign.assignments(name)
        if not each.withdrawn or each.key in answered
    )
    votes = {
        unit: {rater: str(value) for rater, value in given.items()}
        for unit, given in current_votes(campaign, rounds)[LABEL].items()
    }
    kept = {
        each.unit_id: replace(each, votes=_seen(votes, each.unit_id)) if each.votes is None else each
        for each in (human_decisions(campaign) if persons is None else persons)
    }
    by_rule: dict[str, Decision] = {}
    waiting, not_assigned = [], []
    for unit in (each.unit_id for each in campaign.items()):
        if unit not in asked:
            not_assigned += [] if unit in kept else [unit]
        elif any((rater, unit) not in answered for rater in asked[unit]) and not (now and unit in votes):
            waiting += [] if unit in kept else [unit]
        else:
            given = [*votes.get(unit, {}).values()]
            label, reason = resolve(given)
            by_rule[unit] = Decision(unit, label, BY_VOTES if len(set(given)) < 2 else BY_RULE, reason)
    conflicts = [unit for unit, each in by_rule.items() if each.by == BY_RULE or each.reason == "not_sure"]
    decided = by_rule | kept
    return Outcome(
        [decided[unit] for unit in campaign.units() if unit in decided],
        votes,
        by_rule,
        waiting,
        not_assigned,
        conflicts,
        needless=[unit for unit in kept if unit in by_rule and by_rule[unit].label and unit not in conflicts],
        own_raters=[unit for unit, each in kept.items() if each.by in votes.get(unit, {})],
        other_votes=[unit for unit, each in kept.items() if each.votes != _seen(votes, unit)],
    )


def _seen(votes: Mapping[str, Mapping[str, str]], unit: str) -> str:
    """Returns the votes on a unit as a person sees them, without their raters."""
    return " ".join(sorted(votes.get(unit, {}).values()))


def human_decisions(campaign: Campaign) -> list[Decision]:
    """Returns the decisions of persons in `decisions.jsonl`."""
    return [each for each in campaign.decisions().values() if each.by not in (BY_VOTES, BY_RULE)]


def count_outcomes(outcome: Outcome | None) -> dict[str, Any]:
    """Returns the number of units by label, by reason of the label or discard, and by kind of conflict.

    Args:
        outcome: Result of `adjudicate`; None if nothing is adjudicated.
    """
    decisions = outcome.decisions if outcome else []
    labels = Counter(each.label for each in decisions if each.label)
    reasons = Counter(each.reason for each in decisions)
    lists = ("conflicts", "open_conflicts", "needless", "own_raters", "other_votes", "waiting", "not_assigned")
    return {
        "labels": dict(sorted(labels.items())),
        "decided": {reason: reasons[reason] for reason in LABELLED},
        "discarded": {reason: reasons[reason] for reason in DISCARDED},
        **{name: len(getattr(outcome, name)) if outcome else 0 for name in lists},
    }
