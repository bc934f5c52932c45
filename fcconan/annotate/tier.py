"""What a campaign publishes: its judgements as rows, apart from the texts, for a recipe of kind `campaign`.

Of pairs: everything that raters voted, the final labels and whether validators confirmed them. A pair that was judged
and has no final label keeps its votes and says why. Of replies and comparisons: every rater's answers.

What stays behind: anchors and quiz units, names (there are none in a campaign), and remarks, which may tell who wrote
them; where the task itself asks for an explanation, that is part of the answer and is published.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fcconan import identity
from fcconan.annotate.adjudicate import BY_RULE, BY_VOTES, resolve
from fcconan.annotate.campaign import MAIN, VALIDATION, Answer, Campaign, Decision, Unit
from fcconan.annotate.validate import verdicts
from fcconan.annotate.votes import NOT_SURE, answers_of
from fcconan.build.campaign import ABOUT_CN, ABOUT_HS, COLUMNS
from fcconan.errors import InputError
from fcconan.rows import LABELS, VOTE_LABELS, Columns

Row = dict[str, Any]
SKIPPED = "not_rated"  # why an answer has no value
VERDICTS = {"a", "b", "tie"}
# Why a judged pair has no final label, beside the reasons of `fcconan.annotate.adjudicate`.
UNDECIDED = "undecided"  # nothing was decided about it
CONFLICT = "conflict"  # without any decision in the campaign: its votes differ
TYPES: Columns = {
    "age": "int",
    "n_validators": "int",
    "original_index": "int",
    "references": "texts",
    "value": "float",
}


@dataclass(frozen=True)
class Published:
    """The rows that a campaign publishes.

    Attributes:
        rows: By file: `hs`, `cn`, `pairs` and `votes`; `replies` and `ratings`; or `replies` and `comparisons`.
        columns: Names and types of the columns of every file.
        counts: What is not among the rows: `not_judged` (units without an answer), `controls` (anchors and quiz units),
            `skipped` (answers without a value; of replies and comparisons they are rows, too), and of pairs
            `decided_without_votes`.
        unpublished: Columns of the campaign's texts that no file has.
    """

    rows: dict[str, list[Row]]
    columns: dict[str, Columns]
    counts: dict[str, int]
    unpublished: list[str]


def published_rows(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> Published:
    """Returns what a campaign publishes, in the order of its units and raters.

    Args:
        campaign: The campaign.
        rounds: Whose answers count; of a rater's answers to one question that of the round named last.

    Raises:
        InputError: The task is none of the three kinds, nothing was judged, a text was changed, or the final labels do
            not go with the votes.
    """
    _check_task(campaign)
    units = [unit for unit in campaign.units().values() if unit.role == "item"]
    answers: dict[str, list[Answer]] = {}
    items = {unit.unit_id for unit in units}
    order = {rater: position for position, rater in enumerate(campaign.raters())}
    for answer in answers_of(campaign, rounds).values():
        if answer.unit_id in items:
            answers.setdefault(answer.unit_id, []).append(answer)
    for given in answers.values():
        given.sort(key=lambda answer: (order[answer.rater], campaign.aspects.index(answer.aspect)))
    counts = {
        "not_judged": sum(all(each.value is None for each in answers.get(unit.unit_id, ())) for unit in units),
        "controls": len(campaign.units()) - len(units),
        "skipped": sum(each.value is None for given in answers.values() for each in given),
    }
    if counts["not_judged"] == len(units):
        raise InputError(
            f"{campaign.folder} has no answers in {', '.join(rounds)}: import some with `fcconan annotate import`"
        )
    texts = campaign.texts()
    if campaign.task.unit == "pair":
        rows = _pairs(campaign, units, answers, texts, counts)
    else:
        rows = _judged_replies(campaign, units, answers, texts)
    columns = {name: {column: TYPES.get(column, "string") for column in COLUMNS[name]} for name in rows}
    known = {column for name in rows for column in COLUMNS[name]} | {"source_ids"}
    return Published(rows, columns, counts, sorted({name for row in texts.values() for name in row} - known))


def _check_task(campaign: Campaign) -> None:
    """Checks that the rows of a dataset can hold what the task asks for."""
    task = campaign.task
    labels = {label.name for label in task.labels}
    expected = {
        "pair": ("labels", set(VOTE_LABELS)),
        "reply": ("aspects", set()),
        "comparison": ("labels", VERDICTS),
    }[task.unit]
    if (expected[0] == "aspects") != bool(task.aspects) or not labels <= expected[1]:
        wanted = "aspects" if expected[0] == "aspects" else f"the labels {', '.join(sorted(expected[1]))}"
        found = f"the labels {', '.join(sorted(labels))}" if labels else "aspects"
        raise InputError(
            f"the task {task.name} has {found} for a {task.unit}, and a dataset has rows for {wanted} only: publish "
            "the answers yourself, or ask for these"
        )


def _pairs(
    campaign: Campaign,
    units: Sequence[Unit],
    answers: Mapping[str, Sequence[Answer]],
    texts: Mapping[str, Row],
    counts: dict[str, int],
) -> dict[str, list[Row]]:
    raters, decisions = campaign.raters(), campaign.decisions()
    if not decisions and campaign.answers(VALIDATION):
        raise InputError(
            f"{campaign.folder} has answers of validators and no final labels: run `fcconan annotate adjudicate`"
        )
    confirmed = verdicts(campaign)
    pairs, votes = [], []
    given_to: dict[str, list[str]] = {}
    for unit in units:
        given = [answer for answer in answers.get(unit.unit_id, ()) if answer.value is not None]
        given_to[unit.unit_id] = [str(answer.value) for answer in given]
        if not given:
            continue
        label, reason = _final(decisions, unit.unit_id, given_to[unit.unit_id])
        verdict = confirmed.get(unit.unit_id)
        pairs.append(
            {
                "pair_id": unit.unit_id,
                "label": label,
                "valid": int(verdict is not None and verdict.state == "agreed"),
                "n_validators": len(verdict.answers) if verdict else 0,
                "reason": reason,
                "original_index": len(given_to) - 1,
            }
        )
        votes += [
            {"pair_id": unit.unit_id, "label": answer.value} | _by(answer, raters[answer.rater].role)
            for answer in given
        ]
    _check_decisions(campaign, decisions, given_to)
    counts["decided_without_votes"] = sum(not given_to.get(unit, True) for unit in decisions)
    sides = {
        "hs": _texts(campaign, texts, [unit.hs_id for unit in units], "hs", ABOUT_HS),
        "cn": _texts(campaign, texts, [unit.cn_id for unit in units], "cn", ABOUT_CN),
    }
    return sides | {"pairs": pairs, "votes": votes}


def _by(answer: Answer, role: str) -> Row:
    return {"rater": answer.rater, "role": role, "round": answer.round}


def _final(decisions: Mapping[str, Decision], unit: str, votes: Sequence[str]) -> tuple[str | None, str | None]:
    """Returns the final label of a unit, or why it has none."""
    if decisions:
        decision = decisions.get(unit)
        if decision is None:
            return None, UNDECIDED
        return decision.label, None if decision.label else decision.reason
    if len(set(votes)) > 1:
        return None, CONFLICT
    return (None, NOT_SURE) if votes[0] == NOT_SURE else (votes[0], None)


def _check_decisions(campaign: Campaign, decisions: Mapping[str, Decision], votes: Mapping[str, Sequence[str]]) -> None:
    changed = []
    for unit, decision in decisions.items():
        if decision.label not in (*LABELS, None):
            raise InputError(
                f"{campaign.folder / 'decisions.jsonl'}: the label of {unit} is {decision.label!r}, expected "
                f"{' or '.join(LABELS)}: decide it anew with `fcconan annotate adjudicate`"
            )
        if decision.by in (BY_VOTES, BY_RULE) and votes.get(unit) and resolve(votes[unit])[0] != decision.label:
            changed.append(unit)
    if changed:
        raise InputError(
            f"the votes on {len(changed)} units, such as {changed[0]}, do not give their final labels: they changed, "
            "or other rounds were adjudicated; run `fcconan annotate adjudicate` again, with the same rounds"
        )


def _texts(
    campaign: Campaign, texts: Mapping[str, Row], ids: Sequence[str | None], side: str, about: Sequence[str]
) -> list[Row]:
    id_of = {"hs": identity.hs_id, "cn": identity.cn_id}[side]
    rows = []
    for key in dict.fromkeys(map(str, ids)):
        row = _text(campaign, texts, key)
        if id_of(row["text"]) != key:
            raise InputError(
                f"{campaign.folder / f'{side}.jsonl'}: the text of {key} has the id {id_of(row['text'])}: it was "
                "changed after it was judged; put the old text back"
            )
        found = {f"{side}_id": key, "text": row["text"], **{name: row.get(name) for name in about}}
        if side == "cn" and not found["source_id"]:
            found["source_id"] = "; ".join(row.get("source_ids") or []) or None
        rows.append(found)
    return rows


def _text(campaign: Campaign, texts: Mapping[str, Row], key: str) -> Row:
    if key not in texts:
        raise InputError(f"{campaign.folder} has no text {key}, which is judged: take its files from a backup")
    return texts[key]


def _judged_replies(
    campaign: Campaign, units: Sequence[Unit], answers: Mapping[str, Sequence[Answer]], texts: Mapping[str, Row]
) -> dict[str, list[Row]]:
    raters = campaign.raters()
    ids = dict.fromkeys(key for unit in units for key in (unit.reply_a, unit.reply_b) if key is not None)
    replies = []
    for key in ids:
        row = _text(campaign, texts, key)
        hs = identity.hs_id(str(row.get("hate_speech")))
        if hs != row.get("hs_id"):
            raise InputError(
                f"{campaign.folder / 'replies.jsonl'}: the HS of {key} has the id {hs}, not {row.get('hs_id')}: it was "
                "changed; put the old text back"
            )
        replies.append({name: row.get(name) for name in COLUMNS["replies"]})
    judged = []
    for unit in units:
        for answer in answers.get(unit.unit_id, ()):
            by = _by(answer, raters[answer.rater].role)
            if campaign.task.unit == "reply":
                explanation = answer.comment if campaign.task.explain else None
                said = {"aspect": answer.aspect, "value": answer.value, "explanation": explanation}
                judged.append({"reply_id": unit.reply_a, **by, **said})
            else:
                reason = SKIPPED if answer.value is None else None
                said = {"verdict": answer.value or "invalid", "reason": reason}
                judged.append({"reply_a": unit.reply_a, "reply_b": unit.reply_b, **by, **said})
    return {"replies": replies, {"reply": "ratings", "comparison": "comparisons"}[campaign.task.unit]: judged}


def without_label(published: Published) -> dict[str, int]:
    """Returns how many judged pairs have no final label, by reason."""
    reasons = Counter(row["reason"] for row in published.rows.get("pairs", []) if row["reason"])
    return dict(sorted(reasons.items()))
