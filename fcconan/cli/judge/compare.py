"""`fcconan judge compare`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import models
from fcconan.cli.judge import inputs, rate
from fcconan.cli.judge.ending import figure, finish, print_failed
from fcconan.cli.options import MOST_ROWS
from fcconan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fcconan.data import Table
    from fcconan.judging import ComparisonResult, ContextBudget

NAME = "compare"
EXAMPLE = "Example: fcconan judge compare demo-dataset --model gpt-4o-mini --budget 60 --out comparisons.parquet"
PROTOCOLS = ("choice", "judgelm")
EXPLAINED = 1024  # tokens of scores and explanation
EXPECTED = {
    "choice": 'a JSON object such as {"better": "a"}, with a, b or tie',
    "judgelm": "two scores on the first line, such as 7 4",
}


Explain = Annotated[
    bool, typer.Option("--explain/--fast", help="judgelm: explain the scores, or end with the first line.")
]
Reference = Annotated[bool, typer.Option("--reference", help="judgelm: show the item's reference.")]


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
    explain: Explain = False,
    reference: Reference = False,
    orders: Annotated[str, typer.Option("--orders", help="both, ab (reply a first), or seeded.")] = "both",
    disagreement: Annotated[
        str, typer.Option("--disagreement", help="Where the two orders differ: tie or invalid.")
    ] = "tie",
    one_order: Annotated[
        str, typer.Option("--one-order", help="Where one order has no readable answer: invalid, or take the other.")
    ] = "invalid",
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", min=1, max=MOST_ROWS, help="Compare so many pairs only, spread over systems and items."
        ),
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
    name: rate.Name = None,
    config: inputs.Config = "replies",
    split: inputs.Split = None,
    column: inputs.Column = None,
    connection: models.Connection = models.DEFAULT,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the summary to this file.")] = None,
) -> None:
    """Compare the replies of systems in pairs; what cannot be read is invalid, with a reason."""
    from fcconan.cli.output import check_json_target
    from fcconan.cli.watch import Watched, why_nothing
    from fcconan.data import check_row_target
    from fcconan.judging import all_pairs, budgeted_pairs, compare

    check_row_target(out)
    connection.check_files(
        {"--out": out, "--json": json_file}, read=[*map(Path, dataset), prompt, Path(task)], names=[model]
    )
    check_json_target(json_file, out)
    # Refuses what does not go together, before a model is loaded.
    judge_of(protocol, task, prompt=prompt, explain=explain, reference=reference)
    opened: Any = connection.open(model)
    judge = judge_of(
        protocol,
        task,
        prompt=prompt,
        explain=explain,
        reference=reference,
        context=None if context is None else _room(context, overflow, opened),
        temperature=0.0 if temperature is None else temperature,
        seed=rate.sent_seed(seed),
        max_tokens=max_tokens,
    )
    replies = inputs.open_replies(dataset, config=config, split=split, column=column)
    check_systems(dataset, replies)
    drawn = max(seed or 0, 0)

    def pairs() -> Any:
        return all_pairs(replies) if budget is None else budgeted_pairs(replies, budget=budget, seed=drawn)

    total = sum(1 for _ in pairs())
    rehearsal = models.Rehearsal(opened) if connection.dry_run else None
    watched = Watched(opened)
    results = compare(
        rehearsal or watched,
        pairs(),
        protocol=judge,
        orders=orders,  # type: ignore[arg-type]
        disagreement=disagreement,  # type: ignore[arg-type]
        one_order=one_order,  # type: ignore[arg-type]
        seed=drawn,
        rater=name or _usual_name(opened.name, judge, task=task, prompt=prompt, orders=orders),
    )
    if rehearsal is not None:
        for _ in results:
            pass
        models.print_rehearsals([rehearsal], connection.prices, json_file)
        return
    counts, failed = _write(rate.progress(results, total, "comparing"), out)
    _print_counts(counts, out)
    print_failed(failed)
    used = models.print_used([opened])
    nothing = set(counts["verdicts"]) == {"invalid"} and "orders_disagree" not in counts["invalid"]
    if nothing:
        what = f"{opened.name} compared nothing"
        print(why_nothing(what, counts["invalid"], [watched], expected=EXPECTED[protocol]))
    configuration = {"model": opened.configuration, "protocol": judge.configuration, "orders": orders}
    told = {"out": str(out), **counts, "failed_requests": failed, "judge": configuration, "used": used}
    finish(told, json_file, failed=failed > 0 or nothing)


def _room(tokens: int, overflow: str, model: Any) -> "ContextBudget":
    """Returns what a model can read and write, counted by its own tokeniser where it has one here."""
    from fcconan.judging import ContextBudget

    counter = getattr(model, "count_tokens", None)
    counted = {} if counter is None else {"count": counter, "counter": "tokenizer"}
    return ContextBudget(tokens, overflow=overflow, **counted)  # type: ignore[arg-type]


def _write(results: "Iterable[ComparisonResult]", out: Path) -> tuple[dict[str, Any], int]:
    """Writes comparisons; returns their counts, and how many requests failed for a passing reason."""
    from fcconan.data import RowWriter
    from fcconan.judging import COLUMNS, RETRIED, ComparisonSummary

    summary, failed = ComparisonSummary(), 0
    with RowWriter(out, COLUMNS) as writer:
        for result in results:
            summary.add(result)
            writer.write([result.row()])
            failed += sum(reason in RETRIED for reason in (result.reason_ab, result.reason_ba))
    return summary.as_json(), failed


def _print_counts(counts: dict[str, Any], out: Path) -> None:
    from fcconan.cli.output import print_table

    print_table(
        f"Comparisons in {out}",
        ("", "value"),
        [
            *((f"verdict {name}", number) for name, number in counts["verdicts"].items()),
            *((f"invalid: {name}", number) for name, number in counts["invalid"].items()),
            ("flip rate", figure(counts["flip_rate"])),
            ("share of preferences for the reply shown first", figure(counts["first_preference"])),
            ("identical replies", counts["identical"]),
            ("shortened", counts["shortened"]),
            ("suspicious", counts["suspicious"]),
        ],
    )


def check_protocol(protocol: str, *, explain: bool, reference: bool) -> None:
    """Checks that options go with a protocol.

    Raises:
        InputError: They do not.
    """
    if protocol not in PROTOCOLS:
        raise InputError(f"there is no protocol {protocol!r}: choose one of {', '.join(PROTOCOLS)}")
    if protocol == "choice" and (explain or reference):
        raise InputError("--explain and --reference go with --protocol judgelm: leave them out")


def judge_of(
    protocol: str,
    task: str,
    *,
    prompt: Path | None,
    explain: bool,
    reference: bool,
    context: Any = None,
    temperature: float = 0.0,
    seed: int | None = 0,
    max_tokens: int | None = None,
) -> Any:
    """Returns how a model is asked for the better one of two replies.

    Raises:
        InputError: The options do not go together, or the prompt file cannot be used.
    """
    from fcconan.judging import FAST_TOKENS, ChoiceJudge, JudgeLM, load_prompt, load_task
    from fcconan.models import Sampling

    check_protocol(protocol, explain=explain, reference=reference)
    shown = ("hate_speech", "reply_1", "reply_2", *(("reference",) if reference else ()))
    own = None if prompt is None else load_prompt(prompt, known=shown, needed=("reply_1", "reply_2"))
    sampling = Sampling(temperature=temperature, seed=seed)
    if max_tokens is not None or explain:
        sampling = replace(sampling, max_tokens=max_tokens or EXPLAINED)
    if protocol == "choice":
        return ChoiceJudge(load_task(task), own, context=context, sampling=sampling)
    return JudgeLM(
        own,
        explain=explain,
        reference=reference,
        context=context,
        sampling=sampling,
        fast_tokens=FAST_TOKENS if max_tokens is None else max_tokens,
    )


def check_systems(dataset: "Sequence[str | Path]", replies: "Table") -> None:
    """Checks that replies name the systems that wrote them.

    Raises:
        InputError: None does, as pairs do not.
    """
    from fcconan.data import UNKNOWN

    if all(row["system"] == UNKNOWN for row in replies):
        raise InputError(
            f"{', '.join(map(str, dataset))} names no system for its replies, as pairs do not, and only replies of "
            "different systems are compared: choose the config replies, or name a column with --column system=COLUMN"
        )


def _usual_name(model: str, judge: Any, *, task: str, prompt: Path | None, orders: str) -> str:
    """Returns the model's name with what differs from the usual: `m:judgelm-explain`, `m:choice-prompt-1a2b3c`."""
    what = judge.configuration
    parts = [each for each in ("explain", "reference") if what["protocol"] == "judgelm" and what[each]]
    if what["protocol"] == "choice" and task != "pairwise":
        parts.append(what["task"])
    if orders != "both":
        parts.append(orders)
    if prompt is not None:
        parts.append(f"prompt-{what['prompt'][:6]}")
    return model if not parts and what["protocol"] == "choice" else f"{model}:{'-'.join([what['protocol'], *parts])}"
