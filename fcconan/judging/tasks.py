"""Annotation tasks for people and models: questions, aspects or labels, from a `task.yaml` or a rubric."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from fcconan.data import read_file, read_text, read_yaml, task_path
from fcconan.errors import InputError

# The sentence that introduces the grades and ends in a colon.
_ANNOUNCEMENT = re.compile(r"(?<=[.!?\])])\s+[^.!?]*:$")
_DESCRIBED = re.compile(r"score(\d+)_description")
# `1 star: ...`, `1 Star: ...`, `Score 1: ...`, each at the beginning of a line.
_GRADE = re.compile(r"^[ \t]*(?:score[ \t]+(\d+)|(\d+)[ \t]*stars?)[ \t]*:[ \t]*", re.IGNORECASE | re.MULTILINE)
Context = Literal["hate_speech", "references", "background"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty: write a text for the raters")
    return text


Text = Annotated[str, AfterValidator(_filled)]


class Aspect(_Strict):
    """Rated aspect with its scale.

    Attributes:
        name: Name in the column `aspect` of ratings.
        title: Title that raters read.
        question: Question to the raters.
        low: Lowest grade.
        high: Highest grade.
        decimals: Largest number of decimals of a grade.
        higher_is_better: Whether high grades are better.
        grades: Whole grade -> meaning.
        steps: Evaluation steps, for rating methods that show them.
        also: Further names of the grade in the JSON objects of models, for other prompts.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    title: Text
    question: Text
    low: int
    high: int
    decimals: int = Field(default=0, ge=0, le=2)
    higher_is_better: bool = True
    grades: dict[int, Text]
    steps: list[Text] = []
    also: list[Text] = []

    @model_validator(mode="after")
    def _whole_scale(self) -> Self:
        if self.low >= self.high:
            raise ValueError(f"low is {self.low} and high {self.high}: low must be the smaller one")
        # The length is compared first: the list of a wide scale may not fit into memory.
        if self.high - self.low + 1 != len(self.grades) or {*self.grades} != {*range(self.low, self.high + 1)}:
            raise ValueError(
                f"grades are given for {sorted(self.grades)}: give one for each of {self.low} to {self.high}"
            )
        return self

    @property
    def scale(self) -> tuple[float, float]:
        """Lowest and highest grade."""
        return float(self.low), float(self.high)


class Label(_Strict):
    """Label with its meaning."""

    name: Text
    meaning: Text


class Task(_Strict):
    """Annotation task with either rated `aspects` or a choice of `labels`.

    Attributes:
        name: Name of the task's folder.
        title: Heading.
        unit: Annotated unit: a `pair` of HS and CN, a `reply`, or a `comparison` of two replies.
        question: Question about the unit.
        context: Texts that raters see in addition to the unit.
        aspects: Rated aspects.
        labels: Labels to choose from.
        rules: Rules for the raters, a sentence each.
        explain: Whether raters explain each grade with a sentence that cites the texts.
        words: Name of a label or a column, or an English phrase -> words in the language of the raters.
        delimiter: Character between the cells of sheets, as spreadsheets expect it in the language.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    title: Text
    unit: Literal["pair", "reply", "comparison"]
    question: Text
    context: list[Context] = ["hate_speech"]
    aspects: list[Aspect] = []
    labels: list[Label] = []
    rules: list[Text] = []
    explain: bool = False
    words: dict[str, Text] = {}
    delimiter: Literal[",", ";"] = ","

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if bool(self.aspects) == bool(self.labels):
            raise ValueError("a task has either aspects or labels")
        names = [aspect.name for aspect in self.aspects] + [label.name for label in self.labels]
        if len(set(names)) < len(names):
            raise ValueError("two aspects or labels have the same name: rename one")
        if len({*self.words.values()}) < len(self.words):
            raise ValueError("two names have the same word, so that answers cannot be read: change one")
        return self

    def aspect(self, name: str) -> Aspect:
        """Returns an aspect by its name.

        Raises:
            InputError: The task has no aspect of this name; the message lists its aspects.
        """
        for each in self.aspects:
            if each.name == name:
                return each
        names = ", ".join(each.name for each in self.aspects) or "none, it has labels"
        raise InputError(f"the task {self.name} has no aspect {name!r}: its aspects are {names}")


def load_task(name: str | Path) -> Task:
    """Loads and checks an annotation task.

    Args:
        name: A task of the catalogue, or the path of a task file or of the folder that holds a `task.yaml`.

    Raises:
        InputError: The task is unknown, or its file does not follow the schema; the message names file and key.
    """
    # Without strict types, `low: yes` would be 1, and the grades 1 and "1" would be equal.
    task: Task = read_yaml(task_path(str(name)), Task, strict=True)
    return task


def dump_task(task: Task) -> str:
    """Returns the YAML text of a task file, which `load_task` reads as an equal task.

    Empty parts (labels, steps, words) are left out; all other settings are included, so that they can be edited.
    """
    found = task.model_dump()
    for part in (found, *found["aspects"]):
        for key in [key for key, value in part.items() if value in ([], {}) and key != "context"]:
            del part[key]
    return yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=110)


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
    try:
        if path.suffix == ".csv":
            table = read_file(path)
            titles, (rubrics,) = [*table], table.to_numpy().tolist()
        else:
            found = json.loads(read_text(path))
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
    except (AttributeError, KeyError, TypeError, ValueError) as error:
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
