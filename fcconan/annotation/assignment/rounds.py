"""Rounds: assignments of units, samples that all raters judge, and reviews of outliers.

    rounds/NAME.jsonl         assignments
    rounds/NAME.json          options of the round, and the version of the algorithm; a repetition with the same options
                              does not change anything
    rounds/NAME.shown.jsonl   reviews: further information that raters see

CSEval's rounds (appendix A.1 of the paper) are:

- `shared-1`: all raters judge a sample.
- `review-1`: a rater who is the only outlier, by more than 2 points, judges again and sees the other grades. If grades
  are that far apart without a single outlier, all raters of the unit judge again.
- `shared-2`: all raters judge another sample.
- `main`: each of the remaining units has one rater.
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
from fcconan.annotation.assignment.sequence import Sessions, in_order
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
from fcconan.building import group_values
from fcconan.data import parse_json, write_whole
from fcconan.errors import InputError

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class RoundPlan:
    """The options of a round.

    Attributes:
        blocks: Units that go to the same raters: those of a `cn`, of an `hs`, or single `units`.
        twice: Share of units with two raters.
        thrice: Share of units with three raters.
        scatter: Whether the overlap consists of single units of all blocks.
        all_raters: Whether all raters judge all units.
        sample: Number of units in a sample; None for all units.
        without: Rounds whose units are left out.
        review: Round to review.
        more_than: Distance above which grades are reviewed; None for 2.
        session_size: Maximum number of units in a session, gold questions included; None for one session.
        anchors_per_session: Number of gold questions in a session.
        seed: Seed of the round; None for one derived from the campaign's seed and the name of the round.
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


def make_round(campaign: Campaign, name: str, plan: RoundPlan) -> tuple[list[Assignment], bool]:
    """Makes a round and writes it; call it within `campaign.changing`.

    No rater gets a unit or gold question from another round, except in a review.

    Args:
        campaign: The campaign.
        name: Name of the round.
        plan: Options of the round.

    Returns:
        Assignments, and whether they are new: a round that was made with the same options is returned unchanged.

    Raises:
        InputError: The round exists with other options, or cannot be made with these.
        OSError: The round cannot be written.
    """
    _check(campaign, name, plan)
    if name in campaign.rounds():
        todo = "give another --round, or --reassign to give open units of raters who left to others"
        check_same_options(campaign, name, recorded_options(campaign, name), json.loads(json.dumps(asdict(plan))), todo)
        return campaign.assignments(name), False
    assignments, shown = (_first if plan.review is None else _review)(campaign, name, plan)
    write_round(campaign, name, assignments, asdict(plan), shown)
    return assignments, True


def completed_assignments(campaign: Campaign, name: str) -> dict[Key, bool]:
    """Returns the completed assignments of a round, and whether each was skipped.

    A unit is complete if every question about it has an answer or was skipped. Validators have one question, so one
    answer completes a unit.
    """
    questions = set() if name == VALIDATION else set(campaign.aspects)
    said = group_values((answer.key, answer) for answer in campaign.answers(name).values())
    return {
        key: all(answer.value is None for answer in answers)
        for key, answers in said.items()
        if questions <= {answer.aspect for answer in answers}
    }


def active_annotators(campaign: Campaign) -> list[str]:
    """Returns the active annotators.

    Raises:
        InputError: No annotator is active.
    """
    raters = campaign.active("annotator")
    if not raters:
        raise InputError(f"{campaign.folder} has no active annotator: add one with `fcconan annotate raters`")
    return raters


def assigned_elsewhere(campaign: Campaign, name: str) -> set[Key]:
    """Returns the raters and units of all other rounds, withdrawn assignments included."""
    return {each.key for other in campaign.rounds() if other != name for each in campaign.assignments(other)}


def _first(campaign: Campaign, name: str, plan: RoundPlan) -> tuple[list[Assignment], None]:
    """Returns the assignments of a round that is not a review, and None, as no further information is shown."""
    raters = active_annotators(campaign)
    anchors = campaign.units_of("anchor")
    if plan.anchors_per_session and not anchors:
        raise InputError(f"{campaign.folder} has no gold questions: leave --gold-per-session out")
    forbidden = assigned_elsewhere(campaign, name)
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
        sessions=Sessions(plan.session_size, plan.anchors_per_session),
    )
    return assignments, None


