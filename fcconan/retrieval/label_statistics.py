"""Effect of labels on results: scores on judged pairs only, intervals over HS and CNs, and the message AUC."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from fcconan.retrieval.benchmark_settings import Benchmark
from fcconan.retrieval.benchmark_statistics import bootstrap_hs, to_nested, to_number
from fcconan.retrieval.label_runs import to_score_matrix
from fcconan.scoring import (
    Floats,
    Ints,
    MessageAUC,
    judged_chance,
    judged_rule,
    means,
    message_auc,
    message_auc_difference,
    percentile_interval,
    two_way_means,
)

Resampled = dict[
    str, tuple[list[str], Floats]
]  # partition -> systems, and means of shape (resamples, systems, metrics)


def resample_hs_and_cns(benchmark: Benchmark) -> Resampled:
    """Bootstraps over HS and CNs, with the same resamples for all systems; systems with several seeds are left out."""
    collection, settings = benchmark.collection, benchmark.settings
    names = [name for name, one in benchmark.systems.items() if one.n_seeds == 1]
    return {
        part: (
            names,
            two_way_means(
                [benchmark.systems[name].orders[part] for name in names],
                judged,
                list(collection.queries),
                list(collection.corpus),
                rule=settings.rule,
                k=settings.k,
                resamples=settings.label_resamples,
                seed=settings.seed,
                failed=[list(benchmark.systems[name].runs[part].failures) for name in names],
            ),
        )
        for part, judged in benchmark.qrels.items()
    }


class MessageScores:
    """Cached message AUC of each system of a benchmark.

    Args:
        benchmark: The benchmark.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        self._cache: dict[tuple[str, str, bool], MessageAUC] = {}
        rows = {key: row for row, key in enumerate(benchmark.collection.queries)}
        columns = {key: column for column, key in enumerate(benchmark.collection.corpus)}
        self._labels = {part: np.full((len(rows), len(columns)), np.nan) for part in benchmark.partitions}
        for part, qrels in benchmark.qrels.items():
            for query, judged in qrels.items():
                for key, value in judged.items():
                    self._labels[part][rows[query], columns[key]] = value > 0
        self._scores: dict[str, Floats] = {}

    def score(self, part: str, name: str, folds: Ints | None = None) -> MessageAUC:
        """Returns the message AUC of a system.

        Args:
            part: Name of the partition.
            name: Name of the system.
            folds: Folds within which HS are compared, of shape (repeats, HS); default: the folds of a system that
                learns, or one fold for all HS.
        """
        if (part, name, folds is not None) not in self._cache:
            self._cache[part, name, folds is not None] = self._compute(part, name, folds)
        return self._cache[part, name, folds is not None]

    def _compute(self, part: str, name: str, folds: Ints | None) -> MessageAUC:
        settings, one = self._benchmark.settings, self._benchmark.systems[name]
        if part in one.held_out:
            scores, folds = one.held_out[part]
        elif one.ignores_message:
            scores = np.zeros(self._labels[part].shape)
        elif one.uses_labels:  # its runs differ between partitions
            scores = to_score_matrix(one.runs[part], self._benchmark)
        else:
            if name not in self._scores:
                self._scores[name] = to_score_matrix(one.found, self._benchmark)
            scores = self._scores[name]
        if folds is not None and scores.ndim == 2:
            scores = np.broadcast_to(scores, (len(folds), *scores.shape))
        return message_auc(
            scores,
            self._labels[part],
            folds=folds,
            resamples=settings.label_resamples,
            confidence=settings.confidence,
            seed=settings.seed,
        )

    def differences(self) -> list[dict[str, Any]]:
        """Returns the differences of the message AUC for the compared pairs of systems.

        If a system learns from labels, only pairs of HS within one of its folds are compared.
        """
        settings, systems = self._benchmark.settings, self._benchmark.systems
        readers = [name for name, one in systems.items() if one.n_seeds == 1 and not one.ignores_message]
        pairs = [pair for pair in combinations(readers, 2) if settings.baseline in (None, *pair)]
        rows = []
        for part in self._benchmark.partitions:
            for a, b in pairs:
                held_out = [systems[name].held_out[part] for name in (a, b) if part in systems[name].held_out]
                folds = held_out[0][1] if held_out else None
                both = (self.score(part, name, folds) for name in (a, b))
                values = message_auc_difference(*both, confidence=settings.confidence)
                ends = dict(zip(("difference", "low", "high"), map(to_number, values), strict=True))
                rows.append({"a": a, "b": b, "partition": part, **ends})
        return rows


