"""Calibration of evaluation steps: drafts are refined until a judge agrees with people's ratings (Auto-CSEval)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from fcconan.errors import InputError
from fcconan.services.background import Background, knowledge_of
from fcconan.services.configuration import LARGEST, option, output
from fcconan.services.connections import MODEL_HELP, connected, notices_of, usage_of
from fcconan.services.locations import dataset_folder
from fcconan.services.model_results import ModelResult, WatchedModel, check_yaml_target, dry_run_of
from fcconan.services.options import BOOTSTRAP, LARGEST_SEED, MOST_RESAMPLES, Endpoint, PartSelection
from fcconan.services.prompts import task_option
from fcconan.services.rows import REPLIES, Source, listed, names_of, open_rows, rows_argument

if TYPE_CHECKING:
    from fcconan.data import Table
    from fcconan.judging import Calibration, CalibrationSettings, ModelJudge, RatedExample
    from fcconan.models import Client, Model


class CalibrateOptions(PartSelection, Background, Endpoint):
    """Which steps are calibrated, against whose ratings, and how they are searched."""

    aspect: str = option(help="Aspect of the task to calibrate.", metavar="NAME")
    model: str = option(help=f"The judge: {MODEL_HELP}.", short="-m", metavar="NAME", role="model")
    task: str = task_option("cseval")
    drafter: str | None = option(
        None, help="Model that writes the evaluation steps; default: the judge.", metavar="NAME", role="model"
    )
    rater: tuple[str, ...] = option(
        (), help="Use only this rater; default: the mean of all people.", rare=True, metavar="NAME"
    )
    draft_examples: tuple[Annotated[int, Field(ge=1, le=LARGEST)], ...] = option(
        (), help="Examples in the prompt of a draft; default: 3 and 6.", rare=True
    )
    trials: int = option(5, help="Drafts for each number of examples.", rare=True, ge=1)
    beam: int = option(3, help="Candidates that enter each round of refinement.", rare=True, ge=1)
    refinement_rounds: int = option(1, help="Rounds of refinement.", rare=True, ge=0)
    refinements: int = option(1, help="Requests for each kind of edit.", rare=True, ge=1)
    refinement_examples: int = option(
        3, help="Worst predicted examples in the prompt of a refinement.", rare=True, ge=1
    )
    min_coverage: float = option(
        0.8,
        help="Smallest share of ratings that selected steps must predict.",
        rare=True,
        metavar="FLOAT above 0 and up to 1",
        gt=0,
        le=1,
    )
    draft_temperatures: str = option(
        "0,0.5",
        help="Temperatures of drafts; refinements use HIGH, and model is the model's own.",
        rare=True,
        metavar="LOW,HIGH|model",
    )
    drafter_max_tokens: int = option(1024, help="Longest output of the drafter.", rare=True, ge=1)
    coefficient: Literal["spearman", "kendall", "pearson"] = option(
        "spearman", help="Coefficient of correlation with people.", rare=True
    )
    resamples: int = option(
        10_000, help="Resamples of the bootstrap over HS.", group=BOOTSTRAP, rare=True, ge=100, le=MOST_RESAMPLES
    )
    seed: int = option(0, help="Seed of all random choices.", group=BOOTSTRAP, rare=True, ge=0, le=LARGEST_SEED)
    limit: int | None = option(None, help="Use only the first rated replies.", short="-n", rare=True, ge=1)

    @property
    def settings(self) -> "CalibrationSettings":
        """The settings of the search.

        Raises:
            InputError: They do not go together.
        """
        from fcconan.judging import CalibrationSettings

        return CalibrationSettings(
            sizes=self.draft_examples or (3, 6),
            trials=self.trials,
            keep=self.beam,
            rounds=self.refinement_rounds,
            refinements=self.refinements,
            errors=self.refinement_examples,
            least_predicted=self.min_coverage,
            temperatures=_range(self.draft_temperatures),
            max_tokens=self.drafter_max_tokens,
            metric=self.coefficient,
            resamples=self.resamples,
            seed=self.seed,
        )


@dataclass(frozen=True, repr=False)
class CalibrateResult(ModelResult):
    """Calibrated steps; the main table compares them with the task's own on the report part.

    Attributes:
        calibration: Steps, scores and settings; None after a dry run.
    """

    calibration: "Calibration | None" = None
    kind: ClassVar[str] = "calibration"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns the scores of the calibrated steps, of the task's own steps, and their difference."""
        found = self.calibration
        if found is None:
            return super().rows()
        named = (("calibrated steps", found.report), ("the task's own steps", found.baseline), ("gain", found.gain))
        return [{"steps": name, **asdict(score)} for name, score in named]

    @property
    def signature(self) -> str:
        """The signature of the calibration."""
        return super().signature if self.calibration is None else self.calibration.steps.signature


