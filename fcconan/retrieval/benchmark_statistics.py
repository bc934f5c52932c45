"""Statistics over the systems of a benchmark, and rows of its result: intervals, tests, agreement of partitions."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fcconan.retrieval.benchmark_settings import ALL_PARTITIONS, AVERAGE, Primary, declared_families, family_labels
from fcconan.scoring import (
    EXPLORATORY,
    PRIMARY,
    Evaluation,
    Family,
    bootstrap_means,
    kendall_tau_interval,
    means,
    percentile_interval,
    sign_flip_tests,
    summary,
    system_pairs,
)

if TYPE_CHECKING:
    from fcconan.retrieval.benchmark_settings import Scored, Settings


def ranked_systems(result: Mapping[str, Any]) -> list[str]:
    """Returns the systems, best average first; equal ones by name."""
    systems = result["systems"]

    def place(name: str) -> tuple[bool, float, str]:
        average = systems[name]["summary"]["avg"]
        return average is None, -(average or 0.0), name

    return sorted(systems, key=place)


def ends_of(system: Mapping[str, Any], partition: str, metric: str) -> tuple[float | None, float | None]:
    """Returns the interval of a figure, None at both ends where there is none."""
    low, high = system.get("intervals", {}).get(partition, {}).get(metric) or (None, None)
    return (low, high) if low is not None and high is not None else (None, None)


COLUMNS = ("value", "low", "high", "unjudged_right", "failures_as_zero", "sd_over_seeds", "chance")


def score_rows(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields one row for every system, partition and metric; what is missing is None."""
    for name in ranked_systems(result):
        system = result["systems"][name]
        for partition, figures in system["partitions"].items():
            more = [system.get(key, {}).get(partition, {}) for key in ("unjudged_right", "failures_as_zero", "spread")]
            for metric in result["settings"]["metrics"]:
                values = (
                    figures[metric],
                    *ends_of(system, partition, metric),
                    *(one.get(metric) for one in more),
                    result["chance"]["partitions"][partition][metric],
                )
                yield {
                    "system": name,
                    "partition": partition,
                    "metric": metric,
                    **dict(zip(COLUMNS, values, strict=True)),
                    "n_queries": figures["n_queries"],
                    "n_failed": figures["n_failed"],
                }


def benchmark_csv(result: Mapping[str, Any]) -> str:
    """Returns the rows as CSV, with plain numbers; what is missing is empty."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["system", "partition", "metric", *COLUMNS, "n_queries", "n_failed"])
    for row in score_rows(result):
        writer.writerow(["" if value is None else value for value in row.values()])
    return file.getvalue()


def leaderboard_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns average and primary metric of each system, with intervals; failed systems come last, without values."""
    primary = result["settings"]["primary"]
    columns = ["system", "average", "average_low", "average_high", primary, f"{primary}_low", f"{primary}_high"]
    rows = []
    for name in ranked_systems(result):
        system = result["systems"][name]
        low, high = system.get("summary_intervals", {}).get("avg") or (None, None)
        values = (name, system["summary"]["avg"], low, high, *_primary_values(result, system))
        rows.append({**dict(zip(columns, values, strict=True)), "n_failed": len(system.get("failures") or {})})
    without = dict.fromkeys(columns)
    failed = [{**without, "system": name, "n_failed": result["dataset"]["n_queries"]} for name in result["failed"]]
    return rows + sorted(failed, key=lambda row: str(row["system"]))


def primary_by_chance(result: Mapping[str, Any]) -> float | None:
    """Returns the primary metric of a random order; None for an average."""
    metric, partition = _split(result)
    found: float | None = result["chance"]["partitions"].get(partition, {}).get(metric)
    return found


def _primary_values(
    result: Mapping[str, Any], system: Mapping[str, Any]
) -> tuple[float | None, float | None, float | None]:
    metric, partition = _split(result)
    if metric in system["partitions"].get(partition, {}):
        return system["partitions"][partition][metric], *ends_of(system, partition, metric)
    # Protocol paper may declare an average: of the metrics of the summary, on one partition or on all.
    names = [partition] if partition in system["partitions"] else list(system["partitions"])
    values = [system["partitions"][name][each] for name in names for each in result["settings"]["summarised"]]
    return (None if None in values else sum(values) / len(values)), None, None


def _split(result: Mapping[str, Any]) -> tuple[str, str]:
    """Returns metric and partition of the primary comparison; both may hold an @."""
    primary: str = result["settings"]["primary"]
    names = [*result["partitions"], "all"]
    partition = max((name for name in names if primary.endswith(f"@{name}")), key=len)
    return primary.removesuffix(f"@{partition}"), partition


