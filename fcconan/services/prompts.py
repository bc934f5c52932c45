"""Prompts of judges: the messages that a model is sent, as prompt files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import fcconan
from fcconan.errors import InputError
from fcconan.services.background import Background, knowledge_of
from fcconan.services.configuration import argument, option
from fcconan.services.judge_plans import (
    METHOD,
    PROMPT,
    ComparisonPrompt,
    RatingPrompt,
    check_comparison,
    comparison_judge,
    steps_of,
    task_option,
)
from fcconan.services.replies import ReplySelection, check_systems, names_of, open_replies
from fcconan.services.results import Result
from fcconan.services.row_tables import Source

if TYPE_CHECKING:
    from fcconan.models import Call, Messages, Reply

TASK, COMPARISON = "multi-aspect", "pairwise"


class PromptOptions(RatingPrompt, ComparisonPrompt, Background, ReplySelection):
    """Which prompt is shown."""

    task: str | None = task_option(None)
    comparison_format: Literal["choice", "judgelm"] | None = option(  # type: ignore[assignment]
        None,
        help="Answer of the judge: choice (a, b or tie) or judgelm (two scores on the first line).",
        group=PROMPT,
        renamed=("--protocol",),
    )


@dataclass(frozen=True, repr=False)
class PromptResult(Result):
    """Prompts; the main table has a row for each message.

    Attributes:
        prompts: The messages of each prompt.
    """

    prompts: "Sequence[Messages]"
    signatures: ClassVar[tuple[str, ...]] = ()

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
    dataset: Annotated[
        Source | None,
        argument(
            "Dataset whose first texts fill the prompt.", flag="--dataset", metavar="FILE|FOLDER|NAME", role="read"
        ),
    ] = None,
) -> PromptResult:
    """Returns the messages that a model would be sent; without a dataset, with variables for the texts.

    Args:
        options: The configuration.
        dataset: Replies, of which the first complete one fills the prompt.

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
    for name in ("rating_method", "aspect", "steps", "background", "passages"):
        if getattr(options, name) not in (None, ()):
            flag = name.replace("_", "-")
            raise InputError(f"--{flag} is for `fcconan judge rate`, and this is a comparison: leave it out")
    judge = comparison_judge(options, options.task or COMPARISON)
    replies = None
    if dataset is not None:
        replies = open_replies(dataset, options)
        check_systems(dataset, replies)
    return _first_pair(judge, replies)


def _of_rating(options: PromptOptions, task: Any, dataset: Source | None) -> "list[Messages]":
    """Returns the prompts of a rating, one for each question."""
    from fcconan.judging import ModelJudge, Plan
    from fcconan.models import UnaskedModel

    check_comparison(options, None)
    plan = Plan(
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
    for row in open_replies(dataset, options):
        if calls := rating.calls(row):
            # Samples have the same messages.
            return list({str(call.messages): call.messages for call in calls}.values())
    raise InputError(f"{names_of(dataset)} has no reply that can be judged: check its columns")


def _first_pair(judge: Any, replies: Any) -> "Messages":
    """Returns the messages about the first pair that can be compared; without replies, with variables for texts."""
    from fcconan.judging import Pair, all_pairs, compare as compare_pairs

    marks = {"hate_speech": "{{hate_speech}}", "item_id": "item", "references": ["{{reference}}"]}
    a, b = ({**marks, "text": f"{{{{reply_{n}}}}}", "reply_id": str(n), "system": str(n)} for n in (1, 2))
    try:
        for _ in compare_pairs(_Listener(), [Pair(a, b)] if replies is None else all_pairs(replies), protocol=judge):
            pass
    except _FoundError as found:
        return found.messages
    raise InputError("no two replies can be compared: check the columns of the dataset")


class _FoundError(Exception):
    """Ends a comparison at its first call."""

    def __init__(self, messages: "Messages") -> None:
        self.messages = messages


class _Listener:
    """Takes the place of a model, and ends at the first call."""

    name, configuration = "listener", dict[str, Any]()

    def replies(self, calls: "Iterable[Call]") -> "Iterator[Reply]":
        for call in calls:
            raise _FoundError(call.messages)
        return iter(())
