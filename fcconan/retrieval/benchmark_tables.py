"""Scores of runs for each HS, and the tables of `bench`."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fcconan.data import check_names
from fcconan.errors import InputError
from fcconan.groups import Bootstrap
from fcconan.retrieval.collections import Collection
from fcconan.retrieval.label_learning import score_matrix
from fcconan.retrieval.systems import Rankings
from fcconan.retrieval.trec import run_text
from fcconan.scoring import (
    METRICS,
    TABLE_4,
    Flags,
    Floats,
    Ints,
    K,
    bootstrap_means,
    chance_levels,
    difference_table,
    evaluate,
    family,
    few_items,
    judged_share,
    mean_intervals,
    means,
    message_auc,
    percentile_interval,
    sorted_columns,
    summary,
)

if TYPE_CHECKING:
    from pandas import DataFrame

CHANCE = "chance"
AVERAGE, ALL = "average", "all"  # of the metrics of Table 4 on a partition, and over all partitions
JUDGED = f"judged@{K}"
AUC_RESAMPLES = 1_000  # most resamples of the message AUC
FRACTIONS, REMOVALS = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02), 100  # of the positives that stay, for sparser labels
Values = dict[tuple[str, str], Floats]  # partition and metric -> values, shape (systems and chance, HS)


class SystemRun(NamedTuple):
    """The rankings of a system.

    Attributes:
        rankings: Partition -> rankings, which differ only if the system learns from labels.
        held_out: Partition -> cross-validated scores, shape (HS, CNs), and folds, shape (HS,), if it learns.
        is_reference: Whether it ignores the message.
    """

    rankings: Mapping[str, Rankings]
    held_out: Mapping[str, tuple[Floats, Ints]]
    is_reference: bool


def choose_primary(given: str | None, metrics: Sequence[str], collection: Collection, paper: bool) -> tuple[str, str]:
    """Returns partition and metric of the tests.

    By default, these are the first NDCG and the largest partition whose labels validators confirmed; if there is none,
    the partition `test`, or else the largest. Of equal ones the last is taken.

    Args:
        given: The comparison as METRIC@PARTITION; None for the default.
        metrics: Metrics of the run.
        collection: The dataset.
        paper: Whether there are averages, as under protocol `paper`.

    Raises:
        InputError: The given comparison is not in this run.
    """
    sizes = {name: sum(map(len, qrels.values())) for name, qrels in collection.partitions.items()}
    if given is not None:
        named = {f"{metric}@{name}": (name, metric) for name in sizes for metric in (*metrics, *[AVERAGE] * paper)}
        named |= {f"{AVERAGE}@{ALL}": (ALL, AVERAGE)} if paper else {}
        check_names("primary comparison", [given], named)
        return named[given]
    among = collection.confirmed & {*sizes} or {"test"} & {*sizes} or sizes
    largest = max(reversed([name for name in sizes if name in among]), key=sizes.__getitem__)
    return largest, next((name for name in metrics if name.startswith("ndcg@")), metrics[0])


class Benchmark:
    """Scores of all systems.

    Args:
        collection: The dataset.
        runs: System -> its run.
        metrics: Names of metrics.
        primary: Partition and metric of the tests.
        paper: Whether the rules of protocol `paper` hold.
        bootstrap: Resamples; the seed is also that of ties.

    Attributes:
        names: The systems by their primary values, best first; references are last.
        values: Values of each HS; nan if undefined.
        judged: The same on judged CNs only.
    """

    def __init__(
        self,
        collection: Collection,
        runs: Mapping[str, SystemRun],
        metrics: Sequence[str],
        primary: tuple[str, str],
        paper: bool,
        bootstrap: Bootstrap,
    ) -> None:
        self.collection, self.runs, self.metrics, self.paper = collection, runs, metrics, paper
        self.primary, self.bootstrap = primary, bootstrap
        self.summarised = [name for name in metrics if name.partition("@")[0] + f"@{K}" in TABLE_4] or [*metrics]
        self.rows = rows = {key: row for row, key in enumerate(collection.queries)}
        self.columns = columns = {key: column for column, key in enumerate(collection.corpus)}
        self.labels: dict[str, Floats] = {}
        for part, qrels in collection.partitions.items():
            self.labels[part] = np.full((len(rows), len(columns)), np.nan)
            for query, judged in qrels.items():
                for key, value in judged.items():  # TREC marks junk by negative relevances
                    self.labels[part][rows[query], columns[key]] = max(value, 0)
        self.failed: dict[tuple[str, str], Flags] = {}
        self.orders: dict[tuple[str, str], Ints] = {}
        sorted_runs: dict[int, Ints] = {}
        seed = None if paper else bootstrap.seed
        for name, run in runs.items():
            for part, rankings in run.rankings.items():
                self.failed[name, part] = np.array([query in rankings.failures for query in rows])
                if id(rankings) not in sorted_runs:
                    order = np.full((len(rows), max([1, *map(len, rankings.values())])), -1)
                    for query, ranking in rankings.items():
                        order[rows[query], : len(ranking)] = sorted_columns(query, ranking, columns, seed)
                    sorted_runs[id(rankings)] = order
                self.orders[name, part] = sorted_runs[id(rankings)]
        self.names = [*runs]
        self.values = self._evaluated(judged=False)
        primary_values = dict(zip(self.names, means(self.values[primary]), strict=False))

        def place(name: str) -> tuple[bool, bool, float, str]:
            value = primary_values[name]
            return runs[name].is_reference, bool(np.isnan(value)), -float(np.nan_to_num(value)), name

        places = [self.names.index(name) for name in sorted(self.names, key=place)]
        self.names = [self.names[at] for at in places]
        self.values = {key: each[[*places, -1]] for key, each in self.values.items()}
        self.judged = self._evaluated(judged=True)

    def _evaluated(self, judged: bool) -> Values:
        found: Values = {}
        metrics = [name for name in self.metrics if not (judged and name.startswith("accuracy@"))]
        for part, labels in self.labels.items():
            found |= {(part, name): each for name, each in self._of_part(part, labels, metrics, judged=judged).items()}
            if not judged:
                shares = [judged_share(self.orders[name, part], labels, self.failed[name, part]) for name in self.names]
                found[part, JUDGED] = np.stack([*shares, np.full(len(labels), np.nan)])
        if self.paper and not judged:
            averages = {part: np.mean([found[part, name] for name in self.summarised], axis=0) for part in self.labels}
            averages[ALL] = np.mean([*averages.values()], axis=0)
            found |= {(part, AVERAGE): each for part, each in averages.items()}
        return found

    def _of_part(self, part: str, labels: Floats, metrics: Sequence[str], *, judged: bool = False) -> dict[str, Floats]:
        """Returns the values of all systems and of chance on a partition, with its labels or others."""
        how: Any = {"paper": self.paper, "judged": judged}
        each = [
            evaluate(self.orders[name, part], labels, metrics, self.failed[name, part], **how) for name in self.names
        ]
        each.append(chance_levels(labels, metrics, **how))
        return {metric: np.stack([one[metric] for one in each]) for metric in metrics}

    def scores(self, values: Values) -> "DataFrame":
        """Returns means over HS with intervals, for each system and for chance."""
        import pandas as pd

        parts = []
        for (part, metric), each in values.items():
            there = np.isfinite(each)
            low, high = mean_intervals(np.nan_to_num(each), there.astype(float), self.bootstrap)
            low[-1] = high[-1] = np.nan  # chance is exact
            found = {"system": [*self.names, CHANCE], "partition": part, "metric": metric, "value": means(each)}
            parts.append(pd.DataFrame({**found, "low": low, "high": high, "n": there.sum(axis=1)}))
        return pd.concat(parts, ignore_index=True)

    def systems(self, scores: "DataFrame") -> "DataFrame":
        """Returns the primary metric of each system and partition, with the number of failures and the first reason."""
        import pandas as pd

        table = scores[scores["metric"] == self.primary[1]].drop(columns="metric")
        order = pd.Categorical(table["system"], [*self.names, CHANCE])
        table = table.iloc[np.argsort(order.codes, kind="stable")].reset_index(drop=True)
        failures = [
            run.rankings.get(row.partition, Rankings()).failures if (run := self.runs.get(row.system)) else {}
            for row in table.itertuples()
        ]
        reasons = [next(iter(each.values()), None) for each in failures]
        return table.assign(n_failed=[*map(len, failures)], reason=reasons)

    def differences(self, baseline: tuple[str, ...]) -> "DataFrame":
        """Returns differences of systems, with tests of one family on the primary metric.

        Raises:
            InputError: A baseline is unknown, or ignores the message.
        """
        if references := [name for name in baseline if name in self.runs and self.runs[name].is_reference]:
            raise InputError(f"found the baseline {references[0]}, which ignores the message: choose another system")
        pairs = family(self.names, baseline)
        measures = [self.primary, *(key for key in self.values if key != self.primary and key[1] != JUDGED)]
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        differences = np.stack([self.values[key][first] - self.values[key][second] for key in measures])
        read = [not self.runs[name].is_reference for name in self.names]
        named = [{"partition": part, "metric": metric} for part, metric in measures]
        tested = [read[a] and read[b] for a, b in pairs]
        return difference_table(named, differences, self.names, pairs, self.bootstrap, tested)

    def message_auc(self, baseline: tuple[str, ...]) -> "DataFrame":
        """Returns the message AUC of each system, and differences from the baselines."""
        from pandas import DataFrame

        texts = self.collection.queries, self.collection.corpus
        how: Any = {"resamples": min(self.bootstrap.resamples, AUC_RESAMPLES), "seed": self.bootstrap.seed}
        known: dict[Any, tuple[float, int, Floats]] = {}

        def score(name: str, part: str, folds: Ints | None) -> tuple[float, int, Floats]:
            run, key = self.runs[name], (name, part, folds is not None)
            if key not in known:
                scores = np.zeros(self.labels[part].shape)
                if part in run.held_out:
                    scores, folds = run.held_out[part]
                elif not run.is_reference:
                    scores = score_matrix(run.rankings[part], *texts)
                known[key] = message_auc(scores, self.labels[part], folds, **how)
            return known[key]

        rows = []
        for part in self.labels:
            for other in (None, *baseline):
                for name in self.names:
                    both = [each for each in (name, other) if each is not None]
                    if name == other or (other and self.runs[name].is_reference):
                        continue
                    # Held-out scores are comparable within a fold: so are those that they are compared with.
                    folds = next((self.runs[one].held_out[part][1] for one in both if self.runs[one].held_out), None)
                    (value, n, drawn), *others = (score(one, part, folds if other else None) for one in both)
                    for subtracted, _, theirs in others:
                        value, drawn = value - subtracted, drawn - theirs
                    ends = percentile_interval(drawn, self.bootstrap.confidence) if len(drawn) else (np.nan, np.nan)
                    row = {"system": name, "baseline": other, "partition": part, "value": value}
                    rows.append(row | {"low": float(ends[0]), "high": float(ends[1]), "n_pairs": n})
        return DataFrame(rows)

    def rank_correlations(self) -> "DataFrame":
        """Returns Kendall's tau-b between the orders of systems on two partitions, for each metric."""
        from pandas import DataFrame

        rows = []
        for a, b in combinations(self.labels if len(self.names) > 1 else (), 2):
            for metric in self.metrics:
                orders = [means(self.values[part, metric])[:-1] for part in (a, b)]
                rows.append({"a": a, "b": b, "metric": metric, "value": _tau(*orders)})
        return DataFrame(rows, columns=["a", "b", "metric", "value"])

    def tiers(self) -> "DataFrame":
        """Returns averages, extremes and variation over partitions, as in Table 4 of FC-CONAN."""
        from pandas import DataFrame

        stacked = np.stack([[self.values[part, metric] for metric in self.summarised] for part in self.labels])
        stacked = np.moveaxis(stacked, 2, 0)  # systems, partitions, metrics, HS
        found, ends = summary(means(stacked)), dict[str, Any]()
        if self.bootstrap.resamples:
            flat = stacked.reshape(-1, stacked.shape[-1])
            drawn = bootstrap_means(flat, resamples=self.bootstrap.resamples, seed=self.bootstrap.seed)
            of_draws = summary(drawn.reshape(-1, *stacked.shape[:-1]))
            alone = (np.isfinite(stacked).sum(axis=-1) < 2).all(axis=(1, 2))
            alone[-1] = True  # chance is exact
            for name, each in of_draws.items():
                ends[name] = np.where(alone, np.nan, percentile_interval(each, self.bootstrap.confidence))
        none = np.full((2, len(stacked)), np.nan)
        rows = [
            {"system": system, "statistic": name, "value": value, "low": low, "high": high}
            for name, values in found.items()
            for system, value, low, high in zip([*self.names, CHANCE], values, *ends.get(name, none), strict=True)
        ]
        return DataFrame(rows)

    def sparsity(self) -> "DataFrame":
        """Returns scores, and tau between the orders of systems, after random removal of positives."""
        from pandas import DataFrame

        part, labels = [*self.labels.items()][-1]
        metrics = [name for name in self.metrics if name.partition("@")[0] in METRICS]
        qrels = self.collection.partitions[part]
        judged = [(query, *each) for query in self.rows for each in qrels.get(query, {}).items()]
        positives = np.array([(self.rows[query], self.columns[key]) for query, key, value in judged if value > 0])
        generator = np.random.default_rng(self.bootstrap.seed)

        def score(known: Floats) -> dict[str, Floats]:
            return {metric: means(each) for metric, each in self._of_part(part, known, metrics).items()}

        full, rows = score(labels), list[dict[str, Any]]()
        for fraction in FRACTIONS:
            n = max(1, round(fraction * len(positives)))
            for _ in range(1 if n >= len(positives) else REMOVALS):
                kept = tuple(positives[generator.permutation(len(positives))[:n]].T)
                known = np.full(labels.shape, np.nan)
                known[kept] = labels[kept]
                for metric, values in score(known).items():
                    key = {"metric": metric, "fraction": fraction, "positives": n}
                    tau = "tau", _tau(values[:-1], full[metric][:-1])
                    named = [*zip([*self.names, CHANCE], values, strict=True), tau]
                    rows += [{"system": name, **key, "value": value} for name, value in named]
        grouped = DataFrame(rows).groupby(["system", "metric", "fraction", "positives"], sort=False)["value"]
        ends = {"low": lambda each: each.quantile(0.025), "high": lambda each: each.quantile(0.975)}
        return grouped.agg(value="mean", sd="std", **ends).reset_index()

    def partitions(self) -> "DataFrame":
        """Returns the numbers of judged pairs, positives, and HS."""
        from pandas import DataFrame

        return DataFrame(
            [
                {
                    "partition": part,
                    "n_judged": int(np.isfinite(labels).sum()),
                    "n_positive": int((labels > 0).sum()),
                    "n_queries": len(labels),
                    "n_without_positive": int((~(labels > 0).any(axis=1)).sum()),
                }
                for part, labels in self.labels.items()
            ]
        )

    def failures(self) -> "DataFrame":
        """Returns a row for each HS on which a system failed."""
        from pandas import DataFrame

        rows = [
            {"system": name, "query": query, "reason": reason}
            for name in self.names
            for rankings in self.runs[name].rankings.values()
            for query, reason in rankings.failures.items()
        ]
        return DataFrame(rows, columns=["system", "query", "reason"]).drop_duplicates()

    def values_csv(self) -> str:
        """Returns the values of each HS as CSV."""
        from pandas import DataFrame

        rows = [
            (name, part, metric, query, value)
            for (part, metric), each in self.values.items()
            for name, values in zip(self.names, each, strict=False)
            for query, value in zip(self.collection.queries, values, strict=True)
        ]
        return DataFrame(rows, columns=["system", "partition", "metric", "hs_id", "value"]).to_csv(index=False)

    def run_text(self, name: str, part: str) -> str:
        """Returns a run in the order that is scored, in which ties are broken, as a TREC run file."""
        ids, rankings = [*self.columns], self.runs[name].rankings[part]
        ordered = {}
        for query, ranking in rankings.items():
            scores = dict(ranking)
            order = self.orders[name, part][self.rows[query], : len(ranking)]
            ordered[query] = [(ids[at], scores[ids[at]]) for at in order]
        return run_text(name, ordered)

    def notes(self) -> list[str]:
        """Returns notes on judged shares, failures, short rankings and few HS."""
        (part, metric), m = self.primary, len(self.rows)
        lines = []
        shares = means(self.values[part, JUDGED])[:-1] if part in self.labels else np.ones(1)
        if np.nanmin(shares) < 1:
            ends = dict.fromkeys(f"{100 * end:.0f}" for end in (np.nanmin(shares), np.nanmax(shares)))
            found = f"{' to '.join(ends)}% of the first {K} CNs are judged in {part}"
            lines.append(f"{found}; others count as wrong: see judged_only.")
        for name in self.names:
            rankings = [*self.runs[name].rankings.values()][-1]
            if failures := rankings.failures:
                first = next(iter(failures.values()))
                lines.append(f"{name} failed on {len(failures)} of {m} HS, which its scores leave out: {first}")
            lengths = [len(rankings.get(query, ())) for query in self.rows if query not in failures]
            if short := sum(length < min(K, len(self.columns)) for length in lengths):
                lines.append(f"{name} ranks fewer than {K} CNs for {short} of {m} HS; others count as not found.")
            if sum(each[0][1] < each[-1][1] for each in rankings.values() if each) > len(rankings) / 2:
                lines.append(f"{name} lists mostly the lowest score first, but the highest counts: check their signs.")
        return lines + few_items(int(np.isfinite(self.values[part, metric]).sum(axis=1).max()), self.bootstrap)


def _tau(x: Floats, y: Floats) -> float:
    from scipy.stats import kendalltau

    there = np.isfinite(x) & np.isfinite(y)
    x, y = x[there].round(10), y[there].round(10)  # equal means may differ in the last digits
    return float(kendalltau(x, y).statistic) if len(x) > 1 else np.nan
