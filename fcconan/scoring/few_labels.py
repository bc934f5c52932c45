"""Systems by few ratings of people and a judge's ratings of all replies: means, differences, and a plan."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from fcconan.data import counted
from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats
from fcconan.scoring.correlation.levels import UNKNOWN
from fcconan.scoring.leaderboards import PEOPLE, UNIFIED, Series, rated_series
from fcconan.scoring.names import joined_parts, known_names
from fcconan.scoring.prediction_powered import (
    FEWEST_ITEMS,
    ROUNDING,
    PoweredEstimate,
    partly_rated,
    powered_estimate,
)
from fcconan.scoring.ratings import HUMAN, RatedReplies
from fcconan.scoring.significance.families import system_pairs

POWER = 0.8  # probability with which a planned interval excludes 0
FEW = 30  # ratings by people, below which a lambda above 1 is worth a warning
SHIFTED = 4.0  # standard errors between the judge's means of rated and of all replies that are worth a warning


@dataclass(frozen=True)
class LabelPlan:
    """Ratings by people that separate two systems: the interval of a difference excludes 0 in 80 % of samples.

    Attributes:
        difference: The difference to detect, in points of the scale.
        people: Ratings of the two systems' replies without a judge.
        with_judge: Ratings with the judge's values of the replies that are there; None if these replies are too few.
    """

    difference: float
    people: int
    with_judge: int | None


@dataclass(frozen=True)
class PoweredRow:
    """The mean of a system, or the difference of two systems, for one aspect.

    Attributes:
        aspect: What was rated, or `unified`.
        a: The system.
        b: The system whose mean is subtracted; None for a mean.
        higher_is_better: Whether a high rating is praise.
        estimate: The estimate; None if people rated no reply, of a difference no reply of one of the systems.
        plan: Ratings that separate the two systems; None for a mean, without a plan, and without an interval.
    """

    aspect: str
    a: str
    b: str | None
    higher_is_better: bool
    estimate: PoweredEstimate | None
    plan: LabelPlan | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the row without nesting; numbers that are not known are None."""
        known = dict.fromkeys(field.name for field in fields(PoweredEstimate)) | {"reason": "not_rated"}
        if self.estimate is not None:
            known = asdict(self.estimate)
        about = {"aspect": self.aspect, "a": self.a, "b": self.b, "higher_is_better": self.higher_is_better}
        return {
            **about,
            **known,
            "needed_people": None if self.plan is None else self.plan.people,
            "needed_with_judge": None if self.plan is None else self.plan.with_judge,
        }


def powered_rows(
    rated: RatedReplies,
    judge: str,
    *,
    aspects: Sequence[str] | None = None,
    baseline: str | None = None,
    confidence: float = 0.95,
    separate: float | None = None,
) -> list[PoweredRow]:
    """Estimates people's mean of each system, and differences, from few ratings of people and a judge's of all replies.

    Every reply counts once in a mean, and a difference is that of two means. It is paired for items that both systems
    answer; for other items it assumes that both systems' items are from one population.

    Args:
        rated: The ratings; `probabilities` weight those of people.
        judge: Rater of all replies. One with a single aspect that people did not rate predicts every aspect.
        aspects: Aspects, as `leaderboard` takes them.
        baseline: System that all others are compared with; None for all pairs.
        confidence: Confidence of the intervals.
        separate: Difference to plan for, in points of the scale; None for no plan.

    Returns:
        By aspect the means, in the order of the systems' names, then the differences.

    Raises:
        InputError: People rated nothing, or the judge is unknown, a person, or rated no aspect that people rated.
    """
    people = rated.raters((HUMAN,))
    if not people:
        raise InputError(f"no rating is by people, only by {', '.join(rated.raters())}: name people with --human")
    known_names("rater", [judge], [name for name in rated.raters() if name not in people])
    series = rated_series(rated, aspects=aspects, raters=[PEOPLE])
    predictions = _predictions(rated, judge, series)
    systems = sorted({*rated.systems} - {UNKNOWN})
    pairs = [(systems[a], systems[b]) for a, b in system_pairs(systems, baseline)]
    replies = {system: np.flatnonzero(np.asarray(rated.systems) == system) for system in systems}
    names, item = np.unique(np.asarray(rated.items), return_inverse=True)
    found: list[PoweredRow] = []
    for each in series:
        judged = predictions.get(each.aspect)
        if judged is None:
            continue
        chances = _probabilities(rated, each.values)
        of_system = {
            system: partly_rated(
                each.values[own],
                judged[own],
                item[own],
                len(names),
                probabilities=None if chances is None else chances[own],
            )
            for system, own in replies.items()
        }
        for system in systems:
            sample = of_system[system]
            known = None if sample is None else powered_estimate(sample, confidence=confidence)
            found.append(PoweredRow(each.aspect, system, None, each.higher_is_better, known))
        for a, b in pairs:
            first, second = of_system[a], of_system[b]
            both = None if first is None or second is None else first - second
            known = None if both is None else powered_estimate(both, confidence=confidence)
            plan = None
            if known is not None and separate is not None:
                plan = label_plan(known, separate, confidence=confidence)
            found.append(PoweredRow(each.aspect, a, b, each.higher_is_better, known, plan))
    return found


