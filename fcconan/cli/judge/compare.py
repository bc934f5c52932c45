"""`fcconan judge compare`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fcconan.cli import models
from fcconan.cli.judge import inputs, rate
from fcconan.errors import InputError

NAME = "compare"
EXAMPLE = "Example: fcconan judge compare demo-dataset --model gpt-4o-mini --budget 60 --out comparisons.parquet"
PROTOCOLS = ("choice", "judgelm")
FAILED = 1
EXPLAINED = 1024  # tokens of scores and explanation


@models.connected()
def run(
    dataset: inputs.Dataset,
    out: Annotated[Path, typer.Option("--out", help="File of comparisons: .parquet, .jsonl or .csv.")],
    model: Annotated[str, typer.Option("--model", help=f"{models.MODEL_HELP}.")],
    protocol: Annotated[
        str, typer.Option("--protocol", help="choice (a, b or tie) or judgelm (two scores on the first line).")
    ] = "choice",
    task: Annotated[str, typer.Option("--task", help="Of choice: a task with the unit comparison.")] = "pairwise",
    prompt: Annotated[
        Path | None, typer.Option("--prompt", help="A prompt file with hate_speech, reply_1 and reply_2.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain/--fast", help="judgelm: explain the scores, or end with the first line.")
    ] = False,
    reference: Annotated[bool, typer.Option("--reference", help="judgelm: show the item's reference.")] = False,
    orders: Annotated[str, typer.Option("--orders", help="both, ab (reply a first), or seeded.")] = "both",
    disagreement: Annotated[
        str, typer.Option("--disagreement", help="Where the two orders differ: tie or invalid.")
    ] = "tie",
    one_order: Annotated[
        str, typer.Option("--one-order", help="Where one order has no readable answer: invalid, or take the other.")
    ] = "invalid",
    budget: Annotated[
        int | None, typer.Option("--budget", min=1, help="Compare so many pairs only, spread over systems and items.")
    ] = None,
    context: Annotated[
        int | None, typer.Option("--context", min=1, help="Tokens that the model can read and write.")
    ] = None,
    overflow: Annotated[
        str, typer.Option("--overflow", help="Replies too long for --context: shorten both, or invalid.")
    ] = "shorten",
    temperature: rate.Temperature = None,
    max_tokens: rate.MaxTokens = None,
    seed: rate.Seed = 0,
    config: inputs.Config = "replies",
    split: inputs.Split = None,
    column: inputs.Column = None,
    connection: models.Connection = models.DEFAULT,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the summary to this file.")] = None,
) -> None:
    """Compare the replies of systems in pairs; what cannot be read is invalid, with a reason."""
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.judge.compare import COLUMNS, compare
    from fcconan.judge.comparison_context import ContextBudget
    from fcconan.judge.comparison_protocols import ChoiceJudge, JudgeLM
    from fcconan.judge.comparison_summary import Summary
    from fcconan.judge.pairs import all_pairs, budgeted_pairs
    from fcconan.judge.prompt import load_prompt
    from fcconan.judge.rate import RETRIED
    from fcconan.judge.task import load_task
    from fcconan.llm.call import Sampling
    from fcconan.row_files import RowWriter, check_row_target

    check_row_target(out)
    inputs.check_outside(dataset, out)
    check_json_target(json_file, out)
    if protocol not in PROTOCOLS:
        raise InputError(f"there is no protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}")
    if protocol == "choice" and (explain or reference):
        raise InputError("--explain and --reference go with --protocol judgelm: leave them out")
    shown = ("hate_speech", "reply_1", "reply_2", *(("reference",) if reference else ()))
    own = None if prompt is None else load_prompt(prompt, known=shown, needed=("reply_1", "reply_2"))
    opened: Any = connection.open(model)
    room = None
    if context is not None:
        counter = getattr(opened, "count_tokens", None)
        counted = {} if counter is None else {"count": counter, "counter": "tokenizer"}
        room = ContextBudget(context, overflow=overflow, **counted)  # type: ignore[arg-type]
    sampling = Sampling(
        temperature=0.0 if temperature is None else temperature, seed=None if seed is None or seed < 0 else seed
    )
    if max_tokens is not None or explain:
        sampling = replace(sampling, max_tokens=max_tokens or EXPLAINED)
    judge = (
        JudgeLM(own, explain=explain, reference=reference, context=room, sampling=sampling)
        if protocol == "judgelm"
        else ChoiceJudge(load_task(task), own, context=room, sampling=sampling)
    )
    replies = inputs.open_replies(dataset, config=config, split=split, column=column)
    drawn = max(seed or 0, 0)

    def pairs() -> Any:
        return all_pairs(replies) if budget is None else budgeted_pairs(replies, budget=budget, seed=drawn)

    total = sum(1 for _ in pairs())
    rehearsal = models.Rehearsal(opened) if connection.dry_run else None
    results = compare(
        rehearsal or opened,
        pairs(),
        protocol=judge,
        orders=orders,  # type: ignore[arg-type]
        disagreement=disagreement,  # type: ignore[arg-type]
        one_order=one_order,  # type: ignore[arg-type]
        seed=drawn,
    )
    if rehearsal is not None:
        for _ in results:
            pass
        models.print_rehearsals([rehearsal], connection.prices, json_file)
        return
    summary, failed = Summary(), 0
    with RowWriter(out, COLUMNS) as writer:
        for result in rate.progress(results, total, "comparing"):
            summary.add(result)
            writer.write([result.row()])
            failed += sum(reason in RETRIED for reason in (result.reason_ab, result.reason_ba))
    counts = summary.as_json()
    print_table(
        f"Comparisons in {out}",
        ("", "value"),
        [
            *((f"verdict {name}", number) for name, number in counts["verdicts"].items()),
            *((f"invalid: {name}", number) for name, number in counts["invalid"].items()),
            ("flip rate", _share(counts["flip_rate"])),
            ("share of preferences for the reply shown first", _share(counts["first_preference"])),
            ("identical replies", counts["identical"]),
            ("shortened", counts["shortened"]),
            ("suspicious", counts["suspicious"]),
        ],
    )
    if failed:
        print(f"{failed} requests failed for a passing reason: run the command again to ask them anew")
    if json_file is not None:
        configuration = {"model": opened.configuration, "protocol": judge.configuration, "orders": orders}
        write_json(json_file, {"out": str(out), **counts, "failed_requests": failed, "judge": configuration})
    if failed:
        raise typer.Exit(FAILED)


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
