"""The benchmark: systems run on a collection and are scored; warnings tell readers its limits."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import fcconan
from fcconan.errors import InputError
from fcconan.models import EndpointError
from fcconan.retrieval.benchmark_settings import (
    Benchmark,
    Scored,
    Settings,
    family_notes,
    family_signature,
)
from fcconan.retrieval.benchmark_statistics import (
    comparisons,
    named,
    number,
    order_agreement,
    summary_interval,
    system_figures,
)
from fcconan.retrieval.collections import FULL, Collection, Qrels
from fcconan.retrieval.run_cache import KeptRuns, load_run, save_run
from fcconan.retrieval.systems import Rankings, Retriever, rank_all
from fcconan.scoring import (
    Evaluation,
    Floats,
    TieKey,
    chance_levels,
    evaluate,
    means,
    sort_run,
    summary,
    system_pairs,
    tie_by_corpus,
    tie_by_hash,
)

QUOTED = 16  # letters in which a line is taken to quote a text


def notes(benchmark: Benchmark) -> list[str]:
    """Returns the notes on a benchmark: on its protocol, and on every system that needs one."""
    collection, settings = benchmark.collection, benchmark.settings
    if settings.protocol == "paper":
        said = [
            f"The catalogue is {collection.population}: CNs that fit no HS are left out, which flatters every "
            "system. All queries count; one without a positive scores 0. Use protocol sound for what should be "
            "reported."
        ]
    else:
        said = [
            "Unjudged CNs count as wrong; 'unjudged right' counts those among the first k as right. Queries without a "
            "positive are left out and counted."
        ]
    if collection.train_left_out:
        said.append(
            f"{collection.train_left_out} of {collection.train_left_out + len(collection.train)} training pairs were "
            "left out: their HS says what an evaluated HS says, in the same or other words, or their CN answers one "
            "that does."
        )
    for name, one in benchmark.systems.items():
        if one.configuration.get("kind") == "pair-propagation":
            said.append(
                f"{name}: the form of this system (equal-weight blend of standardised direct and propagated "
                "similarity) was known to do well on FC-CONAN before it was fixed, so its figures on FC-CONAN are "
                "optimistic by an unknown amount; its temperature was chosen inside the training pairs. There, "
                "cross-validated on sparse labels, direct similarity alone does better, because sparse labels reward "
                "it (see 'resolved')."
            )
        if one.n_seeds > 1:
            said.append(
                f"{name}: figures are means over {one.n_seeds} seeds; the run file and the lists of a report are those "
                "of the first seed."
            )
        said += _gaps(name, one.found, list(collection.queries), settings.deepest)
    return said


def _gaps(name: str, found: Rankings, queries: list[str], deepest: int) -> list[str]:
    """Says in how far a run is less than a ranking for every HS, as deep as the figures look."""
    said = []
    if found.failures:
        said.append(
            f"{name} failed on {len(found.failures)} of {len(queries)} HS; its figures leave them out, 'failures as "
            "zero' counts them as 0."
        )
    lengths = [len(found.get(query, ())) for query in queries if query not in found.failures]
    n_empty, n_short = lengths.count(0), sum(0 < length < deepest for length in lengths)
    if n_empty:
        said.append(f"{name} ranked nothing for {n_empty} of {len(queries)} HS, which count as 0.")
    if n_short:
        said.append(
            f"{name} ranked fewer than {deepest} CNs for {n_short} of {len(queries)} HS; a CN that it left out counts "
            "as not found."
        )
    n_kept = found.diagnostics.get("kept_first_stage_order")
    if n_kept:
        said.append(
            f"{name}: {n_kept} calls failed or could not be read; what they asked about stayed in the order of the "
            "first stage."
        )
    return said


def without_texts(said: str, *texts: Mapping[str, str]) -> str:
    """Returns what a system said of its failure, cut where it quotes an HS or a CN, whose id stands there instead.

    The line goes where no text may: into results, and into reports without texts.
    """
    said = " ".join(said.split())
    for key, text in ((key, text) for part in texts for key, text in part.items()):
        start = said.find(quoted) if len(quoted := " ".join(text.split())[:QUOTED]) == QUOTED else -1
        if start >= 0:
            said = f"{said[:start]}{key} …"
    return said


def problem(found: Rankings, n_queries: int) -> str:
    """Returns a line on a system's failures: how many, and the first of them."""
    query, reason = next(iter(found.failures.items()))
    n_failed = len(found.failures)
    first = "; the first" if n_failed > 1 else ""
    return f"failed on {n_failed} of {n_queries} HS{first}: {found.explained.get(query, reason)}"


