"""Plots as SVG with fixed bytes: the paper's Figures 1 and 2, sparse labels, and the curves of a fine-tuning."""

import io
import re
import warnings
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from fcconan.data import printable
from fcconan.reporting.benchmark_names import is_reference, marked, metric_title, percent
from fcconan.reporting.tables import MISSING
from fcconan.retrieval import interval_ends, ranked_systems

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, distinguishable with any kind of colour blindness; the darkest also differ in lightness.
COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#F0E442", "#7F7F7F")
INK, GRID = "#1D2430", "#D9DEE6"
FIGURES = {"figure-1-hit-ratio": "hit_rate", "figure-2-mrr": "mrr"}
NAMES = (*FIGURES, "sparsity")
PALE = 0.45  # of the bars of systems that ignore the message
MARKERS, DASHES = "osD^vPX*", ("-", "--", "-.", ":")  # lines differ in more than colour
LONGEST_NAME = 30
CHANCE: dict[str, Any] = {"linewidth": 1.0, "linestyle": (0, (4, 3))}
HIGHEST = 1.5  # times the loss before training: a loss that rises higher would leave no room for the others
# Without characters that XML 1.0 cannot hold: `printable` writes out all others.
NOT_XML = re.compile("[\ufffe\uffff]")
Plots = dict[str, tuple[str, str]]


def figures(result: Mapping[str, Any]) -> Plots:
    """Returns every plot: its name, and title with SVG.

    The plots of hit ratio and MRR are the paper's Figures 1 and 2, with intervals and chance level. A missing value has
    a dash instead of a bar.
    """
    plots: Plots = {}
    partial = [marked(result, name) for name in ranked_systems(result) if result["systems"][name].get("failures")]
    failed = f" On a part only: {', '.join(partial)}." if partial else ""
    failed += f" Failed: {', '.join(sorted(result['failed']))}." if result["failed"] else ""
    pale = " Pale bars ignore the message." if any(is_reference(result, name) for name in result["systems"]) else ""
    for name, metric_name in FIGURES.items():
        metric = next((one for one in result["settings"]["metrics"] if one.startswith(f"{metric_name}@")), None)
        if metric:
            title = f"{metric_title(metric)} of every system on every partition"
            note = f"Whiskers are {percent(result)} intervals, dashed lines chance.{pale}{failed}"
            plots[name] = (f"{title}. {note}", _bars(result, metric, name, title, note))
    if study := result.get("sparsity"):
        names = list(study["fractions"][0]["metrics"])
        metric = next((one for one in names if one.startswith("ndcg@")), names[0])
        title = f"{metric_title(metric)} on {study['partition']} with positives removed at random"
        note = f"Lines are means over {study['seeds']} removals, bands hold 95% of them, the dashed line is chance."
        plots["sparsity"] = (f"{title}. {note}", _sparsity(result, metric, title, note))
    return plots


def themed(svg: str) -> str:
    """Returns an SVG whose ink and grid are those of the page that holds it, in light and in dark."""
    return svg.replace(INK.lower(), "var(--ink)").replace(GRID.lower(), "var(--line)")


def _bars(result: Mapping[str, Any], metric: str, name: str, title: str, note: str) -> str:
    systems, partitions = ranked_systems(result), list(result["partitions"])
    width = 0.8 / len(partitions)
    size = (max(6.0, 1.2 + (0.35 + 0.13 * len(partitions)) * len(systems)), 4.2)

    def draw(axes: "Axes") -> None:
        highest = 0.0
        for index, partition in enumerate(partitions):
            colour = COLOURS[index % len(COLOURS)]
            for row, system in enumerate(systems):
                place = row + (index - (len(partitions) - 1) / 2) * width
                value = result["systems"][system]["partitions"][partition][metric]
                if value is None:
                    axes.text(place, 0.0, MISSING, ha="center", va="bottom", fontsize=12, fontweight="bold")
                    continue
                pale = PALE if is_reference(result, system) else None
                axes.bar(place, value, width * 0.9, color=colour, alpha=pale, gid=f"bar-{row}-{index}")
                low, high = interval_ends(result["systems"][system], partition, metric)
                if low is not None and high is not None:
                    axes.plot([place, place], [low, high], color=INK, linewidth=0.9, gid=f"interval-{row}-{index}")
                highest = max(highest, value, high or 0.0)
            axes.bar(0, 0, color=colour, label=_short(partition))  # a legend also where the first system has no value
            if (level := result["chance"]["partitions"][partition].get(metric)) is not None:
                axes.axhline(level, color=colour, zorder=0.9, gid=f"chance-{index}", **CHANCE)
        axes.set_xticks(
            range(len(systems)), [_short(one) for one in systems], rotation=35, ha="right", rotation_mode="anchor"
        )
        axes.set_ylabel(metric_title(metric))
        axes.set_xlim(-0.6, len(systems) - 0.4)
        axes.set_ylim(0, min(1.02, 1.1 * highest) if highest else 1.02)

    return drawn(name, size, title, note, draw)


