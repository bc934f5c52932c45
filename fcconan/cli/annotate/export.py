"""`fcconan annotate export`."""

from pathlib import Path
from typing import Annotated

import typer

NAME = "export"
EXAMPLE = "Example: fcconan annotate export my-campaign --tool label-studio --out handed-out"


def run(
    campaign: Annotated[Path, typer.Argument(help="The folder of the campaign.")],
    out: Annotated[Path, typer.Option("--out", help="The folder for the files, one a rater, and the guidelines.")],
    tool: Annotated[str, typer.Option("--tool", help="csv, jsonl, label-studio or argilla.")] = "csv",
    round_name: Annotated[str, typer.Option("--round", help="The round.")] = "main",
    rater: Annotated[list[str] | None, typer.Option("--rater", help="Whose file; default: everybody's.")] = None,
    suggestions: Annotated[
        Path | None, typer.Option("--suggestions", help="Votes, ratings or comparisons to show as suggestions.")
    ] = None,
    unanswered: Annotated[bool, typer.Option("--unanswered", help="Only what has not been answered yet.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write what was written to this file.")] = None,
) -> None:
    """Write what raters fill in, for spreadsheets, Label Studio or Argilla, with the guidelines."""
    from fcconan.annotation import Campaign, export, read_suggestions, write
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.errors import InputError

    opened = Campaign(campaign)
    check_files({"--json": json_file}, read=[suggestions], folders=[campaign])
    check_json_target(json_file, out)
    if out.resolve().is_relative_to(campaign.resolve()):
        raise InputError(f"{out} is in the folder of the campaign, which holds the campaign only: choose another --out")
    suggested = read_suggestions(suggestions, opened, round_name) if suggestions else None
    exported = export(opened, tool, round_name=round_name, raters=rater, suggestions=suggested, unanswered=unanswered)
    written = write(out, exported.files)
    rows = [
        (
            name,
            len(items),
            len({item.assignment.session for item in items}),
            sum(bool(item.suggestions) for item in items),
            str(out / file),
        )
        for name, (file, items) in exported.handed.items()
    ]
    title = f"Round {round_name} for {tool}" + ("" if written else ": everything was there already")
    print_table(title, ("rater", "units", "sessions", "with a suggestion", "file"), rows)
    if suggested and (suggested.n_other or suggested.n_without):
        print(f"Suggestions: {suggested.n_other} rows about something else, {suggested.n_without} without an answer")
    if json_file is not None:
        keys = ("rater", "units", "sessions", "suggested", "file")
        raters = [dict(zip(keys, row, strict=True)) for row in rows]
        left_out = None if suggested is None else {"other": suggested.n_other, "unanswered": suggested.n_without}
        result = {"round": round_name, "tool": tool, "raters": raters, "suggestions_left_out": left_out}
        write_json(json_file, result)
