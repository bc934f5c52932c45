"""How judges ask: the groups of options for prompts of ratings and of comparisons, and what they are turned into."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fcconan.data import task_names
from fcconan.errors import InputError
from fcconan.services.configuration import Configuration, option

if TYPE_CHECKING:
    from fcconan.judging import ContextBudget, Question, Task

PROMPT = "Prompt"
METHOD: Literal["rubric"] = "rubric"
EXPLAINED = 1024  # tokens of scores and explanation
FORMATS = {
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


class _OwnPrompt(Configuration):
    """A prompt of one's own."""

    prompt: Path | None = option(
        None,
        help="Prompt: a name of the catalogue or a prompt file; default: the prompt of the strategy or task.",
        group=PROMPT,
        rare=True,
        metavar="FILE",
        role="read",
    )


class RatingPrompt(_OwnPrompt):
    """How a judge is asked to rate a reply."""

    rating_method: Literal["direct", "rubric", "g-eval", "auto-cseval", "prometheus", "grounded"] | None = option(
        None, help="Method of rating; default: rubric.", group=PROMPT, renamed=("--strategy",)
    )
    aspect: tuple[str, ...] = option(
        (), help="Use only this aspect of the task; repeat it for several.", group=PROMPT, metavar="NAME"
    )
    steps: tuple[Path, ...] = option(
        (),
        help="Calibrated evaluation steps of an aspect for auto-cseval; repeat it for each aspect.",
        group=PROMPT,
        rare=True,
        metavar="FILE",
        role="read",
    )


class ComparisonPrompt(_OwnPrompt):
    """How a judge is asked to compare two replies."""

    comparison_format: Literal["choice", "judgelm"] = option(
        "choice",
        help="Answer of the judge: choice (a, b or tie) or judgelm (two scores on the first line).",
        group=PROMPT,
        renamed=("--protocol",),
    )
    explain: bool = option(False, help="Request an explanation of the scores (judgelm).", group=PROMPT, rare=True)
    show_reference: bool = option(
        False,
        help="Include the reference of the item in the prompt (judgelm).",
        group=PROMPT,
        rare=True,
        renamed=("--reference",),
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


def expected_answer(questions: "Sequence[Question]") -> str:
    """Returns the form of the answers to questions, for messages."""
    first = questions[0]
    names = [aspect.name for question in questions for aspect in question.aspects]
    return {
        "object": f'a JSON object with {", ".join(names)}, such as {{"{names[0] if names else "label"}": ...}}',
        "number": "a grade alone, such as 3",
        "result": "[RESULT] and a grade at the end, such as [RESULT] 3",
        "label": 'a JSON object such as {"label": "..."}',
    }[first.form]


def check_comparison(options: ComparisonPrompt, form: str | None) -> None:
    """Checks that options go with the form of a comparison.

    Args:
        options: The options.
        form: `choice` or `judgelm`; None for no comparison.

    Raises:
        InputError: They do not.
    """
    if form != "judgelm" and (options.explain or options.show_reference):
        raise InputError("--explain and --show-reference go with --comparison-format judgelm: leave them out")


def comparison_judge(
    options: ComparisonPrompt,
    task: str,
    *,
    context: "ContextBudget | None" = None,
    temperature: float = 0.0,
    seed: int | None = 0,
    max_tokens: int | None = None,
) -> Any:
    """Returns how a model is asked which of two replies is better.

    Args:
        options: Form and prompt.
        task: A task with the unit comparison, for `choice`.
        context: Limits of the model's context.
        temperature: Sampling temperature.
        seed: Seed that is sent; None for none.
        max_tokens: Longest output; None for the default of the form.

    Raises:
        InputError: The options do not go together, or the prompt file cannot be used.
    """
    from fcconan.judging import FAST_TOKENS, ChoiceJudge, JudgeLM, load_prompt, load_task
    from fcconan.models import Sampling

    form = options.comparison_format or "choice"
    check_comparison(options, form)
    shown = ("hate_speech", "reply_1", "reply_2", *(("reference",) if options.show_reference else ()))
    own = None
    if options.prompt is not None:
        own = load_prompt(options.prompt, known=shown, needed=("reply_1", "reply_2"))
    sampling = Sampling(temperature=temperature, seed=seed)
    if max_tokens is not None or options.explain:
        sampling = replace(sampling, max_tokens=max_tokens or EXPLAINED)
    if form == "choice":
        return ChoiceJudge(load_task(task), own, context=context, sampling=sampling)
    return JudgeLM(
        own,
        explain=options.explain,
        reference=options.show_reference,
        context=context,
        sampling=sampling,
        fast_tokens=FAST_TOKENS if max_tokens is None else max_tokens,
    )
