"""Forecast of a campaign before any judgement: time, pay and yield, by Monte Carlo simulation.

Every repetition draws ground truth, annotators and validators, simulates their answers, resolves the votes by the rule
of `adjudicate`, and sorts pairs by the tier rule, as the campaign itself does. Each described rater is drawn once
before any is drawn twice. Units are allocated as by `assign`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fcconan.annotation.adjudication import resolve
from fcconan.annotation.assignment.assignments import distribute
from fcconan.annotation.campaigns import Answer, Campaign, Row, Unit
from fcconan.annotation.simulation.raters import (
    AnnotatorModel,
    answers_of,
    grades,
    label_shares,
    truths_of,
    verdict_shares,
)
from fcconan.annotation.simulation.sheets import SPREAD
from fcconan.building import JudgedPair, TierRule
from fcconan.errors import InputError
from fcconan.judging import Task
from fcconan.scoring import alpha_of_counts, krippendorff_alpha

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
HOUR = 3600.0
PERCENTILES = (2.5, 97.5)
_FEWEST = 4  # minimum number of times for quartiles


@dataclass(frozen=True)
class Pace:
    """The time that raters need for a unit.

    Attributes:
        seconds: Mean without pauses; None without measurements.
        measured: Number of units in the mean; 0 for a given value.
        pauses: Number of units left out as pauses.
    """

    seconds: float | None
    measured: int = 0
    pauses: int = 0


def measured_pace(answers: Iterable[Answer]) -> Pace:
    """Returns the measured time for a unit.

    Tools record one time for a unit, stored with each of its answers; the maximum counts. A time above the third
    quartile
    by more than three interquartile ranges is a pause.

    Args:
        answers: Answers of any rounds.
    """
    times: dict[tuple[str, str, str], float] = {}
    for answer in answers:
        if answer.seconds is not None:
            key = answer.round, answer.rater, answer.unit_id
            times[key] = max(times.get(key, 0.0), answer.seconds)
    values = np.array(list(times.values()))
    kept = values
    if len(values) >= _FEWEST:
        low, high = np.quantile(values, [0.25, 0.75])
        kept = values[values <= high + 3 * (high - low)]
    seconds = float(kept.mean()) if len(kept) else None
    return Pace(seconds, len(kept), len(values) - len(kept))


def estimate_effort(units: int, pace: Pace, pay_per_hour: float | None = None) -> Row:
    """Computes time and pay.

    Args:
        units: Number of units.
        pace: Time for a unit.
        pay_per_hour: Pay per hour, in any currency.

    Returns:
        `units`, `hours` (None without a time) and `pay` (None without hours or pay per hour).
    """
    hours = None if pace.seconds is None else units * pace.seconds / HOUR
    pay = None if hours is None or pay_per_hour is None else hours * pay_per_hour
    return {"units": units, "hours": hours, "pay": pay}


@dataclass(frozen=True)
class Panel:
    """The raters and rules of a forecast.

    Attributes:
        annotators: Models of annotators, each drawn once before any is drawn twice.
        validators: Models of validators, drawn likewise.
        n_validators: Number of validators; 0 for no validation.
        positive_rate: Share of units with the last of two labels.
        rule: Tier rule; None without tiers.
    """

    annotators: Sequence[AnnotatorModel]
    validators: Sequence[AnnotatorModel]
    n_validators: int
    positive_rate: float
    rule: TierRule | None


def simulated_pace(panel: Panel) -> Pace:
    """Returns the mean time of the annotators; its seconds are None if an annotator has none."""
    medians = [each.seconds for each in panel.annotators]
    if any(each is None for each in medians):
        return Pace(None)
    return Pace(float(np.mean([each for each in medians if each is not None])) * float(np.exp(SPREAD**2 / 2)))


def simulate_campaigns(
    campaign: Campaign,
    panel: Panel,
    n_raters: int,
    overlap: Mapping[int, float],
    pace: Pace,
    pay_per_hour: float | None = None,
    *,
    repetitions: int = 100,
    seed: int = 0,
) -> dict[str, Row]:
    """Simulates campaigns with one team and overlap.

    Args:
        campaign: Campaign whose units are judged; its raters and answers are not used.
        panel: Raters and rules.
        n_raters: Number of annotators.
        overlap: Number of raters -> share of the units, as for `assign`.
        pace: Time for a unit, also of validators.
        pay_per_hour: Pay per hour, in any currency.
        repetitions: Number of simulated campaigns.
        seed: Seed of the simulation.

    Returns:
        Measure -> `mean`, `low` and `high` (95 % of the campaigns are in between) and `n_undefined` (campaigns without
        a value, which are left out); values are None if no campaign has one. Measures are `judgements`, `validations`,
        `hours` and `pay`. Labels: `kappa` (Cohen's, the mean over pairs of raters with a defined value), `alpha`
        (Krippendorff's, nominal), `discarded` units, `size X` and `error X` (share of wrong labels) of every tier X and
        of `all` labels. Grades: `alpha` (interval) and `error` (root mean square distance of a unit's mean grade from
        the true one), as means over aspects.

    Raises:
        InputError: The overlap is not possible, or there are more than two labels.
    """
    task = campaign.task
    units = campaign.items()
    if task.unit == "pair" and task.labels and len(truths_of(task)) != 2:
        raise InputError(f"the task {task.name} has the labels {', '.join(truths_of(task))}: expected two labels")
    who = [f"rater-{number}" for number in range(n_raters)]
    judged = distribute(units, who, overlap=overlap, seed=seed)
    rows = [(at, who.index(rater)) for at, unit in enumerate(units) for rater in judged[unit.unit_id]]
    simulate = _grades if task.aspects else _labels
    found = [
        simulate(task, units, np.array(rows, np.int64), panel, n_raters, np.random.default_rng([seed, number]))
        for number in range(repetitions)
    ]
    for each in found:
        work = len(rows) + each["validations"]
        each |= estimate_effort(int(work), pace, pay_per_hour) | {"judgements": float(len(rows))}
    first = ["judgements", "validations", "hours", "pay"]
    names = [*first, *(name for name in found[0] if name not in first)]
    return {name: _summed([each[name] for each in found]) for name in names}


def _labels(
    task: Task, units: Sequence[Unit], rows: Integers, panel: Panel, n_raters: int, generator: np.random.Generator
) -> Row:
    """Simulates a campaign on labels; rows are the unit and rater of each judgement, shape (judgements, 2)."""
    said, right = answers_of(task), truths_of(task)
    team = _team(panel.annotators, n_raters, generator)
    difference = None
    if task.unit == "comparison":
        replies = list(dict.fromkeys(key for unit in units for key in (unit.reply_a, unit.reply_b)))
        strength = dict(zip(replies, generator.normal(size=len(replies)), strict=True))
        difference = np.array([strength[unit.reply_a] - strength[unit.reply_b] for unit in units])
        truth = np.where(difference > 0, right.index("a"), right.index("b"))
    else:
        truth = np.zeros(len(units), np.int64)
        truth[generator.permutation(len(units))[: round(panel.positive_rate * len(units))]] = 1
    votes = _drawn(task, team, rows, truth, difference, generator)
    counts = _counts(votes, rows, len(units), len(said))
    label, kind, ballots = _resolved(counts, said)
    labelled = label >= 0
    alpha = alpha_of_counts(counts.astype(np.float64), np.arange(len(said), dtype=np.float64), level="nominal").value
    found: Row = {"validations": 0.0, "kappa": _kappa(votes, rows, len(units), n_raters, len(said))}
    found |= {"alpha": float("nan") if alpha is None else alpha, "discarded": float((~labelled).sum())}
    valid = np.zeros(len(units), bool)
    if panel.n_validators:
        staff = _team(panel.validators, panel.n_validators, generator)
        chosen = np.flatnonzero(labelled)
        asked = np.stack([chosen, np.arange(len(chosen)) % panel.n_validators], axis=1)
        own = _drawn(task, staff, asked, truth, difference, generator)
        trusting = np.array([each.trusting for each in staff])[asked[:, 1]] > generator.random(len(asked))
        valid[chosen] = (own >= 0) & ((own == label[chosen]) | trusting)
        found["validations"] = float(len(asked))
    wrong = label != truth
    found |= {"size all": float(labelled.sum()), "error all": _share(wrong, labelled)}
    if panel.rule is not None:
        for name, members in _tiers(panel.rule, ballots, kind, valid):
            found |= {f"size {name}": float(members.sum()), f"error {name}": _share(wrong, members)}
    return found


def _team(described: Sequence[AnnotatorModel], size: int, generator: np.random.Generator) -> list[AnnotatorModel]:
    """Draws raters in random order; each described one is drawn once before any is drawn twice."""
    n = len(described)
    chosen = [*np.tile(np.arange(n), size // n), *generator.permutation(n)[: size % n]]
    return [described[each] for each in generator.permutation(np.array(chosen, np.int64))]


def _drawn(
    task: Task,
    team: Sequence[AnnotatorModel],
    rows: Integers,
    truth: Integers,
    difference: Floats | None,
    generator: np.random.Generator,
) -> Integers:
    """Draws answers, as positions in `answers_of`; -1 if skipped. Shape (rows,)."""
    names = answers_of(task)
    shares = np.empty((len(rows), len(names)))
    swapped = generator.random(len(rows)) < 0.5
    for number, behaviour in enumerate(team):
        mine = rows[:, 1] == number
        if difference is None:
            shares[mine] = label_shares(behaviour, task)[truth[rows[mine, 0]]]
        else:
            turn = np.where(swapped[mine], -1.0, 1.0)
            shares[mine] = verdict_shares(behaviour, difference[rows[mine, 0]] * turn, task)
    bounds = np.cumsum(shares, axis=1)[:, :-1]
    votes = (generator.random(len(rows))[:, None] >= bounds).sum(axis=1)
    if difference is not None:
        other = np.array([names.index({"a": "b", "b": "a"}.get(name, name)) for name in names])
        votes = np.where(swapped, other[votes], votes)
    skips = np.array([each.skip for each in team])[rows[:, 1]] > generator.random(len(rows))
    return np.asarray(np.where(skips, -1, votes), np.int64)


def _counts(votes: Integers, rows: Integers, units: int, said: int) -> Integers:
    """Counts votes by unit and answer; shape (units, answers)."""
    given = votes >= 0
    cell = rows[given, 0] * said + votes[given]
    return np.bincount(cell, minlength=units * said).reshape(units, said).astype(np.int64)


def _resolved(counts: Integers, said: Sequence[str]) -> tuple[Integers, Integers, list[list[str]]]:
    """Applies the rule of `adjudicate`.

    Returns:
        Labels of units as indices of answers, -1 for discarded; the index of each unit's combination of votes;
        and the distinct combinations.
    """
    kinds, kind = np.unique(counts, axis=0, return_inverse=True)
    ballots = [[name for name, number in zip(said, row, strict=True) for _ in range(number)] for row in kinds.tolist()]
    labels = [resolve(ballot)[0] for ballot in ballots]
    places = np.array([-1 if label is None else said.index(label) for label in labels], np.int64)
    return places[kind.reshape(-1)], kind.reshape(-1), ballots


def _tiers(rule: TierRule, ballots: Sequence[Sequence[str]], kind: Integers, valid: Truths) -> list[tuple[str, Truths]]:
    """Returns the units of each tier, from the best to the broadest."""
    first = np.full((len(ballots), 2), len(rule.names))  # the best tier by votes and confirmation
    for at, ballot in enumerate(ballots):
        if (label := resolve(ballot)[0]) is not None:
            for confirmed in (False, True):
                best = rule.best(JudgedPair(ballot, label, confirmed))
                first[at, int(confirmed)] = len(rule.names) if best is None else rule.names.index(best)
    return [(name, first[kind, valid.astype(int)] <= at) for at, name in enumerate(rule.names)]


def _kappa(votes: Integers, rows: Integers, units: int, raters: int, said: int) -> float:
    """Returns Cohen's kappa, the mean over pairs of raters with a defined value; nan if there are none."""
    given = votes >= 0
    one_hot = np.zeros((units, raters, said))
    one_hot[rows[given, 0], rows[given, 1], votes[given]] = 1.0
    flat = one_hot.reshape(units, -1)
    tables = (flat.T @ flat).reshape(raters, said, raters, said).swapaxes(1, 2)[np.triu_indices(raters, k=1)]
    n = tables.sum(axis=(1, 2))
    observed = np.trace(tables, axis1=1, axis2=2) * n
    chance = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    defined = (n > 0) & (chance < n * n)
    each = (observed[defined] - chance[defined]) / (n[defined] ** 2 - chance[defined])
    return float(each.mean()) if len(each) else float("nan")


def _grades(
    task: Task, all_units: Sequence[Unit], rows: Integers, panel: Panel, n_raters: int, generator: np.random.Generator
) -> Row:
    """Simulates a campaign on grades, like `_labels`."""
    units = len(all_units)
    team = _team(panel.annotators, n_raters, generator)
    alphas, errors = [], []
    skips = np.array([each.skip for each in team])[rows[:, 1]] > generator.random(len(rows))
    for aspect in task.aspects:
        truth = generator.uniform(*aspect.scale, size=units)
        given = np.full(len(rows), np.nan)
        for number, behaviour in enumerate(team):
            mine = rows[:, 1] == number
            given[mine] = grades(behaviour, aspect, truth[rows[mine, 0]], generator)
        unit, value = rows[~skips, 0], given[~skips]
        number_of = np.bincount(unit, minlength=units)
        graded = number_of > 0
        mean = np.bincount(unit, value, minlength=units)[graded] / number_of[graded]
        errors.append(float(np.sqrt(np.mean((mean - truth[graded]) ** 2))) if graded.any() else float("nan"))
        several: list[list[float]] = [[] for _ in range(units)]
        for place, grade in zip(unit.tolist(), value.tolist(), strict=True):
            several[place].append(grade)
        alpha = krippendorff_alpha(several, level="interval").value
        alphas.append(float("nan") if alpha is None else alpha)
    return {"validations": 0.0, "alpha": float(np.mean(alphas)), "error": float(np.mean(errors))}


def _share(wrong: Truths, among: Truths) -> float:
    return float(wrong[among].mean()) if among.any() else float("nan")


def _summed(values: Sequence[float | None]) -> Row:
    defined = [value for value in values if value is not None and not np.isnan(value)]
    if not defined:
        return {"mean": None, "low": None, "high": None, "n_undefined": len(values)}
    low, high = np.percentile(defined, PERCENTILES)
    return {
        "mean": float(np.mean(defined)),
        "low": float(low),
        "high": float(high),
        "n_undefined": len(values) - len(defined),
    }
