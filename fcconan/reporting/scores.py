"""Correlations, agreement, ratings and tournaments as tables, parts of pages, and pages."""

from collections import Counter
from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING

from fcconan.building import group_values
from fcconan.data import count_noun
from fcconan.reporting.correlations import correlation_tables, difference_tables, judging_raters, same_or_all
from fcconan.reporting.forest_plots import Dot, forest_plot
from fcconan.reporting.heat_maps import agreement_maps, correlation_maps, heat_maps, win_map
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, Section
from fcconan.reporting.prediction_powered import powered_tables
from fcconan.reporting.published_systems import (
    Published,
    published_correlations,
    published_tournament,
    with_published,
    with_published_dots,
)
from fcconan.reporting.tables import (
    MISSING,
    Columns,
    DisplayTable,
    Row,
    Rows,
    make_table,
    value_text,
    with_interval,
)
from fcconan.scoring import WHOLE_REPLY

if TYPE_CHECKING:
    from markupsafe import Markup

WIDEST = 4  # coefficients of agreement in a table, for which a terminal has room


def tournament_tables(result: Row, *, every: bool = False, details: bool = True) -> list[DisplayTable]:
    """Returns the ranking, the differences between systems, the matrix of wins, and further analyses.

    Args:
        result: Result of `fcconan rank`.
        every: Whether the differences of all pairs are shown, however many they are.
        details: Whether the matrix of wins and the disagreement of raters are shown.
    """
    ranking: Columns = {
        "system": "name",
        "points": lambda row: f"{row['points']:g}",
        "share %": lambda row: with_interval(row["share"], row["share_low"], row["share_high"], 2),
        "Bradley-Terry": lambda row: with_interval(row["bradley_terry"], row["low"], row["high"], 2),
        "wins": "wins",
        "losses": "losses",
        "ties": "ties",
    }
    tables = [
        make_table("Systems, strongest first", result["systems"], ranking),
        *difference_tables(result, every=every),
    ]
    if details:
        tables.append(_win_table(result))
    if details and (agreed := result.get("disagreement")) and agreed["n"]:
        columns: Columns = {"pairs of replies": "n", "unanimous": "unanimous", "majority": "majority"}
        columns |= {"unresolved": "unresolved", "of these three-way": "three_way"}
        tables.append(make_table("Pairs of replies that several raters judged", [agreed], columns))
    if between := result.get("between_raters"):
        columns = {"raters": lambda row: f"{row['a']} and {row['b']}", "score": "score", "coefficient": "coefficient"}
        columns |= {"value": value_text, "systems": "n"}
        tables.append(make_table("Agreement of the raters' tables", between, columns))
    return tables


def _win_table(result: Row) -> DisplayTable:
    matrix = result["win_matrix"]
    names = [row["name"] for row in result["systems"]]
    order = [matrix["systems"].index(name) for name in names]
    rows = [
        [name, *(MISSING if a == b else f"{matrix['wins'][a][b]} + {matrix['ties'][a][b]}" for b in order)]
        for name, a in zip(names, order, strict=True)
    ]
    return DisplayTable("Wins + ties of the row against the column", ["system", *names], rows)


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


def leaderboard_tables(result: Row, *, raters: Container[str] | None = None) -> list[DisplayTable]:
    """Returns the standings of systems: a table for people and every model, and one for all metrics.

    Systems are in the order of the first column of values. Counts that differ are in the order of the columns.

    Args:
        result: Result of `fcconan leaderboard`.
        raters: Only these raters; None for all.
    """
    rows: Rows = [row for row in result["rows"] if raters is None or row["rater"] in raters]
    judges = judging_raters(rows)
    scales = Counter(aspect for aspect, _ in {(row["aspect"], _scale(row)) for row in rows if row["rater"] in judges})
    # Grades on different scales are no better or worse for being higher or lower.
    differ = {aspect for aspect, number_of_scales in scales.items() if number_of_scales > 1}
    tables = [
        _standings(f"Mean ratings by {rater}", [row for row in rows if row["rater"] == rater], 2, differ)
        for rater in judges
    ]
    metrics = [
        {**row, "aspect": row["rater"] if row["aspect"] in WHOLE_REPLY else f"{row['rater']}: {row['aspect']}"}
        for row in rows
        if row["rater"] not in judges
    ]
    return [*tables, _standings("Mean values of metrics", metrics, 3)] if metrics else tables


