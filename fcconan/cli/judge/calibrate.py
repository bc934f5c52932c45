"""`fcconan judge calibrate`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fcconan.cli import models
from fcconan.cli.judge import rate
from fcconan.errors import InputError

NAME = "calibrate"
EXAMPLE = (
    "Example: fcconan judge calibrate data/cseval --split dev --task cseval --aspect relevance --model gpt-4o "
    "--out relevance.yaml"
)


def run(
    dataset: rate.Dataset,
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
    errors: Annotated[int, typer.Option("--errors", help="Misjudged examples that are shown.")] = 3,
    metric: Annotated[str, typer.Option("--metric", help="spearman, kendall or pearson.")] = "spearman",
    published: Annotated[
        list[str] | None, typer.Option("--published", help="A choice of the published code; see docs/judges.md.")
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", help="Of the bootstrap over HS.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of parts, examples, sampling and bootstrap.")] = 0,
    config: rate.Config = "replies",
    split: rate.Split = None,
    column: rate.Column = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="The first rated replies only.")] = None,
    base_url: models.BaseUrl = None,
    api_key_variable: models.KeyVariable = "OPENAI_API_KEY",
    journal: models.JournalFile = None,
    concurrency: models.Concurrency = 8,
    requests_per_minute: models.PerMinute = None,
    timeout: models.Timeout = 60.0,
    retries: models.Retries = 4,
    schema: models.Structured = True,
    prices: models.Prices = None,
    max_cost: models.MaxCost = None,
    dry_run: models.DryRun = False,
    device: models.Device = None,
    batch_size: models.BatchSize = 8,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")] = None,
) -> None:
    """Find evaluation steps that agree with people's ratings (Auto-CSEval)."""
    from dataclasses import asdict

    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.judge.calibrate import calibrate
    from fcconan.judge.calibration import Settings, planned_calls
    from fcconan.judge.calibration_data import Example
    from fcconan.judge.calibration_data import split as split_parts
    from fcconan.judge.rate import ModelJudge
    from fcconan.judge.replies import load_replies
    from fcconan.judge.rubrics import load_rubric
    from fcconan.judge.strategies import Plan

    if out.suffix not in (".yaml", ".yml") or out.is_dir():
        raise InputError(f"{out} is no file of steps: expected a name that ends in .yaml")
    rate.check_outside(dataset, out)
    check_json_target(json_file, out)
    chosen = load_rubric(task).aspect(aspect)
    rated = _people(dataset, ratings, split, aspect, rater)
    examples = []
    for row in load_replies(dataset, split=split, columns=rate.columns_of(column), config=config):
        if row["reply_id"] in rated and row["text"].strip():
            shown = {"hate_speech": row["hate_speech"], "counter_narrative": row["text"]}
            examples.append(Example(row["hs_id"], shown, rated[row["reply_id"]]))
    if not examples:
        raise InputError(f"none of the replies in {dataset} has a rating of {aspect}: the reply ids differ")
    parts = split_parts(examples[:limit], seed=seed)
    settings = Settings(
        sizes=tuple(size) if size else (3, 6),
        trials=trials,
        keep=keep,
        rounds=rounds,
        errors=errors,
        metric=metric,  # type: ignore[arg-type]
        resamples=resamples,
        seed=seed,
        published=tuple(published or ()),  # type: ignore[arg-type]
    )
    if dry_run:
        drafts, judged = planned_calls(parts, settings)
        print_table("What would be asked at most (nothing was sent)", ("drafts", "ratings"), [(drafts, judged)])
        return
    connection = models.Connection(
        base_url,
        api_key_variable,
        journal,
        concurrency,
        requests_per_minute,
        timeout,
        retries,
        schema,
        prices,
        max_cost,
        device,
        batch_size,
    )
    judge_model = connection.open(model)
    drafting = judge_model if drafter is None or drafter == model else connection.open(drafter)
    rubric = load_rubric(task)

    def judge(steps: Any, asked: Any) -> list[float | None]:
        plan = Plan(rubric, "auto-cseval", (aspect,), steps={aspect: list(steps)})
        rows = [
            {
                "reply_id": str(number),
                "hate_speech": each.variables["hate_speech"],
                "text": each.variables["counter_narrative"],
            }
            for number, each in enumerate(asked)
        ]
        return [rows_of_one[0]["value"] for rows_of_one in ModelJudge(judge_model, plan).rate(rows)]

    result = calibrate(
        chosen,
        parts,
        rate=judge,
        drafter=drafting,
        log=out.with_suffix(".log.jsonl"),
        settings=settings,
        rater=judge_model.name,
        progress=lambda line: print(line, file=sys.stderr) if sys.stderr.isatty() else None,
    )
    result.save(out)
    named = (("calibrated steps", result.report), ("the task's own steps", result.baseline), ("gain", result.gain))
    rows = [
        (
            name,
            "" if score.value is None else f"{score.value:.3f}",
            "" if score.low is None else f"[{score.low:.3f}, {score.high:.3f}]",
            score.n,
            score.n_missing,
            score.reason or "",
        )
        for name, score in named
    ]
    print_table(
        f"{settings.resolved_metric} with people on the report part; steps in {out}",
        ("", "value", "95% interval", "n", "missing", "note"),
        rows,
    )
    for number, step in enumerate(result.steps.steps, start=1):
        print(f"{number}. {step}")
    if json_file is not None:
        write_json(json_file, {"out": str(out), **asdict(result)})


def _people(
    dataset: Path, ratings: Path | None, split: str | None, aspect: str, raters: list[str] | None
) -> dict[str, float]:
    from fcconan.judge.people import mean_of_people
    from fcconan.judge.replies import files_of
    from fcconan.row_files import read_rows

    if ratings is None and not dataset.is_dir():
        raise InputError(f"{dataset} is no dataset folder, so it has no ratings: give people's ratings with --ratings")
    files = [ratings] if ratings is not None else files_of(dataset, split, "ratings")
    return mean_of_people((row for file in files for row in read_rows(file)), aspect, raters=raters)