Floats = npt.NDArray[np.float64]
SUMMARY = ("avg", "min", "max", "cv")
DIGITS = 10


def number(value: Any) -> float | None:
    """Returns a float that JSON can hold: None for nan."""
    read = float(value)
    return round(read, DIGITS) if np.isfinite(read) else None


def system_figures(
    settings: "Settings", partitions: list[str], scored: Mapping[str, "Scored"]
) -> dict[str, dict[str, Any]]:
    """Returns the figures of every system, as the result of a benchmark has them, with their intervals.

    Args:
        settings: Of the benchmark.
        partitions: The names of the partitions.
        scored: The systems, as they were scored.
    """
    if not scored:
        return {}
    intervals = _intervals(settings, partitions, scored)
    return {
        name: _figures(settings, partitions, one, row, intervals) | _further_figures(settings, partitions, one)
        for row, (name, one) in enumerate(scored.items())
    }


@dataclass(frozen=True)
class _Intervals:
    """Ends of intervals: of shape (systems, partitions, metrics), and of the summary (systems, values of `SUMMARY`)."""

    low: Floats
    high: Floats
    summary_low: Floats
    summary_high: Floats


def _intervals(settings: "Settings", partitions: list[str], scored: Mapping[str, "Scored"]) -> _Intervals:
    """Resamples HS, the same for all systems and metrics."""
    series = np.array(
        [
            one.partitions[part].values[metric]
            for one in scored.values()
            for part in partitions
            for metric in settings.metrics
        ]
    )
    draws = bootstrap_means(series, resamples=settings.resamples, seed=settings.seed)
    draws = draws.reshape(len(draws), len(scored), len(partitions), len(settings.metrics))
    low, high = percentile_interval(draws, settings.confidence)
    alone = np.isfinite(series).sum(axis=1).reshape(low.shape) < 2  # of one HS, every resample is the same
    low[alone] = high[alone] = np.nan
    columns = _summarised(settings)
    with np.errstate(invalid="ignore"):
        summary_low, summary_high = percentile_interval(
            np.stack(list(summary(draws[..., columns]).values()), axis=-1), settings.confidence
        )
    none = alone[..., columns].all(axis=(1, 2))
    summary_low[none] = summary_high[none] = np.nan
    return _Intervals(low, high, summary_low, summary_high)


def _summarised(settings: "Settings") -> list[int]:
    """Returns the places of the metrics that the summary averages."""
    return [settings.metrics.index(metric) for metric in settings.summarised]


def _figures(
    settings: "Settings", partitions: list[str], one: "Scored", row: int, intervals: _Intervals
) -> dict[str, Any]:
    """Returns what every system has: how it ran, its figures, and their intervals, which stand in a row of theirs."""
    low, high = intervals.low[row], intervals.high[row]
    figures = np.array(
        [[means(one.partitions[part].values[metric]) for metric in settings.metrics] for part in partitions]
    )
    return {
        "configuration": one.configuration,
        "resolved": one.found.resolved,
        "diagnostics": one.found.diagnostics,
        "failures": one.found.failures,
        "partitions": {part: _partition(one.partitions[part], settings.k) for part in partitions},
        "intervals": {
            part: {metric: [number(low[i, j]), number(high[i, j])] for j, metric in enumerate(settings.metrics)}
            for i, part in enumerate(partitions)
        },
        "summary": {key: number(value) for key, value in summary(figures[:, _summarised(settings)]).items()},
        "summary_intervals": {
            key: [number(intervals.summary_low[row, i]), number(intervals.summary_high[row, i])]
            for i, key in enumerate(SUMMARY)
        },
    }


def _further_figures(settings: "Settings", partitions: list[str], one: "Scored") -> dict[str, Any]:
    """Returns what only some have: the protocol brackets, or the system failed on an HS, or it has several seeds."""
    found: dict[str, Any] = {}
    if settings.protocol == "sound":
        found["unjudged_right"] = {
            part: {metric: number(means(value)) for metric, value in one.partitions[part].unjudged_right.items()}
            for part in partitions
        }
    if one.found.failures:
        found["failures_as_zero"] = {
            part: {
                metric: number(np.nansum(value) / _counted(one.partitions[part], value))
                for metric, value in one.partitions[part].values.items()
            }
            for part in partitions
        }
    if one.spread:
        found["spread"] = {
            part: {metric: number(value) for metric, value in of_part.items()} for part, of_part in one.spread.items()
        }
        found["summary_over_seeds"] = {key: [number(low), number(high)] for key, (low, high) in one.summaries.items()}
    return found


def _counted(evaluation: Evaluation, values: Floats) -> int:
    """Returns how many queries would count if none had failed, at least 1."""
    return max(1, int(np.isfinite(values).sum()) + evaluation.n_failed)


