"""`bench`: retrieval systems on a dataset."""

import json
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from fcconan.data import TIERS, RowSource, as_names, check_names, leakage_groups, name_with_hash, short_hash
from fcconan.errors import InputError
from fcconan.groups import Bootstrap, Endpoint
from fcconan.latex import Paper
from fcconan.models import model_notes, open_model, usage_table
from fcconan.report import bars, forest
from fcconan.result import Pivot, Result
from fcconan.retrieval.benchmark_tables import CHANCE, Benchmark, SystemRun, choose_primary
from fcconan.retrieval.collections import Collection, load_collection
from fcconan.retrieval.label_learning import AUC_FOLDS, learns_from_labels, rank_partitions, score_matrix
from fcconan.retrieval.suites import encoder_system, make_systems, offline_systems
from fcconan.retrieval.systems import Retriever, rank_all
from fcconan.retrieval.trec import read_run, to_qrels
from fcconan.scoring import ALL_METRICS, TABLE_4, K, cutoff_of, metric_names

if TYPE_CHECKING:
    Systems = Any  # names, and in Python systems, classes, functions or runs of ranx
    JudgedPairs = Mapping[str, Any]  # files; in Python also `ranx.Qrels` or query id -> corpus id -> relevance
else:
    Systems = tuple[str, ...]
    JudgedPairs = dict[str, Path]

FIGURES = {"hit_rate@10": "as Figure 1 of FC-CONAN", "mrr@10": "as Figure 2 of FC-CONAN"}


