"""Tables of a benchmark's result: for the terminal, Markdown, LaTeX and CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from fcconan.reporting.tables import (
    MISSING,
    Table,
    _cell,
    interval,
    latex_lines,
    markdown_lines,
    number,
    p_text,
)
from fcconan.retrieval import ends_of, leaderboard_rows, primary_by_chance, ranked_systems
from fcconan.scoring import EXPLORATORY, PRIMARY

TITLES = {
    "hit_rate": "Hit ratio",
    "mrr": "MRR",
    "ndcg": "NDCG",
    "map": "MAP",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "accuracy": "Accuracy",
    "average": "average",
}


SIGNIFICANT = 0.05


ORDERED = 4  # fewer systems have too few orders for an agreement to mean much


def metric_title(metric: str) -> str:
    """Returns the name of a metric for people: `hit_rate@10` is `Hit ratio@10`."""
    name, at, cutoff = metric.partition("@")
    return TITLES.get(name, name) + at + cutoff


def percent(result: Mapping[str, Any]) -> str:
    """Returns the confidence of the intervals for people, such as `95%`."""
    return f"{100 * result['settings']['confidence']:g}%"


def summarised(result: Mapping[str, Any]) -> list[str]:
    """Returns the metrics that the summary averages."""
    return list(result["settings"].get("summarised", result["settings"]["metrics"]))


def summary_table(result: Mapping[str, Any], *, intervals: Sequence[str] = ("avg", "min", "max", "cv")) -> Table:
    """The paper's Table 4 with intervals: metric-wise mean, minimum, maximum and variation over the partitions.

    Args:
        result: The benchmark's result.
        intervals: The columns to give an interval beside, if there is one; a terminal has no room for all four.
    """
    systems = {name: result["systems"][name] for name in ranked_systems(result)}
    with_interval = [
        key for key in intervals if any(key in one.get("summary_intervals", {}) for one in systems.values())
    ]
    digits = {"avg": 4, "min": 4, "max": 4, "cv": 2}

    def cells(figures: Mapping[str, Any], ends: Mapping[str, Any]) -> list[str]:
        row = []
        for key, places in digits.items():
            row.append(number(figures[key], places))
            row += [interval(ends.get(key), places)] if key in with_interval else []
        return row

    columns = ["system"]
    for key in digits:
        title = "CV%" if key == "cv" else key
        columns += [title, f"{percent(result)} interval"] if key in with_interval else [title]
    rows = [
        [marked(result, name), *cells(one["summary"], one.get("summary_intervals", {}))]
        for name, one in systems.items()
    ]
    rows.append(["(chance)", *cells(result["chance"]["summary"], {})])
    rows += [[f"{name} (failed)", *[MISSING] * (len(columns) - 1)] for name in sorted(result["failed"])]
    metrics = ", ".join(map(metric_title, summarised(result)))
    n_partitions = len(result["partitions"])
    title = f"{result['dataset']['title']}, protocol {result['protocol']}: averages over {n_partitions} "
    return Table(f"{title}{'partition' if n_partitions == 1 else 'partitions'} of {metrics}", columns, rows)


def answer_tables(result: Mapping[str, Any]) -> list[Table]:
    """Returns the answer of a benchmark: the leaderboard, and the primary comparison if there is one."""
    primary = comparison_tables(result).get(PRIMARY)
    return [leaderboard_table(result), *([primary] if primary is not None and primary.rows else [])]


def leaderboard_table(result: Mapping[str, Any]) -> Table:
    """Returns average and primary metric of each system, best average first."""
    primary = result["settings"]["primary"]
    rows = [
        [
            f"{row['system']} (failed)" if row["system"] in result["failed"] else marked(result, row["system"]),
            *(
                cell
                for key in ("average", primary)
                for cell in (number(row[key]), interval([row[f"{key}_low"], row[f"{key}_high"]]))
            ),
        ]
        for row in leaderboard_rows(result)
    ]
    rows.append(
        ["(chance)", number(result["chance"]["summary"]["avg"]), MISSING, number(primary_by_chance(result)), MISSING]
    )
    metrics, n = ", ".join(map(metric_title, summarised(result))), len(result["partitions"])
    title = (
        f"{result['dataset']['title']}, protocol {result['protocol']}: average of {metrics} over {n} "
        f"partition{'s' * (n != 1)}, and primary metric {metric_title(primary)}"
    )
    ends = f"{percent(result)} interval"
    return Table(title, ["system", "average", ends, metric_title(primary), ends], rows)


def marked(result: Mapping[str, Any], name: str) -> str:
    """Returns a system's name, with how many HS its figures are of if it failed on some."""
    n_queries = result["dataset"]["n_queries"]
    n_failed = len(result["systems"][name].get("failures") or {})
    return f"{name} ({n_queries - n_failed} of {n_queries} HS)" if n_failed else name


