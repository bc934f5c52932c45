"""`fcconan annotate simulate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import row_options
from fcconan.cli.options import seed_option
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.annotation import Behaviour, Behaviours, Campaign, Panel, Role, Truth

NAME = "simulate"
EXAMPLE = "Example: fcconan annotate simulate my-campaign --out handed-back --accuracy 0.85 --bias appropriate=0.1"


def run(
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder for filled-in sheets, and truth.jsonl beside them.")
    ] = None,
    round_name: Annotated[str, typer.Option("--round", help="The round.")] = "main",
    truth_file: Annotated[
        Path | None, typer.Option("--truth", help="What is right: rows of unit_id and label, or aspect and value.")
    ] = None,
    positive_rate: Annotated[
        float | None, typer.Option("--positive-rate", help="Else the share that is appropriate. Default: 0.17.")
    ] = None,
    annotators: Annotated[
        Path | None, typer.Option("--annotators", help="How raters answer (YAML): default, validators, raters.")
    ] = None,
    accuracy: Annotated[
        float | None, typer.Option("--accuracy", help="How often everybody's labels are right. Default: 0.9.")
    ] = None,
    not_sure: Annotated[float | None, typer.Option("--not-sure", help="How often everybody is not sure.")] = None,
    skip: Annotated[float | None, typer.Option("--skip", help="How often everybody skips.")] = None,
    noise: Annotated[
        float | None, typer.Option("--noise", help="Standard deviation of everybody's grades. Default: 0.7.")
    ] = None,
    bias: Annotated[
        list[str] | None,
        typer.Option("--bias", help="LABEL=SHARE said whatever is right, or ASPECT=SHIFT of grades; repeat it."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Make no votes: estimate cost, agreement, tiers and label errors.")
    ] = False,
    team: Annotated[
        list[int] | None, typer.Option("--team", min=1, help="Plan: so many annotators; repeat it. Default: 3, 6, 9.")
    ] = None,
    overlap: Annotated[
        list[str] | None,
        typer.Option("--overlap", help="Plan: shares judged by 2 and by 3, such as 0.2:0.05; repeat it."),
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option("--repetitions", min=1, help="Plan: campaigns simulated of each kind. Default: 100.")
    ] = None,
    validators: Annotated[
        int, typer.Option("--validators", min=0, help="Plan: how many validate every label; 0 for no validation.")
    ] = 4,
    rule: Annotated[str, typer.Option("--rule", help="Plan: the tier rule of pairs.")] = "released",
    dawid_skene: Annotated[
        bool, typer.Option("--dawid-skene", help="Plan: also the error of labels by Dawid and Skene's method.")
    ] = False,
    seconds: Annotated[
        float | None, typer.Option("--seconds-per-unit", min=0, help="Plan: default: as measured, or as simulated.")
    ] = None,
    pay: Annotated[float | None, typer.Option("--pay-per-hour", min=0, help="Plan: for the cost.")] = None,
    seed: Annotated[int | None, seed_option("Default: follows from the campaign's.")] = None,
    json_file: row_options.Json = None,
) -> None:
    """Answer for raters who err as described, to try a campaign; or plan one: cost, agreement, tiers, label errors."""
    from fcconan.annotation import POSITIVE_RATE, Campaign
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target

    if plan == (out is not None):
        raise InputError("give --out FOLDER for filled-in sheets, or --plan for an estimate")
    given = {"--team": team, "--overlap": overlap, "--repetitions": repetitions}
    if not plan and (named := [option for option, value in given.items() if value is not None]):
        raise InputError(f"{', '.join(named)}: of --plan only; give it, or leave them out")
    if truth_file is not None and (positive_rate is not None or plan):
        other = "--plan" if plan else "--positive-rate"
        raise InputError(f"--truth says what is right, and {other} draws it: leave one of them out")
    rate = POSITIVE_RATE if positive_rate is None else positive_rate
    if not 0 <= rate <= 1:
        raise InputError(f"--positive-rate is {rate:g}: give a share from 0 to 1")
    check_files({"--json": json_file}, read=[truth_file, annotators], folders=[folder])
    check_json_target(json_file, folder if out is None else out)
    campaign = Campaign(folder)
    everybody = {"accuracy": accuracy, "not_sure": not_sure, "skip": skip, "noise": noise}
    described = _described(annotators, {name: value for name, value in everybody.items() if value is not None}, bias)
    if out is None:
        panels = _panels(campaign, described, team or [3, 6, 9], validators, rate, rule, dawid_skene)
        result = _plan(campaign, panels, overlap, repetitions or 100, seconds, pay, seed)
    else:
        result = _simulate(campaign, round_name, out, described, truth_file, rate, seed)
    if json_file is not None:
        from fcconan.cli.output import write_json

        write_json(json_file, result)


def _described(file: Path | None, everybody: dict[str, Any], bias: list[str] | None) -> "Behaviours":
    from pydantic import ValidationError

    from fcconan.annotation import Behaviours, read_behaviours

    described = Behaviours() if file is None else read_behaviours(file)
    if bias:
        everybody["bias"] = {}
    for each in bias or ():
        name, _, value = each.partition("=")
        try:
            everybody["bias"][name] = float(value)
        except ValueError as error:
            raise InputError(f"--bias {each}: expected NAME=NUMBER, such as appropriate=0.1") from error
    try:
        return Behaviours.model_validate(described.model_dump() | {"default": described.default | everybody})
    except ValidationError as error:
        raise InputError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error


def _simulate(
    campaign: "Campaign",
    round_name: str,
    out: Path,
    described: "Behaviours",
    truth_file: Path | None,
    rate: float,
    seed: int | None,
) -> dict[str, Any]:
    from fcconan.annotation import (
        behaviours_of,
        derived_seed,
        draw_truth,
        filled_in,
        read_truth,
        right_shares,
        sheets,
        write,
    )
    from fcconan.cli.output import print_table

    if out.resolve().is_relative_to(campaign.folder.resolve()):
        raise InputError(f"{out} is in the folder of the campaign, which holds the campaign only: choose another --out")
    truth: Truth = draw_truth(campaign, positive_rate=rate) if truth_file is None else read_truth(truth_file, campaign)
    drawn = derived_seed(campaign.settings.seed, f"simulate {round_name}", seed)
    found = filled_in(campaign, round_name, behaviours_of(campaign, described), truth, seed=drawn)
    files = sheets(found, round_name, truth)
    written = write(out, files)
    rows = right_shares(campaign, found, truth, round_name)
    columns = list(rows[0])
    cells = [[f"{value:.3f}" if isinstance(value, float) else value for value in row.values()] for row in rows]
    there = "" if written else ": everything was there already"
    print_table(f"Simulated answers in round {round_name} of {campaign.settings.name}{there}", columns, cells)
    sheet = out / f"{round_name}-{rows[0]['rater']}.csv"
    typer.echo(f"{len(files) - 1} sheets, such as {sheet}; what is right is in {out / 'truth.jsonl'}.")
    return {"round": round_name, "seed": drawn, "raters": rows, "files": sorted(files)}


def _panels(
    campaign: "Campaign",
    described: "Behaviours",
    teams: list[int],
    validators: int,
    rate: float,
    rule: str,
    dawid_skene: bool,
) -> "dict[int, Panel]":
    from fcconan.annotation import Panel
    from fcconan.building import load_tier_rule

    tiers = load_tier_rule(rule) if campaign.task.unit == "pair" else None
    staff = _people(campaign, described, "validator", validators)
    return {
        size: Panel(_people(campaign, described, "annotator", size), staff, validators, rate, tiers, dawid_skene)
        for size in dict.fromkeys(teams)
    }


def _people(campaign: "Campaign", described: "Behaviours", role: "Role", size: int) -> "list[Behaviour]":
    """Those who are known by name once each, and as many others as there are beside them; says who they are."""
    from fcconan.annotation import check_names, named_raters

    named = named_raters(campaign, described, role)
    found = [described.of(name, role) for name in named] + [described.of("", role)] * (size - len(named))
    for behaviour in found:
        check_names(campaign.task, f"a simulated {role}", behaviour)
    said = "validators" if role == "validator" and described.validators else "default"
    who = [*named, f"{size - len(named)} as `{said}` says"] if size > len(named) else named
    drawn = ", not all of them in each simulated campaign" if size < len(named) else ""
    if size:
        typer.echo(f"{size} {role}{'s' * (size > 1)}: {', '.join(who)}{drawn}.")
    return found


def _plan(
    campaign: "Campaign",
    panels: "dict[int, Panel]",
    overlaps: list[str] | None,
    repetitions: int,
    seconds: float | None,
    pay: float | None,
    seed: int | None,
) -> dict[str, Any]:
    from fcconan.annotation import Pace, derived_seed, expected, measured_pace, simulated_pace
    from fcconan.cli.output import print_table

    known = Pace(seconds) if seconds is not None else measured_pace(campaign.answers().values())
    how = "given" if seconds is not None else "measured" if known.seconds is not None else "simulated"
    drawn = derived_seed(campaign.settings.seed, "plan", seed)
    shares = [_shares(each) for each in overlaps or ["0:0", "0.2:0.05", "1:0", "0:1"]]
    rows: list[dict[str, Any]] = []
    for number, panel in panels.items():
        pace = known if known.seconds is not None else simulated_pace(panel)
        for overlap in shares:
            if any(share > 0 and raters > number for raters, share in overlap.items()):
                raise InputError(f"--team {number} cannot judge units by {max(overlap)} raters: give larger teams")
            found = expected(campaign, panel, number, overlap, pace, pay, repetitions=repetitions, seed=drawn)
            design = {"raters": number, "twice": overlap[2], "thrice": overlap[3], "seconds": pace.seconds}
            rows.append(design | {"measures": found})
    # With tiers, the broadest one says what holds of all labels.
    measures = [name for name in rows[0]["measures"] if panel.rule is None or not name.endswith(" all")]
    tiers = [name for name in measures if name.partition(" ")[0] in ("size", "error")]
    for title, names in (
        ("Cost and agreement", [name for name in measures if name not in tiers]),
        ("Labels", tiers),
    ):
        if names := [name for name in names if any(row["measures"][name]["mean"] is not None for row in rows)]:
            cells = [
                [row["raters"], row["twice"], row["thrice"], *(_cell(row["measures"][name]) for name in names)]
                for row in rows
            ]
            print_table(f"{title}: mean, and 95 % of campaigns", ("raters", "by 2", "by 3", *names), cells)
    paces = " or ".join(dict.fromkeys(f"{row['seconds'] or 0:.1f}" for row in rows))
    typer.echo(f"{repetitions} campaigns of each kind; {paces} seconds a unit ({how}).")
    return {"repetitions": repetitions, "seed": drawn, "seconds_are": how, "designs": rows}


def _shares(text: str) -> dict[int, float]:
    twice, _, thrice = text.partition(":")
    try:
        found = {2: float(twice), 3: float(thrice or 0)}
    except ValueError as error:
        raise InputError(f"--overlap {text}: expected two shares, such as 0.2:0.05") from error
    if min(found.values()) < 0 or sum(found.values()) > 1:
        raise InputError(f"--overlap {text}: give shares from 0 that make no more than 1")
    return found


def _cell(measure: dict[str, Any]) -> str:
    if measure["mean"] is None:
        return "-"
    digits = 0 if measure["mean"] >= 100 else 1 if measure["mean"] >= 10 else 3
    low, high = measure["low"], measure["high"]
    spread = "" if low == high else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{measure['mean']:.{digits}f}{spread}"
