"""Settings, result and log of a calibration, and their files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TextIO

import pydantic.dataclasses
import yaml
from pydantic import Field, TypeAdapter, ValidationError

import fcconan
from fcconan.data import YamlFile, explain_error, write_whole
from fcconan.errors import InputError
from fcconan.judging.calibration.data import CalibrationParts
from fcconan.judging.calibration.scores import CorrelationScore, Metric
from fcconan.judging.tasks import Aspect, Text

_Grade = Annotated[int, Field(strict=True)]  # in YAML, `yes` is true, which would be 1


@dataclass(frozen=True)
class CalibrationSettings:
    """Settings of a calibration; symbols are those of CSEval's Algorithm 1.

    Attributes:
        sizes: Numbers of examples in a request for a draft (L).
        trials: Number of drafts of each size (N).
        keep: Number of candidates that are refined in a round (k).
        rounds: Number of rounds of refinement.
        refinements: Number of requests for each edit of a candidate in a round (N of the second loop).
        errors: Number of misjudged examples in a request for a refinement.
        metric: Coefficient by which candidates are chosen, in the worst case of missing ratings.
        least_predicted: Smallest share of examples with a rating for a candidate to be chosen.
        temperatures: Range of the sampling temperatures of drafts; refinements use its upper end. None uses the default
            of the model.
        max_tokens: Longest answer of the drafter.
        resamples: Number of resamples of the bootstrap over items.
        seed: Seed of examples, temperatures, sampling and bootstrap.

    Raises:
        InputError: Sizes repeat, or temperatures are in the wrong order.
    """

    sizes: tuple[int, ...] = (3, 6)
    trials: int = 5
    keep: int = 3
    rounds: int = 1
    refinements: int = 1
    errors: int = 3
    metric: Metric = "spearman"
    least_predicted: float = 0.8
    temperatures: tuple[float, float] | None = (0.0, 0.5)
    max_tokens: int = 1024
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.sizes or len(set(self.sizes)) < len(self.sizes):
            raise InputError(f"sizes are {list(self.sizes)}: give one or more different numbers above 0")
        if self.temperatures and not 0 <= self.temperatures[0] <= self.temperatures[1]:
            raise InputError(f"temperatures are {list(self.temperatures)}: give the lower one first, from 0")

    def check(self, aspect: Aspect, parts: CalibrationParts) -> None:
        """Checks that an aspect can be calibrated with these ratings.

        Raises:
            InputError: Ratings are out of the scale or constant, or there are fewer examples than a draft needs.
        """
        for name, examples in parts:
            for example in examples:
                if not aspect.low <= example.value <= aspect.high:
                    raise InputError(
                        f"an example of {example.item} in the {name} part has the rating {example.value:g}: "
                        f"{aspect.name} has the scale {aspect.low} to {aspect.high}, so leave it out"
                    )
            if name != "draft" and len({example.value for example in examples}) == 1:
                raise InputError(
                    f"all {len(examples)} examples of the {name} part have the rating {examples[0].value:g}: a "
                    "correlation needs ratings that differ"
                )
        if max(self.sizes) > len(parts.draft):
            raise InputError(
                f"the largest size is {max(self.sizes)}, and the draft part has {len(parts.draft)} examples: lower it"
            )


@pydantic.dataclasses.dataclass(frozen=True)
class EvaluationSteps:
    """Calibrated evaluation steps of an aspect.

    Attributes:
        aspect: Name of the aspect.
        low: Lowest grade of the calibrated scale.
        high: Highest grade of the calibrated scale.
        steps: Evaluation steps.
        signature: Signature of the calibration.
    """

    aspect: str
    low: _Grade
    high: _Grade
    steps: Annotated[tuple[Text, ...], Field(min_length=1)]
    signature: str

    def onto(self, aspect: Aspect) -> Aspect:
        """Returns an aspect with these steps instead of its own.

        Raises:
            InputError: The steps were calibrated for another aspect or scale.
        """
        if (aspect.name, aspect.low, aspect.high) != (self.aspect, self.low, self.high):
            raise InputError(
                f"the steps were calibrated for {self.aspect} from {self.low} to {self.high}, not for {aspect.name} "
                f"from {aspect.low} to {aspect.high}: give steps for this aspect and scale"
            )
        return aspect.model_copy(update={"steps": list(self.steps)})


@dataclass(frozen=True)
class Calibration:
    """Result of a calibration.

    Attributes:
        steps: Best evaluation steps, with their aspect.
        candidate: Number of their candidate in the log.
        selection: Score on the selection part, which is too high, because the steps were chosen by it.
        report: Score on the report part.
        baseline: Score of the task's own steps on the report part.
        gain: `report` minus `baseline`, over the examples with both ratings.
        parts: `CalibrationParts.summary` of the parts.
        settings: Settings of the calibration.
        tally: Number of candidates by phase and status.
        failed_drafts: Number of requests to the drafter that failed for a temporary reason; another run repeats them.
    """

    steps: EvaluationSteps
    candidate: int
    selection: CorrelationScore
    report: CorrelationScore
    baseline: CorrelationScore
    gain: CorrelationScore
    parts: Mapping[str, Mapping[str, int | str]]
    settings: CalibrationSettings
    tally: Mapping[str, int]
    failed_drafts: int = 0

    def save(self, path: Path) -> None:
        """Writes the calibration as YAML, in one atomic step.

        Raises:
            OSError: The file cannot be written.
        """
        found = asdict(self)
        content = json.loads(json.dumps(found.pop("steps") | found))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**6))


def load_steps(path: Path) -> EvaluationSteps:
    """Reads the steps of a saved calibration, which may be edited.

    Args:
        path: File of `Calibration.save`, or another YAML file with its keys `aspect`, `low`, `high`, `steps` and
            `signature`.

    Raises:
        InputError: The file is missing or has other content.
    """
    if not path.is_file():
        raise InputError(f"{path} is missing: give a file of `fcconan judge calibrate`")
    file = YamlFile(path)
    try:
        return TypeAdapter(EvaluationSteps).validate_python(file.data)
    except ValidationError as error:
        raise InputError(explain_error(file, error, whole="the calibration", known_keys=lambda _: ())) from error


def signature(
    aspect: Aspect, parts: CalibrationParts, settings: CalibrationSettings, *, rater: str, drafter: str
) -> str:
    """Returns the signature of a calibration: all facts that change the steps and their scores.

    Args:
        aspect: Calibrated aspect.
        parts: Rated examples.
        settings: Settings of the calibration.
        rater: Name of the judge.
        drafter: Name of the model that writes the steps.
    """
    facts = {
        "fcconan": fcconan.__version__,
        "calibrate": aspect.name,
        "rater": rater,
        "drafter": drafter,
        **{name: f"{one['items']}-items-{one['fingerprint']}" for name, one in parts.summary().items()},
        "metric": settings.metric,
        "level": "pooled",
        "missing": "left-out",
        "selected": "worst-case",
        "least-predicted": settings.least_predicted,
        "sizes": ",".join(map(str, settings.sizes)),
        **{name: getattr(settings, name) for name in ("trials", "keep", "rounds", "refinements", "errors")},
        "temperatures": "-".join(map(str, settings.temperatures)) if settings.temperatures else "model",
        "max-tokens": settings.max_tokens,
        "bootstrap": f"{settings.resamples}-by-item",
        "seed": settings.seed,
    }
    return "|".join(f"{key}:{value}" for key, value in facts.items())


class Log:
    """JSON Lines file, whose name ends in `.partial` until it is complete.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, file: TextIO, partial: Path) -> None:
        self._file, self.partial = file, partial

    def write(self, record: Mapping[str, Any]) -> None:
        """Writes a record and flushes the file."""
        self._file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    @classmethod
    @contextmanager
    def at(cls, path: Path) -> Iterator[Self]:
        """Opens a log, and renames it at the end of the block unless an exception is raised."""
        partial = path.with_name(f"{path.name}.partial")
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            yield cls(file, partial)
        partial.replace(path)
