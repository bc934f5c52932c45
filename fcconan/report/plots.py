"""Plots of a benchmark's result as SVG with fixed bytes: the paper's Figures 1 and 2, averages, differences."""

import io
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from fcconan.report.tables import metric_title, ranked_systems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart.
COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#CC79A7", "#F0E442", "#000000")
FIGURES = {"figure-1-hit-ratio": "hit_rate", "figure-2-mrr": "mrr"}
Plots = dict[str, tuple[str, str]]


def figures(result: Mapping[str, Any]) -> Plots:
    """Returns every plot: its name, and title with SVG.

    The plots of hit ratio and MRR are the paper's Figures 1 and 2, with intervals and chance level.
    """
    plots: Plots = {}
    for name, metric_name in FIGURES.items():
        metric = next((one for one in result["settings"]["metrics"] if one.startswith(f"{metric_name}@")), None)
        if metric:
            title = f"{metric_title(metric)} of every system on every partition, with intervals; lines are chance"
            plots[name] = (title, _bars(result, metric, title))
    plots["averages"] = ("Average over metrics and partitions, with intervals", _averages(result))
    if result["comparisons"]:
        metric = next((one for one in result["settings"]["metrics"] if one.startswith("ndcg@")), None)
        metric = metric or result["settings"]["metrics"][0]
        partition = list(result["partitions"])[-1]
        title = f"Difference of {metric_title(metric)} on {partition}: row minus column; * corrected p below .05"
        plots["differences"] = (title, _differences(result, metric, partition, title))
    return plots


def _bars(result: Mapping[str, Any], metric: str, title: str) -> str:
    from matplotlib.figure import Figure

    systems, partitions = ranked_systems(result), list(result["partitions"])
    figure = Figure(figsize=(max(6.0, 1.0 + 0.8 * len(systems)), 4.2), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(partitions)
    for index, partition in enumerate(partitions):
        positions = [row + (index - (len(partitions) - 1) / 2) * width for row in range(len(systems))]
        values = [result["systems"][name]["partitions"][partition][metric] for name in systems]
        ends = [result["systems"][name]["intervals"][partition][metric] for name in systems]
        colour = COLOURS[index % len(COLOURS)]
        axes.bar(positions, [value or 0.0 for value in values], width * 0.92, label=partition, color=colour)
        for position, (low, high) in zip(positions, ends, strict=True):
            if low is not None and high is not None:
                axes.plot([position, position], [low, high], color="#222222", linewidth=0.9)
        chance = result["chance"]["partitions"][partition][metric]
        if chance is not None:
            axes.axhline(chance, color=colour, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xticks(range(len(systems)), systems, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_ylabel(metric_title(metric))
    axes.set_ylim(0, 1.02)
    axes.legend(ncols=min(4, len(partitions)), frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0))
    return _svg(figure, title)


def _averages(result: Mapping[str, Any]) -> str:
    from matplotlib.figure import Figure

    systems = ranked_systems(result)[::-1]
    figure = Figure(figsize=(6.4, 1.2 + 0.32 * len(systems)), layout="constrained")
    axes = figure.add_subplot()
    for row, name in enumerate(systems):
        system = result["systems"][name]
        low, high = system["summary_intervals"]["avg"]
        if low is not None and high is not None:
            axes.plot([low, high], [row, row], color=COLOURS[0], linewidth=2)
        if system["summary"]["avg"] is not None:
            axes.plot([system["summary"]["avg"]], [row], "o", color=COLOURS[0])
    if result["chance"]["summary"]["avg"] is not None:
        axes.axvline(result["chance"]["summary"]["avg"], color="#222222", linewidth=0.9, linestyle=(0, (4, 3)))
    axes.set_yticks(range(len(systems)), systems)
    axes.set_xlabel("average (dashed: chance)")
    axes.set_xlim(left=0)
    return _svg(figure, "Average over metrics and partitions, with intervals")


def _differences(result: Mapping[str, Any], metric: str, partition: str, title: str) -> str:
    from matplotlib.figure import Figure

    systems = ranked_systems(result)
    place = {name: index for index, name in enumerate(systems)}
    grid = [[0.0] * len(systems) for _ in systems]
    marks = [[""] * len(systems) for _ in systems]
    for row in result["comparisons"]:
        if row["metric"] == metric and row["partition"] == partition and row["difference"] is not None:
            a, b = place[row["a"]], place[row["b"]]
            star = "*" if row["p_corrected"] is not None and row["p_corrected"] < 0.05 else ""
            for i, j, sign in ((a, b, 1), (b, a, -1)):
                grid[i][j] = sign * row["difference"]
                marks[i][j] = f"{sign * row['difference']:+.2f}{star}"
    size = 2.2 + 0.55 * len(systems)
    figure = Figure(figsize=(size + 0.8, size), layout="constrained")
    axes = figure.add_subplot()
    limit = max((abs(value) for row in grid for value in row), default=0.0) or 1.0
    axes.pcolormesh(grid, cmap="PuOr", vmin=-limit, vmax=limit, edgecolors="white", linewidth=1)
    for i, row in enumerate(marks):
        for j, text in enumerate(row):
            colour = "white" if abs(grid[i][j]) > 0.65 * limit else "black"
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=7, color=colour)
    ticks = [index + 0.5 for index in range(len(systems))]
    axes.set_xticks(ticks, systems, rotation=35, ha="right", rotation_mode="anchor")
    axes.set_yticks(ticks, systems)
    axes.invert_yaxis()
    axes.set_frame_on(False)
    return _svg(figure, title)


def _svg(figure: "Figure", title: str) -> str:
    """Returns an SVG element whose bytes depend on its content only."""
    import matplotlib as mpl

    file = io.StringIO()
    fixed: Any = {"svg.hashsalt": title, "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9.0}
    with mpl.rc_context(fixed):
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    svg = file.getvalue()
    start = svg.index("<svg")
    end = svg.index(">", start)
    name = escape(title, quote=True)
    return f'{svg[start:end]} role="img" aria-label="{name}">\n <title>{escape(title)}</title>{svg[end + 1 :]}'
