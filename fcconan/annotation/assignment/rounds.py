"""Rounds: units for raters, samples that all rate, and reviews of what is far off.

    rounds/NAME.jsonl         who judges what
    rounds/NAME.json          how it was made, and the version of the algorithm; making it again in the same way changes
                              nothing
    rounds/NAME.shown.jsonl   of a review: what each rater is shown beside the texts

CSEval's rounds are `shared-1` (all rate a sample), `review-1` (who alone is more than 2 points off sees what the others
said; where grades are that far apart and nobody stands alone, all do), `shared-2` (another sample) and `main` (each the
rest). See its paper, A.1.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from fcconan.annotation.assignment.allocation import ALGORITHM
from fcconan.annotation.assignment.assignments import Blocks, assign_units, derived_seed, permissions
from fcconan.annotation.assignment.sequence import Sittings, in_order
from fcconan.annotation.campaigns import (
    LABEL,
    QUALIFICATION,
    VALIDATION,
    Answer,
    Assignment,
    Campaign,
    Unit,
    as_lines,
)
from fcconan.data import parse_json, write_whole
from fcconan.errors import InputError

Key = tuple[str, str]  # rater and unit
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Plan:
    """How a round is made.

    Attributes:
        blocks: What goes to the same raters: the units of a `cn`, of an `hs`, or single `units`.
        twice: The share that two raters judge.
        thrice: The share that three raters judge.
        scatter: Whether the overlap is single units also where there are blocks.
        all_raters: Whether all raters judge everything.
        sample: How many units are drawn; None for all.
        without: Rounds whose units are left out.
        review: The round that is reviewed.
        more_than: How far apart grades have to be to be reviewed; None for 2.
        session_size: Units in a session at most, anchors among them; None for one session.
        anchors_per_session: Anchors in every session.
        seed: Of all draws; None for one that follows from the campaign's and the name of the round.
    """

    blocks: Blocks = "units"
    twice: float = 0.0
    thrice: float = 0.0
    scatter: bool = False
    all_raters: bool = False
    sample: int | None = None
    without: tuple[str, ...] = ()
    review: str | None = None
    more_than: float | None = None
    session_size: int | None = None
    anchors_per_session: int = 0
    seed: int | None = None

    @property
    def sittings(self) -> Sittings:
        """How work is cut into sessions."""
        return Sittings(self.session_size, self.anchors_per_session)


def make_round(campaign: Campaign, name: str, plan: Plan) -> tuple[list[Assignment], bool]:
    """Makes a round and writes it; call it within `campaign.changing`.

    No rater gets a unit or an anchor that any other round gave them, except for a review.

    Args:
        campaign: The campaign.
        name: Of the round.
        plan: How it is made.

    Returns:
        Who judges what, and whether that is new: a round made in the same way before is returned as it is.

    Raises:
        InputError: The round is there and was made in another way, or it cannot be made so.
        OSError: It cannot be written.
    """
    _check(campaign, name, plan)
    if name in campaign.rounds():
        todo = "give another --round, or --reassign to give open units of raters who left to others"
        check_made_so(campaign, name, made_how(campaign, name), json.loads(json.dumps(asdict(plan))), todo)
        return campaign.assignments(name), False
    (campaign.folder / "rounds").mkdir(exist_ok=True)
    if plan.review is not None:
        assignments, shown = _review(campaign, name, plan)
        write_whole(campaign.folder / "rounds" / f"{name}.shown.jsonl", as_lines(shown))
    else:
        assignments = _first(campaign, name, plan)
    # The round comes last: without it, what stands beside it is made again.
    write_how(campaign, name, asdict(plan))
    campaign.write(f"rounds/{name}.jsonl", assignments)
    return assignments, True


def done_in(campaign: Campaign, name: str) -> dict[Key, bool]:
    """Returns which assignments of a round are finished, and whether they were skipped altogether.

    A unit is finished when every question about it has an answer or was skipped; validators have one question.
    """
    questions = {LABEL} if name == VALIDATION else set(campaign.aspects)
    said: dict[Key, dict[str, Any]] = {}
    for answer in campaign.answers(name).values():
        said.setdefault((answer.rater, answer.unit_id), {})[answer.aspect] = answer.value
    return {
        key: all(value is None for value in values.values())
        for key, values in said.items()
        if questions <= values.keys()
    }


def active_raters(campaign: Campaign, role: str) -> list[str]:
    """Returns the active raters of a role, in the order in which they joined."""
    return [each.rater for each in campaign.raters().values() if (each.role, each.state) == (role, "active")]


def check_annotators(campaign: Campaign, raters: Sequence[str]) -> None:
    """Checks that there are active annotators.

    Raises:
        InputError: There are none.
    """
    if not raters:
        raise InputError(
            f"{campaign.folder} has no active annotator: let some join with `fcconan annotate raters {campaign.folder} "
            "--join PSEUDONYM`"
        )


def others_rounds(campaign: Campaign, name: str) -> set[Key]:
    """Returns which units raters had in other rounds, whatever became of them."""
    return {
        (each.rater, each.unit_id)
        for other in campaign.rounds()
        if other != name
        for each in campaign.assignments(other)
    }


def _first(campaign: Campaign, name: str, plan: Plan) -> list[Assignment]:
    """A round that is no review."""
    raters = active_raters(campaign, "annotator")
    check_annotators(campaign, raters)
    anchors = [unit for unit in campaign.units().values() if unit.role == "anchor"]
    if plan.anchors_per_session and not anchors:
        raise InputError(
            f"--gold-per-session is {plan.anchors_per_session}, but {campaign.folder} has no gold questions, which "
            "`fcconan annotate new --gold FILE` puts into a campaign: leave it out"
        )
    forbidden = others_rounds(campaign, name)
    seed = derived_seed(campaign.settings.seed, f"assign {name}", plan.seed)
    return assign_units(
        _chosen(campaign, name, plan, raters, forbidden, seed),
        raters,
        overlap={len(raters): 1.0} if plan.all_raters else {2: plan.twice, 3: plan.thrice},
        forbidden=forbidden,
        seed=seed,
        blocks=plan.blocks,
        scatter=plan.scatter,
        anchors=anchors,
        sittings=plan.sittings,
    )


def _chosen(
    campaign: Campaign, name: str, plan: Plan, raters: Sequence[str], forbidden: Collection[Key], seed: int
) -> list[Unit]:
    """The units of a round: all, or a sample of those that its raters may judge."""
    left_out = {each.unit_id for other in plan.without for each in campaign.assignments(other)}
    units = [unit for unit in campaign.items() if unit.unit_id not in left_out]
    if plan.all_raters or plan.sample is not None:
        permitted = permissions((unit.unit_id for unit in units), raters, forbidden)
        needed = len(raters) if plan.all_raters else 1
        units = [unit for unit in units if permitted[unit.unit_id].sum() >= needed]
    if plan.sample is not None:
        if not 0 < plan.sample <= len(units):
            raise InputError(
                f"--sample-size is {plan.sample}, but there are {len(units)} units that "
                f"{'all' if plan.all_raters else 'some'} of the {len(raters)} active raters have not had: give a "
                "number from 1 to that"
            )
        drawn = np.random.default_rng([seed, plan.sample]).choice(len(units), size=plan.sample, replace=False)
        units = [units[each] for each in sorted(drawn.tolist())]
    if not units:
        raise InputError(f"no unit is left for the round {name}: leave out fewer rounds")
    return units


def far_off(answers: Iterable[Answer], more_than: float | None) -> dict[Key, list[str]]:
    """Finds who said something else than the others.

    Args:
        answers: Of one round.
        more_than: A grade is far off if it differs by more than this from the median of all raters' grades; None for
            labels, of which one is far off if all others, at least two, agree on another one. The median is the one
            of all raters, as of three raters that of the others is their mean: beside 5 and 2, a 1 would be off by
            2.5. So one of three is far off if both others are further away. Of two raters, both are far off.

    Returns:
        Rater and unit -> aspects, in the order of the answers.
    """
    found: dict[Key, list[str]] = {}
    for (unit_id, aspect), values in _values(answers).items():
        for rater, value in values.items():
            others = [each for other, each in values.items() if other != rater]
            if more_than is None:
                off = len(others) > 1 and len(set(others)) == 1 and others[0] != value
            else:
                off = bool(others) and abs(value - median(others if len(others) == 1 else values.values())) > more_than
            if off:
                found.setdefault((rater, unit_id), []).append(aspect)
    return found


def _values(answers: Iterable[Answer]) -> dict[tuple[str, str], dict[str, Any]]:
    """Unit and aspect -> rater -> value, without skipped ones."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for answer in answers:
        if answer.value is not None:
            found.setdefault((answer.unit_id, answer.aspect), {})[answer.rater] = answer.value
    return found


