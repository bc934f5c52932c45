"""Correlations as a part of a page, and as a page."""

from dataclasses import replace

from fcconan.reporting.correlations import correlation_tables
from fcconan.reporting.forest_plots import Dot, forest_plot
from fcconan.reporting.heat_maps import correlation_maps, heat_maps
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
)


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


def _signatures(result: Row) -> list[str]:
    return [result[key] for key in ("signature", "tests_signature") if key in result]