def _scale(row: Row) -> str:
    return "no scale" if row["scale"] is None else "{:g} to {:g}".format(*row["scale"])


def _standings(title: str, rows: Rows, digits: int, with_scale: Container[str] = ()) -> DisplayTable:
    aspects = {row["aspect"]: row for row in rows}
    named = []
    for aspect, row in aspects.items():
        said = [_scale(row)] if aspect in with_scale else []
        said += [] if row["higher_is_better"] else ["low is better"]
        named.append(f"{aspect} ({'; '.join(said)})" if said else aspect)
    lines = []
    for system, own in group_values((row["system"], row) for row in rows).items():
        values = {row["aspect"]: with_interval(row["value"], row["low"], row["high"], digits) for row in own}
        counts = (same_or_all(own, key) for key in ("n", "n_missing"))
        lines.append([system, *(values[aspect] for aspect in aspects), *counts])
    return DisplayTable(title, ["system", *named, "replies", "missing"], lines)


def leaderboard_section(result: Row) -> Section:
    """Returns a leaderboard as a part of a page."""
    notes = [
        *result.get("notes", ()),
        "Intervals are bootstrap intervals over items. Missing ratings are left out and counted; counts that differ "
        "are in the order of the columns.",
    ]
    tables = [*leaderboard_tables(result), *difference_tables(result, every=True), *powered_tables(result, every=True)]
    return Section("Leaderboard", notes, tables)


def tournament_section(result: Row, title: str = "Tournament") -> Section:
    """Returns a tournament as a part of a page."""
    return Section(title, result["notes"], tournament_tables(result, every=True), more=heat_maps([win_map(result)]))


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


def strengths_plot(result: Row) -> "Markup | None":
    """Returns the Bradley-Terry strengths of a tournament as a plot; None if it has none."""
    dots = [Dot(row["name"], row["bradley_terry"], row["low"], row["high"]) for row in result["systems"]]
    confidence = f"{100 * result['settings']['confidence']:g}%"
    return forest_plot(f"Bradley-Terry strengths in log odds (mean 0), with {confidence} intervals over items", dots)


def correlation_section(result: Row, title: str = "Correlation with people") -> Section:
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
    return Section(title, notes, correlation_tables(result), more=heat_maps(maps))


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


def tournament_page(result: Row) -> Page:
    """Returns a tournament as a page.

    Args:
        result: Return value of `fcconan.scoring.tournament.ranking.rank_systems`.
    """
    verdicts, items = count_noun(result["n_verdicts"], "verdict"), count_noun(result["n_items"], "item")
    section = tournament_section(result, "Ranking")
    return Page(
        "Tournament",
        f"{count_noun(len(result['systems']), 'system')}, {verdicts} on {items}.",
        [beside_published(section, published_tournament(result), "share %")],
        signatures=_signatures(result),
        plot=strengths_plot(result),
    )


def correlation_page(result: Row) -> Page:
    """Returns correlations as a page: a leaderboard of judges, heat maps, and every table.

    Args:
        result: Result of `fcconan correlate`.
    """
    section = correlation_section(result, "Judges and metrics")
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


def leaderboard_page(result: Row) -> Page:
    """Returns a leaderboard as a page.

    Args:
        result: Result of `fcconan leaderboard`.
    """
    section, column = leaderboard_section(result), first_column(result["rows"])
    return Page(
        "Ratings of systems",
        "Mean ratings of systems, by people, judges and metrics.",
        [section],
        signatures=_signatures(result),
        plot=ratings_plot(column),
    )


def first_column(rows: Rows) -> Rows:
    """Returns the rows of the first rater and aspect, which the order of systems follows."""
    judges = judging_raters(rows) or [row["rater"] for row in rows[:1]]
    own = [row for row in rows if row["rater"] in judges[:1]]
    return [row for row in own if row["aspect"] == own[0]["aspect"]]


def ratings_plot(column: Rows) -> "Markup | None":
    """Returns the ratings of systems by one rater in one aspect as a plot; None if there is none."""
    if not column:
        return None
    first = column[0]
    dots = [Dot(row["system"], row["value"], row["low"], row["high"]) for row in column]
    origin = first["scale"][0] if first["scale"] else 0.0
    return forest_plot(f"{first['aspect']} by {first['rater']}, with intervals", dots, origin=origin)


def _signatures(result: Row) -> list[str]:
    return [result[key] for key in ("signature", "tests_signature") if key in result]
