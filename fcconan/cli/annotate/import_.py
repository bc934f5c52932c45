"""`fcconan annotate import`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fcconan.annotation import Imported

NAME = "import"
EXAMPLE = "Example: fcconan annotate import my-campaign handed-back/*.csv"


def run(
    campaign: Annotated[Path, typer.Argument(help="The folder of the campaign.")],
    files: Annotated[list[Path], typer.Argument(help="CSV, JSONL, Label Studio's JSON, Argilla's records.")],
    round_name: Annotated[str | None, typer.Option("--round", help="Refuse files of any other round.")] = None,
    raters: Annotated[
        Path | None, typer.Option("--raters", help="CSV of user (in the tool) and rater (pseudonym); it is not kept.")
    ] = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="Let answers change earlier ones, which are kept.")
    ] = False,
    late: Annotated[bool, typer.Option("--late", help="Take answers to units that were withdrawn since.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check, and change nothing.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the counts to this file.")] = None,
) -> None:
    """Check what raters handed back and add it to the campaign: everything or nothing."""
    from dataclasses import asdict

    from fcconan.annotation import Campaign, import_files, read_file, read_people
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json

    opened = Campaign(campaign)
    check_files({"--json": json_file}, read=[*files, raters], folders=[campaign])
    check_json_target(json_file, Path("/dev/null"))
    found = import_files(
        opened,
        [read_file(path, opened) for path in files],
        people=None if raters is None else read_people(raters),
        round_name=round_name,
        changes=changes,
        late=late,
        dry_run=dry_run,
    )
    rows = [
        (
            path.name,
            each.tool,
            each.round,
            len(each.raters),
            each.units,
            each.skipped,
            each.new,
            each.changed,
            each.same,
            _note(each),
        )
        for path, each in zip(files, found, strict=True)
    ]
    columns = ("file", "tool", "round", "raters", "units", "skipped", "new", "changed", "same", "note")
    done = "Imported" if any(each.new or each.changed for each in found) else "Nothing new"
    print_table("Checked; nothing was changed" if dry_run else done, columns, rows)
    if json_file is not None:
        write_json(json_file, {"dry_run": dry_run, "files": [asdict(each) for each in found]})


def _note(imported: "Imported") -> str:
    notes = []
    if imported.earlier:
        notes.append(f"came with import {imported.earlier} already")
    elif not imported.answers:
        notes.append("no answers yet")
    if imported.superseded:
        notes.append(f"{imported.superseded} of its answers were changed since: --changes takes them back")
    if imported.remarks:
        notes.append(f"{imported.remarks} comments without an answer were not kept")
    if imported.waiting:
        notes.append(f"{imported.waiting} units of theirs have no answer yet")
    return "; ".join(notes)
