"""`fcconan judge prompt`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli import models
from fcconan.cli.judge import compare, inputs, rate
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.models import Call, Messages, Reply

NAME = "prompt"
EXAMPLE = "Example: fcconan judge prompt --task cseval --strategy g-eval --aspect relevance"
TASK, COMPARISON = "multi-aspect", "pairwise"


def run(
    task: Annotated[
        str | None, typer.Option("--task", help="As of rate and compare; default: multi-aspect, or pairwise.")
    ] = None,
    strategy: rate.StrategyName = None,
    aspect: rate.AspectNames = None,
    prompt: rate.PromptFile = None,
    steps: rate.StepsFiles = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="What compare asks: choice or judgelm; default: what rate asks.")
    ] = None,
    explain: compare.Explain = False,
    reference: compare.Reference = False,
    dataset: Annotated[Path | None, typer.Option("--dataset", help="Fill in the first texts of this dataset.")] = None,
    config: inputs.Config = "replies",
    split: inputs.Split = None,
    column: inputs.Column = None,
    background: inputs.Background = None,
    passages: inputs.PassageCount = None,
) -> None:
    """Print what a model will see: the messages, as a prompt file; several, with `---` between them."""
    from fcconan.judging import Plan, load_rubric

    chosen = load_rubric(task or (TASK if protocol is None else COMPARISON))
    if protocol is not None or chosen.unit == "comparison":
        given = {"strategy": strategy, "aspect": aspect, "steps": steps, "background": background, "passages": passages}
        wrong = next((name for name, value in given.items() if value is not None), None)
        if wrong is not None:
            raise InputError(f"--{wrong} is for `fcconan judge rate`, and this is a comparison: leave it out")
        judge = compare.judge_of(
            protocol or "choice", task or COMPARISON, prompt=prompt, explain=explain, reference=reference
        )
        replies = None
        if dataset is not None:
            replies = inputs.open_replies([dataset], config=config, split=split, column=column)
            compare.check_systems([dataset], replies)
        _print([_first_pair(judge, replies)])
        return
    if explain or reference:
        raise InputError("--explain and --reference go with --protocol judgelm: leave them out")
    plan = Plan(
        chosen,
        strategy or rate.STRATEGY,  # type: ignore[arg-type]
        aspects=tuple(aspect) if aspect else None,
        prompt=prompt,
        steps=rate.steps_of(steps, chosen),
    )
    questions = plan.questions()
    knowledge = inputs.knowledge_of(background, passages, shown="background" in plan.texts)
    if dataset is None:
        _print([{"role": role, "content": content} for role, content in each.prompt.messages] for each in questions)
        return
    from fcconan.judging import ModelJudge

    rating = ModelJudge(models.Nobody(), plan, background=knowledge)
    for row in inputs.open_replies([dataset], config=config, split=split, column=column):
        if calls := rating.calls(row):
            _print({str(call.messages): call.messages for call in calls}.values())  # samples are the same messages
            return
    raise InputError(f"{dataset} has no reply that can be judged: check its columns")


def _first_pair(judge: Any, replies: Any) -> "Messages":
    """The messages about the first pair that can be compared; without replies, with variables for their texts."""
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


class _Listener(models.Nobody):
    def replies(self, calls: "Iterable[Call]") -> "Iterator[Reply]":
        for call in calls:
            raise _FoundError(call.messages)
        return iter(())


def _print(prompts: "Iterable[Messages]") -> None:
    from fcconan.judging import dump_prompt

    typer.echo("---\n".join(dump_prompt(messages) for messages in prompts), nl=False)
