"""Assignment of units to active validators who neither annotated nor decided them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.annotation.assigning import deal, numbers_of_raters, permissions
from fcconan.annotation.campaigns import MAIN, VALIDATION, Assignment, Campaign, Key, Row
from fcconan.annotation.ordering import in_order, last_places
from fcconan.annotation.rounds import assigned_elsewhere, check_same_options, recorded_options, write_round
from fcconan.annotation.validation import ShownAssignment, shown_assignments, validation_targets
from fcconan.errors import InputError


class Options(BaseModel):
    """The options of the validation round, as in `rounds/validation.json`.

    Attributes:
        sample: Number of units; None for all.
        twice: Share of new units with two validators.
        session_size: Maximum number of units in a session; None for one session.
        rounds: Rounds in which replies were graded, or patterns of their names.
        seed: Seed of the round; None for one derived from the campaign's seed.
        two: Units with two validators.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    sample: int | None = Field(default=None, ge=1)
    twice: float = Field(default=0.0, ge=0, le=1)
    session_size: int | None = Field(default=None, ge=1)
    rounds: list[str] = Field(default=[MAIN], min_length=1)
    seed: int | None = Field(default=None, ge=0)
    two: list[str] = []


@dataclass(frozen=True)
class RoundPlan:
    """The assignments of the validation round.

    Attributes:
        assignments: All assignments of the round.
        shown: Rows with `rater`, `unit_id` and the shown `label`, or `grades` by aspect.
        n_new: Number of new assignments.
        n_withdrawn: Number of newly withdrawn assignments.
        short: Units that lack a validator, as all active ones had a part in them.
        two: Units of the round with two validators.
    """

    assignments: list[Assignment]
    shown: list[Row]
    n_new: int
    n_withdrawn: int
    short: list[str]
    two: list[str]


def validation_options(campaign: Campaign, given: Mapping[str, Any], *, again: bool = False) -> Options:
    """Returns the options of the round: given ones, and recorded ones for the rest.

    Args:
        campaign: The campaign.
        given: Fields of `Options`; None for options that are not given.
        again: Whether given options may differ from the recorded ones.

    Raises:
        InputError: Options differ and `again` is false, or the recorded options are damaged.
    """
    said = {name: value for name, value in given.items() if value is not None}
    made = _made(campaign)
    if VALIDATION in campaign.rounds() and not again:
        todo = "leave these options out, or give --extend to extend the round with them"
        check_same_options(campaign, VALIDATION, made.model_dump(), said, todo)
    return made.model_copy(update=said)


def _made(campaign: Campaign) -> Options:
    """Returns the recorded options of the round; the defaults if it does not exist or has no record."""
    if VALIDATION not in campaign.rounds():
        return Options()
    try:
        return Options.model_validate(recorded_options(campaign, VALIDATION))
    except ValidationError as error:
        where = campaign.folder / "rounds" / f"{VALIDATION}.json"
        raise InputError(f"{where} has no valid options of a round: restore the file from a backup") from error


