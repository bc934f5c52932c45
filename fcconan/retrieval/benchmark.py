"""The retrieval benchmark: ranks with each system, scores the runs and compares systems."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import fcconan
from fcconan.errors import InputError
from fcconan.models import EndpointError
from fcconan.retrieval.benchmark_notes import collect_notes, describe_failures, remove_texts
from fcconan.retrieval.benchmark_settings import (
    AUC_FOLDS,
    Benchmark,
    BenchmarkSettings,
    SystemScores,
    family_notes,
    family_signature,
)
from fcconan.retrieval.benchmark_statistics import (
    collect_scores,
    compare_orders,
    compare_systems,
    summary_interval,
    to_nested,
    to_number,
)
from fcconan.retrieval.collections import FULL, Collection, Qrels
from fcconan.retrieval.label_learning import learns_from_labels
from fcconan.retrieval.label_runs import (
    check_may_learn,
    held_out_scores,
    rank_partitions,
)
from fcconan.retrieval.label_statistics import (
    MessageScores,
    add_label_comparisons,
    chance_on_judged,
    collect_label_scores,
    resample_hs_and_cns,
)
from fcconan.retrieval.run_cache import RunCache, load_run, save_run
from fcconan.retrieval.systems import Rankings, Retriever, rank_all
from fcconan.scoring import (
    PAPER,
    Evaluation,
    Floats,
    chance_levels,
    evaluate,
    evaluate_judged,
    means,
    sort_run,
    summary,
    system_pairs,
)


def bench(
    collection: Collection,
    systems: Sequence[Retriever],
    settings: BenchmarkSettings,
    *,
    cache: RunCache | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ranks, scores and compares systems.

    Args:
        collection: The dataset, prepared for the protocol: by `Collection.pool` for `paper`, by
            `Collection.without_leakage` for the others. Systems are trained on its training pairs.
        systems: The systems, with unique names.
        settings: The resolved settings.
        cache: Cache of finished runs; None for no cache.
        progress: Function that receives a line of text at each stage.

    Returns:
        The result as `fcconan bench --json` writes it, and the details for the report. Systems without any ranking
        are in `failed`. `problems` has a message for each system that failed on an HS.

    Raises:
        InputError: A run is invalid, two systems have one name, or the baseline is unknown.
    """
    _check_names([system.name for system in systems])
    for system in systems:
        _check_configuration(system)
        check_may_learn(system, settings)
    system_pairs([system.name for system in systems], settings.baseline)  # raises for an unknown baseline
    texts = collection.queries, collection.corpus
    failed: dict[str, str] = {}
    problems: dict[str, str] = {}
    qrels = {name: collection.qrels(name) for name in collection.partitions}
    if collection.population != FULL:
        qrels = {name: _restrict_qrels(judged, collection.corpus) for name, judged in qrels.items()}
    benchmark = Benchmark(collection, settings, qrels, {})
    runs: dict[str, tuple[Retriever, list[dict[str, Rankings]]]] = {}
    for system in systems:
        progress(f"{system.name}: ranking {len(collection.corpus)} CNs for {len(collection.queries)} HS")
        try:
            found = _rank_replicates(system, benchmark, cache, progress)
        except EndpointError as error:
            failed[system.name] = remove_texts(str(error), *texts)
            problems[system.name] = f"failed: {failed[system.name]}"
            continue
        for one in (run for replicate in found for run in replicate.values()):
            one.failures.update({key: remove_texts(why, *texts) for key, why in one.failures.items()})
        first = max(found[0].values(), key=lambda run: len(run.failures))
        if first.failures:
            problems[system.name] = describe_failures(first, len(collection.queries))
        if len(first.failures) == len(collection.queries):
            failed[system.name] = next(iter(first.failures.values()))
        else:
            runs[system.name] = (system, found)
    progress("scoring")
    scored = {name: _score(benchmark, system, found) for name, (system, found) in runs.items()}
    benchmark = replace(benchmark, systems=scored)
    return _result(benchmark, failed, problems), _details(benchmark)


def _check_configuration(system: Retriever) -> None:
    """Checks that the configuration of a system can be written as JSON."""
    configuration = getattr(system, "configuration", None)
    try:
        if not isinstance(configuration, dict | None):
            raise TypeError(f"it is a {type(configuration).__name__}")
        json.dumps(configuration, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"the `configuration` of the system {system.name} is not a JSON-able dict ({error}): use strings, finite "
            "numbers, lists and dicts, such as a hash instead of an array"
        ) from error


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"two systems are called {name!r}: give each system a unique name; the name of a run is the sixth "
                "column of its file"
            )
        if not name or any(character.isspace() for character in name):
            raise InputError(f"the system name {name!r} is empty or has white space: use a name without")