@dataclass(frozen=True)
class Cases:
    """What is reviewed.

    Attributes:
        reviewers: Rater and unit -> the aspects in question.
        alone: Answers of which one rater stands alone, who reviews it: how many aspects of units.
        apart: Aspects of units on which raters are apart and none or several stand alone, so that all review theirs.
    """

    reviewers: Mapping[Key, list[str]]
    alone: int
    apart: int


def review_cases(campaign: Campaign, plan: Plan) -> Cases:
    """Finds what a review of a round, as its answers are now, is about; what raters who left said counts, too.

    Args:
        campaign: The campaign.
        plan: Of the review.
    """
    answers = campaign.answers(plan.review).values()
    more_than = None if campaign.task.labels else 2.0 if plan.more_than is None else plan.more_than
    off = far_off(answers, more_than)
    found: dict[Key, list[str]] = {}
    kinds = Counter[bool]()
    for (unit_id, aspect), values in _values(answers).items():
        given = set(values.values())
        if len(given) < 2 or (more_than is not None and max(given) - min(given) <= more_than):
            continue
        single = [rater for rater in values if aspect in off.get((rater, unit_id), ())]
        kinds[len(single) == 1] += 1
        for rater in single if len(single) == 1 else values:
            found.setdefault((rater, unit_id), []).append(aspect)
    return Cases(found, alone=kinds[True], apart=kinds[False])


