"""Which of several candidates becomes the reply: the first, a seeded draw, or the one that a judge rates best."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fcconan.data import make_reply_id, short_hash
from fcconan.errors import InputError
from fcconan.judging import match_answers

if TYPE_CHECKING:
    from fcconan.generation.items import Drawn
    from fcconan.judging import ModelJudge, RatingPlan

_DECIMALS = 9  # of a mean; further ones are rounding
Row = dict[str, Any]
Picked = tuple["Drawn", int | None]


class Pick(Protocol):
    """Chooses among the candidates for a message.

    Attributes:
        configuration: All that changes its choice, as JSON-able values.
    """

    configuration: dict[str, Any]

    def of(self, drawn: "Iterable[Drawn]") -> Iterator[Picked]:
        """Yields each message with the place of the candidate; None where no candidate has words."""
        ...


class UnratedChoice:
    """The first candidate with words, or one that is drawn: by seed and item alone, not by the order of the items.

    Args:
        pick: `first` or `random`.
        seed: Of the draw.
    """

    def __init__(self, pick: str = "first", seed: int = 0) -> None:
        orders: dict[str, Callable[[Drawn], Iterable[int]]] = {
            "first": lambda drawn: drawn.texts,
            "random": lambda drawn: order_of(drawn, seed),
        }
        self._order = orders[pick]
        self.configuration: dict[str, Any] = {"pick": pick} | ({"seed": seed} if pick == "random" else {})

    def of(self, drawn: "Iterable[Drawn]") -> Iterator[Picked]:
        """Yields each message with the place of the candidate."""
        for each in drawn:
            yield each, next(iter(self._order(each)), None)


class BestOf:
    """The candidate with the best mean rating.

    Every aspect counts alike: a grade becomes its place between the lowest (0) and the highest (1) of its scale, turned
    round where low grades are praise. Candidates without a grade on every aspect do not compete; where none has one, a
    seeded draw decides, which `unjudged` counts. Ties go to the draw, too. A text that several candidates share is
    rated once.

    Args:
        judge: Rates on aspects.
        seed: Of the draw.

    Attributes:
        configuration: The judge's name and configuration, and the seed.
        judged: Messages whose candidate a rating chose, so far.
        unjudged: Messages with different candidates of which none was rated, so far.
        alike: Messages with one candidate with words, or several that are alike, so far: nothing was rated.
        missing: How often each reason was given for a grade that is missing, so far.

    Raises:
        InputError: As `check_judged`.
    """

    def __init__(self, judge: "ModelJudge", seed: int = 0) -> None:
        check_judged(judge.plan)
        self.judge, self._seed = judge, seed
        self.judged = self.unjudged = self.alike = 0
        self.missing: Counter[str] = Counter()
        self.configuration: dict[str, Any] = {
            "pick": "judge",
            "seed": seed,
            "judge": judge.name,
            "judge_configuration": judge.configuration,
        }

    def of(self, drawn: "Iterable[Drawn]") -> Iterator[Picked]:
        """Yields each message with the place of the candidate, while the candidates of later ones are rated."""
        differing = ((each, list(dict.fromkeys(each.texts.values()))) for each in drawn)
        # One text needs no judge.
        rated = ((each, [_row(each, text) for text in texts] if len(texts) > 1 else []) for each, texts in differing)
        for each, ratings in match_answers(self.judge.name, self.judge.rate, rated):
            texts = dict.fromkeys(each.texts.values()) if ratings else ()
            self.missing.update(str(row["reason"]) for rows in ratings for row in rows if row["value"] is None)
            yield each, self._best(each, dict(zip(texts, map(mean_of, ratings), strict=True)))

    def _best(self, drawn: "Drawn", means: dict[str, float | None]) -> int | None:
        order = order_of(drawn, self._seed)
        rated = {place: mean for place in order if (mean := means.get(drawn.texts[place])) is not None}
        if rated:
            self.judged += 1
            return max(rated, key=rated.__getitem__)  # the first of equals, in the order of the draw
        self.unjudged += bool(means)
        self.alike += bool(order) and not means
        return next(iter(order), None)


def check_judged(plan: "RatingPlan") -> None:
    """Checks that a judge gives grades, and does not see what replies are scored against.

    Raises:
        InputError: Its task has labels instead of aspects, or it is shown references.
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


def mean_of(ratings: Iterable[Row]) -> float | None:
    """Returns the mean place of a reply's grades on their scales, from 0 to 1 (best); None if one is missing."""
    places: list[float] = []
    for row in ratings:
        if row["value"] is None:
            return None
        place = (row["value"] - row["low"]) / (row["high"] - row["low"])
        places.append(place if row["higher_is_better"] else 1 - place)
    return round(sum(places) / len(places), _DECIMALS)


def order_of(drawn: "Drawn", seed: int) -> list[int]:
    """Returns the places of the candidates with words, in an order that follows from seed and item."""
    generator = np.random.default_rng([seed, key_of(drawn.item.item_id)])
    texts = drawn.texts
    return [int(place) for place in generator.permutation(len(drawn.candidates)) if place in texts]


def key_of(item_id: str) -> int:
    """Returns a number for a seed that follows from an item alone."""
    return int(short_hash(item_id), 16)


def _row(drawn: "Drawn", text: str) -> Row:
    item = drawn.item
    return {
        "reply_id": make_reply_id(item.item_id, "candidate", text),
        "item_id": item.item_id,
        "hs_id": item.hs_id,
        "hate_speech": item.hate_speech,
        "text": text,
        "background": "\n\n".join(drawn.shown.background) or None,
    }