def _rank_replicates(
    system: Retriever, benchmark: Benchmark, cache: RunCache | None, progress: Callable[[str], None]
) -> list[dict[str, Rankings]]:
    """Returns the runs of each replicate by partition; most systems have one run for all partitions."""
    collection, depth, names = benchmark.collection, benchmark.settings.depth, benchmark.partitions
    if learns_from_labels(system):
        return [rank_partitions(system, benchmark)]
    rank = partial(rank_all, queries=collection.queries, corpus=collection.corpus, k=depth)
    checkpoint = cache.checkpoint(system, collection, depth) if cache else None
    if cache is None or checkpoint is None:
        return [dict.fromkeys(names, rank(system))]
    found = load_run(checkpoint)
    if found is None:
        found = rank(system)
        save_run(checkpoint, found)
    else:
        progress(f"{system.name}: cached run from {checkpoint.path}")
        cache.record_use(system, checkpoint)
    return [dict.fromkeys(names, found)]


def _restrict_qrels(qrels: Qrels, corpus: Mapping[str, str]) -> Qrels:
    return {query: {key: value for key, value in judged.items() if key in corpus} for query, judged in qrels.items()}


def _score(benchmark: Benchmark, system: Retriever, found: list[dict[str, Rankings]]) -> SystemScores:
    collection, settings, qrels = benchmark.collection, benchmark.settings, benchmark.qrels
    options: dict[str, Any] = {"query_ids": list(collection.queries), "k": settings.k, "rule": settings.rule}
    orders, evaluations, on_judged = [], [], []
    for runs in found:
        one_order = sort_run(next(iter(runs.values())), benchmark.tie) if not learns_from_labels(system) else None
        ordered = {name: one_order or sort_run(run, benchmark.tie) for name, run in runs.items()}
        failed = {name: list(run.failures) for name, run in runs.items()}
        orders.append(ordered)
        evaluations.append(
            {
                name: evaluate(ordered[name], judged, n_corpus=len(collection.corpus), failed=failed[name], **options)
                for name, judged in qrels.items()
            }
        )
        on_judged.append(
            {
                name: evaluate_judged(ordered[name], judged, failed=failed[name], **options)
                for name, judged in qrels.items()
            }
        )
    configuration = getattr(system, "configuration", None) or {"kind": "user", "type": type(system).__name__}
    scored = SystemScores(found[0], orders[0], evaluations[0], on_judged[0], configuration, len(found))
    scored.uses_labels, scored.ignores_message = (
        learns_from_labels(system),
        bool(getattr(system, "ignores_message", False)),
    )
    if scored.uses_labels and not scored.ignores_message:
        scored.held_out = held_out_scores(system, benchmark)
    if len(found) > 1:
        scored.partitions = {name: _mean_evaluation([one[name] for one in evaluations]) for name in qrels}
        scored.judged = {name: _mean_evaluation([one[name] for one in on_judged]) for name in qrels}
        each = np.array([[[means(v) for v in one[name].values.values()] for name in qrels] for one in evaluations])
        scored.spread = each.std(axis=0, ddof=1)
        scored.summaries = summary_interval(each[..., settings.summary_columns], settings.confidence)
    return scored


def _mean_evaluation(evaluations: Sequence[Evaluation]) -> Evaluation:
    def mean(values: Iterable[Any]) -> Floats:
        return np.asarray(np.mean(list(values), axis=0))

    first = evaluations[0]
    return replace(
        first,
        values={key: mean(one.values[key] for one in evaluations) for key in first.values},
        unjudged_right={key: mean(one.unjudged_right[key] for one in evaluations) for key in first.unjudged_right},
        judged=mean(one.judged for one in evaluations),
    )