def partition_table(result: Mapping[str, Any], partition: str) -> Table:
    """Every metric of every system on one partition, with intervals and the share of judged CNs."""
    metrics = result["settings"]["metrics"]
    judged = f"judged@{result['settings']['k']}"
    rows = []
    for name in ranked_systems(result):
        system = result["systems"][name]
        figures = system["partitions"][partition]
        cells = [_with_interval(figures[metric], ends_of(system, partition, metric)) for metric in metrics]
        rows.append([name, *cells, number(figures[judged], 2), str(figures["n_failed"])])
    levels = result["chance"]["partitions"][partition]
    rows.append(["(chance)", *(number(levels[metric]) for metric in metrics), MISSING, MISSING])
    counts = result["partitions"][partition]
    title = (
        f"{partition}: {counts['n_positive']} appropriate of {counts['n_judged']} judged pairs, "
        f"{counts['n_queries']} HS, "
        f"{counts['n_without_positive']} without an appropriate CN"
    )
    return Table(title, ["system", *map(metric_title, metrics), judged, "failed HS"], rows)


def _with_interval(value: float | None, ends: tuple[float | None, float | None]) -> str:
    return number(value) if value is None or ends[0] is None else f"{number(value)} [{interval(ends)}]"


def bracket_table(result: Mapping[str, Any], partition: str) -> Table | None:
    """The figures with unjudged CNs taken as wrong, and with those among the first k taken as right."""
    systems = {name: result["systems"][name] for name in ranked_systems(result)}
    if not all("unjudged_right" in system for system in systems.values()):
        return None
    metrics = [
        metric
        for metric in result["settings"]["metrics"]
        if all(metric in system["unjudged_right"][partition] for system in systems.values())
    ]
    rows = [
        [
            name,
            *(
                f"{number(system['partitions'][partition][metric], 3)} / "
                f"{number(system['unjudged_right'][partition][metric], 3)}"
                for metric in metrics
            ),
        ]
        for name, system in systems.items()
    ]
    title = f"{partition}: unjudged CNs taken as wrong / as right"
    return Table(title, ["system", *map(metric_title, metrics)], rows)


def seed_table(result: Mapping[str, Any]) -> Table | None:
    """How far the figures of systems that are averaged over seeds vary from seed to seed."""
    metrics = result["settings"]["metrics"]
    rows = []
    for name in ranked_systems(result):
        system = result["systems"][name]
        for partition, deviations in system.get("spread", {}).items():
            figures = system["partitions"][partition]
            rows.append([name, partition, *(f"{number(figures[m])} ± {number(deviations[m])}" for m in metrics)])
    columns = ["system", "partition", *map(metric_title, metrics)]
    return Table("Mean and standard deviation over seeds", columns, rows) if rows else None


