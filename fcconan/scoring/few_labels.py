"""Means and differences of systems from few ratings by people and a judge's ratings of all replies; sample sizes."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from fcconan.data import count_noun
from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats
from fcconan.scoring.correlation.levels import UNKNOWN
from fcconan.scoring.leaderboards import PEOPLE, UNIFIED, RaterScores, rater_scores
from fcconan.scoring.names import check_names, join_parts
from fcconan.scoring.prediction_powered import (
    FEWEST_ITEMS,
    ROUNDING,
    PoweredEstimate,
    powered_estimate,
    summarise_ratings,
)
from fcconan.scoring.ratings import HUMAN, Ratings
from fcconan.scoring.significance.families import system_pairs

POWER = 0.8  # probability with which a planned interval excludes 0
FEW = 30  # ratings by people below which a lambda above 1 gives a warning
SHIFTED = 4.0  # distance of the judge's means of rated and of all replies, in standard errors, that gives a warning


@dataclass(frozen=True)
class LabelPlan:
    """Number of ratings by people for which the interval of a difference excludes 0 in 80 % of samples.

    Attributes:
        difference: True difference to detect, in points of the scale.
        people: Number of ratings of the two systems' replies without a judge.
        with_judge: Number of ratings with the judge's values of the existing replies; None if these are too few.
    """

    difference: float
    people: int
    with_judge: int | None


@dataclass(frozen=True)
class PoweredRow:
    """The mean of a system, or the difference of two systems, for one aspect.

    Attributes:
        aspect: The aspect, or `unified`.
        a: The system.
        b: The system whose mean is subtracted; None for a mean.
        higher_is_better: Whether a high rating is good.
        estimate: The estimate; None if people rated no reply of the system, or of one of the two systems.
        plan: Ratings that separate the two systems; None for a mean, and without a plan or an interval.
    """

    aspect: str
    a: str
    b: str | None
    higher_is_better: bool
    estimate: PoweredEstimate | None
    plan: LabelPlan | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns the row as a flat mapping; unknown numbers are None."""
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
    rated: Ratings,
    judge: str,
    *,
    aspects: Sequence[str] | None = None,
    baseline: str | None = None,
    confidence: float = 0.95,
    separate: float | None = None,
) -> list[PoweredRow]:
    """Estimates systems' mean ratings by people, and their differences, with a judge's ratings of all replies.

    Every reply counts once in a mean. Differences of two means are paired for items that both systems answer; for other
    items they assume that the items of both systems are from one population.

    Args:
        rated: The ratings; `probabilities` weight those by people.
        judge: Rater of all replies. A judge whose only aspect people did not rate predicts every aspect.
        aspects: See `leaderboard`.
        baseline: System that all others are compared with; None for all pairs.
        confidence: Confidence of the intervals.
        separate: Difference to plan for, in points of the scale; None for no plan.

    Returns:
        For each aspect the means, in the order of the systems' names, then the differences.

    Raises:
        InputError: There are no ratings by people; or the judge is unknown, a person, or shares no aspect with people.
    """
    people = rated.raters((HUMAN,))
    if not people:
        raise InputError(f"found ratings by {', '.join(rated.raters())}, expected some by people: name them by --human")
    check_names("rater", [judge], [name for name in rated.raters() if name not in people])
    series = rater_scores(rated, aspects=aspects, raters=[PEOPLE])
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
            system: summarise_ratings(
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


def _predictions(rated: Ratings, judge: str, series: Sequence[RaterScores]) -> dict[str, Floats]:
    """Returns the judge's values for each aspect of people, shape (replies,), in the direction of people's scale."""
    own = rated.aspects(names=[judge])
    wanted = [each.aspect for each in series if each.aspect != UNIFIED]
    if not set(own) & set(wanted) and len(own) == 1:
        values, is_better = rated.people(own[0], [judge])[1][0], rated.higher_is_better(own[0], [judge])
        found = {each.aspect: (values, is_better) for each in series}
    else:
        found = {
            each.aspect: (each.values, each.higher_is_better)
            for each in rater_scores(rated, aspects=wanted, raters=[judge])
        }
    directions = {each.aspect: each.higher_is_better for each in series}
    return {
        aspect: values if is_better == directions[aspect] else -values
        for aspect, (values, is_better) in found.items()
        if aspect in directions
    }


def _probabilities(rated: Ratings, people: Floats) -> Floats | None:
    """Returns the selection probabilities, shape (replies,); None if all are equal."""
    if rated.probabilities is None:
        return None
    unknown = ~np.isfinite(rated.probabilities)
    if n_unknown := int((np.isfinite(people) & unknown).sum()):
        raise InputError(
            f"{n_unknown} replies that people rated lack a selection_probability, others have one: state it for all "
            "of them, or leave out replies that were not selected at random"
        )
    return np.where(unknown, 1.0, rated.probabilities)


def label_plan(known: PoweredEstimate, difference: float, *, confidence: float = 0.95) -> LabelPlan | None:
    """Computes the number of ratings by people that separate two systems, alone and with the judge.

    With n ratings the variance of the difference is K / n from people alone, and K ((1 - r) / n + r / N) with the
    judge's values of N replies, where r is the share of the variance that the judge explains. The result is the
    smallest n with a variance of at most (difference / (z(confidence) + z(power)))^2.

    Args:
        known: Estimate of the difference.
        difference: True difference to detect, in points of the scale.
        confidence: Confidence of the interval.

    Returns:
        The numbers of ratings; None if the estimate has no interval.
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


def powered_notes(rated: Ratings, judge: str, rows: Sequence[PoweredRow]) -> list[str]:
    """Returns sentences about the assumptions of the estimates and about doubtful ones.

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
            f"The mean of {judge} differs between the replies that people rated and all replies by more than "
            f"{SHIFTED:g} standard errors: {names}. The rated replies are hardly a random selection, so the intervals "
            "may be wrong."
        )
    steep = [row for row in rows if row.estimate and row.estimate.n < FEW and row.estimate.power > 1 + ROUNDING]
    if steep:
        first = steep[0]
        named = f"{first.a}{'' if first.b is None else f' - {first.b}'} ({first.aspect})"
        notes.append(
            f"Few ratings by people determine the weight of {judge}: lambda is above 1 in "
            f"{count_noun(len(steep), 'estimate')} from fewer than {FEW} ratings, such as {named}. More ratings may "
            "change it considerably."
        )
    if missing := max((row.estimate.n_unjudged for row in rows if row.estimate is not None), default=0):
        notes.append(f"Replies without a rating by {judge} count with its mean; a row has at most {missing} of them.")
    if any(row.plan is not None and row.plan.with_judge is None for row in rows):
        notes.append(
            f"Where the number of ratings with {judge} is missing (–), {judge} has rated too few replies to separate "
            "the two systems: let it rate more."
        )
    return notes


def powered_signature(signature: str, judge: str, *, baseline: str | None, weighted: bool) -> str:
    """Returns the signature of prediction-powered estimates, which extends that of the ratings.

    Args:
        signature: Signature of the leaderboard.
        judge: Rater of all replies.
        baseline: See `powered_rows`.
        weighted: Whether ratings by people are weighted by selection probabilities.
    """
    parts = {
        "predicted-by": judge,
        "lambda": "tuned",
        "interval": "t-by-item",
        "weights": "inverse-probability" if weighted else "equal",
        "pairs": "all" if baseline is None else f"against-{baseline}",
    }
    return f"{signature}|{join_parts(parts)}"