def calibrate(
    replies: Annotated[Source, REPLIES],
    options: CalibrateOptions,
    *,
    out: Annotated[Path | str, output("File of steps to write (.yaml); a log is written next to it.", role="write")],
    ratings: Annotated[
        Source | None, rows_argument("--ratings", "People's ratings; default: the ratings of the dataset.")
    ] = None,
    client: "Client | Model | None" = None,
    progress: Callable[[str], None] = lambda line: None,
) -> CalibrateResult:
    """Searches for evaluation steps with which a judge agrees with people's ratings (Auto-CSEval, Algorithm 1).

    Args:
        replies: Rows of replies: files, folders, names, data frames, datasets or mappings.
        options: The options.
        out: The file of steps; a log is written next to it.
        ratings: Rows of people's ratings; by default those of the datasets among the replies.
        client: Client or model of the user, as in `rate`.
        progress: Function that receives a line at each stage.

    Returns:
        The best steps (`calibration.steps`) and their scores. The main table has three rows: the calibrated steps, the
        task's own steps, and the difference (`gain`), all on the report part. Its columns include `value` (the
        coefficient, -1 to 1), the interval `low` and `high`, `n` and `n_missing` (replies). After a dry run,
        `calibration` is None, and the main table has the largest number of requests of each model.

    Raises:
        InputError: A source cannot be read, no reply has a rating and all texts, or options do not go together.

    Examples:
        >>> endpoint = "http://127.0.0.1:8000/v1"
        >>> options = CalibrateOptions(model="m", aspect="relevance", base_url=endpoint, dry_run=True)
        >>> [row["to_send"] for row in calibrate("demo", options, out="steps.yaml").data["dry_run"]]
        [22, 932]
    """
    from fcconan.judging import (
        ModelJudge,
        RatingPlan,
        StepsRater,
        dry_run_calibration,
        load_rubric,
        search_steps,
        split_examples,
    )
    from fcconan.models import UnaskedModel

    out = Path(out)
    check_yaml_target(out, "file of steps")
    rubric = load_rubric(options.task)
    aspect = rubric.aspect(options.aspect)
    plan = RatingPlan(rubric, "auto-cseval", (aspect.name,), steps={aspect.name: aspect.steps})
    knowledge = knowledge_of(options, shown="background" in plan.texts)
    table = open_rows("replies", replies, options)
    rated = _people(table, replies, ratings, options)
    unasked = ModelJudge(UnaskedModel(), plan, background=knowledge)
    examples, notes = _examples(names_of(replies), table, rated, unasked)
    parts = split_examples(examples[: options.limit], seed=options.seed)
    settings = options.settings
    inputs = {"replies": replies, "ratings": ratings}
    with connected("calibrate", inputs, options, client=client) as connection:
        judge = connection.open(options.model)
        drafter = judge if options.drafter in (None, options.model) else connection.open(options.drafter or "")
        if options.dry_run:
            found = dry_run_calibration(aspect, parts, settings, plan, judge, drafter)
            return CalibrateResult(dry_run_of(found, options.prices), notes=notes, at_most=True)
        rater = StepsRater(WatchedModel(judge), plan, aspect.name)
        result = search_steps(
            aspect,
            parts,
            rate=rater,
            drafter=WatchedModel(drafter),
            log=out.with_suffix(".log.jsonl"),
            settings=settings,
            rater=judge.name,
            progress=progress,
        )
        result.save(out)
        failed = rater.failed + result.failed_drafts
        if failed:
            connection.keep_open()
        asked = [judge] if drafter is judge else [judge, drafter]
        data = {"out": str(out), "failed_requests": failed, "used": usage_of(asked), **asdict(result)}
        return CalibrateResult(data, notices=notices_of(asked), notes=notes, failed=failed > 0, calibration=result)


def _examples(
    name: str, replies: "Table", rated: Mapping[str, float], judge: "ModelJudge"
) -> "tuple[list[RatedExample], tuple[str, ...]]":
    """Returns the replies that people rated, with the texts that the judge is shown, and a note about incomplete ones.

    Args:
        name: Where the replies are from, for messages.
        replies: The replies.
        rated: People's ratings by reply.
        judge: It is not asked.

    Raises:
        InputError: None is left.
    """
    from fcconan.judging import TEXTS, RatedExample

    plan = judge.plan
    examples, n_rated = [], 0
    for row in replies:
        if row["reply_id"] in rated:
            n_rated += 1
            if calls := judge.calls(row):
                shown = {each: calls[0].variables[each] for each in plan.texts}
                examples.append(RatedExample(row["hs_id"], shown, rated[row["reply_id"]]))
    if not n_rated:
        aspect = ", ".join(plan.aspects or ())
        raise InputError(f"none of the replies in {name} has a rating of {aspect}: the reply ids differ")
    needed = ", ".join(TEXTS[each] for each in plan.texts)
    if not examples:
        hint = "give --background" if "background" in plan.texts else "name its columns with --rename"
        raise InputError(f"none of the {n_rated} rated replies in {name} has all of {needed}: {hint}")
    if len(examples) == n_rated:
        return examples, ()
    left_out = n_rated - len(examples)
    return examples, (f"{left_out} of {n_rated} rated replies are left out: they lack one of {needed}",)


def _people(replies: "Table", sources: Source, ratings: Source | None, options: CalibrateOptions) -> dict[str, float]:
    """Returns the mean of people's ratings by reply.

    Raises:
        InputError: There are none.
    """
    from fcconan.data import open_table
    from fcconan.judging import human_means

    if ratings is not None:
        table = open_table("ratings", listed(ratings), locate=dataset_folder)
    elif replies.folders:
        table = open_table("ratings", replies.folders, split=options.split)
    else:
        name = names_of(sources)
        raise InputError(f"{name} is not a dataset folder and has no ratings: give people's ratings with --ratings")
    return human_means(table, options.aspect, raters=list(options.rater) or None)


def _range(given: str) -> tuple[float, float] | None:
    """Reads LOW,HIGH, one number for both, or `model`."""
    if given == "model":
        return None
    try:
        ends = [float(part) for part in given.split(",")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2) or not all(math.isfinite(end) for end in ends):
        raise InputError(f"--draft-temperatures is {given!r}: give LOW,HIGH such as 0,0.5, one number, or model")
    return ends[0], ends[-1]
