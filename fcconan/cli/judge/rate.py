"""`fcconan judge rate`."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import models
from fcconan.cli.judge import inputs
from fcconan.cli.judge.ending import finish
from fcconan.cli.options import MOST_ROWS, MOST_SAMPLES, MOST_TOKENS, seed_option
from fcconan.errors import InputError

if TYPE_CHECKING:
    from collections import Counter

    from fcconan.data import Columns
    from fcconan.judging import Plan, Question, RatingSummary, Row, Task
    from fcconan.models import Answers, Model

NAME = "rate"
EXAMPLE = "Example: fcconan judge rate demo-dataset --task cseval --model lexical --out ratings.parquet"
LEXICAL = models.LEXICAL
STRATEGY = "rubric"

TaskName = Annotated[
    str, typer.Option("--task", help="A task of annotations/, a task.yaml, or a rubric file (CSV, JSON).")
]
AspectNames = Annotated[list[str] | None, typer.Option("--aspect", help="Rate this one only; once for each.")]
PromptFile = Annotated[Path | None, typer.Option("--prompt", help="A prompt file (YAML) instead of the task's prompt.")]
StrategyName = Annotated[
    str | None, typer.Option("--strategy", help="direct, rubric (default), g-eval, auto-cseval, prometheus, grounded.")
]
StepsFiles = Annotated[
    list[Path] | None, typer.Option("--steps", help="Calibrated steps, for auto-cseval; once for each aspect.")
]
Samples = Annotated[int | None, typer.Option("--samples", max=MOST_SAMPLES, help="How often each question is asked.")]
Logprobs = Annotated[bool, typer.Option("--logprobs", help="g-eval: weigh grades by their probability.")]
Temperature = Annotated[float | None, typer.Option("--temperature", help="Default: 0, or 1 for several samples.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, max=MOST_TOKENS, help="Longest answer.")]
Seed = Annotated[int | None, seed_option("Of sampling; -1 sends none.", least=-1)]

Name = Annotated[
    str | None, typer.Option("--name", help="The rater's name; default: the model's, and what is not as usual.")
]


@models.connected()
def run(
    dataset: inputs.Dataset,
    out: Annotated[Path, typer.Option("--out", help="File of ratings: .parquet, .jsonl or .csv.")],
    model: Annotated[list[str], typer.Option("--model", help=f"{models.MODEL_HELP}, or lexical; once for each.")],
    task: TaskName = "multi-aspect",
    strategy: StrategyName = None,
    aspect: AspectNames = None,
    prompt: PromptFile = None,
    steps: StepsFiles = None,
    samples: Samples = None,
    logprobs: Logprobs = False,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    seed: Seed = 0,
    background: inputs.Background = None,
    passages: inputs.PassageCount = None,
    panel: Annotated[
        str | None, typer.Option("--panel", help="Also combine the models: mean, median or majority.")
    ] = None,
    name: Name = None,
    config: inputs.Config = "replies",
    split: inputs.Split = None,
    column: inputs.Column = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, max=MOST_ROWS, help="The first replies only.")] = None,
    connection: models.Connection = models.DEFAULT,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the summary to this file.")] = None,
) -> None:
    """Rate every reply on every aspect of a task; what fails is missing, with a reason."""
    from fcconan.cli.judge.ratings_table import print_ratings
    from fcconan.cli.output import check_json_target
    from fcconan.data import check_row_target
    from fcconan.judging import LABELLED, RATED, Plan, load_rubric

    check_row_target(out)
    connection.check_files(
        {"--out": out, "--json": json_file},
        read=[*map(Path, dataset), prompt, *(steps or ()), Path(task)],
        folders=[background],
        names=model,
    )
    check_json_target(json_file, out)
    _check_models(model, panel, name)
    chosen = load_rubric(task)
    if aspect:
        chosen = chosen.model_copy(update={"aspects": [chosen.aspect(name) for name in aspect]})
    plan = Plan(
        chosen,
        strategy or STRATEGY,  # type: ignore[arg-type]
        prompt=prompt,
        steps=steps_of(steps, chosen),
        samples=samples,
        logprobs=logprobs,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=sent_seed(seed),
    )
    questions = plan.questions()  # refuses what does not go together, before a model is loaded
    if model == [LEXICAL]:
        _refuse_for_lexical(
            strategy=strategy,
            prompt=prompt,
            steps=steps,
            samples=samples,
            logprobs=logprobs or None,
            temperature=temperature,
            max_tokens=max_tokens,
            background=background,
        )
    knowledge = inputs.knowledge_of(background, passages, shown="background" in plan.texts)
    replies = _First(inputs.open_replies(dataset, config=config, split=split, column=column), limit)
    shown = "background" in plan.texts and model != [LEXICAL]
    items = inputs.count_background(replies, knowledge) if shown else None
    beside = model if panel is not None else ()
    opened = [None if each == LEXICAL else connection.open(each, beside=beside) for each in model]
    if connection.dry_run:
        models.print_rehearsals(_rehearsed(opened, plan, knowledge, replies), connection.prices, json_file)
        return
    judges = _judges(opened, plan, knowledge, name)
    total = sum(1 for _ in replies) * (1 if panel is not None else len(judges))
    with _rated(judges, replies, panel, connection.answers()) as rated:
        summary = _write(progress(rated, total, "rating"), LABELLED if chosen.labels else RATED, out)
    failed = sum(getattr(judge, "failed", 0) for judge in judges)
    result = summary.result(
        judges=[{"name": judge.name, **getattr(judge, "configuration", {})} for judge in judges],
        failed_requests=failed,
        background=items,
    )
    print_ratings(result, out)
    used = models.print_used(opened)
    nothing = _nothing(judges, result["rows"], expected_answer(questions))
    for line in nothing:
        print(line)
    finish({"out": str(out), **result, "used": used}, json_file, failed=failed > 0 or len(nothing) == len(judges))


def progress(rows: Iterable[Any], total: int | None, what: str) -> Iterator[Any]:
    """Shows how far the work has come, on a terminal."""
    from tqdm import tqdm

    yield from tqdm(rows, total=total, desc=what, disable=None, leave=False)


def steps_of(paths: list[Path] | None, task: "Task") -> "dict[str, list[str]] | None":
    """Reads calibrated steps of some aspects of a task.

    Raises:
        InputError: A file holds none, or was calibrated for another scale.
    """
    from fcconan.judging import load_steps

    if not paths:
        return None
    loaded = [load_steps(path) for path in paths]
    return {each.aspect: each.onto(task.aspect(each.aspect)).steps for each in loaded}


def expected_answer(questions: "Sequence[Question]") -> str:
    """Returns the form of the answers to questions, for people."""
    first = questions[0]
    names = [aspect.name for question in questions for aspect in question.aspects]
    return {
        "object": f'a JSON object with {", ".join(names)}, such as {{"{names[0] if names else "label"}": ...}}',
        "number": "a grade alone, such as 3",
        "result": "[RESULT] and a grade at the end, such as [RESULT] 3",
        "label": 'a JSON object such as {"label": "..."}',
    }[first.form]


def sent_seed(given: int | None) -> int | None:
    """Returns the seed that requests carry: none where a number below 0 asks for none."""
    return None if given is None or given < 0 else given


def _check_models(names: list[str], panel: str | None, name: str | None) -> None:
    """Checks that models, panel and name go together.

    Raises:
        InputError: They do not.
    """
    from fcconan.judging import RULES

    if panel is not None and panel not in RULES:
        raise InputError(f"there is no panel {panel!r}: choose one of {', '.join(RULES)}")
    if panel is not None and len(names) < 2:
        raise InputError(f"--panel {panel} combines models, and there is one: give two or more with --model")
    if name is not None and (len(names) > 1 or names == [LEXICAL]):
        raise InputError(f"--name {name} is for one model: name one with --model, and not the lexical baseline")
    if len(set(names)) < len(names):
        raise InputError("one model is named twice: name each once")


def _rehearsed(
    opened: "Sequence[Model | None]", plan: "Plan", knowledge: Any, replies: Iterable["Row"]
) -> list[models.Rehearsal]:
    """Goes through all that models would be asked; None stands for the lexical baseline.

    Raises:
        InputError: There is no model.
    """
    from fcconan.judging import ModelJudge

    rehearsals = [models.Rehearsal(each) for each in opened if each is not None]
    for rehearsal in rehearsals:
        for _ in ModelJudge(rehearsal, plan, background=knowledge).rate(replies):
            pass
    if not rehearsals:
        raise InputError("the lexical baseline asks nothing: leave --dry-run out")
    return rehearsals


def _judges(opened: "Sequence[Model | None]", plan: "Plan", knowledge: Any, name: str | None) -> list[Any]:
    """Returns the judges, each with a model; None stands for the lexical baseline."""
    from fcconan.cli.watch import Watched
    from fcconan.judging import LexicalJudge, ModelJudge

    return [
        LexicalJudge(plan.task) if each is None else ModelJudge(Watched(each), plan, name=name, background=knowledge)
        for each in opened
    ]


@contextmanager
def _rated(
    judges: list[Any], replies: Iterable["Row"], panel: str | None, answers: "Answers"
) -> "Iterator[Iterator[list[Row]]]":
    """Has replies rated by a panel, or by one judge after the other, whose rows are kept next to the answers.

    What is kept goes once the rows are written: a run that is stopped before goes on with it.
    """
    from fcconan.judging import KeptRatings, ModelJudge, rate_together

    if panel is not None:
        yield rate_together(judges, replies, panel)  # type: ignore[arg-type]
        return
    if answers.is_fresh:
        answers.prepare()  # which opens the epoch
    epoch = answers.epoch
    kept = [
        KeptRatings(judge, answers.path, epoch=epoch) if isinstance(judge, ModelJudge) else judge for judge in judges
    ]
    yield _one_after_another(kept, replies)
    for each in kept:
        if isinstance(each, KeptRatings):
            each.forget()


def _write(rated: Iterable[list["Row"]], columns: "Columns", out: Path) -> "RatingSummary":
    from fcconan.data import RowWriter
    from fcconan.judging import RatingSummary

    summary = RatingSummary()
    with RowWriter(out, columns) as writer:
        for rows in rated:
            summary.add(rows)
            writer.write(rows)
    return summary


def _nothing(judges: list[Any], rows: "list[Row]", expected: str) -> list[str]:
    """Returns a line for every judge that gave no value at all, which says why."""
    from fcconan.cli.watch import why_nothing

    return [
        why_nothing(f"{judge.name} rated nothing", missing, [getattr(judge, "model", None)], expected=expected)
        for judge in judges
        if (missing := _missing_alone(rows, judge.name)) is not None
    ]


def _missing_alone(rows: "list[Row]", rater: str) -> "Counter[str] | None":
    """Why a rater gave no value at all; None where there is one."""
    from collections import Counter

    missing: Counter[str] = Counter()
    for row in rows:
        if row["rater"] == rater:
            if row["n"]:
                return None
            missing.update(row["missing"])
    return missing or None


def _refuse_for_lexical(**given: Any) -> None:
    option = next((name for name, value in given.items() if value is not None), None)
    if option is not None:
        raise InputError(
            f"--{option.replace('_', '-')} is for models, and the lexical baseline counts words: leave it out"
        )


def _one_after_another(judges: list[Any], replies: Iterable["Row"]) -> "Iterator[list[Row]]":
    for judge in judges:
        yield from judge.rate(replies)


class _First:
    """The first rows of something that can be read again and again."""

    def __init__(self, rows: Iterable["Row"], limit: int | None) -> None:
        self._rows, self._limit = rows, limit

    def __iter__(self) -> "Iterator[Row]":
        from itertools import islice

        return islice(iter(self._rows), self._limit)
