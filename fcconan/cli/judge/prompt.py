"""`fcconan judge prompt`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.judge import rate
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.llm.call import Call, Reply

NAME = "prompt"
EXAMPLE = "Example: fcconan judge prompt --task cseval --strategy g-eval --aspect relevance"


def run(
    task: rate.TaskName = "multi-aspect",
    strategy: rate.StrategyName = "rubric",
    aspect: rate.AspectNames = None,
    prompt: rate.PromptFile = None,
    steps: rate.StepsFiles = None,
    dataset: Annotated[Path | None, typer.Option("--dataset", help="Fill in the first reply of this dataset.")] = None,
    config: rate.Config = "replies",
    split: rate.Split = None,
    column: rate.Column = None,
    background: rate.Background = None,
) -> None:
    """Print what a model will see: the messages, as a prompt file, for every aspect asked by itself."""
    from fcconan.judge.comparison_protocols import ChoiceJudge
    from fcconan.judge.prompt import dump_prompt
    from fcconan.judge.rate import ModelJudge
    from fcconan.judge.replies import load_replies
    from fcconan.judge.rubrics import load_rubric
    from fcconan.judge.strategies import Plan

    chosen = load_rubric(task)
    if chosen.unit == "comparison":
        marks = {"hate_speech": "{{hate_speech}}", "item_id": "item", "references": ["{{reference}}"]}
        sides = [
            {**marks, "text": f"{{{{counter_narrative_{side}}}}}", "reply_id": side, "system": side} for side in "ab"
        ]
        call = ChoiceJudge(chosen).question(sides[0], sides[1]).ab
        assert call is not None  # without a context every question has its calls
        typer.echo(dump_prompt(call.messages), nl=False)
        return
    plan = Plan(
        chosen,
        strategy,  # type: ignore[arg-type]
        aspects=tuple(aspect) if aspect else None,
        prompt=prompt,
        steps=rate.steps_of(steps, chosen),
    )
    if dataset is None:
        for number, question in enumerate(plan.questions()):
            messages = [{"role": role, "content": content} for role, content in question.prompt.messages]
            typer.echo(("\n" if number else "") + dump_prompt(messages), nl=False)
        return

    judge = ModelJudge(_Nobody(), plan, background=rate.knowledge_of(background))
    for row in load_replies(dataset, split=split, columns=rate.columns_of(column), config=config):
        if calls := judge.calls(row):
            asked = {str(call.messages): call.messages for call in calls}  # samples are the same messages
            typer.echo("\n".join(dump_prompt(messages) for messages in asked.values()), nl=False)
            return
    raise InputError(f"{dataset} has no reply that can be judged: check its columns")


class _Nobody:
    """Stands where a model would: prompts are printed, never sent."""

    def __init__(self) -> None:
        self.name, self.configuration = "nobody", dict[str, Any]()

    def replies(self, calls: "Iterable[Call]") -> "Iterator[Reply]":
        raise NotImplementedError
