"""`fcconan reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "reproduce"
EXAMPLE = "Example: fcconan reproduce fc-conan --json ledger.json"


def run(
    papers: Annotated[list[str] | None, typer.Argument(help="Short names of papers; default: all four.")] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of built datasets, kept for the next time; default: none.")
    ] = None,
    cells: Annotated[bool, typer.Option("--cells", help="Print every figure, not only what differs.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the ledger to this file.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the ledger as a page to this file.")] = None,
) -> None:
    """Compute the papers' figures anew and print them beside the published ones."""
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.reporting import check_page, write_ledger
    from fcconan.reproduction import (
        STATUSES,
        Datasets,
        as_rows,
        counts,
        from_print,
        ledger_signature,
        load_paper,
        paper_names,
        reproduce,
    )

    chosen = list(dict.fromkeys(papers or paper_names()))
    for name in chosen:
        load_paper(name)
    if json_file is not None:
        check_json_target(json_file, Path("/dev/null"))
    if report is not None:
        check_page(report)
    check_files({"--json": json_file, "--report": report}, read=[data], folders=[data])
    with Datasets(data) as datasets:
        found = [cell for name in chosen for cell in reproduce(name, datasets)]
    shown = [cell for cell in found if cells or cell.status in ("differs", "rounding")]
    print_table(
        "Every figure" if cells else "Figures that differ, or are cut off or rounded twice",
        ("paper", "table", "row", "column", "published", "recomputed", "status", "note"),
        [
            (
                cell.paper,
                cell.table,
                cell.row,
                cell.column,
                cell.published,
                "" if cell.recomputed is None else f"{cell.recomputed:.6g}",
                cell.status,
                cell.note,
            )
            for cell in shown
        ],
    )
    printed = from_print(found)
    print_table(
        "How many figures of each table",
        ("paper", "table", *STATUSES, "exact, from print"),
        [(paper, table, *number.values(), printed[paper, table]) for paper, table, number in counts(found)],
    )
    signature = ledger_signature(chosen, datasets.fingerprints)
    if json_file is not None:
        write_json(json_file, as_rows(found))
    if report is not None:
        write_ledger(report, found, signature)
        typer.echo(f"Written: {report}")
    typer.echo(signature)
