"""The curve of a fine-tuning as SVG with fixed bytes: the validation loss of every learning rate, epoch by epoch."""

from collections.abc import Mapping
from typing import Any

from fcconan.reporting.plots import COLOURS, INK, style, svg

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
