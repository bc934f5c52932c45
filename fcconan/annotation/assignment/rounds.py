"""Rounds: units for raters, samples that all rate, and reviews of what is far off.

    rounds/NAME.jsonl         who judges what
    rounds/NAME.json          how it was made, and the version of the algorithm; making it again in the same way changes
                              nothing
    rounds/NAME.shown.jsonl   of a review: what each rater is shown beside the texts

CSEval's rounds are `shared-1` (all rate a sample), `review-1` (who alone is more than 2 points off sees what the others
said; where grades are that far apart and no rater is alone with a grade, all do), `shared-2` (another sample) and
`main` (each the rest). See its paper, A.1.
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
    Key,
    Row,
    Unit,
    as_lines,
)
from fcconan.building import grouped
from fcconan.data import parse_json, write_whole
from fcconan.errors import InputError

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
    assignments, shown = (_first if plan.review is None else _review)(campaign, name, plan)
    write_round(campaign, name, assignments, asdict(plan), shown)
    return assignments, True


def done_in(campaign: Campaign, name: str) -> dict[Key, bool]:
    """Returns which assignments of a round are finished, and whether they were skipped altogether.

    A unit is finished when every question about it has an answer or was skipped; validators have one question.
    """
    questions = {LABEL} if name == VALIDATION else set(campaign.aspects)
    said = grouped((answer.key, answer) for answer in campaign.answers(name).values())
    return {
        key: all(answer.value is None for answer in answers)
        for key, answers in said.items()
        if questions <= {answer.aspect for answer in answers}
    }


def active_annotators(campaign: Campaign) -> list[str]:
    """Returns the active annotators.

    Raises:
        InputError: There are none.
    """
    raters = campaign.active("annotator")
    if not raters:
        raise InputError(f"{campaign.folder} has no active annotator: let one join with `fcconan annotate raters`")
    return raters


def others_rounds(campaign: Campaign, name: str) -> set[Key]:
    """Returns which units raters had in other rounds, whatever became of them."""
    return {each.key for other in campaign.rounds() if other != name for each in campaign.assignments(other)}


def _first(campaign: Campaign, name: str, plan: Plan) -> tuple[list[Assignment], None]:
    """A round that is no review, and what raters see besides the texts: nothing."""
    raters = active_annotators(campaign)
    anchors = campaign.units_of("anchor")
    if plan.anchors_per_session and not anchors:
        raise InputError(f"{campaign.folder} has no gold questions: leave --gold-per-session out")
    forbidden = others_rounds(campaign, name)
    seed = derived_seed(campaign.settings.seed, f"assign {name}", plan.seed)
    assignments = assign_units(
        _chosen(campaign, name, plan, raters, forbidden, seed),
        raters,
        overlap={len(raters): 1.0} if plan.all_raters else {2: plan.twice, 3: plan.thrice},
        forbidden=forbidden,
        seed=seed,
        blocks=plan.blocks,
        scatter=plan.scatter,
        anchors=anchors,
        sittings=Sittings(plan.session_size, plan.anchors_per_session),
    )
    return assignments, None


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
            raise InputError(f"--sample-size is {plan.sample}, expected 1 to {len(units)}: so many units can be judged")
        drawn = np.random.default_rng([seed, plan.sample]).choice(len(units), size=plan.sample, replace=False)
        units = [units[each] for each in sorted(drawn.tolist())]
    if not units:
        raise InputError(f"no unit is left for the round {name}: leave out fewer rounds")
    return units


def far_off(values: Mapping[str, Any], more_than: float | None) -> list[str]:
    """Returns the raters who said something else than the others.

    Args:
        values: Grades or labels by rater, of one aspect of a unit.
        more_than: A grade is far off if it differs by more than this from the median of all raters' grades; None for
            labels, of which one is far off if all others, at least two, agree on another one. The median is the one
            of all raters, as of three raters that of the others is their mean: beside 5 and 2, a 1 would be off by
            2.5. So one of three is far off if both others are further away. Of two raters, both are far off.
    """
    found = []
    for rater, value in values.items():
        others = [each for other, each in values.items() if other != rater]
        if more_than is None:
            off = len(others) > 1 and len(set(others)) == 1 and others[0] != value
        else:
            off = bool(others) and abs(value - median(others if len(others) == 1 else values.values())) > more_than
        if off:
            found.append(rater)
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
    more_than = None if campaign.task.labels else 2.0 if plan.more_than is None else plan.more_than
    cases: list[tuple[Key, str]] = []
    kinds = Counter[bool]()
    answers = [each for each in campaign.answers(plan.review).values() if each.value is not None]
    for (unit_id, aspect), said in grouped(((each.unit_id, each.aspect), each) for each in answers).items():
        values: dict[str, Any] = {each.rater: each.value for each in said}
        given = set(values.values())
        if len(given) < 2 or (more_than is not None and max(given) - min(given) <= more_than):
            continue
        single = far_off(values, more_than)
        kinds[len(single) == 1] += 1
        cases += [((rater, unit_id), aspect) for rater in (single if len(single) == 1 else values)]
    return Cases(grouped(cases), alone=kinds[True], apart=kinds[False])


def _review(campaign: Campaign, name: str, plan: Plan) -> tuple[list[Assignment], list[Row]]:
    """A review, and what raters see besides the texts."""
    reviewed = str(plan.review)
    before = {each.key: each for each in campaign.assignments(reviewed)}
    said = grouped((each.unit_id, each) for each in campaign.answers(reviewed).values())
    if not said:
        raise InputError(f"the round {reviewed} has no answers yet: import them first")
    cases = review_cases(campaign, plan).reviewers
    judged = {
        rater.rater: [unit_id for other, unit_id in cases if other == rater.rater]
        for rater in campaign.raters().values()
        if rater.state == "active"
    }
    seed = derived_seed(campaign.settings.seed, f"assign {name}", plan.seed)
    ordered = in_order(judged, seed=seed, sittings=Sittings(plan.session_size))
    # Shown as it was before: a verdict would else be compared with one on the other order.
    assignments = [replace(each, swapped=before[each.key].swapped) for rows in ordered.values() for each in rows]
    return assignments, [
        {"rater": each.rater, "unit_id": each.unit_id} | _shown(each.rater, said[each.unit_id], cases[each.key])
        for each in assignments
    ]


def _shown(rater: str, said: Sequence[Answer], aspects: Sequence[str]) -> Row:
    """What a rater sees of a unit: their own answers and the others', without who gave them."""
    given: dict[str, list[tuple[str, Any]]] = grouped((each.aspect, (each.rater, each.value)) for each in said)
    own = {aspect: value for aspect, values in given.items() for who, value in values if who == rater}
    others = {
        aspect: sorted(value for who, value in values if who != rater and value is not None)
        for aspect, values in given.items()
    }
    if list(given) == [LABEL]:
        # One line each where they differ: a verdict is turned to the order that is shown, a list is not.
        several = len(set(others[LABEL])) > 1
        lines = [(f"other {n} said" if several else "the others said", each) for n, each in enumerate(others[LABEL], 1)]
        return {"you said": own[LABEL]} | dict(lines)
    return {"you said": own, "the others said": others, "far apart": list(aspects)}


