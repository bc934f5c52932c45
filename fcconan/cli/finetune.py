"""`fcconan finetune`."""

from collections import Counter
from typing import TYPE_CHECKING

import typer

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import FinetuneResult


def _show(result: "FinetuneResult", verbose: bool) -> None:
    if result.is_done:
        _show_training(result)
    if verbose or not result.is_done:
        _show_plan(result)


def _show_training(result: "FinetuneResult") -> None:
    from fcconan.cli.output import print_table
    from fcconan.generation import DIVERGED

    report = result.data
    rows = [("untuned", "", "", _figure(report["before"]["perplexity"]), "")]
    for run in result.rows():
        chosen = "chosen" if run["learning_rate"] == report["learning_rate"] else ""
        value = DIVERGED if run["reason"] else _figure(run["perplexity"])
        rows.append((f"{run['learning_rate']:g}", str(len(run["curve"])), str(run["best_epoch"] or ""), value, chosen))
    columns = ("learning rate", "epochs", "best epoch", "perplexity", "")
    print_table("Validation perplexity of a reply token", columns, rows)
    memory = "" if report["peak_bytes"] is None else f", {report['peak_bytes'] / 2**30:.2f} GiB at most"
    is_worse = report["after"]["validation_loss"] >= report["before"]["validation_loss"]
    typer.echo(
        ("It was trained already, and nothing was done. " if result.resumed else "")
        + f"{report['seconds']:.0f} s of training{memory}. Written to {result.out}."
        + (" No epoch was better than the untuned model!" if is_worse else "")
        + f" Generate with it:\n  fcconan generate DATASET --model local:{result.out} "
        + f"--prompt {report['prompt']['name']} --out replies.parquet"
    )


def _show_plan(result: "FinetuneResult") -> None:
    from fcconan.cli.output import print_table
    from fcconan.data import counted

    plan = result.plan
    print_table(
        f"{plan['model']}: {counted(plan['steps_an_epoch'], 'step')} an epoch, {plan['steps_at_most']} at most",
        ("part", "pairs", "tokens", "of replies", "longest", "left out"),
        [
            (
                name,
                *(part[key] for key in ("pairs", "tokens", "reply_tokens", "longest")),
                sum(part["left_out"].values()),
            )
            for name, part in plan["parts"].items()
        ],
    )
    left_out = Counter(plan["data"]["left_out"])
    for part in plan["parts"].values():
        left_out.update(part["left_out"])
    if +left_out:
        typer.echo("Left out: " + ", ".join(f"{number} {reason}" for reason, number in left_out.items() if number))


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


COMMAND = Command(
    name="finetune",
    help="Fine-tune a model on pairs; `fcconan generate --model local:FOLDER` then uses it.",
    service="fcconan.services.finetune",
    example="fcconan finetune mt-conan --base-model microsoft/DialoGPT-medium --preset dialogpt --prompt message "
    "--prompt-format dialogpt --out models/dialogpt-cn",
    show=_show,
    detailed=True,
    keywords={"progress": lambda line: typer.echo(line, err=True)},
)