def _review(campaign: Campaign, name: str, plan: Plan) -> tuple[list[Assignment], list[dict[str, Any]]]:
    reviewed = str(plan.review)
    before = {(each.rater, each.unit_id): each for each in campaign.assignments(reviewed)}
    answers = campaign.answers(reviewed).values()
    active = {rater.rater for rater in campaign.raters().values() if rater.state == "active"}
    found = {key: aspects for key, aspects in review_cases(campaign, plan).reviewers.items() if key[0] in active}
    if not answers:
        raise InputError(f"the round {reviewed} has no answers yet: import them first")
    judged: dict[str, list[str]] = {}
    for rater in campaign.raters():
        if theirs := [unit_id for other, unit_id in found if other == rater]:
            judged[rater] = theirs
    seed = derived_seed(campaign.settings.seed, f"assign {name}", plan.seed)
    ordered = in_order(judged, seed=seed, sittings=Sittings(plan.session_size))
    # Shown as it was before: a verdict would else be compared with one on the other order.
    assignments = [
        replace(each, swapped=before[each.rater, each.unit_id].swapped) for rows in ordered.values() for each in rows
    ]
    said: dict[str, dict[str, dict[str, Any]]] = {}
    for answer in answers:
        said.setdefault(answer.unit_id, {}).setdefault(answer.aspect, {})[answer.rater] = answer.value
    shown = [
        {"rater": each.rater, "unit_id": each.unit_id}
        | _shown(each.rater, said[each.unit_id], found[each.rater, each.unit_id])
        for each in assignments
    ]
    return assignments, shown


def _shown(rater: str, said: Mapping[str, Mapping[str, Any]], aspects: Sequence[str]) -> dict[str, Any]:
    """What a rater sees of a unit: their own answers and the others', without who gave them."""
    own = {aspect: values[rater] for aspect, values in said.items() if rater in values}
    others = {
        aspect: sorted(value for other, value in values.items() if other != rater and value is not None)
        for aspect, values in said.items()
    }
    if list(said) == [LABEL]:
        # One line each where they differ: a verdict is turned to the order that is shown, a list is not.
        several = len(set(others[LABEL])) > 1
        lines = [(f"other {n} said" if several else "the others said", each) for n, each in enumerate(others[LABEL], 1)]
        return {"you said": own[LABEL]} | dict(lines)
    return {"you said": own, "the others said": others, "far apart": list(aspects)}


