"""Correlations and tournaments as tables and pages."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from fcconan.report.sections import Section, interval, number, write_page
from fcconan.report.tables import MISSING, Table
from fcconan.score.rating_rows import WHOLE
from fcconan.score.tournament_notes import counted

Rows = Sequence[Mapping[str, Any]]
# Coefficients of one kind share a table: accuracies know no constant groups, partial ones need larger groups.
KINDS = ("", "pairwise_accuracy", "_given_length")
WIDEST = 4  # coefficients of agreement in a table, for which a terminal has room
COUNTS = {
    "rows": "n",
    "groups": "n_groups",
    "constant": "n_constant",
    "too few": "n_rows_too_few",
    "missing": "n_missing",
}


def correlation_tables(result: Mapping[str, Any]) -> list[Table]:
    """Returns what `fcconan correlate` found: one table for every aspect and level, best first, then the rest."""
    tables = []
    rows: Rows = result["rows"]
    for aspect in dict.fromkeys(row["aspect"] for row in rows):
        for level in dict.fromkeys(row["level"] for row in rows):
            here = [row for row in rows if (row["aspect"], row["level"]) == (aspect, level)]
            kinds = [[row for row in here if _kind(row) == kind] for kind in KINDS]
            tables += [_correlations(aspect, level, own) for own in kinds if own]
    if ndcg := result.get("ndcg"):
        tables += [_ndcg(protocol, ndcg) for protocol in dict.fromkeys(row["protocol"] for row in ndcg)]
    if errors := result.get("errors"):
        tables.append(_errors(errors))
    if tests := result.get("tests"):
        tables.append(_tests(tests))
    if samples := result.get("stability"):
        columns = ["metric", "aspect", "coefficient", "mean", "standard deviation", "lowest", "highest", "samples"]
        cells = [
            [
                row["metric"],
                row["aspect"],
                row["coefficient"],
                *(number(row[key]) for key in ("mean", "standard_deviation", "lowest", "highest")),
                str(row["n_trials"]),
            ]
            for row in samples
        ]
        tables.append(Table("Over random samples of the replies", columns, cells))
    if missing := result.get("missing"):
        cells = [[row["rater"], row["aspect"], row["reason"], str(row["n"])] for row in missing]
        tables.append(Table("Ratings without a value", ["rater", "aspect", "reason", "ratings"], cells))
    return tables


def _kind(row: Mapping[str, Any]) -> str:
    name = str(row["coefficient"])
    return next((kind for kind in KINDS if kind and kind in name), KINDS[0])


def _correlations(aspect: str, level: str, rows: Rows) -> Table:
    names = list(dict.fromkeys(row["coefficient"] for row in rows))
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["metric"], {})[row["coefficient"]] = row
    order = next((name for name in names if name.startswith("spearman")), names[0])

    def place(metric: str) -> tuple[bool, float]:
        value = found[metric][order]["value"] if order in found[metric] else None
        return value is None, -(value or 0.0)

    columns, beside = ["metric"], []
    for name in names:
        columns.append(name)
        chances = {number(row["chance"]) for row in rows if row["coefficient"] == name}
        if len(chances) > 1:  # a metric's ties decide its accuracy by chance
            columns.append(f"chance of {name}")
        people = next(row["ceiling"] for row in rows if row["coefficient"] == name)
        chance = f"chance {chances.pop()}, " if len(chances) == 1 else ""
        beside.append(f"{name}: {chance}one person {number(people)}")
    cells = []
    for metric in sorted(found, key=place):
        own, line = found[metric], [metric]
        for name in names:
            line.append(_value(own[name]) if name in own else MISSING)
            if f"chance of {name}" in columns:
                line.append(number(own[name]["chance"]) if name in own else MISSING)
        cells.append([*line, *(_counts([*own.values()], key) for key in COUNTS.values())])
    return Table(f"{aspect}, {level} ({'; '.join(beside)})", [*columns, *COUNTS], cells)


def _value(row: Mapping[str, Any]) -> str:
    if row["value"] is None:
        return f"{MISSING} ({row['reason']})"
    return number(row["value"]) + ("" if row["low"] is None else " " + interval(row["low"], row["high"]))


def _ndcg(protocol: str, rows: Rows) -> Table:
    own = [row for row in rows if row["protocol"] == protocol]
    columns = ["metric", "NDCG", "chance", "one person", "items", "incomplete", "missing"]
    apart = any(row["n_groups"] != row["n_groups_common"] for row in own)
    if apart:  # judges that lack different items are compared on those that none of them lacks
        columns += ["NDCG, common items", "chance, common items", "common items"]
    by = "value_common" if any(row["value_common"] is not None for row in own) else "value"
    cells = [
        [
            row["metric"],
            _value(row),
            number(row["chance"]),
            number(row["ceiling"]),
            *(str(row[key]) for key in ("n_groups", "n_incomplete", "n_missing")),
            *(
                [number(row["value_common"]), number(row["chance_common"]), str(row["n_groups_common"])]
                if apart
                else []
            ),
        ]
        for row in sorted(own, key=lambda row: (row[by] is None, -(row[by] or 0.0)))
    ]
    return Table(f"Order of the replies to an item, protocol {protocol}", columns, cells)


def _errors(rows: Rows) -> Table:
    columns = ["metric", "aspect", "system", "mean absolute error", "chance", "one person", "bias", "rows", "missing"]
    cells = [
        [
            row["metric"],
            row["aspect"],
            row["system"] or "all",
            _with_ends(row, "mean_absolute_error"),
            number(row["chance"]),
            number(row["ceiling"]),
            _with_ends(row, "bias"),
            str(row["n"]),
            str(row["n_missing"]),
        ]
        for row in rows
    ]
    return Table("Errors against people", columns, cells)


def _with_ends(row: Mapping[str, Any], name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return number(row[name]) + ("" if low is None else " " + interval(low, high))


def _tests(rows: Rows) -> Table:
    columns = ["metrics", "aspect", "level", "coefficient", "difference", "p", "p (Holm)", "rows"]
    cells = [
        [
            f"{row['a']} - {row['b']}",
            row["aspect"],
            row["level"],
            row["coefficient"],
            number(row["difference"]) if row["reason"] is None else f"{MISSING} ({row['reason']})",
            _p(row["p"]),
            _p(row["p_corrected"]),
            str(row["n"]),
        ]
        for row in rows
    ]
    how = "Williams' test" if rows[0]["test"] == "williams" else "random swaps"
    return Table(f"Differences between metrics, by {how}", columns, cells)


def _p(value: float | None) -> str:
    return "< 0.0001" if value is not None and value < 0.0001 else number(value, 4)


def tournament_tables(result: Mapping[str, Any]) -> list[Table]:
    """Returns the ranking, the matrix of wins, and what else `fcconan rank` found."""
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
    tables = [Table("Systems, strongest first", columns, ranking)]
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
    tables.append(Table("Wins + ties of the row against the column", ["system", *names], cells))
    controlled = result.get("length_controlled")
    if controlled:
        columns = ["weight", "low", "high", f"scale in {controlled['unit']}", "comparisons", "without lengths"]
        weight = (
            number(controlled["weight"], 2) if controlled["reason"] is None else _value(controlled | {"value": None})
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
    if (agreed := result.get("disagreement")) and agreed["n"]:
        columns = ["pairs of replies", "unanimous", "majority", "unresolved", "of these three-way"]
        cells = [[str(agreed[key]) for key in ("n", "unanimous", "majority", "unresolved", "three_way")]]
        tables.append(Table("Pairs of replies that several raters judged", columns, cells))
    between = result.get("between_raters")
    if between:
        cells = [
            [f"{row['a']} and {row['b']}", row["score"], row["coefficient"], _value(row), str(row["n"])]
            for row in between
        ]
        columns = ["raters", "score", "coefficient", "value", "systems"]
        tables.append(Table("Agreement of the raters' tables", columns, cells))
    return tables


def agreement_tables(rows: Rows, *, pairs: bool = True) -> list[Table]:
    """Returns agreement, a table for every set of coefficients: a line for an aspect and its raters.

    Args:
        rows: What `fcconan.score.agreement.agreement` returned.
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
        counts = (_counts([*found.values()], key) for key in ("n", "n_items", "n_missing"))
        line = [aspect, who, *(_value(row) for row in found.values()), *counts]
        tables.setdefault(tuple(found), []).append(line)
    return [
        Table("Agreement of raters", ["aspect", "raters", *names, "rated", "items", "left out"], cells)
        for names, cells in tables.items()
    ]


