"""What a rater is shown and asked, whatever the tool."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fcconan.annotation.campaigns import LABEL, VALIDATION, Assignment, Campaign, Row, Unit
from fcconan.annotation.lookups import Lookup
from fcconan.data import normalise, short_hash
from fcconan.errors import InputError
from fcconan.judging import Task

IDS = ("campaign", "round", "rater", "unit_id", "text_sha")
COMMENT, SKIP, SECONDS, SESSION = "comment", "skip", "seconds", "session"
SUGGESTED = "suggested_"
SHOWN = "shown"
TEXTS = ("hate_speech", "references", "background", "counter_narrative", "reply", "reply_a", "reply_b", SHOWN)
TITLES = {
    "hate_speech": "Hateful message",
    "references": "Reference",
    "background": "Background",
    "counter_narrative": "Counter-narrative",
    "reply": "Reply",
    "reply_a": "Reply A",
    "reply_b": "Reply B",
    SHOWN: "For your information",
}
ENDS = {"csv": ".csv", "label-studio": ".json", "argilla": ""}  # of a rater's file, by tool
VERDICT = "agree_or_disagree"  # what validators are asked about a label, which is no label itself
# What validators answer, and what it means.
VERDICTS = (("agree", "What is shown is right."), ("disagree", "Something else would be right."))
OTHER_WAY = {"a": "b", "b": "a"}


@dataclass(frozen=True)
class Question:
    """One thing that is asked about every unit.

    Attributes:
        name: The aspect, or `label`; of validators `agree_or_disagree`.
        title: A heading.
        text: What is asked.
        options: Of a choice: what may be chosen, and what it means; empty for a grade.
        low: The lowest grade.
        high: The highest grade.
        decimals: How many a grade may have.
        grades: What every whole grade means.
        about_order: Whether the answer names one of two replies by its place, so that it turns with their order.
    """

    name: str
    title: str
    text: str
    options: tuple[tuple[str, str], ...] = ()
    low: int = 0
    high: int = 0
    decimals: int = 0
    grades: tuple[tuple[int, str], ...] = ()
    about_order: bool = False

    def value(self, given: Any) -> str | float:
        """Returns an answer as it is kept: the label's name, or the grade.

        Labels are read whatever their case, since spreadsheets capitalise words; a grade may have a decimal comma.

        Args:
            given: What the tool says.

        Raises:
            ValueError: The value does not answer the question; the message says what is expected.
        """
        if self.options:
            names = [name for name, _ in self.options]
            if isinstance(given, str):
                word = given.strip()
                for name in names:
                    if word == name or (word.casefold() == name.casefold()):
                        return name
            raise ValueError(f"{self.name} is {_short(given)}, expected one of {', '.join(names)}")
        grade = number(given)
        if grade is None or not self.low <= grade <= self.high or round(grade, self.decimals) != grade:
            kind = f"with up to {self.decimals} decimals" if self.decimals else "without decimals"
            raise ValueError(f"{self.name} is {_short(given)}, expected {self.low} to {self.high} {kind}")
        return grade if self.decimals else int(grade)


@dataclass(frozen=True)
class Item:
    """A unit as one rater sees it.

    Attributes:
        assignment: Whose it is, and in which order it comes.
        unit: What is judged.
        texts: What is shown, by name, in the order in which it is read; the replies of a comparison as shown, so the
            second one is `reply_a` where the assignment is swapped.
        suggestions: What a model would answer, by question, about the order as shown.
    """

    assignment: Assignment
    unit: Unit
    texts: dict[str, str]
    suggestions: dict[str, str | float] = field(default_factory=dict)

    @cached_property
    def text_sha(self) -> str:
        """12 hexadecimal digits that change with the texts, but not with their white space."""
        return text_sha(self.texts)


def text_sha(texts: Mapping[str, str]) -> str:
    """Returns 12 hexadecimal digits of the sha256 of what is shown, each text normalised (version 1)."""
    return short_hash(*(f"{name}={normalise(texts[name])}" for name in texts))


def turned(value: Any, assignment: Assignment, unit: Unit) -> Any:
    """Returns a verdict about the shown order as one about the unit's own order, or the other way round."""
    swapped = assignment.swapped and unit.reply_b is not None
    return OTHER_WAY.get(value, value) if swapped and isinstance(value, str) else value


