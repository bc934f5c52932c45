"""The second round: validators who had no part in a unit's label agree or disagree with it.

    rounds/validation.jsonl         who validates what
    rounds/validation.json          how the round was made
    rounds/validation.shown.jsonl   what each of them is shown: the final label of a pair or comparison, the medians of
                                    the grades of a reply

What somebody was shown counts for that only: where the label has changed since, the answer is outdated, and the unit
needs a validator who has not seen it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from statistics import median
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.annotation.assignment.allocation import Group, place
from fcconan.annotation.assignment.assignments import draw_numbers, permissions
from fcconan.annotation.assignment.rounds import active_raters, made_how, write_how
from fcconan.annotation.assignment.sequence import Sittings, in_order, last_places
from fcconan.annotation.campaigns import LABEL, MAIN, VALIDATION, Answer, Assignment, Campaign, as_lines
from fcconan.annotation.votes import item_of, votes_of
from fcconan.data import read_rows, write_whole
from fcconan.errors import InputError

Row = dict[str, Any]
AGREE, DISAGREE = "agree", "disagree"
SHOWN = f"rounds/{VALIDATION}.shown.jsonl"
COEFFICIENTS = ("raw", "cohen", "krippendorff_nominal")
# How options are written on the command line, before their value.
SPELT = {
    "sample": "--sample-size ",
    "twice": "--overlap 2=",
    "session_size": "--session-size ",
    "rounds": "--round ",
    "seed": "--seed ",
}
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


class Options(BaseModel):
    """How the round is made, as `rounds/validation.json` keeps it.

    Attributes:
        sample: How many units; None for all.
        twice: The share, of the units that nobody was asked about before, that two get.
        session_size: How many units come in one sitting; None for one sitting.
        rounds: The rounds in which replies were graded, or patterns of their names.
        seed: Of all draws; None for one that follows from the campaign's.
        two: The units that two are to judge, as they were drawn.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    sample: int | None = Field(default=None, ge=1)
    twice: float = Field(default=0.0, ge=0, le=1)
    session_size: int | None = Field(default=None, ge=1)
    rounds: list[str] = Field(default=[MAIN], min_length=1)
    seed: int | None = Field(default=None, ge=0)
    two: list[str] = []


@dataclass(frozen=True)
class Plan:
    """Who validates what.

    Attributes:
        assignments: The whole round.
        shown: Rows with `rater`, `unit_id` and what is shown: `label`, or `grades` by aspect.
        n_new: Assignments that this plan adds.
        n_withdrawn: Assignments that it takes back.
        short: Units that lack a validator, all who are active having had a part in them.
        two: Units of the round that two are to judge.
    """

    assignments: list[Assignment]
    shown: list[Row]
    n_new: int
    n_withdrawn: int
    short: list[str]
    two: list[str]


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


def options_of(campaign: Campaign, given: Mapping[str, Any], *, again: bool = False) -> Options:
    """Returns how the round is to be made: as it is said now, and otherwise as it was made before.

    Args:
        campaign: The campaign.
        given: Fields of `Options`; None for what is not said.
        again: Whether the round may be continued in another way than it was made.

    Raises:
        InputError: The round was made in another way, and `again` is not given; or what is kept of it is damaged.
    """
    made = _made(campaign)
    said = {name: value for name, value in given.items() if value is not None}
    before = {name: getattr(made, name) for name in said}
    other = [f"{SPELT[name]}{before[name]} (now {value})" for name, value in said.items() if before[name] != value]
    if VALIDATION in campaign.rounds() and other and not again:
        raise InputError(
            f"{campaign.folder} has a round {VALIDATION}, made with {', '.join(other)}: leave that out, or give "
            "--extend to extend the round in the new way"
        )
    return made.model_copy(update=said)


def _made(campaign: Campaign) -> Options:
    """How the round was made; the usual way if there is none, or nothing says so."""
    if VALIDATION not in campaign.rounds():
        return Options()
    try:
        return Options.model_validate(made_how(campaign, VALIDATION))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise InputError(
            f"{campaign.folder / 'rounds' / VALIDATION}.json does not say how a round was made ({where}: "
            f"{first['msg']}): take the file from a backup"
        ) from error


