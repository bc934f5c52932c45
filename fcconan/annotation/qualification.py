"""Who may judge: raters join and leave, and those who were invited qualify by a quiz.

A quiz is the campaign's units with the role `quiz`, whose right answers are known, in the round `qualification`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fcconan.annotation.assignment.assignments import derived_seed
from fcconan.annotation.assignment.sequence import Sittings, in_order
from fcconan.annotation.campaigns import QUALIFICATION, Answer, Assignment, Campaign, Rater, Role, Unit
from fcconan.building import grouped
from fcconan.errors import InputError

_PSEUDONYM = re.compile(r"[A-Za-z0-9]+([_-][A-Za-z0-9]+)*")
_ROUNDING = 1e-9


def join(raters: Mapping[str, Rater], names: Sequence[str], *, role: Role, invited: bool = False) -> dict[str, Rater]:
    """Returns raters with others who joined, or came back.

    Args:
        raters: Those there are, by their pseudonyms.
        names: Pseudonyms of those who join; whoever is there already stays as they are.
        role: What they do.
        invited: Whether they have to pass the quiz first.

    Raises:
        InputError: A name is no pseudonym that can name a file, differs from another one by capitals only, or is that
            of somebody with another role or who failed the quiz.
    """
    found = dict(raters)
    for name in names:
        if not _PSEUDONYM.fullmatch(name):
            raise InputError(f"{name!r} cannot be a pseudonym: give letters, digits, - and _, such as annotator-1")
        alike = next((other for other in found if other != name and other.casefold() == name.casefold()), None)
        if alike is not None:
            raise InputError(f"{name} and {alike} differ by capitals only: choose another pseudonym for who joins")
        there = found.get(name)
        if there is None:
            found[name] = Rater(name, role, "invited" if invited else "active")
        elif there.role != role:
            raise InputError(f"{name} is there as {there.role}: let them join as {role} under another pseudonym")
        elif there.state == "failed":
            raise InputError(f"{name} failed the quiz and cannot join again")
        elif there.state == "left":
            found[name] = replace(there, state="invited" if invited else "active")
    return found


def leave(raters: Mapping[str, Rater], names: Sequence[str]) -> dict[str, Rater]:
    """Returns raters of whom some left.

    Args:
        raters: Those there are, by their pseudonyms.
        names: Pseudonyms of those who leave; whoever has left stays as they are.

    Raises:
        InputError: Nobody has that pseudonym.
    """
    found = dict(raters)
    for name in names:
        if name not in found:
            raise InputError(f"no rater is called {name!r}, only {', '.join(found) or 'none'}: name one")
        if found[name].state != "failed":
            found[name] = replace(found[name], state="left")
    return found


def quiz_round(campaign: Campaign, *, session_size: int | None = None, seed: int | None = None) -> list[Assignment]:
    """Gives the quiz to every invited rater who has not got it, and writes it; call it within `campaign.changing`.

    Returns:
        The whole round.

    Raises:
        InputError: There is no quiz, or nobody was ever invited.
        OSError: It cannot be written.
    """
    before = campaign.assignments(QUALIFICATION) if QUALIFICATION in campaign.rounds() else []
    quiz = [unit.unit_id for unit in campaign.units_of("quiz")]
    had = {each.rater for each in before}
    new = [name for name, rater in campaign.raters().items() if rater.state == "invited" and name not in had]
    if not quiz:
        raise InputError(f"{campaign.folder} has no quiz: give one to `fcconan annotate new --qualification`")
    if not new and not before:
        raise InputError(f"{campaign.folder} has no rater to qualify: let one join with --join PSEUDONYM --invited")
    found = in_order(
        dict.fromkeys(new, quiz),
        seed=derived_seed(campaign.settings.seed, f"assign {QUALIFICATION}", seed),
        sittings=Sittings(session_size),
        swap=any(unit.reply_b is not None for unit in campaign.units().values()),
    )
    whole = before + [each for rows in found.values() for each in rows]
    if new:
        campaign.write(f"rounds/{QUALIFICATION}.jsonl", whole)
    return whole


@dataclass(frozen=True)
class Result:
    """How a rater did in the quiz.

    Attributes:
        rater: The pseudonym.
        right: Questions with the right answer.
        known: Questions whose right answer is known; skipped ones are among them and not right.
        open: Those without an answer yet.
        state: The rater's state now: `invited` until everything is answered.
    """

    rater: str
    right: int
    known: int
    open: int
    state: str

    @property
    def share(self) -> float:
        """The share of questions with the right answer."""
        return self.right / self.known


def qualify(campaign: Campaign, *, pass_mark: float = 0.8, within: float = 0.0) -> list[Result]:
    """Decides by the quiz who becomes active and who failed, and writes that; call it within `campaign.changing`.

    Raters who are not `invited` any more stay as they are.

    Args:
        campaign: The campaign.
        pass_mark: The share of right answers that is needed.
        within: How far from the right one a grade may be; labels have to be the right ones.

    Returns:
        How everybody did who got the quiz, in the order in which they joined.

    Raises:
        InputError: A tolerance is given for labels, no rater got the quiz, or no right answer is known.
        OSError: The raters cannot be written.
    """
    if within and campaign.task.labels:
        raise InputError(f"--tolerance is {within:g}: give it for grades only")
    asked = grouped((each.rater, each.unit_id) for each in campaign.assignments(QUALIFICATION))
    raters, units = campaign.raters(), campaign.units()
    answers = {(each.rater, each.unit_id, each.aspect): each for each in campaign.answers(QUALIFICATION).values()}
    results = []
    for name in (name for name in raters if name in asked):
        right, known, unanswered = marked(name, [units[unit_id] for unit_id in asked[name]], answers, within)
        if not known:
            raise InputError(f"no right answer of the quiz of {campaign.folder} is known: make it with known answers")
        state = raters[name].state
        if state == "invited" and not unanswered:
            # Without the tolerance, 0.7 of ten questions would be more than seven.
            state = "active" if right >= pass_mark * known - _ROUNDING else "failed"
        raters[name] = replace(raters[name], state=state)
        results.append(Result(name, right, known, unanswered, state))
    if raters != campaign.raters():
        campaign.write("raters.jsonl", raters.values())
    return results


def marked(
    rater: str, units: Collection[Unit], answers: Mapping[tuple[str, str, str], Answer], within: float = 0.0
) -> tuple[int, int, int]:
    """Compares answers with the right ones.

    Args:
        rater: Whose answers.
        units: Of which right answers are known.
        answers: By rater, unit and aspect.
        within: How far from the right one a grade may be.

    Returns:
        How many are right, how many are known, how many have no answer.
    """
    known = [(unit.unit_id, aspect, right) for unit in units for aspect, right in (unit.known or {}).items()]
    given = [answers.get((rater, unit_id, aspect)) for unit_id, aspect, _ in known]
    right = sum(
        answer is not None and is_right(answer.value, true, within)
        for answer, (_, _, true) in zip(given, known, strict=True)
    )
    return right, len(known), given.count(None)


def is_right(value: Any, right: Any, within: float) -> bool:
    """Returns whether an answer is the right one, or a grade at most so far from it."""
    if isinstance(value, int | float) and isinstance(right, int | float):
        return abs(value - right) <= within + _ROUNDING
    return value is not None and value == right
