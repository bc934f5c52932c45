"""Groups of options that several services share; a configuration inherits those that it needs."""

from pathlib import Path
from typing import Any

from pydantic import field_validator

from fcconan.data import MAPPED_COLUMNS, did_you_mean
from fcconan.services.configuration import Configuration, option

MOST_RESAMPLES = 1_000_000  # more take longer without a better interval, and do not fit into memory
LARGEST_SEED = 2**32 - 1  # of numpy's legacy generator, which scikit-learn and transformers use

BOOTSTRAP, ROWS, ENDPOINT, DECODING = "Confidence intervals", "Selection of rows", "Model endpoint", "Decoding"


class Seed(Configuration):
    """The seed of all random choices."""

    seed: int = option(0, help="Seed of all random choices.", ge=0, le=LARGEST_SEED)


class Bootstrap(Configuration, group=BOOTSTRAP):
    """Confidence intervals from a bootstrap over items."""

    resamples: int = option(
        10_000, help="Number of bootstrap samples over items; 0 for no intervals.", ge=0, le=MOST_RESAMPLES
    )
    confidence: float = option(
        0.95, help="Confidence level of the intervals.", rare=True, gt=0, lt=1, metavar="FLOAT between 0 and 1"
    )
    seed: int = option(0, help="Seed of the bootstrap and of permutations.", ge=0, le=LARGEST_SEED)

    @property
    def bootstrap(self) -> dict[str, Any]:
        """The keyword arguments of scoring functions."""
        return {"resamples": self.resamples, "confidence": self.confidence, "seed": self.seed}


class RowSelection(Configuration, group=ROWS):
    """Which rows of a source are read, and how its columns are called."""

    split: str | None = option(None, help="Split of the dataset; required if it has several.", metavar="NAME")
    rename: dict[str, str] = option(
        {},
        help="Columns with another name in the files, such as text=reply.",
        metavar="NAME=COLUMN",
    )
    filter: dict[str, tuple[str, ...]] = option(
        {},
        help="Use only rows with this value; several values of a column are alternatives.",
        metavar="COLUMN=VALUE",
    )

    @field_validator("rename")
    @classmethod
    def _has_known_names(cls, given: dict[str, str]) -> dict[str, str]:
        """Refuses names that rows do not have."""
        for name in given:
            if name not in MAPPED_COLUMNS:
                hint = did_you_mean(name, MAPPED_COLUMNS)
                raise ValueError(f"rows have no column {name!r}: {hint}choose NAME among {', '.join(MAPPED_COLUMNS)}")
        return given

    @field_validator("filter", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        """Accepts a single value in place of a list with one value."""
        if not isinstance(given, dict):
            return given
        return {name: (values,) if isinstance(values, str) else values for name, values in given.items()}


class PartSelection(RowSelection, group=ROWS):
    """The same for one part of a dataset."""

    subset: str | None = option(
        None,
        help="Config of the dataset, such as replies, pairs or bronze; default: the one that the command needs.",
        rare=True,
        metavar="NAME",
    )
    split: str | None = option(
        None, help="Split of the dataset; required if it has several.", rare=True, metavar="NAME"
    )


class Calls(Configuration, group=ENDPOINT):
    """How requests are sent to an endpoint, and how much that may cost."""

    base_url: str | None = option(None, help="OpenAI-compatible endpoint; default: $OPENAI_BASE_URL.", metavar="URL")
    concurrency: int = option(8, help="Largest number of simultaneous requests of a process.", rare=True, ge=1)
    timeout: float = option(
        120.0, help="Seconds to wait for a response of the endpoint.", rare=True, metavar="SECONDS", gt=0
    )
    retries: int = option(4, help="Further attempts after a failed request.", rare=True, ge=0)
    prices: Path | None = option(
        None,
        help="YAML file of prices per million tokens: MODEL: {input: 2.5, output: 10}.",
        rare=True,
        metavar="FILE",
        role="read",
    )
    max_cost: float | None = option(
        None, help="Stop before this run costs more, in the unit of --prices.", metavar="FLOAT", ge=0
    )
    dry_run: bool = option(False, help="Print the planned requests and their cost; send and change nothing.")


class Endpoint(Calls, group=ENDPOINT):
    """The same with a response cache, a form of the requests, and the models of this machine."""

    api_key_variable: str = option(
        "OPENAI_API_KEY", help="Environment variable that holds the API key.", rare=True, metavar="NAME"
    )
    response_cache: Path | None = option(
        None,
        help="File of the response cache; default: in the cache folder.",
        rare=True,
        metavar="FILE",
        role="write",
    )
    requests_per_minute: float | None = option(
        None, help="Largest number of requests per minute.", rare=True, metavar="FLOAT", gt=0
    )
    structured_output: bool = option(True, help="Request structured output where the endpoint supports it.", rare=True)
    request_field: tuple[str, ...] = option(
        (),
        help="Field of every request, such as reasoning_effort=low; NAME= leaves it out.",
        rare=True,
        metavar="NAME=VALUE",
    )
    fresh: bool | None = option(
        None,
        help="Repeat all requests and keep older answers; --no-fresh abandons such a run that was interrupted.",
        rare=True,
    )
    device: str | None = option(None, help="Device of local models, such as cpu or cuda.", rare=True, metavar="NAME")
    batch_size: int | None = option(
        None, help="Number of prompts in a batch of a local model; default: 8.", rare=True, ge=1, le=65_536
    )


class Decoding(Configuration, group=DECODING):
    """How a language model samples its output."""

    temperature: float | None = option(
        None,
        help="Sampling temperature; default: that of the decoding settings, or 0, or 1 for several samples.",
        rare=True,
        metavar="FLOAT",
        ge=0,
    )
    max_tokens: int | None = option(None, help="Longest output of the model.", rare=True, ge=1)
    seed: int = option(0, help="Seed of all random choices.", rare=True, ge=0, le=LARGEST_SEED)
    send_seed: bool = option(True, help="Send the seed to the model.", rare=True)

    @property
    def sent_seed(self) -> int | None:
        """The seed that requests carry; None if it is not sent."""
        return self.seed if self.send_seed else None
