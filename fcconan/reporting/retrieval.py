"""A benchmark's result as a page: leaderboard, plots, tables, and every HS with what every system ranked for it."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fcconan.reporting.benchmark_tables import all_tables, metric_title, partition_table, percent, summary_table
from fcconan.reporting.elements import markup
from fcconan.reporting.findings import retrieval_finding
from fcconan.reporting.forest_plots import Dot, Dots, forest_plot, scale_of
from fcconan.reporting.heat_maps import difference_map, heat_maps
from fcconan.reporting.page import Page, texts_gate, texts_notice
from fcconan.reporting.plots import Plots, themed
from fcconan.reporting.published_systems import (
    Published,
    published_retrieval,
    with_published,
    with_published_dots,
)
from fcconan.retrieval import ends_of, ranked_systems

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_TESTS = 2_000  # of more, those of the last partition and of the averages are shown; a download has all
PLACES = 4  # of the values in the page, which shows three
SHOWN = ("configuration", "resolved", "diagnostics", "failures")
Results = Mapping[str, Any]


def retrieval_page(result: Results, data: Mapping[str, Any] | None, plots: Plots, *, texts: bool = True) -> Page:
    """Returns the page of a benchmark.

    Args:
        result: The benchmark's result.
        data: What `drill_down` returned; None leaves out what every system ranked for every HS.
        plots: Name to title and SVG.
        texts: Whether the page holds the texts of HS and CNs.
    """
    from markupsafe import Markup

    dataset, settings = result["dataset"], result["settings"]
    shown = [] if not result["systems"] else list(result["partitions"])
    standings = [summary_table(result), *(partition_table(result, partition) for partition in shown)]
    every_test = len(result["comparisons"]) <= MOST_TESTS
    others = [table for table in all_tables(result, every_test=every_test) if table not in standings]
    parts = [("leaderboard", "Leaderboard"), ("plots", "Plots"), ("tables", "Tables")]
    if data is not None:
        parts.append(("queries", "Where systems differ"))
        data = data if texts else without_texts(data)
    has_texts = data is not None and any(data["queries"].values())
    differences, published = difference_map(result), published_retrieval(result)
    body = markup(
        "retrieval.html.jinja",
        result=result,
        standings=with_published(standings[0], published, "avg"),
        title=standings[0].title,
        source="" if published is None else published.source,
        differences=heat_maps([] if differences is None else [differences]) or "",
        panels=[
            (partition, table, _dots(result, partition)) for partition, table in zip(shown, standings[1:], strict=True)
        ],
        metrics=[(metric, metric_title(metric)) for metric in settings["metrics"]],
        plots=[(key, title, Markup(themed(svg))) for key, (title, svg) in plots.items()],
        tables_shown=others,
        systems=[
            (system, one.get("title", ""), {part: _pretty(one.get(part)) for part in SHOWN})
            for system, one in ((system, result["systems"][system]) for system in ranked_systems(result))
        ],
        settings_text=_pretty(dict(settings)),
        k=settings["k"],
        drill_down=data is not None,
        gate=texts_gate(result["dataset"]) if has_texts else "",
    )
    counts = f"{dataset['n_queries']} HS, {dataset['n_corpus']} CNs"
    population = f" ({settings['population']})" if settings.get("population") else ""
    return Page(
        name="retrieval",
        title=f"Retrieval: {dataset['title']}",
        label=f"Retrieval: {dataset['name']}, {result['protocol']}",
        lead=f"Counter-narrative retrieval, protocol {result['protocol']}: {counts}{population}.",
        body=body,
        parts=[*parts, ("systems", "Systems")],
        data={} if data is None else _packed(data),
        scripts=["retrieval.js"],
        finding=retrieval_finding(result),
        plot=_averages(result, published),
        headline=standings[0].first_columns(3 if "interval" in standings[0].columns[2] else 2),
        notice=texts_notice(result["dataset"]) if has_texts else None,
        tables=[*standings, *others],
        signatures=[result["signature"]],
    )


def drill_down(result: Results, details: Mapping[str, Any], *, texts: bool = True) -> dict[str, Any]:
    """Returns what the page needs to show the rankings of every HS.

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
    return found if texts else without_texts(found)


def without_texts(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what `drill_down` returned, with ids only."""
    return {**data, "queries": dict.fromkeys(data["queries"], ""), "corpus": {}}


def _packed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what `drill_down` returned in a quarter of the bytes: each id once, elsewhere its place in a list.

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
    dots = [
        Dot(name, systems[name]["summary"]["avg"], *(systems[name].get("summary_intervals", {}).get("avg") or ()))
        for name in ranked_systems(result)
    ]
    chance = result["chance"]["summary"]["avg"]
    dots = with_published_dots(dots, published, "avg")
    return forest_plot(f"Averages with {percent(result)} intervals", dots, line=chance, line_name="chance")


def _dots(result: Results, partition: str) -> list[tuple[str, Dots]]:
    """Returns a plot for every metric, whose scale is the same on all partitions."""
    found = []
    for metric in result["settings"]["metrics"]:
        by_part = {part: _systems_on(result, part, metric) for part in result["partitions"]}
        scale = scale_of([dot for dots in by_part.values() for dot in dots])
        chance = result["chance"]["partitions"][partition].get(metric)
        title = f"{metric_title(metric)} on {partition}, with {percent(result)} intervals"
        found.append((metric, Dots(title, by_part[partition], scale, chance, "chance")))
    return found


def _systems_on(result: Results, partition: str, metric: str) -> list[Dot]:
    systems = result["systems"]
    return [
        Dot(name, systems[name]["partitions"][partition][metric], *ends_of(systems[name], partition, metric))
        for name in ranked_systems(result)
    ]


def _pretty(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False, default=str) if data else ""
