"""How simulated raters answer: their accuracy, bias and doubts, from a file or from options.

default: {accuracy: 0.9, not_sure: 0.05}          everybody
validators: {accuracy: 0.95}                      what is different for all validators
raters:
  annotator-3: {accuracy: 0.6, bias: {appropriate: 0.2}}
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fcconan.annotation.campaigns import Campaign, Rater, Role
from fcconan.annotation.votes import NOT_SURE
from fcconan.data import Location, YamlFile, explain
from fcconan.errors import InputError
from fcconan.judging import Aspect, Task

Floats = npt.NDArray[np.float64]


class Behaviour(BaseModel):
    """How a rater answers.

    Attributes:
        accuracy: How often a label is right that was given with a look at the texts; other labels are equally often.
        bias: Label -> share of the labels that are this one whatever is right (of comparisons: of the order as shown,
            so `a` favours the first reply); aspect -> what is added to every grade.
        not_sure: The share of units on which the answer is `not_sure`, if the task has that.
        skip: The share of units that are skipped.
        confusion: Right label -> what is said -> share, in place of `accuracy`, `bias` and `not_sure`.
        noise: The standard deviation of a grade before it is rounded.
        sharpness: Of comparisons of replies of known strength: by how much the logarithm of the odds grows with the
            difference of the strengths.
        ties: Of such comparisons: the weight of a tie (Davidson 1970); 0 for none.
        trusting: Of validators: how often they agree without a look.
        within: Of validators of grades: how far from their own a grade may be for them to agree.
        seconds: The median time for a unit; None where no time is measured.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    accuracy: float = Field(0.9, ge=0, le=1)
    bias: dict[str, float] = {}
    not_sure: float = Field(0.0, ge=0, le=1)
    skip: float = Field(0.0, ge=0, le=1)
    confusion: dict[str, dict[str, float]] | None = None
    noise: float = Field(0.7, ge=0)
    sharpness: float = Field(1.0, ge=0)
    ties: float = Field(0.3, ge=0)
    trusting: float = Field(0.0, ge=0, le=1)
    within: float = Field(1.0, ge=0)
    seconds: float | None = Field(30.0, gt=0)

    @model_validator(mode="after")
    def _shares(self) -> "Behaviour":
        for label, row in (self.confusion or {}).items():
            if min(row.values(), default=-1) < 0 or abs(sum(row.values()) - 1) > 1e-6:
                raise ValueError(f"what is said where {label} is right is {row}: give shares that make 1")
        return self


class Behaviours(BaseModel):
    """The file: what is said of everybody, of validators and of single raters, the later over the earlier.

    Attributes:
        default: Of everybody.
        validators: Of all validators.
        raters: By pseudonym.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    default: Behaviour = Behaviour()
    validators: Behaviour = Behaviour()
    raters: dict[str, Behaviour] = {}

    def of(self, rater: str, role: Role) -> Behaviour:
        """Returns how a rater answers."""
        parts = [self.default, *([self.validators] if role == "validator" else []), self.raters.get(rater, Behaviour())]
        given: dict[str, Any] = {}
        for part in parts:
            given |= part.model_dump(exclude_unset=True)
        return Behaviour.model_validate(given)


def read_behaviours(path: Path) -> Behaviours:
    """Reads the file of annotators.

    Raises:
        InputError: It cannot be read, or does not follow the format; the message names the line.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}: check --annotator-model")
    file = YamlFile(path)
    try:
        return Behaviours.model_validate(file.data)
    except ValidationError as error:

        def known(location: Location) -> list[str]:
            return list((Behaviour if location[:-1] else Behaviours).model_fields)

        raise InputError(explain(file, error, whole="the annotators", known_keys=known)) from error


def behaviours_of(campaign: Campaign, described: Behaviours) -> dict[str, Behaviour]:
    """Returns how each rater of a campaign answers.

    Raises:
        InputError: Somebody is described who is not there, or a bias or confusion names what the task does not have.
    """
    there: Mapping[str, Rater] = campaign.raters()
    if unknown := described.raters.keys() - there.keys():
        raise InputError(f"{min(unknown)} is described and no rater of {campaign.folder}: remove it, or add the rater")
    found = {name: described.of(name, rater.role) for name, rater in there.items()}
    for name, behaviour in found.items():
        check_names(campaign.task, name, behaviour)
    return found


