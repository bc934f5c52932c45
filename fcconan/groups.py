"""Options that several commands share. On the command line each field is an option of its own."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from fcconan.errors import InputError

AtLeastOne = Annotated[int, Parameter(validator=validators.Number(gte=1))]
NotNegative = Parameter(validator=validators.Number(gte=0))
Share = Annotated[float, Parameter(validator=validators.Number(gte=0, lte=1))]


@Parameter(name="*")
@dataclass(frozen=True)
class Rows:
    """Which rows of a source are read, and how its columns are called.

    Attributes:
        split: Split of the dataset; required if it has several.
        rename: Columns with another name in some of the files, as in `--rename.text reply`.
        filter: Values of a column whose rows are used, as in `--filter.corpus conan`.
    """

    split: str | None = None
    rename: dict[str, str] = field(default_factory=dict)
    filter: dict[str, tuple[str, ...]] = field(default_factory=dict)


@Parameter(name="*")
@dataclass(frozen=True)
class Bootstrap:
    """Resamples of items for intervals, and random signs for tests.

    Attributes:
        resamples: Number of resamples, and of random signs; 0 for none.
        confidence: Confidence level of the intervals.
        seed: Seed of both.

    Raises:
        InputError: A number is out of range.
    """

    resamples: int = 10_000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if self.resamples < 0 or self.seed < 0 or not 0 < self.confidence < 1:
            raise InputError(
                f"found {self.resamples} resamples, confidence {self.confidence:g} and seed {self.seed}, expected 0 or "
                "more resamples, a confidence between 0 and 1, and a seed of 0 or more"
            )


@Parameter(name="*")
@dataclass(frozen=True)
class Endpoint:
    """How requests are sent to an OpenAI-compatible endpoint, and their largest cost.

    Attributes:
        base_url: Address of the endpoint; default: $OPENAI_BASE_URL.
        concurrency: Largest number of simultaneous requests; of a local model, prompts in a batch.
        timeout: Seconds to wait for a response.
        prices: YAML file of prices per million tokens, as in `MODEL: {input: 2.5, output: 10}`.
        max_cost: Cost at which the run ends, in the unit of `prices`.
        cache: Use stored answers; `--no-cache` asks again.
        structured_output: Ask for answers that follow a JSON Schema; `--no-structured-output` leaves it out.

    Raises:
        InputError: A number is out of range.
    """

    base_url: str | None = None
    concurrency: int = 8
    timeout: float = 120.0
    prices: Path | None = None
    max_cost: float | None = None
    cache: Annotated[bool, Parameter(negative="--no-cache")] = True
    structured_output: Annotated[bool, Parameter(negative="--no-structured-output")] = True

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.timeout <= 0:
            raise InputError(
                f"found concurrency {self.concurrency} and timeout {self.timeout:g}, expected 1 or more, and seconds "
                "above 0"
            )
