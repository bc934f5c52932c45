"""Simulation of an annotation queue on units with known labels, and the number of judgements that it needs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fcconan.annotation.queue_estimate import estimate
from fcconan.annotation.queue_model import EXPLORE, RANDOM_SHARE, Problem, choose, predict
from fcconan.errors import InputError
from fcconan.scoring import Floats

Model = Callable[[Problem, Floats], Floats]


class Replay(NamedTuple):
    """A simulated queue.

    Attributes:
        order: Indices of the units in the order of judgement.
        estimates: Estimates after each batch; empty unless requested.
    """

    order: list[int]
    estimates: list[dict[str, Any]]


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
    """Simulates a queue. The model sees the labels of the judged units only.

    Args:
        problem: Units with their features.
        positive: Labels of the units; shape (units,).
        batch: Number of units in a batch.
        random_share: Share of a batch that is selected at random.
        seed: Seed of the random selection and of the order within a batch.
        until: Share of the positives at which the simulation ends; None to judge all units.
        estimates: Whether to estimate the unseen positives after every batch.
        confidence: Confidence level of the intervals of the estimates.
        model: Function that predicts labels.
        explore: Weight of the uncertainty about columns.

    Raises:
        InputError: A batch is empty, or no label is positive.
    """
    if batch < 1 or not positive.any():
        raise InputError(f"batches of {batch} with {int(positive.sum())} positives: give 1 or more of both")
    generator = np.random.default_rng(seed)
    labels = np.full(len(positive), np.nan)
    order: list[int] = []
    draws: list[tuple[bool, float, float, int]] = []
    known: list[dict[str, Any]] = []
    target = np.inf if until is None else np.ceil(round(until * positive.sum(), 9))
    while (left := np.isnan(labels)).any() and np.nansum(labels) < target:
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
        drawn = choice["drawn"], choice["probabilities"], choice["smallest"]
        for place, probability, smallest in zip(*drawn, strict=True):
            draws.append((bool(positive[place]), probability, smallest, found))
            found += int(positive[place])
        chosen = np.array(choice["drawn"] + choice["likely"])
        labels[chosen] = positive[chosen]
        order += generator.permutation(chosen).tolist()
        if estimates:
            found, unjudged = int(np.nansum(labels)), int(np.isnan(labels).sum())
            known.append(estimate(draws, found=found, left=unjudged, confidence=confidence))
    return Replay(order, known)


def needed(order: Sequence[int], positive: npt.NDArray[np.bool_], share: float) -> int:
    """Returns the number of judgements after which a share of the positives is found.

    Raises:
        InputError: The order does not contain the share.
    """
    target = int(np.ceil(round(share * positive.sum(), 9)))
    found = np.cumsum(positive[np.array(order)])
    if found[-1] < target:
        raise InputError(f"the order has {found[-1]} positives; expected {target}: replay for longer")
    return int(np.searchsorted(found, target)) + 1


def needed_at_random(n_units: int, n_positive: int, share: float) -> float:
    """Returns the mean number of judgements of random orders: k (n + 1) / (m + 1) for k of m positives in n units."""
    return float(np.ceil(round(share * n_positive, 9)) * (n_units + 1) / (n_positive + 1))
