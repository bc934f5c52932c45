"""The page of a retrieval benchmark: leaderboard, plots, tables, and the rankings of each HS."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fcconan.reporting.benchmark_names import (
    has,
    is_reference,
    label_notes,
    metric_title,
    percent,
    reference_rows,
)
from fcconan.reporting.benchmark_tables import all_tables, partition_table, summary_table
from fcconan.reporting.elements import markup
from fcconan.reporting.forest_plots import Dot, ForestPlot, forest_plot, hollow_note, scale_of
from fcconan.reporting.heat_maps import difference_map, heat_maps
from fcconan.reporting.html_tables import View
from fcconan.reporting.label_tables import (
    message_difference_table,
    shown_metric,
    side_by_side_table,
)
from fcconan.reporting.page import Page, texts_gate, texts_notice
from fcconan.reporting.plots import Plots, themed
from fcconan.reporting.published_systems import (
    Published,
    published_retrieval,
    with_published,
    with_published_dots,
)
from fcconan.reporting.tables import DisplayTable
from fcconan.retrieval import CHANCE_AUC, interval_ends, ranked_systems

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_TESTS = 2_000  # of more, those of the last partition and of the averages are shown; a download has all
PLACES = 4  # of the values in the page, which shows three
SHOWN = ("configuration", "resolved", "diagnostics", "failures")
Results = Mapping[str, Any]


def retrieval_page(result: Results, data: Mapping[str, Any], plots: Plots) -> Page:
    """Returns the page of a benchmark.

    Args:
        result: The benchmark's result.
        data: Return value of `drill_down`.
        plots: Name to title and SVG.
    """
    from markupsafe import Markup

    dataset, settings = result["dataset"], result["settings"]
    shown = [] if not result["systems"] else list(result["partitions"])
    standings = [summary_table(result), *(partition_table(result, partition) for partition in shown)]
    every_test = len(result["comparisons"]) <= MOST_TESTS
    labels = _label_tables(result)
    every = all_tables(result, every_test=every_test)
    others = [table for table in every if table not in standings and table not in labels]
    notes = label_notes(result)
    parts = [("leaderboard", "Leaderboard"), ("plots", "Plots"), ("tables", "Tables")]
    if notes or labels:
        parts.insert(1, ("labels", "Labels and messages"))
    has_texts = any(data["queries"].values())
    differences, published = difference_map(result), published_retrieval(result)
    body = markup(
        "retrieval.html.jinja",
        result=result,
        standings=_greyed(result, with_published(standings[0], published, "avg")),
        title=standings[0].title,
        source="" if published is None else published.source,
        differences=heat_maps([] if differences is None else [differences]) or "",
        panels=[
            (partition, _greyed(result, table), _dots(result, partition))
            for partition, table in zip(shown, standings[1:], strict=True)
        ],
        label_notes=notes,
        label_tables=[_greyed(result, table) for table in labels],
        message_plot=_message_plot(result) or "",
        metrics=[(metric, metric_title(metric)) for metric in settings["metrics"]],
        plots=[(name, title, Markup(themed(svg))) for name, (title, svg) in plots.items()],
        tables_shown=[_greyed(result, table) for table in others],
        systems=[
            (system, one.get("title", ""), {part: _pretty(one.get(part)) for part in SHOWN})
            for system, one in ((system, result["systems"][system]) for system in ranked_systems(result))
        ],
        settings_text=_pretty(dict(settings)),
        k=settings["k"],
        gate=texts_gate(result["dataset"]) if has_texts else "",
    )
    counts = f"{dataset['n_queries']} HS, {dataset['n_corpus']} CNs"
    population = f" ({settings['population']})" if settings.get("population") else ""
    return Page(
        title=f"Retrieval: {dataset['title']}",
        lead=f"Counter-narrative retrieval, protocol {result['protocol']}: {counts}{population}.",
        body=body,
        parts=[*parts, ("queries", "Where systems differ"), ("systems", "Systems")],
        data=_packed(data),
        scripts=["retrieval.js"],
        plot=_averages(result, published),
        notice=texts_notice(result["dataset"]) if has_texts else None,
        signatures=[result["signature"]],
    )


def _label_tables(result: Results) -> list[DisplayTable]:
    """Returns the tables of judged pairs, the partition of the primary comparison first, and of messages."""
    first = shown_metric(result)[1]
    parts = [] if not result["systems"] else [first, *(part for part in result["partitions"] if part != first)]
    tables = [side_by_side_table(result, part) for part in parts]
    tables.append(message_difference_table(result))
    return [table for table in tables if table is not None]


def _greyed(result: Results, shown: DisplayTable | View) -> View:
    """Returns a table with its references in grey: chance, and systems that ignore the message."""
    view = shown if isinstance(shown, View) else View(shown)
    return view._replace(grey=sorted({*view.grey, *reference_rows(result, view.table.rows)}))


def drill_down(result: Results, details: Mapping[str, Any], *, texts: bool = True) -> dict[str, Any]:
    """Returns the rankings of each HS, for the page.

    Args:
        result: The benchmark's result.
        details: Its details.
        texts: Whether texts of HS and CNs are in it.
    """
    systems = ranked_systems(result)
    shown = {key for name in systems for keys in details["runs"][name].values() for key in keys}
    found = {
        "signature": result["signature"],
        "systems": systems,
        "partitions": list(result["partitions"]),
        "metrics": [[metric, metric_title(metric)] for metric in result["settings"]["metrics"]],
        "queries": dict(details["queries"]),
        "corpus": {key: text for key, text in details["corpus"].items() if key in shown},
        "labels": {
            name: {query: {key: value for key, value in row.items() if key in shown} for query, row in labels.items()}
            for name, labels in details["labels"].items()
        },
        "runs": {name: details["runs"][name] for name in systems},
        "values": {name: details["per_query"][name] for name in systems},
        "seeded": [name for name in systems if result["systems"][name].get("spread")],
        "failures": {name: dict(result["systems"][name].get("failures") or {}) for name in systems},
    }
    return found if texts else {**found, "queries": dict.fromkeys(details["queries"], ""), "corpus": {}}


def _packed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the data of `drill_down` in a compact form: each id once, and its index elsewhere.

    `order` and `ids` are the ids of HS and of ranked CNs; a system's runs and values are lists in the order of the HS.
    """
    order = list(data["queries"])
    ids = list(dict.fromkeys(key for run in data["runs"].values() for keys in run.values() for key in keys))
    place = {key: position for position, key in enumerate(ids)}
    runs = {name: [[place[key] for key in run.get(query, ())] for query in order] for name, run in data["runs"].items()}
    values = {
        name: {
            part: {
                metric: [None if (value := own.get(query)) is None else round(value, PLACES) for query in order]
                for metric, own in metrics.items()
            }
            for part, metrics in parts.items()
        }
        for name, parts in data["values"].items()
    }
    return {**data, "order": order, "ids": ids, "runs": runs, "values": values}


