"""The reproduction table: published values next to recomputed ones, and their counts."""

from collections import Counter

from fcconan.reporting.tables import Columns, DisplayTable, Rows, make_table
from fcconan.reproduction import FROM_PRINT, STATUSES

VALUES: Columns = {
    "value": lambda row: f"{row['row']}, {row['column']}",
    "paper": "paper",
    "table": "table",
    "published": "published",
    "recomputed": lambda row: None if row["recomputed"] is None else f"{row['recomputed']:.6g}",
    "status": "status",
    "note": lambda row: row["note"] or None,
}


def reproduction_tables(rows: Rows) -> list[DisplayTable]:
    """Returns the number of values of each status by paper and by table, and every value.

    Args:
        rows: Rows of `fcconan reproduce`.
    """
    papers: dict[str, Counter[str]] = {}
    tables: dict[str, Counter[str]] = {}
    for row in rows:
        counted = [row["status"], "all"]
        if row["status"] == "exact" and row["note"].startswith(FROM_PRINT):
            counted.append("exact, from print")
        papers.setdefault(row["paper"], Counter()).update(counted)
        tables.setdefault(f"{row['paper']}, {row['table']}", Counter()).update(counted)
    if len(papers) > 1:
        papers["all papers"] = sum(papers.values(), Counter())
    names = [*STATUSES, "all", "exact, from print"]
    counts = [
        DisplayTable(title, [key, *names], [[name, *(str(own[each]) for each in names)] for name, own in found.items()])
        for title, key, found in (("Values by status", "paper", papers), ("By table", "table", tables))
    ]
    return [*counts, make_table("Every value", rows, VALUES)]
