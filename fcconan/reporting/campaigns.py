"""Tables of what `fcconan annotate agree` found, for the terminal and for a page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.reporting.scores import agreement_tables
from fcconan.reporting.sections import Section, number, write_page
from fcconan.reporting.tables import Table, p_text

Row = Mapping[str, Any]
LEVELS = {
    "overall": "Agreement of all raters",
    "subset": "Agreement by subset: units that these raters and nobody else judged",
    "label": "Agreement on single labels, each against all others together",
    "pair": "Agreement of pairs of raters",
}


def quality_tables(result: Mapping[str, Any], *, units: int = 20) -> list[Table]:
    """Returns the tables.

    Args:
        result: What `fcconan annotate agree` writes.
        units: How many units with disagreement are listed.
    """
    tables = []
    for level, title in LEVELS.items():
        rows = [row for row in result["rows"] if row["level"] == level]
        if level == "pair" and len({*(name for row in rows for name in row["raters"])}) < 3:
            continue  # two raters are everybody
        tables += [Table(title, table.columns, table.rows) for table in agreement_tables(_named(rows, level))]
    if result["subsets"]:
        tables.append(_subsets(result["subsets"]))
    columns = ["unit", "aspect", "disagreement", "raters", "said"]
    disputed = [
        [row["unit_id"], row["aspect"], number(row["disagreement"]), str(row["n"]), _said(row["values"])]
        for row in result["units"][:units]
    ]
    if disputed:
        tables.append(
            Table(f"Units with most disagreement: {len(disputed)} of {len(result['units'])}", columns, disputed)
        )
    return [*tables, *check_tables(result["checks"], result.get("families", ()))]


def main_quality_tables(result: Mapping[str, Any], *, units: int = 20) -> list[Table]:
    """Returns the tables with the answer: the agreement of all raters, disputed units, and raters who are marked.

    Args:
        result: The JSON of `fcconan annotate agree`.
        units: How many units with disagreement are listed.
    """
    overall = [row for row in result["rows"] if row["level"] == "overall"]
    found = quality_tables({**result, "rows": overall, "subsets": []}, units=units)
    return found[:-1]  # the last one lists all checks


def check_tables(rows: Sequence[Row], families: Sequence[Row]) -> list[Table]:
    """Returns one table of everything that is flagged, and one of all checks that were possible.

    Args:
        rows: Rows of checks.
        families: Families of their p-values.
    """
    columns = ["rater", "check", "aspect", "statistic", "value", "n", "p", "p corrected", "note"]
    flagged = [_check(row) for row in rows if row["flagged"]]
    made = [_check(row) for row in rows if row["value"] is not None]
    tested = [
        f"{family['name']} {family['n_tests']} (smallest possible {family['floor']:.2g})"
        for family in families
        if family["n_tests"]
    ]
    how = f" (tests in each family, p corrected by holm: {', '.join(tested)})" if tested else ""
    return [
        Table("Raters to look at", columns, flagged or [["none", *[""] * (len(columns) - 1)]]),
        Table(f"All checks of raters{how}", columns, made),
    ]


def not_made(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Counts the checks that could not be made: check -> reason -> how many raters and aspects."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        if row["reason"] is not None:
            reasons = found.setdefault(row["check"], {})
            reasons[row["reason"]] = reasons.get(row["reason"], 0) + 1
    return found


def write_quality_page(path: Path, result: Mapping[str, Any], title: str) -> None:
    """Writes a page that stands alone, with all units on which raters disagree.

    Raises:
        InputError: It cannot be written.
    """
    tables = quality_tables(result, units=len(result["units"]))
    sections = [
        Section("Agreement", result["notes"], [table for table in tables if "greement" in table.title]),
        Section("Raters", ["Shown, not removed: what to make of it is for people to decide."], tables[-2:]),
    ]
    signatures = [*result["signature"], result["tests_signature"]]
    write_page(path, title, "How far raters agree, and how they went about it.", sections, signatures=signatures)


def _named(rows: Sequence[Row], level: str) -> list[dict[str, Any]]:
    """Rows so that each line names its raters, or its label."""
    return [
        {**row, "level": "overall" if level in ("overall", "label") else "pair"}
        | ({"aspect": row["label"]} if level == "label" else {})
        # A count of raters would make one line of all subsets of three.
        | ({"raters": [", ".join(row["raters"])]} if level == "subset" and len(row["raters"]) > 2 else {})
        for row in rows
    ]


def _subsets(rows: Sequence[Row]) -> Table:
    cells = []
    for row in rows:
        figures = [number(row["mean"]), number(row["deviation"]), str(row["n_subsets"]), str(row["n_undefined"])]
        cells.append([row["aspect"], row["coefficient"], *figures])
    columns = ["aspect", "coefficient", "mean", "standard deviation", "subsets", "undefined"]
    return Table("Agreement over subsets", columns, cells)


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{rater}: {value if isinstance(value, str) else format(value, 'g')}" for rater, value in values.items()
    )


def _check(row: Row) -> list[str]:
    figures = [number(row["value"]), str(row["n"]), p_text(row["p"]), p_text(row["p_corrected"])]
    return [row["rater"], row["check"], row["aspect"] or "", row["statistic"] or "", *figures, row["note"]]
