"""Cross-validated runs of systems that learn from labels, one for each partition."""

from typing import Any

from fcconan.errors import InputError
from fcconan.retrieval import label_learning
from fcconan.retrieval.benchmark_settings import CROSS_VALIDATED, Benchmark, BenchmarkSettings
from fcconan.retrieval.label_learning import learns_from_labels
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
    collection = benchmark.collection
    groups, depth = benchmark.groups.tolist(), benchmark.settings.depth
    return label_learning.rank_partitions(system, collection.queries, collection.corpus, benchmark.qrels, groups, depth)


def held_out_scores(system: Any, benchmark: Benchmark) -> dict[str, tuple[Floats, Ints]]:
    """Returns scores of HS in random folds, for the message AUC of a system that learns.

    Returns:
        Partition -> scores of shape (repeats, HS, CNs), and folds of shape (repeats, HS).
    """
    collection = benchmark.collection
    found = label_learning.held_out_scores(
        system, collection.queries, collection.corpus, benchmark.qrels, benchmark.groups.tolist()
    )
    return {name: (scores[None], folds[None]) for name, (scores, folds) in found.items()}


def to_score_matrix(run: Rankings, benchmark: Benchmark) -> Floats:
    """Returns the scores of a run as a matrix.

    Returns:
        Scores of shape (HS, CNs): minus infinity for an unranked CN, nan for an HS on which the system failed.
    """
    collection = benchmark.collection
    return label_learning.score_matrix(run, collection.queries, collection.corpus)


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
