"""Tables of a benchmark's result, as pages, the terminal, Markdown, LaTeX and CSV show them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fcconan.data import count_noun
from fcconan.reporting.benchmark_names import CHANCE, Result, label_notes, marked, metric_title, percent
from fcconan.reporting.label_tables import (
    COMPARISON_VALUES,
    comparison_columns,
    comparison_values,
    message_difference_table,
    shown_metric,
    side_by_side_table,
)
from fcconan.reporting.tables import (
    MISSING,
    Columns,
    DisplayTable,
    csv_text,
    format_interval,
    format_number,
    latex_lines,
    make_table,
    markdown,
    markdown_lines,
    p_text,
    with_interval,
)
from fcconan.retrieval import MESSAGE_AUC, interval_ends, leaderboard_rows, primary_chance_level, ranked_systems
from fcconan.scoring import EXPLORATORY, PRIMARY

DIGITS = 4


def summarised(result: Result) -> list[str]:
    """Returns the metrics that the summary averages."""
    return list(result["settings"].get("summarised", result["settings"]["metrics"]))


def summary_table(result: Result) -> DisplayTable:
    """The paper's Table 4 with intervals: metric-wise mean, minimum, maximum and variation over the partitions."""
    systems = {name: result["systems"][name] for name in ranked_systems(result)}
    digits = {"avg": 4, "min": 4, "max": 4, "cv": 2}
    with_ends = {key for one in systems.values() for key in one.get("summary_intervals", {})}

    def cells(values: Mapping[str, Any], ends: Mapping[str, Any]) -> list[str]:
        row = []
        for key, places in digits.items():
            row.append(format_number(values[key], places))
            if key in with_ends:
                low, high = ends.get(key) or (None, None)
                row.append(format_interval(low, high, places))
        return row

    columns = ["system"]
    for key in digits:
        columns.append("CV%" if key == "cv" else key)
        columns += [f"{percent(result)} interval"] if key in with_ends else []
    rows = [
        [marked(result, name), *cells(one["summary"], one.get("summary_intervals", {}))]
        for name, one in systems.items()
    ]
    rows.append([CHANCE, *cells(result["chance"]["summary"], {})])
    rows += [[f"{name} (failed)", *[MISSING] * (len(columns) - 1)] for name in sorted(result["failed"])]
    partitions = count_noun(len(result["partitions"]), "partition")
    return DisplayTable(f"{_heading(result)}: averages over {partitions} of {_metrics(result)}", columns, rows)


def _heading(result: Result) -> str:
    return f"{result['dataset']['title']}, protocol {result['protocol']}"


def _metrics(result: Result) -> str:
    return ", ".join(map(metric_title, summarised(result)))


def answer_tables(result: Result) -> list[DisplayTable]:
    """Returns the answer of a benchmark: the leaderboard; judged pairs and primary tests if it has any."""
    tables = [leaderboard_table(result), side_by_side_table(result, shown_metric(result)[1])]
    tables += [comparison_tables(result).get(PRIMARY)]
    return [table for table in tables if table is not None and table.rows]


def leaderboard_table(result: Result) -> DisplayTable:
    """Returns average and primary metric of each system, best average first."""
    primary = result["settings"]["primary"]
    rows = []
    for row in leaderboard_rows(result):
        failed = row["system"] in result["failed"]
        cells = [f"{row['system']} (failed)" if failed else marked(result, row["system"])]
        for key in ("average", primary):
            cells += [format_number(row[key], DIGITS), format_interval(row[f"{key}_low"], row[f"{key}_high"], DIGITS)]
        rows.append(cells)
    levels = (result["chance"]["summary"]["avg"], primary_chance_level(result))
    rows.append([CHANCE, format_number(levels[0], DIGITS), MISSING, format_number(levels[1], DIGITS), MISSING])
    title = (
        f"{_heading(result)}: average of {_metrics(result)} over {count_noun(len(result['partitions']), 'partition')}, "
        f"and primary metric {metric_title(primary)}"
    )
    ends = f"{percent(result)} interval"
    return DisplayTable(title, ["system", "average", ends, metric_title(primary), ends], rows)


