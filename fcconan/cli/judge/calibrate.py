"""`fcconan judge calibrate`."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcconan.cli import models
from fcconan.cli.judge import inputs, rate
from fcconan.cli.judge.ending import figure, finish, interval
from fcconan.cli.options import MOST_RESAMPLES, MOST_ROWS, MOST_TOKENS, seed_option
from fcconan.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fcconan.data import Table
    from fcconan.judging import Calibration, Example, ModelJudge

NAME = "calibrate"
EXAMPLE = (
    "Example: fcconan judge calibrate data/cseval --split dev --task cseval --aspect relevance --model gpt-4o "
    "--out relevance.yaml"
)


@models.connected()
def run(
    dataset: inputs.Dataset,
    aspect: Annotated[str, typer.Option("--aspect", help="The aspect of the task to calibrate.")],
    model: Annotated[str, typer.Option("--model", help=f"The judge. {models.MODEL_HELP}.")],
    out: Annotated[Path, typer.Option("--out", help="The file of steps to write (.yaml); a log goes beside it.")],
    task: rate.TaskName = "cseval",
    drafter: Annotated[str | None, typer.Option("--drafter", help="Writes the steps; default: the judge.")] = None,
    ratings: Annotated[
        Path | None, typer.Option("--ratings", help="People's ratings; default: the config ratings of the dataset.")
    ] = None,
    rater: Annotated[list[str] | None, typer.Option("--rater", help="Whose ratings; default: all people's.")] = None,
    size: Annotated[list[int] | None, typer.Option("--size", help="Examples a draft; once for each size.")] = None,
    trials: Annotated[int, typer.Option("--trials", help="Drafts of each size.")] = 5,
    keep: Annotated[int, typer.Option("--keep", help="Candidates refined in a round.")] = 3,
    rounds: Annotated[int, typer.Option("--rounds", help="Rounds of refinement.")] = 1,
    refinements: Annotated[int, typer.Option("--refinements", help="How often each edit is asked for.")] = 1,
    errors: Annotated[int, typer.Option("--errors", help="Worst predicted examples that a refinement is shown.")] = 3,
    least_predicted: Annotated[
        float, typer.Option("--least-predicted", help="Share of ratings without which steps are not chosen.")
    ] = 0.8,
    temperatures: Annotated[
        str, typer.Option("--temperatures", help="Of drafts: LOW,HIGH, refinements taking HIGH; or model for its own.")
    ] = "0,0.5",
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, max=MOST_TOKENS, help="Longest answer of the drafter.")
    ] = 1024,
    metric: Annotated[str, typer.Option("--metric", help="spearman, kendall or pearson.")] = "spearman",
    published: Annotated[
        list[str] | None, typer.Option("--published", help="A choice of the published code; see docs/judges.md.")
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", max=MOST_RESAMPLES, help="Of the bootstrap over HS.")] = 1000,
    seed: Annotated[int, seed_option("Of parts, examples, sampling and bootstrap.")] = 0,
    config: inputs.Config = "replies",
    split: inputs.Split = None,
    column: inputs.Column = None,
    background: inputs.Background = None,
    passages: inputs.PassageCount = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, max=MOST_ROWS, help="The first rated replies only.")
    ] = None,
    connection: models.Connection = models.DEFAULT,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")] = None,
) -> None:
    """Find evaluation steps that agree with people's ratings (Auto-CSEval)."""
    from dataclasses import asdict

    from fcconan.cli.judge.rehearse import rehearse
    from fcconan.cli.output import check_json_target
    from fcconan.cli.watch import Watched
    from fcconan.judging import ModelJudge, Plan, Settings, StepsRater, calibrate, load_rubric, split as split_parts

    if out.suffix not in (".yaml", ".yml") or out.is_dir():
        raise InputError(f"{out} is no file of steps: expected a name that ends in .yaml")
    log = out.with_suffix(".log.jsonl")
    connection.check_files(
        {"--out": out, "--out (its log)": log, "--json": json_file},
        read=[*map(Path, dataset), ratings, Path(task)],
        folders=[background],
        names=[model, *([drafter] if drafter else [])],
    )
    check_json_target(json_file, out)
    rubric = load_rubric(task)
    chosen = rubric.aspect(aspect)
    plan = Plan(rubric, "auto-cseval", (aspect,), steps={aspect: chosen.steps})
    knowledge = inputs.knowledge_of(background, passages, shown="background" in plan.texts)
    replies = inputs.open_replies(dataset, config=config, split=split, column=column)
    rated = _people(replies, dataset, ratings, split, aspect, rater)
    nobody = ModelJudge(models.Nobody(), plan, background=knowledge)
    parts = split_parts(_examples(dataset, replies, rated, nobody)[:limit], seed=seed)
    settings = Settings(
        sizes=tuple(size) if size else (3, 6),
        trials=trials,
        keep=keep,
        rounds=rounds,
        refinements=refinements,
        errors=errors,
        least_predicted=least_predicted,
        temperatures=_range(temperatures),
        max_tokens=max_tokens,
        metric=metric,  # type: ignore[arg-type]
        resamples=resamples,
        seed=seed,
        published=tuple(published or ()),  # type: ignore[arg-type]
    )
    judge = connection.open(model)
    drafting = judge if drafter is None or drafter == model else connection.open(drafter)
    if connection.dry_run:
        rehearsed = rehearse(chosen, parts, settings, plan, judge, drafting)
        models.print_rehearsals(rehearsed, connection.prices, json_file, at_most=True)
        return
    judged = StepsRater(Watched(judge), plan, aspect)
    result = calibrate(
        chosen,
        parts,
        rate=judged,
        drafter=Watched(drafting),
        log=log,
        settings=settings,
        rater=judge.name,
        progress=lambda line: print(line, file=sys.stderr) if sys.stderr.isatty() else None,
    )
    result.save(out)
    failed = judged.failed + result.failed_drafts
    _print_result(result, out, failed)
    used = models.print_used([judge] if drafting is judge else [judge, drafting])
    finish({"out": str(out), "failed_requests": failed, "used": used, **asdict(result)}, json_file, failed=failed > 0)