def failure_table(result: Mapping[str, Any]) -> Table | None:
    """The figures of systems that failed on some HS, with those HS counted as 0."""
    metrics = result["settings"]["metrics"]
    rows = []
    for name in ranked_systems(result):
        system = result["systems"][name]
        for partition, figures in system.get("failures_as_zero", {}).items():
            n_failed = str(system["partitions"][partition]["n_failed"])
            rows.append([name, partition, n_failed, *(number(figures[metric]) for metric in metrics)])
    columns = ["system", "partition", "failed HS", *map(metric_title, metrics)]
    return Table("Failed HS counted as 0", columns, rows) if rows else None


def comparison_tables(result: Mapping[str, Any], *, only: Sequence[str] = ()) -> dict[str, Table]:
    """Returns paired randomisation tests between systems: family to table, the primary family first.

    Args:
        result: The benchmark's result.
        only: Partitions of which exploratory tests are shown, on the metrics of the summary; by default all.
    """
    return {
        family["name"]: _family_table(result, family, only if family["name"] == EXPLORATORY else ())
        for family in result["families"]
    }


def _family_table(result: Mapping[str, Any], family: Mapping[str, Any], only: Sequence[str]) -> Table:
    own = [row for row in result["comparisons"] if row["family"] == family["name"]]
    rows = [
        [
            row["partition"],
            metric_title(row["metric"]),
            row["a"],
            row["b"],
            number(row["difference"]),
            interval([row["low"], row["high"]]),
            p_text(row["p"]),
            p_text(row["p_corrected"]),
        ]
        for row in own
        if not only or (row["partition"] in only and row["metric"] in ("average", *summarised(result)))
    ]
    title = (
        f"{'Primary comparison' if family['name'] == PRIMARY else 'Exploratory comparisons'} ({family['tests']}): "
        f"paired randomisation tests, p corrected by max-T for {family['n_tests']} tests"
    )
    title += "" if family["floor"] is None else f", at least {family['floor']:.2g}"
    title += f"; {len(rows)} of {len(own)} are shown" if 0 < len(rows) < len(own) else ""
    return Table(title, ["partition", "metric", "a", "b", "a - b", "interval", "p", "p (max-T)"], rows)


def agreement_table(result: Mapping[str, Any], *, only: Sequence[str] = ()) -> Table:
    """How far partitions agree on the order of systems."""
    rows = [
        [row["a"], row["b"], metric_title(row["metric"]), number(row["tau"], 2), interval([row["low"], row["high"]], 2)]
        for row in result["order_agreement"]
        if not only or row["metric"] in only
    ]
    return Table("Agreement of system orders (Kendall's tau-b)", ["a", "b", "metric", "tau", "interval"], rows)


def sparsity_table(result: Mapping[str, Any]) -> Table | None:
    """What removing positives does to every metric of every system."""
    study = result.get("sparsity")
    if not study:
        return None
    rows = []
    for entry in study["fractions"]:
        for metric, found in entry["metrics"].items():
            scores = [f"{number(s['mean'], 3)} ± {number(s['sd'], 3)}" for s in found["systems"].values()]
            tau = found["tau"]
            agreement = (
                MISSING if tau["mean"] is None else f"{tau['mean']:.2f} [{interval([tau['low'], tau['high']], 2)}]"
            )
            head = [f"{entry['fraction']:g}", str(entry["positives"]), number(entry["queries_with_positive"], 1)]
            rows.append([*head, metric_title(metric), *scores, number(found["chance"], 3), agreement])
    title = (
        f"Sparse labels: {study['partition']} with positives removed at random ({study['seeds']} seeds; HS without a "
        f"positive {study['without_positive']})"
    )
    systems = list(result["systems"])
    return Table(title, ["kept", "positives", "HS with one", "metric", *systems, "chance", "order: tau"], rows)


