"""`fcconan demo`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "demo"
EXAMPLE = "Example: fcconan demo --out demo-dataset"


def run(
    out: Annotated[Path, typer.Option("--out", help="The folder to write.")] = Path("demo-dataset"),
    json_file: Annotated[Path | None, typer.Option("--json", help="Write what was built to this file.")] = None,
) -> None:
    """Build the embedded demo dataset, offline, and print what is in it."""
    from fcconan.build import build
    from fcconan.cli.output import check_json_target, counts_rows, print_table, write_release_json

    check_json_target(json_file, out)
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