def write_round(
    campaign: Campaign,
    name: str,
    assignments: Iterable[Assignment],
    how: Mapping[str, Any],
    shown: Iterable[Row] | None = None,
) -> None:
    """Writes a round; call it within `campaign.changing`.

    Args:
        campaign: The campaign.
        name: The round.
        assignments: Who judges what.
        how: How it was made; the version of the algorithm is added.
        shown: What raters see besides the texts, with `rater` and `unit_id`; None if that is nothing.

    Raises:
        OSError: It cannot be written.
    """
    folder = campaign.folder / "rounds"
    folder.mkdir(exist_ok=True)
    if shown is not None:
        write_whole(folder / f"{name}.shown.jsonl", as_lines(shown))
    write_whole(folder / f"{name}.json", json.dumps({**how, "algorithm": ALGORITHM}, indent=2) + "\n")
    # The round comes last: without it, the other files are written again.
    campaign.write(f"rounds/{name}.jsonl", assignments)


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
    other_steps = {VALIDATION: "`fcconan annotate validate`", QUALIFICATION: "the quiz"}
    maker = "`fcconan annotate queue`" if name.startswith("queue-") else other_steps.get(name)
    if maker is not None:
        raise InputError(f"the round {name} is made by {maker}: give another --round")
    several = plan.twice or plan.thrice
    if plan.all_raters and several:
        raise InputError("--all-raters is an overlap already: leave --overlap out")
    if plan.scatter and plan.blocks == "units":
        raise InputError("--overlap-unit is about blocks: give --blocks cn or hs, or leave it out")
    if plan.review is None and plan.more_than is not None:
        raise InputError("--max-distance says what is reviewed: give --review ROUND, or leave it out")
    if plan.review is not None:
        if several or plan.all_raters or plan.sample is not None or plan.without or plan.blocks != "units":
            raise InputError("a review takes no --blocks, overlaps, --sample-size and --exclude-round: leave them out")
        if campaign.task.labels and plan.more_than is not None:
            raise InputError(f"{campaign.task.name} has labels, which have no distance: leave --max-distance out")
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