def plan_validation(
    campaign: Campaign,
    *,
    sample: int | None = None,
    twice: float = 0.0,
    session_size: int | None = None,
    rounds: Sequence[str] = (MAIN,),
    seed: int = 0,
) -> RoundPlan:
    """Assigns units to active validators who neither annotated nor decided them, with balanced loads.

    The sample depends only on the seed and the ids, so a later plan with more units retains the units drawn before.
    Valid
    assignments keep their positions. Assignments are withdrawn if their label or grades have changed, or if they are
    open,
    their validator is inactive, and another validator takes them over. A unit that lost validators gets its intended
    number
    of validators again.

    Args:
        campaign: A campaign with final labels or grades.
        sample: Number of units; None for all.
        twice: Share of units without a validator so far that get two.
        session_size: Maximum number of units in a session; None for one session.
        rounds: Rounds in which replies were graded.
        seed: Seed of the round.

    Returns:
        The assignments.

    Raises:
        InputError: There is nothing to validate, no validator is active, or the options need more units or validators.
    """
    things, validators = validation_targets(campaign, rounds), campaign.active("validator")
    _check(campaign, things, validators, sample, rounds)
    # Ranked by hashed id: the sample does not change when other units are added.
    drawn = set(sorted(things, key=lambda unit: sha256(f"{seed}:{unit}".encode()).digest())[:sample])
    before = shown_assignments(campaign, things)
    known = {each.unit for each in before}
    left = {each for each in before if each.is_open and each.rater not in validators}
    two = known.intersection(_made(campaign).two)
    two |= {unit for unit, n in Counter(each.unit for each in before if not each.assignment.withdrawn).items() if n > 1}
    having = Counter(each.unit for each in before if each.counts and each not in left)
    wanted = {unit: max(0, (2 if unit in two else 1) - having[unit]) for unit in things if unit in drawn | known}
    permitted = permissions(wanted, validators, _barred(campaign) | {(each.rater, each.unit) for each in before})
    generator = np.random.default_rng(seed)
    new = {unit: free for unit, free in permitted.items() if unit not in known and free}
    wanted |= numbers_of_raters(new, {2: twice}, generator)
    dealt = deal(wanted, permitted, generator, Counter(each.rater for each in before if each.is_open))
    two |= {unit for unit in new if wanted[unit] > 1}
    lacking = Counter({unit: number - len(dealt[unit]) for unit, number in wanted.items()})
    short = [unit for unit in things if lacking[unit] > 0]
    kept = _kept(before, left, lacking)
    judged = {name: [unit for unit, chosen in dealt.items() if name in chosen] for name in validators}
    ordered = in_order(
        judged,
        seed=seed,
        session_size=session_size,
        swap=campaign.task.unit == "comparison",
        ends=last_places(kept),
    )
    added = [each for theirs in ordered.values() for each in theirs]
    shown = [(each.rater, each.unit, each.shown) for each in before if each.shown]
    shown += [(each.rater, each.unit_id, things[each.unit_id]) for each in added]
    names = dict.fromkeys([*(each.rater for each in kept), *validators])
    return RoundPlan(
        [each for name in names for each in (*kept, *added) if each.rater == name],
        [{"rater": rater, "unit_id": unit} | thing for rater, unit, thing in shown],
        n_new=len(added),
        n_withdrawn=sum(now != each.assignment for now, each in zip(kept, before, strict=True)),
        short=short,
        two=[unit for unit in campaign.units() if unit in two],
    )


def _kept(
    before: Sequence[ShownAssignment], left: Collection[ShownAssignment], lacking: Mapping[str, int]
) -> list[Assignment]:
    """Returns the earlier assignments, some of them withdrawn; inactive validators keep units that no other can
    take.
    """
    lacking = Counter(lacking)
    kept = []
    for each in reversed(before):
        withdrawn = each.assignment.withdrawn or not each.is_current
        if each in left:
            withdrawn = lacking[each.unit] <= 0
            lacking[each.unit] -= 1
        kept.append(replace(each.assignment, withdrawn=withdrawn))
    return kept[::-1]


def write_plan(campaign: Campaign, plan: RoundPlan, options: Options = Options()) -> None:  # noqa: B008, immutable
    """Writes the round; call it within `campaign.changing`.

    Args:
        campaign: The campaign.
        plan: Assignments of the round.
        options: Options of the round.

    Raises:
        OSError: The round cannot be written.
    """
    how = options.model_copy(update={"two": plan.two}).model_dump()
    write_round(campaign, VALIDATION, plan.assignments, how, plan.shown)


def _barred(campaign: Campaign) -> set[Key]:
    """Returns raters and units that must not be assigned: units that the rater was assigned, answered or decided."""
    decided = {(each.by, each.unit_id) for each in campaign.decisions().values()}
    answered = {each.key for each in campaign.history() if each.round != VALIDATION}
    return decided | answered | assigned_elsewhere(campaign, VALIDATION)


def _check(
    campaign: Campaign, things: Mapping[str, Row], validators: Sequence[str], sample: int | None, rounds: Sequence[str]
) -> None:
    if not things:
        todo = f"none of {len(campaign.decisions())} decisions is a label; run `fcconan annotate adjudicate`"
        if campaign.task.aspects:
            todo = f"import grades in all of {', '.join(campaign.aspects)}, or choose other rounds with --round"
        raise InputError(f"{campaign.folder} has nothing to validate: {todo}")
    if not validators:
        raise InputError(f"{campaign.folder} has no active validator: add a row to raters.csv")
    if sample is not None and not 0 < sample <= len(things):
        raise InputError(f"--sample-size is {sample}, expected 1 to {len(things)}, the number of units to validate")