def partition_table(result: Result, partition: str) -> DisplayTable:
    """Every metric of every system on one partition, with intervals and the share of judged CNs."""
    metrics = result["settings"]["metrics"]
    judged = f"judged@{result['settings']['k']}"
    rows = []
    for name in ranked_systems(result):
        system = result["systems"][name]
        values = system["partitions"][partition]
        cells = [with_interval(values[each], *interval_ends(system, partition, each), DIGITS) for each in metrics]
        name = marked(result, name, counts=False)
        rows.append([name, *cells, format_number(values[judged], 2), str(values["n_failed"])])
    levels = result["chance"]["partitions"][partition]
    rows.append([CHANCE, *(format_number(levels[metric], DIGITS) for metric in metrics), MISSING, MISSING])
    counts = result["partitions"][partition]
    title = (
        f"{partition}: {counts['n_positive']} appropriate of {counts['n_judged']} judged pairs, "
        f"{counts['n_queries']} HS, {counts['n_without_positive']} without an appropriate CN"
    )
    return DisplayTable(title, ["system", *map(metric_title, metrics), judged, "failed HS"], rows)


def bracket_table(result: Result, partition: str) -> DisplayTable | None:
    """The values with unjudged CNs taken as wrong, and with those among the first k taken as right."""
    systems = {name: result["systems"][name] for name in ranked_systems(result)}
    if not all("unjudged_right" in system for system in systems.values()):
        return None
    bounds = {
        name: (system["partitions"][partition], system["unjudged_right"][partition]) for name, system in systems.items()
    }
    metrics = [each for each in result["settings"]["metrics"] if all(each in right for _, right in bounds.values())]
    rows = [
        [
            marked(result, name, counts=False),
            *(f"{format_number(wrong[metric])} / {format_number(right[metric])}" for metric in metrics),
        ]
        for name, (wrong, right) in bounds.items()
    ]
    title = f"{partition}: unjudged CNs taken as wrong / as right"
    return DisplayTable(title, ["system", *map(metric_title, metrics)], rows)


def seed_table(result: Result) -> DisplayTable:
    """How far the results of systems that are averaged over seeds vary from seed to seed."""

    def cell(mean: float | None, deviation: float | None) -> str:
        return f"{format_number(mean, DIGITS)} ± {format_number(deviation, DIGITS)}"

    return _further_table(result, "Mean and standard deviation over seeds", "spread", cell)


def failure_table(result: Result) -> DisplayTable:
    """The results of systems that failed on some HS, with those HS counted as 0."""
    title = "Failed HS counted as 0"
    return _further_table(result, title, "failures_as_zero", lambda mean, with_zeros: format_number(with_zeros, DIGITS))


def _further_table(result: Result, title: str, key: str, cell: Callable[[Any, Any], str]) -> DisplayTable:
    """Returns the values that only some systems have, by partition.

    Args:
        result: The benchmark's result.
        title: Title of the table.
        key: Key of the values of a system.
        cell: Returns the cell of the mean of a metric and of that value.
    """
    metrics = result["settings"]["metrics"]
    rows = [
        [
            marked(result, name, counts=False),
            partition,
            *(cell(result["systems"][name]["partitions"][partition][each], own[each]) for each in metrics),
        ]
        for name in ranked_systems(result)
        for partition, own in result["systems"][name].get(key, {}).items()
    ]
    return DisplayTable(title, ["system", "partition", *map(metric_title, metrics)], rows)


def comparison_tables(result: Result, *, only: Sequence[str] = ()) -> dict[str, DisplayTable]:
    """Returns paired randomisation tests between systems: family to table, the primary family first.

    Args:
        result: The benchmark's result.
        only: Partitions whose exploratory tests are shown, on the metrics of the summary; by default all.
    """
    return {
        family["name"]: _family_table(result, family, only if family["name"] == EXPLORATORY else ())
        for family in result["families"]
    }


def _family_table(result: Result, family: Mapping[str, Any], only: Sequence[str]) -> DisplayTable:
    own = [row for row in result["comparisons"] if row["family"] == family["name"]]
    metrics = ("average", *summarised(result))
    rows = [row for row in own if not only or (row["partition"] in only and row["metric"] in metrics)]
    title = (
        f"{'Primary comparison' if family['name'] == PRIMARY else 'Exploratory comparisons'} ({family['tests']}): "
        f"paired randomisation tests, p corrected by max-T for {count_noun(family['n_tests'], 'test')}"
    )
    title += "" if family["floor"] is None else f", at least {family['floor']:.2g}"
    title += f"; {len(rows)} of {len(own)} are shown" if 0 < len(rows) < len(own) else ""
    columns: Columns = {
        "partition": "partition",
        "metric": lambda row: metric_title(row["metric"]),
        "a": "a",
        "b": "b",
        "a - b": lambda row: format_number(row["difference"], DIGITS),
        "interval": lambda row: format_interval(row["low"], row["high"], DIGITS),
        **comparison_columns(own, DIGITS),
        "p": lambda row: p_text(row["p"]),
        "p (max-T)": lambda row: p_text(row["p_corrected"]),
    }
    return make_table(title, rows, columns)


