"""`fcconan hydrate`."""

from pathlib import Path
from typing import Annotated, Any

import typer

NAME = "hydrate"
EXAMPLE = "Example: fcconan hydrate labels --out full"


def run(
    folder: Annotated[str, typer.Argument(help="A labels-only folder, or the name of one on the Hub (owner/name).")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")],
    revision: Annotated[
        str | None, typer.Option("--revision", help="Of a dataset on the Hub: a tag, branch or commit.")
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option("--recipe", help="The recipe file, if the folder was not built from the catalogue."),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Write the folder even if rows are changed or missing.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Upstream files fetched at once.")] = 4,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the counts to this file.")] = None,
) -> None:
    """Bring the texts back into a labels-only folder, from the upstream files or the mirror."""
    from fcconan.building import hydrate
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.errors import InputError

    check_json_target(json_file, out)
    result = hydrate(folder, out, revision=revision, recipe=recipe, keep_going=keep_going, jobs=jobs)
    counts = {
        "matched": result.matched,
        "changed": result.changed,
        "missing": result.missing,
        "not in the folder": result.extra,
    }
    if json_file:
        written = str(result.folder) if result.folder else None
        write_json(json_file, {"out": written, "complete": result.complete, **counts, "examples": result.examples})
    print_table(f"Rows of {folder}", ("rows", "number"), list(counts.items()))
    if result.complete:
        typer.echo(f"{result.folder} equals the full build.")
        return
    first = _named(result.examples[0])
    found = ", ".join(f"{count} {name}" for name, count in counts.items())
    if result.folder is None:
        raise InputError(
            f"nothing was written: found {found} (such as {first}), expected every row as it is upstream; get the "
            "folder again, or the version of fcconan that built it, or give --keep-going to write it as it is"
        )
    typer.echo(
        f"{result.folder} holds the rows of {folder}; it differs from the full build (such as {first}).",
        err=True,
    )


def _named(example: dict[str, Any]) -> str:
    key = example["key"]
    row = ", ".join(f"{name} {value}" for name, value in key.items()) if isinstance(key, dict) else key
    return f"{example['config']}/{example['split']}: {row}: {example['matter']}"
