"""`fcconan agree`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import row_sources

if TYPE_CHECKING:
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
    sources: row_sources.Sources,
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
    value: row_sources.Value = None,
    split: row_sources.Split = None,
    column: row_sources.Column = None,
    where: row_sources.Where = None,
    resamples: row_sources.Resamples = 10_000,
    confidence: row_sources.Confidence = 0.95,
    seed: row_sources.Seed = 0,
    json_file: row_sources.Json = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the result as a page to this file.")] = None,
) -> None:
    """Measure how far raters agree: on ratings, on verdicts between replies, or on labels of pairs."""
    from fcconan.cli.output import print_table, write_json
    from fcconan.reporting import agreement_tables, check_page, write_agreement
    from fcconan.scoring import agreement_signature, has_pair_intervals, measure_agreement, tables_of

    settings = row_sources.draws(resamples, confidence, seed)
    row_sources.check_targets([*sources, *([replies] if replies else [])], json_file, report)
    if report is not None:
        check_page(report)
    with row_sources.opened(sources, split=split, column=column, where=where, value=value) as opened:
        config = _config(opened, kind)
        tables = tables_of(
            config,
            _said(opened, config, replies),
            aspects=aspect,
            raters=rater,
            scale=None if scale is None else _scale(scale),
        )
        population = "+".join([*opened.population, *([f"raters={','.join(rater)}"] if rater else [])])
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


def _said(
    sources: row_sources.RowSources, config: str, replies: str | None
) -> "Iterable[row_sources.Row] | RatedReplies":
    from fcconan.errors import InputError

    if config == "ratings":
        return row_sources.rated_replies(sources, replies)
    if replies is not None:
        raise InputError(f"{config} name their items themselves: leave --replies out")
    return sources.rows(config)


def _config(sources: row_sources.RowSources, asked: str | None) -> str:
    """Tells what the sources hold."""
    from fcconan.errors import InputError

    known = row_sources.SAID
    if asked is not None:
        if asked not in known:
            raise InputError(f"--rows is {asked!r}: give {', '.join(known)}")
        return asked
    columns, configs = sources.first_columns(), sources.configs()
    if sources.values and columns:  # with a column for each rater, only what was judged tells what they said
        return "comparisons" if "system_a" in columns else "votes" if "pair_id" in columns else "ratings"
    for config in ("comparisons", "ratings", "votes"):
        if known[config] in columns:
            return config
    there = [config for config in known if config in configs]
    if there:
        split, folders = sources.split, sources.folders()
        having = [each for each in there if any(any((at / each).glob(f"{split}-*.parquet")) for at in folders)]
        if split is not None and having and there[0] not in having:
            raise InputError(
                f"the split {split} has {' and '.join(having)}, no {there[0]}: add --rows {' or --rows '.join(having)}"
            )
        return there[0]
    if not configs and not columns and (files := [each for each in sources.sources if Path(each).is_file()]):
        raise InputError(f"{files[0]} has no rows: check the file")
    raise InputError(
        f"found {', '.join(sorted(columns or configs)) or 'no columns'}, expected `value` (ratings), `verdict` "
        "(comparisons) or `label` (votes): name it with --column, or a column for each rater with --value"
    )


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