def _examples(
    dataset: list[str], replies: "Table", rated: "Mapping[str, float]", nobody: "ModelJudge"
) -> "list[Example]":
    """Returns the replies that people rated, with the texts that a judge is shown; says how many have not all of them.

    Args:
        dataset: Where the replies are from, for messages.
        replies: The replies.
        rated: People's ratings by reply.
        nobody: Knows what a judge is shown, and asks nobody.

    Raises:
        InputError: None is left.
    """
    from fcconan.judging import TEXTS, Example

    plan = nobody.plan
    examples, n_rated = [], 0
    for row in replies:
        if row["reply_id"] in rated:
            n_rated += 1
            if calls := nobody.calls(row):
                shown = {name: calls[0].variables[name] for name in plan.texts}
                examples.append(Example(row["hs_id"], shown, rated[row["reply_id"]]))
    if not n_rated:
        aspect = ", ".join(plan.aspects or ())
        raise InputError(f"none of the replies in {', '.join(dataset)} has a rating of {aspect}: the reply ids differ")
    needed = ", ".join(TEXTS[name] for name in plan.texts)
    if not examples:
        hint = "give --background" if "background" in plan.texts else "name its columns with --column"
        raise InputError(f"none of the {n_rated} rated replies in {', '.join(dataset)} has all of {needed}: {hint}")
    if len(examples) < n_rated:
        print(f"{n_rated - len(examples)} of {n_rated} rated replies are left out: they lack one of {needed}")
    return examples


def _print_result(result: "Calibration", out: Path, failed: int) -> None:
    """Prints how well the steps do, the steps, and what is to be known of them."""
    from fcconan.cli.output import print_table

    named = (("calibrated steps", result.report), ("the task's own steps", result.baseline), ("gain", result.gain))
    rows = [
        (
            name,
            figure(score.value),
            interval(score.low, score.high),
            score.n,
            score.n_missing,
            score.reason or ("" if score.worst is None else f"{figure(score.worst)} in the worst case"),
        )
        for name, score in named
    ]
    print_table(
        f"{result.settings.resolved_metric} with people on the report part; steps in {out}",
        ("", "value", "95% interval", "n", "missing", "note"),
        rows,
    )
    for number, step in enumerate(result.steps.steps, start=1):
        print(f"{number}. {step}")
    summary = result.parts["report"]
    if shared := summary["shared_texts"]:
        print(
            f"{shared} of {summary['examples']} replies of the report part have a text that another part holds, too: "
            "too many HS share their replies to be kept apart"
        )
    if failed:
        from fcconan.data import failed as failure

        print(f"{failure(failed)}, which may have changed the result: run the command again")


def _people(
    replies: "Table",
    dataset: list[str],
    ratings: Path | None,
    split: str | None,
    aspect: str,
    raters: list[str] | None,
) -> dict[str, float]:
    from fcconan.data import open_table
    from fcconan.judging import mean_of_people

    if ratings is not None:
        return mean_of_people(open_table("ratings", [ratings]), aspect, raters=raters)
    if not replies.folders:
        files = ", ".join(dataset)
        raise InputError(f"{files} is no dataset folder, so it has no ratings: give people's ratings with --ratings")
    return mean_of_people(open_table("ratings", replies.folders, split=split), aspect, raters=raters)


def _range(given: str) -> tuple[float, float] | None:
    """Reads LOW,HIGH, one number for both, or `model`."""
    if given == "model":
        return None
    try:
        ends = [float(part) for part in given.split(",")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2) or not all(math.isfinite(end) for end in ends):
        raise InputError(f"--temperatures is {given!r}: give LOW,HIGH such as 0,0.5, one number, or model")
    return ends[0], ends[-1]