def _chosen(
    campaign: Campaign, name: str, plan: RoundPlan, raters: Sequence[str], forbidden: Collection[Key], seed: int
) -> list[Unit]:
    """Returns the units of a round: all, or a sample of those that its raters may judge."""
    left_out = {each.unit_id for other in plan.without for each in campaign.assignments(other)}
    units = [unit for unit in campaign.items() if unit.unit_id not in left_out]
    if plan.all_raters or plan.sample is not None:
        permitted = permissions((unit.unit_id for unit in units), raters, forbidden)
        needed = len(raters) if plan.all_raters else 1
        units = [unit for unit in units if permitted[unit.unit_id].sum() >= needed]
    if plan.sample is not None:
        if not 0 < plan.sample <= len(units):
            raise InputError(
                f"--sample-size is {plan.sample}, expected 1 to {len(units)}, the number of available units"
            )
        drawn = np.random.default_rng([seed, plan.sample]).choice(len(units), size=plan.sample, replace=False)
        units = [units[each] for each in sorted(drawn.tolist())]
    if not units:
        raise InputError(f"the round {name} has no units: exclude fewer rounds")
    return units


def find_outliers(values: Mapping[str, Any], more_than: float | None) -> list[str]:
    """Returns the raters whose value differs from the others'.

    With two grades, the reference is the other grade. With three or more, it is the median of all grades. The median of
    the
    other grades would be their mean for three raters: with 5 and 2, the grade 1 would deviate by 2.5. With the median
    of
    all, one of three raters is an outlier if both other grades are too far away. With two raters, both are outliers.

    Args:
        values: Grades or labels by rater, of one aspect of a unit.
        more_than: Distance from the reference above which a grade is an outlier; None for labels. A label is an outlier
            if all others, at least two, agree on another label.
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
    """The units of a review.

    Attributes:
        reviewers: Rater and unit -> aspects to review.
        alone: Number of aspects of units with a single outlier, reviewed by that rater.
        apart: Number of aspects of units with distant grades and no single outlier; all raters review them.
    """

    reviewers: Mapping[Key, list[str]]
    alone: int
    apart: int


def review_cases(campaign: Campaign, plan: RoundPlan) -> Cases:
    """Finds the units to review, from the current answers; answers of raters who left are included.

    Args:
        campaign: The campaign.
        plan: Options of the review.
    """
    more_than = None if campaign.task.labels else 2.0 if plan.more_than is None else plan.more_than
    cases: list[tuple[Key, str]] = []
    kinds = Counter[bool]()
    answers = [each for each in campaign.answers(plan.review).values() if each.value is not None]
    for (unit_id, aspect), said in group_values(((each.unit_id, each.aspect), each) for each in answers).items():
        values: dict[str, Any] = {each.rater: each.value for each in said}
        given = set(values.values())
        if len(given) < 2 or (more_than is not None and max(given) - min(given) <= more_than):
            continue
        single = find_outliers(values, more_than)
        kinds[len(single) == 1] += 1
        cases += [((rater, unit_id), aspect) for rater in (single if len(single) == 1 else values)]
    return Cases(group_values(cases), alone=kinds[True], apart=kinds[False])


def _review(campaign: Campaign, name: str, plan: RoundPlan) -> tuple[list[Assignment], list[Row]]:
    """Returns the assignments of a review, and the further information that raters see."""
    reviewed = str(plan.review)
    before = {each.key: each for each in campaign.assignments(reviewed)}
    said = group_values((each.unit_id, each) for each in campaign.answers(reviewed).values())
    if not said:
        raise InputError(f"the round {reviewed} has no answers yet: import them first")
    cases = review_cases(campaign, plan).reviewers
    judged = {
        rater.rater: [unit_id for other, unit_id in cases if other == rater.rater]
        for rater in campaign.raters().values()
        if rater.state == "active"
    }
    seed = derived_seed(campaign.settings.seed, f"assign {name}", plan.seed)
    ordered = in_order(judged, seed=seed, sessions=Sessions(plan.session_size))
    # Shown in the order of the reviewed round, to which the rater's own verdict refers.
    assignments = [replace(each, swapped=before[each.key].swapped) for rows in ordered.values() for each in rows]
    return assignments, [
        {"rater": each.rater, "unit_id": each.unit_id} | _shown(each.rater, said[each.unit_id], cases[each.key])
        for each in assignments
    ]


def _shown(rater: str, said: Sequence[Answer], aspects: Sequence[str]) -> Row:
    """Returns the information for a rater about a unit: the rater's own answers, and other answers without their
    raters.
    """
    given: dict[str, list[tuple[str, Any]]] = group_values((each.aspect, (each.rater, each.value)) for each in said)
    own = {aspect: value for aspect, values in given.items() for who, value in values if who == rater}
    others = {
        aspect: sorted(value for who, value in values if who != rater and value is not None)
        for aspect, values in given.items()
    }
    if list(given) == [LABEL]:
        # One line per label if they differ: verdicts are converted to the shown order, lists are not.
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
        name: Name of the round.
        assignments: Assignments of the round.
        how: Options of the round; the version of the algorithm is added.
        shown: Further information for raters, with `rater` and `unit_id`; None if there is none.

    Raises:
        OSError: The round cannot be written.
    """
    folder = campaign.folder / "rounds"
    folder.mkdir(exist_ok=True)
    if shown is not None:
        write_whole(folder / f"{name}.shown.jsonl", as_lines(shown))
    write_whole(folder / f"{name}.json", json.dumps({**how, "algorithm": ALGORITHM}, indent=2) + "\n")
    # The round is written last: without it, the other files are written again.
    campaign.write(f"rounds/{name}.jsonl", assignments)


