"""Models of simulated annotators: accuracy, bias and doubts, from a file or from options.

default: {accuracy: 0.9, not_sure: 0.05}          all raters
validators: {accuracy: 0.95}                      differences of all validators
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
from fcconan.data import Location, YamlFile, explain_error
from fcconan.errors import InputError
from fcconan.judging import Aspect, Task

Floats = npt.NDArray[np.float64]


class AnnotatorModel(BaseModel):
    """The model of an annotator.

    Attributes:
        accuracy: Probability that a considered label is correct; other labels have equal probabilities.
        bias: Label -> share of answers that are this label independent of the unit (comparisons: in the shown order, so
            `a` favours the first reply); aspect -> constant added to every grade.
        not_sure: Share of units with the answer `not_sure`, if the task has this label.
        skip: Share of skipped units.
        confusion: Correct label -> answer -> probability; replaces `accuracy`, `bias` and `not_sure`.
        noise: Standard deviation of a grade before rounding.
        sharpness: Comparisons with known strengths: slope of the log odds in the difference of the strengths.
        ties: Comparisons with known strengths: weight of a tie (Davidson 1970); 0 for none.
        trusting: Validators: probability of agreeing without an own judgement.
        within: Validators of grades: maximum distance from their own grade at which they agree.
        seconds: Median time for a unit; None if no time is recorded.
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
    def _shares(self) -> "AnnotatorModel":
        for label, row in (self.confusion or {}).items():
            if min(row.values(), default=-1) < 0 or abs(sum(row.values()) - 1) > 1e-6:
                raise ValueError(f"the shares of answers to {label} are {row}: give shares with the sum 1")
        return self


