"""`fcconan annotate agree`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import row_options
from fcconan.cli.options import seed_option

if TYPE_CHECKING:
    from fcconan.annotation import Campaign

NAME = "agree"
PERMUTATIONS = 10_000  # where no intervals are wanted
EXAMPLE = "Example: fcconan annotate agree my-campaign --report agreement.html"


def run(
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.")],
    rounds: Annotated[
        list[str] | None,
        typer.Option(
            "--round", help="Whose answers count; repeat it, or give a pattern such as 'queue-*'. Default: main."
        ),
    ] = None,
    units: Annotated[int, typer.Option("--units", min=0, help="List so many units with most disagreement.")] = 10,
    too_fast: Annotated[
        float | None,
        typer.Option("--too-fast", help="Answers below so many seconds are fast. Default: by all raters'."),
    ] = None,
    pass_mark: Annotated[float, typer.Option("--pass-mark", help="Share of anchors that must be right.")] = 0.8,
    within: Annotated[float, typer.Option("--within", help="How far from an anchor's right grade one may be.")] = 0.0,
    level: Annotated[
        float, typer.Option("--level", help="Corrected p-values below it are shown as noteworthy.")
    ] = 0.05,
    report: Annotated[Path | None, typer.Option("--report", help="Write a page (HTML) to this file.")] = None,
    resamples: row_options.Resamples = 10_000,
    confidence: row_options.Confidence = 0.95,
    seed: Annotated[int | None, seed_option("Default: follows from the campaign's.")] = None,
    json_file: row_options.Json = None,
) -> None:
    """Measure how far raters agree, and show who drifts, answers by reflex or fails anchors."""
    from fcconan.annotation import Campaign, derived_seed
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.reporting import check_page, not_made, quality_tables, write_quality_page

    check_files({"--json": json_file, "--report": report}, folders=[folder])
    check_json_target(json_file, folder)
    if report is not None:
        check_page(report)
    campaign = Campaign(folder)
    drawn = row_options.draws(resamples, confidence, derived_seed(campaign.settings.seed, "agree", seed))
    marks = {"level": level, "too_fast": too_fast, "pass_mark": pass_mark, "within": within}
    result = _result(campaign, campaign.rounds_like(rounds), drawn, **marks)
    for table in quality_tables(result, units=units):
        print_table(table.title, table.columns, table.rows)
    for check, reasons in not_made(result["checks"]).items():
        typer.echo(f"Not checked: {check}: " + ", ".join(f"{reason} {n}" for reason, n in reasons.items()))
    for note in result["notes"]:
        typer.echo(note)
    for signature in [*result["signature"], result["tests_signature"]]:
        typer.echo(signature)
    if report is not None:
        write_quality_page(report, result, f"Agreement in {campaign.settings.name}")
    if json_file is not None:
        write_json(json_file, result)


def _result(campaign: "Campaign", rounds: list[str], drawn: dict[str, Any], **settings: Any) -> dict[str, Any]:
    from fcconan.annotation import (
        VALIDATION,
        agreement_rows,
        check_families,
        checks,
        disputed_units,
        family_notes,
        mean_of_subsets,
        rated,
        votes_of,
    )
    from fcconan.errors import InputError
    from fcconan.scoring import agreement_signature, family_parts, has_pair_intervals

    if VALIDATION in rounds:
        raise InputError(
            f"in the round {VALIDATION} people agree or disagree with a label, which is no label: see "
            "`fcconan annotate validate`"
        )
    votes = votes_of(campaign, rounds)
    if not any(votes.values()):
        raise InputError(f"{campaign.folder} has no answers in {', '.join(rounds)}: import some first")
    permutations = drawn["resamples"] or PERMUTATIONS
    made = checks(campaign, rounds, permutations=permutations, seed=drawn["seed"], **settings)
    families = check_families(made, permutations)
    rows = agreement_rows(campaign, votes, **drawn)
    several = {unit for given in votes.values() for unit, said in given.items() if len(said) > 1}
    single = {unit for given in votes.values() for unit in given} - several
    population = f"{campaign.settings.name}:{'+'.join(rounds)}"
    signatures = [
        agreement_signature(
            table.domain, population=population, pair_intervals=has_pair_intervals(len(table.raters)), **drawn
        )
        for table in rated(campaign, votes)
        if len(table.domain) <= 101
    ]
    tests = {"test": "attention", "draws": permutations, "seed": drawn["seed"], **family_parts(families, "check")}
    return {
        "signature": list(dict.fromkeys(signatures)),
        "tests_signature": "|".join([population, *(f"{key}:{value}" for key, value in tests.items())]),
        "rows": rows,
        "subsets": mean_of_subsets(rows),
        "units": disputed_units(campaign, votes),
        "checks": made,
        "families": [family.to_json() for family in families],
        "notes": [
            f"{len(several)} units have answers of two or more raters, {len(single)} of one.",
            *family_notes(families, permutations),
        ],
    }
