"""`fcconan finetune`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.options import seed_option

if TYPE_CHECKING:
    from fcconan.generation import Finetuning, Lesson

NAME = "finetune"
EXAMPLE = (
    "Example: fcconan finetune data/mt-conan --model microsoft/DialoGPT-medium --preset dialogpt --format dialogpt "
    "--task message --out models/dialogpt-cn"
)
PRESET = "pairwise-lora"

Rates = Annotated[
    list[float] | None,
    typer.Option("--learning-rate", help="Repeat it: the one with the lowest validation perplexity is taken."),
]
Column = Annotated[
    list[str] | None, typer.Option("--column", help="NAME=COLUMN of a file, such as counter_narrative=reply.")
]


def run(
    dataset: Annotated[
        Path, typer.Argument(help="A folder that `fcconan build` wrote, a dataset's name, or a file of rows.")
    ],
    model: Annotated[str, typer.Option("--model", help="A folder, or a name on the Hub, to start from.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write; run again after a stop to go on.")],
    preset: Annotated[str, typer.Option("--preset", help="pairwise-lora, pairwise-qlora, or dialogpt.")] = PRESET,
    format_name: Annotated[
        str | None,
        typer.Option("--format", help="A named format or a .jinja file; default: the model's chat template."),
    ] = None,
    task: Annotated[str, typer.Option("--task", help="The prompt: brief, plain, message, or a prompt file.")] = "brief",
    method: Annotated[str | None, typer.Option("--method", help="lora, qlora (4 bit, CUDA only) or full.")] = None,
    learning_rate: Rates = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="The most.")] = None,
    patience: Annotated[
        int | None, typer.Option("--patience", help="Stop after so many epochs that brought nothing; 0: never.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option("--batch-size", help="Pairs behind a step.")] = None,
    accumulation: Annotated[
        int | None, typer.Option("--accumulation", help="Parts in which a batch is computed, for less memory.")
    ] = None,
    rank: Annotated[int | None, typer.Option("--rank", help="Of LoRA.")] = None,
    alpha: Annotated[int | None, typer.Option("--alpha", help="Scaling factor of LoRA.")] = None,
    dropout: Annotated[float | None, typer.Option("--dropout", help="Of LoRA.")] = None,
    schedule: Annotated[str | None, typer.Option("--schedule", help="inverse_sqrt, linear, constant, ...")] = None,
    warmup_steps: Annotated[int | None, typer.Option("--warmup-steps", help="Of the schedule.")] = None,
    max_length: Annotated[int | None, typer.Option("--max-length", help="Tokens; longer pairs are left out.")] = None,
    dtype: Annotated[str | None, typer.Option("--dtype", help="auto, float32 or bfloat16.")] = None,
    seed: Annotated[int | None, seed_option("Of every draw.")] = None,
    validation: Annotated[
        str, typer.Option("--validation", help="A share of the pairs, or the split or the file of validation pairs.")
    ] = "0.1",
    evaluation: Annotated[
        list[str] | None,
        typer.Option(
            "--evaluation",
            help="DATASET[:CONFIG[:SPLIT]] or a file whose messages must not be learnt from; once for each.",
        ),
    ] = None,
    leave_out_evaluation: Annotated[
        bool, typer.Option("--leave-out-evaluation", help="Leave such pairs out instead of refusing them.")
    ] = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Keep one pair for every message, at random.")
    ] = False,
    config: Annotated[
        str | None, typer.Option("--config", help="Part of the folder; default: its training part.")
    ] = None,
    split: Annotated[str | None, typer.Option("--split", help="Split of that part; default: train.")] = None,
    column: Column = None,
    revision: Annotated[str | None, typer.Option("--revision", help="Of a model on the Hub.")] = None,
    device: Annotated[str | None, typer.Option("--device", help="cpu or cuda.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count pairs, tokens and steps, and train nothing.")
    ] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write what was done to this file.")] = None,
) -> None:
    """Fine-tune a model on pairs; `generate --model local:OUT` then uses it."""
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.generation import Base, Finetuner, RefusedPairsError, load_finetuning
    from fcconan.reporting import curve_plot

    check_json_target(json_file, out)
    how = load_finetuning(
        preset,
        method=method,
        learning_rates=learning_rate,
        epochs=epochs,
        patience=patience,
        batch_size=batch_size,
        accumulation=accumulation,
        rank=rank,
        alpha=alpha,
        dropout=dropout,
        schedule=schedule,
        warmup_steps=warmup_steps,
        max_length=max_length,
        dtype=dtype,
        seed=seed,
    )
    base = Base(model.removeprefix("local:"), revision)
    try:
        lesson = _lesson(
            dataset,
            how,
            task=task,
            format_name=format_name,
            validation=validation,
            evaluation=evaluation or [],
            leave_out=leave_out_evaluation,
            drop_duplicates=drop_duplicates,
            config=config,
            split=split,
            column=column,
        )
    except RefusedPairsError as refused:
        if json_file is not None:
            write_json(json_file, {"refused": refused.pairs})
        raise
    finetuner = Finetuner(base, lesson, how, device=device, plot=curve_plot)
    plan = {**finetuner.plan(), "data": dict(lesson.notes)}
    _print_plan(plan)
    if dry_run:
        if json_file is not None:
            write_json(json_file, {"dry_run": plan})
        return
    before = finetuner.finished(out)
    report = before or finetuner.run(out, say=lambda line: typer.echo(line, err=True))
    if json_file is not None:
        write_json(json_file, report)
    print_table("Validation perplexity of a reply token", *_rows(report))
    typer.echo(("" if before is None else "It was trained already, and nothing was done. ") + _summary(report, out))


def _lesson(
    dataset: Path,
    how: "Finetuning",
    *,
    task: str,
    format_name: str | None,
    validation: str,
    evaluation: list[str],
    leave_out: bool,
    drop_duplicates: bool,
    config: str | None,
    split: str | None,
    column: list[str] | None,
) -> "Lesson":
    from fcconan.cli.generate_options import part_of
    from fcconan.cli.judge.inputs import named
    from fcconan.generation import Lesson, load_generation_prompt, load_items, prepare
    from fcconan.models import load_format
    from fcconan.services import built_folder

    items = {}
    for each in evaluation:
        source, part, part_split = part_of(each)
        items[each] = load_items(source, config=part, split=part_split)
    columns = named("--column", column, "NAME=COLUMN, such as counter_narrative=reply")
    parts, notes = prepare(
        built_folder(dataset),
        config=config,
        split=split,
        columns=columns,
        validation=validation,
        evaluation=items,
        leave_out_evaluation=leave_out,
        drop_duplicates=drop_duplicates,
        seed=how.seed,
    )
    template = None if format_name is None else load_format(format_name)
    return Lesson(load_generation_prompt(task), template, parts, notes)


def _print_plan(plan: dict[str, Any]) -> None:
    from fcconan.cli.output import print_table
    from fcconan.data import counted

    rows = [
        (name, part["pairs"], part["tokens"], part["reply_tokens"], part["longest"], sum(part["left_out"].values()))
        for name, part in plan["parts"].items()
    ]
    print_table(
        f"{plan['model']}: {counted(plan['steps_an_epoch'], 'step')} an epoch, {plan['steps_at_most']} at most",
        ("part", "pairs", "tokens", "of replies", "longest", "left out"),
        rows,
    )
    left_out = {reason: number for reason, number in plan["data"]["left_out"].items() if number}
    for part in plan["parts"].values():
        for reason, number in part["left_out"].items():
            left_out[reason] = left_out.get(reason, 0) + number
    if left_out:
        typer.echo("Left out: " + ", ".join(f"{number} {reason}" for reason, number in left_out.items()))


def _rows(report: dict[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    from fcconan.generation import DIVERGED

    before = _figure(report["before"]["perplexity"])
    rows: list[tuple[object, ...]] = [("untuned", "", "", before)]
    for run in report["runs"]:
        chosen = "chosen" if run["learning_rate"] == report["learning_rate"] else ""
        value = DIVERGED if run["reason"] else _figure(run["perplexity"])
        rows.append((f"{run['learning_rate']:g}", str(len(run["curve"])), str(run["best_epoch"] or ""), value, chosen))
    return ("learning rate", "epochs", "best epoch", "perplexity", ""), [(*row, "")[:5] for row in rows]


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _summary(report: dict[str, Any], out: Path) -> str:
    memory = "" if report["peak_bytes"] is None else f", {report['peak_bytes'] / 2**30:.2f} GiB at most"
    worse = report["after"]["validation_loss"] >= report["before"]["validation_loss"]
    better = " No epoch was better than the untuned model!" if worse else ""
    return (
        f"{report['seconds']:.0f} s of training{memory}. Written to {out}.{better} Generate with it:\n"
        f"  fcconan generate DATASET --model local:{out} --task {report['prompt']['name']} --out replies.parquet"
    )
