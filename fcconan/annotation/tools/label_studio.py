"""Label Studio: labelling configuration, tasks with predictions, and reading of its JSON export.

In Label Studio's open edition, all users see all tasks of a project. Each rater therefore gets a project with the same
configuration and instructions, and the rater's tasks in order.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from pathlib import Path

from fcconan.annotation.campaigns import Row
from fcconan.annotation.tools import guidelines
from fcconan.annotation.tools.files import Given, as_json, as_text, ids_in
from fcconan.annotation.tools.task_view import COMMENT, IDS, TEXTS, TITLES, Handout, Item, Question
from fcconan.errors import InputError

_LONGEST_TITLE = 50


def files(handout: Handout, rater: str, name: str, items: Sequence[Item]) -> dict[str, str]:
    """Returns the content of the project's files and of a rater's tasks, by name.

    Args:
        handout: Content of the export.
        rater: Pseudonym of the rater.
        name: Name of the rater's file.
        items: Items of the rater.
    """
    return {
        "config.xml": configuration(handout),
        "project.json": as_json(project(handout)),
        name: as_json(tasks(handout, items)),
    }


def configuration(handout: Handout) -> str:
    """Returns the labelling configuration as XML.

    Labels are `Choices`, integer grades from 1 `Rating`, and other grades `Number`.

    Args:
        handout: Content of the export.
    """
    view = ET.Element("View")
    for name in handout.texts:
        _header(view, TITLES[name], 4)
        ET.SubElement(view, "Text", name=name, value=f"${name}")
    for question in handout.questions.values():
        _header(view, question.title, 4)
        _header(view, question.text, 5)
        view.append(_control(question, handout.about))
        if question.grades:
            panel = ET.SubElement(ET.SubElement(view, "Collapse"), "Panel", value="What the grades mean")
            for grade, meaning in guidelines.meanings(question):
                _header(panel, f"{grade}: {meaning}", 6)
    _header(view, "Comment (if you want to)", 5)
    ET.SubElement(view, "TextArea", name=COMMENT, toName=handout.about, rows="2", maxSubmissions="1", editable="true")
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def project(handout: Handout) -> Row:
    """Returns the body of the request that creates a project.

    Args:
        handout: Content of the export.
    """
    return {
        "title": f"{handout.campaign.settings.name} {handout.round}"[:_LONGEST_TITLE],
        "label_config": configuration(handout),
        "expert_instruction": guidelines.as_html(handout.guide),
        "show_instruction": True,
        "show_skip_button": True,
        "skip_queue": "IGNORE_SKIPPED",
        "enable_empty_annotation": False,
        "maximum_annotations": 1,
        "sampling": "Sequential sampling",
    }


def tasks(handout: Handout, items: Iterable[Item]) -> list[Row]:
    """Returns a rater's tasks in order.

    Args:
        handout: Content of the export.
        items: Items of a rater.
    """
    return [{"data": handout.ids(item) | handout.shown(item)} for item in items]


def read(path: Path, exported: list[Row]) -> list[Given]:
    """Reads Label Studio's JSON export; its answers are checked by `fcconan.annotation.imports`.

    A task without annotations is open. A cancelled annotation is a skip, unless the same user has another annotation of
    the task.

    Args:
        path: The file, for messages.
        exported: Content of the file.

    Raises:
        InputError: A task was not exported by this package, or an annotation cannot be read.
    """
    found: list[Given] = []
    for place, task in enumerate(exported, start=1):
        where = f"task {task.get('id', place)}"
        data, annotations = task.get("data"), task.get("annotations")
        listed = isinstance(annotations, list) and all(isinstance(one, dict) for one in annotations)
        if not isinstance(data, dict) or not isinstance(annotations, list) or not listed:
            raise InputError(f"{path}, {where}: no `data` or `annotations`: export the project as JSON (not JSON-MIN)")
        ids = ids_in(f"{path}, {where}", data, IDS)
        texts = {name: as_text(data[name]) for name in TEXTS if name in data}
        given = [
            _annotation(path, f"{where}, annotation {one.get('id', number)}", one, ids, texts)
            for number, one in enumerate(annotations, start=1)
        ]
        answered = {one.users for one in given if not one.skipped}
        once = {one.users: one for one in given if one.skipped and one.users not in answered}
        found += [one for one in given if not one.skipped] + list(once.values())
        if not given:
            found.append(Given(where, ids, texts, {}))
    return found


def _annotation(path: Path, where: str, one: Row, ids: dict[str, str], texts: dict[str, str]) -> Given:
    values: Row = {}
    remarks: list[str] = []
    try:
        for entry in one["result"]:
            name, kind = entry["from_name"], entry["type"]
            value = entry["value"]["text" if kind == "textarea" else kind]
            if kind == "textarea":
                remarks.append("\n".join([value] if isinstance(value, str) else value))
            elif name in values:
                raise TypeError(f"two answers to {name}")
            else:
                values[name] = value[0] if kind == "choices" and len(value) == 1 else value
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}, {where}: its result cannot be read ({error!r}): export the project again") from error
    by = one.get("completed_by")
    names = (by.get("email"), by.get("id")) if isinstance(by, dict) else (by,)
    return Given(
        where,
        ids,
        texts,
        values={} if one.get("was_cancelled") else values,
        skipped=bool(one.get("was_cancelled")),
        comment="\n".join(remarks).strip() or None,
        seconds=one.get("lead_time"),
        users=tuple(str(name) for name in names if name is not None),
    )


def _kind(question: Question) -> str:
    if question.options:
        return "choices"
    return "rating" if question.low == 1 and not question.decimals else "number"


def _control(question: Question, about: str) -> ET.Element:
    common = {"name": question.name, "toName": about, "required": "true"}
    kind = _kind(question)
    if kind == "rating":
        return ET.Element("Rating", common | {"maxRating": str(question.high)})
    if kind == "number":
        step = str(10**-question.decimals) if question.decimals else "1"
        return ET.Element("Number", common | {"min": str(question.low), "max": str(question.high), "step": step})
    control = ET.Element("Choices", common | {"choice": "single-radio", "showInline": "false"})
    for name, meaning in question.options:
        ET.SubElement(control, "Choice", value=name, hint=_literal(meaning))
    return control


def _header(parent: ET.Element, text: str, size: int) -> None:
    ET.SubElement(parent, "Header", value=_literal(text), size=str(size))


def _literal(text: str) -> str:
    """Escapes a text that Label Studio may read as a variable."""
    return " ".join(text.split()).replace("$", "\uff04")
