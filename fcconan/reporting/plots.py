"""Plots of a benchmark's result as SVG with fixed bytes: the paper's Figures 1 and 2, averages, differences."""

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from fcconan.reporting.benchmark_tables import SIGNIFICANT, marked, metric_title, percent
from fcconan.retrieval import ends_of, ranked_systems
from fcconan.scoring import PRIMARY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any kind of colour blindness can tell apart; the darkest are apart in
# lightness, too.
COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#F0E442", "#7F7F7F")
INK, GRID = "#1D2430", "#D9DEE6"
FIGURES = {"figure-1-hit-ratio": "hit_rate", "figure-2-mrr": "mrr"}
NAMES = (*FIGURES, "averages", "differences", "sparsity")
MARKERS, DASHES = "osD^vPX*", ("-", "--", "-.", ":")  # so that colour is not all that tells lines apart
LONGEST_NAME = 30
# What XML 1.0 cannot hold: control characters and halves of surrogate pairs, which names of files may have.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
Plots = dict[str, tuple[str, str]]


def figures(result: Mapping[str, Any]) -> Plots:
    """Returns every plot: its name, and title with SVG.

    The plots of hit ratio and MRR are the paper's Figures 1 and 2, with intervals and chance level. A figure that is
    missing has a dash instead of a bar.
    """
    plots: Plots = {}
    partial = [marked(result, name) for name in ranked_systems(result) if result["systems"][name].get("failures")]
    failed = f" On a part only: {', '.join(partial)}." if partial else ""
    failed += f" Failed: {', '.join(sorted(result['failed']))}." if result["failed"] else ""
    for name, metric_name in FIGURES.items():
        metric = next((one for one in result["settings"]["metrics"] if one.startswith(f"{metric_name}@")), None)
        if metric:
            title = f"{metric_title(metric)} of every system on every partition"
            note = f"Whiskers are {percent(result)} intervals, dashed lines chance.{failed}"
            plots[name] = (f"{title}. {note}", _bars(result, metric, name, title, note))
    title = "Average over metrics and partitions"
    note = f"Lines are {percent(result)} intervals, the dashed line is chance.{failed}"
    plots["averages"] = (f"{title}. {note}", _averages(result, title, note))
    if result["comparisons"]:
        primary = [row for row in result["comparisons"] if row["family"] == PRIMARY]
        title = f"Difference of {metric_title(primary[0]['metric'])} on {primary[0]['partition']}: row minus column"
        note = (
            f"Primary comparison. Below each difference is p, corrected for {result['families'][0]['n_tests']} tests; "
            f"bold where it is below {SIGNIFICANT}."
        )
        plots["differences"] = (f"{title}. {note}", _differences(result, primary, title, note))
    if study := result.get("sparsity"):
        names = list(study["fractions"][0]["metrics"])
        metric = next((one for one in names if one.startswith("ndcg@")), names[0])
        title = f"{metric_title(metric)} on {study['partition']} with positives removed at random"
        note = f"Lines are means over {study['seeds']} removals, bands hold 95% of them, the dashed line is chance."
        plots["sparsity"] = (f"{title}. {note}", _sparsity(result, metric, title, note))
    return plots


def themed(drawn: str) -> str:
    """Returns an SVG whose ink and grid are those of the page that holds it, in light and in dark."""
    return drawn.replace(INK.lower(), "var(--ink)").replace(GRID.lower(), "var(--line)")