def bench(
    dataset: RowSource,
    *,
    system: Systems = (),
    encoder: dict[str, str] = {},  # noqa: B006 - it is not changed
    run: tuple[Path, ...] = (),
    suite: Path | None = None,
    protocol: Literal["paper", "sound", "cross-validated"] = "sound",
    metric: tuple[str, ...] = (),
    primary: str | None = None,
    partition: tuple[str, ...] = (),
    qrels: JudgedPairs = {},  # noqa: B006
    baseline: tuple[str, ...] = (),
    depth: int = 1_000,
    sparsity: bool = False,
    device: str | None = None,
    bootstrap: Bootstrap = Bootstrap(),
    endpoint: Endpoint = Endpoint(),
) -> Result:
    """Benchmark retrieval systems.

    Each system ranks the CNs of the dataset for each HS. Protocol `sound` scores on all CNs, leaves out HS without a
    positive, breaks ties at random, and removes training pairs that paraphrase an evaluated HS. `cross-validated` is
    `sound` with systems that learn from labels of HS in other leakage groups. `paper` repeats Table 4 of FC-CONAN: the
    catalogue is the CNs with a positive in Bronze, all HS count, ties are in the order of the catalogue, and average
    precision is divided by min(k, positives). Intervals resample HS. The differences on the primary metric have tests
    by random signs of whole HS, adjusted by step-down max-T; `popularity` and `longest`, which ignore the message, are
    references and in no test. Message AUC is the probability that an HS that a CN answers scores higher than one that
    it does not answer; its intervals resample HS and CNs.

    Args:
        dataset: Name, folder, BEIR folder or Hub name of a dataset; in Python also judged pairs with hate_speech,
            counter_narrative and label.
        system: Systems of the suite, or module:factory; in Python also objects with `name` and `rank(queries, corpus,
            k)`, classes or functions that return one, or runs of ranx. Default: all that need no network.
        encoder: Further systems by name, as in `--encoder.mine FOLDER`: sentence-transformers models (folder or Hub
            name).
        run: TREC run files, as further systems.
        suite: YAML file with further systems, as benchmarks/retrieval.yaml.
        protocol: Evaluation protocol.
        metric: Metrics such as ndcg@10, also those of ranx; the cutoff is 10 by default.
        primary: Metric and partition of the tests, as ndcg@10@silver; default: the first NDCG, on the largest partition
            whose labels are all confirmed, or else on `test`.
        partition: Partitions to score; default: all.
        qrels: Further partitions by name, as in `--qrels.mine FILE`: relevance judgements of TREC or BEIR.
        baseline: Test all other systems against these systems only.
        depth: Length of rankings. CNs below it are in no ranking.
        sparsity: Estimate scores with sparser labels, on the last partition.
        device: Device of local models, such as cpu or cuda.
        bootstrap: Resamples; the seed is also that of ties.
        endpoint: Endpoint of systems that need one.

    Returns:
        `systems`: the primary metric of each system and partition, best first, with `value`, `low`, `high`, `n` (HS),
        `n_failed` and `reason`. `scores`: the same of all metrics and of chance; `judged_only`: on judged CNs only.
        `differences`: pairs of systems, with `difference`, `low`, `high`, `p` and `p_adjusted`. `message_auc`: values,
        and with a baseline also differences. `orders`: Kendall's tau-b between partitions. `tiers`: average, minimum,
        maximum and coefficient of variation (percent) over partitions, as in Table 4. `partitions`, `failures`, and
        with `sparsity` the means, standard deviations and 95% ranges of 100 random removals.

    Raises:
        InputError: The dataset, a system, metric, partition or baseline cannot be used, or no system ranks anything.

    Examples:
        >>> pairs = [{"hate_speech": f"{a} pay nothing.", "counter_narrative": f"{b} pay.", "label": label}
        ...     for a, b, label in [("Elves", "Elves", "appropriate"), ("Elves", "Orcs", "not_appropriate")]]
        >>> bench(pairs, system=["tfidf"], metric=["mrr"]).to_frame()["value"].tolist()
        [1.0, 0.75]
    """
    from pandas import DataFrame, concat

    metric, baseline, run = map(as_names, (metric, baseline, run))
    paper = protocol == "paper"
    collection = load_collection(dataset, shared_cn=paper)
    judged = {**collection.partitions, **{name: to_qrels(given) for name, given in qrels.items()}}
    collection = replace(collection, partitions=judged, confirmed=collection.confirmed - {*qrels})
    collection = collection.pool() if paper else collection.without_leakage()
    chosen = {name: collection.partitions[name] for name in check_names("partition", partition, judged) or judged}
    collection = replace(collection, partitions=chosen)
    metrics = metric_names(metric or (TABLE_4 if paper else ALL_METRICS))
    given = [system] if isinstance(system, str) or not isinstance(system, tuple | list) else [*system]
    models: dict[str, Any] = {}

    def opened(name: str) -> Any:
        return models[name] if name in models else models.setdefault(name, open_model(name, endpoint))

    how: Any = {"suite": suite, "train": collection.train, "open_model": opened, "device": device}
    systems = make_systems(given or ([] if encoder or run else offline_systems(protocol, suite)), **how)
    systems += [encoder_system(model, name, device) for name, model in encoder.items()]
    systems += [read_run(Path(path)) for path in run]
    names = [each.name for each in systems]
    if wrong := [name for name in names if names.count(name) > 1 or name == CHANCE]:
        raise InputError(f"found two systems called {wrong[0]}, expected a name for each: rename one")
    if wrong := [name for name in names if len(name.split()) != 1]:
        raise InputError(f"found the system name {wrong[0]!r}, expected one word: rename it")
    chosen_primary = choose_primary(primary, metrics, collection, paper)
    least = max([K, *map(cutoff_of, metrics)])
    if depth < least:
        raise InputError(f"found depth {depth}, expected {least} or more: the largest cutoff of a metric")
    depth = min(depth, len(collection.corpus))
    runs = {each.name: _run(each, collection, protocol, depth) for each in systems}
    last = {name: [*each.rankings.values()][-1] for name, each in runs.items()}
    if all(len(each.failures) == len(collection.queries) for each in last.values()):
        raise InputError(f"no system ranks any HS; {names[0]}: {next(iter(last[names[0]].failures.values()))}")

    found = Benchmark(collection, runs, metrics, chosen_primary, paper, bootstrap)
    scores, tiers, published = found.scores(found.values), found.tiers(), []
    if paper and collection.name == "fc-conan" and {*chosen} == {*TIERS} and metrics == TABLE_4:
        printed = pkgutil.resolve_name("fcconan.reproduction:load_paper")("fc-conan").printed("Table 4")
        published = [
            {"system": f"{name} (published)", "statistic": statistic, "value": float(value), "low": nan, "high": nan}
            for name, row in printed.items()
            for statistic, value in row.items()
        ]
        tiers = concat([tiers, DataFrame(published)], ignore_index=True)
    tables = {
        "systems": found.systems(scores),
        "differences": found.differences(baseline),
        "message_auc": found.message_auc(baseline),
        "tiers": tiers,
        "scores": scores,
        "judged_only": found.scores(found.judged),
        "orders": found.rank_correlations(),
        "partitions": found.partitions(),
        "failures": found.failures(),
        "usage": usage_table(models.values()),
    }
    if sparsity:
        tables["sparsity"] = found.sparsity()
    plots: dict[str, Callable[[], Any]] = {}
    title = re.sub("^(ndcg|map|mrr)", lambda name: name[0].upper(), chosen_primary[1]).replace("_", " ")
    for part, own in tables["systems"].groupby("partition", sort=False):
        plots[str(part)] = partial(forest, own, label="system", values=f"{title} on {part}")
    for name in [name for name in FIGURES if paper and name in metrics]:
        own = scores[scores["metric"] == name]
        plots[f"{name} ({FIGURES[name]})"] = partial(bars, own, label="system", column="partition")
    files: dict[str, Callable[[], str]] = {"values.csv": found.values_csv}
    for name, each in runs.items():
        same = len({*map(id, each.rankings.values())}) == 1
        for part in each.rankings:
            file = name if same else f"{name}-{part}"
            files[f"runs/{quote(file, safe='')}.trec"] = partial(found.run_text, name, part)
    given_files = [Path(each) for each in (*run, suite) if each is not None]
    left_out = collection.train_left_out
    identity = {
        "data": f"{collection.name}@{collection.fingerprint}",
        "protocol": protocol,
        "training": f"{len(collection.train)}-without-{left_out}" if left_out else None,
        "partitions": ",".join(chosen),
        "qrels": ",".join(f"{name}@{short_hash(json.dumps(judged[name], sort_keys=True))}" for name in qrels) or None,
        "metrics": ",".join(metrics),
        "primary": "@".join(chosen_primary[::-1]),
        "baseline": ",".join(baseline) or None,
        "ties": "catalogue" if paper else "hash",
        "depth": depth,
        "systems": ",".join(map(_with_code, systems)),
        "encoders": ",".join(f"{name}={model}" for name, model in encoder.items()) or None,
        "files": ",".join(name_with_hash(each) for each in given_files) or None,
    }
    identity |= vars(bootstrap) if bootstrap.resamples else {"resamples": 0, "seed": bootstrap.seed}
    values = ("systems", "scores", "judged_only", "message_auc", "tiers", "sparsity")
    references = [CHANCE, *(name for name, each in runs.items() if each.is_reference)]
    return Result(
        "bench",
        tables,
        identity,
        (*found.notes(), *model_notes(models.values())),
        intervals={"differences": "difference", **dict.fromkeys(values, "value")},
        pivots={"systems": Pivot(("system",), ("partition",)), "tiers": Pivot(("system",), ("statistic",))},
        plots=plots,
        files=files,
        choice=("partition", chosen_primary[0]),
        captions={"systems": f"{title} by partition"},
        references=[*references, *(each["system"] for each in published)],
        paper=Paper("systems", "system", "partition", {}, f"{chosen_primary[1]} on {collection.name}", baseline),
    )


