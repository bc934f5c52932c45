"""Correlations, agreement, ratings and tournaments as tables, parts of pages, and pages."""

from dataclasses import replace
from typing import TYPE_CHECKING

from fcconan.data import count_noun
from fcconan.reporting.correlations import correlation_tables, same_or_all
from fcconan.reporting.forest_plots import Dot, forest_plot
from fcconan.reporting.heat_maps import agreement_maps, correlation_maps, heat_maps
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, Section
from fcconan.reporting.published_systems import (
    Published,
    published_correlations,
    with_published,
    with_published_dots,
)
from fcconan.reporting.tables import (
    MISSING,
    DisplayTable,
    Row,
    Rows,
    value_text,
)

if TYPE_CHECKING:
    pass

WIDEST = 4  # coefficients of agreement in a table, for which a terminal has room


def agreement_tables(rows: Rows, *, pairs: bool = True) -> list[DisplayTable]:
    """Returns agreement, a table for every set of coefficients: a line for an aspect and its raters, if it has several.

    Args:
        rows: Return value of `fcconan.scoring.agreement.measure_agreement`.
        pairs: Whether pairs of raters have lines, too.
    """
    names = list(dict.fromkeys(row["coefficient"] for row in rows))
    tables = []
    for start in range(0, len(names), WIDEST):
        some = names[start : start + WIDEST]
        lines: dict[tuple[str, str], dict[str, Row]] = {}
        for row in rows:
            is_listed = row["coefficient"] in some and (row["level"] == "overall" or pairs)
            if is_listed and row["reason"] != "one_rater":
                # One rater has a name, and two are the same line as their pair.
                raters = (
                    count_noun(len(row["raters"]), "rater") if len(row["raters"]) > 2 else " and ".join(row["raters"])
                )
                lines.setdefault((row["aspect"] or "all", raters), {})[row["coefficient"]] = row
        cells: dict[tuple[str, ...], list[list[str]]] = {}
        for (aspect, raters), own in lines.items():
            counts = (same_or_all([*own.values()], key) for key in ("n", "n_items", "n_missing"))
            cells.setdefault(tuple(own), []).append([aspect, raters, *map(value_text, own.values()), *counts])
        tables += [
            DisplayTable(
                "Agreement of raters", ["aspect", "raters", *coefficients, "rated", "items", "left out"], found
            )
            for coefficients, found in cells.items()
        ]
    return tables


def agreement_notes(result: Row) -> list[str]:
    """Returns the notes of a result, after a sentence for each aspect with one rater."""
    alone = {row["aspect"] or "all": row["raters"][0] for row in result["rows"] if row["reason"] == "one_rater"}
    sentences = [f"{aspect}: only {rater} rated, and agreement needs two raters." for aspect, rater in alone.items()]
    return [*sentences, *result["notes"]]


def beside_published(section: Section, published: Published | None, column: str) -> Section:
    """Returns a section whose first table has published rows in grey, and whose notes begin with their source.

    Args:
        section: The section.
        published: The published rows; None adds nothing.
        column: The column that orders the rows.
    """
    if published is None:
        return section
    first, *others = section.own_tables()
    tables: list[DisplayTable | View] = [with_published(first, published, column), *others]
    return replace(section, tables=tables, notes=[published.source, *section.notes])


def correlation_section(result: Row) -> Section:
    """Returns correlations as a part of a page."""
    notes = [
        *result.get("notes", ()),
        "pooled: over all replies. per_item: the mean over items of the coefficient among the replies to one. "
        "per_system: the same among the replies of one system. system_means: between the means of systems.",
        "Chance is the expected value of random ratings. One person is the value of one annotator against the mean of "
        "the others: a judge above it agrees with the mean better than a person does.",
        "Intervals are bootstrap intervals over items. A group with constant ratings has no coefficient and is counted "
        "as constant. Rows in a group of fewer than two are counted as too few. Counts that "
        "differ are in the order of the coefficients.",
    ]
    if result["rows"]:
        notes.append(
            "The first table is sorted by the mean over aspects, with signs: a metric of quality correlates negatively "
            "with ratings of faults. A mean needs a value for each aspect."
        )
    maps = correlation_maps(result["rows"])
    return Section("Judges and metrics", notes, correlation_tables(result), more=heat_maps(maps))


def agreement_section(result: Row) -> Section:
    """Returns agreement as a part of a page.

    Args:
        result: Mapping with `rows` and `notes`.
    """
    notes = [
        *agreement_notes(result),
        "Intervals are over items. Items with ratings of fewer than two raters are left out.",
    ]
    # Two raters are one cell, which the table holds.
    several = any(len(row["raters"]) > 2 for row in result["rows"])
    tables = agreement_tables(result["rows"])
    if len(tables) > 1:  # the columns between the raters and the three counts distinguish them
        tables = [each._replace(title=f"{each.title}: {', '.join(each.columns[2:-3])}") for each in tables]
    return Section(
        "Agreement of raters", notes, tables, more=heat_maps(agreement_maps(result["rows"]) if several else [])
    )


def correlation_page(result: Row) -> Page:
    """Returns correlations as a page: a leaderboard of judges, heat maps, and every table.

    Args:
        result: Result of `fcconan correlate`.
    """
    section = correlation_section(result)
    first = section.own_tables()[0] if result["rows"] else None
    board = [] if first is None else first.rows
    published = None if first is None else published_correlations(result, first)
    named = [Dot(row[0], None if row[1] == MISSING else float(row[1])) for row in board if not row[0].startswith("(")]
    return Page(
        "Correlation with people",
        "Agreement of models and metrics with people's ratings.",
        [beside_published(section, published, "mean")],
        signatures=_signatures(result),
        plot=forest_plot("Mean correlation with people, over aspects", with_published_dots(named, published, "mean")),
    )


def agreement_page(result: Row) -> Page:
    """Returns agreement as a page.

    Args:
        result: Mapping with `rows`, `notes`, and a `signature` for each aspect.
    """
    rows: Rows = result["rows"]
    own = [row for row in rows if row["level"] == "overall" and row["coefficient"] == rows[0]["coefficient"]]
    dots = [Dot(row["aspect"] or "all", row["value"], row["low"], row["high"]) for row in own]
    return Page(
        "Agreement",
        "Agreement of the raters.",
        [agreement_section(result)],
        signatures=list(dict.fromkeys(result["signature"].values())),
        plot=forest_plot(f"Agreement of all raters: {rows[0]['coefficient']}", dots) if dots else None,
    )


def _signatures(result: Row) -> list[str]:
    return [result[key] for key in ("signature", "tests_signature") if key in result]
