"""Questions to raters, and the units as raters see them, for all tools."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fcconan.annotation.campaigns import LABEL, VALIDATION, Assignment, Campaign, Row, Unit
from fcconan.data import normalise, short_hash
from fcconan.errors import InputError
from fcconan.judging import Task

if TYPE_CHECKING:
    from pandas import DataFrame

IDS = ("campaign", "round", "rater", "unit_id", "text_sha")
COMMENT, SKIP, SECONDS, SESSION, SHOWN = "comment", "skip", "seconds", "session", "shown"
# Texts of a unit in reading order, with their headings.
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
CONTEXT = ("hate_speech", "references", "background")
VERDICT = "agree_or_disagree"  # question for validators
AGREE = "Do you agree with the answer that is shown?"
VERDICTS = {"agree": "What is shown is right.", "disagree": "Something else would be right."}
OTHER_WAY = {"a": "b", "b": "a"}


class Question(NamedTuple):
    """A question about every unit.

    Attributes:
        name: Aspect, or `label`; `agree_or_disagree` for validators.
        title: Heading.
        text: Text of the question.
        meanings: Label, or whole grade, -> meaning.
        low: Lowest grade; None for labels.
        high: Highest grade.
        decimals: Number of decimals of a grade.
        words: Name of a label or a column -> word that raters read.
    """

    name: str
    title: str
    text: str
    meanings: Mapping[str, str]
    low: int | None = None
    high: int = 0
    decimals: int = 0
    words: Mapping[str, str] = {}

    @property
    def expected(self) -> list[str]:
        """The labels as raters read them, or the scale."""
        if self.low is None:
            return [self.words.get(name, name) for name in self.meanings]
        return [f"{self.low} to {self.high}{f', with up to {self.decimals} decimals' if self.decimals else ''}"]

    def value(self, given: Any) -> str | float:
        """Parses an answer: a label or its word in any case, as spreadsheets capitalise words, or a grade, also with
        decimal comma.

        Raises:
            ValueError: The value is not a valid answer; the message states the expected values.
        """
        text = normalise(str(given))
        if self.low is None:
            for name, word in zip(self.meanings, self.expected, strict=True):
                if text.casefold() in (name.casefold(), word.casefold()):
                    return name
        else:
            grade = to_number(text)
            if self.low <= grade <= self.high and round(grade, self.decimals) == grade:
                return grade if self.decimals else int(grade)
        raise ValueError(f"{self.name} is {text[:40]!r}, expected {' or '.join(self.expected)}")


def to_number(text: str) -> float:
    """Returns the number that a text holds, also with a decimal comma; nan if it holds none."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return math.nan


def questions(campaign: Campaign, round_name: str) -> list[Question]:
    """Returns the questions about every unit of a round."""
    if round_name == VALIDATION:
        words = campaign.task.words
        text, meanings = words.get(AGREE, AGREE), {name: words.get(each, each) for name, each in VERDICTS.items()}
        return [Question(VERDICT, words.get(VERDICT, "Validation"), text, meanings, words=words)]
    return task_questions(campaign.task)


def task_questions(task: Task) -> list[Question]:
    """Returns the questions of a task about every unit."""
    if task.labels:
        meanings = {label.name: label.meaning for label in task.labels}
        return [Question(LABEL, task.title, task.question, meanings, words=task.words)]
    return [
        Question(
            each.name,
            each.title,
            each.question,
            {str(grade): meaning for grade, meaning in sorted(each.grades.items())},
            each.low,
            each.high,
            each.decimals,
            task.words,
        )
        for each in task.aspects
    ]


def handed_out(campaign: Campaign, round_name: str) -> "DataFrame":
    """Returns the units of a round as raters see them, one row for each assignment, in the order of each rater.

    Returns:
        Rows with the columns of `IDS`, `session`, the shown texts in reading order, `swapped` and `withdrawn`.

    Raises:
        InputError: The round does not exist, or a text is missing.
    """
    from pandas import DataFrame

    units, rows, shown = campaign.units(), campaign.texts(), campaign.shown(round_name)
    found = []
    for each in sorted(campaign.assignments(round_name), key=lambda each: each.position):
        unit = units[each.unit_id]
        texts = shown_texts(campaign, each, unit, rows)
        if shown is not None:
            texts[SHOWN] = _as_text(shown.get(each.key, {}), each.swapped, campaign.task.words)
        # Version 1: the first digits of the sha256 of the normalised texts.
        sha = short_hash(*(f"{name}={normalise(text)}" for name, text in texts.items()))
        ids = (campaign.settings.name, round_name, each.rater, each.unit_id, sha)
        row = {**dict(zip(IDS, ids, strict=True)), SESSION: each.session, **texts}
        found.append(row | {"swapped": each.swapped, "withdrawn": each.withdrawn})
    return DataFrame(found)


def shown_texts(campaign: Campaign, assignment: Assignment, unit: Unit, rows: Mapping[str, Row]) -> dict[str, str]:
    """Returns the texts that are shown for a unit; in a swapped comparison, `reply_a` is the second reply.

    Args:
        campaign: The campaign.
        assignment: Assignment of the unit.
        unit: The unit.
        rows: Rows of HS, CNs and replies by id.

    Raises:
        InputError: A reply lacks a text that the task shows.
    """
    if campaign.task.unit == "pair":
        named = {"hate_speech": unit.hs_id, "counter_narrative": unit.cn_id}
        return {name: str(rows[str(key)]["text"]) for name, key in named.items()}
    first = rows[str(unit.reply_a)]
    given = {name: first.get(name) for name in CONTEXT if name in campaign.task.context}
    if "references" in given:
        given["references"] = "\n\n".join(map(str, given["references"] or ())) or None
    if lost := [name for name, text in given.items() if text is None]:
        raise InputError(f"the reply {first['reply_id']} has no {lost[0]}, which the task shows: add that column")
    replies = {"reply": first}
    if unit.reply_b is not None:
        both = [first, rows[unit.reply_b]]
        replies = dict(zip(("reply_a", "reply_b"), both[::-1] if assignment.swapped else both, strict=True))
    found = {str(name): str(text) for name, text in given.items()}
    return found | {name: str(row.get("text") or "") for name, row in replies.items()}


def turned(value: Any, swapped: bool) -> Any:
    """Converts a verdict between the shown order and the order of the unit."""
    return OTHER_WAY.get(value, value) if swapped and isinstance(value, str) else value


def _as_text(row: Row, swapped: bool, words: Mapping[str, str]) -> str:
    """Returns further information, such as a label or other grades, as lines of text."""

    def said(value: Any) -> str:
        if isinstance(value, dict):
            return "; ".join(f"{said(key)}: {said(inner)}" for key, inner in value.items())
        return ", ".join(map(said, value)) if isinstance(value, list) else words.get(value, str(value))

    given = {name: turned(value, swapped) for name, value in row.items() if value is not None}
    return "\n".join(said(value) if name == SHOWN else f"{said(name)}: {said(value)}" for name, value in given.items())
