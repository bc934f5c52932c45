"""The curves of a fine-tuning as SVG with fixed bytes."""

import io
import re
import warnings
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from fcconan.data import printable
from fcconan.reporting.tables import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, distinguishable with any kind of colour blindness; the darkest also differ in lightness.
COLOURS = ("#0072B2", "#E69F00", "#56B4E9", "#D55E00", "#009E73", "#CC79A7", "#F0E442", "#7F7F7F")
INK, GRID = "#1D2430", "#D9DEE6"
MARKERS, DASHES = "osD^vPX*", ("-", "--", "-.", ":")  # lines differ in more than colour
HIGHEST = 1.5  # times the loss before training: a loss that rises higher would leave no room for the others
# Without characters that XML 1.0 cannot hold: `printable` writes out all others.
NOT_XML = re.compile("[\ufffe\uffff]")


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