def plan_validation(
    campaign: Campaign,
    *,
    sample: int | None = None,
    twice: float = 0.0,
    session_size: int | None = None,
    rounds: Sequence[str] = (MAIN,),
    seed: int = 0,
) -> Plan:
    """Assigns units to active validators who neither annotated nor decided them, as equally as that allows.

    The sample follows from the seed and the ids alone, so that a later plan, with more units decided, keeps the units
    drawn before. Assignments that hold keep their places. Withdrawn are those that showed something else than would be
    shown now and, once another validator takes them over, those without an answer of validators who are not active any
    more. A unit that lost validators gets as many as it was to have.

    Args:
        campaign: A campaign with final labels, or with grades.
        sample: Number of units; None for all.
        twice: Share, of the units without any validator yet, that two get.
        session_size: Number of units in a session; None for one session.
        rounds: Rounds in which replies were graded.
        seed: Seed of all draws.

    Raises:
        InputError: There is nothing to validate, no validator, or fewer units or validators than the options need.
    """
    things, validators = validated_things(campaign, rounds), active_raters(campaign, "validator")
    _check(campaign, things, validators, sample, rounds)
    # Ranks by each unit's own id draw the same units when others have joined them.
    drawn = set(sorted(things, key=lambda unit: sha256(f"{seed}:{unit}".encode()).digest())[:sample])
    before = _before(campaign, things)
    known = {each.unit for each in before}
    left = {each for each in before if each.is_open and each.rater not in validators}
    two = known.intersection(_made(campaign).two)
    two |= {unit for unit, n in Counter(each.unit for each in before if not each.assignment.withdrawn).items() if n > 1}
    having = Counter(each.unit for each in before if each.counts and each not in left)
    barred = _barred(campaign) | {(each.rater, each.unit) for each in before}
    permitted = permissions(things, validators, barred)
    groups = {
        unit: Group((unit,), permitted[unit], max(0, (2 if unit in two else 1) - having[unit]))
        for unit in things
        if unit in drawn or unit in known
    }
    new = [group for unit, group in groups.items() if unit not in known and group.permitted.any()]
    generator = np.random.default_rng(seed)
    draw_numbers(new, {2: twice}, len(validators), "units", generator.permutation(len(new)).tolist())
    two |= {group.units[0] for group in new if group.wanted > 1}
    load = np.array([sum(each.is_open and each.rater == name for each in before) for name in validators], np.int64)
    place([*groups.values()], load, np.zeros((len(validators), len(validators)), np.int64), generator)
    lacking = Counter({unit: group.wanted - len(group.added) for unit, group in groups.items()})
    short = [unit for unit in things if lacking[unit] > 0]
    kept = [replace(each.assignment, withdrawn=each.assignment.withdrawn or not each.is_current) for each in before]
    for at in reversed(range(len(before))):  # validators who left keep units that no other can take over
        if before[at] in left:
            if lacking[before[at].unit] <= 0:
                kept[at] = replace(kept[at], withdrawn=True)
            lacking[before[at].unit] -= 1
    judged = {name: [unit for unit, group in groups.items() if at in group.added] for at, name in enumerate(validators)}
    ordered = in_order(
        judged,
        seed=seed,
        sittings=Sittings(session_size),
        swap=campaign.task.unit == "comparison",
        ends=last_places(kept),
    )
    added = [each for theirs in ordered.values() for each in theirs]
    shown = [(each.rater, each.unit, each.shown) for each in before if each.shown]
    shown += [(each.rater, each.unit_id, things[each.unit_id]) for each in added]
    names = dict.fromkeys([*(each.rater for each in kept), *validators])
    return Plan(
        [each for name in names for each in (*kept, *added) if each.rater == name],
        [{"rater": rater, "unit_id": unit} | thing for rater, unit, thing in shown],
        n_new=len(added),
        n_withdrawn=sum(now != each.assignment for now, each in zip(kept, before, strict=True)),
        short=short,
        two=[unit for unit in campaign.units() if unit in two],
    )


