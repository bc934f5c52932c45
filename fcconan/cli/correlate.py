"""`fcconan correlate`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import row_options

if TYPE_CHECKING:
    from fcconan.scoring import RatedReplies, ScoreTable

NAME = "correlate"
SWAPS = 10_000  # of --tests where there is no bootstrap
EXAMPLE = "Example: fcconan correlate demo-dataset demo-ratings.csv --json correlations.json"


def run(
    ratings: row_options.Sources,
    human: Annotated[
        list[str] | None, typer.Option("--human", help="A rater who stands for people; repeat it. Default: all people.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="A model or metric; repeat it. Default: all.")
    ] = None,
    aspect: Annotated[
        list[str] | None, typer.Option("--aspect", help="Repeat it. Default: all that people rated.")
    ] = None,
    level: Annotated[
        list[str] | None,
        typer.Option("--level", help="pooled, per_item, per_system or system_means; repeat it. Default: all."),
    ] = None,
    coefficient: Annotated[
        list[str] | None,
        typer.Option("--coefficient", help="See docs/scores.md; repeat it. Default: pearson, spearman, kendall_b."),
    ] = None,
    value: row_options.Value = None,
    replies: Annotated[
        str | None, typer.Option("--replies", help="File or dataset of the rated replies: items, systems and texts.")
    ] = None,
    given_length: Annotated[
        bool, typer.Option("--given-length", help="Also partial correlations given length.")
    ] = False,
    errors: Annotated[bool, typer.Option("--errors", help="Also mean absolute error and bias, by system.")] = False,
    tests: Annotated[
        str | None,
        typer.Option(
            "--tests",
            help="Compare metrics: by random swaps of each reply (PERM-BOTH) or item, or by williams, which takes "
            "replies, or means of systems, as independent and normal, and tests pearson and spearman, pooled and of "
            "system_means.",
        ),
    ] = None,
    ranks: Annotated[
        str | None, typer.Option("--ranks", help="Instead, NDCG of rankings against people's ranks in this aspect.")
    ] = None,
    stability: Annotated[bool, typer.Option("--stability", help="Also how values vary over random samples.")] = False,
    split: row_options.Split = None,
    column: row_options.Column = None,
    where: row_options.Where = None,
    resamples: row_options.Resamples = 10_000,
    confidence: row_options.Confidence = 0.95,
    seed: row_options.Seed = 0,
    json_file: row_options.Json = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the result as a page to this file.")] = None,
) -> None:
    """Correlate models and metrics with people's ratings, pooled, per item and per system."""
    from fcconan.errors import InputError
    from fcconan.reporting import check_page
    from fcconan.scoring import (
        DEFAULT,
        LEVELS,
        correlate,
        correlation_signature,
        known_coefficients,
        known_levels,
        partial_correlations,
        rating_errors,
        stability as over_samples,
    )

    settings = row_options.draws(resamples, confidence, seed)
    row_options.check_targets([*ratings, *([replies] if replies else [])], json_file, report)
    if report is not None:
        check_page(report)
    levels = list(known_levels(level)) if level else []
    coefficients = known_coefficients(coefficient or DEFAULT)
    if tests is not None:
        _check_tests(tests, levels, coefficients)
    about = row_options.described(replies, column)
    read = row_options.opened(
        "ratings",
        ratings,
        split=split,
        column=column,
        where=where,
        value=value,
        people=human,
        beside=about,
    )
    rated = row_options.rated_replies(read, about)
    population = row_options.population(about, read)
    if ranks is not None:
        if aspect or level or coefficient or given_length or errors or tests or stability:
            raise InputError("--ranks goes with --human and --metric only: leave the other options out")
        _show(_against_ranks(rated, ranks, human, metric, population, settings), json_file, report)
        return
    table = rated.table(people=human, aspects=aspect, metrics=metric)
    if given_length and table.lengths is None:
        raise InputError("--given-length needs the texts of the replies: give a file or dataset of them with --replies")
    levels = levels or [each for each in LEVELS if _is_known(each, rated)]
    rows = correlate(table, levels=levels, coefficients=coefficients, **settings)
    if given_length:
        rows += partial_correlations(table, levels=levels, coefficients=coefficients, **settings)
    result: dict[str, Any] = {
        "signature": correlation_signature(table, population=population, **settings),
        "notes": _notes(levels, rated),
        "rows": [asdict(row) for row in rows],
        "missing": rated.missing_in(table, human),
    }
    if errors:
        result["errors"] = [asdict(row) for row in rating_errors(rated.on_one_scale(table, human), **settings)]
    if tests is not None:
        drawn = {"swaps": resamples or SWAPS, "seed": seed}
        tested, notes = _tests(tests, table, levels, coefficients, population, drawn)
        result |= tested
        result["notes"] += notes
    if stability:
        result["stability"] = [asdict(row) for row in over_samples(table, coefficients=coefficients)]
        if not any(row["n_trials"] for row in result["stability"]):
            result["notes"].append("There are fewer than 100 rows: too few for the samples of --stability.")
    _show(result, json_file, report)


def _check_tests(tests: str, levels: Sequence[str], coefficients: Sequence[str]) -> None:
    """Checks before long work that there is something to test; no levels are all of them."""
    from fcconan.errors import InputError
    from fcconan.scoring import CALIBRATED, UNITS, WILLIAMS, WILLIAMS_COEFFICIENTS, WILLIAMS_LEVELS

    if tests not in (*UNITS, WILLIAMS):
        raise InputError(f"--tests is {tests!r}: give {', '.join(UNITS)} or {WILLIAMS}")
    if tests != WILLIAMS and CALIBRATED in coefficients:
        raise InputError(f"--tests compares no {CALIBRATED}, whose thresholds differ: choose another --coefficient")
    for option, given, allowed in (
        ("--level", levels, WILLIAMS_LEVELS),
        ("--coefficient", coefficients, WILLIAMS_COEFFICIENTS),
    ):
        if tests == WILLIAMS and given and not set(given) & set(allowed):
            raise InputError(
                f"--tests {WILLIAMS} is for {' and '.join(allowed)}, found {', '.join(given)}: add one with {option}"
            )


