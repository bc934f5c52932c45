"""`fcconan leaderboard`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli import row_options

NAME = "leaderboard"
EXAMPLE = "Example: fcconan leaderboard demo-dataset demo-ratings.csv --baseline simulated-matched"


def run(
    ratings: row_options.Sources,
    rater: Annotated[
        list[str] | None,
        typer.Option("--rater", help="A rater, or people for the mean of all people; repeat it. Default: all."),
    ] = None,
    aspect: Annotated[list[str] | None, typer.Option("--aspect", help="Repeat it. Default: all with a scale.")] = None,
    primary: Annotated[
        str | None,
        typer.Option(
            "--primary", help="Aspect of the primary tests. Default: the unified score, or else a rater's first aspect."
        ),
    ] = None,
    baseline: row_options.Baseline = None,
    human: Annotated[
        list[str] | None, typer.Option("--human", help="A rater of --value who is a person; repeat it.")
    ] = None,
    value: row_options.Value = None,
    replies: Annotated[
        str | None, typer.Option("--replies", help="File or dataset of the rated replies: items and systems.")
    ] = None,
    split: row_options.Split = None,
    column: row_options.Column = None,
    where: row_options.Where = None,
    resamples: row_options.Resamples = 10_000,
    confidence: row_options.Confidence = 0.95,
    seed: row_options.Seed = 0,
    json_file: row_options.Json = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write it as a page to this file.")] = None,
) -> None:
    """Rank systems by the ratings of their replies, aspect by aspect and by one score of all, and test differences."""
    from fcconan.cli.output import print_table, write_json
    from fcconan.reporting import check_page, difference_tables, leaderboard_page, leaderboard_tables, write
    from fcconan.scoring import (
        DRAWS,
        HUMAN,
        UNKNOWN,
        compare_rated,
        leaderboard,
        leaderboard_signature,
        left_out,
        sign_flip_signature,
        system_test_notes,
    )

    settings = row_options.draws(resamples, confidence, seed)
    row_options.check_targets([*ratings, *([replies] if replies else [])], json_file, report)
    if report is not None:
        check_page(report)
    about = row_options.described(replies, column)
    table = row_options.opened(
        "ratings",
        ratings,
        split=split,
        column=column,
        where=where,
        value=value,
        people=human,
        beside=about,
    )
    rated = row_options.rated_replies(table, about)
    population = row_options.population(about, table)
    found = leaderboard(rated, aspects=aspect, raters=rater, **settings)
    tests, families = compare_rated(rated, aspects=aspect, raters=rater, primary=primary, baseline=baseline, **settings)
    people = "people" if rated.raters((HUMAN,)) else "the raters"
    # Who chose aspects knows which are left out.
    notes = [
        f"{name} also rated {', '.join(aspects)}, which {people} did not rate on a scale: --aspect shows it."
        for name, aspects in ({} if aspect else left_out(rated, found)).items()
    ]
    if unknown := rated.systems.count(UNKNOWN):
        notes.append(f"Replies of no known system: {unknown} of {len(rated.systems)}, left out.")
    notes += system_test_notes(tests, families)
    if tests and not rated.knows_items:
        notes.append("Not all rows say the items of the replies, by which systems are compared: --replies names them.")
    signature = leaderboard_signature(
        rated,
        population=population,
        aspects=list(dict.fromkeys(aspect or rated.scaled_aspects())),
        raters=rater,
        **settings,
    )
    by = f"primary-{primary or 'default'}-and-exploratory-by-rater"
    result = {
        "signature": signature,
        "notes": notes,
        "rows": [asdict(row) for row in found],
        "comparisons": [asdict(row) for row in tests],
        "families": [family.to_json() for family in families],
        "tests_signature": sign_flip_signature(signature, families, by=by, draws=resamples or DRAWS, baseline=baseline),
    }
    for shown in [*leaderboard_tables(result), *difference_tables(result)]:
        print_table(shown.title, shown.columns, shown.rows)
    for note in notes:
        typer.echo(note)
    if json_file is not None:
        write_json(json_file, result)
    if report is not None:
        write(report, leaderboard_page(result))
        typer.echo(f"Written: {report}")
    typer.echo(signature)
    typer.echo(result["tests_signature"])