def questions(campaign: Campaign, round_name: str) -> list[Question]:
    """Returns what is asked about every unit of a round.

    Raises:
        InputError: An aspect has the name of a column that every export has.
    """
    if round_name == VALIDATION:
        return [Question(VERDICT, "Validation", "Do you agree with the answer that is shown?", VERDICTS)]
    taken = {*IDS, COMMENT, SKIP, SECONDS, SESSION, *TEXTS}
    for aspect in campaign.task.aspects:
        if aspect.name in taken or aspect.name.startswith(SUGGESTED):
            raise InputError(f"{campaign.folder}: an aspect has the name of a column, {aspect.name}: rename it")
    return task_questions(campaign.task)


def task_questions(task: Task) -> list[Question]:
    """Returns what a task asks about every unit."""
    if task.labels:
        options = tuple((label.name, label.meaning) for label in task.labels)
        return [Question(LABEL, task.title, task.question, options, about_order=task.unit == "comparison")]
    return [
        Question(
            aspect.name,
            aspect.title,
            aspect.question,
            low=aspect.low,
            high=aspect.high,
            decimals=aspect.decimals,
            grades=tuple(sorted(aspect.grades.items())),
        )
        for aspect in task.aspects
    ]


def items(campaign: Campaign, round_name: str) -> list[Item]:
    """Returns what every rater of a round sees, each rater's in their order, withdrawn assignments included.

    Raises:
        InputError: There is no such round, or a unit or text of it is missing.
    """
    units, rows = campaign.units(), campaign.texts()
    shown = campaign.shown(round_name)
    found = []
    for assignment in campaign.assignments(round_name):
        unit = units[assignment.unit_id]
        texts = dict(shown_texts(campaign, assignment, unit, rows))
        if shown is not None:
            texts[SHOWN] = _as_text(shown.get(assignment.key, {}), assignment, unit)
        found.append(Item(assignment, unit, texts))
    return sorted(found, key=lambda item: item.assignment.position)


def of_raters(
    campaign: Campaign, round_name: str, raters: list[str] | None = None, *, unanswered: bool = False
) -> dict[str, list[Item]]:
    """Returns what is handed to raters: their items, without what was withdrawn from them.

    Args:
        campaign: The campaign.
        round_name: The round.
        raters: Whose; None for all, in the order in which they joined.
        unanswered: Whether to leave out what has an answer to every question, a skip included.

    Raises:
        InputError: There is no such round or rater in it, or nothing to hand out.
    """
    asked = [question.name for question in questions(campaign, round_name)]
    answered = campaign.answers(round_name) if unanswered else {}
    found: dict[str, list[Item]] = Lookup(campaign.folder, "rater", {rater: [] for rater in campaign.raters()})
    for item in items(campaign, round_name):
        rater, unit_id = item.assignment.rater, item.assignment.unit_id
        done = unanswered and all((round_name, rater, unit_id, name) in answered for name in asked)
        if not item.assignment.withdrawn and not done:
            found[rater].append(item)
    found = {rater: theirs for rater, theirs in found.items() if theirs}
    for rater in raters or ():
        if rater not in found:
            have = ", ".join(found) or "none"
            raise InputError(f"the round {round_name} has nothing for {rater!r}, only for {have}: name one of these")
    if not found:
        raise InputError(f"the round {round_name} has nothing left to judge: nothing to export")
    return {rater: theirs for rater, theirs in found.items() if raters is None or rater in raters}


