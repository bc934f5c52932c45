"""Suites of judges: YAML files with raters, the rows of datasets, and tests."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fcconan.data import YamlFile, content_folder
from fcconan.errors import InputError

Part = Literal["length", "surface", "message", "reply", "pair"]
EXAMPLE = "benchmarks/judges.yaml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LexicalRater(_Strict):
    """Lexical baseline."""

    kind: Literal["lexical"]
    task: str = Field(description="Task with the aspects and their scales.")


class TrainedRater(_Strict):
    """Rater that is trained on people's ratings and evaluated out of fold."""

    kind: Literal["learned", "control"]
    parts: list[Part] = Field(
        default_factory=list,
        description="Features: length, surface features, or embeddings of the message, the reply, or the pair.",
    )
    ratings: list[str] = Field(default_factory=list, description="Released raters whose ratings are features.")
    encoder: str = Field("minilm", description="Encoder of the embeddings.")
    permuted: bool = Field(False, description="Whether it learns from, and is evaluated on, shuffled ratings.")

    @model_validator(mode="after")
    def _sees_something(self) -> Self:
        if not (self.parts or self.ratings):
            raise ValueError("give parts, ratings, or both")
        return self


AnyRater = Annotated[LexicalRater | TrainedRater, Field(discriminator="kind")]


class SuiteRows(_Strict):
    """Rows of a dataset for the comparison."""

    split: str | None = Field(None, description="The split, unless the command names one.")
    clean: int | None = Field(None, ge=2, description="Number of clean rows at the beginning; default: all.")
    doubtful: str = Field("", description="Reason why the other rows are doubtful.")
    people: list[str] = Field(default_factory=list, description="Splits with the ratings of each person.")


class LabelCurve(_Strict):
    """Learning curve: agreement with people by the number of rated replies."""

    raters: list[str] = Field(description="Raters that learn.")
    labels: list[Annotated[int, Field(ge=10)]] = Field(description="Numbers of rated replies; all come last.")
    seeds: int = Field(3, ge=1, description="Random subsets of each size.")


class JudgeSuite(_Strict):
    """Suite of raters for the judge benchmark."""

    name: str = Field(description="Short name.")
    title: str = Field("", description="Name for people.")
    rows: dict[str, SuiteRows] = Field(default_factory=dict, description="Name of a dataset: its rows.")
    folds: int = Field(10, ge=2, le=1000, description="Folds over leakage groups of HS.")
    train_released: list[str] | Literal["all"] = Field(
        "all", description="Released raters that are also trained: their ratings and surface features."
    )
    raters: dict[str, AnyRater] = Field(description="Name of a rater: its configuration.")
    compare: list[str] = Field(default_factory=list, description="Raters whose differences are tested, all pairs.")
    curve: LabelCurve | None = Field(None, description="The label curve.")
    transfer: list[str] = Field(
        default_factory=list, description="Raters that are evaluated on held-out systems and rounds."
    )

    @model_validator(mode="after")
    def _names_trained_raters(self) -> Self:
        for key, names in (("curve", self.curve.raters if self.curve else []), ("transfer", self.transfer)):
            for name in names:
                if not isinstance(self.raters.get(name), TrainedRater):
                    raise ValueError(f"{key} names {name!r}: name raters of this suite that learn")
        return self


def load_judge_suite(path: Path | None = None) -> JudgeSuite:
    """Reads a suite of judges.

    Args:
        path: Suite file; default: `benchmarks/judges.yaml`.

    Raises:
        InputError: The file is unreadable, or has unknown or invalid entries; the message names the line.
    """
    path = path or content_folder() / EXAMPLE
    try:
        file = YamlFile(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give a suite such as {EXAMPLE}") from error
    try:
        return JudgeSuite.model_validate(file.data)
    except ValidationError as error:
        first = error.errors()[0]
        found = first["loc"]
        location = (*found[:2], *found[3:]) if found[:1] == ("raters",) else found  # without the kind, pydantic's own
        where = ".".join(map(str, location)) or "the suite"
        message = str(first["msg"]).removeprefix("Value error, ")
        raise InputError(
            f"{file.path}, line {file.line(location)}: {where}: {message}: compare with {EXAMPLE}"
        ) from error
