"""Text metrics of replies as tables."""

from collections.abc import Mapping
from typing import Any

from fcconan.reporting.generators import metrics_table
from fcconan.reporting.tables import Table


def metrics_tables(result: Mapping[str, Any], *, details: bool = True) -> list[Table]:
    """Returns the values of all systems, and the numbers of texts without a value.

    Args:
        result: Result of `fcconan metrics`.
        details: Whether texts without a value, and texts that were cut, are counted by reason.
    """
    rows = result["rows"]
    replies = {row["system"]: str(row["n"]) for row in rows}
    values = metrics_table(rows)
    tables = [
        values._replace(
            columns=[*values.columns, "replies"], rows=[[*cells, replies[cells[0]]] for cells in values.rows]
        )
    ]
    counts = [
        [row["metric"], row["system"], reason, str(n)]
        for row in rows
        for reason, n in (
            *row["missing"].items(),
            ("not read to the end", row["n_truncated"]),
            ("empty references left out", row["n_empty_references"]),
        )
        if n and reason != "corpus_only"
    ]
    if details and counts:
        tables.append(Table("Texts without a value, and texts cut", ["metric", "system", "reason", "texts"], counts))
    return tables