@dataclass(frozen=True)
class Handout:
    """What the raters of a round get in one tool.

    Attributes:
        campaign: The campaign.
        round: The round.
        texts: Names of the texts that are shown, in reading order.
        guide: The guidelines as Markdown.
        agent: The rater whose answers are suggested; None without suggestions.
    """

    campaign: Campaign
    round: str
    texts: list[str]
    guide: str = ""
    agent: str | None = None

    @cached_property
    def questions(self) -> dict[str, Question]:
        """The questions of the round by their names."""
        return {question.name: question for question in questions(self.campaign, self.round)}

    @property
    def about(self) -> str:
        """The text that questions are about: the last one that is judged."""
        return [name for name in self.texts if name != SHOWN][-1]

    def ids(self, item: Item) -> dict[str, Any]:
        """Returns ids that tell an item from all others, by the names in `IDS`, and its session."""
        each = item.assignment
        values = (self.campaign.settings.name, self.round, each.rater, each.unit_id, item.text_sha, each.session)
        return dict(zip((*IDS, SESSION), values, strict=True))

    def shown(self, item: Item) -> dict[str, str]:
        """Returns all texts by name, empty where the item has none."""
        return {name: item.texts.get(name, "") for name in self.texts}


def text_names(all_items: Mapping[str, list[Item]]) -> list[str]:
    """Returns the names of the texts that any item has, in reading order."""
    used = {name for theirs in all_items.values() for item in theirs for name in item.texts}
    return [name for name in TEXTS if name in used]


def file_name(round_name: str, rater: str, tool: str) -> str:
    """Returns the name of the file, or of Argilla's folder, that is handed to a rater."""
    return f"{round_name}-{rater}{ENDS[tool]}"


def shown_texts(
    campaign: Campaign, assignment: Assignment, unit: Unit, rows: Mapping[str, Row]
) -> Iterator[tuple[str, str]]:
    """Yields name and text of what is shown of a unit; of a swapped comparison the second reply is `reply_a`.

    Args:
        campaign: The campaign.
        assignment: The assignment that shows it.
        unit: The unit.
        rows: Rows of HS, CNs and replies by their ids.

    Raises:
        InputError: A text is missing.
    """
    if campaign.task.unit == "pair":
        yield "hate_speech", str(rows[str(unit.hs_id)]["text"])
        yield "counter_narrative", str(rows[str(unit.cn_id)]["text"])
        return
    first = rows[str(unit.reply_a)]
    for name in TEXTS[:3]:
        if name not in campaign.task.context:
            continue
        text = first.get(name)
        if name == "hate_speech" and text is None and unit.hs_id is not None:
            text = rows[unit.hs_id]["text"]
        if name == "references":
            text = "\n\n".join(map(str, text or ())) or None
        if text is None:
            raise InputError(f"the reply {first['reply_id']} has no {name}, which the task shows: add that column")
        yield name, str(text)
    if unit.reply_b is None:
        yield "reply", str(first.get("text") or "")
    else:
        order = (rows[unit.reply_b], first) if assignment.swapped else (first, rows[unit.reply_b])
        yield "reply_a", str(order[0].get("text") or "")
        yield "reply_b", str(order[1].get("text") or "")


def _as_text(row: Row, assignment: Assignment, unit: Unit) -> str:
    """A line for everything that is shown: a label, the grades of others."""
    lines = []
    for name, value in row.items():
        if value is None:
            continue
        value = turned(value, assignment, unit)
        if isinstance(value, dict):
            value = "; ".join(f"{key}: {_listed(inner)}" for key, inner in value.items())
        lines.append(_listed(value) if name == SHOWN else f"{name}: {_listed(value)}")
    return "\n".join(lines)


def _listed(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def finite(value: Any, name: str, place: str) -> float:
    """Returns a cell as a number.

    Args:
        value: The cell.
        name: What it is called, for messages.
        place: File and row, for messages.

    Raises:
        InputError: It is no finite number.
    """
    found = number(value)
    if found is None or not math.isfinite(found):
        raise InputError(f"{place}: {name} is {value!r}, expected a finite number: correct the row")
    return found


def number(given: Any) -> float | None:
    """Returns a cell as a number, a decimal comma read as a point; None if it is none."""
    if isinstance(given, str):
        given = given.strip().replace(",", ".")
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        return float(given)
    except (ValueError, OverflowError):
        return None


def _short(given: Any) -> str:
    return json.dumps(given, ensure_ascii=False, default=str)[:40]