def bench(
    collection: Collection,
    systems: Sequence[Retriever],
    settings: Settings,
    *,
    kept: KeptRuns | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ranks, scores and compares systems.

    Args:
        collection: The dataset as the protocol asks for it: `Collection.pool` for `paper`; `Collection.without_leakage`
            for `sound`, whose training pairs the systems were given.
        systems: The systems; a name may occur once.
        settings: What to do, resolved.
        kept: Cache of finished runs; None ranks every system.
        progress: Receives a line at each stage.

    Returns:
        The result as `fcconan bench --json` writes it, and the details that the report needs. Systems without any
        ranking are in `failed`; `problems` says for people what went wrong with every system that failed on an HS.

    Raises:
        InputError: A system's run is not usable, two systems have one name, or the baseline is unknown.
    """
    _check_names([system.name for system in systems])
    for system in systems:
        _check_configuration(system)
    system_pairs([system.name for system in systems], settings.baseline)  # or there is an error
    tie = tie_by_corpus(collection.corpus) if settings.protocol == "paper" else tie_by_hash(settings.seed)
    texts = collection.queries, collection.corpus
    out_of_order: dict[str, str] = {}
    problems: dict[str, str] = {}
    runs: dict[str, tuple[Retriever, list[Rankings]]] = {}
    for system in systems:
        progress(f"{system.name}: ranking {len(collection.corpus)} CNs for {len(collection.queries)} HS")
        try:
            found = _rank(system, collection, settings.depth, kept, progress)
        except EndpointError as error:
            out_of_order[system.name] = without_texts(str(error), *texts)
            problems[system.name] = f"failed: {out_of_order[system.name]}"
            continue
        for one in found:
            for said in (one.failures, one.explained):
                said.update({key: without_texts(why, *texts) for key, why in said.items()})
        if found[0].failures:
            problems[system.name] = problem(found[0], len(collection.queries))
        if len(found[0].failures) == len(collection.queries):
            out_of_order[system.name] = next(iter(found[0].failures.values()))
        else:
            runs[system.name] = (system, found)
    progress("scoring")
    qrels = {name: collection.qrels(name) for name in collection.partitions}
    if collection.population != FULL:
        qrels = {name: _within(judged, collection.corpus) for name, judged in qrels.items()}
    benchmark = Benchmark(collection, settings, qrels, {})
    scored = {name: _score(benchmark, system, found, tie) for name, (system, found) in runs.items()}
    benchmark = replace(benchmark, systems=scored)
    return _result(benchmark, out_of_order, problems), _details(benchmark)


def _check_configuration(system: Retriever) -> None:
    """Checks that results and checkpoints can hold what changes a system's output."""
    configuration = getattr(system, "configuration", None)
    try:
        if not isinstance(configuration, dict | None):
            raise TypeError(f"it is a {type(configuration).__name__}")
        json.dumps(configuration, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"the `configuration` of the system {system.name} is not a dict that JSON can hold ({error}): use texts, "
            "finite numbers, lists and dicts, such as a hash in place of an array"
        ) from error


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"two systems are called {name!r}: give each a name of its own; that of a run is the sixth column of "
                "its file"
            )
        if not name or any(character.isspace() for character in name):
            raise InputError(f"a system is called {name!r}: a name has no white space, which run files cannot hold")


