"""`fcconan annotate import`."""

from typing import TYPE_CHECKING

from fcconan import services
from fcconan.oldcli.annotate.next_step import next_of
from fcconan.oldcli.command import Command

if TYPE_CHECKING:
    from fcconan.annotation import Imported

_COLUMNS = ("tool", "round", "raters", "units", "skipped", "new", "changed", "same")


def _show(result: "services.ImportResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    rows = [
        {**vars(each), "file": path.name, "raters": len(each.raters), "note": _note(each)}
        for path, each in zip(result.paths, result.found, strict=True)
    ]
    done = "Imported" if any(each.new or each.changed for each in result.found) else "Nothing new"
    title = "Checked; nothing was changed" if result.data["dry_run"] else done
    print_table(make_table(title, rows, ("file", *_COLUMNS, "note")))


def _note(imported: "Imported") -> str:
    notes = []
    if imported.earlier:
        notes.append(f"imported before, by import {imported.earlier}")
    elif not imported.answers:
        notes.append("no answers yet")
    if imported.remarks:
        notes.append(f"{imported.remarks} comments without an answer were not stored")
    if imported.waiting:
        notes.append(f"{imported.waiting} units of these raters have no answer yet")
    return "; ".join(notes)


COMMAND = Command(
    name="import",
    help="Check the returned files of raters and add their answers to the campaign; if one file is invalid, nothing is "
    "added.",
    service="import_answers",
    example="fcconan annotate import my-campaign returned/*.csv",
    show=_show,
    next_step=next_of,
)
