"""What a model or a person would answer, shown to raters as a suggestion: rows of votes, ratings or comparisons."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fcconan.annotation.campaigns import VALIDATION, Campaign, Unit
from fcconan.annotation.tools.task_view import Item, questions, turned
from fcconan.data import read_rows
from fcconan.errors import InputError

Row = dict[str, Any]
_COLUMNS = {
    "pair": ("pair_id", "label"),
    "reply": ("reply_id", "aspect", "value"),
    "comparison": ("reply_a", "reply_b", "verdict"),
}
_OTHER_WAY = {"a": "b", "b": "a"}


@dataclass(frozen=True)
class Suggestions:
    """What is suggested.

    Attributes:
        rater: Whose answers they are.
        values: By unit and question, about the unit's own order of replies.
        n_other: Rows about something that the campaign does not judge.
        n_without: Rows without an answer.
    """

    rater: str
    values: dict[str, dict[str, str | float]]
    n_other: int
    n_without: int


def read_suggestions(path: Path, campaign: Campaign, round_name: str) -> Suggestions:
    """Reads a file of rows Vote, Rating or Comparison, as the campaign's unit wants them.

    Raises:
        InputError: It cannot be read, lacks a column, has several raters, two answers to one question, an answer
            that the task does not know, or is about nothing in the campaign.
    """
    if round_name == VALIDATION:
        raise InputError("a round of validation takes no suggestions: it shows labels that people agreed on")
    asked = {question.name: question for question in questions(campaign, round_name)}
    columns = _COLUMNS[campaign.task.unit]
    keys = {_key(unit): unit_id for unit_id, unit in campaign.units().items()}
    raters: set[str] = set()
    values: dict[str, dict[str, str | float]] = {}
    n_other = n_without = 0
    for number, row in enumerate(read_rows(path), start=1):
        where = f"{path}, row {number}"
        if missing := [name for name in (*columns, "rater") if name not in row]:
            raise InputError(
                f"{where}: there is no column {', '.join(missing)}: give {campaign.task.unit} rows with "
                f"{', '.join(columns)} and rater"
            )
        raters.add(str(row["rater"]))
        if len(raters) > 1:
            raise InputError(f"{where}: a second rater ({', '.join(sorted(raters))}): keep the rows of one of them")
        unit_id, question, answer = _said(row, campaign.task.unit, keys)
        if unit_id is None or question not in asked:
            n_other += 1
        elif answer is None or answer == "invalid":
            n_without += 1
        elif question in values.setdefault(unit_id, {}):
            raise InputError(f"{where}: {question} of {unit_id} has a suggestion already: remove one of the rows")
        else:
            try:
                values[unit_id][question] = asked[question].value(answer)
            except ValueError as error:
                raise InputError(f"{where}: {error}: mend or remove that row") from error
    if not any(values.values()):
        raise InputError(f"{path} has no answer to anything that {campaign.folder} judges: nothing to suggest")
    return Suggestions(raters.pop(), values, n_other, n_without)


def suggest(items: list[Item], suggestions: Suggestions) -> Iterator[Item]:
    """Yields the items with what is suggested for each, about the order in which its replies are shown."""
    for item in items:
        found = suggestions.values.get(item.unit.unit_id, {})
        yield replace(
            item, suggestions={name: turned(value, item.assignment, item.unit) for name, value in found.items()}
        )


def _key(unit: Unit) -> tuple[str, ...]:
    if unit.reply_b is not None:
        return (str(unit.reply_a), str(unit.reply_b))
    return (unit.reply_a or unit.unit_id,)


def _said(row: Row, unit: str, keys: dict[tuple[str, ...], str]) -> tuple[str | None, str, Any]:
    """Returns the unit, the question and the answer of a row."""
    if unit == "pair":
        return keys.get((str(row["pair_id"]),)), "label", row["label"]
    if unit == "reply":
        return keys.get((str(row["reply_id"]),)), str(row["aspect"]), row["value"]
    order = str(row["reply_a"]), str(row["reply_b"])
    if order in keys:
        return keys[order], "label", row["verdict"]
    return keys.get(order[::-1]), "label", _OTHER_WAY.get(row["verdict"], row["verdict"])
