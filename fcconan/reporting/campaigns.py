"""Tables of the result of `fcconan annotate agree`, for the terminal and for a page."""

from typing import Any

from fcconan.reporting.page import Page, Section
from fcconan.reporting.scores import agreement_tables
from fcconan.reporting.tables import Columns, DisplayTable, Row, Rows, make_table

LEVELS = {
    "overall": "Agreement of all raters",
    "subset": "Agreement by subset: units that only these raters judged",
    "label": "Agreement on single labels, each against all others together",
    "pair": "Agreement of pairs of raters",
}


def quality_tables(result: Row, *, units: int | None = None) -> list[DisplayTable]:
    """Returns the tables.

    Args:
        result: Result of `fcconan annotate agree`.
        units: Number of units with disagreement that are listed; None for all.
    """
    tables = []
    for level, title in LEVELS.items():
        rows = [row for row in result["rows"] if row["level"] == level]
        if level == "pair" and len({name for row in rows for name in row["raters"]}) < 3:
            continue  # two raters are all raters
        tables += [table._replace(title=title) for table in agreement_tables(_named(rows, level))]
    if result["subsets"]:
        names = {"subsets": "n_subsets", "undefined": "n_undefined"}
        columns: Columns = {"aspect": "aspect", "coefficient": "coefficient", "mean": "mean"}
        columns |= {"standard deviation": "deviation", **names}
        tables.append(make_table("Agreement over subsets", result["subsets"], columns))
    if disputed := result["units"][:units]:
        title = f"Units with most disagreement: {len(disputed)} of {len(result['units'])}"
        columns = {"unit": "unit_id", "aspect": "aspect", "disagreement": "disagreement", "raters": "n"}
        columns["answers"] = _answers
        tables.append(make_table(title, disputed, columns))
    raters = result["raters"]
    if any(row["gold"] or row["timed"] for row in raters):
        tables.append(make_table("Gold questions and time", raters, list(raters[0])))
    return tables


def main_quality_tables(result: Row, *, units: int | None = None) -> list[DisplayTable]:
    """Returns the tables with the answer: the agreement of all raters, disputed units, gold questions and time.

    Args:
        result: The JSON of `fcconan annotate agree`.
        units: Number of units with disagreement that are listed; None for all.
    """
    overall = [row for row in result["rows"] if row["level"] == "overall"]
    return quality_tables({**result, "rows": overall, "subsets": []}, units=units)


def quality_page(result: Row) -> Page:
    """Returns the agreement of the raters of a campaign as a page, with all units on which they disagree."""
    return Page(
        "Agreement of raters",
        "Agreement of the raters, gold questions and time.",
        [Section("Agreement", result["notes"], quality_tables(result))],
        signatures=result["signature"],
    )


def _named(rows: Rows, level: str) -> list[dict[str, Any]]:
    """Returns rows so that each line names its raters, or its label."""
    named = []
    for row in rows:
        new = {**row, "level": "overall" if level in ("overall", "label") else "pair"}
        if level == "label":
            new["aspect"] = row["label"]
        if level == "subset" and len(row["raters"]) > 2:
            new["raters"] = [", ".join(row["raters"])]  # a count of raters would make one line of all subsets of three
        named.append(new)
    return named


def _answers(row: Row) -> str:
    values = row["values"].items()
    return ", ".join(f"{rater}: {value if isinstance(value, str) else format(value, 'g')}" for rater, value in values)
