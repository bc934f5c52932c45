"""Text metrics of replies as tables."""

from fcconan.reporting.tables import MISSING, DisplayTable, Row, Rows, format_number, make_table


def metrics_table(rows: Rows) -> DisplayTable:
    """Returns the values of each system in a result of `fcconan metrics`."""
    values: dict[str, dict[str, Row]] = {}
    for row in rows:
        name = row["metric"] + (" (low is better)" if row["higher_is_better"] is False else "")
        values.setdefault(row["system"], {})[name] = row
    names = list(dict.fromkeys(name for own in values.values() for name in own))
    cells = [[system, *(_value(own.get(name)) for name in names)] for system, own in values.items()]
    return DisplayTable("Metrics: values of all replies of a system", ["system", *names], cells)


def _value(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return MISSING if row is None else f"{MISSING} ({row['reason']})"
    left_out = sum(n for reason, n in row["missing"].items() if reason != "corpus_only")
    return format_number(row["value"], 4) + (f" (without {left_out})" if left_out else "")


def metrics_tables(result: Row, *, details: bool = True) -> list[DisplayTable]:
    """Returns the values of all systems, and the numbers of texts without a value.

    Args:
        result: Result of `fcconan metrics`.
        details: Whether texts without a value, and texts that were cut, are counted by reason.
    """
    rows = result["rows"]
    replies = {row["system"]: str(row["n"]) for row in rows}
    values = metrics_table(rows)
    values = values._replace(
        columns=[*values.columns, "replies"], rows=[[*cells, replies[cells[0]]] for cells in values.rows]
    )
    counts = []
    for row in rows:
        further = {"not read to the end": row["n_truncated"], "empty references left out": row["n_empty_references"]}
        for reason, n in {**row["missing"], **further}.items():
            if n and reason != "corpus_only":
                counts.append({**row, "reason": reason, "texts": n})
    columns = ("metric", "system", "reason", "texts")
    further_table = make_table("Texts without a value, and texts cut", counts, columns)
    return [values, further_table] if details and counts else [values]
