"""`fcconan judge prompt`."""

from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli import models
from fcconan.cli.judge import inputs, rate
from fcconan.errors import InputError

NAME = "prompt"
EXAMPLE = "Example: fcconan judge prompt --task cseval --strategy g-eval --aspect relevance"


def run(
    task: rate.TaskName = "multi-aspect",
    strategy: rate.StrategyName = "rubric",
    aspect: rate.AspectNames = None,
    prompt: rate.PromptFile = None,
    steps: rate.StepsFiles = None,
    dataset: Annotated[Path | None, typer.Option("--dataset", help="Fill in the first reply of this dataset.")] = None,
    config: inputs.Config = "replies",
    split: inputs.Split = None,
    column: inputs.Column = None,
    background: inputs.Background = None,
    passages: inputs.PassageCount = 3,
) -> None:
    """Print what a model will see: the messages, as a prompt file, for every aspect asked by itself."""
    from fcconan.judge.comparison_protocols import ChoiceJudge
    from fcconan.judge.prompt import dump_prompt
    from fcconan.judge.rate import ModelJudge
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

    judge = ModelJudge(models.Nobody(), plan, background=inputs.knowledge_of(background, passages))
    for row in inputs.open_replies(dataset, config=config, split=split, column=column):
        if calls := judge.calls(row):
            asked = {str(call.messages): call.messages for call in calls}  # samples are the same messages
            typer.echo("\n".join(dump_prompt(messages) for messages in asked.values()), nl=False)
            return
    raise InputError(f"{dataset} has no reply that can be judged: check its columns")
