"""Groups of options that several services share; a configuration inherits those that it needs."""

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
