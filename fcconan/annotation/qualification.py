"""Raters who join or leave, and the qualification test of invited raters.

The qualification test consists of the units with the role `quiz`, whose answers are known, in the round
`qualification`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fcconan.annotation.assignment.assignments import derived_seed
from fcconan.annotation.assignment.sequence import Sessions, in_order
from fcconan.annotation.campaigns import QUALIFICATION, Answer, Assignment, Campaign, Rater, Role, Unit
from fcconan.building import group_values
from fcconan.errors import InputError

_PSEUDONYM = re.compile(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*")
_ROUNDING = 1e-9


def join(raters: Mapping[str, Rater], names: Sequence[str], *, role: Role, invited: bool = False) -> dict[str, Rater]:
    """Returns the raters, with others who join or return.

    Args:
        raters: Raters by pseudonym.
        names: Pseudonyms of raters who join; raters who are there already do not change.
        role: Role of the raters who join.
        invited: Whether they have to pass the qualification test.

    Raises:
        InputError: A name cannot be used as a pseudonym and file name, differs from another one by capitals only, or
            belongs to a rater with another role or a failed test.
    """
    found = dict(raters)
    for name in names:
        if not _PSEUDONYM.fullmatch(name):
            raise InputError(f"{name!r} cannot be a pseudonym: give letters, digits, - and _, such as annotator-1")
        similar = next((other for other in found if other != name and other.casefold() == name.casefold()), None)
        if similar is not None:
            raise InputError(f"{name} and {similar} differ by capitals only: choose another pseudonym")
        there = found.get(name)
        if there is None:
            found[name] = Rater(name, role, "invited" if invited else "active")
        elif there.role != role:
            raise InputError(
                f"{name} is already a rater with the role {there.role}: join as {role} with another pseudonym"
            )
        elif there.state == "failed":
            raise InputError(f"{name} failed the qualification test and cannot join again")
        elif there.state == "left":
            found[name] = replace(there, state="invited" if invited else "active")
    return found


def leave(raters: Mapping[str, Rater], names: Sequence[str]) -> dict[str, Rater]:
    """Returns the raters, some of them with the state `left`.

    Args:
        raters: Raters by pseudonym.
        names: Pseudonyms of raters who leave; raters who have left already do not change.

    Raises:
        InputError: A pseudonym is unknown.
    """
    found = dict(raters)
    for name in names:
        if name not in found:
            raise InputError(f"unknown rater {name!r}, expected one of {', '.join(found) or 'none'}")
        if found[name].state != "failed":
            found[name] = replace(found[name], state="left")
    return found


def assign_qualification(
    campaign: Campaign, *, session_size: int | None = None, seed: int | None = None
) -> list[Assignment]:
    """Assigns the qualification test to invited raters who do not have it, and writes the round; call it within
    `campaign.changing`.

    Args:
        campaign: The campaign.
        session_size: Maximum number of units in a session; None for one session.
        seed: Seed of the raters' orders; None for one derived from the campaign's seed.

    Returns:
        All assignments of the round.

    Raises:
        InputError: The campaign has no qualification test, or no rater was ever invited.
        OSError: The round cannot be written.
    """
    before = campaign.assignments(QUALIFICATION) if QUALIFICATION in campaign.rounds() else []
    quiz = [unit.unit_id for unit in campaign.units_of("quiz")]
    had = {each.rater for each in before}
    new = [name for name, rater in campaign.raters().items() if rater.state == "invited" and name not in had]
    if not quiz:
        raise InputError(
            f"{campaign.folder} has no qualification test: give one to `fcconan annotate new --qualification`"
        )
    if not new and not before:
        raise InputError(f"{campaign.folder} has no invited rater: add one with --join PSEUDONYM --invited")
    found = in_order(
        dict.fromkeys(new, quiz),
        seed=derived_seed(campaign.settings.seed, f"assign {QUALIFICATION}", seed),
        sessions=Sessions(session_size),
        swap=any(unit.reply_b is not None for unit in campaign.units().values()),
    )
    whole = before + [each for rows in found.values() for each in rows]
    if new:
        campaign.write(f"rounds/{QUALIFICATION}.jsonl", whole)
    return whole


@dataclass(frozen=True)
class Result:
    """The result of a rater in the qualification test.

    Attributes:
        rater: Pseudonym of the rater.
        right: Number of correct answers.
        known: Number of questions with a known answer; skipped ones count as incorrect.
        open: Number of questions without an answer.
        state: State of the rater after the test: `invited` until all questions are answered.
    """

    rater: str
    right: int
    known: int
    open: int
    state: str

    @property
    def share(self) -> float:
        """Share of correct answers."""
        return self.right / self.known


def qualify(campaign: Campaign, *, pass_mark: float = 0.8, within: float = 0.0) -> list[Result]:
    """Marks the qualification tests, and writes which raters become active or fail; call it within `campaign.changing`.

    Raters who are not `invited` keep their state.

    Args:
        campaign: The campaign.
        pass_mark: Minimum share of correct answers.
        within: Maximum distance of a correct grade from the known grade; labels must be equal.

    Returns:
        The results of all raters with the test, in the order in which they joined.

    Raises:
        InputError: A tolerance is given for labels, no rater has the test, or no answer is known.
        OSError: The raters cannot be written.
    """
    if within and campaign.task.labels:
        raise InputError(f"--tolerance is {within:g}: give it for grades only")
    asked = group_values((each.rater, each.unit_id) for each in campaign.assignments(QUALIFICATION))
    raters, units = campaign.raters(), campaign.units()
    answers = {(each.rater, each.unit_id, each.aspect): each for each in campaign.answers(QUALIFICATION).values()}
    results = []
    for name in (name for name in raters if name in asked):
        right, known, unanswered = marked(name, [units[unit_id] for unit_id in asked[name]], answers, within)
        if not known:
            raise InputError(
                f"the qualification test of {campaign.folder} has no known answers: create it with known answers"
            )
        state = raters[name].state
        if state == "invited" and not unanswered:
            # Floating point: 0.7 * 10 questions may exceed 7.
            state = "active" if right >= pass_mark * known - _ROUNDING else "failed"
        raters[name] = replace(raters[name], state=state)
        results.append(Result(name, right, known, unanswered, state))
    if raters != campaign.raters():
        campaign.write("raters.jsonl", raters.values())
    return results


def marked(
    rater: str, units: Collection[Unit], answers: Mapping[tuple[str, str, str], Answer], within: float = 0.0
) -> tuple[int, int, int]:
    """Compares answers with known ones.

    Args:
        rater: Pseudonym of the rater.
        units: Units with known answers.
        answers: Answers by rater, unit and aspect.
        within: Maximum distance of a correct grade from the known grade.

    Returns:
        Numbers of correct answers, known answers and open questions.
    """
    known = [(unit.unit_id, aspect, right) for unit in units for aspect, right in (unit.known or {}).items()]
    given = [answers.get((rater, unit_id, aspect)) for unit_id, aspect, _ in known]
    right = sum(
        answer is not None and is_right(answer.value, true, within)
        for answer, (_, _, true) in zip(given, known, strict=True)
    )
    return right, len(known), given.count(None)


def is_right(value: Any, right: Any, within: float) -> bool:
    """Returns whether an answer equals the known one, or is a grade within the given distance."""
    if isinstance(value, int | float) and isinstance(right, int | float):
        return abs(value - right) <= within + _ROUNDING
    return value is not None and value == right