def leaderboard_tables(result: Mapping[str, Any]) -> list[Table]:
    """Returns what `fcconan leaderboard` found: a table for people and every model, and one for all metrics.

    Systems stand in the order of the first column of values. Counts that differ stand in the order of the columns.
    """
    rows: Rows = result["rows"]
    shared = {row["aspect"] for row in rows if row["rater_kind"] != "metric"}
    # A metric that rates what people rate is read as a judge is.
    judges = dict.fromkeys(row["rater"] for row in rows if row["rater_kind"] != "metric" or row["aspect"] in shared)
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
        [system, *(found[each] for each in better), *(_counts(counts[system], key) for key in ("n", "n_missing"))]
        for system, found in cells.items()
    ]
    return Table(title, ["system", *named, "replies", "missing"], lines)


def _counts(rows: Rows, key: str) -> str:
    figures = [str(row[key]) for row in rows]
    return figures[0] if len(set(figures)) == 1 else " / ".join(figures)


def leaderboard_section(result: Mapping[str, Any], title: str = "Leaderboard") -> Section:
    """Returns a leaderboard as a part of a page."""
    notes = [
        *result.get("notes", ()),
        "Intervals are over items; missing ratings are left out and counted: once where all columns have as many, "
        "otherwise in the order of the columns.",
    ]
    return Section(title, notes, leaderboard_tables(result))


