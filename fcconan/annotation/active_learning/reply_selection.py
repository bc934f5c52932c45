"""Selection of replies to rate, for short intervals of the means of systems.

Replies are considered in a random order. A batch considers the next ones and selects some of them, each with a known
probability; the others are not considered again. With a budget of n replies out of N, n / N of the replies are selected
on average. The probability grows with the expected error of the judges, which is estimated from answers on earlier
replies. It does not depend on the answer to the reply itself, so 1 / probability is a valid weight in
`fcconan leaderboard --predicted-by` (Zrnic and Candes, "Active statistical inference", 2024).

The sum of variances of the systems' means is smallest if probabilities are proportional to the standard deviation of
the error, divided by the number of the system's replies. Half of each probability is uniform, which limits the weights
if the expected errors are wrong.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from fcconan.annotation.active_learning.features import Positive, Score
from fcconan.annotation.active_learning.model import Floats, standardised
from fcconan.annotation.active_learning.queue import FILE, PREFIX, Batch, Queue
from fcconan.annotation.assignment.rounds import active_annotators
from fcconan.annotation.campaigns import VALIDATION, Assignment, Campaign, Row
from fcconan.errors import InputError

GOAL = "intervals"  # target of the batches in queue.jsonl
EVEN = 0.5  # uniform share of the probabilities
FEWEST = 20  # minimum number of rated replies from which expected errors are estimated
PRIOR = 10  # pseudo-count of replies with the average error, in each third of the replies


class ReplyQueue(Queue):
    """The queue of a campaign on replies, with the goal of short intervals.

    Args:
        campaign: The campaign.

    Attributes:
        considered: Replies that a batch selected or passed.

    Raises:
        InputError: The units are not replies with grades, or the queue has another goal.
    """

    def __init__(self, campaign: Campaign) -> None:
        if campaign.task.unit != "reply" or not campaign.task.aspects:
            raise InputError(f"--budget needs grades of replies, and {campaign.task.name} has none: leave it out")
        goals = {batch.positive for batch in campaign.read(FILE, Batch)} - {GOAL}
        if goals:
            raise InputError(f"the queue of {campaign.folder} searches {goals.pop()}: leave --budget out")
        super().__init__(campaign, Positive(campaign.task.aspects[0].name, label=GOAL))
        self.considered = {unit for batch in self.batches for unit in (*batch.chosen, *batch.passed)}
        self.left = [unit for unit in self.left if unit not in self.considered]

    @property
    def n_selected(self) -> int:
        """Number of replies that batches selected."""
        return sum(len(batch.drawn) for batch in self.batches)

    def select(self, scores: Sequence[Score], *, budget: int, size: int, seed: int) -> tuple[Batch, list[Assignment]]:
        """Selects the next replies and assigns them to raters.

        Args:
            scores: Scores of judges.
            budget: Number of replies to select in all batches together.
            size: Number of replies in this batch.
            seed: Seed of the order of the replies, of the selection and of the raters' orders.

        Returns:
            The batch and its assignments.

        Raises:
            InputError: No rater is active.
        """
        active_annotators(self.campaign)
        again = self.relieved[:size]
        order = [self.left[at] for at in np.random.default_rng([seed, 0]).permutation(len(self.left))]
        open_budget = min(budget - self.n_selected, len(order))
        n_drawn = max(0, min(size - len(again), open_budget))
        n_considered = len(order) if n_drawn == open_budget else round(n_drawn * len(order) / open_budget)
        generator = np.random.default_rng([seed, len(self.batches) + 1])
        block = order[: n_considered if n_drawn else 0]
        places = {unit.unit_id: at for at, unit in enumerate(self.campaign.items())}
        errors = self._expected_errors(scores)[[places[unit] for unit in block]]
        chances = selection_probabilities(errors, n_drawn)
        selected = systematic_sample(chances, generator)
        batch = Batch(
            f"{PREFIX}{len(self.batches) + 1}",
            GOAL,
            seed,
            [] if self.batches else self.outside,
            again,
            [unit for unit, taken in zip(block, selected, strict=True) if taken],
            [float(chance) for chance in chances[selected]],
            [],
            [],
            [unit for unit, taken in zip(block, selected, strict=True) if not taken],
        )
        return batch, self._given_out(batch, generator)

    def _expected_errors(self, scores: Sequence[Score]) -> Floats:
        """Returns the expected error of the judges on each item, divided by the number of replies of its system."""
        items, texts = self.campaign.items(), self.campaign.texts()
        systems = [str(texts[str(unit.reply_a)].get("system")) for unit in items]
        counts = Counter(systems)
        values = [np.array([score.values.get(unit.unit_id, np.nan) for unit in items]) for score in scores]
        features = standardised(values, len(items))
        errors = expected_errors(features, self._grades([unit.unit_id for unit in items]))
        found: Floats = errors / np.array([counts[system] for system in systems])
        return found

    def _grades(self, units: Sequence[str]) -> Floats:
        """Returns the mean grades, each aspect scaled to 0 to 1; nan without a grade. Shape (aspects, units)."""
        places = {unit: at for at, unit in enumerate(units)}
        aspects = {aspect.name: at for at, aspect in enumerate(self.campaign.task.aspects)}
        scales = {aspect.name: (aspect.low, aspect.high) for aspect in self.campaign.task.aspects}
        sums, counts = np.zeros((2, len(aspects), len(units)))
        for answer in self.campaign.answers().values():
            if answer.round == VALIDATION or answer.value is None or answer.unit_id not in places:
                continue
            low, high = scales[answer.aspect]
            at = aspects[answer.aspect], places[answer.unit_id]
            sums[at] += (float(answer.value) - low) / (high - low)
            counts[at] += 1
        return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def expected_errors(features: Floats, grades: Floats) -> Floats:
    """Returns the expected standard deviation of people's grades around predictions from judges' scores.

    Grades are predicted by ridge regression. The deviation is estimated separately for the thirds of low, middle and
    high
    predictions.

    Args:
        features: Standardised scores of judges; shape (replies, judges).
        grades: Grades from 0 to 1; nan without a grade. Shape (aspects, replies).

    Returns:
        Root mean square over aspects, of shape (replies,); 1 for all replies without judges or with fewer than 20
        grades.
    """
    design = np.column_stack([np.ones(len(features)), features])
    variances = np.zeros(len(features))
    for values in grades:
        known = np.isfinite(values)
        if known.sum() < FEWEST or not features.shape[1]:
            return np.ones(len(features))
        seen = design[known]
        weights = np.linalg.solve(seen.T @ seen + np.eye(seen.shape[1]), seen.T @ values[known])
        predicted = design @ weights
        squares = (values[known] - predicted[known]) ** 2
        third = np.searchsorted(np.quantile(predicted, [1 / 3, 2 / 3]), predicted)
        total = np.bincount(third[known], squares, 3) + PRIOR * squares.mean()
        variances += (total / (np.bincount(third[known], minlength=3) + PRIOR))[third]
    return np.sqrt(variances / len(grades)) if variances.any() else np.ones(len(features))


def selection_probabilities(errors: Floats, n: int) -> Floats:
    """Returns selection probabilities with the sum n: half uniform, half proportional to the expected error; at most 1.

    Args:
        errors: Expected errors, above 0; shape (replies,).
        n: Number of replies to select, at most the number of replies.
    """
    if not len(errors):
        return np.zeros(0)
    sizes = EVEN + (1 - EVEN) * errors / errors.mean()
    found = np.zeros(len(errors))
    certain = np.zeros(len(errors), dtype=bool)
    while True:  # replies with a share above 1 are certain; the others share the rest
        rest = n - certain.sum()
        found = np.where(certain, 1.0, rest * sizes / sizes[~certain].sum() if rest > 0 else 0.0)
        above = ~certain & (found >= 1)
        if not above.any():
            return found
        certain |= above
        if certain.all():
            return np.ones(len(errors))


def systematic_sample(chances: Floats, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Selects replies with given probabilities by systematic sampling; their number is the sum (Madow, 1949)."""
    ends = np.floor(np.round(np.cumsum(chances), 9) + generator.random())
    found: npt.NDArray[np.bool_] = np.diff(ends, prepend=0.0) > 0
    return found


