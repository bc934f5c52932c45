"""`judge rubric`: a rubric for a new aspect, drafted by a model for a person to edit."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fcconan.data import write_whole
from fcconan.errors import InputError
from fcconan.groups import Endpoint
from fcconan.judging.prompts import json_object, json_request
from fcconan.judging.tasks import Task, dump_task, reply_task
from fcconan.models import ChatRequest, Model, Sampling, model_notes, open_model, plan_requests, usage_table
from fcconan.result import Result

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
    name: str,
    *,
    definition: str,
    model: str | Model,
    out: Path,
    title: str | None = None,
    low: int = 1,
    high: int = 5,
    lower_is_better: bool = False,
    dry_run: bool = False,
    seed: int = 0,
    endpoint: Endpoint = Endpoint(),
) -> Result:
    """Draft the rubric of a new aspect with a language model, for a person to edit.

    Args:
        name: Name of the aspect, such as empathy.
        definition: Meaning of the aspect.
        model: A name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE.
        out: Task file (.yaml), which `judge rate --task` reads.
        title: Title that raters read; default: the name.
        low: Lowest grade.
        high: Highest grade.
        lower_is_better: The lowest grade is the best one.
        dry_run: Count the requests and show the prompt; send nothing.
        seed: Seed of sampling.
        endpoint: Endpoint of the model.

    Returns:
        `grades`: each `grade` with its `meaning`. `steps`: the evaluation steps.

    Raises:
        InputError: The name, the scale or the file cannot be used, or the answer of the model has no rubric.

    Examples:
        >>> found = draft_rubric("tact", definition="how tactful it is", model="m", out=Path("t.yaml"), dry_run=True)
        >>> found.to_frame()["requests"].tolist()
        [1]
    """
    from pandas import DataFrame

    if out.suffix not in (".yaml", ".yml") or not 0 < high - low < LONGEST_SCALE:
        raise InputError(
            f"found --out {out} and grades from {low} to {high}, expected a name that ends in .yaml and 2 to "
            f"{LONGEST_SCALE} grades: correct it"
        )
    title = title or name.replace("_", " ").capitalize()
    wanted = {"aspect": title, "measures": definition, "lowest_grade": low, "highest_grade": high}
    wanted["best_grade"] = low if lower_is_better else high
    text = {"type": "string"}
    grades = json_object({str(grade): text for grade in range(low, high + 1)})
    fields = {"question": text, "grades": grades, "steps": {"type": "array", "items": text}}
    sampling, schema = Sampling(max_tokens=2048, seed=seed), json_object(fields, title="rubric")
    call = ChatRequest(json_request(_INSTRUCTION, wanted), sampling, schema, variables={"aspect": name})
    opened = open_model(model, endpoint)
    if dry_run:
        return Result("judge rubric", plan_requests((opened, [call])), {})
    scale = {"name": name, "title": title, "low": low, "high": high, "higher_is_better": not lower_is_better}
    try:
        _task(scale, definition, json.dumps({"grades": dict.fromkeys(range(low, high + 1), "?")}))
    except ValidationError as error:  # before the paid request
        raise InputError(f"no rubric can be drafted for {name!r}: {error.errors()[-1]['msg']}: correct it") from error
    (reply,) = opened.replies([call])
    said = reply.text or ""
    try:
        found = _task(scale, definition, said[said.find("{") : said.rfind("}") + 1])
    except ValidationError as error:
        detail = error.errors()[-1]["msg"] if reply.text else f"{reply.reason}: {reply.detail}"
        raise InputError(
            f"{opened.name} drafted no rubric of {name} ({detail}): repeat the command, or give another --model"
        ) from error
    write_whole(out, f"# Drafted by {opened.name}. Read every line before anyone rates by it.\n{dump_task(found)}")
    (aspect,) = found.aspects
    return Result(
        "judge rubric",
        {
            "grades": DataFrame(sorted(aspect.grades.items()), columns=["grade", "meaning"]),
            "steps": DataFrame({"step": aspect.steps}),
            "usage": usage_table([opened]),
        },
        {"aspect": name, "definition": definition, "model": opened.name, "seed": seed},
        model_notes([opened]),
    )


def _task(scale: dict[str, Any], definition: str, drafted: str) -> Task:
    """Returns a task of one aspect.

    Raises:
        ValidationError: The draft or the name cannot be used.
    """
    try:
        given = json.loads(drafted)
    except ValueError:
        given = {}
    aspect = scale | {"question": given.get("question") or definition, "steps": given.get("steps") or []}
    aspect["grades"] = given.get("grades") or {}
    return reply_task(str(scale["name"]).replace("_", "-"), scale["title"], [aspect])
