"""`fcconan report`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "report"
EXAMPLE = "Example: fcconan report results/ demo-dataset --out site"


def run(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            help="Folders of bench --report, build or evaluate-generators, JSON results, folders of these, or names.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")] = Path("report-site"),
    title: Annotated[
        str, typer.Option("--title", help="What stands above the overview.")
    ] = "Counter-narratives: results",
    texts: Annotated[
        bool,
        typer.Option(
            "--texts/--no-texts", help="Whether pages hold the texts that their inputs have, behind a warning."
        ),
    ] = True,
) -> None:
    """Write results as one folder of pages that works without a server and loads nothing."""
    from fcconan.cli.output import print_table
    from fcconan.errors import InputError
    from fcconan.reporting import check_site, find_inputs, pages_of, write_site
    from fcconan.services import built_folder

    left_out: list[str] = []
    inputs = [built_folder(each) for each in inputs]
    found = find_inputs(inputs, tell=left_out.append)
    target = out.resolve()
    for path in (*inputs, *(each.path for each in found)):
        if path.resolve().is_relative_to(target) or (path.is_dir() and target.is_relative_to(path.resolve())):
            raise InputError(f"{out} would take the place of {path}, or lie in it: choose another --out")
    check_site(out)
    pages = pages_of(found, texts=texts)
    written = write_site(out, pages, title=title, texts=texts)
    print_table(
        "Pages",
        ("page", "shows", "from"),
        [(page.title, page.lead, str(each.path)) for page, each in zip(pages, found, strict=True)],
    )
    for line in left_out:
        typer.echo(line)
    typer.echo(f"Open {written[0] if out.is_absolute() else out / written[0].name}")