def _sparsity(result: Mapping[str, Any], metric: str, title: str, note: str) -> str:
    study = sorted(result["sparsity"]["fractions"], key=lambda entry: float(entry["fraction"]))
    places = range(len(study))

    def draw(axes: "Axes") -> None:
        for index, system in enumerate(ranked_systems(result)):
            colour, dash, marker = line_of(index)
            values = [entry["metrics"][metric]["systems"].get(system) for entry in study]
            there = [(place, one) for place, one in zip(places, values, strict=True) if one and one["mean"] is not None]
            if not there:
                continue
            across = [place for place, _ in there]
            mean, low, high = ([one[key] for _, one in there] for key in ("mean", "low", "high"))
            axes.fill_between(across, low, high, color=colour, alpha=0.2, linewidth=0, gid=f"band-{index}")
            axes.plot(across, mean, color=colour, linestyle=dash, marker=marker, markersize=4, linewidth=1.4,
                      label=_short(system), gid=f"curve-{index}")  # fmt: skip
        chance = [entry["metrics"][metric]["chance"] for entry in study]
        if all(level is not None for level in chance):
            axes.plot(places, chance, color=INK, label="chance", **CHANCE)
        axes.set_xticks(places, [f"{100 * entry['fraction']:g}%\n{entry['positives']}" for entry in study])
        axes.set_xlabel("remaining positives: share and number")
        axes.set_ylabel(metric_title(metric))
        axes.set_ylim(bottom=0)

    return drawn("sparsity", (6.4, 3.8), title, note, draw)


def curve_plot(report: Mapping[str, Any]) -> str:
    """Returns the losses of a fine-tuning by epoch as an SVG element.

    Args:
        report: Return value of `fcconan.generation.finetuning.search.Finetuner.run`.
    """
    from matplotlib.ticker import MaxNLocator

    before = report["before"]["validation_loss"]
    losses = [entry["validation_loss"] for run in report["runs"] for entry in run["curve"]]
    cut = any(loss is not None and loss > HIGHEST * before for loss in losses)
    perplexity = [
        MISSING if (value := report[when]["perplexity"]) is None else f"{value:.3g}" for when in ("before", "after")
    ]
    title = "Loss of a reply token on the validation part, after every epoch"
    note = (
        "In nats; epoch 0 is the untuned model. The ring is the chosen model: learning rate "
        f"{report['learning_rate']:g}, epoch {report['best_epoch']}, perplexity {perplexity[0]} before and "
        f"{perplexity[1]} after. Thin lines are the loss on the training pairs while they were learnt."
    ) + (" Losses far above the start are cut off." if cut else "")

    def draw(axes: "Axes") -> None:
        for place, run in enumerate(report["runs"]):
            colour, dash, _ = line_of(place)
            look: dict[str, Any] = {"color": colour, "linestyle": dash}
            epochs = [entry["epoch"] for entry in run["curve"]]
            validation, training = (
                [entry[f"{part}_loss"] for entry in run["curve"]] for part in ("validation", "training")
            )
            axes.plot([0, *epochs], [before, *validation], marker="o", markersize=3, gid=f"validation-{place}",
                      label=f"learning rate {run['learning_rate']:g}", **look)  # fmt: skip
            axes.plot(epochs, training, linewidth=0.7, alpha=0.7, gid=f"training-{place}", **look)
        best = [report["best_epoch"]], [report["after"]["validation_loss"]]
        axes.plot(*best, "o", markersize=10, fillstyle="none", color=INK, gid="kept")
        if cut:
            axes.set_ylim(top=HIGHEST * before)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("epoch")
        axes.set_ylabel("loss (nats a token)")

    return drawn("training-curve", (7.2, 3.8), title, note, draw)


def line_of(index: int) -> tuple[str, str, str]:
    """Returns colour, dashes and marker of a line; the first 32 differ."""
    turn = index // len(COLOURS)
    return COLOURS[index % len(COLOURS)], DASHES[(index + turn) % len(DASHES)], MARKERS[(index + turn) % len(MARKERS)]


def _short(name: str) -> str:
    """Returns a name that fits next to an axis; the tables have the whole name."""
    name = _drawable(name)
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _drawable(text: str) -> str:
    return NOT_XML.sub("\ufffd", printable(text))


def drawn(name: str, size: tuple[float, float], title: str, note: str, draw: Callable[["Axes"], None]) -> str:
    """Returns a plot with a grid, and a legend above it, as an SVG element.

    Its bytes depend on its content only, and not on the user's own matplotlibrc; its ids are not those of other plots.

    Args:
        name: Name of the plot, with which its ids begin.
        size: Width and height in inches.
        title: The title.
        note: An explanation, for people who cannot see the plot.
        draw: Draws it.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    fixed: Any = {
        "svg.hashsalt": name,
        "svg.fonttype": "none",
        "text.parse_math": False,  # a name may hold dollar signs
        "font.family": "sans-serif",
        "font.size": 9.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "figure.constrained_layout.use": True,
        "legend.frameon": False,
        **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "text.color"), INK),
    }
    with mpl.rc_context(), warnings.catch_warnings():
        # Only the width of a letter is unknown then: the viewer of the SVG draws it in a font of its own.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(fixed)
        figure = Figure(figsize=size)
        axes = figure.add_subplot()
        draw(axes)
        axes.grid(axis="y")
        axes.legend(ncols=2, loc="lower left", bbox_to_anchor=(0, 1.0))
        title, note = _drawable(title), _drawable(note)
        figure.suptitle(title, x=0.01, ha="left", fontsize=9, fontweight="bold", wrap=True)
        file = io.StringIO()
        none = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=none, transparent=True)
    svg = file.getvalue()
    svg = re.sub(r"<[^<>]*>", lambda tag: _own_ids(tag[0], name), svg[svg.index("<svg") :])
    start = svg.index(">")
    head = f'{svg[:start]} role="img" aria-label="{escape(f"{title}. {note}", quote=True)}">'
    names = f"<title>{escape(title)}</title>\n <desc>{escape(note)}</desc>"
    return f"{head}\n {names}{svg[start + 1 :]}"


def _own_ids(tag: str, name: str) -> str:
    for before in (' id="', 'href="#', "url(#"):
        tag = tag.replace(before, f"{before}{name}-")
    return tag
