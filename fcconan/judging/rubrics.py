"""Rubrics of other projects as tasks."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

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
    rubrics = _from_csv(path, text) if path.suffix == ".csv" else _from_json(path, text)
    stem = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    name = stem if stem[:1].isalpha() else f"rubric-{stem}".strip("-")
    aspects = [_aspect(path, title, rubric) for title, rubric in rubrics.items()]
    try:
        return _task(name, f"Rubrics of {path.name}", aspects)
    except ValidationError as error:
        raise InputError(f"{path}: {_problem(error)}") from error


def _task(name: str, title: str, aspects: Sequence[Mapping[str, Any] | Aspect]) -> Task:
    """Returns a task that rates replies.

    Raises:
        ValidationError: A name, a scale or a text cannot be used.
    """
    question = "Rate the counter-narrative as a reply to the hateful message."
    return Task.model_validate(
        {"name": name, "title": title, "unit": "reply", "question": question, "aspects": aspects}
    )


def _from_csv(path: Path, text: str) -> Mapping[str, str]:
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise InputError(f"{path}: not CSV ({error}); correct it") from error
    if [len(row) for row in rows] != [len(set(rows[0]) if rows else ())] * 2:
        raise InputError(
            f"{path} has rows of {', '.join(str(len(row)) for row in rows[:3]) or 'no'} cells, expected two rows of "
            "equal length: different names of aspects, and a prompt for each"
        )
    return dict(zip(*rows, strict=True))


class _Criteria(BaseModel):
    """Rubric in prometheus-eval's form: `criteria`, `score1_description` and so on."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str]

    criteria: str

    @model_validator(mode="after")
    def _grades(self) -> Self:
        for key in self.__pydantic_extra__:
            if not _DESCRIBED.fullmatch(key):
                raise ValueError(f"found {key!r}; give texts under score1_description, score2_description and so on")
        return self

    def lines(self) -> str:
        """Returns the rubric as lines of text, each without line breaks that could begin another grade."""
        texts = {_DESCRIBED.sub(r"Score \1: ", key): text for key, text in self.__pydantic_extra__.items()}
        return "\n".join(label + " ".join(text.split()) for label, text in {"": self.criteria, **texts}.items())


class _Rubrics(BaseModel):
    rubrics: Annotated[dict[str, str | _Criteria], Field(min_length=1)]


def _from_json(path: Path, text: str) -> Mapping[str, str]:
    try:
        found = json.loads(text)
        alone = isinstance(found, dict) and "criteria" in found
        rubrics = _Rubrics.model_validate({"rubrics": {path.stem: found}} if alone else found).rubrics
    except ValidationError as error:
        raise InputError(f"{path}: {_problem(error)}; expected `rubrics` (aspect -> text), or `criteria`") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); correct it") from error
    return {title: rubric if isinstance(rubric, str) else rubric.lines() for title, rubric in rubrics.items()}


def _aspect(path: Path, title: str, rubric: str) -> dict[str, Any]:
    asked, *rest = _GRADE.split(rubric)
    grades = {}
    for score, star, meaning in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        grade = int(score or star)
        if grade in grades:
            raise InputError(f"{path}: {title} describes the grade {grade} twice; keep one")
        grades[grade] = " ".join(meaning.split())
    if len(grades) < 2:
        raise InputError(
            f"{path}: {title} has no lines such as `Score 1: ...` or `1 star: ...`; add one for each grade"
        )
    return {
        "name": re.sub(r"[^a-z0-9]+", "_", title.lower()).strip("_"),
        "title": title.strip(),
        "question": _ANNOUNCEMENT.sub("", " ".join(asked.split())).strip("[]"),
        "low": min(grades),
        "high": max(grades),  # the best grade on all scales of the papers
        "grades": grades,
    }


def _problem(error: ValidationError) -> str:
    last = error.errors()[-1]  # of the errors of a union, that of the object
    where = ".".join(str(part) for part in last["loc"] if "[" not in str(part))  # names added by pydantic have brackets
    return ": ".join(filter(None, (where, last["msg"].removeprefix("Value error, "))))
