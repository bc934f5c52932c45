"""`fcconan demo`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "demo"
EXAMPLE = "Example: fcconan demo --out demo-dataset --report demo-report"


def run(
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")] = Path("demo-dataset"),
    ratings: Annotated[
        Path | None, typer.Option("--ratings", help="File of the baseline's ratings; default: demo-ratings.csv there.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Where the report goes; default: demo-report next to the dataset.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write what was built to this file.")] = None,
) -> None:
    """Build the embedded demo dataset, benchmark retrieval on it and rate its replies, offline."""
    from fcconan.build import build
    from fcconan.cli.bench import offline_systems, print_result
    from fcconan.cli.output import check_json_target, counts_rows, print_table, write_release_json
    from fcconan.judge.lexical import LexicalJudge
    from fcconan.judge.rate import RATED
    from fcconan.judge.replies import load_replies
    from fcconan.judge.summary import Summary, print_summary
    from fcconan.judge.task import load_task
    from fcconan.report import check_report, write_report
    from fcconan.retrieve.bench import Settings, bench
    from fcconan.retrieve.collection import load_collection
    from fcconan.retrieve.suite import Maker, load_suite
    from fcconan.row_files import RowWriter, check_row_target

    target = report if report is not None else out.absolute().parent / "demo-report"
    rated = ratings if ratings is not None else out.absolute().parent / "demo-ratings.csv"
    check_json_target(json_file, out)
    check_report(target)
    check_row_target(rated)
    result = build("demo", out)
    manifest = result.manifest
    write_release_json(json_file, result.folder, manifest)
    print_table(
        "Demo dataset (synthetic: invented peoples, simulated labels)",
        ("config", "split", "rows"),
        counts_rows(manifest),
    )
    pairs = manifest["statistics"]["pairs"]
    columns = ("config", "split", "pairs", "appropriate", "HS", "CN", "CNs per HS", "words per CN")
    print_table("Pairs", columns, [tuple(row.values()) for row in pairs])
    shown = out if out.is_absolute() else f"./{out}"  # a bare name could be taken for a dataset on the Hub
    typer.echo(f"Written to {shown}. Load it:")
    typer.echo(f'  datasets.load_dataset("{shown}", "gold", split="test")')
    collection = load_collection(str(out))
    maker = Maker(load_suite(), collection.train)
    scored, details = bench(
        collection, [maker.make(name) for name in offline_systems()], Settings().resolve(collection)
    )
    write_report(target, scored, details)
    print_result(scored, target)
    summary = Summary()
    judge = LexicalJudge(load_task("cseval"))
    with RowWriter(rated, RATED) as writer:
        for rows in judge.rate(load_replies(out)):
            summary.add(rows)
            writer.write(rows)
    print_summary(summary.result(judges=[{"name": judge.name, **judge.configuration}]), rated)
    typer.echo("Ratings by counting words, a baseline without a model: `fcconan judge rate` asks one.")
