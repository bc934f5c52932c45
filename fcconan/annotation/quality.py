"""Agreement of a campaign's raters: overall, by pair of raters, by subset, by label, and unit by unit; gold accuracy.

A subset consists of all units with the same raters, such as the units of the first and fourth of nine raters. FC-CONAN
reports the mean of Cohen's kappa over its six subsets. Gold questions and qualification tests are left out.
"""

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, median, pstdev
from typing import Any

import numpy as np

from fcconan.annotation.campaigns import MAIN, Campaign, Row
from fcconan.annotation.qualification import is_right
from fcconan.annotation.votes import Value, Votes, answers_of, item_of
from fcconan.building import group_values
from fcconan.scoring import (
    AGREEMENT_COEFFICIENTS,
    LARGEST_DOMAIN,
    NOMINAL_COEFFICIENTS,
    ReliabilityData,
    krippendorff_alpha,
    measure_agreement,
)

# Grades with decimals are rarely equal: nominal coefficients are not informative.
_GRADED = ("krippendorff_ordinal", "krippendorff_interval")


def reliability_data(campaign: Campaign, votes: Votes) -> list[ReliabilityData]:
    """Returns the reliability data of each aspect; labels are encoded by their number in the task.

    Args:
        campaign: The campaign.
        votes: Result of `current_votes`.
    """
    units = campaign.units()
    tables = []
    for aspect, given in votes.items():
        names = [rater for rater in campaign.raters() if any(rater in said for said in given.values())]
        values = np.array(
            [[coded(campaign, said.get(rater)) for said in given.values()] for rater in names], dtype=np.float64
        ).reshape(len(names), len(given))
        domain = [float(number) for number in range(len(campaign.task.labels))]
        coefficients = NOMINAL_COEFFICIENTS
        if campaign.task.aspects:
            scale = campaign.task.aspect(aspect)
            coefficients = _GRADED if scale.decimals else AGREEMENT_COEFFICIENTS
            whole = [float(grade) for grade in range(scale.low, scale.high + 1)]
            domain = np.unique(values[~np.isnan(values)]).tolist() or whole if scale.decimals else whole
        items = [item_of(units[unit]) for unit in given]
        tables.append(
            ReliabilityData(
                aspect, names, values, domain, coefficients, ordered=bool(campaign.task.aspects), items=items
            )
        )
    return tables


def coded(campaign: Campaign, value: Value | None) -> float:
    """Returns a grade unchanged, a label as its number in the task, and nan for None."""
    if value is None:
        return np.nan
    if isinstance(value, str):
        return float([label.name for label in campaign.task.labels].index(value))
    return float(value)


def agreement_rows(
    campaign: Campaign, votes: Votes, *, resamples: int = 10_000, seed: int = 0, confidence: float = 0.95
) -> list[Row]:
    """Computes the agreement of all raters (`overall`), of pairs, of subsets, and on single labels.

    Agreement on a label compares votes for this label with votes for all others. Grades with more than 101 different
    values
    have Krippendorff's alpha without an interval, and no agreement of pairs.

    Args:
        campaign: The campaign.
        votes: Result of `current_votes`.
        resamples: Number of bootstrap resamples of the HS (or items) with all their units.
        seed: Seed of the bootstrap.
        confidence: Confidence level of the intervals.

    Returns:
        Rows of `fcconan.scoring.measure_agreement`, with `level` `overall`, `pair`, `subset` or `label`, and `label`.
    """
    rows: list[Row] = []
    draws = {"resamples": resamples, "seed": seed, "confidence": confidence}
    for table in reliability_data(campaign, votes):
        rows += _rows(table, range(len(table.raters)), None, draws)
        for who, columns in _subsets(table).items():
            rows += [
                row | {"level": "subset"} for row in _rows(table, who, columns, draws) if row["level"] == "overall"
            ]
        for number, label in enumerate(campaign.task.labels):
            chosen = np.where(np.isnan(table.values), np.nan, table.values == number)
            one = ReliabilityData(
                table.aspect, table.raters, chosen, [0.0, 1.0], NOMINAL_COEFFICIENTS, items=table.items
            )
            found = _rows(one, range(len(table.raters)), None, draws)
            rows += [row | {"level": "label", "label": label.name} for row in found if row["level"] == "overall"]
    return [{"label": None} | row for row in rows]


def _subsets(table: ReliabilityData) -> dict[tuple[int, ...], list[int]]:
    """Returns the units of each set of two or more raters who judged exactly them; smaller sets of raters come
    first.
    """
    there = ~np.isnan(table.values)
    found = group_values((tuple(np.flatnonzero(raters).tolist()), column) for column, raters in enumerate(there.T))
    return {who: found[who] for who in sorted(found, key=lambda who: (len(who), who)) if len(who) > 1}


