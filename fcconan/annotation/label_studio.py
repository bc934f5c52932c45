"""Label Studio: project with its labelling configuration, and reading of its JSON export."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.annotation.campaigns import Row
from fcconan.annotation.questions import COMMENT, SECONDS, SHOWN, SKIP, TITLES, Question
from fcconan.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

LONGEST_TITLE = 50
OPTIONAL, MEANINGS = "Comment (if you want to)", "What the grades mean"


def configuration(texts: Sequence[str], questions: Sequence[Question]) -> str:
    """Returns the labelling configuration as XML.

    Labels are `Choices`, integer grades from 1 `Rating`, and other grades `Number`.

    Args:
        texts: Names of the shown texts.
        questions: Questions of the round.
    """
    view = ET.Element("View")
    about = [name for name in texts if name != SHOWN][-1]  # the last judged text
    words = questions[0].words
    for name in texts:
        _header(view, words.get(name, TITLES[name]), 4)
        ET.SubElement(view, "Text", name=name, value=f"${name}")
    for question in questions:
        _header(view, question.title, 4)
        _header(view, question.text, 5)
        common = {"name": question.name, "toName": about, "required": "true"}
        if question.low is None:
            control = ET.SubElement(view, "Choices", common | {"choice": "single-radio", "showInline": "false"})
            for name, meaning in question.meanings.items():
                # The alias is the answer in the export.
                alias = {"alias": name} if name in words else {}
                ET.SubElement(control, "Choice", alias, value=words.get(name, name), hint=_literal(meaning))
            continue
        if question.low == 1 and not question.decimals:
            ET.SubElement(view, "Rating", common | {"maxRating": str(question.high)})
        else:
            step = str(10**-question.decimals) if question.decimals else "1"
            scale = {"min": str(question.low), "max": str(question.high), "step": step}
            ET.SubElement(view, "Number", common | scale)
        if question.meanings:
            panel = ET.SubElement(ET.SubElement(view, "Collapse"), "Panel", value=words.get(MEANINGS, MEANINGS))
            for grade, meaning in question.meanings.items():
                _header(panel, f"{grade}: {meaning}", 6)
    _header(view, words.get(OPTIONAL, OPTIONAL), 5)
    ET.SubElement(view, "TextArea", name=COMMENT, toName=about, rows="2", maxSubmissions="1", editable="true")
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def project(title: str, config: str, guide: str) -> Row:
    """Returns the body of the request that creates a project.

    Args:
        title: Title of the project, which is cut.
        config: Labelling configuration.
        guide: Guidelines in HTML.
    """
    return {
        "title": title[:LONGEST_TITLE],
        "label_config": config,
        "expert_instruction": guide,
        "show_instruction": True,
        "show_skip_button": True,
        "skip_queue": "IGNORE_SKIPPED",
        "enable_empty_annotation": False,
        "maximum_annotations": 1,
        "sampling": "Sequential sampling",
    }


def read_tasks(path: Path, people: Mapping[str, str]) -> "DataFrame":
    """Reads Label Studio's JSON export.

    A task without annotations is open. A cancelled annotation is a skip, unless the same user has another annotation of
    the task.

    Args:
        path: The file.
        people: Pseudonyms by names of users; if empty, users keep their names.

    Returns:
        The rows of a sheet, and the user who answered in `by`; a user who is not in `people` is "".

    Raises:
        InputError: The file is not a JSON export.
    """
    from pandas import DataFrame

    found = []
    try:
        for task in json.loads(path.read_text(encoding="utf-8")):
            given = [_annotation(one, people) for one in task["annotations"]]
            answered = {one["by"] for one in given if not one[SKIP]}
            skipped = {one["by"]: one for one in given if one["by"] not in answered}
            done = [one for one in given if not one[SKIP]] + [*skipped.values()]
            found += [task["data"] | one for one in done or [{}]]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is not Label Studio's JSON ({error!r}): export the project again, as JSON and not as JSON-MIN"
        ) from error
    return DataFrame(found)


def _annotation(one: Row, people: Mapping[str, str]) -> Row:
    by = one["completed_by"]
    names = [str(name) for name in ((by.get("email"), by["id"]) if isinstance(by, dict) else (by,)) if name]
    known = [people.get(name, "") for name in names] if people else names
    row: Row = {"by": max(known), SKIP: one["was_cancelled"], SECONDS: one.get("lead_time")}
    for entry in () if row[SKIP] else one["result"]:
        value = entry["value"]["text" if entry["type"] == "textarea" else entry["type"]]
        row[entry["from_name"]] = "\n".join(value) if isinstance(value, list) else value
    return row


def _header(parent: ET.Element, text: str, size: int) -> None:
    ET.SubElement(parent, "Header", value=_literal(text), size=str(size))


def _literal(text: str) -> str:
    """Escapes a text that Label Studio may read as a variable."""
    return " ".join(text.split()).replace("$", "\uff04")
