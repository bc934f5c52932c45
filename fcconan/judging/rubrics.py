"""Rubrics of other projects as tasks."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fcconan.data import read_text
from fcconan.errors import InputError
from fcconan.judging.tasks import Aspect, Task, load_task

# The sentence that introduces the grades and ends in a colon.
_ANNOUNCEMENT = re.compile(r"(?<=[.!?\])])\s+[^.!?]*:$")
_DESCRIBED = re.compile(r"score(\d+)_description")
# `1 star: ...`, `1 Star: ...`, `Score 1: ...`, each at the beginning of a line.
_GRADE = re.compile(r"^[ \t]*(?:score[ \t]+(\d+)|(\d+)[ \t]*stars?)[ \t]*:[ \t]*", re.IGNORECASE | re.MULTILINE)


def load_rubric(name: str) -> Task:
    """Loads a task from the catalogue, a `task.yaml` or a rubric file.

    Rubric files have one of these forms:

    - CSV with a column for each aspect. Its only row has the question and a line for each grade (`1 star: ...`).
    - JSON with `rubrics`: aspect -> `[Question?]` and lines such as `Score 1: ...`.
    - JSON with `rubrics`: aspect -> an object with `criteria`, `score1_description`, `score2_description` and so on, as
      in prometheus-eval. Such an object alone is one aspect with the name of the file.

    The highest grade is the best one, also for toxicity: 5 means not toxic.

    Args:
        name: Name of a task, or path of a file.

    Raises:
        InputError: The task is unknown, or the file has another form.
    """
    path = Path(name)
    if path.suffix not in (".csv", ".json"):
        return load_task(name)
    text = read_text(path)
    try:
        if path.suffix == ".csv":
            titles, rubrics = (row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row)
        else:
            found = json.loads(text)
            found = {path.stem: found} if "criteria" in found else found["rubrics"]
            titles, rubrics = [*found], [*found.values()]
        stem = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
        aspects = [_aspect(title, rubric) for title, rubric in zip(titles, rubrics, strict=True)]
        return reply_task(
            stem if stem[:1].isalpha() else f"rubric-{stem}".strip("-"), f"Rubrics of {path.name}", aspects
        )
    except ValidationError as error:
        last = error.errors()[-1]  # of the errors of a union, that of the object
        where = ".".join(str(part) for part in last["loc"] if "[" not in str(part))  # pydantic adds names with brackets
        said = ": ".join(filter(None, (where, last["msg"].removeprefix("Value error, "))))
        raise InputError(f"{path}: {said}") from error
    except (AttributeError, KeyError, TypeError, ValueError, csv.Error) as error:
        raise InputError(
            f"{path} holds no rubrics ({error!r}), expected a column for each aspect and one row, or a JSON object "
            "with `rubrics` or `criteria`, and a line such as `Score 1: ...` for each grade"
        ) from error


def reply_task(name: str, title: str, aspects: Sequence[Mapping[str, Any] | Aspect]) -> Task:
    """Returns a task that rates replies.

    Raises:
        ValidationError: A name, a scale or a text cannot be used.
    """
    question = "Rate the counter-narrative as a reply to the hateful message."
    return Task.model_validate(
        {"name": name, "title": title, "unit": "reply", "question": question, "aspects": aspects}
    )


def _aspect(title: str, rubric: str | Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(rubric, str):
        # Lines without breaks that could begin another grade.
        lines = {_DESCRIBED.sub(r"Score \1: ", key): text for key, text in rubric.items() if _DESCRIBED.fullmatch(key)}
        texts = {"": rubric["criteria"], **lines}.items()
        rubric = "\n".join(label + " ".join(text.split()) for label, text in texts)
    asked, *rest = _GRADE.split(rubric)
    parts = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    described = [(int(score or star), text) for score, star, text in parts]
    grades = {grade: " ".join(text.split()) for grade, text in described}
    if len(described) < 2 or len(grades) < len(described):
        raise ValueError(f"{title} has the grades {[grade for grade, _ in described]}")
    return {
        "name": re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_"),
        "title": title.strip(),
        "question": _ANNOUNCEMENT.sub("", " ".join(asked.split())).strip("[]"),
        "low": min(grades),
        "high": max(grades),  # the best grade on all scales of the papers
        "grades": grades,
    }
