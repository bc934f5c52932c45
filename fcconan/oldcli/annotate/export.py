"""`fcconan annotate export`."""

import shlex
from collections.abc import Mapping
from typing import Any

from fcconan import services
from fcconan.oldcli.annotate.next_step import line_of
from fcconan.oldcli.command import Command


def _show(result: "services.SheetResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    title = f"Round {result.data['round']} for {result.data['tool']}"
    title += "" if result.written else ": everything was there already"
    print_table(make_table(title, result.rows(), ("rater", "units", "sessions", "file")))


def _next(values: Mapping[str, Any]) -> str:
    # The campaign does not record exports, so its status would name `export` again.
    command = f"fcconan annotate import {shlex.quote(str(values['campaign']))} FILES"
    return line_of({"command": command, "reason": "after raters have filled in and returned the sheets"})


COMMAND = Command(
    name="export",
    help="Write the sheets that raters fill in, for spreadsheets or Label Studio, with the guidelines.",
    service="export_sheets",
    example="fcconan annotate export my-campaign --tool label-studio --out to-annotators",
    show=_show,
    next_step=_next,
)
