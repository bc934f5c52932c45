"""`fcconan demo`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.output import tell_progress


def _show(result: "services.DemoResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_tables

    if verbose:
        _show_all(result)
    print_tables(result.tables)
    shown = result.place if result.place.is_absolute() else f"./{result.place}"  # a bare name could be one on the Hub
    typer.echo(f"Written to {shown}. Load it:")
    typer.echo(f'  datasets.load_dataset("{shown}", "gold", split="test")')
    typer.echo(f"Ratings by a rater that learned from the simulated people, out of fold: {result.ratings_file}")


def _show_all(result: "services.DemoResult") -> None:
    from fcconan.oldcli.bench import print_benchmark
    from fcconan.oldcli.judge.ratings_table import print_ratings
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    title = "Demo dataset (synthetic: invented peoples, simulated labels)"
    print_table(make_table(title, result.rows(), ("config", "split", "rows")))
    pairs = result.manifest["statistics"]["pairs"]
    print_table(make_table("Pairs", pairs, list(pairs[0])))
    print_benchmark(result.benchmark, verbose=True)
    print_ratings(dict(result.ratings), result.ratings_file)


COMMAND = Command(
    name="demo",
    help="Build the embedded demo dataset, benchmark retrieval, rate replies, and score judges and systems, offline.",
    service="run_demo",
    example="fcconan demo --out demo-dataset",
    show=_show,
    detailed=True,
    keywords={"progress": tell_progress},
)
