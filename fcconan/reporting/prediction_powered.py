"""Means and differences of systems by prediction-powered inference, as tables."""

from fcconan.reporting.tables import MISSING, Columns, DisplayTable, Row, format_number, make_table, with_interval


def powered_tables(result: Row, *, every: bool = False) -> list[DisplayTable]:
    """Returns estimates with a judge's ratings next to those from people alone; no tables without such estimates.

    Args:
        result: Result of `fcconan leaderboard`.
        every: Whether all aspects are shown, and not only the first one.
    """
    powered = result.get("prediction_powered")
    if powered is None:
        return []
    rows = powered["rows"]
    aspects = list(dict.fromkeys(row["aspect"] for row in rows))[: None if every else 1]
    with_judge = f"with {powered['predicted_by']}"
    values: Columns = {
        "people alone": _alone,
        with_judge: lambda row: with_interval(row["value"], row["low"], row["high"], 2),
        "lambda": lambda row: format_number(row["power"], 2),
        "rated": lambda row: _count(row["n"]),
        "of": lambda row: _count(row["n_all"]),
        "worth ratings": lambda row: format_number(row["n_effective"], 0),
    }
    plan: Columns = {}
    if powered["separate"] is not None:
        needed = f"ratings for {powered['separate']:g}"
        plan = {
            f"{needed}, people": lambda row: _count(row["needed_people"]),
            f"{needed}, {with_judge}": lambda row: _count(row["needed_with_judge"]),
        }
    tables = []
    for aspect in aspects:
        own = [row for row in rows if row["aspect"] == aspect]
        means, differences = [row for row in own if row["b"] is None], [row for row in own if row["b"] is not None]
        about = aspect if own[0]["higher_is_better"] else f"{aspect} (low is better)"
        tables.append(make_table(f"People's mean ratings, {with_judge}: {about}", means, {"system": "a", **values}))
        if differences:
            title = f"Differences in people's ratings, {with_judge}: {about}"
            tables.append(make_table(title, differences, {"a": "a", "b": "b", **values, **plan}))
    return tables


def _alone(row: Row) -> str:
    if row["people"] is None:
        return f"{MISSING} ({row['reason']})"
    return with_interval(row["people"], row["people_low"], row["people_high"], 2)


def _count(value: int | None) -> str:
    return MISSING if value is None else str(value)
