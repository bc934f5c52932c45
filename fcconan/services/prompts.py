"""Prompts of judges: groups of options, and the messages that a model is sent, as prompt files."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, assert_never

from fcconan.data import task_names
from fcconan.services.configuration import Configuration, option, output
from fcconan.services.options import Decoding, Endpoint, PartSelection

if TYPE_CHECKING:
    from fcconan.judging import Task

PROMPT = "Prompt"
RatingMethod = Literal["direct", "rubric", "g-eval", "auto-cseval", "prometheus", "grounded"]
METHOD: RatingMethod = "rubric"
EXPLAINED = 1024  # tokens of scores and explanation
COMPARISON_FORMATS = {
    "choice": 'a JSON object such as {"better": "a"}, with a, b or tie',
    "judgelm": "two scores on the first line, such as 7 4",
}


def task_option(default: str | None, *, rare: bool = False) -> Any:
    """Declares `--task`."""
    return option(
        default,
        help="Annotation task: a name of the catalogue, a task.yaml, or a rubric file.",
        metavar="NAME|FILE",
        complete=task_names,
        role="read",
        rare=rare,
    )


class JudgeOptions(Decoding, PartSelection, Endpoint):
    """Common options of `rate` and `compare`: the rater's name, sampling, the rows and the endpoint."""

    rater_name: str | None = option(
        None,
        help="Name of the rater in the written rows; default: the model and its unusual settings.",
        rare=True,
        metavar="NAME",
    )


JUDGEMENTS = output("File of judgements: .parquet, .jsonl or .csv.", role="write", required=True)


class _OwnPrompt(Configuration):
    """A prompt of one's own."""

    prompt: Path | None = option(
        None,
        help="Prompt: a name of the catalogue or a prompt file; default: the prompt of the rating method or task.",
        group=PROMPT,
        rare=True,
        metavar="FILE",
        role="read",
    )


class RatingPrompt(_OwnPrompt):
    """How a judge is asked to rate a reply."""

    rating_method: RatingMethod | None = option(None, help="Method of rating; default: rubric.", group=PROMPT)
    aspect: tuple[str, ...] = option((), help="Use only this aspect of the task.", group=PROMPT, metavar="NAME")
    steps: tuple[Path, ...] = option(
        (),
        help="Calibrated evaluation steps of an aspect for auto-cseval.",
        group=PROMPT,
        rare=True,
        metavar="FILE",
        role="read",
    )


def _format_option(default: str | None) -> Any:
    return option(
        default,
        help="Answer of the judge: choice (a, b or tie) or judgelm (two scores on the first line).",
        group=PROMPT,
    )


class ComparisonPrompt(_OwnPrompt):
    """How a judge is asked to compare two replies."""

    comparison_format: Literal["choice", "judgelm"] = _format_option("choice")
    explain: bool = option(False, help="Request an explanation of the scores (judgelm).", group=PROMPT, rare=True)
    show_reference: bool = option(
        False,
        help="Include the reference of the item in the prompt (judgelm).",
        group=PROMPT,
        rare=True,
    )


def steps_of(paths: Sequence[Path], task: "Task") -> dict[str, list[str]] | None:
    """Reads calibrated steps of some aspects of a task.

    Raises:
        InputError: A file holds none, or was calibrated for another scale.
    """
    from fcconan.judging import load_steps

    if not paths:
        return None
    loaded = [load_steps(path) for path in paths]
    return {each.aspect: each.onto(task.aspect(each.aspect)).steps for each in loaded}


def task_of(name: str, aspects: Sequence[str] = ()) -> "Task":
    """Returns a task, with only some of its aspects where they are named.

    Args:
        name: A name of the catalogue or a file.
        aspects: The aspects; none for all.

    Raises:
        InputError: The task or the aspect does not exist.
    """
    from fcconan.judging import load_rubric

    task = load_rubric(name)
    return task.model_copy(update={"aspects": [task.aspect(each) for each in aspects]}) if aspects else task


def comparison_judge(
    options: ComparisonPrompt,
    task: str,
    *,
    temperature: float = 0.0,
    seed: int | None = 0,
    max_tokens: int | None = None,
) -> Any:
    """Returns how a model is asked which of two replies is better.

    Args:
        options: Form and prompt.
        task: A task with the unit comparison, for `choice`.
        temperature: Sampling temperature.
        seed: Seed that is sent; None for none.
        max_tokens: Longest output; None for the default of the form.

    Raises:
        InputError: The options do not go together, or the prompt file cannot be used.
    """
    from fcconan.judging import FAST_TOKENS, ChoiceJudge, JudgeLM, load_prompt, load_task
    from fcconan.models import Sampling

    form = options.comparison_format or "choice"
    shown = ("hate_speech", "reply_1", "reply_2", *(("reference",) if options.show_reference else ()))
    own = None
    if options.prompt is not None:
        own = load_prompt(options.prompt, known=shown, needed=("reply_1", "reply_2"))
    sampling = Sampling(temperature=temperature, seed=seed)
    if max_tokens is not None or options.explain:
        sampling = replace(sampling, max_tokens=max_tokens or EXPLAINED)
    if form == "choice":
        _refuse_judgelm(options)
        return ChoiceJudge(load_task(task), own, sampling=sampling)
    if form == "judgelm":
        return JudgeLM(
            own,
            explain=options.explain,
            reference=options.show_reference,
            sampling=sampling,
            fast_tokens=FAST_TOKENS if max_tokens is None else max_tokens,
        )
    assert_never(form)


def _refuse_judgelm(options: ComparisonPrompt) -> None:
    options.refuse("explain", "show_reference", why="only for --comparison-format judgelm")
