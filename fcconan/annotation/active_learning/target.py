"""What counts as a positive in a campaign: a label, a verdict, or grades from some grade on."""

import re
from dataclasses import dataclass

from fcconan.annotation.campaigns import LABEL, VALIDATION, Campaign
from fcconan.errors import InputError
from fcconan.judging import Task

USUAL = "appropriate"
_GRADES = re.compile(r"([a-z][a-z0-9_]*)(>=|<=)(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Positive:
    """What is looked for.

    Attributes:
        aspect: The question, or `label`.
        label: The label; None for grades.
        bound: The grade; None for labels.
        high: Whether grades from the bound up count, or those down from it.
    """

    aspect: str
    label: str | None = None
    bound: float | None = None
    high: bool = True

    def __str__(self) -> str:
        """As it is given."""
        return self.label or f"{self.aspect}{'>=' if self.high else '<='}{self.bound:g}"

    def of(self, value: str | float) -> bool:
        """Returns whether an answer is positive."""
        if self.bound is None:
            return value == self.label
        return float(value) >= self.bound if self.high else float(value) <= self.bound

    def of_difference(self, difference: float) -> float:
        """Returns the score of a comparison whose first reply is better by that much."""
        return {"a": difference, "b": -difference}.get(self.label or "", -abs(difference))


def read_positive(said: str | None, task: Task) -> Positive:
    """Reads what is looked for.

    Args:
        said: A label of the task, or an aspect with a bound such as `relevance>=4`; None for `appropriate`.
        task: Of the campaign.

    Raises:
        InputError: The task has no such label or aspect, or the bound lets all grades or none through.
    """
    labels = [label.name for label in task.labels]
    if labels:
        if (label := said or USUAL) in labels:
            return Positive(LABEL, label=label)
        raise InputError(
            f"the task {task.name} has no label {label!r}: say what is looked for with --positive {'|'.join(labels)}"
        )
    example = f"{task.aspects[0].name}>={task.aspects[0].high}"
    parts = _GRADES.fullmatch((said or "").replace(" ", ""))
    if parts is None:
        raise InputError(
            f"--positive is {said!r}: a task with aspects needs one with a bound, such as --positive '{example}'"
        )
    aspect, high, bound = task.aspect(parts[1]), parts[2] == ">=", float(parts[3])
    if not (aspect.low < bound <= aspect.high if high else aspect.low <= bound < aspect.high):
        raise InputError(
            f"--positive {said} lets all grades of {aspect.low} to {aspect.high} through, or none: move the bound"
        )
    return Positive(aspect.name, bound=bound, high=high)


def labels_of(campaign: Campaign, positive: Positive) -> dict[str, float | None]:
    """Returns, of every unit that somebody answered, the share of raters who said positive.

    A final label takes the place of the raters'. The validation round is left out, since it says agree or disagree.

    Returns:
        None for a unit that all skipped, or whose final label is that it is discarded.
    """
    said: dict[str, list[bool]] = {}
    for answer in campaign.answers().values():
        if answer.round != VALIDATION and answer.aspect == positive.aspect:
            shares = said.setdefault(answer.unit_id, [])
            if answer.value is not None:
                shares.append(positive.of(answer.value))
    found: dict[str, float | None] = {
        unit_id: sum(shares) / len(shares) if shares else None for unit_id, shares in said.items()
    }
    if positive.aspect == LABEL:
        for decision in campaign.decisions().values():
            found[decision.unit_id] = None if decision.label is None else float(positive.of(decision.label))
    return found