def _bars(result: Mapping[str, Any], metric: str, name: str, title: str, note: str) -> str:
    from matplotlib.figure import Figure

    systems, partitions = ranked_systems(result), list(result["partitions"])
    with style(name):
        figure = Figure(figsize=(max(6.0, 1.2 + (0.35 + 0.13 * len(partitions)) * len(systems)), 4.2))
        figure.set_layout_engine("constrained")
        axes = figure.add_subplot()
        width = 0.8 / len(partitions)
        highest = 0.0
        for index, partition in enumerate(partitions):
            colour = COLOURS[index % len(COLOURS)]
            for row, system in enumerate(systems):
                place = row + (index - (len(partitions) - 1) / 2) * width
                value = result["systems"][system]["partitions"][partition][metric]
                if value is None:
                    axes.text(place, 0.0, "–", ha="center", va="bottom", fontsize=12, fontweight="bold")
                    continue
                (bar,) = axes.bar(place, value, width * 0.9, color=colour)
                bar.set_gid(f"bar-{row}-{index}")
                low, high = ends_of(result["systems"][system], partition, metric)
                if low is not None and high is not None:
                    (whisker,) = axes.plot([place, place], [low, high], color=INK, linewidth=0.9)
                    whisker.set_gid(f"interval-{row}-{index}")
                highest = max(highest, value, high or 0.0)
            axes.bar(0, 0, color=colour, label=_short(partition))  # a legend also where the first system has no figure
            _chance_line(axes, result["chance"]["partitions"][partition].get(metric), colour, f"chance-{index}")
        axes.set_xticks(range(len(systems)), [_short(one) for one in systems], rotation=35, ha="right")
        for label in axes.get_xticklabels():
            label.set_rotation_mode("anchor")
        axes.set_ylabel(metric_title(metric))
        axes.set_xlim(-0.6, len(systems) - 0.4)
        axes.set_ylim(0, min(1.02, 1.1 * highest) if highest else 1.02)
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.legend(ncols=2, frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0))
        return svg(figure, name, title, note)


def _averages(result: Mapping[str, Any], title: str, note: str) -> str:
    from matplotlib.figure import Figure

    systems = ranked_systems(result)[::-1]
    with style("averages"):
        figure = Figure(figsize=(6.4, 1.2 + 0.3 * len(systems)))
        figure.set_layout_engine("constrained")
        axes = figure.add_subplot()
        for row, name in enumerate(systems):
            system = result["systems"][name]
            low, high = system.get("summary_intervals", {}).get("avg") or (None, None)
            if low is not None and high is not None:
                axes.plot([low, high], [row, row], color=COLOURS[0], linewidth=2)
            if system["summary"]["avg"] is not None:
                (dot,) = axes.plot([system["summary"]["avg"]], [row], "o", color=COLOURS[0])
                dot.set_gid(f"dot-{row}")
        _chance_line(axes, result["chance"]["summary"]["avg"], INK, "chance", vertical=True)
        axes.set_yticks(range(len(systems)), [_short(one) for one in systems])
        axes.set_ylim(-0.6, len(systems) - 0.4)
        axes.set_xlim(left=0)
        axes.set_xlabel("average")
        axes.grid(axis="x", color=GRID, linewidth=0.6)
        return svg(figure, "averages", title, note)


def _differences(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], title: str, note: str) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    systems = ranked_systems(result)
    place = {name: index for index, name in enumerate(systems)}
    grid = [[0.0] * len(systems) for _ in systems]
    marks: dict[tuple[int, int], tuple[str, bool]] = {}
    for row in rows:
        a, b, p = place[row["a"]], place[row["b"]], row["p_corrected"]
        if row["difference"] is None:
            marks[a, b] = marks[b, a] = "–", False
            continue
        for i, j, difference in ((a, b, row["difference"]), (b, a, -row["difference"])):
            grid[i][j] = difference
            marks[i, j] = f"{difference:+.3f}\n{short_p(p)}", p is not None and p < SIGNIFICANT
    with style("differences"):
        size = 2.0 + 0.62 * len(systems)
        figure = Figure(figsize=(size + 0.6, size))
        figure.set_layout_engine("constrained")
        axes = figure.add_subplot()
        limit = max((abs(value) for row in grid for value in row), default=0.0) or 1.0
        colours = mpl.colormaps["PuOr"]
        axes.pcolormesh(grid, cmap=colours, vmin=-limit, vmax=limit, edgecolors="white", linewidth=1)
        for (i, j), (text, bold) in marks.items():
            colour = _readable_on(colours((grid[i][j] / limit + 1) / 2))
            weight = "bold" if bold else "normal"
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=6.5, color=colour, fontweight=weight)
        ticks = [index + 0.5 for index in range(len(systems))]
        axes.set_xticks(ticks, [_short(one) for one in systems], rotation=35, ha="right")
        for label in axes.get_xticklabels():
            label.set_rotation_mode("anchor")
        axes.set_yticks(ticks, [_short(one) for one in systems])
        axes.tick_params(length=0)
        axes.invert_yaxis()
        axes.set_frame_on(False)
        return svg(figure, "differences", title, note)