def _rows(
    table: ReliabilityData, who: Sequence[int], columns: Sequence[int] | None, draws: dict[str, Any]
) -> list[Row]:
    chosen = range(table.values.shape[1]) if columns is None else columns
    values = table.values[np.ix_(list(who), list(chosen))]
    raters = [table.raters[rater] for rater in who]
    items = [(table.items or [])[column] for column in chosen]
    if not raters:
        return []
    if len(table.domain) <= LARGEST_DOMAIN:
        return measure_agreement(
            values,
            table.domain,
            items=items,
            coefficients=table.coefficients,
            raters=raters,
            aspect=table.aspect,
            pair_intervals=False if columns is not None else None,
            **draws,
        )
    units = [column[~np.isnan(column)].tolist() for column in values.T]
    rows = []
    for name in table.coefficients:
        alpha = krippendorff_alpha(units, level=name.removeprefix("krippendorff_"))
        counted = [item for item, unit in zip(items, units, strict=True) if len(unit) > 1]
        rows.append(
            {"aspect": table.aspect, "coefficient": name, "level": "overall", "raters": raters, "value": alpha.value}
            | {"low": None, "high": None, "n": alpha.n_units, "n_items": len(set(counted))}
            | {"n_missing": sum(len(unit) == 1 for unit in units), "n_undefined": 0, "reason": alpha.reason}
        )
    return rows


def subset_means(rows: Sequence[Row]) -> list[Row]:
    """Returns mean and population standard deviation of each coefficient over the subsets with a value.

    Args:
        rows: Result of `agreement_rows`.
    """
    found = group_values(
        ((row["aspect"], row["coefficient"]), row["value"]) for row in rows if row["level"] == "subset"
    )
    means = []
    for (aspect, coefficient), values in found.items():
        there = [value for value in values if value is not None]
        means.append(
            {
                "aspect": aspect,
                "coefficient": coefficient,
                "mean": fmean(there) if there else None,
                "deviation": pstdev(there) if there else None,
                "n_subsets": len(there),
                "n_undefined": len(values) - len(there),
            }
        )
    return means


def disputed_units(campaign: Campaign, votes: Votes) -> list[Row]:
    """Returns the units with different answers, ordered by decreasing disagreement.

    Disagreement is the mean over all pairs of a unit's raters: of 0 (equal) and 1 for labels, of the distance for
    grades.

    Args:
        campaign: The campaign.
        votes: Result of `current_votes`.

    Returns:
        Rows with `unit_id`, `aspect`, `disagreement`, `n` and `values` by rater.
    """
    found = []
    for aspect, given in votes.items():
        for unit, said in given.items():
            codes = [coded(campaign, value) for value in said.values()]
            distances = [abs(a - b) for a, b in combinations(codes, 2)]
            if campaign.task.labels:
                distances = [float(distance > 0) for distance in distances]
            if any(distances):
                row = {"unit_id": unit, "aspect": aspect, "disagreement": fmean(distances), "n": len(said)}
                found.append(row | {"values": said})
    return sorted(found, key=lambda row: -row["disagreement"])


def rater_summaries(campaign: Campaign, rounds: Sequence[str] = (MAIN,), *, within: float = 0.0) -> list[Row]:
    """Returns the gold accuracy and the median time of each rater.

    Args:
        campaign: The campaign.
        rounds: Rounds whose answers count.
        within: Maximum distance of a correct grade from the known grade.

    Returns:
        Rows with `rater`, `gold` (number of answers to gold questions), `gold_accuracy` (share of correct ones),
        `timed` (number of units with a time) and `median_seconds`; shares and medians are None without values.

    Raises:
        InputError: A round does not exist.
    """
    units = campaign.units()
    right: dict[str, list[bool]] = {}
    seconds: dict[str, dict[str, float]] = {}
    for (rater, unit_id, aspect), answer in answers_of(campaign, rounds).items():
        known = (units[unit_id].known or {}).get(aspect)
        if known is not None and answer.value is not None:
            right.setdefault(rater, []).append(is_right(answer.value, known, within))
        if answer.seconds is not None:  # tools record one time for a unit, stored with each of its answers
            times = seconds.setdefault(rater, {})
            times[unit_id] = max(times.get(unit_id, 0.0), answer.seconds)
    return [
        {
            "rater": rater,
            "gold": len(right.get(rater, ())),
            "gold_accuracy": fmean(right[rater]) if rater in right else None,
            "timed": len(seconds.get(rater, ())),
            "median_seconds": median(seconds[rater].values()) if rater in seconds else None,
        }
        for rater in dict.fromkeys(rater for rater, _, _ in answers_of(campaign, rounds))
    ]
