"""Options that several commands share."""

from typing import Any

import typer

MOST_ROWS = 1_000_000_000
MOST_SAMPLES = 10_000  # answers of a model to one question
MOST_TOKENS = 100_000_000  # of one answer, far beyond any model
MOST_RESAMPLES = 1_000_000  # more give nothing but a longer wait, and no memory holds them
LARGEST_SEED = 2**32 - 1  # of numpy's legacy generator, which scikit-learn and transformers use


def seed_option(help: str, *, least: int = 0, largest: int = LARGEST_SEED) -> Any:
    """Returns the option `--seed`.

    Args:
        help: The text in `--help`.
        least: -1 for commands in which it means that no seed is sent to the model.
        largest: A lower limit, for commands that derive further seeds by addition.
    """
    return typer.Option("--seed", min=least, max=largest, help=help)