def write_how(campaign: Campaign, name: str, how: Mapping[str, Any]) -> None:
    """Writes how a round was made, with the version of the algorithm.

    Raises:
        OSError: It cannot be written.
    """
    content = json.dumps({**how, "algorithm": ALGORITHM}, indent=2) + "\n"
    write_whole(campaign.folder / "rounds" / f"{name}.json", content)


def made_how(campaign: Campaign, name: str) -> dict[str, Any]:
    """Returns the plan of a round as it was written, without the algorithm; empty if another step made it.

    Raises:
        InputError: It cannot be read.
    """
    path = campaign.folder / "rounds" / f"{name}.json"
    try:
        made = dict(parse_json(path.read_bytes())) if path.is_file() else {}
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): take the file from a backup") from error
    made.pop("algorithm", None)
    return made


def check_made_so(campaign: Campaign, name: str, made: Mapping[str, Any], asked: Mapping[str, Any], todo: str) -> None:
    """Checks that a round was made with these options.

    Args:
        campaign: The campaign.
        name: The round.
        made: How it was made; empty if another step made it.
        asked: Options by the names in `rounds/NAME.json`.
        todo: What to do if it was made with others.

    Raises:
        InputError: It was made with others.
    """
    other = [f"{key} {made.get(key)} (now {value})" for key, value in asked.items() if made.get(key) != value]
    if other:
        how = f"with {', '.join(other)}" if made else "by another step"
        raise InputError(f"{campaign.folder} has a round {name}, made {how}: {todo}")


def _check(campaign: Campaign, name: str, plan: Plan) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"--round is {name!r}: give small letters, digits and hyphens, such as main or shared-1")
    if name in (VALIDATION, QUALIFICATION):
        other = "`fcconan annotate validate`" if name == VALIDATION else "the quiz"
        raise InputError(f"the round {name} is made by {other}: give another --round")
    if name.startswith("queue-") and name not in campaign.rounds():
        raise InputError(f"the round {name} has a name that `fcconan annotate queue` gives: give another --round")
    several = plan.twice or plan.thrice
    if plan.all_raters and several:
        raise InputError("--all-raters is an overlap already: leave --overlap out")
    if plan.scatter and plan.blocks == "units":
        raise InputError("--overlap-unit is about blocks: give --blocks cn or hs, or leave it out")
    if plan.review is None and plan.more_than is not None:
        raise InputError("--max-distance says what is reviewed: give --review ROUND, or leave it out")
    if plan.review is not None:
        if several or plan.all_raters or plan.sample is not None or plan.without or plan.blocks != "units":
            raise InputError(
                "a review goes to whoever was far off: leave out --blocks, overlaps, --sample-size and --exclude-round"
            )
        if campaign.task.labels and plan.more_than is not None:
            raise InputError(
                f"the task {campaign.task.name} has labels, which are not more or less apart: leave --max-distance "
                "out, and whoever stands alone against the others reviews, or all where nobody does"
            )
    for other in (*plan.without, *([plan.review] if plan.review else [])):
        if other not in campaign.rounds() or other == name:
            known = ", ".join(each for each in campaign.rounds() if each != name) or "none"
            raise InputError(f"{campaign.folder} has no other round {other!r}, only {known}: name one of these")


def items_of(assignments: Iterable[Assignment], units: Mapping[str, Unit]) -> dict[str, list[str]]:
    """Returns what each rater of a round judges: rater -> units, without anchors and what was withdrawn."""
    found: dict[str, list[str]] = {}
    for each in assignments:
        theirs = found.setdefault(each.rater, [])
        if not each.withdrawn and units[each.unit_id].role != "anchor":
            theirs.append(each.unit_id)
    return found
