"""Who validates what: active validators who neither annotated nor decided a unit."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.annotation.assignment.allocation import Group, place
from fcconan.annotation.assignment.assignments import draw_numbers, permissions
from fcconan.annotation.assignment.rounds import check_made_so, made_how, others_rounds, write_round
from fcconan.annotation.assignment.sequence import Sittings, in_order, last_places
from fcconan.annotation.campaigns import MAIN, VALIDATION, Assignment, Campaign, Key, Row
from fcconan.annotation.validation import ShownAssignment, shown_assignments, validated_things
from fcconan.errors import InputError


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


def options_of(campaign: Campaign, given: Mapping[str, Any], *, again: bool = False) -> Options:
    """Returns how the round is to be made: as it is said now, and otherwise as it was made before.

    Args:
        campaign: The campaign.
        given: Fields of `Options`; None for what is not said.
        again: Whether the round may be continued in another way than it was made.

    Raises:
        InputError: The round was made in another way, and `again` is not given; or what is kept of it is damaged.
    """
    said = {name: value for name, value in given.items() if value is not None}
    made = _made(campaign)
    if VALIDATION in campaign.rounds() and not again:
        todo = "leave that out, or give --extend to extend the round in the new way"
        check_made_so(campaign, VALIDATION, made.model_dump(), said, todo)
    return made.model_copy(update=said)


def _made(campaign: Campaign) -> Options:
    """How the round was made; the usual way if there is none, or nothing says so."""
    if VALIDATION not in campaign.rounds():
        return Options()
    try:
        return Options.model_validate(made_how(campaign, VALIDATION))
    except ValidationError as error:
        where = campaign.folder / "rounds" / f"{VALIDATION}.json"
        raise InputError(f"{where} does not say how a round was made: take the file from a backup") from error


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
    things, validators = validated_things(campaign, rounds), campaign.active("validator")
    _check(campaign, things, validators, sample, rounds)
    # Ranks by each unit's own id draw the same units when others have joined them.
    drawn = set(sorted(things, key=lambda unit: sha256(f"{seed}:{unit}".encode()).digest())[:sample])
    before = shown_assignments(campaign, things)
    known = {each.unit for each in before}
    left = {each for each in before if each.is_open and each.rater not in validators}
    two = known.intersection(_made(campaign).two)
    two |= {unit for unit, n in Counter(each.unit for each in before if not each.assignment.withdrawn).items() if n > 1}
    having = Counter(each.unit for each in before if each.counts and each not in left)
    wanted = {unit: max(0, (2 if unit in two else 1) - having[unit]) for unit in things if unit in drawn | known}
    groups = _placed(campaign, before, wanted, validators, known, twice, seed)
    two |= {unit for unit, group in groups.items() if unit not in known and group.wanted > 1}
    lacking = Counter({unit: group.wanted - len(group.added) for unit, group in groups.items()})
    short = [unit for unit in things if lacking[unit] > 0]
    kept = _kept(before, left, lacking)
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


def _placed(
    campaign: Campaign,
    before: Sequence[ShownAssignment],
    wanted: Mapping[str, int],
    validators: Sequence[str],
    known: Collection[str],
    twice: float,
    seed: int,
) -> dict[str, Group]:
    """Places units with validators who had no part in them, as equally as that allows; some new units get two."""
    barred = _barred(campaign) | {(each.rater, each.unit) for each in before}
    permitted = permissions(wanted, validators, barred)
    groups = {unit: Group((unit,), permitted[unit], number) for unit, number in wanted.items()}
    new = [group for unit, group in groups.items() if unit not in known and group.permitted.any()]
    generator = np.random.default_rng(seed)
    draw_numbers(new, {2: twice}, len(validators), "units", generator.permutation(len(new)).tolist())
    load = np.array([sum(each.is_open and each.rater == name for each in before) for name in validators], np.int64)
    place([*groups.values()], load, np.zeros((len(validators), len(validators)), np.int64), generator)
    return groups


def _kept(
    before: Sequence[ShownAssignment], left: Collection[ShownAssignment], lacking: Mapping[str, int]
) -> list[Assignment]:
    """The assignments there were, some of them withdrawn; validators who left keep units that no other can take."""
    lacking = Counter(lacking)
    kept = []
    for each in reversed(before):
        withdrawn = each.assignment.withdrawn or not each.is_current
        if each in left:
            withdrawn = lacking[each.unit] <= 0
            lacking[each.unit] -= 1
        kept.append(replace(each.assignment, withdrawn=withdrawn))
    return kept[::-1]


def write_plan(campaign: Campaign, plan: Plan, options: Options = Options()) -> None:  # noqa: B008, it cannot be changed
    """Writes the round; call it within `campaign.changing`.

    Args:
        campaign: The campaign.
        plan: Who validates what.
        options: How it was made.

    Raises:
        OSError: It cannot be written.
    """
    how = options.model_copy(update={"two": plan.two}).model_dump()
    write_round(campaign, VALIDATION, plan.assignments, how, plan.shown)


def _barred(campaign: Campaign) -> set[Key]:
    """Who had a part in which unit: all who were assigned it, answered it or decided it."""
    decided = {(each.by, each.unit_id) for each in campaign.decisions().values()}
    answered = {each.key for each in campaign.history() if each.round != VALIDATION}
    return decided | answered | others_rounds(campaign, VALIDATION)


def _check(
    campaign: Campaign, things: Mapping[str, Row], validators: Sequence[str], sample: int | None, rounds: Sequence[str]
) -> None:
    if not things:
        todo = f"none of {len(campaign.decisions())} decisions is a label; run `fcconan annotate adjudicate`"
        if campaign.task.aspects:
            todo = f"import grades in all of {', '.join(campaign.aspects)}, or name other rounds with --round"
        raise InputError(f"{campaign.folder} has nothing to validate: {todo}")
    if not validators:
        raise InputError(f"{campaign.folder} has no active validator: let one join with `fcconan annotate raters`")
    if sample is not None and not 0 < sample <= len(things):
        raise InputError(f"--sample-size is {sample}, expected 1 to {len(things)}: so many units can be validated")
