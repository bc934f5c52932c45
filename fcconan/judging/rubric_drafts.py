"""Grade descriptions of a new aspect, drafted by a model for a person to edit (multi-aspect paper, section 3)."""

import json
from typing import Any, TypeGuard

from pydantic import ValidationError

from fcconan.errors import InputError
from fcconan.judging.tasks import Aspect, Task
from fcconan.models import Call, Model, Sampling, whole_characters

LONGEST_SCALE = 100
_INSTRUCTION = (
    "You write rubrics for raters of counter-narratives: civil replies that refute a hateful message. You get a JSON "
    "object with an aspect, what it measures, and its scale. For every grade, write one or two sentences that say what "
    "a reply with this grade is like. Each must follow from what the aspect measures, be told apart from its "
    "neighbours by something that a rater can see, and leave no reply without a grade. Then write four to six steps by "
    'which a rater arrives at a grade. Answer with a JSON object only: {"question": "...", "grades": {GRADE: "...", '
    '...}, "steps": ["...", ...]}.'
)


def draft_rubric(
    model: Model,
    *,
    name: str,
    title: str,
    definition: str,
    low: int = 1,
    high: int = 5,
    higher_is_better: bool = True,
    seed: int | None = 0,
) -> Task:
    """Asks a model for the rubric of one aspect.

    Args:
        model: Who drafts.
        name: The aspect's name.
        title: As raters read it.
        definition: What it measures.
        low: The lowest grade.
        high: The highest grade.
        higher_is_better: Whether a high grade is praise.
        seed: Of sampling.

    Returns:
        A task with this one aspect.

    Raises:
        InputError: The name or the scale cannot be used, or the model gave no answer or no rubric.
    """

    def rubric(question: str, grades: dict[int, str], steps: list[str]) -> Task:
        aspect = Aspect(
            name=name,
            title=title,
            question=question,
            low=low,
            high=high,
            higher_is_better=higher_is_better,
            grades=grades,
            steps=steps,
        )
        return Task(
            name=name.replace("_", "-"),
            title=title,
            unit="reply",
            question="Rate the counter-narrative as a reply to the hateful message.",
            aspects=[aspect],
        )

    _check_wish(name, title, definition)
    if high - low >= LONGEST_SCALE:
        raise InputError(
            f"the scale from {low} to {high} has more than {LONGEST_SCALE} grades: give a smaller "
            "--high, as a rubric has a text for every grade"
        )
    try:  # before anything is paid for
        rubric(definition, dict.fromkeys(range(low, high + 1), "?"), [])
    except ValidationError as error:
        raise InputError(f"no rubric can be drafted for the aspect {name!r}: {_said(error)}") from error
    wanted = {
        "aspect": title,
        "measures": definition,
        "lowest_grade": low,
        "highest_grade": high,
        "best_grade": high if higher_is_better else low,
    }
    messages = [
        {"role": "system", "content": _INSTRUCTION},
        {"role": "user", "content": json.dumps(wanted, ensure_ascii=False)},
    ]
    call = Call(messages, Sampling(max_tokens=2048, seed=seed), _schema(low, high), variables={"aspect": name})
    (reply,) = model.replies([call])
    if reply.text is None:
        said = ": ".join(filter(None, (reply.reason, reply.detail)))
        raise InputError(f"{model.name} drafted no rubric ({said}): try again, or another model")
    drafted = _read(reply.text)
    if drafted is None:
        raise InputError(
            f"{model.name} answered no rubric in JSON: look at it with `fcconan judge show`, and try again"
        )
    grades = _grades(drafted.get("grades"))
    if grades is None or sorted(grades) != list(range(low, high + 1)):
        raise InputError(
            f"{model.name} drafted no `grades` with a text for each of {low} to {high}: try again, or another model"
        )
    question, steps = drafted.get("question"), drafted.get("steps", [])
    if not isinstance(steps, list) or not all(_is_text(step) for step in steps):
        raise InputError(f"{model.name} drafted `steps` that are no list of texts: try again, or another model")
    return rubric(question if _is_text(question) else definition, grades, steps)


def _check_wish(name: str, title: str, definition: str) -> None:
    for what, text in (("name", name), ("title", title), ("definition", definition)):
        if not text.strip():
            raise InputError(f"the {what} of the aspect is empty: write what raters should read")


def _said(error: ValidationError) -> str:
    return str(error.errors()[0]["msg"]).removeprefix("Value error, ")


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _grades(drafted: Any) -> dict[int, str] | None:
    """The drafted texts by grade; None unless each is a text under a number of its own."""
    if not isinstance(drafted, dict) or not all(_is_text(text) for text in drafted.values()):
        return None
    try:
        grades = {int(grade): str(text) for grade, text in drafted.items()}
    except ValueError:
        return None
    return grades if len(grades) == len(drafted) else None


def _read(text: str) -> dict[str, Any] | None:
    begin, end = text.find("{"), text.rfind("}")
    try:
        found = json.loads(text[begin : end + 1])
    except ValueError:
        return None
    return _whole(found) if isinstance(found, dict) else None


def _whole(value: Any) -> Any:
    """JSON can write half characters, which no file can hold."""
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return {str(key): _whole(each) for key, each in value.items()} if isinstance(value, dict) else value


def _schema(low: int, high: int) -> dict[str, Any]:
    grades = {str(grade): {"type": "string"} for grade in range(low, high + 1)}
    inner = {"type": "object", "properties": grades, "required": list(grades), "additionalProperties": False}
    properties = {
        "question": {"type": "string"},
        "grades": inner,
        "steps": {"type": "array", "items": {"type": "string"}},
    }
    return {
        "title": "rubric",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
