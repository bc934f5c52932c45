"""Names that are listed in two places are the same in both."""

from collections.abc import Collection
from typing import Any, get_args

import pytest

from fcconan.parsing.parsers import _VERDICTS
from fcconan.parsing.results import Verdict
from fcconan.scoring.agreement import _COEFFICIENTS, AGREEMENT_COEFFICIENTS
from fcconan.scoring.correlation.coefficients import COEFFICIENTS
from fcconan.scoring.correlation.levels import LEVELS
from fcconan.scoring.correlation.metric_tests import UNITS
from fcconan.services import AgreeOptions, CorrelateOptions


def words(kind: Any) -> set[str]:
    """The strings in a type, such as those of a `Literal`."""
    return {word for each in get_args(kind) for word in ([each] if isinstance(each, str) else words(each))}


def option(options: Any, name: str) -> set[str]:
    return words(options.model_fields[name].annotation)


@pytest.mark.parametrize(
    ("listed", "registry"),
    [
        (option(AgreeOptions, "coefficient"), AGREEMENT_COEFFICIENTS),
        (option(CorrelateOptions, "coefficient"), COEFFICIENTS),
        (option(CorrelateOptions, "level"), LEVELS),
        (option(CorrelateOptions, "tests"), UNITS),
        (words(Verdict), _VERDICTS),
    ],
)
def test_a_literal_lists_its_registry(listed: set[str], registry: Collection[str]) -> None:
    assert listed == set(registry)


def test_every_coefficient_of_agreement_has_its_terms_in_the_same_order() -> None:
    assert tuple(_COEFFICIENTS) == AGREEMENT_COEFFICIENTS