def recorded_options(campaign: Campaign, name: str) -> dict[str, Any]:
    """Returns the recorded options of a round, without the version of the algorithm; empty if another step made it.

    Raises:
        InputError: The file cannot be read.
    """
    path = campaign.folder / "rounds" / f"{name}.json"
    try:
        made = dict(parse_json(path.read_bytes())) if path.is_file() else {}
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): restore the file from a backup") from error
    made.pop("algorithm", None)
    return made


def check_same_options(
    campaign: Campaign, name: str, made: Mapping[str, Any], asked: Mapping[str, Any], todo: str
) -> None:
    """Checks that a round was made with given options.

    Args:
        campaign: The campaign.
        name: Name of the round.
        made: Recorded options; empty if another step made the round.
        asked: Requested options, by their names in `rounds/NAME.json`.
        todo: Advice if they differ.

    Raises:
        InputError: The options differ.
    """
    other = [f"{key} {made.get(key)} (now {value})" for key, value in asked.items() if made.get(key) != value]
    if other:
        how = f"with {', '.join(other)}" if made else "by another step"
        raise InputError(f"{campaign.folder} has a round {name}, made {how}: {todo}")


def _check(campaign: Campaign, name: str, plan: RoundPlan) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(f"--round is {name!r}: give small letters, digits and hyphens, such as main or shared-1")
    other_steps = {VALIDATION: "`fcconan annotate validate`", QUALIFICATION: "the qualification test"}
    maker = "`fcconan annotate queue`" if name.startswith("queue-") else other_steps.get(name)
    if maker is not None:
        raise InputError(f"the round {name} is made by {maker}: give another --round")
    several = plan.twice or plan.thrice
    if plan.all_raters and several:
        raise InputError("--all-raters and --overlap exclude each other: leave one out")
    if plan.scatter and plan.blocks == "units":
        raise InputError("--overlap-unit needs blocks: give --blocks cn or hs, or leave it out")
    if plan.review is None and plan.more_than is not None:
        raise InputError("--max-distance needs a review: give --review ROUND, or leave it out")
    if plan.review is not None:
        if several or plan.all_raters or plan.sample is not None or plan.without or plan.blocks != "units":
            raise InputError("--review excludes --blocks, --overlap, --sample-size and --exclude-round: leave them out")
        if campaign.task.labels and plan.more_than is not None:
            raise InputError(f"{campaign.task.name} has labels, which have no distance: leave --max-distance out")
    for other in (*plan.without, *([plan.review] if plan.review else [])):
        if other not in campaign.rounds() or other == name:
            known = ", ".join(each for each in campaign.rounds() if each != name) or "none"
            raise InputError(f"{campaign.folder} has no other round {other!r}, expected one of {known}")


def units_by_rater(assignments: Iterable[Assignment], units: Mapping[str, Unit]) -> dict[str, list[str]]:
    """Returns the units of each rater in a round, without gold questions and withdrawn units."""
    found: dict[str, list[str]] = {}
    for each in assignments:
        theirs = found.setdefault(each.rater, [])
        if not each.withdrawn and units[each.unit_id].role != "anchor":
            theirs.append(each.unit_id)
    return found