def named_raters(campaign: Campaign, described: Behaviours, role: Role) -> list[str]:
    """Returns who of a role is known by name: who joined and has not left; before anybody joined, who is described.

    Then whoever has a name such as `validator-1`, as `fcconan annotate raters` gives it, is a validator.

    Raises:
        InputError: People joined, and somebody is described who is not among them.
    """
    if there := campaign.raters():
        behaviours_of(campaign, described)
        return [name for name, each in there.items() if each.role == role and each.state in ("active", "invited")]
    return [name for name in described.raters if name.startswith("validator-") == (role == "validator")]


def check_names(task: Task, rater: str, behaviour: Behaviour) -> None:
    """Checks that a behaviour names labels or aspects of the task, and leaves room for an answer.

    Raises:
        InputError: It does not.
    """
    names = answers_of(task) if task.labels else [aspect.name for aspect in task.aspects]
    confusion = behaviour.confusion or {}
    named = {*behaviour.bias, *confusion, *(said for row in confusion.values() for said in row)}
    if unknown := named - set(names):
        raise InputError(f"{rater}: the task {task.name} has no {min(unknown)}, only {', '.join(names)}: name these")
    if task.labels and (min(behaviour.bias.values(), default=0) < 0 or sum(behaviour.bias.values()) > 1):
        raise InputError(f"{rater}: the shares of bias are {behaviour.bias}: give shares from 0 that make 1 at most")
    if behaviour.confusion is not None and set(truths_of(task)) - set(behaviour.confusion):
        raise InputError(f"{rater}: give a row of confusion for each of {', '.join(truths_of(task))}")


def answers_of(task: Task) -> list[str]:
    """Returns what may be said in a task with labels: what can be right, then `not_sure`."""
    names = [label.name for label in task.labels]
    return [name for name in names if name != NOT_SURE] + [name for name in names if name == NOT_SURE]


def truths_of(task: Task) -> list[str]:
    """Returns what can be right in a task with labels."""
    return [name for name in answers_of(task) if name != NOT_SURE]


def label_shares(behaviour: Behaviour, task: Task) -> Floats:
    """Returns how often a rater who does not skip says what.

    Args:
        behaviour: The rater's.
        task: A task with labels.

    Returns:
        Shape (what can be right, what can be said), in the order of `answers_of`; each row sums to 1.
    """
    said, right = answers_of(task), truths_of(task)
    if behaviour.confusion is not None:
        return np.array([[behaviour.confusion[t].get(each, 0.0) for each in said] for t in right], np.float64)
    found = np.zeros((len(right), len(said)))
    found[:, : len(right)] = (1 - behaviour.accuracy) / (len(right) - 1)
    found[range(len(right)), range(len(right))] = behaviour.accuracy
    return _biased(found, behaviour, said)


def verdict_shares(behaviour: Behaviour, difference: Floats, task: Task) -> Floats:
    """Returns how often a rater who does not skip says what of replies of known strength.

    Bradley and Terry's model with ties as Davidson (1970) adds them: with d = sharpness * difference, `a`, `b` and
    `tie` are as exp(d / 2), exp(-d / 2) and the weight of ties.

    Args:
        behaviour: The rater's.
        difference: The strength of the reply shown as A less that of the other; shape (units,).
        task: A task of comparisons.

    Returns:
        Shape (units, what can be said), in the order of `answers_of`; each row sums to 1.
    """
    said = answers_of(task)
    half = np.clip(behaviour.sharpness * np.asarray(difference, np.float64) / 2, -300, 300)
    weights = {"a": np.exp(half), "b": np.exp(-half), "tie": np.full_like(half, behaviour.ties)}
    found = np.stack([weights.get(name, np.zeros_like(half)) for name in said], axis=1)
    return _biased(found / found.sum(axis=1, keepdims=True), behaviour, said)


def grades(behaviour: Behaviour, aspect: Aspect, right: Floats, generator: np.random.Generator) -> Floats:
    """Returns grades: right ones with the rater's bias and noise, rounded and clipped to the scale.

    Args:
        behaviour: The rater's.
        aspect: What is graded.
        right: The right grades, which need not be on the scale's steps.
        generator: Decides.
    """
    noise = generator.normal(0.0, 1.0, np.shape(right)) * behaviour.noise
    shifted = right + behaviour.bias.get(aspect.name, 0.0) + noise
    return np.asarray(np.clip(np.round(shifted, aspect.decimals), *aspect.scale), np.float64)


def _biased(shares: Floats, behaviour: Behaviour, said: Sequence[str]) -> Floats:
    blind = np.array([behaviour.bias.get(name, 0.0) for name in said])
    found: Floats = (1 - blind.sum()) * shares + blind
    if NOT_SURE in said:
        found *= 1 - behaviour.not_sure
        found[:, said.index(NOT_SURE)] += behaviour.not_sure
    return found
