"""Learning curves: what systems that learn score with fewer labelled HS, and with fewer judgements per HS."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fcconan.errors import InputError
from fcconan.retrieval.benchmark_settings import Settings, choose_primary
from fcconan.retrieval.benchmark_statistics import number
from fcconan.retrieval.collections import Collection, Qrels
from fcconan.retrieval.label_learning import (
    LabelledPair,
    group_folds,
    labelled_pairs,
    leakage_groups,
    learns,
    rank_held_out,
)
from fcconan.retrieval.systems import Retriever
from fcconan.scoring import evaluate, means, sort_run, tie_by_hash

SHARES = (0.125, 0.25, 0.5, 1.0)  # of the HS with labels
JUDGEMENTS = (5, 10, 20, 40)  # per HS
LEAST_HS = 4
FOLDS = 10  # of HS, so that a curve needs few fits


def learning_curves(
    collection: Collection, systems: Sequence[Retriever], result: Mapping[str, Any], settings: Settings, *, seeds: int
) -> dict[str, Any]:
    """Scores systems that learn, on labels of random HS and on random judgements per HS.

    In each of 10 folds by leakage group, labels of the other folds are thinned and a system is fitted on them.

    Args:
        collection: The dataset.
        systems: The systems; those that do not learn are left out.
        result: The result of the benchmark, for the values of the others.
        settings: Settings of the benchmark, resolved.
        seeds: Random choices for each point.

    Returns:
        JSON-able: `partition` and `metric` of the primary comparison, `seeds`, `rows` with the mean over seeds and its
        2.5th and 97.5th percentile, None where the labels are too few to learn from, and `baseline` with the values of
        the systems that do not learn.
    """
    qrels = {name: collection.qrels(name) for name in collection.partitions}
    primary = choose_primary(collection, settings, qrels)
    judged = qrels.get(primary.partition, list(qrels.values())[-1])
    metric = primary.metric if primary.metric in settings.metrics else settings.metrics[0]
    groups = leakage_groups(collection.queries)
    folds = group_folds(groups, FOLDS)
    labels = labelled_pairs(collection, judged, groups)
    n_labelled = len({label.query_id for label in labels})
    numbers = dict.fromkeys(max(LEAST_HS, round(share * n_labelled)) for share in SHARES)
    points: list[tuple[int, int | None]] = [(number_of_hs, None) for number_of_hs in numbers]
    points += [(n_labelled, n_judged) for n_judged in JUDGEMENTS if n_judged < len(labels) / max(n_labelled, 1)]
    rows = []
    for system in filter(learns, systems):
        for n_hs, n_judged in points:
            whole = n_hs == n_labelled and n_judged is None
            found = []
            for seed in range(1 if whole else seeds):
                thinned = thin_labels(labels, n_hs, n_judged, seed=settings.seed + seed)
                try:
                    run = rank_held_out(system, collection, thinned, folds, settings.depth)  # type: ignore[arg-type]
                except InputError:  # the labels that are left are too few, or all of one kind
                    continue
                found.append(_mean(sort_run(run, tie_by_hash(settings.seed)), judged, collection, settings, metric))
            low, high = np.percentile(found, [2.5, 97.5]) if found else (np.nan, np.nan)
            rows.append(
                {
                    "system": system.name,
                    "labelled_hs": n_hs,
                    "judged_per_hs": n_judged,
                    "mean": number(np.mean(found) if found else np.nan),
                    "low": number(low),
                    "high": number(high),
                }
            )
    known = [system.name for system in systems if not learns(system) and system.name in result["systems"]]
    return {
        "partition": primary.partition,
        "metric": metric,
        "seeds": seeds,
        "rows": rows,
        "baseline": {name: result["systems"][name]["partitions"][primary.partition][metric] for name in known},
    }


def thin_labels(labels: Sequence[LabelledPair], n_hs: int, n_judged: int | None, *, seed: int) -> list[LabelledPair]:
    """Keeps the labels of random HS, and random labels of each of them.

    Args:
        labels: All labels.
        n_hs: Number of HS that keep labels.
        n_judged: Most labels for each HS; None keeps all.
        seed: Of both choices. With more HS or labels, those of fewer are among them.

    Returns:
        The labels that are kept, in their order.
    """
    of_hs: dict[str, list[int]] = defaultdict(list)
    for place, label in enumerate(labels):
        of_hs[label.query_id].append(place)
    generator = np.random.default_rng(seed)
    names = [list(of_hs)[place] for place in generator.permutation(len(of_hs))]
    kept: list[int] = []
    for name in names[:n_hs]:
        order = np.random.default_rng([seed, names.index(name)]).permutation(of_hs[name])
        kept += order[:n_judged].tolist()
    return [labels[place] for place in sorted(kept)]


def _mean(
    ordered: Mapping[str, Sequence[str]], judged: Qrels, collection: Collection, settings: Settings, metric: str
) -> float:
    found = evaluate(
        ordered, judged, list(collection.queries), n_corpus=len(collection.corpus), k=settings.k, rule=settings.rule
    )
    return float(means(found.values[metric]))
