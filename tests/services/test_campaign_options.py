"""Values out of range are refused before anything of a campaign is read; the modules below do not check them again."""

import math
from typing import Any

import pytest

from fcconan.services import (
    AssignOptions,
    Configuration,
    ConfigurationError,
    SimulateOptions,
    ValidateOptions,
)

REFUSED: list[tuple[type[Configuration], str, tuple[Any, ...]]] = [
    (ValidateOptions, "overlap", ({2: 1.5}, {3: 0.1})),
    (AssignOptions, "overlap", ({2: 1.5}, {2: math.nan}, {4: 0.1})),
    (AssignOptions, "pass_mark", (80.0, -0.1, math.nan)),
    (AssignOptions, "tolerance", (-1.0, math.inf)),
    (SimulateOptions, "accuracy", (-0.1, 1.1, math.nan)),
]


@pytest.mark.parametrize(
    ("options", "name", "value"),
    [(options, name, value) for options, name, values in REFUSED for value in values],
)
def test_values_out_of_range_are_refused(options: type[Configuration], name: str, value: Any) -> None:
    assert options()
    with pytest.raises(ConfigurationError, match=rf"^{options.__name__}: {name}"):
        options(**{name: value})
