"""Which units a batch takes: a part by chance, the rest the likeliest positives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fcconan.annotation.active_learning.model import Floats, Places

RANDOM_SHARE = 0.2
# Of the probability of a draw, this much is in proportion to the uncertainty and the rest even. Positives are then
# drawn oftener, which costs less and says more; the even rest bounds the weight of those that the model overlooks.
BY_UNCERTAINTY = 0.8
LEAST, MOST = 0.01, 0.5  # expected labels are taken to be between these where chances are worked out


@dataclass(frozen=True)
class Choice:
    """The units of a batch, as places among all units.

    Attributes:
        drawn: Those taken by chance, in the order of the draws.
        probabilities: Of every draw, among what was left then.
        smallest: A lower bound of the probabilities of all that was left then.
        likely: Those expected to be positive, the likeliest first.
    """

    drawn: list[int]
    probabilities: list[float]
    smallest: list[float]
    likely: list[int]


def chances(expected: Floats) -> Floats:
    """Returns the probabilities of the first draw: mostly by the standard deviation of a label, partly even.

    A draw in proportion to the standard deviation sqrt(p (1 - p)) of the label gives the estimate of a total with the
    least variance.

    Args:
        expected: Expected labels of the units that are left; shape (units,).

    Returns:
        Shape (units,); they add up to 1.
    """
    bounded = np.clip(expected, LEAST, MOST)
    deviation = np.sqrt(bounded * (1 - bounded))
    found: Floats = (1 - BY_UNCERTAINTY) / len(expected) + BY_UNCERTAINTY * deviation / deviation.sum()
    return found


def choose(
    expected: Floats, left: npt.NDArray[np.bool_], *, size: int, random_share: float, generator: np.random.Generator
) -> Choice:
    """Chooses the next batch.

    Args:
        expected: Expected labels; shape (units,).
        left: Whether a unit may be chosen; shape (units,).
        size: Units in the batch; fewer if fewer are left.
        random_share: The part of them that is drawn by chance, rounded up.
        generator: Of the draws.
    """
    places: Places = np.flatnonzero(left)
    size = min(size, len(places))
    n_drawn = min(int(np.ceil(round(size * random_share, 9))), size)
    there = np.ones(len(places), dtype=bool)
    drawn, probabilities, smallest = [], [], []
    if n_drawn:
        even = chances(expected[places])
        least = float(even.min())
        for _ in range(n_drawn):
            among = np.where(there, even, 0.0)
            place = int(generator.choice(len(places), p=among / among.sum()))
            rest = float(among.sum())
            drawn.append(int(places[place]))
            probabilities.append(float(even[place]) / rest)
            smallest.append(least / rest)
            there[place] = False
    others = places[there]
    # Rounded, so that the last bits of a sum, which machines differ in, decide nothing.
    order = np.argsort(-np.round(expected[others], 6), kind="stable")[: size - n_drawn]
    return Choice(drawn, probabilities, smallest, [int(place) for place in others[order]])


def shuffled(units: Sequence[str], generator: np.random.Generator) -> list[str]:
    """Returns units in a random order, so that raters cannot tell likely from drawn ones."""
    return [units[place] for place in generator.permutation(len(units))]