def _tests(
    tests: str,
    table: "ScoreTable",
    levels: Sequence[str],
    coefficients: Sequence[str],
    population: str,
    drawn: dict[str, int],
) -> tuple[dict[str, Any], list[str]]:
    """Compares models and metrics, and returns what the result holds of it, and notes.

    Williams' test compares them at the levels and with the coefficients that it is for.
    """
    from fcconan.errors import InputError
    from fcconan.scoring import (
        HOLM,
        WILLIAMS,
        WILLIAMS_COEFFICIENTS,
        WILLIAMS_LEVELS,
        floor_notes,
        metric_families,
        permutation_families,
        permutation_signature,
        permutation_tests,
        williams_signature,
        williams_tests,
    )

    if tests == WILLIAMS:
        found = williams_tests(
            table,
            levels=[each for each in levels if each in WILLIAMS_LEVELS],
            coefficients=[each for each in coefficients if each in WILLIAMS_COEFFICIENTS],
        )
        families = metric_families(found, HOLM)
        signature = williams_signature(table, found, population=population)
    else:
        found = permutation_tests(table, levels=levels, coefficients=coefficients, unit=tests, **drawn)
        families = permutation_families(found, swaps=drawn["swaps"])
        signature = permutation_signature(table, families, population=population, unit=tests, **drawn)
    if not found:
        raise InputError("--tests compares models and metrics, and there is one for each aspect: leave it out")
    tested = {
        "tests": [asdict(row) | {"family": row.family} for row in found],
        "families": [family.to_json() for family in families],
        "tests_signature": signature,
    }
    return tested, floor_notes(families, "--resamples")


def _show(result: dict[str, Any], json_file: Path | None, report: Path | None) -> None:
    from fcconan.cli.output import print_table, write_json
    from fcconan.reporting import correlation_tables, write_correlations

    for shown in correlation_tables(result):
        print_table(shown.title, shown.columns, shown.rows)
    for note in result["notes"]:
        typer.echo(note)
    if json_file is not None:
        write_json(json_file, result)
    if report is not None:
        write_correlations(report, result)
        typer.echo(f"Written: {report}")
    typer.echo(result["signature"])
    if "tests_signature" in result:
        typer.echo(result["tests_signature"])


def _against_ranks(
    rated: "RatedReplies",
    aspect: str,
    human: list[str] | None,
    metric: list[str] | None,
    population: str,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Scores the order in which judges put the replies to an item, under both protocols."""
    import numpy as np

    from fcconan.errors import InputError
    from fcconan.scoring import HUMAN, PAPER, SOUND, means, one_score, ranking_scores, ranking_signature

    people, given = rated.people(aspect, human)
    if not people:
        raise InputError(f"nobody ranked {aspect!r}: people rated {', '.join(rated.aspects(names=human)) or 'nothing'}")
    if not rated.knows_items:
        raise InputError("--ranks needs the items of the replies: give a file or dataset of them with --replies")
    # Where raters are said to be people, the rows need not say who is none.
    nobody = people if human is not None else {*people, *rated.raters((HUMAN,))}
    judges = metric or [name for name in rated.raters() if name not in nobody]
    if not judges:
        raise InputError(f"there are no models or metrics: known raters are {', '.join(rated.raters())}")
    scores = np.stack([one_score(rated, name) for name in judges])
    rows = [
        asdict(row)
        for protocol in (SOUND, PAPER)
        for row in ranking_scores(
            judges,
            scores,
            means(given, axis=0),
            rated.items,
            annotators=given if len(people) > 1 else None,
            protocol=protocol,
            **settings,
        )
    ]
    notes = [
        "Protocol sound: the best reply has the highest gain. Protocol paper: the rank is the gain, as in Table 2 of "
        "CSEval, so that a judge who orders everything wrongly scores 1."
    ]
    if len(counts := sorted({row["n_groups"] for row in rows})) > 1:
        common = max(row["n_groups_common"] for row in rows)
        notes.append(
            f"Judges score all replies of {counts[0]} to {counts[-1]} items: compare them on the {common} that are "
            "common to all who score any; they stand in that order."
        )
    signature = ranking_signature(population=population, raters=people, aspect=aspect, **settings)
    return {"signature": signature, "notes": notes, "rows": [], "ndcg": rows}


def _notes(levels: list[str], rated: "RatedReplies") -> list[str]:
    from fcconan.scoring import UNKNOWN

    lacking = [name for name, known in (("items", rated.knows_items), ("systems", rated.knows_systems)) if not known]
    unknown = rated.systems.count(UNKNOWN) if rated.knows_systems else 0
    if unknown:
        return [f"Replies of no known system: {unknown} of {len(rated.systems)}, missing at the levels of systems."]
    if not lacking:
        return []
    notes = [f"Not all rows say the {' and the '.join(lacking)} of the replies: --replies names them."]
    if "items" in lacking:
        notes.append("A reply without an item is an item of its own, which makes the intervals too narrow.")
    return [*notes, *(f"{each} means nothing here." for each in levels if not _is_known(each, rated))]


def _is_known(level: str, rated: "RatedReplies") -> bool:
    from fcconan.scoring import PER_ITEM, PER_SYSTEM, SYSTEM_MEANS

    needed = {PER_ITEM: rated.knows_items, PER_SYSTEM: rated.knows_systems, SYSTEM_MEANS: rated.knows_systems}
    return needed.get(level, True)
