"""The retrieval benchmark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fcconan.errors import InputError
from fcconan.services.benchmark_results import BenchResult
from fcconan.services.configuration import argument, names_by, option
from fcconan.services.connections import connected
from fcconan.services.locations import built_folder
from fcconan.services.options import BOOTSTRAP, LARGEST_SEED, MOST_RESAMPLES, Baseline, Endpoint
from fcconan.services.results import DRY_RUN
from fcconan.services.rows import Source, run_name

if TYPE_CHECKING:
    from fcconan.retrieval import BenchmarkSettings, Collection, RunCache

LOCAL = "Local models"
_ANSWERS = "journal.sqlite"
DEPTHS = {"paper": 100, "sound": 100, "cross-validated": 1_000}


def _metric_names() -> list[str]:
    from fcconan.scoring import RETRIEVAL_METRICS

    return [f"{name}@10" for name in RETRIEVAL_METRICS]


class BenchOptions(Baseline, Endpoint):
    """Options of `bench`: systems, protocol, metrics and significance tests."""

    system: tuple[str, ...] = option(
        (),
        help="Retrieval system to run: one of the suite, or module:factory; default: all offline ones.",
        short="-s",
        metavar="NAME",
        complete=names_by("fcconan.retrieval.load_suite"),
    )
    encoder: tuple[str, ...] = option(
        (),
        help="Encoder to rank with: minilm, or a sentence-transformers model (folder or Hub name); NAME=MODEL names "
        "the system.",
        metavar="[NAME=]MODEL",
    )
    run: tuple[Path, ...] = option((), help="TREC run file to score.", metavar="FILE", role="read")
    suite: Path | None = option(
        None, help="Suite file whose systems are added to those of this package.", metavar="FILE", role="read"
    )
    protocol: Literal["paper", "sound", "cross-validated"] = option(
        "sound",
        help="Evaluation protocol: paper (Table 4 of FC-CONAN), sound (without leaking training pairs), or "
        "cross-validated (sound; systems may learn from labels of other HS).",
    )
    metric: tuple[str, ...] = option(
        (),
        help="Retrieval metric, such as ndcg@10, or another metric of ranx.",
        metavar="NAME",
        complete=_metric_names,
    )
    report_folder: Path | None = option(
        None,
        help="Write tables, plots, page and runs to this folder.",
        metavar="FOLDER",
        role="release",
    )
    seed: int = option(0, help="Seed of ties, bootstrap and tests.", ge=0, le=LARGEST_SEED)
    partition: tuple[str, ...] = option((), help="Score on this partition only.", rare=True, metavar="NAME")
    qrels: dict[str, Path] = option(
        {},
        help="Further partition with TREC relevance judgements.",
        rare=True,
        metavar="NAME=FILE",
        role="read",
    )
    cutoff: int = option(10, help="Cutoff of metrics without one of their own.", rare=True, ge=1)
    depth: int | None = option(
        None,
        help="Number of CNs that each system returns; default: 100, and 1000 under protocol cross-validated.",
        rare=True,
        ge=1,
    )
    primary: str | None = option(
        None,
        help="Primary comparison; default: NDCG on the broadest tier with confirmed labels.",
        rare=True,
        metavar="METRIC@PARTITION",
    )
    resamples: int = option(
        10_000,
        help="Resamples of the bootstrap and of significance tests.",
        group=BOOTSTRAP,
        rare=True,
        ge=100,
        le=MOST_RESAMPLES,
    )
    confidence: float = option(
        0.95,
        help="Confidence level of intervals, from 0.5 up to but not including 1.",
        group=BOOTSTRAP,
        rare=True,
        ge=0.5,
        lt=1,
        metavar="FLOAT",
    )
    folds: int = option(
        100,
        help="Most folds of HS for systems that learn from labels; as many as leakage groups, or fewer.",
        rare=True,
        ge=2,
    )
    repeats: int = option(
        10,
        help="Random splits into 5 folds for the message-specific score of systems that learn from labels.",
        rare=True,
        ge=0,
        le=1000,
    )
    sparsity: bool = option(False, help="Estimate scores with sparser labels.", rare=True)
    sparsity_seeds: int = option(100, help="Random removals for each fraction of labels.", rare=True, ge=2)
    texts: bool = option(True, help="Include texts in report pages.", rare=True)
    cache_dir: Path | None = option(
        None, help="Folder of cached runs; default: the cache folder.", rare=True, metavar="FOLDER"
    )
    cache: bool = option(True, help="Read and write cached runs.", rare=True)
    device: str | None = option(
        None, help="Device of local models, such as cpu or cuda.", group=LOCAL, rare=True, metavar="NAME"
    )
    batch_size: int | None = option(
        None, help="Texts in a batch of a local model; default: 64, or that of the suite.", group=LOCAL, rare=True, ge=1
    )


def bench(
    dataset: Annotated[
        Source,
        argument("A dataset: its name, a folder of `fcconan build`, a BEIR folder, or a name on the Hub.", role="read"),
    ],
    options: BenchOptions = BenchOptions(),
    *,
    systems: Any = (),
    qrels: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> BenchResult:
    """Runs retrieval systems on a dataset and scores them, with intervals, tests and chance level.

    Under protocol `sound`, training pairs that paraphrase an evaluated message are removed from the training data.

    Args:
        dataset: A folder or name of a dataset; or judged pairs as a data frame, a `datasets.Dataset` or mappings, with
            `hate_speech`, `counter_narrative` and `label`; then there are no training pairs.
        options: The options. Without a system in `options` or `systems`, all offline systems run.
        systems: One or several systems of your own: objects with a `name` and a method `rank(queries, corpus, k)`;
            classes or functions that return such an object (a parameter `train` receives the training pairs); or runs
            of ranx.
        qrels: Further partitions: name -> `Qrels` of ranx, or query id -> corpus id -> relevance.
        progress: Function that receives a line of text at each stage.

    Returns:
        The scores. The main table is the leaderboard: one row per system with the columns `system`, `average`, its
        interval `average_low` and `average_high`, the primary metric with its interval, and `n_failed`. `scores()` has
        one row per system, partition and metric. After a dry run, the result has the requests of each model.

    Raises:
        InputError: The dataset, a system or an option cannot be used.

    Examples:
        >>> import tempfile
        >>> from fcconan.services import build
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     demo = build("demo", f"{folder}/demo", progress=False).folder
        ...     found = bench(demo, BenchOptions(system=("tfidf", "bm25"), resamples=100, cache=False))
        >>> found.to_frame()[["system", "ndcg@10@silver"]].round(3).to_numpy().tolist()
        [['bm25', 0.258], ['tfidf', 0.204]]
    """
    from fcconan.reporting import check_report
    from fcconan.retrieval import (
        RunCache,
        bench as benchmark,
        count_requests,
        default_folder,
        encoder_system,
        make_systems,
        offline_systems,
        read_run,
        study_broadest,
    )
    from fcconan.services.endpoint_clients import EndpointClients

    if options.report_folder is not None:
        check_report(options.report_folder)
    collection = _collection(dataset, options, qrels or {})
    settings = _settings(options).resolve(collection)
    folder = options.cache_dir or default_folder()
    calls = options.model_copy(update={"response_cache": options.response_cache or folder / _ANSWERS})
    with connected("bench", {"dataset": run_name(dataset)}, calls) as connection:
        clients = EndpointClients(connection, progress)
        own = [*systems] if isinstance(systems, Sequence) else [systems]
        names = list(options.system)
        if not (names or own or options.encoder or options.run):
            names = offline_systems(options.protocol, options.suite)
        made: Any = {"train": collection.train, "client": clients.client, "device": options.device}
        chosen = make_systems([*dict.fromkeys(names), *own], suite=options.suite, **made)
        for given in options.encoder:
            name, equals, model = given.partition("=")
            chosen.append(encoder_system(model if equals else given, name if equals else None, options.device))
        chosen += map(read_run, options.run)
        cache = RunCache(folder, connection.answers, dry_run=options.dry_run) if options.cache else None
        if options.dry_run:
            cached = count_requests(collection, chosen, settings.depth, cache=cache, progress=progress)
            return BenchResult({DRY_RUN: clients.dry_run(), "cached_runs": cached})
        result, details = benchmark(collection, chosen, settings, cache=cache, progress=progress)
        if options.sparsity and result["systems"]:
            result["sparsity"] = study_broadest(collection, details, settings, seeds=options.sparsity_seeds)
        found = BenchResult(
            result,
            details=details,
            own=frozenset(each.name for each in chosen if not type(each).__module__.startswith("fcconan.")),
            notices=clients.notices(),
            reused=tuple(_reused(cache)),
            used=tuple(clients.used()),
            report=options.report_folder,
        )
        if options.report_folder is not None:
            found.write_report(options.report_folder, texts=options.texts)
        if result["problems"]:
            connection.keep_open()
        return found


def _collection(dataset: Source, options: BenchOptions, qrels: Mapping[str, Any]) -> "Collection":
    from fcconan.retrieval import load_collection, pairs_collection, read_qrels, to_qrels

    if isinstance(dataset, str | PathLike):
        collection = load_collection(str(built_folder(dataset)), shared_cn=options.protocol == "paper")
    else:
        collection = pairs_collection(dataset)
    collection = collection.pool() if options.protocol == "paper" else collection.without_leakage()
    for name, file in options.qrels.items():
        collection = collection.with_partition(name, partial(read_qrels, file))
    for name, given in qrels.items():
        collection = collection.with_partition(name, partial(dict, to_qrels(given)))
    if not options.partition:
        return collection
    unknown = [name for name in options.partition if name not in collection.partitions]
    if unknown:
        raise InputError(
            f"{collection.name} has no partition {unknown[0]!r}: it has {', '.join(collection.partitions)}"
        )
    chosen = dict.fromkeys(options.partition)
    return replace(collection, partitions={name: collection.partitions[name] for name in chosen})


def _settings(options: BenchOptions) -> "BenchmarkSettings":
    from fcconan.retrieval import BenchmarkSettings

    return BenchmarkSettings(
        options.protocol,
        options.metric,
        options.cutoff,
        options.depth or DEPTHS[options.protocol],
        options.resamples,
        options.confidence,
        options.seed,
        primary=options.primary,
        baseline=options.baseline,
        folds=options.folds,
        repeats=options.repeats,
    )


def _reused(cache: "RunCache | None") -> list[str]:
    dates = cache.dates if cache is not None else {}
    return [f"{name}: cached run of {date}; --fresh repeats its requests" for name, date in dates.items()]
