"""What a calibration is asked to do, the log of what it does, and what comes of it, as files."""

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
from fcconan.data import YamlFile, explain, write_whole
from fcconan.errors import InputError
from fcconan.judging.calibration.data import CalibrationParts
from fcconan.judging.calibration.scores import CorrelationScore, Metric
from fcconan.judging.tasks import Aspect, Text

_Grade = Annotated[int, Field(strict=True)]  # in YAML, `yes` is true, which would be 1


@dataclass(frozen=True)
class CalibrationSettings:
    """What a calibration is asked to do.

    Attributes:
        sizes: How many examples a draft is written from (L of Algorithm 1).
        trials: Drafts of each size (N).
        keep: How many candidates are refined in a round (k).
        rounds: Rounds of refinement.
        refinements: How often each edit is asked for, of each candidate in a round (N of the second loop).
        errors: How many misjudged examples are shown.
        metric: What candidates are chosen by, in the worst case where ratings are missing.
        least_predicted: The share of examples that a candidate must have a rating for to be chosen.
        temperatures: Drafts are sampled at a temperature from this range, refinements at its upper end; None leaves
            it to the model.
        max_tokens: The longest answer of the drafter.
        resamples: Of the bootstrap over items.
        seed: Of examples, temperatures, sampling and bootstrap.

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
        """Refuses what cannot be calibrated.

        Raises:
            InputError: Ratings are off the scale or constant, or a draft wants more examples than there are.
        """
        for name, examples in parts:
            for example in examples:
                if not aspect.low <= example.value <= aspect.high:
                    raise InputError(
                        f"an example of {example.item} in the {name} part is rated {example.value:g}: {aspect.name} "
                        f"goes from {aspect.low} to {aspect.high}, so leave it out"
                    )
            if name != "draft" and len({example.value for example in examples}) == 1:
                raise InputError(
                    f"all {len(examples)} examples of the {name} part are rated {examples[0].value:g}: nothing can "
                    "correlate with that, so give ratings that differ"
                )
        if max(self.sizes) > len(parts.draft):
            raise InputError(
                f"sizes go up to {max(self.sizes)}, but the draft part has {len(parts.draft)} examples: lower them"
            )


@pydantic.dataclasses.dataclass(frozen=True)
class EvaluationSteps:
    """Calibrated evaluation steps, as strategies use them.

    Attributes:
        aspect: The name of the aspect.
        low: The lowest grade that they were calibrated for.
        high: The highest.
        steps: The steps.
        signature: Of the calibration.
    """

    aspect: str
    low: _Grade
    high: _Grade
    steps: Annotated[tuple[Text, ...], Field(min_length=1)]
    signature: str

    def onto(self, aspect: Aspect) -> Aspect:
        """Returns an aspect with these steps in place of its own.

        Raises:
            InputError: They were calibrated for another aspect or scale.
        """
        if (aspect.name, aspect.low, aspect.high) != (self.aspect, self.low, self.high):
            raise InputError(
                f"the steps were calibrated for {self.aspect} from {self.low} to {self.high}, not for {aspect.name} "
                f"from {aspect.low} to {aspect.high}: give steps that were calibrated for this aspect"
            )
        return aspect.model_copy(update={"steps": list(self.steps)})


@dataclass(frozen=True)
class Calibration:
    """What came of a calibration.

    Attributes:
        steps: The best evaluation steps, with their aspect.
        candidate: Their number in the log.
        selection: Their score on the selection part, which they were chosen by: too high an estimate.
        report: Their score on the report part.
        baseline: The score of the task's own steps on the report part.
        gain: The first less the second, on the examples that both have a rating for.
        parts: Of every part what `Parts.summary` says.
        settings: What was asked.
        tally: Candidates by phase and status.
        failed_drafts: Requests to the drafter that failed for a passing reason: another run asks them again.
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
        """Writes the calibration as YAML, whole or not at all.

        Raises:
            OSError: The file cannot be written.
        """
        found = asdict(self)
        content = json.loads(json.dumps(found.pop("steps") | found))
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**6))


def load_steps(path: Path) -> EvaluationSteps:
    """Reads the steps of a saved calibration; people may edit them.

    Args:
        path: What `Calibration.save` wrote, or a file with its keys `aspect`, `low`, `high`, `steps`, `signature`.

    Raises:
        InputError: The file is not there or holds something else.
    """
    if not path.is_file():
        raise InputError(f"{path} is not there: give a file that `fcconan judge calibrate` wrote")
    file = YamlFile(path)
    try:
        return TypeAdapter(EvaluationSteps).validate_python(file.data)
    except ValidationError as error:
        raise InputError(explain(file, error, whole="the calibration", known_keys=lambda _: ())) from error


def signature(
    aspect: Aspect, parts: CalibrationParts, settings: CalibrationSettings, *, rater: str, drafter: str
) -> str:
    """Returns the short string that names everything that changes the steps and their scores.

    Args:
        aspect: What is judged.
        parts: The examples.
        settings: What was asked.
        rater: The name of the judge.
        drafter: The name of the model that writes the steps.
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
    """A file of one JSON record a line, under the name with `.partial` until all is written.

    Raises:
        OSError: The file cannot be written.
    """

    def __init__(self, file: TextIO, partial: Path) -> None:
        self._file, self.partial = file, partial

    def write(self, record: Mapping[str, Any]) -> None:
        """Adds a record, which can be read at once."""
        self._file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    @classmethod
    @contextmanager
    def at(cls, path: Path) -> Iterator[Self]:
        """Begins a log, and gives it its name when the block ends well."""
        partial = path.with_name(f"{path.name}.partial")
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            yield cls(file, partial)
        partial.replace(path)
