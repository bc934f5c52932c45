"""Label Studio: the labelling configuration, tasks with predictions, and its JSON export.

Label Studio's open edition lets everybody see every task of a project, so each rater gets a project of their own: the
same configuration and instructions, and the tasks of one rater in their order.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fcconan.annotation.campaigns import Campaign
from fcconan.annotation.tools import task_view, task_view as guidelines
from fcconan.annotation.tools.files import Given, as_text
from fcconan.annotation.tools.task_view import COMMENT, IDS, SESSION, TEXTS, TITLES, Item, Question
from fcconan.errors import InputError

Row = dict[str, Any]
_LONGEST_TITLE = 50


def configuration(campaign: Campaign, round_name: str, texts: Iterable[str]) -> str:
    """Returns the labelling configuration as XML.

    Labels are `Choices`, grades from 1 in whole numbers `Rating`, other grades `Number`.

    Args:
        campaign: The campaign.
        round_name: The round.
        texts: The texts that tasks have, as `shown.text_names` gives them.
    """
    names = list(texts)
    view = ET.Element("View")
    for name in names:
        _header(view, TITLES[name], 4)
        ET.SubElement(view, "Text", name=name, value=f"${name}")
    about = [name for name in names if name != task_view.SHOWN][-1]
    for question in task_view.questions(campaign, round_name):
        _header(view, question.title, 4)
        _header(view, question.text, 5)
        view.append(_control(question, about))
        if question.grades:
            panel = ET.SubElement(ET.SubElement(view, "Collapse"), "Panel", value="What the grades mean")
            for grade, meaning in guidelines.meanings(question):
                _header(panel, f"{grade}: {meaning}", 6)
    _header(view, "Comment (if you want to)", 5)
    ET.SubElement(view, "TextArea", name=COMMENT, toName=about, rows="2", maxSubmissions="1", editable="true")
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def project(campaign: Campaign, round_name: str, config: str, guide: str, *, suggested: bool) -> Row:
    """Returns the body of the request that creates a project.

    Args:
        campaign: The campaign.
        round_name: The round.
        config: The labelling configuration.
        guide: The guidelines as Markdown.
        suggested: Whether the tasks have predictions.
    """
    return {
        "title": f"{campaign.settings.name} {round_name}"[:_LONGEST_TITLE],
        "label_config": config,
        "expert_instruction": guidelines.as_html(guide),
        "show_instruction": True,
        "show_skip_button": True,
        "skip_queue": "IGNORE_SKIPPED",
        "enable_empty_annotation": False,
        "show_collab_predictions": suggested,
        "maximum_annotations": 1,
        "sampling": "Sequential sampling",
    }


def tasks(
    campaign: Campaign, round_name: str, theirs: Iterable[Item], texts: Iterable[str], agent: str | None = None
) -> list[Row]:
    """Returns a rater's tasks in their order.

    Args:
        campaign: The campaign.
        round_name: The round.
        theirs: What the rater sees.
        texts: The texts that every task has.
        agent: Whose the suggestions are.
    """
    names = list(texts)
    asked = {question.name: question for question in task_view.questions(campaign, round_name)}
    about = [name for name in names if name != task_view.SHOWN][-1]
    found = []
    for item in theirs:
        data = {**task_view.ids(campaign, round_name, item), SESSION: item.assignment.session}
        task: Row = {"data": data | {name: item.texts.get(name, "") for name in names}}
        if item.suggestions:
            result = [as_result(asked[name], value, about) for name, value in item.suggestions.items()]
            task["predictions"] = [{"model_version": agent, "result": result}]
        found.append(task)
    return found


def as_result(question: Question, value: str | float, about: str) -> Row:
    """Returns an answer as an entry of `result`, as Label Studio has it in predictions and annotations.

    Args:
        question: The question.
        value: The answer.
        about: The text that the control is attached to.
    """
    kind = _kind(question)
    held = {"choices": [value]} if kind == "choices" else {kind: value}
    return {"from_name": question.name, "to_name": about, "type": kind, "value": held}


def read(path: Path, exported: list[Row], campaign: Campaign) -> list[Given]:
    """Reads Label Studio's JSON export; what it says is checked by `fcconan.annotation.imports`.

    A task without annotations is not judged yet; a cancelled annotation is a skip, unless the same user has answered
    since.

    Args:
        path: The file, for messages.
        exported: Its content.
        campaign: The campaign.

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
        if missing := [name for name in IDS if name not in data]:
            raise InputError(
                f"{path}, {where}: no {', '.join(missing)} in its data: import what `annotate export` made"
            )
        ids = {name: as_text(data[name]) for name in IDS}
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
    """A text that Label Studio does not read as the name of a variable."""
    return " ".join(text.split()).replace("$", "\uff04")