def _sparsity(result: Mapping[str, Any], metric: str, title: str, note: str) -> str:
    from matplotlib.figure import Figure

    study = sorted(result["sparsity"]["fractions"], key=lambda entry: float(entry["fraction"]))
    places = range(len(study))
    with style("sparsity"):
        figure = Figure(figsize=(6.4, 3.8))
        figure.set_layout_engine("constrained")
        axes = figure.add_subplot()
        for index, system in enumerate(ranked_systems(result)):
            colour, dash, marker = line_of(index)
            found = [entry["metrics"][metric]["systems"].get(system) for entry in study]
            there = [(place, one) for place, one in zip(places, found, strict=True) if one and one["mean"] is not None]
            if not there:
                continue
            across = [place for place, _ in there]
            low, high = ([one[end] for _, one in there] for end in ("low", "high"))
            band = axes.fill_between(across, low, high, color=colour, alpha=0.2, linewidth=0)
            band.set_gid(f"band-{index}")
            means = [one["mean"] for _, one in there]
            (line,) = axes.plot(across, means, color=colour, linestyle=dash, marker=marker,
                                markersize=4, linewidth=1.4, label=_short(system))  # fmt: skip
            line.set_gid(f"curve-{index}")
        chance = [entry["metrics"][metric]["chance"] for entry in study]
        if all(level is not None for level in chance):
            axes.plot(places, chance, color=INK, linewidth=1.0, linestyle=(0, (4, 3)), label="chance")
        axes.set_xticks(places, [f"{100 * entry['fraction']:g}%\n{entry['positives']}" for entry in study])
        axes.set_xlabel("positives kept: share and number")
        axes.set_ylabel(metric_title(metric))
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=GRID, linewidth=0.6)
        axes.legend(ncols=2, frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0))
        return svg(figure, "sparsity", title, note)


def line_of(index: int) -> tuple[str, str, str]:
    """Returns colour, dashes and marker of a line; the first 32 are told apart."""
    turn = index // len(COLOURS)
    return COLOURS[index % len(COLOURS)], DASHES[(index + turn) % len(DASHES)], MARKERS[(index + turn) % len(MARKERS)]


def _readable_on(ground: Sequence[float]) -> str:
    """Returns white or black, whichever has the greater contrast (WCAG 2.2) on a colour."""
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in ground[:3]]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def short_p(p: float | None) -> str:
    """Returns a p-value for people: `p .031`, `p <.001`, or a dash where there was no test."""
    if p is None:
        return "p –"
    return "p <.001" if p < 0.001 else f"p {p:.3f}".replace("p 0.", "p .")


def _chance_line(axes: "Axes", level: float | None, colour: str, name: str, *, vertical: bool = False) -> None:
    if level is not None:
        draw = axes.axvline if vertical else axes.axhline
        line = draw(level, color=colour, linewidth=1.0, linestyle=(0, (4, 3)), zorder=0.9)
        line.set_gid(name)


def _short(name: str) -> str:
    """Returns a name that fits beside an axis; the tables have the whole name."""
    name = _drawable(name)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _drawable(text: str) -> str:
    """Returns text with a replacement character for everything that an SVG cannot hold."""
    return NOT_XML.sub("\ufffd", text)


