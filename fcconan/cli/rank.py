"""`fcconan rank`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import row_options

if TYPE_CHECKING:
    from fcconan.data import Table

NAME = "rank"
SCORES = ("share", "bradley_terry")
EXAMPLE = "Example: fcconan rank comparisons.csv --json tournament.json"


def run(
    comparisons: row_options.Sources,
    rater: Annotated[list[str] | None, typer.Option("--rater", help="Only this rater's verdicts; repeat it.")] = None,
    majority: Annotated[
        bool, typer.Option("--majority", help="One verdict for a pair of replies: that of more than half the raters.")
    ] = False,
    between: Annotated[
        str | None, typer.Option("--between-raters", help="Correlate the raters' tables: share or bradley_terry.")
    ] = None,
    length_control: Annotated[
        bool, typer.Option("--length-control", help="Also strengths at equal length of replies.")
    ] = False,
    replies: Annotated[
        str | None, typer.Option("--replies", help="File or dataset with the replies' texts, for --length-control.")
    ] = None,
    baseline: row_options.Baseline = None,
    regularisation: Annotated[
        float, typer.Option("--regularisation", help="Precision of the prior of the strengths.")
    ] = 0.01,
    value: row_options.Value = None,
    split: row_options.Split = None,
    column: row_options.Column = None,
    where: row_options.Where = None,
    resamples: row_options.Resamples = 10_000,
    confidence: row_options.Confidence = 0.95,
    seed: row_options.Seed = 0,
    json_file: row_options.Json = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the ranking as a page to this file.")] = None,
) -> None:
    """Rank systems by the verdicts on pairs of their replies, and test differences."""
    from fcconan.cli.output import print_table, write_json
    from fcconan.errors import InputError
    from fcconan.reporting import check_page, tournament_tables, write_tournament
    from fcconan.scoring import compare_raters, disagreement, rank_systems, read_verdicts

    draws = row_options.draws(resamples, confidence, seed)
    row_options.check_targets([*comparisons, *([replies] if replies else [])], json_file, report)
    if report is not None:
        check_page(report)
    if replies is not None and not length_control:
        raise InputError("--replies is for --length-control: give both, or leave --replies out")
    if between is not None and majority:
        raise InputError("--between-raters compares raters, and --majority makes one of them: leave one out")
    if between not in (None, *SCORES):
        raise InputError(f"--between-raters is {between!r}: give {' or '.join(SCORES)}")
    chosen = [*(where or ()), *(f"rater={name}" for name in rater or ())]
    about = row_options.described(replies, column)
    table = row_options.opened(
        "comparisons",
        comparisons,
        split=split,
        column=column,
        where=chosen,
        value=value,
        beside=about,
    )
    verdicts = read_verdicts(table)
    lengths = _lengths(about or table.replies()) if length_control else None
    if between is not None and len(verdicts.raters) < 2:
        raise InputError(f"there is one rater, {verdicts.raters[0]}: leave --between-raters out")
    settings: dict[str, Any] = {"regularisation": regularisation, **draws}
    population = row_options.population(table, about) + (";majority" if majority else "")
    result = rank_systems(
        verdicts, population=population, majority=majority, lengths=lengths, baseline=baseline, **settings
    )
    result["disagreement"] = disagreement(verdicts)
    if between is not None:
        result["between_raters"] = compare_raters(verdicts, score=between, **settings)
    for shown in tournament_tables(result):
        print_table(shown.title, shown.columns, shown.rows)
    for note in result["notes"]:
        typer.echo(note)
    if json_file is not None:
        write_json(json_file, result)
    if report is not None:
        write_tournament(report, result)
        typer.echo(f"Written: {report}")
    typer.echo(result["signature"])
    typer.echo(result["tests_signature"])


def _lengths(replies: "Table | None") -> dict[str, float]:
    from fcconan.errors import InputError

    rows = replies or ()
    known = {str(row["reply_id"]): float(len(row["text"].split())) for row in rows if isinstance(row.get("text"), str)}
    if not known:
        raise InputError("--length-control needs the texts of the replies: give a file or dataset with --replies")
    return known