class AnnotatorModels(BaseModel):
    """The file of annotator models; more specific values override general ones.

    Attributes:
        default: Model of all raters.
        validators: Differences of all validators.
        raters: Differences of single raters, by pseudonym.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    default: AnnotatorModel = AnnotatorModel()
    validators: AnnotatorModel = AnnotatorModel()
    raters: dict[str, AnnotatorModel] = {}

    def of(self, rater: str, role: Role) -> AnnotatorModel:
        """Returns the model of a rater."""
        parts = [
            self.default,
            *([self.validators] if role == "validator" else []),
            self.raters.get(rater, AnnotatorModel()),
        ]
        given: dict[str, Any] = {}
        for part in parts:
            given |= part.model_dump(exclude_unset=True)
        return AnnotatorModel.model_validate(given)


def read_annotator_models(path: Path) -> AnnotatorModels:
    """Reads a file of annotator models.

    Raises:
        InputError: The file cannot be read, or has another format; the message names the line.
    """
    if not path.is_file():
        raise InputError(f"the file {path} does not exist: check --annotator-model")
    file = YamlFile(path)
    try:
        return AnnotatorModels.model_validate(file.data)
    except ValidationError as error:

        def known(location: Location) -> list[str]:
            return list((AnnotatorModel if location[:-1] else AnnotatorModels).model_fields)

        raise InputError(explain_error(file, error, whole="the annotators", known_keys=known)) from error


def annotator_models(campaign: Campaign, described: AnnotatorModels) -> dict[str, AnnotatorModel]:
    """Returns the model of each rater of a campaign.

    Raises:
        InputError: The file describes an unknown rater, or a bias or confusion has an unknown label or aspect.
    """
    there: Mapping[str, Rater] = campaign.raters()
    if unknown := described.raters.keys() - there.keys():
        raise InputError(f"{min(unknown)} is not a rater of {campaign.folder}: remove it, or add the rater")
    found = {name: described.of(name, rater.role) for name, rater in there.items()}
    for name, behaviour in found.items():
        _check_names(campaign.task, name, behaviour)
    return found


def _check_names(task: Task, rater: str, behaviour: AnnotatorModel) -> None:
    """Checks that a model has labels or aspects of the task, and valid shares.

    Raises:
        InputError: It has not.
    """
    names = answers_of(task) if task.labels else [aspect.name for aspect in task.aspects]
    confusion = behaviour.confusion or {}
    named = {*behaviour.bias, *confusion, *(said for row in confusion.values() for said in row)}
    if unknown := named - set(names):
        raise InputError(f"{rater}: the task {task.name} has no {min(unknown)}, expected one of {', '.join(names)}")
    if task.labels and (min(behaviour.bias.values(), default=0) < 0 or sum(behaviour.bias.values()) > 1):
        raise InputError(
            f"{rater}: the shares of bias are {behaviour.bias}: give shares from 0 with a sum of at most 1"
        )
    if behaviour.confusion is not None and set(truths_of(task)) - set(behaviour.confusion):
        raise InputError(f"{rater}: give a row of confusion for each of {', '.join(truths_of(task))}")


def answers_of(task: Task) -> list[str]:
    """Returns the possible answers in a task with labels: the labels, then `not_sure`."""
    names = [label.name for label in task.labels]
    return [name for name in names if name != NOT_SURE] + [name for name in names if name == NOT_SURE]


def truths_of(task: Task) -> list[str]:
    """Returns the labels that can be correct."""
    return [name for name in answers_of(task) if name != NOT_SURE]


def label_shares(behaviour: AnnotatorModel, task: Task) -> Floats:
    """Returns the probabilities of a rater's answers that are not skipped.

    Args:
        behaviour: Model of the rater.
        task: A task with labels.

    Returns:
        Probabilities by correct label and answer, in the order of `answers_of`; each row has the sum 1. Shape (labels,
        answers).
    """
    said, right = answers_of(task), truths_of(task)
    if behaviour.confusion is not None:
        return np.array([[behaviour.confusion[t].get(each, 0.0) for each in said] for t in right], np.float64)
    found = np.zeros((len(right), len(said)))
    found[:, : len(right)] = (1 - behaviour.accuracy) / (len(right) - 1)
    found[range(len(right)), range(len(right))] = behaviour.accuracy
    return _biased(found, behaviour, said)


def verdict_shares(behaviour: AnnotatorModel, difference: Floats, task: Task) -> Floats:
    """Returns the probabilities of a rater's verdicts on replies of known strength.

    The model is Bradley and Terry's with ties (Davidson 1970): with d = sharpness * difference, the weights of `a`, `b`
    and
    `tie` are exp(d / 2), exp(-d / 2) and `ties`.

    Args:
        behaviour: Model of the rater.
        difference: Strength of the reply shown as A minus strength of the other; shape (units,).
        task: A task of comparisons.

    Returns:
        Probabilities in the order of `answers_of`; each row has the sum 1. Shape (units, answers).
    """
    said = answers_of(task)
    half = np.clip(behaviour.sharpness * np.asarray(difference, np.float64) / 2, -300, 300)
    weights = {"a": np.exp(half), "b": np.exp(-half), "tie": np.full_like(half, behaviour.ties)}
    found = np.stack([weights.get(name, np.zeros_like(half)) for name in said], axis=1)
    return _biased(found / found.sum(axis=1, keepdims=True), behaviour, said)


def grades(behaviour: AnnotatorModel, aspect: Aspect, right: Floats, generator: np.random.Generator) -> Floats:
    """Returns simulated grades: true grades with bias and noise, rounded and clipped to the scale.

    Args:
        behaviour: Model of the rater.
        aspect: Aspect of the grades.
        right: True grades, not necessarily rounded.
        generator: Source of randomness.
    """
    noise = generator.normal(0.0, 1.0, np.shape(right)) * behaviour.noise
    shifted = right + behaviour.bias.get(aspect.name, 0.0) + noise
    return np.asarray(np.clip(np.round(shifted, aspect.decimals), *aspect.scale), np.float64)


def _biased(shares: Floats, behaviour: AnnotatorModel, said: Sequence[str]) -> Floats:
    blind = np.array([behaviour.bias.get(name, 0.0) for name in said])
    found: Floats = (1 - blind.sum()) * shares + blind
    if NOT_SURE in said:
        found *= 1 - behaviour.not_sure
        found[:, said.index(NOT_SURE)] += behaviour.not_sure
    return found
