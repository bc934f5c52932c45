"""Tables of the result of `fcconan annotate agree`, for the terminal and for a page."""

from collections import Counter
from typing import Any

from fcconan.reporting.page import Page, Section
from fcconan.reporting.scores import agreement_tables
from fcconan.reporting.tables import Columns, DisplayTable, Row, Rows, make_table, p_text

LEVELS = {
    "overall": "Agreement of all raters",
    "subset": "Agreement by subset: units that only these raters judged",
    "label": "Agreement on single labels, each against all others together",
    "pair": "Agreement of pairs of raters",
}


CHECKS: Columns = {
    "rater": "rater",
    "check": "check",
    "aspect": lambda row: row["aspect"] or "",
    "statistic": lambda row: row["statistic"] or "",
    "value": "value",
    "n": "n",
    "p": lambda row: p_text(row["p"]),
    "p corrected": lambda row: p_text(row["p_corrected"]),
    "note": "note",
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
    return [*tables, *check_tables(result["checks"], result.get("families", ()))]


def main_quality_tables(result: Row, *, units: int | None = None) -> list[DisplayTable]:
    """Returns the tables with the answer: the agreement of all raters, disputed units, and raters who are marked.

    Args:
        result: The JSON of `fcconan annotate agree`.
        units: Number of units with disagreement that are listed; None for all.
    """
    overall = [row for row in result["rows"] if row["level"] == "overall"]
    found = quality_tables({**result, "rows": overall, "subsets": []}, units=units)
    return found[:-1]  # the last one lists all checks


def check_tables(rows: Rows, families: Rows) -> list[DisplayTable]:
    """Returns one table of all checks that are flagged, and one of all checks that were possible.

    Args:
        rows: Rows of checks.
        families: Families of their p-values.
    """
    flagged = make_table("Raters to review", [row for row in rows if row["flagged"]], CHECKS)
    if not flagged.rows:
        flagged = flagged._replace(rows=[["none", *[""] * (len(CHECKS) - 1)]])
    tested = [
        f"{family['name']} {family['n_tests']} (smallest possible {family['floor']:.2g})"
        for family in families
        if family["n_tests"]
    ]
    how = f" (tests in each family, p corrected by holm: {', '.join(tested)})" if tested else ""
    return [
        flagged,
        make_table(f"All checks of raters{how}", [row for row in rows if row["value"] is not None], CHECKS),
    ]


def count_skipped_checks(rows: Rows) -> dict[str, Counter[str]]:
    """Counts the checks that could not be made: check -> reason -> how many raters and aspects."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        if row["reason"] is not None:
            found.setdefault(row["check"], Counter())[row["reason"]] += 1
    return found


def quality_page(result: Row) -> Page:
    """Returns the agreement of the raters of a campaign as a page, with all units on which they disagree."""
    tables = quality_tables(result)
    return Page(
        f"Agreement in {result['tests_signature'].partition(':')[0]}",
        "Agreement of the raters, and checks of each rater.",
        [
            Section("Agreement", result["notes"], [table for table in tables if "greement" in table.title]),
            Section("Raters", ["Marked raters are not removed: review their answers and decide."], tables[-2:]),
        ],
        signatures=[*result["signature"], result["tests_signature"]],
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
