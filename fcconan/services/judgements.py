"""Ratings of replies by language models."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from fcconan.errors import InputError
from fcconan.services.background import Background, background_notice, count_background, knowledge_of
from fcconan.services.configuration import option
from fcconan.services.connections import LEARNED, MODEL_HELP, connected, notices_of, usage_of
from fcconan.services.model_results import (
    Progress,
    RowsResult,
    WatchedModel,
    dry_run_of,
    reporting,
    row_target,
    why_nothing,
    written,
)
from fcconan.services.parallelism import Sharding
from fcconan.services.prompts import (
    JUDGEMENTS,
    METHOD,
    JudgeOptions,
    RatingPrompt,
    expected_answer,
    steps_of,
    task_of,
    task_option,
)
from fcconan.services.rows import REPLIES, Source, open_rows

if TYPE_CHECKING:
    from fcconan.judging import RatingPlan, Row
    from fcconan.models import Client, Model

MOST_SAMPLES = 10_000  # answers of a model to one question


class RateOptions(JudgeOptions, RatingPrompt, Background, Sharding):
    """Options of `rate`: models, task, rating method and endpoint."""

    model: tuple[str, ...] = option(
        help=f"Language model: {MODEL_HELP}; or learned:FOLDER of `judge train`.",
        short="-m",
        metavar="NAME",
        role="model",
        min_length=1,
    )
    task: str = task_option("multi-aspect")
    samples: int | None = option(None, help="Answers to each question.", rare=True, ge=1, le=MOST_SAMPLES)
    logprobs: bool = option(False, help="Weight grades by their probability (g-eval).", rare=True)
    limit: int | None = option(None, help="Use only the first rows.", short="-n", ge=1)


class RateResult(RowsResult):
    """Ratings; the main table has a row of counts for each rater and aspect."""

    kind: ClassVar[str] = "ratings"

    def ratings(self) -> "Sequence[Row]":
        """Returns the ratings: a row for each rater, reply and aspect, in the columns of a Rating."""
        from fcconan.judging import RATED

        return self.made(RATED)


def rate(
    replies: Annotated[Source, REPLIES],
    options: RateOptions,
    *,
    out: Annotated[Path | str | None, JUDGEMENTS] = None,
    client: "Client | Model | None" = None,
    progress: Progress | None = None,
) -> RateResult:
    """Rates each reply on each aspect of a task; a failed rating is missing, with a reason.

    Args:
        replies: Rows of replies: files, folders, names, data frames, datasets or mappings.
        options: The options.
        out: The file of ratings; without one, they are returned in memory.
        client: A `fcconan.models.Client` of the user, which sends the requests; or a model of the user, which replaces
            the endpoint. A model has a `name`, a `configuration` (all settings that change its answers) and a method
            `replies(calls)`.
        progress: Function that receives the number of rated replies and of all replies.

    Returns:
        The ratings (`ratings()`). The main table has one row for each rater and aspect, with the columns `rater`,
        `aspect`, `n`, `n_missing`, `missing` (counts by reason), `mean` and `bounds`.

    Raises:
        InputError: A source cannot be read, or options do not go together.

    Examples:
        >>> reply = {"hate_speech": "The Ombrey keep our books.", "text": "They return them.", "system": "one"}
        >>> from fcconan.models import ChatResponse
        >>> class Judge:
        ...     name, configuration = "mine", {}
        ...     def replies(self, calls):
        ...         return (ChatResponse('{"relevance": 4}') for _ in calls)
        >>> options = RateOptions(model=("mine",), task="cseval", aspect=("relevance",))
        >>> result = rate([reply], options, client=Judge())
        >>> [(row["rater"], row["aspect"], row["value"]) for row in result.ratings()]
        [('mine:rubric', 'relevance', 4.0)]
    """
    from fcconan.judging import LABELLED, RATED, ModelJudge, RatingSummary

    out = row_target(out)
    names = list(dict.fromkeys(options.model))
    _check_models(names, options, client)
    if all(map(_is_learned, names)):
        return _rated_by_learned(names, replies, options, out)
    plan = _plan(options)
    questions = plan.questions()  # refuses options that do not go together, before a model is loaded
    knowledge = knowledge_of(options, shown="background" in plan.texts)
    rows = _Selected(open_rows("replies", replies, options), options)
    items = count_background(rows, knowledge) if "background" in plan.texts else None
    notice = None if items is None else background_notice(items, knowledge)
    notes = () if notice is None else (notice,)
    with connected("rate", {"replies": replies}, options, client=client) as connection:
        opened = [connection.open(each) for each in names]
        if options.dry_run:
            return RateResult(_dry_run(opened, plan, knowledge, rows, options), notes=notes)
        judges = [
            ModelJudge(WatchedModel(each), plan, name=options.rater_name, background=knowledge) for each in opened
        ]
        total = sum(1 for _ in rows) * len(judges)
        rated = (ratings for judge in judges for ratings in judge.rate(rows))
        summary = RatingSummary()
        columns = LABELLED if plan.task.labels else RATED
        memory = written(reporting(rated, total, progress), columns, out, summary.add)
        failed = sum(getattr(judge, "failed", 0) for judge in judges)
        result = summary.result(
            judges=[{"name": judge.name, **getattr(judge, "configuration", {})} for judge in judges],
            failed_requests=failed,
            background=items,
        )
        problems = tuple(_problems(judges, result["rows"], expected_answer(questions)))
        is_failed = failed > 0 or len(problems) == len(judges)
        if is_failed:
            connection.keep_open()
        return RateResult(
            {"out": None if out is None else str(out), **result, "used": usage_of(opened)},
            notices=notices_of(opened),
            notes=notes,
            problems=problems,
            failed=is_failed,
            path=out,
            memory=memory,
        )


def _plan(options: RateOptions) -> "RatingPlan":
    """Returns the questions about each reply.

    Raises:
        InputError: The task or the steps cannot be used.
    """
    from fcconan.judging import RatingPlan

    task = task_of(options.task, options.aspect)
    return RatingPlan(
        task,
        options.rating_method or METHOD,
        prompt=options.prompt,
        steps=steps_of(options.steps, task),
        samples=options.samples,
        logprobs=options.logprobs,
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        seed=options.sent_seed,
    )


def _check_models(names: Sequence[str], options: RateOptions, client: Any) -> None:
    """Checks that models, name and own client go together.

    Raises:
        InputError: They do not.
    """
    from fcconan.models import Client

    name = options.rater_name
    if any(not each.partition(":")[2].strip() for each in names if _is_learned(each)):
        raise InputError(
            f"--model {LEARNED}: names no folder: give {LEARNED}:FOLDER, as `fcconan judge train` wrote it"
        )
    if name is not None and (len(names) > 1 or _is_learned(names[0])):
        raise InputError(f"--rater-name {name} is for one model: name one with --model, and no learned rater")
    if client is not None and not isinstance(client, Client) and len(names) > 1:
        raise InputError(f"client is one model, and model names {len(names)}: name one")


def _is_learned(name: str) -> bool:
    return name.startswith(f"{LEARNED}:")


def _rated_by_learned(names: Sequence[str], replies: Source, options: RateOptions, out: Path | None) -> RateResult:
    """Returns the ratings by learned raters."""
    import pandas as pd

    from fcconan.data import LEARNED as SCHEMA
    from fcconan.judging import RatingSummary, rate_learned

    table = pd.DataFrame([dict(row) for row in _Selected(open_rows("replies", replies, options), options)])
    found = [rate_learned(Path(name.partition(":")[2]), table, options.aspect) for name in names]
    rated = pd.concat([each for each, _ in found]).reindex(columns=[*SCHEMA.kinds]).astype(object)
    summary = RatingSummary()
    memory = written([rated.where(rated.notna(), None).to_dict("records")], SCHEMA.kinds, out, summary.add)
    result = summary.result(judges=[{"name": name} for name in rated["rater"].unique()], failed_requests=0)
    notes = tuple(note for _, more in found for note in more)
    return RateResult({"out": out and str(out), **result, "used": []}, notes=notes, path=out, memory=memory)


def _dry_run(
    opened: "Sequence[Model]", plan: "RatingPlan", knowledge: Any, replies: Iterable["Row"], options: RateOptions
) -> dict[str, Any]:
    """Counts all requests to models."""
    from fcconan.judging import ModelJudge
    from fcconan.models import DryRun

    rehearsals = [DryRun(each) for each in opened]
    for rehearsal in rehearsals:
        for _ in ModelJudge(rehearsal, plan, background=knowledge).rate(replies):
            pass
    return dry_run_of(rehearsals, options.prices)


def _problems(judges: list[Any], rows: "list[Row]", expected: str) -> list[str]:
    """Returns a sentence for each judge without any value.

    Args:
        judges: The judges.
        rows: The counts of each rater and aspect.
        expected: The form of an answer that the prompt requests.
    """
    found = []
    for judge in judges:
        own = [row for row in rows if row["rater"] == judge.name]
        missing = sum((Counter(row["missing"]) for row in own), Counter[str]())
        if missing and not any(row["n"] for row in own):
            models = [getattr(judge, "model", None)]
            found.append(why_nothing(f"{judge.name} rated nothing", missing, models, expected=expected))
    return found


class _Selected:
    """The first rows of a table and, of these, the shard of this machine; they can be read repeatedly."""

    def __init__(self, rows: Iterable["Row"], options: RateOptions) -> None:
        self._rows, self._limit, self._portion = rows, options.limit, options.portion

    def __iter__(self) -> "Iterator[Row]":
        return (row for row in islice(self._rows, self._limit) if self._portion.holds(row["item_id"]))
