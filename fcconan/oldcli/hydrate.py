"""`fcconan hydrate`."""

from typing import Any

import typer

from fcconan import services
from fcconan.errors import InputError
from fcconan.oldcli.command import Command


def _show(result: "services.HydrateResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_counts

    print_counts(f"Rows of {result.source}", ("rows", "number"), result.counts)
    if result.data["complete"]:
        typer.echo(f"{result.folder} equals the full build.")
        return
    first = _named(result.rows()[0])
    found = ", ".join(f"{count} {name}" for name, count in result.counts.items())
    if result.folder is None:
        raise InputError(
            f"nothing was written: found {found} (such as {first}), expected every row as it is upstream; get the "
            "folder again, or the version of fcconan that built it, or give --keep-going to write it as it is"
        )
    typer.echo(
        f"{result.folder} holds the rows of {result.source}; it differs from the full build (such as {first}).",
        err=True,
    )


def _named(example: Any) -> str:
    key = example["key"]
    row = ", ".join(f"{name} {value}" for name, value in key.items()) if isinstance(key, dict) else key
    return f"{example['config']}/{example['split']}: {row}: {example['matter']}"


COMMAND = Command(
    name="hydrate",
    help="Restore the texts of a labels-only folder from the upstream files or the mirror.",
    example="fcconan hydrate labels --out full",
    show=_show,
)