@contextmanager
def style(salt: str) -> Iterator[None]:
    """Sets every option of matplotlib that changes the bytes, whatever the user's own matplotlibrc says."""
    import matplotlib as mpl

    fixed: Any = {
        "svg.hashsalt": salt,
        "svg.fonttype": "none",
        "text.parse_math": False,  # a name may hold dollar signs
        "font.family": "sans-serif",
        "font.size": 9.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "text.color": INK,
    }
    with mpl.rc_context(), warnings.catch_warnings():
        # Only the width of a letter is unknown then: the viewer of the SVG draws it in a font of its own.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(fixed)
        yield


def svg(figure: "Figure", name: str, title: str, note: str) -> str:
    """Returns an SVG element whose bytes depend on its content only, and whose ids are not those of other plots.

    Args:
        figure: What is drawn.
        name: Of the plot, which its ids begin with.
        title: For those who cannot see it, as `note`.
        note: What it shows.
    """
    title, note = _drawable(title), _drawable(note)
    figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold", wrap=True)
    file = io.StringIO()
    none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(file, format="svg", metadata=none, transparent=True)
    drawn = file.getvalue()
    drawn = re.sub(r"<[^<>]*>", lambda tag: _own_ids(tag[0], name), drawn[drawn.index("<svg") :])
    start = drawn.index(">")
    head = f'{drawn[:start]} role="img" aria-label="{escape(f"{title}. {note}", quote=True)}">'
    names = f"<title>{escape(title)}</title>\n <desc>{escape(note)}</desc>"
    return f"{head}\n {names}{drawn[start + 1 :]}"


def _own_ids(tag: str, name: str) -> str:
    for before in (' id="', 'href="#', "url(#"):
        tag = tag.replace(before, f"{before}{name}-")
    return tag


_NAME = "training-curve"
_HIGHEST = 1.5  # times the loss before training: what rises higher would leave no room for the others
_DASHES = ("-", "--", ":")


def curve_plot(report: Mapping[str, Any]) -> str:
    """Returns the SVG element.

    Args:
        report: What `fcconan.generation.finetuning.search.Finetuner.run` returned.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    before = report["before"]["validation_loss"]
    losses = [entry["validation_loss"] for run in report["runs"] for entry in run["curve"]]
    cut = any(loss is not None and loss > _HIGHEST * before for loss in losses)
    perplexity = [_number(report[when]["perplexity"]) for when in ("before", "after")]
    title = "Loss of a reply token on the validation part, after every epoch"
    note = (
        "In nats; epoch 0 is the model as it was. The ring is what was kept: learning rate "
        f"{report['learning_rate']:g}, epoch {report['best_epoch']}, perplexity {perplexity[0]} before and "
        f"{perplexity[1]} after. Thin lines are the loss on the training pairs while they were learnt."
    ) + (" What rose far above the start is cut off." if cut else "")
    with style(_NAME):
        figure = Figure(figsize=(7.2, 3.8))
        figure.set_layout_engine("constrained")
        axes = figure.add_subplot()
        for place, run in enumerate(report["runs"]):
            look: dict[str, Any] = {
                "color": COLOURS[place % len(COLOURS)],
                "linestyle": _DASHES[place // len(COLOURS) % len(_DASHES)],
            }
            epochs = [entry["epoch"] for entry in run["curve"]]
            (line,) = axes.plot(
                [0, *epochs],
                [before, *(entry["validation_loss"] for entry in run["curve"])],
                marker="o",
                markersize=3,
                label=f"learning rate {run['learning_rate']:g}",
                **look,
            )
            line.set_gid(f"validation-{place}")
            (line,) = axes.plot(
                epochs, [entry["training_loss"] for entry in run["curve"]], linewidth=0.7, alpha=0.7, **look
            )
            line.set_gid(f"training-{place}")
        (ring,) = axes.plot(
            [report["best_epoch"]],
            [report["after"]["validation_loss"]],
            "o",
            markersize=10,
            fillstyle="none",
            color=INK,
        )
        ring.set_gid("kept")
        if cut:
            axes.set_ylim(top=_HIGHEST * before)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("epoch")
        axes.set_ylabel("loss (nats a token)")
        axes.grid(axis="y", color="#D9DEE6", linewidth=0.6)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return svg(figure, _NAME, title, note)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
