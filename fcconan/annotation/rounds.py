"""Rounds: their files, completed assignments, and reviews of outlying answers.

    rounds/NAME.jsonl         assignments
    rounds/NAME.json          options of the round
    rounds/NAME.shown.jsonl   reviews: further information that raters see

CSEval's rounds (appendix A.1 of the paper) are:

- `shared-1`: all raters judge a sample.
- `review-1`: a rater who is the only outlier, by more than 2 points, judges again and sees the other grades. If grades
  are that far apart without a single outlier, all raters of the unit judge again.
- `shared-2`: all raters judge another sample.
- `main`: each of the remaining units has one rater.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from fcconan.annotation.campaigns import LABEL, RATERS, VALIDATION, Answer, Assignment, Campaign, Key, Row
from fcconan.annotation.ordering import in_order
from fcconan.building import group_values
from fcconan.data import write_whole
from fcconan.errors import InputError

FAR_APART = 2.0  # distance of grades


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
        raise InputError(f"{campaign.folder / RATERS} has no active annotator: add a row such as annotator-1,annotator")
    return raters


def assigned_elsewhere(campaign: Campaign, name: str) -> set[Key]:
    """Returns the raters and units of all other rounds, withdrawn assignments included."""
    return {each.key for other in campaign.rounds() if other != name for each in campaign.assignments(other)}


def find_outliers(values: Mapping[str, Any], more_than: float | None) -> list[str]:
    """Returns the raters whose value differs from the others'.

    With two grades, the reference is the other grade. With three or more, it is the median of all grades. The median of
    the other grades would be their mean for three raters: with 5 and 2, the grade 1 would deviate by 2.5. With the
    median of all, one of three raters is an outlier if both other grades are too far away. With two raters, both are.

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


def review_round(
    campaign: Campaign, reviewed: str, max_distance: float | None, *, session_size: int | None, seed: int
) -> tuple[list[Assignment], list[Row]]:
    """Returns the assignments of a review, and the further information that raters see.

    Args:
        campaign: The campaign.
        reviewed: The round whose answers are judged again, those of raters who left included.
        max_distance: Largest distance of grades that are not reviewed; None for 2.
        session_size: Largest number of units in a session.
        seed: Seed of the orders.

    Raises:
        InputError: The round does not exist, or has no answers.
    """
    before = {each.key: each for each in campaign.assignments(reviewed)}
    answers = [*campaign.answers(reviewed).values()]
    if not answers:
        raise InputError(f"the round {reviewed} has no answers yet: import them first")
    far = None if campaign.task.labels else FAR_APART if max_distance is None else max_distance
    cases: dict[Key, list[str]] = {}
    grouped = group_values(((each.unit_id, each.aspect), each) for each in answers if each.value is not None)
    for (unit_id, aspect), said in grouped.items():
        values: dict[str, Any] = {each.rater: each.value for each in said}
        if len({*values.values()}) < 2 or (far is not None and max(values.values()) - min(values.values()) <= far):
            continue
        single = find_outliers(values, far)
        for rater in single if len(single) == 1 else values:
            cases.setdefault((rater, unit_id), []).append(aspect)
    judged = {name: [unit_id for rater, unit_id in cases if rater == name] for name in campaign.active("annotator")}
    ordered = in_order(judged, seed=seed, session_size=session_size)
    # Shown in the order of the reviewed round, to which the rater's own verdict refers.
    assignments = [replace(each, swapped=before[each.key].swapped) for rows in ordered.values() for each in rows]
    by_unit = group_values((each.unit_id, each) for each in answers)
    shown = [
        {"rater": each.rater, "unit_id": each.unit_id, **_shown(each.rater, by_unit[each.unit_id], cases[each.key])}
        for each in assignments
    ]
    return assignments, shown


def _shown(rater: str, said: Sequence[Answer], aspects: Sequence[str]) -> Row:
    """Returns the rater's own answers about a unit, and those of other raters without their names."""
    own = {each.aspect: each.value for each in said if each.rater == rater}
    given = group_values((each.aspect, each.value) for each in said if each.rater != rater and each.value is not None)
    others = {aspect: sorted(given.get(aspect, [])) for aspect in own}
    if list(own) == [LABEL]:
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
        how: Options of the round.
        shown: Further information for raters, with `rater` and `unit_id`; None if there is none.
    """
    if shown is not None:
        campaign.write(f"rounds/{name}.shown.jsonl", shown)
    (campaign.folder / "rounds").mkdir(exist_ok=True)
    write_whole(campaign.folder / "rounds" / f"{name}.json", json.dumps(how, indent=2) + "\n")
    # The round is written last: without it, the other files are written again.
    campaign.write(f"rounds/{name}.jsonl", assignments)


def recorded_options(campaign: Campaign, name: str) -> Row:
    """Returns the recorded options of a round; empty if the queue made it."""
    path = campaign.folder / "rounds" / f"{name}.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
