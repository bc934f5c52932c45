"""Cross-validated runs of systems that learn from labels, one for each partition."""

from typing import Any

import numpy as np

from fcconan.data import balanced_folds
from fcconan.errors import InputError
from fcconan.retrieval.benchmark_settings import AUC_FOLDS, CROSS_VALIDATED, Benchmark, BenchmarkSettings
from fcconan.retrieval.label_learning import (
    check_held_out,
    labelled_pairs,
    learns_from_labels,
    rank_held_out,
)
from fcconan.retrieval.label_systems import Popularity
from fcconan.retrieval.systems import Rankings, Retriever
from fcconan.scoring import SOUND, Floats, Ints


def check_may_learn(system: Retriever, settings: BenchmarkSettings) -> None:
    """Checks that the protocol allows a system to learn from labels.

    Raises:
        InputError: The protocol is `sound`, and the system is not the reference `popularity`.
    """
    if settings.protocol == SOUND and learns_from_labels(system) and not isinstance(system, Popularity):
        raise InputError(
            f"{system.name} learns from labels of other HS, which protocol sound does not allow: use --protocol "
            f"{CROSS_VALIDATED}"
        )


def rank_partitions(system: Any, benchmark: Benchmark) -> dict[str, Rankings]:
    """Returns the cross-validated runs of a system by partition; each is fitted on labels of its partition.

    Args:
        system: The system.
        benchmark: The benchmark, before scoring.

    Raises:
        InputError: All HS are in one leakage group, or a run is invalid.
    """
    collection, settings = benchmark.collection, benchmark.settings
    folds = balanced_folds(benchmark.groups.tolist(), settings.folds, seed=settings.seed)
    found: dict[str, Rankings] = {}
    for name, judged in benchmark.qrels.items():
        labels = labelled_pairs(collection, judged, benchmark.groups)
        run = rank_held_out(system, collection, labels, folds, settings.depth)
        if not found:  # later partitions have labels of the earlier ones
            check_held_out(system, collection, labels, folds, settings.depth, run)
        found[name] = run
    return found


def held_out_scores(system: Any, benchmark: Benchmark) -> dict[str, tuple[Floats, Ints]]:
    """Returns scores of HS in random folds, for the message AUC of a system that learns.

    Returns:
        Partition -> scores of shape (repeats, HS, CNs), and folds of shape (repeats, HS).
    """
    collection, settings = benchmark.collection, benchmark.settings
    groups, seeds = benchmark.groups.tolist(), range(settings.seed, settings.seed + settings.repeats)
    folds = np.array([balanced_folds(groups, AUC_FOLDS, seed=seed) for seed in seeds])
    found = {}
    for name, judged in benchmark.qrels.items() if settings.repeats else ():
        labels = labelled_pairs(collection, judged, benchmark.groups)
        runs = [rank_held_out(system, collection, labels, fold, len(collection.corpus)) for fold in folds]
        found[name] = np.array([to_score_matrix(run, benchmark) for run in runs]), folds
    return found


def to_score_matrix(run: Rankings, benchmark: Benchmark) -> Floats:
    """Returns the scores of a run as a matrix.

    Returns:
        Scores of shape (HS, CNs): minus infinity for an unranked CN, nan for an HS on which the system failed.
    """
    collection = benchmark.collection
    columns = {key: column for column, key in enumerate(collection.corpus)}
    found = np.full((len(collection.queries), len(columns)), -np.inf)
    for row, query in enumerate(collection.queries):
        if query in run.failures:
            found[row] = np.nan
            continue
        ranking = run.get(query, [])
        found[row, [columns[key] for key, _ in ranking]] = [score for _, score in ranking]
    return found


def learning_notes(benchmark: Benchmark) -> list[str]:
    """Returns notes on systems that learn from labels and on the ends of rankings."""
    collection, settings = benchmark.collection, benchmark.settings
    lines = []
    if learning := [name for name, one in benchmark.systems.items() if one.uses_labels]:
        n_groups = len(set(benchmark.groups.tolist()))
        lines.append(
            f"Systems that learn from labels: {', '.join(learning)}. For each HS they are fitted on the labels of "
            "other HS of the scored partition, without its leakage group. "
            f"The {len(collection.queries)} HS form {n_groups} leakage groups"
            + ("." if n_groups <= settings.folds else f", split into {settings.folds} folds.")
            + (
                f" A report shows the rankings for {benchmark.partitions[-1]} and has a run file for each partition."
                if len(benchmark.partitions) > 1
                else ""
            )
        )
    if (depth := settings.depth) < len(collection.corpus):
        lines.append(
            f"Rankings end at rank {depth} of {len(collection.corpus)}; in scores on judged pairs only and in the "
            f"message AUC, lower CNs are tied at the end. For complete rankings, use --depth {len(collection.corpus)}."
        )
    return lines
