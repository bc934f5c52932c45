"""The status of a recomputed value."""

import pytest

from fcconan.reproduction.published import parse_printed
from fcconan.reproduction.values import Status, status_of


@pytest.mark.parametrize(
    ("printed", "value", "status"),
    [
        ("129", 130, "differs"),  # a count that is off by one was not rounded
        ("4,040", 4040.0, "exact"),
        ("≈46", 46.80625, "rounding"),
        ("≈46", 47.1, "differs"),
        ("≈11.49%", 11.498786, "rounding"),
        (".50", 0.4951, "exact"),
        (".50", 0.4911, "differs"),  # neither truncation nor double rounding increases the value so far
        ("0.202", 0.203, "differs"),
        ("0.88", 0.8705, "differs"),
        ("0.626", 0.62546, "rounding"),  # 0.6255, then 0.626
        ("0.626", 0.625496, "rounding"),  # 0.62550, then 0.626
        ("0.626", 0.62544, "differs"),
        ("-0.05", -0.0599, "rounding"),
        ("-0.06", -0.0539, "differs"),
        ("-0.06", -0.05496, "rounding"),
        ("-0.05", -0.0401, "differs"),
        ("0.5", float("nan"), "differs"),
        (".50", 0.4899, "differs"),
        (">63", 63.0, "differs"),
        (">63", 63.01, "exact"),
        ("0.5", None, "differs"),
    ],
)
def test_status(printed: str, value: float | None, status: Status) -> None:
    assert status_of(parse_printed(printed), value) == status
