"""Scores on judged pairs only: for each query, unjudged CNs are removed from ranking and catalogue.

These are the condensed lists of Sakai (2007, "Alternatives to Bpref", SIGIR). A system is not penalised for ranking
unjudged CNs high, so the choice of the judged pairs affects the order of systems less.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fcconan.scoring.arrays import Floats, Qrels
from fcconan.scoring.retrieval.evaluation import Evaluation, Rule, chance_levels, evaluate


def judged_rule(rule: Rule) -> Rule:
    """Returns the rule without `accuracy`, which needs the same size of the catalogue for all queries."""
    metrics = tuple(metric for metric in rule.metrics if not metric.startswith("accuracy@"))
    return replace(rule, metrics=metrics, brackets=False)


def evaluate_judged(
    ordered: Mapping[str, Sequence[str]],
    qrels: Qrels,
    query_ids: Sequence[str],
    *,
    k: int,
    rule: Rule,
    failed: Sequence[str] = (),
) -> Evaluation:
    """Scores rankings on judged CNs only.

    A judged CN that a ranking lacks counts as not found. If rankings are not as deep as the catalogue, the scores are
    lower bounds.

    Args:
        ordered: Query id -> corpus ids, best first, ties broken.
        qrels: Query id -> corpus id -> relevance.
        query_ids: Ids of the queries.
        k: Cutoff of the counts.
        rule: Metrics and conventions; `accuracy` is left out.
        failed: Queries for which the system failed, which have no value.
    """
    condensed = {query: [key for key in ranking if key in qrels.get(query, {})] for query, ranking in ordered.items()}
    n_judged = max((len(judged) for judged in qrels.values()), default=1)
    return evaluate(condensed, qrels, query_ids, n_corpus=n_judged, k=k, rule=judged_rule(rule), failed=failed)


def judged_chance(qrels: Qrels, query_ids: Sequence[str], *, rule: Rule) -> dict[str, Floats]:
    """Returns the expected values for a random order of the judged CNs.

    Args:
        qrels: Query id -> corpus id -> relevance.
        query_ids: Ids of the queries.
        rule: Metrics and conventions; `accuracy` is left out.

    Returns:
        Metric -> expected values, shape (queries,).
    """
    rule = judged_rule(rule)
    places = defaultdict(list)
    for place, query in enumerate(query_ids):
        places[len(qrels.get(query, {}))].append(place)
    levels = {metric: np.full(len(query_ids), np.nan) for metric in rule.metrics}
    for n_judged, chosen in places.items():
        found = chance_levels(qrels, [query_ids[place] for place in chosen], n_corpus=max(n_judged, 1), rule=rule)
        for metric, values in found.items():
            levels[metric][chosen] = values
    return levels