def _predictions(rated: RatedReplies, judge: str, series: Sequence[Series]) -> dict[str, Floats]:
    """Returns the judge's values for each aspect of people, of shape (replies,), high where people's are."""
    own = rated.aspects(names=[judge])
    wanted = [each.aspect for each in series if each.aspect != UNIFIED]
    if not set(own) & set(wanted) and len(own) == 1:
        values, praise = rated.people(own[0], [judge])[1][0], rated.higher_is_better(own[0], [judge])
        found = {each.aspect: (values, praise) for each in series}
    else:
        found = {
            each.aspect: (each.values, each.higher_is_better)
            for each in rated_series(rated, aspects=wanted, raters=[judge])
        }
    praised = {each.aspect: each.higher_is_better for each in series}
    return {
        aspect: values if praise == praised[aspect] else -values
        for aspect, (values, praise) in found.items()
        if aspect in praised
    }


def _probabilities(rated: RatedReplies, people: Floats) -> Floats | None:
    """Returns the probabilities of selection, of shape (replies,); None if all are equal."""
    if rated.probabilities is None:
        return None
    unknown = ~np.isfinite(rated.probabilities)
    if n_unknown := int((np.isfinite(people) & unknown).sum()):
        raise InputError(
            f"{n_unknown} replies that people rated have no selection_probability, others have: state it for all of "
            "them, or leave out those that were not selected at random"
        )
    return np.where(unknown, 1.0, rated.probabilities)


def label_plan(known: PoweredEstimate, difference: float, *, confidence: float = 0.95) -> LabelPlan | None:
    """Returns how many ratings by people separate two systems, alone and with the judge.

    With n ratings the variance of the difference is K / n from people alone, and K ((1 - r) / n + r / N) with the
    judge's values of N replies, r being the share of the variance that the judge explains. n is the smallest number
    for which the variance is (difference / (z(confidence) + z(power)))^2 at most.

    Args:
        known: The estimate of a difference.
        difference: The true difference to detect, in points of the scale.
        confidence: Confidence of the interval.

    Returns:
        None if the estimate has no interval.
    """
    from scipy.stats import norm

    if known.people_high is None:
        return None
    z_interval = float(norm.ppf((1 + confidence) / 2))
    error = (known.people_high - known.people) / z_interval
    wanted = (difference / (z_interval + float(norm.ppf(POWER)))) ** 2
    of_one = known.n * error**2
    people = max(2 * FEWEST_ITEMS, math.ceil(of_one / wanted))
    rest = wanted - known.explained * of_one / known.n_all
    needed = max(2 * FEWEST_ITEMS, math.ceil((1 - known.explained) * of_one / rest)) if rest > 0 else math.inf
    return LabelPlan(difference, people, int(needed) if needed <= known.n_all else None)


def powered_notes(rated: RatedReplies, judge: str, rows: Sequence[PoweredRow]) -> list[str]:
    """Returns sentences about what the estimates assume, and about ratings that do not count.

    Args:
        rated: The ratings.
        judge: Rater of all replies.
        rows: The estimates.
    """
    weighted = "weights by selection_probability" if rated.probabilities is not None else "all with equal probability"
    notes = [f"Estimates with {judge} assume that the replies that people rated were selected at random, {weighted}."]
    shifted = [row for row in rows if row.b is None and row.estimate and abs(row.estimate.shift or 0.0) > SHIFTED]
    if shifted:
        names = ", ".join(dict.fromkeys(f"{row.a} ({row.aspect})" for row in shifted[:3]))
        notes.append(
            f"{judge} rates the replies that people rated otherwise than the rest, by more than {SHIFTED:g} standard "
            f"errors: {names}. They are hardly a random selection, and the intervals may not hold."
        )
    steep = [row for row in rows if row.estimate and row.estimate.n < FEW and row.estimate.power > 1 + ROUNDING]
    if steep:
        first = steep[0]
        named = f"{first.a}{'' if first.b is None else f' - {first.b}'} ({first.aspect})"
        notes.append(
            f"Few ratings by people decide how {judge} counts: lambda is above 1 in {counted(len(steep), 'estimate')} "
            f"from fewer than {FEW} ratings, such as {named}. More ratings may change it much."
        )
    if missing := max((row.estimate.n_unjudged for row in rows if row.estimate is not None), default=0):
        notes.append(f"Replies without a rating by {judge} count with its mean; a row has {missing} of them at most.")
    if any(row.plan is not None and row.plan.with_judge is None for row in rows):
        notes.append("Where no number of ratings is shown for the judge, more replies are needed than it has rated.")
    return notes


def powered_signature(signature: str, judge: str, *, baseline: str | None, weighted: bool) -> str:
    """Returns the signature of estimates: that of the ratings, and everything else that changes them.

    Args:
        signature: Signature of the leaderboard.
        judge: Rater of all replies.
        baseline: As for `powered_rows`.
        weighted: Whether ratings by people are weighted by probabilities of selection.
    """
    parts = {
        "predicted-by": judge,
        "lambda": "tuned",
        "interval": "t-by-item",
        "weights": "inverse-probability" if weighted else "equal",
        "pairs": "all" if baseline is None else f"against-{baseline}",
    }
    return f"{signature}|{joined_parts(parts)}"
