"""`fcconan agree`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import row_options

if TYPE_CHECKING:
    from fcconan.data import Table
    from fcconan.scoring import RatedByMany, RatedReplies

NAME = "agree"
EXAMPLE = "Example: fcconan agree ratings.csv --json agreement.json"
# What is said where single things are resampled.
ALONE = {
    "reply": "Nothing says which item each reply answers, so single replies are resampled: intervals are too narrow "
    "where an item has several. Give --replies, or a column item_id.",
    "pair": "The ids of the pairs do not have the form HS:CN, so single pairs are resampled: intervals are too narrow "
    "where an HS message has several.",
}


def run(
    sources: row_options.Sources,
    aspect: Annotated[list[str] | None, typer.Option("--aspect", help="Repeat it. Default: all.")] = None,
    rater: Annotated[
        list[str] | None, typer.Option("--rater", help="These raters; repeat it. Default: all people, or all raters.")
    ] = None,
    coefficient: Annotated[
        list[str] | None, typer.Option("--coefficient", help="See docs/scores.md; repeat it. Default: all that fit.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option("--scale", help="LOW,HIGH of whole grades, where the rows do not say it.")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--rows", help="ratings, comparisons or votes. Default: what the sources hold.")
    ] = None,
    replies: Annotated[
        str | None, typer.Option("--replies", help="File or dataset of the rated replies, which says their items.")
    ] = None,
    pair_intervals: Annotated[
        bool | None,
        typer.Option("--pair-intervals/--no-pair-intervals", help="Of pairs of raters. Default: of up to 10 raters."),
    ] = None,
    overall: Annotated[bool, typer.Option("--overall", help="Leave the pairs of raters out of the table.")] = False,
    value: row_options.Value = None,
    split: row_options.Split = None,
    column: row_options.Column = None,
    where: row_options.Where = None,
    resamples: row_options.Resamples = 10_000,
    confidence: row_options.Confidence = 0.95,
    seed: row_options.Seed = 0,
    json_file: row_options.Json = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the result as a page to this file.")] = None,
) -> None:
    """Measure how far raters agree: on ratings, on verdicts between replies, or on labels of pairs."""
    from fcconan.cli.output import print_table, write_json
    from fcconan.reporting import agreement_tables, check_page, write_agreement
    from fcconan.scoring import agreement_signature, has_pair_intervals, measure_agreement, tables_of

    settings = row_options.draws(resamples, confidence, seed)
    row_options.check_targets([*sources, *([replies] if replies else [])], json_file, report)
    if report is not None:
        check_page(report)
    about = row_options.described(replies, column)
    config = _config(sources, kind, split=split, column=column, value=value)
    opened = row_options.opened(config, sources, split=split, column=column, where=where, value=value, beside=about)
    tables = tables_of(
        config,
        _said(opened, about),
        aspects=aspect,
        raters=rater,
        scale=None if scale is None else _scale(scale),
    )
    read = row_options.population(about, opened)
    population = "+".join([read, *([f"raters={','.join(rater)}"] if rater else [])])
    rows: list[dict[str, Any]] = []
    signatures = {}
    notes: dict[str, None] = {}
    for table in tables:
        by_pair = has_pair_intervals(len(table.raters), pair_intervals)
        rows += measure_agreement(
            table.values,
            table.domain,
            items=table.items,
            pair_intervals=by_pair,
            coefficients=_coefficients(coefficient, table),
            raters=table.raters,
            aspect=table.aspect,
            **settings,
        )
        # Two raters are everybody.
        shown_pairs = by_pair or len(table.raters) < 3
        signatures[table.aspect or config] = agreement_signature(
            table.domain,
            population=population,
            unit=table.unit,
            pair_intervals=shown_pairs,
            scale_known=table.scale_known,
            **settings,
        )
        if table.left_out:
            notes[f"Only people are compared, not {_few(table.left_out)}: --rater chooses others."] = None
        if not table.scale_known:
            notes[_as_given(table)] = None
        if resamples and table.unit in ALONE:
            notes[ALONE[table.unit]] = None
        if resamples and not shown_pairs:
            notes[f"{len(table.raters)} raters: pairs have no intervals; ask for them with --pair-intervals."] = None
    for shown in agreement_tables(rows, pairs=not overall):
        print_table(shown.title, shown.columns, shown.rows)
    for note in notes:
        typer.echo(note)
    result = {"signature": signatures, "rows": rows, "notes": [*notes]}
    if json_file is not None:
        write_json(json_file, result)
    if report is not None:
        write_agreement(report, result, pairs=not overall)
        typer.echo(f"Written: {report}")
    for signature in dict.fromkeys(signatures.values()):
        typer.echo(signature)


def _as_given(table: "RatedByMany") -> str:
    grades = _few([f"{grade:g}" for grade in table.domain])
    return (
        f"{table.aspect}: the rows give no scale of whole grades, so the grades that occur ({grades}) stand for it; "
        "--scale gives one."
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join([*names[:7], *(["..."] if len(names) > 7 else [])])


def _said(rows: "Table", replies: "Table | None") -> "Table | RatedReplies":
    from fcconan.errors import InputError

    if rows.kind == "ratings":
        return row_options.rated_replies(rows, replies)
    if replies is not None:
        raise InputError(f"{rows.kind} name their items themselves: leave --replies out")
    return rows


def _config(
    sources: list[str], asked: str | None, *, split: str | None, column: list[str] | None, value: list[str] | None
) -> str:
    """Returns the kind of the rows: as asked for, or as the sources show."""
    from fcconan.data import JUDGEMENT, detect_kind, parse_rename, parse_wide
    from fcconan.errors import InputError
    from fcconan.services import dataset_folder

    if asked is not None:
        if asked not in JUDGEMENT:
            raise InputError(f"--rows is {asked!r}: give {', '.join(JUDGEMENT)}")
        return asked
    paths = [dataset_folder(source) for source in sources]
    return detect_kind(paths, split=split, rename=parse_rename(column or ()), wide=bool(parse_wide(value or ())))


def _coefficients(asked: list[str] | None, table: "RatedByMany") -> Sequence[str]:
    from fcconan.errors import InputError

    chosen = list(dict.fromkeys(asked or table.coefficients))
    for name in chosen:
        if not table.ordered and name.endswith(("linear", "quadratic", "ordinal", "interval")):
            raise InputError(
                f"{name} weighs distances, and the values of these rows have no order: choose from "
                f"{', '.join(table.coefficients)}"
            )
    return chosen


def _scale(given: str) -> tuple[int, int]:
    from fcconan.errors import InputError

    low, comma, high = given.partition(",")
    try:
        ends = int(low), int(high)
    except ValueError:
        ends = (0, 0)
    if not comma or ends[0] >= ends[1]:
        raise InputError(f"--scale is {given!r}: give LOW,HIGH in whole grades, such as 1,5")
    return ends
