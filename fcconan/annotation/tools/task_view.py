"""Texts and questions that a rater sees, for all tools."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fcconan.annotation.campaigns import LABEL, VALIDATION, Assignment, Campaign, Row, Unit
from fcconan.data import normalise, short_hash
from fcconan.errors import InputError
from fcconan.judging import Task

IDS = ("campaign", "round", "rater", "unit_id", "text_sha")
COMMENT, SKIP, SECONDS, SESSION = "comment", "skip", "seconds", "session"
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
ENDS = {"csv": ".csv", "label-studio": ".json"}  # suffix of a rater's file, by tool
VERDICT = "agree_or_disagree"  # question for validators
# Answers of validators and their meanings.
VERDICTS = (("agree", "What is shown is right."), ("disagree", "Something else would be right."))
OTHER_WAY = {"a": "b", "b": "a"}


@dataclass(frozen=True)
class Question:
    """A question about every unit.

    Attributes:
        name: Aspect, or `label`; `agree_or_disagree` for validators.
        title: Heading.
        text: Text of the question.
        options: Options of a choice, with their meanings; empty for a grade.
        low: Lowest grade.
        high: Highest grade.
        decimals: Number of decimals of a grade.
        grades: Integer grades, with their meanings.
        about_order: Whether the answer depends on the order of two replies.
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
        """Parses an answer: the name of a label, or a grade.

        Labels are read regardless of their case, as spreadsheets capitalise words. Grades may have a decimal comma.

        Args:
            given: Value in the tool.

        Raises:
            ValueError: The value is not a valid answer; the message states the expected values.
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
    """A unit as shown to a rater.

    Attributes:
        assignment: Assignment of the unit.
        unit: The unit.
        texts: Shown texts by name, in reading order. If the assignment is swapped, `reply_a` is the second reply.
    """

    assignment: Assignment
    unit: Unit
    texts: dict[str, str]

    @cached_property
    def text_sha(self) -> str:
        """Hash of the texts, see `text_sha`."""
        return text_sha(self.texts)


def text_sha(texts: Mapping[str, str]) -> str:
    """Returns 12 hexadecimal digits of the sha256 of the shown texts, each normalised (version 1)."""
    return short_hash(*(f"{name}={normalise(texts[name])}" for name in texts))


def turned(value: Any, assignment: Assignment, unit: Unit) -> Any:
    """Converts a verdict between the shown order and the order of the unit."""
    swapped = assignment.swapped and unit.reply_b is not None
    return OTHER_WAY.get(value, value) if swapped and isinstance(value, str) else value


def questions(campaign: Campaign, round_name: str) -> list[Question]:
    """Returns the questions about every unit of a round.

    Raises:
        InputError: An aspect has the name of a column of the export.
    """
    if round_name == VALIDATION:
        return [Question(VERDICT, "Validation", "Do you agree with the answer that is shown?", VERDICTS)]
    taken = {*IDS, COMMENT, SKIP, SECONDS, SESSION, *TEXTS}
    for aspect in campaign.task.aspects:
        if aspect.name in taken:
            raise InputError(f"{campaign.folder}: an aspect has the name of a column, {aspect.name}: rename it")
    return task_questions(campaign.task)


def task_questions(task: Task) -> list[Question]:
    """Returns the questions of a task about every unit."""
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
    """Returns the items of a round by position, withdrawn assignments included.

    Raises:
        InputError: The round does not exist, or a unit or text is missing.
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
    """Returns the items of each rater, without withdrawn ones.

    Args:
        campaign: The campaign.
        round_name: Name of the round.
        raters: Raters to include; None for all, in the order in which they joined.
        unanswered: Whether completely answered or skipped units are left out.

    Raises:
        InputError: The round does not exist, a rater has no units in it, or no units are left.
    """
    asked = [question.name for question in questions(campaign, round_name)]
    answered = campaign.answers(round_name) if unanswered else {}
    found: dict[str, list[Item]] = {rater: [] for rater in campaign.raters()}
    for item in items(campaign, round_name):
        rater, unit_id = item.assignment.rater, item.assignment.unit_id
        done = unanswered and all((round_name, rater, unit_id, name) in answered for name in asked)
        if not item.assignment.withdrawn and not done:
            found[rater].append(item)
    found = {rater: theirs for rater, theirs in found.items() if theirs}
    for rater in raters or ():
        if rater not in found:
            have = ", ".join(found) or "none"
            raise InputError(f"the round {round_name} has no units of {rater!r}, expected one of {have}")
    if not found:
        raise InputError(f"the round {round_name} has no open units: there is nothing to export")
    return {rater: theirs for rater, theirs in found.items() if raters is None or rater in raters}


@dataclass(frozen=True)
class Handout:
    """The content of an export for the raters of a round.

    Attributes:
        campaign: The campaign.
        round: Name of the round.
        texts: Names of the shown texts, in reading order.
        guide: Guidelines as Markdown.
    """

    campaign: Campaign
    round: str
    texts: list[str]
    guide: str = ""

    @cached_property
    def questions(self) -> dict[str, Question]:
        """Questions of the round by name."""
        return {question.name: question for question in questions(self.campaign, self.round)}

    @property
    def about(self) -> str:
        """Name of the last judged text, to which controls are attached."""
        return [name for name in self.texts if name != SHOWN][-1]

    def ids(self, item: Item) -> dict[str, Any]:
        """Returns the ids of an item, by the names in `IDS`, and its session."""
        each = item.assignment
        values = (self.campaign.settings.name, self.round, each.rater, each.unit_id, item.text_sha, each.session)
        return dict(zip((*IDS, SESSION), values, strict=True))

    def shown(self, item: Item) -> dict[str, str]:
        """Returns all texts by name, empty if the item has none."""
        return {name: item.texts.get(name, "") for name in self.texts}


def text_names(all_items: Mapping[str, list[Item]]) -> list[str]:
    """Returns the names of the texts of any item, in reading order."""
    used = {name for theirs in all_items.values() for item in theirs for name in item.texts}
    return [name for name in TEXTS if name in used]


def file_name(round_name: str, rater: str, tool: str) -> str:
    """Returns the name of a rater's file."""
    return f"{round_name}-{rater}{ENDS[tool]}"


def shown_texts(
    campaign: Campaign, assignment: Assignment, unit: Unit, rows: Mapping[str, Row]
) -> Iterator[tuple[str, str]]:
    """Yields names and texts that are shown for a unit; in a swapped comparison, `reply_a` is the second reply.

    Args:
        campaign: The campaign.
        assignment: Assignment of the unit.
        unit: The unit.
        rows: Rows of HS, CNs and replies by id.

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
    """Returns further information, such as a label or other grades, as lines of text."""
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
    """Parses a cell as a finite number.

    Args:
        value: The cell.
        name: Name of the value, for messages.
        place: File and row, for messages.

    Raises:
        InputError: The cell is not a finite number.
    """
    found = number(value)
    if found is None or not math.isfinite(found):
        raise InputError(f"{place}: {name} is {value!r}, expected a finite number: correct the row")
    return found


def number(given: Any) -> float | None:
    """Parses a cell as a number, also with a decimal comma; None if it is not a number."""
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