def collect_label_scores(benchmark: Benchmark, draws: Resampled, scores: MessageScores) -> dict[str, dict[str, Any]]:
    """Returns judged-only scores, message AUC and intervals over HS and CNs of each system."""
    settings, parts = benchmark.settings, benchmark.partitions
    metrics = judged_rule(settings.rule).metrics
    found: dict[str, dict[str, Any]] = {}
    for name, one in benchmark.systems.items():
        judged = np.array([[one.judged[part].values[metric] for metric in metrics] for part in parts])
        _, intervals = bootstrap_hs(judged.reshape(-1, judged.shape[-1]), settings, settings.label_resamples)
        values: dict[str, Any] = {
            "judged_only": to_nested(np.array([[means(each) for each in row] for row in judged]), parts, metrics),
            "judged_only_intervals": to_nested(intervals.reshape(*judged.shape[:2], 2), parts, metrics),
            "message_auc": {part: _auc_values(scores.score(part, name)) for part in parts},
        }
        if one.n_seeds == 1:
            of_parts = [draws[part][1][:, draws[part][0].index(name)] for part in parts]
            values["two_way_intervals"] = to_nested(_intervals(of_parts, settings.confidence), parts, settings.metrics)
        values |= {key: True for key in ("uses_labels", "ignores_message") if getattr(one, key)}
        found[name] = values
    return found


def _intervals(draws: Iterable[Floats], confidence: float) -> Floats:
    """Returns percentile intervals, of shape (arrays, ..., 2), for arrays of shape (resamples, ...)."""
    return np.array([np.stack(percentile_interval(each, confidence), axis=-1) for each in draws])


def chance_on_judged(benchmark: Benchmark) -> dict[str, dict[str, float | None]]:
    """Returns the chance level on judged pairs only, by partition and metric."""
    queries, rule = list(benchmark.collection.queries), benchmark.settings.rule
    return {
        part: {metric: to_number(means(values)) for metric, values in judged_chance(judged, queries, rule=rule).items()}
        for part, judged in benchmark.qrels.items()
    }


def add_label_comparisons(benchmark: Benchmark, rows: list[dict[str, Any]], draws: Resampled) -> None:
    """Adds the difference on judged pairs only and the interval over HS and CNs to the rows of comparisons."""
    settings, systems = benchmark.settings, benchmark.systems
    columns = {metric: column for column, metric in enumerate(settings.metrics)}
    on_judged = set(judged_rule(settings.rule).metrics)
    known = [row for row in rows if row["partition"] in benchmark.qrels and row["metric"] in columns]
    judged = [row for row in known if row["metric"] in on_judged]
    if judged:
        values = [
            systems[row["a"]].judged[row["partition"]].values[row["metric"]]
            - systems[row["b"]].judged[row["partition"]].values[row["metric"]]
            for row in judged
        ]
        _, intervals = bootstrap_hs(np.array(values), settings, settings.label_resamples)
        for row, value, ends in zip(judged, values, intervals, strict=True):
            row["judged_only"] = {
                "difference": to_number(means(value)),
                "low": to_number(ends[0]),
                "high": to_number(ends[1]),
            }
    for row in known:
        names, of_part = draws[row["partition"]]
        if row["a"] in names and row["b"] in names:
            a, b = (of_part[:, names.index(row[each]), columns[row["metric"]]] for each in ("a", "b"))
            row["two_way"] = [to_number(end) for end in percentile_interval(a - b, settings.confidence)]


def _auc_values(found: MessageAUC) -> dict[str, Any]:
    values = {key: value for key, value in asdict(found).items() if key != "resampled"}
    return {key: to_number(value) if isinstance(value, float) else value for key, value in values.items()}