def _rank(
    system: Retriever, collection: Collection, depth: int, kept: KeptRuns | None, progress: Callable[[str], None]
) -> list[Rankings]:
    rank = partial(rank_all, queries=collection.queries, corpus=collection.corpus, k=depth)
    if hasattr(system, "replicates"):
        return [rank(one) for one in system.replicates()]
    checkpoint = kept.checkpoint(system, collection, depth) if kept else None
    if kept is None or checkpoint is None:
        return [rank(system)]
    found = load_run(checkpoint)
    if found is None:
        found = rank(system)
        save_run(checkpoint, found)
    else:
        progress(f"{system.name}: taken from {checkpoint.path}")
        kept.took(system, checkpoint)
    return [found]


def _within(qrels: Qrels, corpus: Mapping[str, str]) -> Qrels:
    return {query: {key: value for key, value in judged.items() if key in corpus} for query, judged in qrels.items()}


def _score(benchmark: Benchmark, system: Retriever, found: list[Rankings], tie: TieKey) -> Scored:
    collection, settings, qrels = benchmark.collection, benchmark.settings, benchmark.qrels
    score = partial(
        evaluate,
        query_ids=list(collection.queries),
        n_corpus=len(collection.corpus),
        k=settings.k,
        rule=settings.rule,
    )
    ordered = [sort_run(run, tie) for run in found]
    evaluations = [
        {name: score(ranking, judged, failed=list(run.failures)) for name, judged in qrels.items()}
        for ranking, run in zip(ordered, found, strict=True)
    ]
    configuration = getattr(system, "configuration", None) or {"kind": "user", "type": type(system).__name__}
    scored = Scored(found[0], ordered[0], evaluations[0], configuration, len(found))
    if len(found) > 1:
        scored.partitions = {name: _mean_of([one[name] for one in evaluations]) for name in qrels}
        each = np.array([[[means(v) for v in one[name].values.values()] for name in qrels] for one in evaluations])
        scored.spread = each.std(axis=0, ddof=1)
        scored.summaries = summary_interval(each[..., settings.summary_columns], settings.confidence)
    return scored


def _mean_of(evaluations: Sequence[Evaluation]) -> Evaluation:
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
    ties = "corpus-order" if settings.protocol == "paper" else f"hash-{settings.seed}"
    queries, n_corpus = list(collection.queries), len(collection.corpus)
    levels = [chance_levels(judged, queries, n_corpus=n_corpus, rule=settings.rule) for judged in qrels.values()]
    chance = np.array([[means(level[metric]) for metric in settings.metrics] for level in levels])
    compared, families = comparisons(benchmark)
    return {
        "signature": signature(collection, settings, ties, family_signature(benchmark, families)),
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
        "systems": system_figures(benchmark),
        "chance": {
            "partitions": named(chance, qrels, settings.metrics),
            "summary": {key: number(value) for key, value in summary(chance[:, settings.summary_columns]).items()},
        },
        "families": [family.to_json() for family in families],
        "comparisons": compared,
        "order_agreement": order_agreement(benchmark),
        "failed": dict(failed),
        "problems": dict(problems),
        "notes": notes(benchmark) + family_notes(benchmark, families),
    }


def signature(collection: Collection, settings: Settings, ties: str, families: Mapping[str, str]) -> str:
    """Returns the short string that names everything that changes the figures.

    Args:
        collection: The dataset.
        settings: Settings of the benchmark.
        ties: Rule for ties.
        families: Parts that name the families of tests.
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
        "confidence": f"{settings.confidence:g}",
        "seed": settings.seed,
        **families,
    }
    if collection.train_left_out:
        parts["training"] = f"{len(collection.train)}-without-{collection.train_left_out}-kin"
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _details(benchmark: Benchmark) -> dict[str, Any]:
    collection, settings, scored = benchmark.collection, benchmark.settings, benchmark.systems
    return {
        "deep_runs": {name: one.ordered for name, one in scored.items()},
        "scores": {name: dict(one.found) for name, one in scored.items()},
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
                    metric: dict(zip(found.query_ids, map(number, values), strict=True))
                    for metric, values in found.values.items()
                }
                for part, found in one.partitions.items()
            }
            for name, one in scored.items()
        },
    }
