"""Units with known answers: gold questions, mixed into the sessions, and the questions of the qualification test."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from fcconan.annotation.campaigns import Row, Unit
from fcconan.annotation.questions import task_questions
from fcconan.annotation.sampling.combinations import CampaignContent
from fcconan.annotation.sampling.corpus import text_in
from fcconan.data import REPLY, make_cn_id, make_hs_id, make_item_id, make_pair_id, make_reply_id
from fcconan.errors import InputError
from fcconan.judging import Task

KnownRole = Literal["anchor", "quiz"]
_KEYS = {"hs.jsonl": "hs_id", "cn.jsonl": "cn_id", "replies.jsonl": "reply_id"}


def add_gold_questions(material: CampaignContent, rows: Iterable[Row], role: KnownRole, task: Task) -> CampaignContent:
    """Adds units with known answers.

    Args:
        material: Content of the campaign so far.
        rows: Rows with `hate_speech`; with `counter_narrative` (pairs), `text` (replies), or `text_a` and `text_b`
            (comparisons); and with the known answer: `label`, or columns of aspects, of which at least one has a value.
        role: `anchor` for gold questions, `quiz` for the qualification test.
        task: Task of the campaign.

    Raises:
        InputError: A text or answer is missing or not valid, a unit exists already, or there are no rows.
    """
    roles = {unit.unit_id: unit.role for unit in material.units}
    units = list(material.units)
    texts = {name: {row[_KEYS[name]]: row for row in rows} for name, rows in material.texts.items()}
    for number, row in enumerate(rows, start=1):
        place = getattr(row, "place", f"{role} {number}")
        known = _answer(row, task, place)
        unit, added = _UNITS[task.unit](row, role, known, place)
        if unit.unit_id in roles:
            names = {"item": "a unit", "anchor": "a gold question", "quiz": "a question of the qualification test"}
            raise InputError(f"{place} is already {names[roles[unit.unit_id]]} of the campaign: choose another one")
        roles[unit.unit_id] = role
        units.append(unit)
        for name, text in added:
            texts.setdefault(name, {}).setdefault(text[_KEYS[name]], text)
    n_added = len(units) - len(material.units)
    if not n_added:
        option = {"anchor": "--gold", "quiz": "--qualification"}[role]
        raise InputError(f"the file of {option} has no rows: add rows, or leave {option} out")
    counts = material.made_from["counts"] | {role: n_added}
    return CampaignContent(
        units, {name: list(found.values()) for name, found in texts.items()}, material.made_from | {"counts": counts}
    )


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


def _answer(row: Row, task: Task, place: str) -> dict[str, Any]:
    questions, known = task_questions(task), {}
    for question in questions:
        if row.get(question.name) in (None, ""):
            continue
        try:
            right = question.value(row[question.name])
        except ValueError as error:
            raise InputError(f"{place}: {error}") from error
        known[question.name] = right if isinstance(right, str) else float(right)
    if not known:
        names = ", ".join(question.name for question in questions)
        raise InputError(f"{place} has no known answer: add one or more of {names}")
    return known


_Added = tuple[Unit, list[tuple[str, Row]]]


def _pair(row: Row, role: KnownRole, known: dict[str, Any], place: str) -> _Added:
    hs_text, cn_text = text_in(row, "hate_speech", place), text_in(row, "counter_narrative", place)
    hs, cn = make_hs_id(hs_text), make_cn_id(cn_text)
    unit = Unit(make_pair_id(hs, cn), role=role, hs_id=hs, cn_id=cn, known=known)
    return unit, [("hs.jsonl", {"hs_id": hs, "text": hs_text}), ("cn.jsonl", {"cn_id": cn, "text": cn_text})]


def _reply(row: Row, role: KnownRole, known: dict[str, Any], place: str) -> _Added:
    reply = _reply_row(row, "text", role, place)
    return unit_of(reply, role=role, known=known), [("replies.jsonl", reply)]


def _comparison(row: Row, role: KnownRole, known: dict[str, Any], place: str) -> _Added:
    a, b = (_reply_row(row, f"text_{side}", f"{role}-{side}", place) for side in ("a", "b"))
    return unit_of(a, b, role=role, known=known), [("replies.jsonl", a), ("replies.jsonl", b)]


def _reply_row(row: Row, column: str, system: str, place: str) -> Row:
    hs_text, text = text_in(row, "hate_speech", place), text_in(row, column, place)
    hs = make_hs_id(hs_text)
    given = row.get("references") or row.get("reference")
    references = [given] if isinstance(given, str) else [each for each in given or [] if each]
    item = make_item_id(hs, map(make_cn_id, references))
    reply: Row = {
        "reply_id": make_reply_id(item, system, text),
        "item_id": item,
        "hs_id": hs,
        "hate_speech": hs_text,
        "text": text,
        "system": system,
        "references": references,
        "background": row.get("background"),
    }
    return {name: reply[name] for name in (*REPLY.kinds, "background") if reply.get(name)}


_UNITS = {"pair": _pair, "reply": _reply, "comparison": _comparison}
