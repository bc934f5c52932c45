"""Drafts of rubrics: grade descriptions of a new aspect, written by a language model for a person to edit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from fcconan.errors import InputError
from fcconan.services.configuration import argument, option, output
from fcconan.services.connections import MODEL_HELP, connected, notices_of, usage_of
from fcconan.services.model_results import ModelResult, check_yaml_target, dry_run_of
from fcconan.services.options import Endpoint, Seed

if TYPE_CHECKING:
    from fcconan.judging import Task
    from fcconan.models import Client, Model


class RubricOptions(Seed, Endpoint):
    """The aspect, its scale, and the model that drafts its rubric."""

    definition: str = option(help="Definition of the new aspect.", metavar="TEXT")
    model: str = option(help=f"Language model: {MODEL_HELP}.", short="-m", metavar="NAME", role="model")
    title: str | None = option(
        None, help="Title of the aspect that raters read; default: its name.", rare=True, metavar="TEXT"
    )
    low: int = option(1, help="Lowest grade.", ge=-1000, le=1000)
    high: int = option(5, help="Highest grade.", ge=-1000, le=1000)
    lower_is_better: bool = option(False, help="A low grade is the better one.")


@dataclass(frozen=True, repr=False)
class RubricResult(ModelResult):
    """A drafted rubric; the main table has a row for each grade.

    Attributes:
        task: The task with the new aspect; None after a dry run.
    """

    task: "Task | None" = None
    kind: ClassVar[str] = "rubric"

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Returns each grade with its description."""
        if self.task is None:
            return super().rows()
        (aspect,) = self.task.aspects
        return [{"grade": grade, "description": text} for grade, text in aspect.grades.items()]


def draft_rubric(
    aspect: Annotated[str, argument("Name of the new aspect, such as empathy.")],
    options: RubricOptions,
    *,
    out: Annotated[Path | str | None, output("Task file to write (.yaml).", role="write", required=True)] = None,
    client: "Client | Model | None" = None,
) -> RubricResult:
    """Drafts the grade descriptions of a new aspect with a language model, for a person to edit.

    Args:
        aspect: Name of the aspect.
        options: The options.
        out: The task file; without one, the task is returned only.
        client: Client or model of the user, as in `rate`.

    Returns:
        The task with the new aspect (`task`). The main table has one row for each grade, with the columns `grade`
        (from `low` to `high`) and `description`. After a dry run, `task` is None, and the main table has the request.

    Raises:
        InputError: The name, the scale or the file cannot be used, or the answer of the model has no rubric.

    Examples:
        >>> from fcconan.models import ChatResponse
        >>> class Drafter:
        ...     name, configuration = "drafter", {"version": 1}
        ...     def replies(self, calls):
        ...         for call in calls:
        ...             yield ChatResponse('{"question": "How civil?", "grades": {"1": "Rude.", "2": "Civil."}, '
        ...                         '"steps": ["Read it.", "Look for insults.", "Look for thanks.", "Decide."]}')
        >>> options = RubricOptions(definition="how civil a reply is", model="drafter", high=2)
        >>> draft_rubric("civility", options, client=Drafter()).rows()
        [{'grade': 1, 'description': 'Rude.'}, {'grade': 2, 'description': 'Civil.'}]
    """
    from fcconan.data import write_whole
    from fcconan.judging import dump_task

    out = None if out is None else Path(out)
    if out is not None:
        check_yaml_target(out, "task file")
    with connected("draft_rubric", {"aspect": aspect}, options, client=client) as connection:
        model = connection.open(options.model)
        if options.dry_run:
            return RubricResult(_dry_run(aspect, options, model))
        task = _draft(aspect, options, model)
        if out is not None:
            head = f"# Drafted by {options.model}. Read every line before anyone rates by it.\n"
            write_whole(out, head + dump_task(task))
        data = {
            "out": None if out is None else str(out),
            "task": task.model_dump(mode="json"),
            "used": usage_of([model]),
        }
        return RubricResult(data, notices=notices_of([model]), task=task)


def _draft(aspect: str, options: RubricOptions, model: Any) -> "Task":
    from fcconan.judging import draft_rubric as draft

    return draft(
        model,
        name=aspect,
        title=options.title or aspect.replace("_", " ").capitalize(),
        definition=options.definition,
        low=options.low,
        high=options.high,
        higher_is_better=not options.lower_is_better,
        seed=options.seed,
    )


def _dry_run(aspect: str, options: RubricOptions, model: Any) -> dict[str, Any]:
    """Counts the single request."""
    from fcconan.models import DryRun

    rehearsal = DryRun(model)
    try:
        _draft(aspect, options, rehearsal)
    except InputError:  # no answer, of course; other errors precede the request
        if not rehearsal.calls:
            raise
    return dry_run_of([rehearsal], options.prices)
