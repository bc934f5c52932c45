"""Labels from the votes of raters of whom each errs in a way of their own (Dawid and Skene 1979).

A unit has one right label, drawn with the labels' shares; a rater who sees a unit with the label k says l with a
probability that depends on the rater, k and l alone. Shares, the raters' confusion matrices and the probability of each
label of each unit are found together by expectation and maximisation (EM). Beside a majority, the method counts a vote
for as much as the rater's other votes are worth, and turns round what somebody reliably says the wrong way.

What raters say may be more than what can be right: `not_sure` is an answer with probabilities of its own, and no label.

EM climbs to the nearest summit. It starts from the shares of the votes on each unit, so it is deterministic, and starts
near the labelling that most raters mean. A solution stays as likely when labels change places in it; the one is taken
in which what raters say agrees most with what is said to be right.

The method needs units that several raters judged. Where one judged each, nothing tells an error from a label, and it
may well give all units the same one.

This is our own: crowd-kit (1.4.2, kept up) has the method too, but needs `transformers`, has no answers beside the
labels, and no smoothing that would keep a rater with few votes from a probability of 0.
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
    """The solution of the method.

    Attributes:
        posteriors: Unit -> label -> probability that the label is right; labels in their order, summing to 1.
        confusion: Rater -> right label -> answer -> probability, summing to 1 over the answers.
        shares: Label -> its share of the units.
    """

    posteriors: dict[str, dict[str, float]]
    confusion: dict[str, dict[str, dict[str, float]]]
    shares: dict[str, float]

    def label(self, unit: str, *, at_least: float = 0.0) -> str | None:
        """Returns the most probable label of a unit; None if it is less probable than asked for, or not the only one.

        Args:
            unit: A unit with a vote.
            at_least: The least probability.
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
    """Finds labels, confusion matrices and shares.

    Args:
        votes: Unit -> rater -> what they said; whoever did not judge or skipped a unit is missing there.
        labels: What can be right, two or more; votes may say more, such as `not_sure`.
        smoothing: Votes, 0 or more, that are added to every cell of every confusion matrix and to the count of every
            label.
        iterations: Largest number of iterations, which end when no posterior changes by more than `TOLERANCE`; 0 leaves
            the start: the shares of the votes.

    Raises:
        InputError: There are no votes, or fewer than two labels.
    """
    if len(set(labels)) < 2 or len(set(labels)) < len(labels):
        raise InputError(f"found the labels {', '.join(labels) or 'none'}: give two or more different ones")
    units = [unit for unit, given in votes.items() if given]
    if not units:
        raise InputError("there are no votes: import some first")
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
    """The two steps of EM over votes as numbers.

    Attributes:
        unit: The unit of each vote; shape (votes,).
        rater: Its rater.
        said: The answer; answers that can be right come first.
        size: Number of units, raters, answers and labels.
        smoothing: Votes that are added to every cell.
    """

    unit: Integers
    rater: Integers
    said: Integers
    size: tuple[int, int, int, int]
    smoothing: float

    def start(self) -> Floats:
        """Returns the shares of votes for each label on each unit; of units without one, the shares of all votes."""
        units, _, said, labels = self.size
        counts = np.zeros((units, said))
        np.add.at(counts, (self.unit, self.said), 1.0)
        counts = counts[:, :labels]
        total = counts.sum(axis=0)
        overall = total / total.sum() if total.sum() else np.full(labels, 1 / labels)
        given = counts.sum(axis=1, keepdims=True)
        return np.where(given > 0, counts / np.maximum(given, 1.0), overall)

    def maximise(self, posteriors: Floats) -> tuple[Floats, Floats]:
        """Returns shares of labels and confusion matrices; shapes (labels,) and (raters, labels, answers)."""
        _, raters, said, labels = self.size
        counts = np.zeros((raters, said, labels))
        np.add.at(counts, (self.rater, self.said), posteriors[self.unit])
        counts = counts.swapaxes(1, 2) + self.smoothing
        total = counts.sum(axis=2, keepdims=True)
        # A rater who never met a label, without smoothing: nothing is known of their answers.
        confusion: Floats = np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1 / said)
        shares = posteriors.sum(axis=0) + self.smoothing
        return shares / shares.sum(), confusion

    def expect(self, shares: Floats, confusion: Floats) -> Floats:
        """Returns posteriors, by logarithms: the product over many raters would vanish."""
        joint = np.zeros((self.size[0], len(shares)))
        np.add.at(joint, self.unit, _log(confusion)[self.rater, :, self.said])
        joint += _log(shares)
        scaled = np.exp(joint - joint.max(axis=1, keepdims=True))
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))

    def best_order(self, posteriors: Floats) -> Integers:
        """Returns the order of the labels in which most votes are right; the present one where it is as good."""
        from scipy.optimize import linear_sum_assignment

        _, _, said, labels = self.size
        right = np.zeros((said, labels))
        np.add.at(right, self.said, posteriors[self.unit])
        right = right[:labels].T  # the right label, the answer
        found, meant = linear_sum_assignment(right, maximize=True)
        if np.trace(right) >= right[found, meant].sum() - 1e-9:
            return np.arange(labels, dtype=np.int64)
        return np.asarray(found[np.argsort(meant)], np.int64)


def _log(values: Floats) -> Floats:
    return np.log(np.maximum(values, 1e-300))