def write_plan(campaign: Campaign, plan: Plan, options: Options = Options()) -> None:  # noqa: B008, it cannot be changed
    """Writes the round; call it within `campaign.changing`.

    Args:
        campaign: The campaign.
        plan: Who validates what.
        options: How it was made.

    Raises:
        OSError: It cannot be written.
    """
    (campaign.folder / "rounds").mkdir(exist_ok=True)
    # What is shown comes first: a round without it would show nothing.
    write_whole(campaign.folder / SHOWN, as_lines(plan.shown))
    write_how(campaign, VALIDATION, options.model_copy(update={"two": plan.two}).model_dump())
    campaign.write(f"rounds/{VALIDATION}.jsonl", plan.assignments)


def verdicts(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[str, Verdict]:
    """Returns the verdict on every unit that has something to be validated, in the order of the units.

    Args:
        campaign: The campaign.
        rounds: Rounds in which replies were graded.
    """
    things = validated_things(campaign, rounds)
    return _verdicts(things, _before(campaign, things))


def _verdicts(things: Mapping[str, Row], before: Sequence["_Before"]) -> dict[str, Verdict]:
    by_unit: dict[str, list[_Before]] = {}
    for each in before:
        if not each.assignment.withdrawn or each.answer is not None:
            by_unit.setdefault(each.unit, []).append(each)
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
    before = _before(campaign, things)
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


def _state(answers: Mapping[str, str], current: Sequence["_Before"], asked: bool) -> str:
    if answers:
        values = set(answers.values())
        return "split" if len(values) > 1 else "agreed" if values == {AGREE} else "disagreed"
    if current:
        return "missing" if any(each.answer is None for each in current) else "skipped"
    return "outdated" if asked else "not_assigned"


@dataclass(frozen=True, eq=False)
class _Before:
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
        return self.assignment.rater

    @property
    def unit(self) -> str:
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


def _before(campaign: Campaign, things: Mapping[str, Row]) -> list[_Before]:
    """The round as it is; a round without a note of the labels that it shows, shows those that hold now."""
    if VALIDATION not in campaign.rounds():
        return []
    path = campaign.folder / SHOWN
    shown = None
    if path.is_file():
        shown = {(row.pop("rater"), row.pop("unit_id")): row for row in map(dict, read_rows(path))}
    answers = {(each.rater, each.unit_id): each for each in campaign.answers(VALIDATION).values()}
    found = []
    for each in campaign.assignments(VALIDATION):
        key, thing = (each.rater, each.unit_id), things.get(each.unit_id)
        seen = (thing or {}) if shown is None else shown.get(key)
        found.append(_Before(each, seen or {}, seen == thing, answers.get(key)))
    return found


def _barred(campaign: Campaign) -> set[tuple[str, str]]:
    """Who had a part in which unit: all who were assigned it, answered it or decided it."""
    found = {(each.by, each.unit_id) for each in campaign.decisions().values()}
    for name in campaign.rounds():
        if name != VALIDATION:
            found |= {(each.rater, each.unit_id) for each in campaign.assignments(name)}
    return found | {(each.rater, each.unit_id) for each in campaign.history() if each.round != VALIDATION}


def _check(
    campaign: Campaign, things: Mapping[str, Row], validators: Sequence[str], sample: int | None, rounds: Sequence[str]
) -> None:
    if not things and campaign.task.aspects:
        raise InputError(
            f"no unit of {campaign.folder} has grades in all of {', '.join(campaign.aspects)} from the round "
            f"{', '.join(rounds)}: import grades with `fcconan annotate import`, or name other rounds with --round"
        )
    if not things:
        n = len(campaign.decisions())
        found = f"all {n} decided units are discarded" if n else "run `fcconan annotate adjudicate` first"
        raise InputError(f"{campaign.folder} has nothing to validate: {found}")
    if not validators:
        raise InputError(
            f"{campaign.folder} has no active validator: let one join with `fcconan annotate raters --add-validators 1`"
        )
    if sample is not None and not 0 < sample <= len(things):
        raise InputError(f"--sample-size is {sample}, expected 1 to {len(things)}: so many units can be validated")