def _averages(result: Results, published: Published | None) -> "Markup | None":
    systems = result["systems"]
    dots = []
    for name in ranked_systems(result):
        low, high = systems[name].get("summary_intervals", {}).get("avg") or (None, None)
        dots.append(Dot(name, systems[name]["summary"]["avg"], low, high, is_reference(result, name)))
    chance = result["chance"]["summary"]["avg"]
    dots = with_published_dots(dots, published, "avg")
    return forest_plot(f"Averages with {percent(result)} intervals", dots, line=chance, line_name="chance")


def _dots(result: Results, partition: str) -> list[tuple[str, ForestPlot]]:
    """Returns a plot for every metric, whose scale is the same on all partitions."""
    found = []
    for metric in result["settings"]["metrics"]:
        by_part = {part: _systems_on(result, part, metric) for part in result["partitions"]}
        scale = scale_of([dot for dots in by_part.values() for dot in dots])
        chance = result["chance"]["partitions"][partition].get(metric)
        title = f"{metric_title(metric)} on {partition}, with {percent(result)} intervals"
        title += hollow_note(by_part[partition])
        found.append((metric, ForestPlot(title, by_part[partition], scale, chance, "chance")))
    return found


def _message_plot(result: Results) -> "Markup | None":
    """Returns the message AUC of all systems on the partition of the primary comparison, the highest first."""
    partition = shown_metric(result)[1]
    dots = []
    for name in ranked_systems(result) if has(result, "message_auc") else ():
        area = result["systems"][name].get("message_auc", {}).get(partition) or {}
        ends = area.get("low"), area.get("high")
        dots.append(Dot(name, area.get("value"), *ends, is_reference(result, name)))
    dots.sort(key=lambda dot: (dot.value is None, -(dot.value or 0.0)))
    title = f"Message AUC on {partition}, with {percent(result)} intervals over HS and CNs"
    return forest_plot(title, dots, line=CHANCE_AUC, line_name="chance", origin=CHANCE_AUC)


def _systems_on(result: Results, partition: str, metric: str) -> list[Dot]:
    systems = result["systems"]
    return [
        Dot(
            name,
            systems[name]["partitions"][partition][metric],
            *interval_ends(systems[name], partition, metric),
            is_reference(result, name),
        )
        for name in ranked_systems(result)
    ]


def _pretty(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str) if data else ""