def tournament_section(result: Mapping[str, Any], title: str = "Tournament") -> Section:
    """Returns a tournament as a part of a page."""
    from fcconan.report.plots import strengths_plot

    plots = [strengths_plot(result)] if any(row["bradley_terry"] is not None for row in result["systems"]) else []
    return Section(title, result["notes"], tournament_tables(result), plots)


def correlation_section(result: Mapping[str, Any], title: str = "Correlation with people") -> Section:
    """Returns correlations as a part of a page."""
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
    return Section(title, notes, correlation_tables(result))


def write_tournament(path: Path, result: Mapping[str, Any]) -> None:
    """Writes a tournament as a page.

    Raises:
        InputError: It cannot be written.
    """
    verdicts, items = counted(result["n_verdicts"], "verdict"), counted(result["n_items"], "item")
    lead = f"{counted(len(result['systems']), 'system')}, {verdicts} on {items}."
    write_page(path, "Tournament", lead, [tournament_section(result)], signatures=[result["signature"]])


def write_correlations(path: Path, result: Mapping[str, Any]) -> None:
    """Writes correlations as a page.

    Raises:
        InputError: It cannot be written.
    """
    lead = "How well models and metrics follow people."
    signatures = [result[key] for key in ("signature", "tests_signature") if key in result]
    write_page(path, "Correlation with people", lead, [correlation_section(result)], signatures=signatures)


def write_agreement(path: Path, result: Mapping[str, Any], *, pairs: bool = True) -> None:
    """Writes agreement as a page.

    Args:
        path: The file.
        result: With `rows`, `notes`, and a `signature` for each aspect.
        pairs: Whether pairs of raters have lines, too.

    Raises:
        InputError: It cannot be written.
    """
    notes = [*result["notes"], "Intervals are over items. What fewer than two of the raters rated is left out."]
    section = Section("Agreement of raters", notes, agreement_tables(result["rows"], pairs=pairs))
    signatures = list(dict.fromkeys(result["signature"].values()))
    write_page(path, "Agreement", "How far raters agree.", [section], signatures=signatures)
