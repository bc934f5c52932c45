"""Active learning: batches of units, the most valuable first, until enough positives are found.

Every batch is a round `queue-N` and a line in `queue.jsonl`, which lists the units drawn at random, their
probabilities, and the units taken as likely positives. Before every batch, the model is fitted to all answers so far.
No rater gets a unit twice, in any round. A unit with an answer from another round may be chosen like any other; it is
not assigned again.
"""

from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from fcconan.annotation.active_learning.features import Positive, labels_of
from fcconan.annotation.active_learning.model import RANDOM_SHARE, Floats, Problem, choose, predict, shuffled
from fcconan.annotation.active_learning.stopping import Draw, Estimate, State, decide, estimate
from fcconan.annotation.campaigns import VALIDATION, Assignment, Campaign, Row
from fcconan.annotation.rounds import active_annotators
from fcconan.errors import InputError

FILE = "queue.jsonl"
PREFIX = "queue-"


@dataclass(frozen=True)
class Batch:
    """A batch of the queue, a line of `queue.jsonl`.

    Attributes:
        round: Name of the round.
        positive: Target of the search.
        seed: Seed of the draws and of the raters' orders.
        outside: Units assigned or answered before the first batch; the model uses their answers. Only in the first
            batch.
        again: Units of earlier batches whose raters left.
        drawn: Units drawn at random, in the order of the draws.
        probabilities: Probability of each draw.
        smallest: Lower bound of the probabilities of all remaining units at each draw.
        likely: Units taken as likely positives, the most promising first.
    """

    round: str
    positive: str
    seed: int
    outside: list[str]
    again: list[str]
    drawn: list[str]
    probabilities: list[float]
    smallest: list[float]
    likely: list[str]

    @property
    def chosen(self) -> list[str]:
        """Units of the batch that no earlier batch had."""
        return self.drawn + self.likely


class Queue:
    """The state of a campaign's queue.

    Args:
        campaign: The campaign.
        positive: Target of the search.

    Attributes:
        labels: Share of positive answers of every answered unit; None if all raters skipped it.
        batches: Batches so far.
        left: Units in no batch.
        waiting: Units of batches that wait for an answer, in any round.
        relieved: Units of batches without an answer and without an assignment.
        stuck: Such units that every active rater had before; they need another rater.

    Raises:
        InputError: `queue.jsonl` cannot be read, or has another target.
    """

    def __init__(self, campaign: Campaign, positive: Positive) -> None:
        self.campaign, self.positive = campaign, positive
        self.labels = labels_of(campaign, positive)
        self.batches = _batches(campaign)
        other = next((batch.positive for batch in self.batches if batch.positive != str(positive)), None)
        if other is not None:
            raise InputError(f"the queue searches {other}, found {positive}: give --positive {other!r}, as before")
        items = [unit.unit_id for unit in campaign.items()]
        self.raters = campaign.active("annotator")
        assigned = [(name, each) for name in campaign.rounds() for each in campaign.assignments(name)]
        self._had = {each.key for each in campaign.history()} | {each.key for _, each in assigned}
        held = {each.unit_id for name, each in assigned if name != VALIDATION and not each.withdrawn}
        outside = set(self.batches[0].outside) if self.batches else self.labels.keys() | held
        self.outside = [unit_id for unit_id in items if unit_id in outside]
        self.scope = [unit_id for unit_id in items if unit_id not in outside]
        chosen = {unit_id for batch in self.batches for unit_id in batch.chosen}
        self.left = [unit_id for unit_id in self.scope if unit_id not in chosen]
        unanswered = [unit_id for unit_id in self.scope if unit_id in chosen and unit_id not in self.labels]
        self.waiting = [unit_id for unit_id in unanswered if unit_id in held]
        rest = [unit_id for unit_id in unanswered if unit_id not in held]
        self.stuck = [unit_id for unit_id in rest if self.raters and not self._may_judge(unit_id)]
        self.relieved = [unit_id for unit_id in rest if unit_id not in set(self.stuck)]

    def estimate(self, confidence: float) -> Estimate:
        """Estimates the number of unseen positives, from the draws of all batches up to the first unfinished one."""
        draws: list[Draw] = []
        found = 0
        for batch in self.batches:
            if any(unit_id not in self.labels for unit_id in batch.chosen):
                break
            before = found
            for unit_id, probability, smallest in zip(batch.drawn, batch.probabilities, batch.smallest, strict=True):
                draws.append(Draw(self._is_positive(unit_id), probability, smallest, before))
                before += self._is_positive(unit_id)
            found += sum(map(self._is_positive, batch.chosen))
        unjudged = len(self.left) + len(self.waiting) + len(self.relieved) + len(self.stuck)
        return estimate(draws, found=self.found, left=unjudged, confidence=confidence)

    @property
    def found(self) -> int:
        """Number of positives in the batches."""
        return sum(self._is_positive(unit_id) for batch in self.batches for unit_id in batch.chosen)

    def next_batch(
        self, problem: Problem, *, size: int, random_share: float, seed: int
    ) -> tuple[Batch, list[Assignment]]:
        """Chooses the next batch and assigns each unit to the rater with the smallest load.

        Units with an answer from another round, and units that every rater had before, are not assigned.

        Args:
            problem: Features of the units, in the order of the campaign's items.
            size: Number of units in the batch.
            random_share: Share of units drawn at random, as for `drawn_share`.
            seed: Seed of the draws and of the raters' orders.

        Returns:
            The batch and its assignments.

        Raises:
            InputError: No rater is active.
        """
        active_annotators(self.campaign)  # raises InputError if there are none
        generator = np.random.default_rng([seed, len(self.batches) + 1])
        items = [unit.unit_id for unit in self.campaign.items()]
        known = [self.labels.get(unit_id) for unit_id in items]
        labels: Floats = np.array([np.nan if value is None else value for value in known])
        waiting, again = set(self.left), self.relieved[:size]
        left = np.array([unit_id in waiting for unit_id in items])
        choice = choose(
            predict(problem, labels),
            left,
            problem.columns,
            size=size - len(again),
            random_share=random_share,
            generator=generator,
        )
        batch = Batch(
            f"{PREFIX}{len(self.batches) + 1}",
            str(self.positive),
            seed,
            [] if self.batches else self.outside,
            again,
            [items[place] for place in choice.drawn],
            choice.probabilities,
            choice.smallest,
            [items[place] for place in choice.likely],
        )
        return batch, self._given_out(batch, generator)

    def _given_out(self, batch: Batch, generator: np.random.Generator) -> list[Assignment]:
        load = dict.fromkeys(self.raters, 0)
        for name in {each.round for each in self.batches}:
            for each in self.campaign.assignments(name):
                if each.rater in load and not each.withdrawn:
                    load[each.rater] += 1
        lots: dict[str, list[str]] = {rater: [] for rater in self.raters}
        for unit_id in shuffled(batch.again + batch.chosen, generator):
            may_judge = self._may_judge(unit_id)
            if unit_id not in self.labels and may_judge:
                rater = min(may_judge, key=lambda rater: load[rater])
                lots[rater].append(unit_id)
                load[rater] += 1
        turns = self.campaign.task.unit == "comparison"
        return [
            Assignment(rater, unit_id, position, swapped=bool(turns and generator.random() < 0.5))
            for rater, lot in lots.items()
            for position, unit_id in enumerate(lot, start=1)
        ]

    def _may_judge(self, unit_id: str) -> list[str]:
        return [rater for rater in self.raters if (rater, unit_id) not in self._had]

    def _is_positive(self, unit_id: str) -> bool:
        return (self.labels.get(unit_id) or 0.0) > 0.5


