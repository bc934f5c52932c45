"""Agreement as tables, parts of pages, and pages."""

from fcconan.data import count_noun
from fcconan.reporting.forest_plots import Dot, forest_plot
from fcconan.reporting.heat_maps import agreement_maps, heat_maps
from fcconan.reporting.page import Page, Section
from fcconan.reporting.tables import (
    DisplayTable,
    Row,
    Rows,
    value_text,
)

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
            # One count if all are equal.
            counts = (
                " / ".join(dict.fromkeys(str(row[key]) for row in own.values()))
                for key in ("n", "n_items", "n_missing")
            )
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