def select_replies(
    campaign: Campaign,
    queue: ReplyQueue,
    scores: Sequence[Score],
    *,
    budget: int,
    size: int,
    seed: int,
    while_open: bool = False,
) -> Batch | None:
    """Makes the next round, unless the last one has open units or the budget is spent; call it within `changing`.

    Args:
        campaign: The campaign.
        queue: State of the queue.
        scores: Scores of judges.
        budget: Number of replies to select in all batches together.
        size: Number of replies in this batch.
        seed: Seed of all random choices.
        while_open: Whether a batch is made although the last one has open units.

    Returns:
        The batch; None if there is none.

    Raises:
        InputError: No rater is active.
    """
    is_spent = queue.n_selected >= budget or not queue.left
    if (queue.waiting and not while_open) or (is_spent and not queue.relieved):
        return None
    batch, assignments = queue.select(scores, budget=budget, size=size, seed=seed)
    # The line of the queue is written first: a line without its round is ignored.
    campaign.write(FILE, [*queue.batches, batch])
    campaign.write(f"rounds/{batch.round}.jsonl", assignments)
    return batch


def selection_summary(queue: ReplyQueue, batch: Batch | None, budget: int) -> Row:
    """Returns the state of the queue before a new batch, and the content of the batch.

    Args:
        queue: State before the batch.
        batch: New batch; None if there is none.
        budget: Number of replies to select in all batches together.
    """
    is_spent = queue.n_selected >= budget or not queue.left
    rest = "stuck" if queue.stuck and is_spent else "done" if is_spent and not queue.relieved else "ready"
    chosen = [unit for each in queue.batches for unit in each.chosen]
    return {
        "state": "batch" if batch else "waiting" if queue.waiting else rest,
        "round": batch.round if batch else queue.batches[-1].round if queue.batches else None,
        "goal": GOAL,
        "budget": budget,
        "units": {
            "all": len(queue.scope),
            "outside": len(queue.outside),
            "considered": len(queue.considered),
            "selected": len(chosen),
            "judged": sum(unit in queue.labels for unit in chosen),
            "skipped": sum(unit in queue.labels and queue.labels[unit] is None for unit in chosen),
            "waiting": len(queue.waiting),
            "relieved": len(queue.relieved),
            "stuck": len(queue.stuck),
        },
        "batch": None
        if batch is None
        else {"drawn": len(batch.drawn), "passed": len(batch.passed), "again": len(batch.again)},
        "estimate": {},
    }


def stored_probabilities(campaign: Campaign) -> Mapping[str, float]:
    """Returns the selection probability of each selected reply, by unit; empty without such a queue."""
    batches = (batch for batch in campaign.read(FILE, Batch) if batch.positive == GOAL)
    return {unit: chance for batch in batches for unit, chance in zip(batch.drawn, batch.probabilities, strict=True)}