def _run(system: Retriever, collection: Collection, protocol: str, depth: int) -> SystemRun:
    texts, is_reference = (collection.queries, collection.corpus), bool(getattr(system, "ignores_message", False))
    if learns_from_labels(system):
        if protocol == "sound" and not is_reference:
            raise InputError(
                f"{system.name} learns from labels of other HS, which protocol sound does not allow: use --protocol "
                "cross-validated"
            )
        learning: Any = system
        how = collection.partitions, leakage_groups([*collection.queries.values()]).tolist()
        complete = () if is_reference else rank_partitions(learning, *texts, *how, len(collection.corpus), AUC_FOLDS)
        held_out = {part: (score_matrix(run, *texts), folds) for part, run, folds in complete}
        runs = {part: run for part, run, _ in rank_partitions(learning, *texts, *how, depth)}
        return SystemRun(runs, held_out, is_reference)
    rankings = rank_all(system, *texts, depth)
    return SystemRun(dict.fromkeys(collection.partitions, rankings), {}, is_reference)


def _with_code(system: Retriever) -> str:
    """Returns the name of a system, of a user's own system with a hash of the file of its class."""
    module = type(system).__module__
    file = None if module.startswith("fcconan.") else getattr(sys.modules.get(module), "__file__", None)
    return f"{system.name}@{short_hash(Path(file).read_text(encoding='utf-8'))}" if file else system.name
