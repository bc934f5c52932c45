"""A queue played to its end on units whose labels are all known, and the judgements that it needed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fcconan.annotation.active_learning.model import EXPLORE, RANDOM_SHARE, Floats, Problem, choose, predict
from fcconan.annotation.active_learning.stopping import Draw, Estimate, estimate
from fcconan.errors import InputError

Model = Callable[[Problem, Floats], Floats]


@dataclass(frozen=True)
class Replay:
    """A queue that was played to its end.

    Attributes:
        order: Places of units in the order in which they were judged.
        estimates: What was known after each batch; empty if that was not asked for.
    """

    order: list[int]
    estimates: list[Estimate]


def replay(
    problem: Problem,
    positive: npt.NDArray[np.bool_],
    *,
    batch: int = 50,
    random_share: float = RANDOM_SHARE,
    seed: int = 0,
    until: float | None = None,
    estimates: bool = False,
    confidence: float = 0.95,
    model: Model = predict,
    explore: float = EXPLORE,
) -> Replay:
    """Plays a queue: the model is given the labels of the units that were asked for, and no others.

    Args:
        problem: The units.
        positive: Their labels; shape (units,).
        batch: Units in a batch.
        random_share: The part of a batch that is drawn by chance, as in `drawn_share`.
        seed: Of the draws, and of the order within a batch.
        until: Share of the positives after which it ends; None for when all units are judged.
        estimates: Whether the unseen positives are estimated after every batch.
        confidence: Of the estimates' intervals.
        model: What gives the expected labels.
        explore: The weight of what is unknown of columns, as in `promising`.

    Raises:
        InputError: A batch is empty, or there is no positive.
    """
    if batch < 1 or not positive.any():
        raise InputError(f"batches of {batch} with {int(positive.sum())} positives: give 1 or more of both")
    generator = np.random.default_rng(seed)
    labels = np.full(len(positive), np.nan)
    order: list[int] = []
    draws: list[Draw] = []
    known: list[Estimate] = []
    wanted = np.inf if until is None else np.ceil(round(until * positive.sum(), 9))
    while (left := np.isnan(labels)).any() and np.nansum(labels) < wanted:
        choice = choose(
            model(problem, labels),
            left,
            problem.columns,
            size=batch,
            random_share=random_share,
            generator=generator,
            explore=explore,
        )
        found = int(np.nansum(labels))
        for place, probability, smallest in zip(choice.drawn, choice.probabilities, choice.smallest, strict=True):
            draws.append(Draw(bool(positive[place]), probability, smallest, found))
            found += int(positive[place])
        chosen = np.array(choice.drawn + choice.likely)
        labels[chosen] = positive[chosen]
        order += generator.permutation(chosen).tolist()
        if estimates:
            found, unasked = int(np.nansum(labels)), int(np.isnan(labels).sum())
            known.append(estimate(draws, found=found, left=unasked, confidence=confidence))
    return Replay(order, known)


def needed(order: Sequence[int], positive: npt.NDArray[np.bool_], share: float) -> int:
    """Returns how many units were judged when a share of the positives was found.

    Raises:
        InputError: It was not found in that order.
    """
    wanted = int(np.ceil(round(share * positive.sum(), 9)))
    found = np.cumsum(positive[np.array(order)])
    if found[-1] < wanted:
        raise InputError(f"{wanted} positives are wanted and {found[-1]} were found: replay for longer")
    return int(np.searchsorted(found, wanted)) + 1


def needed_at_random(n_units: int, n_positive: int, share: float) -> float:
    """Returns how many units a random order needs on average: k (n + 1) / (m + 1) for k of m positives in n."""
    return float(np.ceil(round(share * n_positive, 9)) * (n_units + 1) / (n_positive + 1))