def plan_table(result: Mapping[str, Any]) -> Table | None:
    """How many judged pairs an interval needs."""
    found = result.get("plan")
    if not found:
        return None
    rows = [
        [
            metric_title(row["metric"]),
            row["system"],
            number(row["deviation"], 3),
            f"± {number(row['half_width_now'], 3)} ({row['n_now']} HS)",
            str(row["n_queries"]),
            str(row["pairs_exhaustive"]),
            str(row["pairs_pooled"]),
        ]
        for row in found["rows"]
    ]
    title = (
        f"For an interval of ± {found['half_width']:g} on {found['partition']}: judged pairs needed, with the "
        "whole catalogue "
        f"judged for every HS, or the union of the systems' first CNs ({found['judged_per_query']['pooled']:g} an HS)"
    )
    columns = ["metric", "most varying system", "sd over HS", "now", "HS needed", "pairs, exhaustive", "pairs, pooled"]
    return Table(title, columns, rows)


def all_tables(result: Mapping[str, Any], *, every_test: bool = True) -> list[Table]:
    """Returns every table of the result, in the order of the report.

    Args:
        result: The benchmark's result.
        every_test: Whether all exploratory comparisons are in it, or those on the last partition and the average.
    """
    partitions = list(result["partitions"])
    compared = comparison_tables(result, only=() if every_test else ("all", partitions[-1]))
    tables: list[Table | None] = [summary_table(result), compared.pop(PRIMARY, None)]
    tables += [sparsity_table(result), plan_table(result)]
    for partition in partitions:
        tables += [partition_table(result, partition), bracket_table(result, partition)]
    tables += [failure_table(result), seed_table(result)]
    tables += [*compared.values(), agreement_table(result)]
    return [table for table in tables if table is not None and table.rows]


def terminal_tables(result: Mapping[str, Any]) -> list[Table]:
    """Returns the tables for a terminal: the primary comparison, every partition, other tests, and the summary at last.

    Exploratory tests are those on the last partition and on averages.

    How far partitions agree on the order of systems is shown where there are enough systems to have one.
    """
    last = list(result["partitions"])[-1]
    partitions = result["partitions"] if result["systems"] else ()
    compared = comparison_tables(result, only=("all", last))
    tables: list[Table | None] = [compared.pop(PRIMARY, None)]
    tables += [partition_table(result, partition) for partition in partitions]
    tables += [
        failure_table(result),
        seed_table(result),
        agreement_table(result, only=summarised(result)) if len(result["systems"]) >= ORDERED else None,
        *compared.values(),
        sparsity_table(result),
        plan_table(result),
        summary_table(result, intervals=("avg",)),
    ]
    return [table for table in tables if table is not None and table.rows]


def as_markdown(result: Mapping[str, Any]) -> str:
    """Returns every table in Markdown, with notes and signature."""
    parts = [f"# {_cell(result['dataset']['title'])}: retrieval, protocol {result['protocol']}\n"]
    parts += [f"- {_cell(note)}" for note in result["notes"]]
    parts += [f"- {_cell(name)} {_cell(problem)}" for name, problem in sorted(result["problems"].items())]
    for table in all_tables(result, every_test=False):
        parts += ["", f"## {_cell(table.title)}", "", *markdown_lines(table)]
    return "\n".join([*parts, "", f"Signature: {_cell(result['signature'])}", ""])


def as_latex(result: Mapping[str, Any]) -> str:
    """Returns every table in LaTeX: for the packages booktabs and, where it runs over pages, longtable."""
    parts = ["% \\usepackage[T1]{fontenc}", "% \\usepackage{booktabs}", "% \\usepackage{longtable}"]
    parts.append("% " + " ".join(result["signature"].split()))
    for table in all_tables(result, every_test=False):
        parts += ["", *latex_lines(table)]
    return "\n".join([*parts, ""])


def comparisons_as_csv(result: Mapping[str, Any]) -> str:
    """Returns one row for every comparison of two systems, with plain numbers; what is missing is empty."""
    file = io.StringIO()
    columns = ("partition", "metric", "a", "b", "difference", "low", "high", "p", "p_corrected", "family")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in result["comparisons"]:
        writer.writerow([row[key] for key in columns])
    return file.getvalue()