def queue_summary(queue: Queue, batch: Batch | None, *, target: float, confidence: float) -> Row:
    """Returns the state of the search as a JSON object.

    Args:
        queue: State before the new batch.
        batch: New batch; None if there is none.
        target: Target recall.
        confidence: Confidence level of the interval.
    """
    known = queue.estimate(confidence)
    decision: State | Literal["not_answered"] = decide(known, target)
    not_answered = sum(unit_id not in queue.labels for unit_id in queue.outside)
    judged = len(queue.scope) - known.left
    rest = "waiting" if queue.waiting else "ready" if queue.left or queue.relieved else "done"
    if rest == "done" and queue.stuck:
        rest = "stuck"
    if decision != "go_on" and not_answered:  # these units may be positive
        decision = "not_answered"
        rest = decision if rest == "done" else rest
    return {
        "state": "batch" if batch else rest,
        "round": batch.round if batch else queue.batches[-1].round if queue.batches else None,
        "positive": str(queue.positive),
        "units": {
            "all": len(queue.scope),
            "outside": len(queue.outside),
            "outside_not_answered": not_answered,
            "judged": judged,
            "skipped": sum(queue.labels.get(unit_id, 0.0) is None for each in queue.batches for unit_id in each.chosen),
            "waiting": len(queue.waiting),
            "relieved": len(queue.relieved),
            "stuck": len(queue.stuck),
        },
        "batch": None
        if batch is None
        else {name: len(getattr(batch, name)) for name in ("likely", "drawn", "again")}
        | {"answered": sum(unit_id in queue.labels for unit_id in batch.chosen)},
        "estimate": asdict(known) | {"confidence": confidence},
        "target_recall": target,
        "decision": decision,
    }


def make_batch(
    campaign: Campaign,
    queue: Queue,
    problem: Problem,
    *,
    size: int = 50,
    random_share: float = RANDOM_SHARE,
    seed: int,
    while_open: bool = False,
) -> Batch | None:
    """Makes the next round, unless the last one has open units or no units remain; call it within `changing`.

    Args:
        campaign: The campaign.
        queue: State of the queue.
        problem: Features of the units, in the order of the campaign's items.
        size: Number of units in the batch.
        random_share: Share of units drawn at random, as for `drawn_share`.
        seed: Seed of the draws and of the raters' orders.
        while_open: Whether a batch is made although the last one has open units.

    Returns:
        The batch; None if there is none.

    Raises:
        InputError: No annotator is active.
    """
    if (queue.waiting and not while_open) or not (queue.left or queue.relieved):
        return None
    batch, assignments = queue.next_batch(problem, size=size, random_share=random_share, seed=seed)
    # The line of the queue is written first: a line without its round is ignored.
    campaign.write(FILE, [*queue.batches, batch])
    campaign.write(f"rounds/{batch.round}.jsonl", assignments)
    return batch


def _batches(campaign: Campaign) -> list[Batch]:
    batches = campaign.read(FILE, Batch)
    rounds = set(campaign.rounds())
    # The last step was interrupted before it wrote its round.
    while batches and batches[-1].round not in rounds:
        batches.pop()
    return batches
