"""The second round: validators who had no part in a unit's label agree or disagree with it.

    rounds/validation.jsonl         who validates what
    rounds/validation.json          how the round was made
    rounds/validation.shown.jsonl   what each of them is shown: the final label of a pair or comparison, the medians of
                                    the grades of a reply

What somebody was shown counts for that only: where the label has changed since, the answer is outdated, and the unit
needs a validator who has not seen it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from statistics import median
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.annotation.assignment.allocation import Group, place
from fcconan.annotation.assignment.assignments import distribute, permissions
from fcconan.annotation.assignment.rounds import made_how
from fcconan.annotation.assignment.sequence import Sittings, in_order
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
# What became of a unit.
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

    Which units are drawn follows from the seed and their ids alone, so that a plan made again later, with more units
    decided, keeps those drawn before. Assignments that hold stay where they are in their validators' order. Withdrawn
    are those that showed something else than what would be shown now and, once somebody else takes them over, those
    without an answer of validators who are not active any more. A unit that lacks validators gets as many as it was
    to have, whenever it lost them, so that what two were to judge two do judge.

    Args:
        campaign: A campaign with final labels, or with grades.
        sample: How many units; None for all.
        twice: The share, of the units that nobody was asked about before, that two get.
        session_size: How many units come in one sitting; None for one sitting.
        rounds: The rounds in which replies were graded.
        seed: Decides all draws.

    Raises:
        InputError: There is nothing to validate, nobody who could, or not as many units or validators as asked for.
    """
    things, units = validated_things(campaign, rounds), campaign.units()
    validators = [
        each.rater for each in campaign.raters().values() if (each.role, each.state) == ("validator", "active")
    ]
    _check(campaign, things, validators, sample, twice, rounds)
    # Whoever ranks a unit by its own id draws the same units when others have joined them.
    drawn = set(sorted(things, key=lambda unit: sha256(f"{seed}:{unit}".encode()).digest())[:sample])
    before, shown = _before(campaign)
    answered = {(each.rater, each.unit_id) for each in campaign.answers(VALIDATION).values()}
    barred = _barred(campaign) | {(each.rater, each.unit_id) for each in before}
    asked = [each for each in before if not each.withdrawn]
    stale = {each for each in asked if things.get(each.unit_id) != shown.get((each.rater, each.unit_id))}
    left = dict.fromkeys(
        each
        for each in asked
        if not (each in stale or each.rater in validators or (each.rater, each.unit_id) in answered)
    )
    known = {each.unit_id for each in before}
    lacking = [unit for unit in things if unit in drawn and unit not in known]
    able = [unit for unit in lacking if any((rater, unit) not in barred for rater in validators)]
    open_units = [units[unit] for unit in able]
    who = distribute(open_units, validators, overlap={2: twice}, forbidden=barred, seed=seed)
    busy = Counter(each.rater for each in asked if each not in stale and (each.rater, each.unit_id) not in answered)
    busy.update(rater for chosen in who.values() for rater in chosen)
    times = Counter(each.unit_id for each in asked)
    two = known.intersection(_made(campaign).two) | {unit for unit in known if times[unit] > 1}
    two |= {unit for unit, chosen in who.items() if len(chosen) > 1}
    # An answer to what is shown now counts, also if it was withdrawn while something else was shown.
    having = Counter(
        each.unit_id
        for each in before
        if things.get(each.unit_id) == shown.get((each.rater, each.unit_id))
        and ((each.rater, each.unit_id) in answered or not (each.withdrawn or each in left))
    )
    wanted = {unit: (2 if unit in two else 1) - having[unit] for unit in things if unit in known}
    refilled = _refilled({unit: n for unit, n in wanted.items() if n > 0}, validators, barred, busy, seed)
    who |= refilled
    open_still = Counter({unit: wanted[unit] - len(chosen) for unit, chosen in refilled.items()})
    without = {*lacking} - {*able} | {*+open_still}
    withdrawn = set(stale)
    for each in reversed(left):  # who left keeps what nobody else can take over
        if open_still[each.unit_id] <= 0:
            withdrawn.add(each)
        open_still[each.unit_id] -= 1
    kept = [replace(each, withdrawn=True) if each in withdrawn else each for each in before]
    judged: dict[str, list[str]] = {rater: [] for rater in validators}
    for unit, chosen in who.items():
        for rater in chosen:
            judged[rater].append(unit)
    new = in_order(
        judged,
        seed=seed,
        blocks={unit: unit for unit in who},
        sittings=Sittings(session_size),
        swap=campaign.task.unit == "comparison",
        ends={each.rater: (each.position, each.session) for each in kept},
    )
    names = dict.fromkeys([*(each.rater for each in kept), *validators])
    added = [each for theirs in new.values() for each in theirs]
    shown |= {(each.rater, each.unit_id): things[each.unit_id] for each in added}
    return Plan(
        [each for name in names for each in (*kept, *added) if each.rater == name],
        [{"rater": rater, "unit_id": unit} | thing for (rater, unit), thing in shown.items()],
        n_new=len(added),
        n_withdrawn=sum(new_row != old for new_row, old in zip(kept, before, strict=True)),
        short=[unit for unit in things if unit in without],
        two=[unit for unit in units if unit in two],
    )


