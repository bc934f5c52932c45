"""`fcconan annotate adjudicate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fcconan.annotation import Campaign, Outcome

NAME = "adjudicate"
EXAMPLE = "Example: fcconan annotate adjudicate my-campaign --export conflicts.csv"


def run(
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.")],
    rounds: Annotated[
        list[str] | None,
        typer.Option(
            "--round", help="Whose answers are votes; repeat it, or give a pattern such as 'queue-*'. Default: main."
        ),
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Also decide units that somebody still has to answer.")] = False,
    method: Annotated[
        str, typer.Option("--method", help="rule, or dawid-skene: votes count by what else their raters said.")
    ] = "rule",
    at_least: Annotated[
        float, typer.Option("--at-least", help="dawid-skene: labels less probable are discarded.")
    ] = 0.5,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the conflicts to this CSV file, for a person to fill in.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Export also the conflicts that the rule resolves, not only the others.")
    ] = False,
    filled_in: Annotated[
        Path | None, typer.Option("--import", help="Read what a person decided from this CSV file.")
    ] = None,
    by: Annotated[str | None, typer.Option("--by", help="The pseudonym of the person who decided.")] = None,
    changes: Annotated[
        bool, typer.Option("--changes", help="What is imported may replace what was decided before.")
    ] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the counts to this file.")] = None,
) -> None:
    """Decide the final label of every unit: by the votes, by rule, or by a person; discard what has none."""
    from fcconan.annotation import (
        Campaign,
        adjudicate,
        answers_of,
        conflict_rows,
        counted,
        counts_of,
        decisions_of_persons,
        merged,
        read_conflicts,
        write_conflicts,
    )
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, write_json
    from fcconan.errors import InputError

    if (filled_in is None) != (by is None):
        raise InputError("--import and --by go together: give the file and the pseudonym of who filled it in")
    check_files({"--json": json_file, "--export": export}, read=[filled_in], folders=[folder])
    check_json_target(json_file, folder)
    campaign = Campaign(folder)
    if campaign.task.aspects and export is None and filled_in is None:
        typer.echo("Grades are not adjudicated: every rater's stay as they are.")
        if json_file is not None:
            write_json(json_file, counts_of(None))
        return
    how: dict[str, Any] = {
        "rounds": campaign.rounds_like(rounds),
        "now": now,
        "method": method,
        "at_least": at_least,
    }
    with campaign.changing():
        outcome = adjudicate(campaign, **how)
        if not answers_of(campaign, how["rounds"]):
            raise InputError(
                f"{folder} has no answers in {', '.join(how['rounds'])}: import some with `fcconan annotate "
                "import`, or name other rounds with --round"
            )
        before = decisions_of_persons(campaign)
        imported = []
        if filled_in is not None and by is not None:
            imported = read_conflicts(filled_in, campaign, outcome, by)
            outcome = adjudicate(campaign, **how, persons=merged(before, imported, changes=changes))
        unchanged = [*campaign.decisions().values()] == outcome.decisions
        campaign.write("decisions.jsonl", outcome.decisions)
    listed = outcome.conflicts if every else outcome.open_conflicts
    listed = [*listed, *(unit for unit in outcome.other_votes if unit in outcome.by_rule and unit not in listed)]
    if export is not None:
        write_conflicts(export, conflict_rows(campaign, outcome, listed))
    counts = counts_of(outcome)
    _print_counts(counts, campaign.settings.name)
    if filled_in is not None and by is not None:
        typer.echo(_imported(filled_in, by, counted(before, imported, outcome.decisions), len(imported)))
        units = {each.unit_id for each in imported}
        if others := sorted({each.by for each in outcome.decisions if each.unit_id in units} - {by}):
            typer.echo(f"Those that {', '.join(others)} had made before stay theirs: --changes makes them {by}'s.")
    _tell_of_persons(outcome)
    if export is not None:
        _tell_exported(export, listed, outcome, campaign)
    if unchanged:
        typer.echo("decisions.jsonl says the same as before.")
    if json_file is not None:
        write_json(json_file, counts)


def _print_counts(counts: dict[str, Any], name: str) -> None:
    from fcconan.cli.output import print_table

    rows = [("label", label, n) for label, n in counts["labels"].items()]
    rows += [("decided", reason, n) for reason, n in counts["decided"].items()]
    rows += [("discarded", reason, n) for reason, n in counts["discarded"].items()]
    rows += [("no decision yet", why, counts[why]) for why in ("waiting", "not_assigned")]
    print_table(f"Final labels of {name}", ("what", "which", "units"), rows)


def _imported(file: Path, by: str, said: "Mapping[str, int]", decisions: int) -> str:
    """Returns a line on what a person decided, and what that did."""
    did = ", ".join(f"{n} {what}" for what, n in said.items() if n)
    return f"{file}: {decisions} decisions of {by}.{f' {did}.' if did else ''}"


def _tell_of_persons(outcome: "Outcome") -> None:
    """Prints what is odd about decisions that persons made."""
    if outcome.needless:
        typer.echo(f"{len(outcome.needless)} units that a person decided are no conflict now; their decision stays.")
    if outcome.other_votes:
        typer.echo(
            f"{len(outcome.other_votes)} decisions of persons were made on other votes, the first on "
            f"{outcome.other_votes[0]}; they stay: --export lists them, and importing it confirms or changes them."
        )
    if outcome.own_raters:
        typer.echo(f"{len(outcome.own_raters)} units were decided by a person who had rated them.")


def _tell_exported(file: Path, listed: list[str], outcome: "Outcome", campaign: "Campaign") -> None:
    """Prints how many conflicts are in a file, and what to do with it."""
    from fcconan.annotation import DISCARD, decisions_of_persons, final_labels

    mine = {each.unit_id for each in decisions_of_persons(campaign)}
    free = [unit for unit in listed if unit not in mine]
    to_decide = sum(outcome.by_rule[unit].label is None for unit in free)
    kinds = {"that the rule resolves": len(free) - to_decide, "decided before": len(listed) - len(free)}
    more = "".join(f", {n} {what}" for what, n in kinds.items() if n)
    typer.echo(f"{file}: {to_decide} conflicts to decide{more}; read it with --import {file} --by PSEUDONYM.")
    if listed:
        allowed = ", ".join(final_labels(campaign))
        typer.echo(f"Write {allowed} or {DISCARD} under `decision`; an empty one leaves it to the rule.")
