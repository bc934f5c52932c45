"""Prompts of judges: groups of options, and the messages that a model is sent, as prompt files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import fcconan
from fcconan.data import task_names
from fcconan.errors import InputError
from fcconan.services.background import Background, knowledge_of
from fcconan.services.configuration import Configuration, option, output
from fcconan.services.options import Decoding, Endpoint, PartSelection
from fcconan.services.results import Result
from fcconan.services.rows import Source, names_of, open_rows, rows_argument

if TYPE_CHECKING:
    from fcconan.judging import RatingQuestion, Task
    from fcconan.models import Messages

PROMPT = "Prompt"
RatingMethod = Literal["direct", "rubric", "g-eval", "auto-cseval", "prometheus", "grounded"]
METHOD: RatingMethod = "rubric"
EXPLAINED = 1024  # tokens of scores and explanation


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


TASK = "multi-aspect"


class PromptOptions(RatingPrompt, Background, PartSelection):
    """Which prompt is shown."""

    task: str | None = task_option(None)


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

    found = _of_rating(options, load_rubric(options.task or TASK), dataset)
    return PromptResult({"prompts": found}, found)


def _of_rating(options: PromptOptions, task: Any, dataset: Source | None) -> "list[Messages]":
    """Returns the prompts of a rating, one for each question."""
    from fcconan.judging import ModelJudge, RatingPlan
    from fcconan.models import UnaskedModel

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
