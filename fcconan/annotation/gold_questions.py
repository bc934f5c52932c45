"""Units with known answers: gold questions, mixed into the sessions, and the questions of the qualification test."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fcconan.annotation.campaigns import Row, Unit
from fcconan.annotation.questions import task_questions
from fcconan.annotation.sampling import Content, check_texts
from fcconan.data import cell_list, is_missing, make_cn_id, make_hs_id, make_item_id, make_pair_id, make_reply_id, read
from fcconan.errors import InputError
from fcconan.judging import Task

COLUMNS = {"pair": ("counter_narrative",), "reply": ("text",), "comparison": ("text_a", "text_b")}
KEYS = {"hs.jsonl": "hs_id", "cn.jsonl": "cn_id", "replies.jsonl": "reply_id"}
ROLES = {"item": "a unit", "anchor": "a gold question", "quiz": "a question of the qualification test"}


def add_gold_questions(content: Content, file: Path, role: Any, task: Task) -> str:
    """Adds units with known answers to the content of a campaign.

    Args:
        content: The content so far.
        file: Rows with `hate_speech`; with `counter_narrative` (pairs), `text` (replies), or `text_a` and `text_b`
            (comparisons); and with the known answer: `label`, or columns of aspects, of which at least one has a value.
        role: `anchor` for gold questions, `quiz` for the qualification test.
        task: Task of the campaign.

    Returns:
        The name of the file with its hash.

    Raises:
        InputError: A text or answer is missing or not valid, or a unit exists already.
    """
    units, texts, counts = content
    table, _, name = read("rows", file)
    columns = COLUMNS[task.unit]
    check_texts(table, ["hate_speech", *columns], name)
    roles = {unit.unit_id: unit.role for unit in units}
    for number, row in enumerate(table.to_dict("records"), start=table.attrs["first"]):
        place = f"{name}, row {number}"
        known = _known(row, task, place)
        if task.unit == "pair":
            hs, cn = make_hs_id(row["hate_speech"]), make_cn_id(row["counter_narrative"])
            unit = Unit(make_pair_id(hs, cn), role=role, hs_id=hs, cn_id=cn, known=known)
            added = [("hs.jsonl", {"hs_id": hs, "text": row["hate_speech"]})]
            added += [("cn.jsonl", {"cn_id": cn, "text": row["counter_narrative"]})]
        else:
            systems = [role + column.removeprefix("text").replace("_", "-") for column in columns]
            replies = [_reply(row, row[column], system) for column, system in zip(columns, systems, strict=True)]
            unit = unit_of(*replies, role=role, known=known)
            added = [("replies.jsonl", reply) for reply in replies]
        if unit.unit_id in roles:
            raise InputError(f"{place} is already {ROLES[roles[unit.unit_id]]} of the campaign: choose another one")
        roles[unit.unit_id] = role
        units.append(unit)
        for part, text in added:
            if all(text[KEYS[part]] != each[KEYS[part]] for each in texts[part]):
                texts[part].append(text)
    counts[role] = len(table)
    return name


def unit_of(a: Mapping[str, Any], b: Mapping[str, Any] | None = None, **about: Any) -> Unit:
    """Returns the unit of a reply, or of a comparison of two replies.

    Args:
        a: Row of a reply.
        b: Row of the second reply; None for a unit of one reply.
        about: Further attributes of the unit.
    """
    key, other = a["reply_id"], None if b is None else b["reply_id"]
    unit_id = key if b is None else f"{key}:{other}"
    return Unit(unit_id, hs_id=a["hs_id"], item_id=a["item_id"], reply_a=key, reply_b=other, **about)


def _known(row: Row, task: Task, place: str) -> dict[str, Any]:
    """Returns the known answers of a row by question."""
    questions, known = task_questions(task), dict[str, Any]()
    for question in questions:
        if not is_missing(row.get(question.name)):
            try:
                answer = question.value(row[question.name])
            except ValueError as error:
                raise InputError(f"{place}: {error}") from error
            known[question.name] = answer if isinstance(answer, str) else float(answer)
    if not known:
        names = ", ".join(question.name for question in questions)
        raise InputError(f"{place} has no known answer: add one or more of {names}")
    return known


def _reply(row: Row, text: str, system: str) -> Row:
    """Returns the row of a reply with its ids."""
    given = row.get("references", row.get("reference"))
    references = [] if is_missing(given) else [*filter(None, cell_list(given))]
    hs = make_hs_id(row["hate_speech"])
    item = make_item_id(hs, map(make_cn_id, references))
    ids = {"reply_id": make_reply_id(item, system, text), "item_id": item, "hs_id": hs}
    more = {"references": references, "background": row.get("background")}
    shown = {name: cell for name, cell in more.items() if cell and not is_missing(cell)}
    return ids | {"hate_speech": row["hate_speech"], "text": text, "system": system} | shown