def _result(benchmark: Benchmark, failed: Mapping[str, str], problems: Mapping[str, str]) -> dict[str, Any]:
    collection, settings, qrels = benchmark.collection, benchmark.settings, benchmark.qrels
    ties = "corpus-order" if settings.protocol == PAPER else f"hash-{settings.seed}"
    queries, n_corpus = list(collection.queries), len(collection.corpus)
    levels = [chance_levels(judged, queries, n_corpus=n_corpus, rule=settings.rule) for judged in qrels.values()]
    chance = np.array([[means(level[metric]) for metric in settings.metrics] for level in levels])
    compared, families = compare_systems(benchmark)
    resampled = resample_hs_and_cns(benchmark)
    add_label_comparisons(benchmark, compared, resampled)
    scores = collect_scores(benchmark)
    messages = MessageScores(benchmark)
    for name, values in collect_label_scores(benchmark, resampled, messages).items():
        scores[name] |= values
    return {
        "signature": signature(
            collection,
            settings,
            ties,
            family_signature(benchmark, families),
            learning=any(one.uses_labels for one in benchmark.systems.values()),
        ),
        "protocol": settings.protocol,
        "dataset": {
            "name": collection.name,
            "fingerprint": collection.fingerprint,
            "title": collection.title,
            "n_queries": len(collection.queries),
            "n_corpus": len(collection.corpus),
            "training_pairs": len(collection.train),
            "training_pairs_left_out": collection.train_left_out,
            "synthetic": collection.synthetic,
            "redistributable": collection.redistributable,
        },
        "settings": {
            "k": settings.k,
            "metrics": list(settings.metrics),
            "summarised": list(settings.summarised),
            "depth": settings.depth,
            "seed": settings.seed,
            "resamples": settings.resamples,
            "confidence": settings.confidence,
            "ties": ties,
            "primary": str(benchmark.primary),
            "baseline": settings.baseline,
            "population": collection.population,
            "version": fcconan.__version__,
        },
        "partitions": {
            name: {
                "n_judged": sum(map(len, judged.values())),
                "n_positive": sum(value > 0 for row in judged.values() for value in row.values()),
                "n_queries": len(collection.queries),
                "n_without_positive": sum(
                    not any(value > 0 for value in judged.get(query, {}).values()) for query in collection.queries
                ),
            }
            for name, judged in qrels.items()
        },
        "systems": scores,
        "chance": {
            "partitions": to_nested(chance, qrels, settings.metrics),
            "summary": {key: to_number(value) for key, value in summary(chance[:, settings.summary_columns]).items()},
            "judged_only": chance_on_judged(benchmark),
        },
        "families": [family.to_json() for family in families],
        "comparisons": compared,
        "message_auc_differences": messages.differences(),
        "order_agreement": compare_orders(benchmark),
        "failed": dict(failed),
        "problems": dict(problems),
        "notes": collect_notes(benchmark) + family_notes(benchmark, families),
    }


def signature(
    collection: Collection,
    settings: BenchmarkSettings,
    ties: str,
    families: Mapping[str, str],
    *,
    learning: bool = False,
) -> str:
    """Returns the signature: one line with everything that changes the values.

    Args:
        collection: The dataset.
        settings: Settings of the benchmark.
        ties: Name of the rule for ties.
        families: Parts of the signature for the families of tests.
        learning: Whether a system learns from labels.
    """
    parts = {
        "fcconan": fcconan.__version__,
        "protocol": settings.protocol,
        "data": f"{collection.name}-{collection.fingerprint}",
        "catalogue": len(collection.corpus),
        "queries": f"{len(collection.queries)}-{'all' if settings.rule.all_queries else 'with-positive'}",
        "metrics": ",".join(settings.metrics),
        "map": "min(k,positives)" if settings.rule.capped else "positives",
        "ties": ties,
        "depth": settings.depth,
        "bootstrap": f"{settings.resamples}-by-hs",
        "orders": f"{settings.order_resamples}-by-hs",
        "labels": f"{settings.label_resamples}-by-hs-and-cn",
        "confidence": f"{settings.confidence:g}",
        "seed": settings.seed,
        **families,
    }
    if learning:
        parts["folds"] = f"{settings.folds}-and-{settings.repeats}x{AUC_FOLDS}-by-leakage-group"
    if collection.train_left_out:
        parts["training"] = f"{len(collection.train)}-without-{collection.train_left_out}-kin"
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _details(benchmark: Benchmark) -> dict[str, Any]:
    collection, settings, scored = benchmark.collection, benchmark.settings, benchmark.systems
    return {
        "deep_runs": {name: one.ordered for name, one in scored.items()},
        "scores": {
            name if part is None else f"{name}.{part}": dict(run)
            for name, one in scored.items()
            for part, run in (one.runs.items() if one.uses_labels else [(None, one.found)])
        },
        "failed": {name: list(one.found.failures) for name, one in scored.items()},
        "queries": dict(collection.queries),
        "corpus": dict(collection.corpus),
        "labels": {
            name: {query: dict(row) for query, row in judged.items()} for name, judged in benchmark.qrels.items()
        },
        "runs": {
            name: {query: keys[: settings.k] for query, keys in one.ordered.items()} for name, one in scored.items()
        },
        "per_query": {
            name: {
                part: {
                    metric: dict(zip(found.query_ids, map(to_number, values), strict=True))
                    for metric, values in found.values.items()
                }
                for part, found in one.partitions.items()
            }
            for name, one in scored.items()
        },
    }
