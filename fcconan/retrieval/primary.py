"""The primary comparison of a benchmark: its metric and partition. All other tests are exploratory."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.retrieval.benchmark_settings import Primary, read_primary
from fcconan.scoring import EXPLORATORY, PRIMARY, Family, Floats, Ints, family_parts, floor_notes, p_floor

if TYPE_CHECKING:
    from fcconan.retrieval.benchmark_settings import Settings
    from fcconan.retrieval.collections import Collection

Qrels = Mapping[str, Mapping[str, Mapping[str, int]]]


def choose_primary(collection: "Collection", settings: "Settings", qrels: Qrels) -> Primary:
    """Returns the declared primary comparison, or the default one.

    The default metric is NDCG at the benchmark's cutoff. The default partition is the broadest of those whose labels
    validators confirmed without exception; the broadest partition where there is none.

    Args:
        collection: The dataset.
        settings: Settings of the benchmark, resolved.
        qrels: Judgements of every partition; the broadest partition has the most, the last one among equals.
    """
    if settings.primary is not None:
        return read_primary(settings.primary, settings, collection.partitions)
    ndcg = [name for name in settings.metrics if name.startswith("ndcg@")]
    metric = next((name for name in ndcg if name == f"ndcg@{settings.k}"), (ndcg or list(settings.metrics))[0])
    confirmed = [name for name in qrels if name in collection.confirmed and collection.confirmed[name]()]
    sizes = {name: sum(map(len, qrels[name].values())) for name in confirmed or qrels}
    partition = max(reversed(sizes), key=sizes.__getitem__)
    if confirmed:
        why = "the broadest tier whose labels are all confirmed by validators"
    elif len(qrels) > 1:
        why = "the partition with the most labels; no partition is known to have confirmed labels only"
    else:
        why = "the only partition"
    return Primary(metric, partition, why)


def family_labels(rows: Sequence[Mapping[str, Any]], primary: Primary) -> Ints:
    """Returns 0 for tests of the primary family and 1 for all others."""
    wanted = primary.metric, primary.partition
    return np.array([(row["metric"], row["partition"]) != wanted for row in rows], dtype=np.int64)


def declared_families(
    labels: Ints, p_values: Floats, differences: Floats, primary: Primary, settings: "Settings"
) -> list[Family]:
    """Describes the families of a benchmark that have rows.

    Args:
        labels: Family of every test.
        p_values: Unadjusted p values; nan for a test without an HS.
        differences: Shape (tests, HS); nan where a test lacks an HS.
        primary: The primary comparison.
        settings: Settings of the benchmark.
    """
    pairs = (
        f"{settings.baseline} against every other system" if settings.baseline is not None else "all pairs of systems"
    )
    words = {
        PRIMARY: f"{pairs}, {primary.metric}, {primary.partition}",
        EXPLORATORY: f"{pairs}, all other metrics and partitions",
    }
    found = []
    for label, (name, tests) in enumerate(words.items()):
        members = labels == label
        if not members.any():
            continue
        n_tests = int(np.isfinite(p_values[members]).sum())
        units = int(np.isfinite(differences[members]).sum(axis=1).max())
        floor = p_floor(settings.resamples, units) if n_tests else None
        found.append(Family(name, tests, n_tests, floor, units=units))
    return found


def family_signature(primary: Primary, families: Sequence[Family], settings: "Settings") -> dict[str, str]:
    """Returns the parts of the signature that name the families."""
    if not families:
        return {}
    return {
        "primary": str(primary),
        "pairs": "all" if settings.baseline is None else f"against-{settings.baseline}",
        **family_parts(families, "primary-and-exploratory"),
    }


def family_notes(primary: Primary, families: Sequence[Family], settings: "Settings", names: Iterable[str]) -> list[str]:
    """Returns notes on the families: the primary comparison, the use of the others, and families without power.

    Args:
        primary: The primary comparison.
        families: The families that have rows.
        settings: Settings of the benchmark.
        names: Names of the systems that were scored.
    """
    if settings.baseline is not None and settings.baseline not in names:
        return [f"The baseline {settings.baseline} failed: no systems are compared."]
    if not families:
        return []
    said = [
        f"Primary comparison: {primary.metric} on {primary.partition} ({primary.why}). All other tests are "
        "exploratory: they suggest hypotheses and confirm none. Choose another primary comparison with --primary "
        "METRIC@PARTITION, before you see results."
    ]
    if settings.baseline is not None and any(family.n_tests for family in families):
        said.append(f"Only comparisons with {settings.baseline} are tested (--baseline).")
    said += [
        f"The {family.name} family holds no test: no HS has a value of two systems."
        for family in families
        if not family.n_tests
    ]
    return said + floor_notes(families, "--resamples")
