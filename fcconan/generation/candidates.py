"""Selection among candidate replies: the first, a random one, or the one with the best ratings of a judge."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fcconan.data import make_reply_id, short_hash
from fcconan.errors import InputError
from fcconan.judging import match_answers

if TYPE_CHECKING:
    from fcconan.generation.items import ItemCandidates
    from fcconan.judging import ModelJudge, RatingPlan

_DECIMALS = 9  # decimals of a mean; later ones are rounding errors
Row = dict[str, Any]
Selection = tuple["ItemCandidates", int | None]


class CandidateSelector(Protocol):
    """Selects one of the candidates for a message.

    Attributes:
        configuration: All settings that change the selection, as JSON-able values.
    """

    configuration: dict[str, Any]

    def select(self, drawn: "Iterable[ItemCandidates]") -> Iterator[Selection]:
        """Yields each message with the index of the selected candidate; None if all candidates are missing."""
        ...


class UnratedChoice:
    """Selects the first candidate with a text, or a random one.

    The random choice depends on seed and item, not on the order of the items.

    Args:
        pick: `first` or `random`.
        seed: Seed of the random choice.
    """

    def __init__(self, pick: str = "first", seed: int = 0) -> None:
        orders: dict[str, Callable[[ItemCandidates], Iterable[int]]] = {
            "first": lambda drawn: drawn.texts,
            "random": lambda drawn: draw_order(drawn, seed),
        }
        self._order = orders[pick]
        self.configuration: dict[str, Any] = {"pick": pick} | ({"seed": seed} if pick == "random" else {})

    def select(self, drawn: "Iterable[ItemCandidates]") -> Iterator[Selection]:
        """Yields each message with the index of the selected candidate."""
        for each in drawn:
            yield each, next(iter(self._order(each)), None)


class BestOf:
    """Selects the candidate with the best mean rating (best of n).

    All aspects have the same weight. A grade is scaled to 0 (worst) to 1 (best), in the direction of its aspect. Only
    candidates with a grade on every aspect compete; if there are none, the seed decides, and `unjudged` counts the
    message. The seed also decides ties. Equal texts are rated once.

    Args:
        judge: Judge that rates on aspects.
        seed: Seed for ties and for messages without rated candidates.

    Attributes:
        configuration: Name and configuration of the judge, and the seed.
        judged: Number of messages so far whose candidate was selected by ratings.
        unjudged: Number of messages so far with different candidates, none of which was rated.
        equal: Number of messages so far that needed no rating: a single text, or only equal texts.
        missing: Counts of the reasons of missing grades so far.

    Raises:
        InputError: As `check_selection_judge`.
    """

    def __init__(self, judge: "ModelJudge", seed: int = 0) -> None:
        check_selection_judge(judge.plan)
        self.judge, self._seed = judge, seed
        self.judged = self.unjudged = self.equal = 0
        self.missing: Counter[str] = Counter()
        self.configuration: dict[str, Any] = {
            "pick": "judge",
            "seed": seed,
            "judge": judge.name,
            "judge_configuration": judge.configuration,
        }

    def select(self, drawn: "Iterable[ItemCandidates]") -> Iterator[Selection]:
        """Yields each message with the index of the selected candidate; later candidates are rated meanwhile."""
        differing = ((each, list(dict.fromkeys(each.texts.values()))) for each in drawn)
        # One text needs no judge.
        rated = ((each, [_row(each, text) for text in texts] if len(texts) > 1 else []) for each, texts in differing)
        for each, ratings in match_answers(self.judge.name, self.judge.rate, rated):
            texts = dict.fromkeys(each.texts.values()) if ratings else ()
            self.missing.update(str(row["reason"]) for rows in ratings for row in rows if row["value"] is None)
            yield each, self._best(each, dict(zip(texts, map(mean_grade, ratings), strict=True)))

    def _best(self, drawn: "ItemCandidates", means: dict[str, float | None]) -> int | None:
        order = draw_order(drawn, self._seed)
        rated = {place: mean for place in order if (mean := means.get(drawn.texts[place])) is not None}
        if rated:
            self.judged += 1
            return max(rated, key=rated.__getitem__)  # the first of equals, in the order of the draw
        self.unjudged += bool(means)
        self.equal += bool(order) and not means
        return next(iter(order), None)


def check_selection_judge(plan: "RatingPlan") -> None:
    """Checks that a judge gives grades and does not see the references, with which replies are compared later.

    Raises:
        InputError: The task of the judge has labels instead of aspects, or shows references.
    """
    if plan.task.labels:
        raise InputError(
            f"the task {plan.task.name} has labels, and the best reply is chosen by grades: name a task with aspects"
        )
    if "reference" in plan.texts:
        raise InputError(
            f"the task {plan.task.name} shows the judge references, to which the reply that it chooses is compared "
            "later: name a task without them"
        )


def mean_grade(ratings: Iterable[Row]) -> float | None:
    """Returns the mean of a reply's grades, each scaled to 0 (worst) to 1 (best); None if one is missing."""
    places: list[float] = []
    for row in ratings:
        if row["value"] is None:
            return None
        place = (row["value"] - row["low"]) / (row["high"] - row["low"])
        places.append(place if row["higher_is_better"] else 1 - place)
    return round(sum(places) / len(places), _DECIMALS)


def draw_order(drawn: "ItemCandidates", seed: int) -> list[int]:
    """Returns the indices of the candidates with a text, in an order that depends on seed and item."""
    generator = np.random.default_rng([seed, item_seed(drawn.item.item_id)])
    texts = drawn.texts
    return [int(place) for place in generator.permutation(len(drawn.candidates)) if place in texts]


def item_seed(item_id: str) -> int:
    """Returns an integer for seeds that depends on the id of an item only."""
    return int(short_hash(item_id), 16)


def _row(drawn: "ItemCandidates", text: str) -> Row:
    item = drawn.item
    return {
        "reply_id": make_reply_id(item.item_id, "candidate", text),
        "item_id": item.item_id,
        "hs_id": item.hs_id,
        "hate_speech": item.hate_speech,
        "text": text,
        "background": "\n\n".join(drawn.shown.background) or None,
    }
