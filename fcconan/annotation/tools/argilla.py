"""Argilla 2: export of a folder for `argilla.Dataset.from_disk`, and import of records.

    .argilla/dataset.json    name and guidelines
    .argilla/settings.json   fields, questions, metadata
    records.json             one record for each unit

Answers are the JSON of `dataset.records(with_responses=True).to_list(flatten=True)`. It has the status of every answer
(submitted, discarded or draft), which the files of `to_disk` lack.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fcconan.annotation.campaigns import Campaign, Row
from fcconan.annotation.tools import guidelines, task_view
from fcconan.annotation.tools.files import Given, as_json, as_text, ids_in
from fcconan.annotation.tools.task_view import COMMENT, IDS, SESSION, TEXTS, TITLES, Handout, Item, Question
from fcconan.errors import InputError

RECORDS = "records.json"
_HIGHEST_RATING = 10  # Argilla's limit; negative ratings are not supported either
_LEAST_VISIBLE = 3
_LONGEST_GUIDELINES, _LONGEST_DESCRIPTION = 10_000, 1_000  # characters
_STATUSES = ("draft", "submitted", "discarded")
_FLAT = "export it with `dataset.records(with_responses=True).to_list(flatten=True)`"


def files(handout: Handout, rater: str, name: str, items: Sequence[Item]) -> dict[str, str]:
    """Returns the content of the files of a rater's folder, by path.

    Args:
        handout: Content of the export.
        rater: Pseudonym of the rater.
        name: Name of the rater's file or folder.
        items: Items of the rater.
    """
    return {
        f"{name}/.argilla/dataset.json": as_json(dataset(handout, rater)),
        f"{name}/.argilla/settings.json": as_json(settings(handout, items)),
        f"{name}/{RECORDS}": as_json(records(handout, items)),
    }


def dataset(handout: Handout, rater: str) -> Row:
    """Returns the content of `dataset.json`; each rater has a dataset.

    Args:
        handout: Content of the export.
        rater: Pseudonym of the rater.
    """
    return {"name": f"{handout.campaign.settings.name}-{handout.round}-{rater}", "status": "draft"} | _common(handout)


def settings(handout: Handout, items: Sequence[Item]) -> Row:
    """Returns the content of `settings.json`. Labels are label questions, integer grades ratings, and other grades
    texts.

    Args:
        handout: Content of the export.
        items: Items of a rater; a field is required if all of them have the text.
    """
    fields = [
        {
            "name": name,
            "title": TITLES[name],
            "required": all(item.texts.get(name) for item in items),
            "description": None,
            "settings": {"type": "text", "use_markdown": False},
            "type": "text",
        }
        for name in handout.texts
    ]
    questions = [_question(each) for each in handout.questions.values()]
    questions.append(_as_question(COMMENT, "Comment", None, {"type": "text", "use_markdown": False}, required=False))
    metadata = [_metadata(name, {"type": "terms", "values": None}) for name in IDS]
    metadata.append(_metadata(SESSION, {"type": "integer", "min": None, "max": None}))
    common = _common(handout)
    return {
        "guidelines": common.pop("guidelines"),
        "questions": questions,
        "fields": fields,
        "vectors": [],
        "metadata": metadata,
        **common,
        "mapping": None,
    }


def records(handout: Handout, items: Iterable[Item]) -> list[Row]:
    """Returns a rater's records in order, in the format of `argilla.Record.to_dict`.

    Args:
        handout: Content of the export.
        items: Items of a rater.
    """
    return [
        {
            "id": item.unit.unit_id,
            "fields": handout.shown(item),
            "metadata": handout.ids(item),
            "suggestions": {
                name: {
                    "value": value if _options(handout.questions[name]) else str(value),
                    "score": None,
                    "agent": handout.agent,
                }
                for name, value in item.suggestions.items()
            },
            "responses": {},
            "vectors": {},
            "status": "pending",
            "_server_id": None,
        }
        for item in items
    ]


def read(path: Path, exported: list[Row], campaign: Campaign) -> list[Given]:
    """Reads records; their answers are checked by `fcconan.annotation.imports`.

    A discarded response is a skip; a draft is not an answer. Argilla does not export records that were discarded before
    any
    choice; they have no answer.

    Args:
        path: The file, for messages.
        exported: Content of the file.
        campaign: The campaign.

    Raises:
        InputError: A record was not exported by this package, or its responses lack a status.
    """
    found: list[Given] = []
    for place, record in enumerate(exported, start=1):
        where = f"record {place}"
        if "fields" in record:
            raise InputError(f"{path}, {where}: its answers have no status: {_FLAT}")
        ids = ids_in(f"{path}, {where}", record, IDS, "metadata")
        texts = {name: as_text(record[name]) for name in TEXTS if name in record}
        names = [question.name for question in task_view.questions(campaign, ids["round"])] + [COMMENT]
        if plain := [name for name in names if name in record]:
            raise InputError(f"{path}, {where}: {plain[0]} has no status: export JSON, not JSON-MIN; or {_FLAT}")
        by_user: dict[str, dict[str, tuple[Any, str]]] = {}
        try:
            for user, name, value, status in _responses(record, names):
                given = by_user.setdefault(user, {})
                if status not in _STATUSES or name in given:
                    raise ValueError(f"{name} is there twice, or has the status {status!r}")
                given[name] = value, status
        except (TypeError, ValueError) as error:
            raise InputError(f"{path}, {where}: its responses cannot be read ({error!r}): {_FLAT}") from error
        found += [_given(where, ids, texts, user, answers) for user, answers in by_user.items()]
        if not by_user:
            found.append(Given(where, ids, texts, {}))
    return found


def _given(
    where: str, ids: dict[str, str], texts: dict[str, str], user: str, answers: dict[str, tuple[Any, str]]
) -> Given:
    statuses = {status for _, status in answers.values()}
    values = {name: value for name, (value, _) in answers.items() if value is not None and "draft" not in statuses}
    comment = as_text(values.pop(COMMENT, None)) or None
    skipped = "discarded" in statuses
    return Given(where, ids, texts, {} if skipped else values, skipped=skipped, comment=comment, users=(user,))


def _responses(record: Row, names: list[str]) -> Iterable[tuple[str, str, Any, str]]:
    """Yields user, question, value and status of each response of a record."""
    known = {f"{name}.responses" for name in names}
    for key in record:
        if key.endswith(".responses") and key not in known:
            raise ValueError(f"unknown question {key.removesuffix('.responses')}")
    for name in names:
        lists = [record.get(f"{name}.responses{end}") or [] for end in ("", ".users", ".status")]
        for value, user, status in zip(*lists, strict=True):
            yield str(user), name, value, status


def _question(question: Question) -> Row:
    meanings = "\n".join(f"{name}: {meaning}" for name, meaning in guidelines.meanings(question))
    options = _options(question)
    if question.options:
        visible = len(options) if len(options) >= _LEAST_VISIBLE else None
        held: Row = {"type": "label_selection", "options": options, "visible_options": visible}
    elif options:
        held = {"type": "rating", "options": options}
    else:
        held = {"type": "text", "use_markdown": False}
    description = f"{question.text}\n{meanings}"
    if len(description) > _LONGEST_DESCRIPTION:
        description = question.text
    return _as_question(question.name, question.title, description, held, required=True)


def _options(question: Question) -> list[Row]:
    """Returns the options of a question; empty for grades that Argilla's ratings do not support."""
    if question.options:
        return [{"value": name, "text": name, "description": meaning} for name, meaning in question.options]
    if question.decimals or question.low < 0 or question.high > _HIGHEST_RATING:
        return []
    return [{"value": grade} for grade in range(question.low, question.high + 1)]


def _as_question(name: str, title: str, description: str | None, held: Row, *, required: bool) -> Row:
    return {
        "name": name,
        "title": title,
        "description": description,
        "required": required,
        "settings": held,
        "type": held["type"],
    }


def _common(handout: Handout) -> Row:
    """Returns the keys of both files; guidelines longer than Argilla's limit are replaced by a pointer."""
    elsewhere = "The guidelines are too long for this place: please read guidelines.html, which you got with the "
    guide = handout.guide if len(handout.guide) <= _LONGEST_GUIDELINES else f"{elsewhere}invitation."
    strategy = {"strategy": "overlap", "min_submitted": 1}
    return {"guidelines": guide, "allow_extra_metadata": False, "distribution": strategy}


def _metadata(name: str, held: Row) -> Row:
    return {"name": name, "title": name, "visible_for_annotators": False, "settings": held}