def agreement_table(result: Result) -> DisplayTable:
    """How far partitions agree on the order of systems."""
    columns: Columns = {
        "a": "a",
        "b": "b",
        "metric": lambda row: metric_title(row["metric"]),
        "tau": lambda row: format_number(row["tau"], 2),
        "interval": lambda row: format_interval(row["low"], row["high"], 2),
    }
    return make_table("Agreement of system orders (Kendall's tau-b)", result["order_agreement"], columns)


def sparsity_table(result: Result) -> DisplayTable | None:
    """The effect of removing positives on every metric of every system."""
    study = result.get("sparsity")
    if not study:
        return None
    rows = []
    for entry in study["fractions"]:
        head = [f"{entry['fraction']:g}", str(entry["positives"]), format_number(entry["queries_with_positive"], 1)]
        for metric, found in entry["metrics"].items():
            scores = [f"{format_number(one['mean'])} ± {format_number(one['sd'])}" for one in found["systems"].values()]
            tau = found["tau"]
            order = with_interval(tau["mean"], tau["low"], tau["high"], 2)
            rows.append([*head, metric_title(metric), *scores, format_number(found["chance"]), order])
    title = (
        f"Sparse labels: {study['partition']} with positives removed at random ({study['seeds']} seeds; HS without a "
        f"positive {study['without_positive']})"
    )
    systems = [marked(result, name, counts=False) for name in result["systems"]]
    return DisplayTable(title, ["kept", "positives", "HS with one", "metric", *systems, "chance", "order: tau"], rows)


def all_tables(result: Result, *, every_test: bool = True) -> list[DisplayTable]:
    """Returns every table of the result, in the order of the report.

    Args:
        result: The benchmark's result.
        every_test: Whether all exploratory comparisons are in it, or those on the last partition and the average.
    """
    partitions = list(result["partitions"])
    compared = comparison_tables(result, only=() if every_test else ("all", partitions[-1]))
    tables: list[DisplayTable | None] = [summary_table(result), compared.pop(PRIMARY, None)]
    tables += [
        message_difference_table(result),
        sparsity_table(result),
    ]
    for partition in partitions:
        tables += [partition_table(result, partition), side_by_side_table(result, partition)]
        tables.append(bracket_table(result, partition))
    tables += [failure_table(result), seed_table(result), *compared.values(), agreement_table(result)]
    return [table for table in tables if table is not None and table.rows]


def terminal_tables(result: Result) -> list[DisplayTable]:
    """Returns the tables of the report for a terminal, which shows the end of its output: the summary comes last."""
    summary, *others = all_tables(result, every_test=False)
    return [*others, summary]


def as_markdown(result: Result) -> str:
    """Returns every table in Markdown, with notes and signature."""
    parts = [f"# {markdown(result['dataset']['title'])}: retrieval, protocol {result['protocol']}\n"]
    parts += [f"- {markdown(note)}" for note in [*label_notes(result), *result["notes"]]]
    parts += [f"- {markdown(name)} {markdown(problem)}" for name, problem in sorted(result["problems"].items())]
    for table in all_tables(result, every_test=False):
        parts += ["", f"## {markdown(table.title)}", "", *markdown_lines(table)]
    return "\n".join([*parts, "", f"Signature: {markdown(result['signature'])}", ""])


def as_latex(result: Result) -> str:
    """Returns every table in LaTeX: for the packages booktabs and, where it runs over pages, longtable."""
    parts = ["% \\usepackage[T1]{fontenc}", "% \\usepackage{booktabs}", "% \\usepackage{longtable}"]
    parts.append("% " + " ".join(result["signature"].split()))
    for table in all_tables(result, every_test=False):
        parts += ["", *latex_lines(table)]
    return "\n".join([*parts, ""])


def comparisons_as_csv(result: Result) -> str:
    """Returns one row for each comparison of two systems, with plain numbers; missing values are empty."""
    columns = ("partition", "metric", "a", "b", "difference", "low", "high", "p", "p_corrected", "family")
    rows = result["comparisons"]
    if not comparison_columns(rows):
        return csv_text(columns, [[row[key] for key in columns] for row in rows])
    cells = [[*(row[key] for key in columns), *comparison_values(row)] for row in rows]
    for row in result.get("message_auc_differences", ()):
        there = {**row, "metric": MESSAGE_AUC, "low": None, "high": None}
        both = comparison_values({"two_way": (row["low"], row["high"])})
        cells.append([*(there.get(key) for key in columns), *both])
    return csv_text([*columns, *COMPARISON_VALUES], cells)
