"""Names that are listed in two places are the same in both."""

from collections.abc import Collection
from typing import Any, get_args

import pytest

from fcconan.parsing.parsers import _VERDICTS
from fcconan.parsing.results import Verdict
from fcconan.scoring import REFERENCE_COMBINATIONS
from fcconan.scoring.text.evaluation import _FAMILIES, REFERENCE_METRICS, TEXT_METRICS
from fcconan.scoring.text.tokenizers import _TOKENISERS, Tokens
from fcconan.services import AgreeOptions, MetricsOptions
from fcconan.services import CorrelateOptions, MetricsOptions


def words(kind: Any) -> set[str]:
    """The strings in a type, such as those of a `Literal`."""
    return {word for each in get_args(kind) for word in ([each] if isinstance(each, str) else words(each))}


def option(options: Any, name: str) -> set[str]:
    return words(options.model_fields[name].annotation)


@pytest.mark.parametrize(
    ("listed", "registry"),
    [
        (option(MetricsOptions, "multi_reference"), REFERENCE_COMBINATIONS),
        (words(Tokens), _TOKENISERS),
        (words(Verdict), _VERDICTS),
    ],
)
def test_a_literal_lists_its_registry(listed: set[str], registry: Collection[str]) -> None:
    assert listed == set(registry)


def test_every_text_metric_belongs_to_one_family() -> None:
    assert set(REFERENCE_METRICS) <= set(TEXT_METRICS)
    for name in TEXT_METRICS:
        assert len([family for family in _FAMILIES if name == family or name.startswith(f"{family}-")]) == 1, name
