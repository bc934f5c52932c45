"""`fcconan finetune`."""

from collections import Counter

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.FinetuneResult", verbose: bool) -> None:
    if result.is_done:
        _show_training(result)
    if verbose or not result.is_done:
        _show_plan(result)


def _show_training(result: "services.FinetuneResult") -> None:
    from fcconan.generation import DIVERGED
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import format_value, make_table

    report = result.data
    columns = {
        "learning rate": lambda run: f"{run['learning_rate']:g}",
        "epochs": lambda run: len(run["curve"]),
        "best epoch": "best_epoch",
        "perplexity": lambda run: DIVERGED if run["reason"] else run["perplexity"],
        "": lambda run: "chosen" if run["learning_rate"] == report["learning_rate"] else "",
    }
    typer.echo(f"Perplexity of the untuned model: {format_value(report['before']['perplexity'])}")
    print_table(make_table("Validation perplexity of a reply token", result.rows(), columns))
    memory = "" if report["peak_bytes"] is None else f", {report['peak_bytes'] / 2**30:.2f} GiB at most"
    is_worse = report["after"]["validation_loss"] >= report["before"]["validation_loss"]
    typer.echo(
        ("It was trained already, and nothing was done. " if result.resumed else "")
        + f"{report['seconds']:.0f} s of training{memory}. Written to {result.out}."
        + (" No epoch was better than the untuned model!" if is_worse else "")
        + f" Generate with it:\n  fcconan generate DATASET --model local:{result.out} "
        + f"--prompt {report['prompt']['name']} --out replies.parquet"
    )


def _show_plan(result: "services.FinetuneResult") -> None:
    from fcconan.data import count_noun
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    plan = result.plan
    columns = {
        "part": "name",
        "pairs": "pairs",
        "tokens": "tokens",
        "of replies": "reply_tokens",
        "longest": "longest",
        "left out": lambda part: sum(part["left_out"].values()),
    }
    title = f"{plan['model']}: {count_noun(plan['steps_an_epoch'], 'step')} an epoch, {plan['steps_at_most']} at most"
    print_table(make_table(title, [{"name": name, **part} for name, part in plan["parts"].items()], columns))
    left_out = Counter(plan["data"]["left_out"])
    for part in plan["parts"].values():
        left_out.update(part["left_out"])
    if +left_out:
        typer.echo("Left out: " + ", ".join(f"{number} {reason}" for reason, number in left_out.items() if number))


COMMAND = Command(
    name="finetune",
    help="Fine-tune a model on pairs; `fcconan generate --model local:FOLDER` then uses it.",
    example="fcconan finetune mt-conan --base-model microsoft/DialoGPT-medium --preset dialogpt --prompt message "
    "--prompt-format dialogpt --out models/dialogpt-cn",
    show=_show,
    detailed=True,
    keywords={"progress": lambda line: typer.echo(line, err=True)},
)
