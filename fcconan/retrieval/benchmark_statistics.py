"""Statistics over the systems of a benchmark, and rows of its result: intervals, tests, agreement of partitions."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from fcconan.retrieval.benchmark_settings import (
    ALL_PARTITIONS,
    AVERAGE,
    Benchmark,
    Scored,
    Settings,
    declared_families,
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


SUMMARY_VALUES = ("avg", "min", "max", "cv")
DIGITS = 10


def number(value: Any) -> float | None:
    """Returns a float that JSON can hold: None for nan."""
    read = float(value)
    return round(read, DIGITS) if np.isfinite(read) else None


def named(values: Floats, *names: Iterable[str]) -> Any:
    """Returns an array as nested dictionaries, by the names along its axes; a further last axis becomes a list."""
    if names:
        return {name: named(part, *names[1:]) for name, part in zip(names[0], values, strict=True)}
    return [number(value) for value in values] if values.ndim else number(values)


def system_figures(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """Returns the figures of every system, as the result of a benchmark has them, with their intervals."""
    if not benchmark.systems:
        return {}
    intervals, of_summaries = _intervals(benchmark)
    return {
        name: _figures(benchmark, row, one)
        | {
            "intervals": named(intervals[row], benchmark.partitions, benchmark.settings.metrics),
            "summary_intervals": named(of_summaries[row], SUMMARY_VALUES),
        }
        for row, (name, one) in enumerate(benchmark.systems.items())
    }


def _intervals(benchmark: Benchmark) -> tuple[Floats, Floats]:
    """Resamples HS, the same for all systems and metrics.

    Returns:
        Intervals of shape (systems, partitions, metrics, 2), and of the summary, (systems, `SUMMARY_VALUES`, 2).
    """
    settings, values = benchmark.settings, benchmark.values
    draws, intervals = resampled(values.reshape(-1, values.shape[-1]), settings)
    intervals = intervals.reshape(*values.shape[:-1], 2)
    columns = settings.summary_columns
    with np.errstate(invalid="ignore"):
        of_draws = draws.reshape(len(draws), *values.shape[:-1])[..., columns]
        of_summaries = summary_interval(of_draws, settings.confidence)
    alone = (np.isfinite(values).sum(axis=-1) < 2)[..., columns]  # of one HS, every resample is the same
    of_summaries[alone.all(axis=(1, 2))] = np.nan
    return intervals, of_summaries


def resampled(values: Floats, settings: Settings, resamples: int | None = None) -> tuple[Floats, Floats]:
    """Resamples HS.

    Args:
        values: Shape (rows, HS); nan where there is no value.
        settings: Settings of the benchmark.
        resamples: How many; by default those of the settings.

    Returns:
        Means of shape (resamples, rows), and their intervals of shape (rows, 2): nan where fewer than two HS have a
        value, as all resamples of one HS are the same.
    """
    draws = bootstrap_means(values, resamples=resamples or settings.resamples, seed=settings.seed)
    intervals = np.stack(percentile_interval(draws, settings.confidence), axis=-1)
    intervals[np.isfinite(values).sum(axis=-1) < 2] = np.nan
    return draws, intervals


def summary_interval(draws: Floats, confidence: float) -> Floats:
    """Returns intervals of the summary of means.

    Args:
        draws: The means; shape (resamples, ..., partitions, metrics).
        confidence: Confidence level.

    Returns:
        Shape (..., values of `SUMMARY_VALUES`, 2).
    """
    drawn = np.stack(list(summary(draws).values()), axis=-1)
    return np.stack(percentile_interval(drawn, confidence), axis=-1)


def _figures(benchmark: Benchmark, row: int, one: Scored) -> dict[str, Any]:
    """Returns how a system ran and its figures; some stand there only if they tell more than the others."""
    settings, partitions = benchmark.settings, benchmark.partitions
    figures = np.array([[means(value) for value in part] for part in benchmark.values[row]])
    found: dict[str, Any] = {
        "configuration": one.configuration,
        "resolved": one.found.resolved,
        "diagnostics": one.found.diagnostics,
        "failures": one.found.failures,
        "partitions": {part: _partition(one.partitions[part], settings.k) for part in partitions},
        "summary": {key: number(value) for key, value in summary(figures[:, settings.summary_columns]).items()},
    }
    if settings.protocol != PAPER:
        found["unjudged_right"] = {
            part: {metric: number(means(value)) for metric, value in one.partitions[part].unjudged_right.items()}
            for part in partitions
        }
    if one.found.failures:
        counted = np.isfinite(benchmark.values[row]).sum(axis=-1) + [[one.partitions[p].n_failed] for p in partitions]
        as_zero = np.nansum(benchmark.values[row], axis=-1) / np.maximum(counted, 1)
        found["failures_as_zero"] = named(as_zero, partitions, settings.metrics)
    if one.spread is not None and one.summaries is not None:
        found["spread"] = named(one.spread, partitions, settings.metrics)
        found["summary_over_seeds"] = named(one.summaries, SUMMARY_VALUES)
    return found


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


def comparisons(benchmark: Benchmark) -> tuple[list[dict[str, Any]], list[Family]]:
    """Tests pairs of systems on every metric of every partition, and adjusts p within two families by max-T.

    The random signs of HS are the same for all pairs, metrics and partitions.

    Returns:
        A row for every comparison, and the families that have rows.
    """
    names, settings, primary = list(benchmark.systems), benchmark.settings, benchmark.primary
    if len(names) < 2 or settings.baseline not in (None, *names):  # the baseline may have failed
        return [], []
    pairs = system_pairs(names, settings.baseline)
    compared = [
        (part, metric, np.array([values[a] - values[b] for a, b in pairs]))
        for part, metric, values in _compared(benchmark)
    ]
    intervals = np.concatenate([resampled(differences, settings)[1] for _, _, differences in compared])
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
            "difference": number(tests.difference[index]),
            "low": number(intervals[index, 0]),
            "high": number(intervals[index, 1]),
            "p": number(tests.p[index]),
            "p_corrected": number(tests.p_corrected[index]),
            "family": EXPLORATORY if labels[index] else PRIMARY,
        }
        for index, (part, metric, a, b) in enumerate(described)
    ]
    return rows, declared_families(benchmark, labels, tests.p, together)


def _compared(benchmark: Benchmark) -> Iterator[tuple[str, str, Floats]]:
    """Yields partition, metric and values of shape (systems, HS) of everything that is compared.

    Under protocol `paper` these include the averages of Table 4: all HS count there, so an average is a mean over HS.
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


def order_agreement(benchmark: Benchmark) -> list[dict[str, Any]]:
    """Returns how far two partitions put the systems in one order: Kendall's tau for every metric."""
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
                {"a": a, "b": b, "metric": metric, "tau": number(tau), "low": number(low), "high": number(high)}
            )
    return rows
