"""Final labels: from the votes by a rule, or by a person where the rule has no answer.

The rule is the one that every pair of FC-CONAN's release follows. One rater's label holds. Of two raters, one who is
not sure leaves the decision to the other; two who contradict each other decide nothing. Of three or more, a label
needs a strict majority, raters who are not sure being counted among those it must outnumber. What has no label then is
discarded, with a reason, unless a person decides it.

The release holds only pairs that have a label, so it cannot show everything: it has no pair of the kinds that the rule
discards, and raters who are not sure might as well not count as voters. The two readings first differ where two of
three raters are not sure, and there the cautious one is taken.

The same holds for verdicts between two replies: where none has a strict majority, the comparison is discarded. It is no
`tie`, which is a verdict of its own that raters give, and no win for whoever is named first.

In place of the rule, labels may be those of `fcconan.annotation.dawid_skene`, which weighs votes by what else their
raters said. Every such label has the reason `posterior`; what is less probable than asked for is discarded.

Grades are not adjudicated: raters may differ in a grade without one of them being wrong, and those who use the ratings
take their mean, or all of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fcconan.annotation.campaigns import LABEL, MAIN, Campaign, Decision
from fcconan.annotation.dawid_skene import posterior_labels
from fcconan.annotation.votes import NOT_SURE, answers_of, votes_of
from fcconan.building import grouped
from fcconan.errors import InputError

BY_VOTES, BY_RULE = "votes", "rule"
RULE, DAWID_SKENE = "rule", "dawid-skene"
MODELS = {RULE: None, DAWID_SKENE: posterior_labels}  # by method: what weighs votes in place of the rule
# Why a unit has its label.
LABELLED = {
    "single": "one rater labelled it",
    "unanimous": "all raters gave this label",
    "majority": "more than half of three or more raters gave this label",
    "other_not_sure": "of two raters one was not sure, and the other's label holds",
    "posterior": "it is the most probable label by Dawid and Skene's method",
    "person": "a person decided",
}
# Why a unit is discarded.
DISCARDED = {
    "not_sure": "the only rater, both of two, or most of several were not sure",
    "no_majority": "raters contradict each other, and no label has a strict majority",
    "improbable": "no label is as probable as asked for by Dawid and Skene's method",
    "all_skipped": "everybody who was asked skipped it",
    "person_discarded": "a person decided that it has no label",
}
REASONS = (*LABELLED, *DISCARDED)


@dataclass(frozen=True)
class Outcome:
    """What adjudication found.

    Attributes:
        decisions: Final labels and discards, in the order of the units.
        votes: The labels that the raters gave, by unit and rater.
        by_rule: What the rule says of every unit, also where a person decided.
        waiting: Units that somebody still has to answer; they have no decision.
        not_assigned: Units that nobody was asked about; they have no decision.
        conflicts: Units of which the raters did not all give one label, those included that all are not sure of.
        needless: Units that a person decided although the votes, as they are now, are no conflict.
        own_raters: Units that one of their own raters decided as a person.
        other_votes: Units that a person decided on other votes than those that they have now.
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
        """The conflicts that the rule discards, which only a person can decide otherwise."""
        return [unit for unit in self.conflicts if self.by_rule[unit].label is None]


def resolve(votes: Sequence[str]) -> tuple[str | None, str]:
    """Applies the rule to the votes on one unit.

    Args:
        votes: The labels that raters gave, `not_sure` among them; skipped ones are none.

    Returns:
        The label, or None if the unit is discarded; and why, one of `REASONS`.
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
    """Returns the labels that a unit may end with, in the order of the task: all but `not_sure`.

    Raises:
        InputError: The task has aspects.
    """
    if campaign.task.aspects:
        raise InputError(f"{campaign.task.name} has grades, which are not adjudicated: use `fcconan annotate agree`")
    return [label.name for label in campaign.task.labels if label.name != NOT_SURE]


def adjudicate(
    campaign: Campaign,
    *,
    rounds: Sequence[str] = (MAIN,),
    now: bool = False,
    persons: Iterable[Decision] | None = None,
    method: str = RULE,
    at_least: float = 0.5,
) -> Outcome:
    """Decides every unit whose raters have all answered; anchors and quiz units need no decision.

    Args:
        campaign: A campaign on a task with labels.
        rounds: Whose answers are votes; of a rater's answers to one unit the last round's counts.
        now: Also decide units that somebody still has to answer, if there is a vote.
        persons: What persons decided; None for what `decisions.jsonl` says. Those that do not say on which votes were
            made on those that there are.
        method: `rule` or `dawid-skene`.
        at_least: By Dawid and Skene's method, the least probability of a label that is not discarded.

    Raises:
        InputError: The task has aspects, or there is no such round.
    """
    labels = final_labels(campaign)
    answered = {(rater, unit) for rater, unit, _ in answers_of(campaign, rounds)}
    asked = grouped(
        (each.unit_id, each.rater)
        for name in rounds
        for each in campaign.assignments(name)
        if not each.withdrawn or each.key in answered
    )
    votes = {
        unit: {rater: str(value) for rater, value in given.items()}
        for unit, given in votes_of(campaign, rounds)[LABEL].items()
    }
    kept = {
        each.unit_id: replace(each, votes=_seen(votes, each.unit_id)) if each.votes is None else each
        for each in (decisions_of_persons(campaign) if persons is None else persons)
    }
    model = MODELS[method]
    found = model(votes, labels) if model and votes else None
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
            agreed = len(set(given)) < 2
            if found is not None and given:
                label = found.label(unit, at_least=at_least)
                reason = "posterior" if label else "improbable"
                agreed = set(given) == {label}
            by_rule[unit] = Decision(unit, label, BY_VOTES if agreed else BY_RULE, reason)
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
    """The votes on a unit as a person sees them, without who gave which."""
    return " ".join(sorted(votes.get(unit, {}).values()))


def decisions_of_persons(campaign: Campaign) -> list[Decision]:
    """Returns what persons decided, as far as `decisions.jsonl` has it."""
    return [each for each in campaign.decisions().values() if each.by not in (BY_VOTES, BY_RULE)]


def counts_of(outcome: Outcome | None) -> dict[str, Any]:
    """Returns how many units have which label, are discarded or undecided for which reason, and are in conflict.

    Args:
        outcome: What `adjudicate` returned; None where nothing is adjudicated.
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
