"""`fcconan demo`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fcconan.reporting import Page, Table

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
    """Build the embedded demo dataset, benchmark retrieval, rate replies, and score judges and systems, offline."""
    from itertools import permutations

    from fcconan.building import build, check_target, output_folder
    from fcconan.cli.bench import print_benchmark
    from fcconan.cli.judge.ratings_table import print_ratings
    from fcconan.cli.output import check_json_target, print_table, write_release_json
    from fcconan.data import check_row_target
    from fcconan.errors import InputError
    from fcconan.reporting import bench_page, check_site, drill_down, explorer_page, trec_files, write_site
    from fcconan.retrieval import Maker, Settings, bench, load_collection, load_suite
    from fcconan.services import BenchResult, offline_systems

    beside = out.absolute().parent if out.name in ("", "..") else out.parent
    target = report if report is not None else beside / "demo-report"
    rated = ratings if ratings is not None else beside / "demo-ratings.csv"
    check_json_target(json_file, out)
    check_target(output_folder(out), "demo")
    for one, other in permutations((path for path in (out, target, rated, json_file) if path is not None), 2):
        if one.resolve().is_relative_to(other.resolve()):
            raise InputError(f"{one} is in {other}, or the same: give each of the things to write a place of its own")
    check_site(target)
    check_row_target(rated)
    result = build("demo", out)
    write_release_json(json_file, result.folder, result.manifest)
    _tell_built(out, result.manifest)
    collection = load_collection(str(out)).without_kin()
    maker = Maker(load_suite(), collection.train)
    scored, details = bench(
        collection, [maker.make(name) for name in offline_systems()], Settings().resolve(collection)
    )
    counts = _rate(out, rated)
    judged, tables = _judged(out, rated)
    retrieval = bench_page(scored, drill_down(scored, details), trec_files(details))
    pages = [retrieval, *judged, explorer_page(out)]
    index = write_site(target, pages, title="The embedded demo: invented peoples, simulated answers")[0]
    print_benchmark(BenchResult(scored, details=details), verbose=True)
    print_ratings(counts, rated)
    typer.echo("Ratings by counting words, a baseline without a model: `fcconan judge rate` asks one.")
    for table in tables:
        print_table(table.title, table.columns, table.rows)
    print_table("The demo in a table (all of it synthetic: the figures say nothing about the world)", *_gist(pages))
    typer.echo(f"Report: {target / index.name}")


def _tell_built(out: Path, manifest: dict[str, Any]) -> None:
    from fcconan.cli.output import counts_rows, print_table

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


def _rate(out: Path, rated: Path) -> dict[str, Any]:
    """Writes what the baseline that counts words makes of the replies; returns the counts."""
    from fcconan.data import RowWriter, open_table
    from fcconan.judging import RATED, LexicalJudge, RatingSummary, load_task

    summary = RatingSummary()
    judge = LexicalJudge(load_task("cseval"))
    with RowWriter(rated, RATED) as writer:
        for rows in judge.rate(open_table("replies", [out])):
            summary.add(rows)
            writer.write(rows)
    return summary.result(judges=[{"name": judge.name, **judge.configuration}])


def _gist(pages: "Sequence[Page]") -> "tuple[Sequence[str], Sequence[Sequence[str]]]":
    """Returns what stands first in every page's headline."""
    rows = []
    for page in pages:
        if page.headline is not None and page.headline.rows:
            first, figure = page.headline.rows[0][:2]
            rows.append((page.label or page.title, page.headline.columns[0], first, page.headline.columns[1], figure))
    return ("page", "of", "leader", "figure", "value"), rows


def _judged(out: Path, rated: Path) -> "tuple[list[Page], list[Table]]":
    """Returns how judges follow the simulated people and which system these prefer: pages, and tables of the gist."""
    from dataclasses import asdict

    from fcconan.cli.row_options import opened, rated_replies
    from fcconan.reporting import Table, correlation_page, interval, number, tournament_page, tournament_tables
    from fcconan.scoring import correlate, correlation_signature, rank_systems

    rows = opened("ratings", [out, rated])
    ratings, population = rated_replies(rows), rows.population
    table = ratings.table()
    correlations: dict[str, Any] = {
        "signature": correlation_signature(table, population=population),
        "rows": [asdict(row) for row in correlate(table)],
        "missing": ratings.missing_in(table),
    }
    pooled = [
        [
            row["metric"],
            row["aspect"],
            number(row["value"]),
            interval(row["low"], row["high"]),
            number(row["chance"]),
            number(row["ceiling"]),
            str(row["n"]),
            str(row["n_missing"]),
        ]
        for row in correlations["rows"]
        if (row["level"], row["coefficient"]) == ("pooled", "spearman")
    ]
    columns = ["judge", "aspect", "value", "interval", "chance", "one person", "replies", "missing"]
    compared = opened("comparisons", [out], where=["rater_kind=human"])
    tournament = rank_systems(list(compared), majority=True, population=f"{compared.population};majority")
    ranking = tournament_tables(tournament)[0]
    return [correlation_page(correlations), tournament_page(tournament)], [
        Table("Judges against people (simulated): Spearman over all replies", columns, pooled),
        Table("Tournament (simulated people, majority)", ranking.columns, ranking.rows),
    ]