def _refilled(
    wanted: Mapping[str, int],
    validators: Sequence[str],
    barred: Collection[tuple[str, str]],
    busy: Mapping[str, int],
    seed: int,
) -> dict[str, list[str]]:
    """Unit -> so many who take it over, those with least to do first; fewer where all others are barred."""
    permitted = permissions(wanted, validators, barred)
    groups = [Group((unit,), permitted[unit], number) for unit, number in wanted.items()]
    load = np.array([busy.get(rater, 0) for rater in validators], dtype=np.int64)
    shared = np.zeros((len(validators), len(validators)), np.int64)
    place(groups, load, shared, np.random.default_rng([seed, sum(wanted.values())]))
    return {group.units[0]: [validators[at] for at in group.added] for group in groups}


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
    how = options.model_copy(update={"two": plan.two})
    write_whole(campaign.folder / "rounds" / f"{VALIDATION}.json", how.model_dump_json(indent=2) + "\n")
    campaign.write(f"rounds/{VALIDATION}.jsonl", plan.assignments)


def verdicts(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[str, Verdict]:
    """Returns what validators say of every unit that has something to be validated, in the order of the units.

    Args:
        campaign: The campaign.
        rounds: The rounds in which replies were graded.
    """
    things = validated_things(campaign, rounds)
    assignments, shown = _before(campaign)
    given = {(each.rater, each.unit_id): each for each in campaign.answers(VALIDATION).values()}
    by_unit: dict[str, list[Assignment]] = {}
    for each in assignments:
        by_unit.setdefault(each.unit_id, []).append(each)
    found = {}
    for unit, thing in things.items():
        asked = [each for each in by_unit.get(unit, []) if not each.withdrawn or (each.rater, unit) in given]
        current = [each.rater for each in asked if shown.get((each.rater, unit)) == thing]
        said = [given.get((rater, unit)) for rater in current]
        answers = {each.rater: str(each.value) for each in said if each is not None and each.value is not None}
        found[unit] = Verdict(unit, _state(answers, said, bool(asked)), answers)
    return found


def validation_summary(
    campaign: Campaign, *, rounds: Sequence[str] = (MAIN,), resamples: int = 10_000, seed: int = 0
) -> dict[str, Any]:
    """Sums the validation up.

    Args:
        campaign: The campaign.
        rounds: The rounds in which replies were graded.
        resamples: Of the HS, for the intervals of the agreement of validators.
        seed: Decides the draws.

    Returns:
        `units` (how many are in each state), `labels` (the same by label, empty for grades), `validators` (their
        answers to labels as they are now), and `agreement` (rows of `fcconan.scoring.agreement` over the units with two
        answers).
    """
    from fcconan.scoring import measure_agreement

    found = verdicts(campaign, rounds)
    things, units = validated_things(campaign, rounds), campaign.units()
    assignments, shown = _before(campaign)
    given = {(each.rater, each.unit_id): each for each in campaign.answers(VALIDATION).values()}
    labels = dict.fromkeys(str(thing[LABEL]) for thing in things.values() if LABEL in thing)
    names = list(dict.fromkeys(each.rater for each in assignments))
    return {
        "units": _states(found.values()),
        "labels": {
            label: _states(found[unit] for unit, thing in things.items() if thing.get(LABEL) == label)
            for label in sorted(labels)
        },
        "validators": [_of_validator(name, assignments, things, shown, given) for name in names],
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


def _of_validator(
    name: str,
    assignments: Iterable[Assignment],
    things: Mapping[str, Row],
    shown: Mapping[tuple[str, str], Row],
    given: Mapping[tuple[str, str], Answer],
) -> Row:
    counts = dict.fromkeys(("agreed", "disagreed", "skipped", "missing", "outdated"), 0)
    for each in assignments:
        key = (each.rater, each.unit_id)
        answer = given.get(key)
        if each.rater != name or (each.withdrawn and answer is None):
            continue
        if things.get(each.unit_id) != shown.get(key):
            counts["outdated"] += 1
        elif answer is None:
            counts["missing"] += 1
        else:
            counts[{AGREE: "agreed", DISAGREE: "disagreed"}.get(str(answer.value), "skipped")] += 1
    return {"rater": name} | counts


def _states(found: Iterable[Verdict]) -> dict[str, int]:
    counts = Counter(each.state for each in found)
    return {state: counts[state] for state in STATES}


def _state(answers: Mapping[str, str], said: Sequence[Answer | None], asked: bool) -> str:
    if answers:
        values = set(answers.values())
        return "split" if len(values) > 1 else "agreed" if values == {AGREE} else "disagreed"
    if said:
        return "missing" if None in said else "skipped"
    return "outdated" if asked else "not_assigned"


def _before(campaign: Campaign) -> tuple[list[Assignment], dict[tuple[str, str], Row]]:
    """The round as it is, and what each validator is shown; a round that does not say so shows what holds now."""
    if VALIDATION not in campaign.rounds():
        return [], {}
    assignments = campaign.assignments(VALIDATION)
    path = campaign.folder / SHOWN
    if not path.is_file():
        things = validated_things(campaign)
        return assignments, {(each.rater, each.unit_id): things.get(each.unit_id, {}) for each in assignments}
    keys = ("rater", "unit_id")
    rows = list(read_rows(path))
    return assignments, {
        (row["rater"], row["unit_id"]): {name: value for name, value in row.items() if name not in keys} for row in rows
    }


def _barred(campaign: Campaign) -> set[tuple[str, str]]:
    """Who had a part in which unit: everybody who was assigned it, answered it or decided it."""
    found = {(each.by, each.unit_id) for each in campaign.decisions().values()}
    for name in campaign.rounds():
        if name != VALIDATION and "." not in name:  # what rounds show lies beside them
            found |= {(each.rater, each.unit_id) for each in campaign.assignments(name)}
    return found | {(each.rater, each.unit_id) for each in campaign.history() if each.round != VALIDATION}


def _check(
    campaign: Campaign,
    things: Mapping[str, Row],
    validators: Sequence[str],
    sample: int | None,
    twice: float,
    rounds: Sequence[str],
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
    if not 0 <= twice <= 1:
        raise InputError(f"--overlap is 2={twice:g}, expected a share from 0 to 1")
    if twice and len(validators) < 2:
        raise InputError(
            f"--overlap is 2={twice:g}, but there is one validator: add another one, or give --overlap 2=0"
        )
