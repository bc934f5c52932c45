"""Label aggregation by Dawid and Skene's model (1979): raters have individual error rates.

Every unit has one correct label. A rater who sees a unit with the correct label k answers l with a probability that
depends on the rater, k and l only. Label shares, confusion matrices of the raters and posterior probabilities of the
labels are estimated together by expectation maximisation (EM). Compared with a majority vote, the model weights each
vote by the rater's reliability, and corrects raters who confuse two labels systematically.

Answers may include more than the labels: `not_sure` is an answer with its own probabilities.

EM converges to a local optimum. It starts from the vote shares of each unit, so the result is deterministic and close
to the majority. The likelihood does not change if labels are permuted; the permutation with the highest agreement
between answers and labels is returned.

The model needs units with several votes. With one vote per unit, errors and labels cannot be separated, and all units
may get the same label.

This is an own implementation: crowd-kit (1.4.2, maintained) depends on `transformers`, supports no answers beyond the
labels, and has no smoothing, without which raters with few votes get probabilities of 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
SMOOTHING = 1.0
TOLERANCE = 1e-6
ITERATIONS = 2_000


@dataclass(frozen=True)
class DawidSkene:
    """The fitted model.

    Attributes:
        posteriors: Unit -> label -> posterior probability; labels in their order, with the sum 1.
        confusion: Rater -> correct label -> answer -> probability, with the sum 1 over the answers.
        shares: Label -> share of the units.
    """

    posteriors: dict[str, dict[str, float]]
    confusion: dict[str, dict[str, dict[str, float]]]
    shares: dict[str, float]

    def label(self, unit: str, *, at_least: float = 0.0) -> str | None:
        """Returns the most probable label of a unit; None if its probability is too low, or two labels are tied.

        Args:
            unit: A unit with a vote.
            at_least: Minimum probability.
        """
        found = self.posteriors[unit]
        best = max(found.values())
        names = [name for name, probability in found.items() if best - probability < 1e-9]
        return names[0] if len(names) == 1 and best >= at_least else None


def posterior_labels(
    votes: Mapping[str, Mapping[str, str]],
    labels: Sequence[str],
    *,
    smoothing: float = SMOOTHING,
    iterations: int = ITERATIONS,
) -> DawidSkene:
    """Fits Dawid and Skene's model.

    Args:
        votes: Unit -> rater -> answer; skipped units have no entry.
        labels: Possible labels, two or more; answers may include more, such as `not_sure`.
        smoothing: Pseudo-count, 0 or more, of every cell of the confusion matrices and of every label.
        iterations: Maximum number of iterations. EM stops when no posterior changes by more than `TOLERANCE`; 0 returns
            the vote shares.

    Returns:
        The fitted model.

    Raises:
        InputError: There are no votes, or fewer than two labels.
    """
    if len(set(labels)) < 2 or len(set(labels)) < len(labels):
        raise InputError(f"found the labels {', '.join(labels) or 'none'}: give two or more different labels")
    units = [unit for unit, given in votes.items() if given]
    if not units:
        raise InputError("the campaign has no votes: import answers first")
    raters = list(dict.fromkeys(rater for unit in units for rater in votes[unit]))
    said = list(dict.fromkeys([*labels, *sorted({vote for unit in units for vote in votes[unit].values()})]))
    place = {rater: at for at, rater in enumerate(raters)}
    numbered = [
        (at, place[rater], said.index(vote)) for at, unit in enumerate(units) for rater, vote in votes[unit].items()
    ]
    unit_of, rater_of, answer = np.array(numbered, np.int64).T
    model = _Model(unit_of, rater_of, answer, (len(units), len(raters), len(said), len(labels)), smoothing)
    posteriors = model.start()
    for _ in range(iterations):
        before, posteriors = posteriors, model.expect(*model.maximise(posteriors))
        if np.abs(posteriors - before).max() <= TOLERANCE:
            break
    posteriors = posteriors[:, model.best_order(posteriors)]
    shares, confusion = model.maximise(posteriors)
    return DawidSkene(
        {unit: dict(zip(labels, row, strict=True)) for unit, row in zip(units, posteriors.tolist(), strict=True)},
        {
            rater: {label: dict(zip(said, row, strict=True)) for label, row in zip(labels, matrix, strict=True)}
            for rater, matrix in zip(raters, confusion.tolist(), strict=True)
        },
        dict(zip(labels, shares.tolist(), strict=True)),
    )


@dataclass(frozen=True)
class _Model:
    """The two steps of EM on encoded votes.

    Attributes:
        unit: Unit of each vote; shape (votes,).
        rater: Rater of each vote; shape (votes,).
        answer: Answer of each vote; shape (votes,). Answers that are labels come first.
        size: Number of units, raters, answers and labels.
        smoothing: Pseudo-count of every cell.
    """

    unit: Integers
    rater: Integers
    answer: Integers
    size: tuple[int, int, int, int]
    smoothing: float

    def start(self) -> Floats:
        """Returns the vote shares of the labels of each unit; units without such a vote get the overall shares."""
        units, _, said, labels = self.size
        counts = np.zeros((units, said))
        np.add.at(counts, (self.unit, self.answer), 1.0)
        counts = counts[:, :labels]
        total = counts.sum(axis=0)
        overall = total / total.sum() if total.sum() else np.full(labels, 1 / labels)
        given = counts.sum(axis=1, keepdims=True)
        return np.where(given > 0, counts / np.maximum(given, 1.0), overall)

    def maximise(self, posteriors: Floats) -> tuple[Floats, Floats]:
        """Returns label shares and confusion matrices; shapes (labels,) and (raters, labels, answers)."""
        _, raters, said, labels = self.size
        counts = np.zeros((raters, said, labels))
        np.add.at(counts, (self.rater, self.answer), posteriors[self.unit])
        counts = counts.swapaxes(1, 2) + self.smoothing
        total = counts.sum(axis=2, keepdims=True)
        # Without smoothing, a rater without units of a label gets uniform probabilities.
        confusion: Floats = np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1 / said)
        shares = posteriors.sum(axis=0) + self.smoothing
        return shares / shares.sum(), confusion

    def expect(self, shares: Floats, confusion: Floats) -> Floats:
        """Returns posteriors; computed from logarithms, as products over many raters underflow."""
        joint = np.zeros((self.size[0], len(shares)))
        np.add.at(joint, self.unit, _log(confusion)[self.rater, :, self.answer])
        joint += _log(shares)
        scaled = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))

    def best_order(self, posteriors: Floats) -> Integers:
        """Returns the permutation of the labels with the most correct votes; ties keep the current order."""
        from scipy.optimize import linear_sum_assignment

        _, _, said, labels = self.size
        right = np.zeros((said, labels))
        np.add.at(right, self.answer, posteriors[self.unit])
        right = right[:labels].T  # shape (correct labels, answers)
        found, meant = linear_sum_assignment(right, maximize=True)
        if np.trace(right) >= right[found, meant].sum() - 1e-9:
            return np.arange(labels, dtype=np.int64)
        return np.asarray(found[np.argsort(meant)], np.int64)


def _log(values: Floats) -> Floats:
    return np.log(np.maximum(values, 1e-300))