def _partition(evaluation: Evaluation, k: int) -> dict[str, Any]:
    figures: dict[str, Any] = {metric: number(means(value)) for metric, value in evaluation.values.items()}
    return figures | {
        "n_queries": int(max((np.isfinite(value).sum() for value in evaluation.values.values()), default=0)),
        "n_without_positive": evaluation.n_without_positive,
        f"judged@{k}": number(means(evaluation.judged)),
        "n_empty": evaluation.n_empty,
        "n_short": evaluation.n_short,
        "n_failed": evaluation.n_failed,
    }


def comparisons(
    settings: "Settings", partitions: list[str], scored: Mapping[str, "Scored"], primary: Primary
) -> tuple[list[dict[str, Any]], list[Family]]:
    """Tests pairs of systems on every metric of every partition, and adjusts p within two families by max-T.

    The random signs of HS are the same for all pairs, metrics and partitions.

    Args:
        settings: Settings of the benchmark.
        partitions: Names of the partitions.
        scored: The systems with their scores.
        primary: The comparison whose tests are the primary family; all others are exploratory.

    Returns:
        A row for every comparison, and the families that have rows.
    """
    names = list(scored)
    if len(names) < 2 or settings.baseline not in (None, *names):  # the baseline may have failed
        return [], []
    pairs = system_pairs(names, settings.baseline)
    rows: list[dict[str, Any]] = []
    paired: list[Floats] = []
    for part, metric, values in _compared(settings, partitions, scored):
        differences = np.array([values[a] - values[b] for a, b in pairs])
        low, high = _difference_intervals(settings, differences)
        rows += [
            {
                "a": names[a],
                "b": names[b],
                "partition": part,
                "metric": metric,
                "difference": None,
                "low": number(low[index]),
                "high": number(high[index]),
            }
            for index, (a, b) in enumerate(pairs)
        ]
        paired.append(differences)
    together = np.concatenate(paired)
    labels = family_labels(rows, primary)
    tests = sign_flip_tests(together, families=labels, resamples=settings.resamples, seed=settings.seed)
    for index, row in enumerate(rows):
        row["difference"] = number(tests.difference[index])
        row["p"] = number(tests.p[index])
        row["p_corrected"] = number(tests.p_corrected[index])
        row["family"] = EXPLORATORY if labels[index] else PRIMARY
    return rows, declared_families(labels, tests.p, together, primary, settings)


def _compared(
    settings: "Settings", partitions: list[str], scored: Mapping[str, "Scored"]
) -> Iterator[tuple[str, str, Floats]]:
    """Yields partition, metric and values of shape (systems, HS) of everything that is compared.

    Under protocol `paper` these include the averages of Table 4: all HS count there, so an average is a mean over HS.
    """
    for part in partitions:
        for metric in settings.metrics:
            yield part, metric, np.array([one.partitions[part].values[metric] for one in scored.values()])
    if settings.protocol == "paper":
        for label, parts in [(ALL_PARTITIONS, partitions), *((part, [part]) for part in partitions)]:
            values = [
                np.mean([one.partitions[part].values[m] for part in parts for m in settings.summarised], axis=0)
                for one in scored.values()
            ]
            yield label, AVERAGE, np.array(values)


def _difference_intervals(settings: "Settings", differences: Floats) -> tuple[Floats, Floats]:
    """Returns the ends of bootstrap intervals of mean differences; one HS has no interval."""
    draws = bootstrap_means(differences, resamples=settings.resamples, seed=settings.seed)
    low, high = percentile_interval(draws, settings.confidence)
    alone = np.isfinite(differences).sum(axis=1) < 2
    low[alone] = high[alone] = np.nan
    return low, high


def order_agreement(
    settings: "Settings", partitions: list[str], scored: Mapping[str, "Scored"]
) -> list[dict[str, Any]]:
    """Returns how far two partitions put the systems in one order: Kendall's tau for every metric.

    Args:
        settings: Of the benchmark.
        partitions: The names of the partitions.
        scored: The systems, as they were scored.
    """
    if len(scored) < 2:
        return []
    rows = []
    for a, b in combinations(partitions, 2):
        for metric in settings.metrics:
            x, y = (np.array([one.partitions[part].values[metric] for one in scored.values()]) for part in (a, b))
            tau, low, high = kendall_tau_interval(
                x, y, resamples=settings.order_resamples, seed=settings.seed, confidence=settings.confidence
            )
            rows.append(
                {"a": a, "b": b, "metric": metric, "tau": number(tau), "low": number(low), "high": number(high)}
            )
    return rows
