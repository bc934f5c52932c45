"""Intervals, significance tests and rank agreement for the systems of a benchmark, and rows of its result."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from fcconan.retrieval.benchmark_settings import (
    ALL_PARTITIONS,
    AVERAGE,
    Benchmark,
    BenchmarkSettings,
    SystemScores,
    describe_families,
)
from fcconan.scoring import (
    EXPLORATORY,
    PAPER,
    PRIMARY,
    Evaluation,
    Family,
    Floats,
    bootstrap_means,
    kendall_tau_interval,
    means,
    percentile_interval,
    sign_flip_tests,
    summary,
    system_pairs,
)


def ranked_systems(result: Mapping[str, Any]) -> list[str]:
    """Returns the names of the systems, best average first; ties by name."""
    systems = result["systems"]

    def sort_key(name: str) -> tuple[bool, float, str]:
        average = systems[name]["summary"]["avg"]
        return average is None, -(average or 0.0), name

    return sorted(systems, key=sort_key)


def interval_ends(system: Mapping[str, Any], partition: str, metric: str) -> tuple[float | None, float | None]:
    """Returns the ends of the interval of a score; (None, None) if it has no interval."""
    low, high = system.get("intervals", {}).get(partition, {}).get(metric) or (None, None)
    return (low, high) if low is not None and high is not None else (None, None)


COLUMNS = ("value", "low", "high", "unjudged_right", "failures_as_zero", "sd_over_seeds", "chance")


def score_rows(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields one row for each system, partition and metric; missing values are None."""
    for name in ranked_systems(result):
        system = result["systems"][name]
        for partition, scores in system["partitions"].items():
            more = [system.get(key, {}).get(partition, {}) for key in ("unjudged_right", "failures_as_zero", "spread")]
            for metric in result["settings"]["metrics"]:
                values = (
                    scores[metric],
                    *interval_ends(system, partition, metric),
                    *(one.get(metric) for one in more),
                    result["chance"]["partitions"][partition][metric],
                )
                yield {
                    "system": name,
                    "partition": partition,
                    "metric": metric,
                    **dict(zip(COLUMNS, values, strict=True)),
                    "n_queries": scores["n_queries"],
                    "n_failed": scores["n_failed"],
                }


