"""Model first, people verify: batches of units, the most valuable first, until enough positives are found.

Every batch is a round `queue-N` of its own, and a line in `queue.jsonl` says how it came about: which units were drawn
by chance, with which probabilities, and which were taken as likely. The model is fitted again before every batch, on
the answers that are there and nothing else. No rater gets a unit twice, in whatever round they had it; a unit that
another round already answered may be chosen like any other, and is given to no rater.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from fcconan.annotation.active_learning.features import Positive, labels_of
from fcconan.annotation.active_learning.model import RANDOM_SHARE, Floats, Problem, choose, predict, shuffled
from fcconan.annotation.active_learning.stopping import Draw, Estimate, State, decide, estimate
from fcconan.annotation.assignment.rounds import active_annotators
from fcconan.annotation.campaigns import VALIDATION, Assignment, Campaign, Row
from fcconan.errors import InputError

FILE = "queue.jsonl"
PREFIX = "queue-"


@dataclass(frozen=True)
class Batch:
    """How a round of the queue came about.

    Attributes:
        round: The round.
        positive: What was looked for.
        seed: Of its draws and orders.
        passed: Replies that were considered with the drawn ones and not selected (`reply_selection`).
        outside: Units that had been given to raters before the queue began: they teach the model, no more. Of the
            first batch.
        again: Units of earlier batches whose raters left.
        drawn: Units drawn by chance, in the order of the draws.
        probabilities: Of every draw.
        smallest: A lower bound of the probabilities of all that was left then.
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
    passed: Sequence[str] = ()

    @property
    def chosen(self) -> list[str]:
        """The units that it took out of what was left."""
        return self.drawn + self.likely


class Queue:
    """Where the queue of a campaign stands.

    Args:
        campaign: The campaign.
        positive: What is looked for.

    Attributes:
        labels: Of every unit that was answered: the share of raters who said positive, or None if all skipped it.
        batches: So far.
        left: Units that no batch has taken yet.
        waiting: Units of batches that somebody still has to answer, in whatever round.
        relieved: Units of batches that have no answer, and nobody to give one.
        stuck: As `relieved`, but all active raters had them before, so that they wait for somebody else.

    Raises:
        InputError: `queue.jsonl` cannot be read, or is about something else.
    """

    def __init__(self, campaign: Campaign, positive: Positive) -> None:
        self.campaign, self.positive = campaign, positive
        self.labels = labels_of(campaign, positive)
        self.batches = _batches(campaign)
        other = next((batch.positive for batch in self.batches if batch.positive != str(positive)), None)
        if other is not None:
            raise InputError(f"the queue looks for {other}, not {positive}: give --positive {other!r}, as before")
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
        """Estimates the positives that are unseen, from the draws of all batches up to the first unfinished one."""
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
        """Positives among the units that the queue gave out."""
        return sum(self._is_positive(unit_id) for batch in self.batches for unit_id in batch.chosen)

    def next_batch(
        self, problem: Problem, *, size: int, random_share: float, seed: int
    ) -> tuple[Batch, list[Assignment]]:
        """Chooses the next batch and gives it to raters, each unit to the one with the least to do.

        Units that have an answer from another round, and those that all raters had before, are given to nobody.

        Args:
            problem: The units, in the order of the campaign's items.
            size: Units in the batch.
            random_share: The part of them that is drawn by chance, as `drawn_share` takes it.
            seed: Of the draws, and of the order in which raters see the units.

        Returns:
            The batch, and who judges what of it.

        Raises:
            InputError: Nobody is there who may judge.
        """
        active_annotators(self.campaign)  # refuses a campaign without any
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
    """Returns what a person wants to know.

    Args:
        queue: Before the new batch.
        batch: The new one; None if there is none.
        target: The share of positives that is wanted.
        confidence: Of the interval.
    """
    known = queue.estimate(confidence)
    decision: State | Literal["not_answered"] = decide(known, target)
    not_answered = sum(unit_id not in queue.labels for unit_id in queue.outside)
    judged = len(queue.scope) - known.left
    rest = "waiting" if queue.waiting else "ready" if queue.left or queue.relieved else "done"
    if rest == "done" and queue.stuck:
        rest = "stuck"
    if decision != "go_on" and not_answered:  # what was given out before the queue may hold positives, too
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


def step(
    campaign: Campaign,
    queue: Queue,
    problem: Problem,
    *,
    size: int = 50,
    random_share: float = RANDOM_SHARE,
    seed: int,
    while_open: bool = False,
) -> Batch | None:
    """Makes the next round, unless the last one is not answered yet, or nothing is left; call it within `changing`.

    Args:
        campaign: The campaign.
        queue: As it is.
        problem: The units, in the order of the campaign's items.
        size: Units in the batch.
        random_share: The part of them that is drawn by chance, as `drawn_share` takes it.
        seed: Of the draws.
        while_open: Make a batch although the last one is not answered yet.

    Returns:
        The batch; None if there is none.

    Raises:
        InputError: There is no active annotator.
    """
    if (queue.waiting and not while_open) or not (queue.left or queue.relieved):
        return None
    batch, assignments = queue.next_batch(problem, size=size, random_share=random_share, seed=seed)
    # The line of the queue comes first: without its round, it is made again.
    campaign.write(FILE, [*queue.batches, batch])
    campaign.write(f"rounds/{batch.round}.jsonl", assignments)
    return batch


def _batches(campaign: Campaign) -> list[Batch]:
    batches = campaign.read(FILE, Batch)
    rounds = set(campaign.rounds())
    # A step that was killed between its two files is taken back: nobody was given anything.
    while batches and batches[-1].round not in rounds:
        batches.pop()
    return batches
