"""Prompts of judges: groups of options, and the messages that a model is sent, as prompt files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, assert_never

import fcconan
from fcconan.data import task_names
from fcconan.errors import InputError
from fcconan.services.background import Background, knowledge_of
from fcconan.services.configuration import Configuration, option, output
from fcconan.services.options import Decoding, Endpoint, PartSelection
from fcconan.services.results import Result
from fcconan.services.rows import Source, check_systems, names_of, open_rows, rows_argument

if TYPE_CHECKING:
    from fcconan.judging import RatingQuestion, Task
    from fcconan.models import Messages

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


def expected_answer(questions: "Sequence[RatingQuestion]") -> str:
    """Returns the form of the answers to questions, for messages."""
    first = questions[0]
    names = [aspect.name for question in questions for aspect in question.aspects]
    return {
        "object": f'a JSON object with {", ".join(names)}, such as {{"{names[0] if names else "label"}": ...}}',
        "number": "a grade alone, such as 3",
        "result": "[RESULT] and a grade at the end, such as [RESULT] 3",
        "label": 'a JSON object such as {"label": "..."}',
    }[first.form]


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


TASK, COMPARISON = "multi-aspect", "pairwise"


class PromptOptions(RatingPrompt, ComparisonPrompt, Background, PartSelection):
    """Which prompt is shown."""

    task: str | None = task_option(None)
    comparison_format: Literal["choice", "judgelm"] | None = _format_option(None)  # type: ignore[assignment]


@dataclass(frozen=True, repr=False)
class PromptResult(Result):
    """Prompts; the main table has a row for each message.

    Attributes:
        prompts: The messages of each prompt.
    """

    prompts: "Sequence[Messages]"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns number of the prompt, role and content of each message."""
        return [{"prompt": number, **each} for number, prompt in enumerate(self.prompts, 1) for each in prompt]

    @property
    def signature(self) -> str:
        """The package version and the hash of the prompts."""
        from fcconan.data import short_hash

        return f"fcconan:{fcconan.__version__}|prompts:{short_hash(self.text())}"

    def text(self) -> str:
        """Returns the prompts as a prompt file each, with `---` between them."""
        from fcconan.judging import dump_prompt

        return "---\n".join(dump_prompt(messages) for messages in self.prompts)


def show_prompt(
    options: PromptOptions = PromptOptions(),
    *,
    dataset: Annotated[Source | None, rows_argument("--dataset", "Dataset whose first texts fill the prompt.")] = None,
) -> PromptResult:
    """Returns the messages that a model would be sent; without a dataset, with variables for the texts.

    Args:
        options: The options.
        dataset: Replies, of which the first complete one fills the prompt.

    Returns:
        The prompts (`prompts`), each a list of messages. The main table has one row for each message, with the columns
        `prompt` (number, from 1), `role` and `content`.

    Raises:
        InputError: Options do not go together, or no reply can be judged.

    Examples:
        >>> prompt = show_prompt(PromptOptions(task="cseval", aspect=("relevance",)))
        >>> [message["role"] for message in prompt.prompts[0]]
        ['system', 'user']
    """
    from fcconan.judging import load_rubric

    chosen = load_rubric(options.task or (TASK if options.comparison_format is None else COMPARISON))
    if options.comparison_format is not None or chosen.unit == "comparison":
        found = [_of_comparison(options, dataset)]
    else:
        found = _of_rating(options, chosen, dataset)
    return PromptResult({"prompts": found}, found)


def _of_comparison(options: PromptOptions, dataset: Source | None) -> "Messages":
    """Returns the prompt of a comparison.

    Raises:
        InputError: An option is for ratings.
    """
    of_ratings = ("rating_method", "aspect", "steps", "background", "passages")
    options.refuse(*of_ratings, why="only for `fcconan judge rate`, and this is a comparison")
    judge = comparison_judge(options, options.task or COMPARISON)
    replies = None
    if dataset is not None:
        replies = open_rows("replies", dataset, options)
        check_systems(dataset, replies)
    return _first_pair(judge, replies)


def _of_rating(options: PromptOptions, task: Any, dataset: Source | None) -> "list[Messages]":
    """Returns the prompts of a rating, one for each question."""
    from fcconan.judging import ModelJudge, RatingPlan
    from fcconan.models import UnaskedModel

    _refuse_judgelm(options)
    plan = RatingPlan(
        task,
        options.rating_method or METHOD,
        aspects=options.aspect or None,
        prompt=options.prompt,
        steps=steps_of(options.steps, task),
    )
    questions = plan.questions()
    knowledge = knowledge_of(options, shown="background" in plan.texts)
    if dataset is None:
        return [[{"role": role, "content": content} for role, content in each.prompt.messages] for each in questions]
    rating = ModelJudge(UnaskedModel(), plan, background=knowledge)
    for row in open_rows("replies", dataset, options):
        if calls := rating.calls(row):
            # Samples have the same messages.
            return list({str(call.messages): call.messages for call in calls}.values())
    raise InputError(f"{names_of(dataset)} has no reply that can be judged: check its columns")


def _first_pair(judge: Any, replies: Any) -> "Messages":
    """Returns the messages about the first pair that can be compared; without replies, with variables for texts."""
    from fcconan.judging import ReplyPair, all_pairs, comparison_calls

    marks = {"hate_speech": "{{hate_speech}}", "item_id": "item", "references": ["{{reference}}"]}
    a, b = ({**marks, "text": f"{{{{reply_{n}}}}}", "reply_id": str(n), "system": str(n)} for n in (1, 2))
    for pair in [ReplyPair(a, b)] if replies is None else all_pairs(replies):
        if calls := comparison_calls(pair, judge):
            return calls[0].messages
    raise InputError("no two replies can be compared: check the columns of the dataset")