def leaderboard_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the average and the primary metric of each system, with intervals; failed systems are last."""
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


def primary_chance_level(result: Mapping[str, Any]) -> float | None:
    """Returns the chance level of the primary metric; None if the primary metric is an average."""
    metric, partition = _split_primary(result)
    found: float | None = result["chance"]["partitions"].get(partition, {}).get(metric)
    return found


def _primary_values(
    result: Mapping[str, Any], system: Mapping[str, Any]
) -> tuple[float | None, float | None, float | None]:
    metric, partition = _split_primary(result)
    if metric in system["partitions"].get(partition, {}):
        return system["partitions"][partition][metric], *interval_ends(system, partition, metric)
    # Under protocol paper, the primary metric may be the average of the summary's metrics on one or all partitions.
    names = [partition] if partition in system["partitions"] else list(system["partitions"])
    values = [system["partitions"][name][each] for name in names for each in result["settings"]["summarised"]]
    return (None if None in values else sum(values) / len(values)), None, None


def _split_primary(result: Mapping[str, Any]) -> tuple[str, str]:
    """Returns metric and partition of the primary comparison; both may contain an @."""
    primary: str = result["settings"]["primary"]
    names = [*result["partitions"], "all"]
    partition = max((name for name in names if primary.endswith(f"@{name}")), key=len)
    return primary.removesuffix(f"@{partition}"), partition


SUMMARY_VALUES = ("avg", "min", "max", "cv")
DIGITS = 10


def to_number(value: Any) -> float | None:
    """Returns a rounded float for JSON; None for nan and infinity."""
    read = float(value)
    return round(read, DIGITS) if np.isfinite(read) else None


def to_nested(values: Floats, *names: Iterable[str]) -> Any:
    """Converts an array to nested dictionaries, with one level for each axis.

    Args:
        values: Array with as many axes as `names`, or one more; the further last axis becomes a list.
        *names: Keys along each axis.
    """
    if names:
        return {name: to_nested(part, *names[1:]) for name, part in zip(names[0], values, strict=True)}
    return [to_number(value) for value in values] if values.ndim else to_number(values)


def collect_scores(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """Returns the scores and intervals of each system, as in the result of a benchmark."""
    if not benchmark.systems:
        return {}
    intervals, of_summaries = _intervals(benchmark)
    return {
        name: _system_scores(benchmark, row, one)
        | {
            "intervals": to_nested(intervals[row], benchmark.partitions, benchmark.settings.metrics),
            "summary_intervals": to_nested(of_summaries[row], SUMMARY_VALUES),
        }
        for row, (name, one) in enumerate(benchmark.systems.items())
    }


def _intervals(benchmark: Benchmark) -> tuple[Floats, Floats]:
    """Bootstraps over HS, with the same resamples for all systems and metrics.

    Returns:
        Intervals of the scores, of shape (systems, partitions, metrics, 2), and of the summary, of shape (systems,
        `SUMMARY_VALUES`, 2).
    """
    settings, values = benchmark.settings, benchmark.values
    draws, intervals = bootstrap_hs(values.reshape(-1, values.shape[-1]), settings)
    intervals = intervals.reshape(*values.shape[:-1], 2)
    columns = settings.summary_columns
    with np.errstate(invalid="ignore"):
        of_draws = draws.reshape(len(draws), *values.shape[:-1])[..., columns]
        of_summaries = summary_interval(of_draws, settings.confidence)
    alone = (np.isfinite(values).sum(axis=-1) < 2)[..., columns]  # all resamples of one HS are equal
    of_summaries[alone.all(axis=(1, 2))] = np.nan
    return intervals, of_summaries


def bootstrap_hs(values: Floats, settings: BenchmarkSettings, resamples: int | None = None) -> tuple[Floats, Floats]:
    """Bootstraps means over HS.

    Args:
        values: Scores of shape (rows, HS); nan if undefined.
        settings: Settings of the benchmark.
        resamples: Number of resamples; default: that of the settings.

    Returns:
        Means of shape (resamples, rows), and their intervals of shape (rows, 2). An interval is nan if fewer than two
        HS have a score, because all resamples of one HS are equal.
    """
    draws = bootstrap_means(values, resamples=resamples or settings.resamples, seed=settings.seed)
    intervals = np.stack(percentile_interval(draws, settings.confidence), axis=-1)
    intervals[np.isfinite(values).sum(axis=-1) < 2] = np.nan
    return draws, intervals


def summary_interval(draws: Floats, confidence: float) -> Floats:
    """Returns percentile intervals of the summary.

    Args:
        draws: Resampled means, of shape (resamples, ..., partitions, metrics).
        confidence: Confidence level.

    Returns:
        Intervals of shape (..., `SUMMARY_VALUES`, 2).
    """
    summaries = np.stack(list(summary(draws).values()), axis=-1)
    return np.stack(percentile_interval(summaries, confidence), axis=-1)


def _system_scores(benchmark: Benchmark, row: int, one: SystemScores) -> dict[str, Any]:
    """Returns configuration, diagnostics and scores of a system.

    Three keys are optional: `unjudged_right` (not under protocol `paper`), `failures_as_zero` (after failures), and
    `spread` with `summary_over_seeds` (with several seeds).
    """
    settings, partitions = benchmark.settings, benchmark.partitions
    scores = np.array([[means(value) for value in part] for part in benchmark.values[row]])
    found: dict[str, Any] = {
        "configuration": one.configuration,
        "resolved": {},
        "diagnostics": {},
        "failures": one.found.failures,
        "partitions": {part: _partition_scores(one.partitions[part], settings.k) for part in partitions},
        "summary": {key: to_number(value) for key, value in summary(scores[:, settings.summary_columns]).items()},
    }
    if settings.protocol != PAPER:
        found["unjudged_right"] = {
            part: {metric: to_number(means(value)) for metric, value in one.partitions[part].unjudged_right.items()}
            for part in partitions
        }
    if one.found.failures:
        counted = np.isfinite(benchmark.values[row]).sum(axis=-1) + [[one.partitions[p].n_failed] for p in partitions]
        as_zero = np.nansum(benchmark.values[row], axis=-1) / np.maximum(counted, 1)
        found["failures_as_zero"] = to_nested(as_zero, partitions, settings.metrics)
    if one.spread is not None and one.summaries is not None:
        found["spread"] = to_nested(one.spread, partitions, settings.metrics)
        found["summary_over_seeds"] = to_nested(one.summaries, SUMMARY_VALUES)
    return found


def _partition_scores(evaluation: Evaluation, k: int) -> dict[str, Any]:
    scores: dict[str, Any] = {metric: to_number(means(value)) for metric, value in evaluation.values.items()}
    return scores | {
        "n_queries": int(max((np.isfinite(value).sum() for value in evaluation.values.values()), default=0)),
        "n_without_positive": evaluation.n_without_positive,
        f"judged@{k}": to_number(means(evaluation.judged)),
        "n_empty": evaluation.n_empty,
        "n_short": evaluation.n_short,
        "n_failed": evaluation.n_failed,
    }


def compare_systems(benchmark: Benchmark) -> tuple[list[dict[str, Any]], list[Family]]:
    """Tests pairs of systems on each metric and partition; p values are adjusted within two families by max-T.

    The random signs of HS are the same for all pairs, metrics and partitions.

    Returns:
        One row for each comparison, and the families that have rows.
    """
    names, settings, primary = list(benchmark.systems), benchmark.settings, benchmark.primary
    if len(names) < 2 or settings.baseline not in (None, *names):  # the baseline may have failed
        return [], []
    pairs = system_pairs(names, settings.baseline)
    compared = [
        (part, metric, np.array([values[a] - values[b] for a, b in pairs]))
        for part, metric, values in _compared_values(benchmark)
    ]
    intervals = np.concatenate([bootstrap_hs(differences, settings)[1] for _, _, differences in compared])
    together = np.concatenate([differences for _, _, differences in compared])
    is_primary = [(metric, part) == (primary.metric, primary.partition) for part, metric, _ in compared]
    labels = np.repeat(np.where(is_primary, 0, 1), len(pairs))
    tests = sign_flip_tests(together, families=labels, resamples=settings.resamples, seed=settings.seed)
    described = [(part, metric, names[a], names[b]) for part, metric, _ in compared for a, b in pairs]
    rows = [
        {
            "a": a,
            "b": b,
            "partition": part,
            "metric": metric,
            "difference": to_number(tests.difference[index]),
            "low": to_number(intervals[index, 0]),
            "high": to_number(intervals[index, 1]),
            "p": to_number(tests.p[index]),
            "p_corrected": to_number(tests.p_corrected[index]),
            "family": EXPLORATORY if labels[index] else PRIMARY,
        }
        for index, (part, metric, a, b) in enumerate(described)
    ]
    return rows, describe_families(benchmark, labels, tests.p, together)


def _compared_values(benchmark: Benchmark) -> Iterator[tuple[str, str, Floats]]:
    """Yields partition, metric and scores of shape (systems, HS) for each comparison.

    Protocol `paper` adds the averages of Table 4. All HS count there, so an average is a mean over HS.
    """
    settings, values = benchmark.settings, benchmark.values
    for i, part in enumerate(benchmark.partitions):
        for j, metric in enumerate(settings.metrics):
            yield part, metric, values[:, i, j]
    if settings.protocol == PAPER:
        summarised = values[:, :, settings.summary_columns]
        averaged = [(ALL_PARTITIONS, summarised)]
        averaged += [(part, summarised[:, i : i + 1]) for i, part in enumerate(benchmark.partitions)]
        for label, chosen in averaged:
            by_system = chosen.reshape(len(values), -1, values.shape[-1])
            yield label, AVERAGE, np.array([one.mean(axis=0) for one in by_system])


def compare_orders(benchmark: Benchmark) -> list[dict[str, Any]]:
    """Returns Kendall's tau between the orders of systems on two partitions, for each pair of partitions and metric."""
    settings, values = benchmark.settings, benchmark.values
    if len(benchmark.systems) < 2:
        return []
    rows = []
    for (i, a), (j, b) in combinations(enumerate(benchmark.partitions), 2):
        for column, metric in enumerate(settings.metrics):
            tau, low, high = kendall_tau_interval(
                values[:, i, column],
                values[:, j, column],
                resamples=settings.order_resamples,
                seed=settings.seed,
                confidence=settings.confidence,
            )
            rows.append(
                {
                    "a": a,
                    "b": b,
                    "metric": metric,
                    "tau": to_number(tau),
                    "low": to_number(low),
                    "high": to_number(high),
                }
            )
    return rows
