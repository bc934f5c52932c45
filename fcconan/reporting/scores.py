"""Correlations, agreement, ratings and tournaments as tables, parts of pages, and pages."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data import counted
from fcconan.reporting.correlations import (
    correlation_tables,
    counts_text,
    difference_tables,
    judging_raters,
    value_text,
)
from fcconan.reporting.findings import correlation_finding, ratings_finding, tournament_finding
from fcconan.reporting.forest_plots import Dot, dots_of
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, write
from fcconan.reporting.published_systems import (
    Published,
    published_correlations,
    published_tournament,
    with_published,
    with_published_dots,
)
from fcconan.reporting.sections import Section, interval, number, sections_page
from fcconan.reporting.tables import MISSING, Table
from fcconan.scoring import WHOLE

if TYPE_CHECKING:
    from markupsafe import Markup

Rows = Sequence[Mapping[str, Any]]
WIDEST = 4  # coefficients of agreement in a table, for which a terminal has room


def tournament_tables(result: Mapping[str, Any], *, every: bool = False, details: bool = True) -> list[Table]:
    """Returns the ranking, the differences between systems, the matrix of wins, and what else `fcconan rank` found.

    Args:
        result: Result of `fcconan rank`.
        every: Whether the differences of all pairs are shown, however many they are.
        details: Whether the matrix of wins and the disagreement of raters are shown.
    """
    ranking = [
        [
            row["name"],
            f"{row['points']:g}",
            number(row["share"], 2),
            interval(row["share_low"], row["share_high"], 2),
            number(row["bradley_terry"], 2),
            interval(row["low"], row["high"], 2),
            str(row["wins"]),
            str(row["losses"]),
            str(row["ties"]),
        ]
        for row in result["systems"]
    ]
    columns = ["system", "points", "share %", "interval", "Bradley-Terry", "interval ", "wins", "losses", "ties"]
    tables = [Table("Systems, strongest first", columns, ranking), *difference_tables(result, every=every)]
    matrix = result["win_matrix"]
    order = [matrix["systems"].index(row["name"]) for row in result["systems"]]
    names = [matrix["systems"][place] for place in order]
    cells = [
        [
            matrix["systems"][a],
            *(MISSING if a == b else f"{matrix['wins'][a][b]} + {matrix['ties'][a][b]}" for b in order),
        ]
        for a in order
    ]
    if details:
        tables.append(Table("Wins + ties of the row against the column", ["system", *names], cells))
    controlled = result.get("length_controlled")
    if controlled:
        columns = ["weight", "low", "high", f"scale in {controlled['unit']}", "comparisons", "without lengths"]
        weight = (
            number(controlled["weight"], 2)
            if controlled["reason"] is None
            else value_text(controlled | {"value": None})
        )
        cells = [[weight, *(number(controlled.get(name), 2) for name in ("weight_low", "weight_high", "scale"))]]
        cells[0] += [str(controlled["n"]), str(controlled["n_without_length"])]
        tables.append(Table("What the length of replies adds to the log odds", columns, cells))
        cells = [
            [row["name"], number(row["bradley_terry"], 2), interval(row["low"], row["high"], 2)]
            for row in controlled["systems"]
        ]
        if cells:
            tables.append(Table("At equal length of replies", ["system", "Bradley-Terry", "interval"], cells))
    if details and (agreed := result.get("disagreement")) and agreed["n"]:
        columns = ["pairs of replies", "unanimous", "majority", "unresolved", "of these three-way"]
        cells = [[str(agreed[key]) for key in ("n", "unanimous", "majority", "unresolved", "three_way")]]
        tables.append(Table("Pairs of replies that several raters judged", columns, cells))
    between = result.get("between_raters")
    if between:
        cells = [
            [f"{row['a']} and {row['b']}", row["score"], row["coefficient"], value_text(row), str(row["n"])]
            for row in between
        ]
        columns = ["raters", "score", "coefficient", "value", "systems"]
        tables.append(Table("Agreement of the raters' tables", columns, cells))
    return tables


def agreement_tables(rows: Rows, *, pairs: bool = True) -> list[Table]:
    """Returns agreement, a table for every set of coefficients: a line for an aspect and its raters.

    Args:
        rows: What `fcconan.scoring.agreement.measure_agreement` returned.
        pairs: Whether pairs of raters have lines, too.
    """
    names = list(dict.fromkeys(row["coefficient"] for row in rows))
    found = []
    for start in range(0, len(names), WIDEST):
        some = names[start : start + WIDEST]
        found += _agreement([row for row in rows if row["coefficient"] in some], pairs)
    return found


def _agreement(rows: Rows, pairs: bool) -> list[Table]:
    lines: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        if row["level"] == "overall" or pairs:
            # One rater has a name, and two are the same line as their pair.
            who = counted(len(row["raters"]), "rater") if len(row["raters"]) > 2 else " and ".join(row["raters"])
            lines.setdefault((row["aspect"] or "all", who), {})[row["coefficient"]] = row
    tables: dict[tuple[str, ...], list[list[str]]] = {}
    for (aspect, who), found in lines.items():
        counts = (counts_text([*found.values()], key) for key in ("n", "n_items", "n_missing"))
        line = [aspect, who, *(value_text(row) for row in found.values()), *counts]
        tables.setdefault(tuple(found), []).append(line)
    return [
        Table("Agreement of raters", ["aspect", "raters", *names, "rated", "items", "left out"], cells)
        for names, cells in tables.items()
    ]


def leaderboard_tables(result: Mapping[str, Any], *, raters: Container[str] | None = None) -> list[Table]:
    """Returns the standings of systems: a table for people and every model, and one for all metrics.

    Systems are in the order of the first column of values. Counts that differ are in the order of the columns.

    Args:
        result: Result of `fcconan leaderboard`.
        raters: Only these raters; None for all.
    """
    rows: Rows = [row for row in result["rows"] if raters is None or row["rater"] in raters]
    judges = judging_raters(rows)
    scales: dict[str, set[object]] = {}
    for row in rows:
        if row["rater"] in judges:
            scales.setdefault(row["aspect"], set()).add(_scale(row))
    # Grades on different scales are no better or worse for being higher or lower.
    differ = {aspect for aspect, found in scales.items() if len(found) > 1}
    tables = [
        _standings(f"Mean ratings by {rater}", [row for row in rows if row["rater"] == rater], 2, differ)
        for rater in judges
    ]
    metrics = [
        {**row, "aspect": row["rater"] if row["aspect"] in WHOLE else f"{row['rater']}: {row['aspect']}"}
        for row in rows
        if row["rater"] not in judges
    ]
    return [*tables, _standings("Mean values of metrics", metrics, 3)] if metrics else tables


def _scale(row: Mapping[str, Any]) -> str:
    return "no scale" if row["scale"] is None else "{:g} to {:g}".format(*row["scale"])


def _standings(title: str, rows: Rows, digits: int, with_scale: Container[str] = ()) -> Table:
    cells: dict[str, dict[str, str]] = {}
    counts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        shown = number(row["value"], digits)
        if row["low"] is not None:
            shown += " " + interval(row["low"], row["high"], digits)
        cells.setdefault(row["system"], {})[row["aspect"]] = shown
        counts.setdefault(row["system"], []).append(row)
    better = {row["aspect"]: row for row in rows}
    named = []
    for aspect, row in better.items():
        said = [_scale(row)] if aspect in with_scale else []
        said += [] if row["higher_is_better"] else ["low is better"]
        named.append(f"{aspect} ({'; '.join(said)})" if said else aspect)
    lines = [
        [system, *(found[each] for each in better), *(counts_text(counts[system], key) for key in ("n", "n_missing"))]
        for system, found in cells.items()
    ]
    return Table(title, ["system", *named, "replies", "missing"], lines)


def leaderboard_section(result: Mapping[str, Any]) -> Section:
    """Returns a leaderboard as a part of a page."""
    notes = [
        *result.get("notes", ()),
        "Intervals are over items; missing ratings are left out and counted: once where all columns have as many, "
        "otherwise in the order of the columns.",
    ]
    return Section("Leaderboard", notes, [*leaderboard_tables(result), *difference_tables(result, every=True)])


def tournament_section(result: Mapping[str, Any], title: str = "Tournament") -> Section:
    """Returns a tournament as a part of a page."""
    from fcconan.reporting.heat_maps import heat_maps, win_map

    return Section(title, result["notes"], tournament_tables(result, every=True), more=heat_maps([win_map(result)]))


def beside_published(section: Section, published: Published | None, column: str) -> Section:
    """Returns a section whose first table has published rows in grey, and whose notes begin with their source.

    Args:
        section: The section.
        published: What is added; None adds nothing.
        column: The column that orders the rows.
    """
    if published is None:
        return section
    first, *others = section.own_tables()
    tables: list[Table | View] = [with_published(first, published, column), *others]
    return replace(section, tables=tables, notes=[published.source, *section.notes])


def strengths_plot(result: Mapping[str, Any]) -> "Markup | None":
    """Returns the Bradley-Terry strengths of a tournament as a plot; None where there is none."""
    dots = [Dot(row["name"], row["bradley_terry"], row["low"], row["high"]) for row in result["systems"]]
    confidence = f"{100 * result['settings']['confidence']:g}%"
    return dots_of(f"Bradley-Terry strengths in log odds (mean 0), with {confidence} intervals over items", dots)


def correlation_section(result: Mapping[str, Any], title: str = "Correlation with people") -> Section:
    """Returns correlations as a part of a page."""
    from fcconan.reporting.heat_maps import correlation_maps, heat_maps

    notes = [
        *result.get("notes", ()),
        "pooled: over all replies. per_item: the mean over items of the coefficient among the replies to one. "
        "per_system: the same among the replies of one system. system_means: between the means of systems.",
        "Chance is the value to expect of ratings dealt out at random, one person that of one annotator against the "
        "mean of the others: a judge above it follows the mean better than a person does.",
        "Intervals are over items, each with all its systems. A group in which people or the metric are constant has "
        "no coefficient and is counted; a rating without a value is missing, never a number. Rows in a group of fewer "
        "than two (given length: four) are too few. Counts that differ stand in the order of the coefficients.",
    ]
    if result["rows"]:
        notes.append(
            "The first table stands by the mean over aspects with the signs as they are: a metric of quality falls "
            "where people see a fault. A mean is over all aspects or is missing."
        )
    maps = correlation_maps(result["rows"])
    return Section(title, notes, correlation_tables(result), more=heat_maps(maps) if maps else None)


def agreement_section(result: Mapping[str, Any]) -> Section:
    """Returns agreement as a part of a page.

    Args:
        result: With `rows` and `notes`.
    """
    from fcconan.reporting.heat_maps import agreement_maps, heat_maps

    notes = [*result["notes"], "Intervals are over items. What fewer than two of the raters rated is left out."]
    maps = agreement_maps(result["rows"])
    # Two raters are one cell, which the table holds.
    several = maps if any(len(row["raters"]) > 2 for row in result["rows"]) else []
    found = agreement_tables(result["rows"])
    # Tables are told apart by what stands between the raters and the three counts.
    several_tables = len(found) > 1
    tables = [
        table._replace(title=f"{table.title}: {', '.join(table.columns[2:-3])}") if several_tables else table
        for table in found
    ]
    return Section("Agreement of raters", notes, tables, more=heat_maps(several) if several else None)


def tournament_page(result: Mapping[str, Any]) -> Page:
    """Returns a tournament as a page.

    Args:
        result: What `fcconan.scoring.tournament.ranking.rank_systems` returned.
    """
    verdicts, items = counted(result["n_verdicts"], "verdict"), counted(result["n_items"], "item")
    lead = f"{counted(len(result['systems']), 'system')}, {verdicts} on {items}."
    section = tournament_section(result, "Ranking")
    return sections_page(
        "tournament",
        "Tournament",
        lead,
        [beside_published(section, published_tournament(result), "share %")],
        signatures=_signatures(result),
        headline=section.own_tables()[0],
        downloads=section.own_tables(),
        finding=tournament_finding(result),
        plot=strengths_plot(result),
    )


def correlation_page(result: Mapping[str, Any]) -> Page:
    """Returns correlations as a page: a leaderboard of judges, heat maps, and every table.

    Args:
        result: What `fcconan correlate` found.
    """
    section = correlation_section(result, "Judges and metrics")
    first = section.own_tables()[0] if result["rows"] else None
    board = [] if first is None else first.rows
    published = None if first is None else published_correlations(result, first)
    named = [Dot(row[0], None if row[1] == MISSING else float(row[1])) for row in board if not row[0].startswith("(")]
    return sections_page(
        "judges",
        "Correlation with people",
        "How well models and metrics follow people.",
        [beside_published(section, published, "mean")],
        signatures=_signatures(result),
        headline=next(iter(section.own_tables()), None),
        downloads=section.own_tables(),
        finding=correlation_finding(result, board),
        plot=dots_of("Mean correlation with people, over aspects", with_published_dots(named, published, "mean")),
    )


def agreement_page(result: Mapping[str, Any]) -> Page:
    """Returns agreement as a page.

    Args:
        result: With `rows`, `notes`, and a `signature` for each aspect.
    """
    section = agreement_section(result)
    overall = agreement_tables(result["rows"], pairs=False)
    return sections_page(
        "agreement",
        "Agreement",
        "How far raters agree.",
        [section],
        signatures=list(dict.fromkeys(result["signature"].values())),
        headline=overall[0] if overall else None,
        plot=agreement_plot(result["rows"]),
    )


def agreement_plot(rows: Rows) -> "Markup | None":
    """Returns the agreement of all raters, by aspect, as a plot of the first coefficient; None where there is none."""
    own = [row for row in rows if row["level"] == "overall" and row["coefficient"] == rows[0]["coefficient"]]
    dots = [Dot(row["aspect"] or "all", row["value"], row["low"], row["high"]) for row in own]
    return dots_of(f"Agreement of all raters: {rows[0]['coefficient']}", dots) if dots else None


def leaderboard_page(result: Mapping[str, Any]) -> Page:
    """Returns a leaderboard as a page.

    Args:
        result: What `fcconan leaderboard` found.
    """
    section, column = leaderboard_section(result), first_column(result["rows"])
    return sections_page(
        "leaderboard",
        "Ratings of systems",
        "Mean ratings of systems, by people, judges and metrics.",
        [section],
        signatures=_signatures(result),
        headline=next(iter(section.own_tables()), None),
        finding=ratings_finding(result, column),
        plot=ratings_plot(column),
    )


def first_column(rows: Rows) -> Rows:
    """Returns the rows of the first rater and aspect, which the order of systems follows."""
    judges = judging_raters(rows) or [row["rater"] for row in rows[:1]]
    own = [row for row in rows if row["rater"] in judges[:1]]
    return [row for row in own if row["aspect"] == own[0]["aspect"]]


def ratings_plot(column: Rows) -> "Markup | None":
    """Returns the ratings of systems by one rater in one aspect as a plot; None where there is none."""
    dots = [Dot(row["system"], row["value"], row["low"], row["high"]) for row in column]
    return dots_of(f"{column[0]['aspect']} by {column[0]['rater']}, with intervals", dots) if dots else None


def _signatures(result: Mapping[str, Any]) -> list[str]:
    return [result[key] for key in ("signature", "tests_signature") if key in result]


def write_tournament(path: Path, result: Mapping[str, Any]) -> None:
    """Writes a tournament as a page.

    Raises:
        InputError: It cannot be written.
    """
    write(path, tournament_page(result))


def write_correlations(path: Path, result: Mapping[str, Any]) -> None:
    """Writes correlations as a page.

    Raises:
        InputError: It cannot be written.
    """
    write(path, correlation_page(result))


def write_agreement(path: Path, result: Mapping[str, Any]) -> None:
    """Writes agreement as a page.

    Args:
        path: The file.
        result: With `rows`, `notes`, and a `signature` for each aspect.

    Raises:
        InputError: It cannot be written.
    """
    write(path, agreement_page(result))
