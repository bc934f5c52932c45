"""What the ledger says of a printed figure and the one computed anew."""

import pytest

from fcconan.reproduce.ledger import Status, status_of
from fcconan.reproduce.published import figure


@pytest.mark.parametrize(
    ("printed", "value", "status"),
    [
        ("129", 130, "differs"),  # a count that is off by one was not rounded
        ("4,040", 4040.0, "exact"),
        ("≈46", 46.80625, "rounding"),
        ("≈46", 47.1, "differs"),
        ("≈11.49%", 11.498786, "rounding"),
        (".50", 0.4951, "exact"),
        (".50", 0.4899, "differs"),
        (">63", 63.0, "differs"),
        (">63", 63.01, "exact"),
        ("0.5", None, "differs"),
    ],
)
def test_status(printed: str, value: float | None, status: Status) -> None:
    assert status_of(figure(printed), value) == status
