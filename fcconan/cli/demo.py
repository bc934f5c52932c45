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
    from fcconan.cli.output import check_json_target, counts_rows, print_table, write_json

    check_json_target(json_file)
    result = build("demo", out)
    manifest = result.manifest
    if json_file:
        write_json(json_file, {"out": str(result.folder), **{k: v for k, v in manifest.items() if k != "files"}})
    print_table(
        "Demo dataset (synthetic: invented peoples, simulated labels)",
        ("config", "split", "rows"),
        counts_rows(manifest),
    )
    pairs = manifest["statistics"]["pairs"]
    columns = ("config", "split", "pairs", "appropriate", "HS", "CN", "CNs per HS", "words per CN")
    print_table("Pairs", columns, [tuple(row.values()) for row in pairs])
    typer.echo(f"Written to {result.folder}. Load it:")
    typer.echo(f'  load_dataset("{result.folder}", "gold", split="test")')
