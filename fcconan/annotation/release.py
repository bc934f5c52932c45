"""What a campaign publishes: its judgements as rows, apart from the texts, for a recipe of kind `campaign`.

Of pairs: everything that raters voted, the final labels and whether validators confirmed them. A pair that was judged
and has no final label keeps its votes and says why. Of replies and comparisons: every rater's answers; in files of
their own the final verdicts of comparisons, once they are adjudicated, and whether validators confirmed them, or the
median grades of replies, once validators were asked.

What stays behind: anchors and quiz units, names (there are none in a campaign), and remarks, which may tell who wrote
them; where the task itself asks for an explanation, that is part of the answer and is published.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from fcconan.annotation.adjudication import BY_RULE, BY_VOTES, DAWID_SKENE, RULE, adjudicate
from fcconan.annotation.campaigns import (
    LABEL,
    MAIN,
    QUALIFICATION,
    VALIDATION,
    Answer,
    Campaign,
    Unit,
    round_options,
)
from fcconan.annotation.validation import Verdict, verdicts
from fcconan.annotation.votes import NOT_SURE, answers_of, votes_of
from fcconan.building import ABOUT_CN, ABOUT_HS, CAMPAIGN_COLUMNS
from fcconan.data import LABELS, VOTE_LABELS, Columns, make_cn_id, make_hs_id
from fcconan.errors import InputError

Row = dict[str, Any]
SKIPPED = "not_rated"  # why an answer has no value
VERDICTS = ("a", "b", "tie")
# Why a judged pair has no final label, beside the reasons of `fcconan.annotation.adjudication`.
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
        rows: By file: `hs`, `cn`, `pairs` and `votes`; `replies`, `ratings` and, if validators were asked, `grades`; or
            `replies`, `comparisons` and, once they are adjudicated, `labels`.
        columns: Names and types of the columns of every file.
        counts: What is not among the rows: `not_judged` (units without an answer), `judged_in_other_rounds` (units with
            answers in other rounds only), `controls` (anchors and quiz units), `skipped` (answers without a value; of
            replies and comparisons they are rows, too), and of what is adjudicated `decided_without_votes` (units with
            a final label).
        unpublished: Columns of the campaign's texts that no file has.
        notes: What else to know of what is not among the rows, in sentences.
    """

    rows: dict[str, list[Row]]
    columns: dict[str, Columns]
    counts: dict[str, int]
    unpublished: list[str]
    notes: list[str]


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
    units = campaign.items()
    items = {unit.unit_id for unit in units}
    given_to = answers_of(campaign, rounds)
    keys = list(product(campaign.raters(), campaign.aspects))
    answers = {
        unit: given
        for unit in (each.unit_id for each in units)
        if (given := [given_to[key] for rater, aspect in keys if (key := (rater, unit, aspect)) in given_to])
    }
    judged = {unit for unit, given in answers.items() if any(each.value is not None for each in given)}
    elsewhere, others = _judged_elsewhere(campaign, items - judged, rounds)
    counts = {
        "not_judged": len(items - judged - elsewhere),
        "judged_in_other_rounds": len(elsewhere),
        "controls": len(campaign.units()) - len(units),
        "skipped": sum(each.value is None for given in answers.values() for each in given),
    }
    if not judged:
        todo = "import some with `fcconan annotate import`"
        if others:
            todo = f"name the rounds that have some, with {round_options(others)}"
        raise InputError(f"{campaign.folder} has no answers in {', '.join(rounds)}: {todo}")
    notes = []
    if elsewhere:
        notes.append(
            f"{len(elsewhere)} units were judged only in {', '.join(others)} and are not published: give "
            f"{round_options([*others, *rounds])} to publish them, too."
        )
    if campaign.task.labels and not campaign.decisions() and campaign.answers(VALIDATION):
        raise InputError(
            f"{campaign.folder} has answers of validators and no final labels: run `fcconan annotate adjudicate`"
        )
    texts = campaign.texts()
    decided = {unit for unit, decision in campaign.decisions().items() if decision.label is not None}
    if campaign.task.unit == "pair":
        rows = _pairs(campaign, rounds, units, answers, texts)
        counts["decided_without_votes"] = len(decided & items - judged)
    else:
        rows = _judged_replies(campaign, units, answers, texts)
    if campaign.task.unit == "comparison" and campaign.decisions():
        rows["labels"] = _labels(campaign, rounds, units, answers)
        counts["decided_without_votes"] = len(decided - answers.keys())
    if campaign.task.unit == "reply" and campaign.answers(VALIDATION):
        found = verdicts(campaign, rounds)
        rows["grades"] = [{"reply_id": unit} | _confirmed(verdict) for unit, verdict in found.items()]
    rows = {name: held for name, held in rows.items() if held or name not in ("labels", "grades")}
    columns = {name: {column: TYPES.get(column, "string") for column in CAMPAIGN_COLUMNS[name]} for name in rows}
    known = {column for name in rows for column in CAMPAIGN_COLUMNS[name]} | {"source_ids"}
    return Published(rows, columns, counts, sorted({name for row in texts.values() for name in row} - known), notes)


def _judged_elsewhere(campaign: Campaign, units: set[str], rounds: Sequence[str]) -> tuple[set[str], list[str]]:
    """Returns which of these units have answers in other rounds, and which rounds, a review after what it reviews."""
    found = [
        answer
        for answer in campaign.answers().values()
        if answer.unit_id in units
        and answer.value is not None
        and answer.round not in (*rounds, VALIDATION, QUALIFICATION)
    ]
    return {answer.unit_id for answer in found}, list(dict.fromkeys(answer.round for answer in found))


def _check_task(campaign: Campaign) -> None:
    """Checks that the rows of a dataset can hold what the task asks for."""
    task = campaign.task
    labels = {label.name for label in task.labels}
    expected = {
        "pair": ("labels", set(VOTE_LABELS)),
        "reply": ("aspects", set()),
        "comparison": ("labels", set(VERDICTS)),
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
    rounds: Sequence[str],
    units: Sequence[Unit],
    answers: Mapping[str, Sequence[Answer]],
    texts: Mapping[str, Row],
) -> dict[str, list[Row]]:
    raters, confirmed = campaign.raters(), verdicts(campaign)
    final = _final_labels(campaign, rounds, LABELS)
    pairs, votes = [], []
    for place, unit in enumerate(units):
        given = [answer for answer in answers.get(unit.unit_id, ()) if answer.value is not None]
        if not given:
            continue
        label, reason = final(unit.unit_id)
        pair: Row = {"pair_id": unit.unit_id, "label": label, **_confirmed(confirmed.get(unit.unit_id))}
        pairs.append(pair | {"reason": reason, "original_index": place})
        votes += [
            {"pair_id": unit.unit_id, "label": answer.value} | _by(answer, raters[answer.rater].role)
            for answer in given
        ]
    sides = {
        "hs": _texts(campaign, texts, [unit.hs_id for unit in units], "hs", ABOUT_HS),
        "cn": _texts(campaign, texts, [unit.cn_id for unit in units], "cn", ABOUT_CN),
    }
    return sides | {"pairs": pairs, "votes": votes}


def _confirmed(verdict: Verdict | None) -> Row:
    return {
        "valid": int(verdict is not None and verdict.state == "agreed"),
        "n_validators": len(verdict.answers) if verdict else 0,
    }


def _labels(
    campaign: Campaign, rounds: Sequence[str], units: Sequence[Unit], answers: Mapping[str, Sequence[Answer]]
) -> list[Row]:
    """The final verdicts of the comparisons that were judged, and how they were decided."""
    decisions, confirmed = campaign.decisions(), verdicts(campaign)
    final = _final_labels(campaign, rounds, VERDICTS)
    rows = []
    for unit in (each for each in units if each.unit_id in answers):
        label, reason = final(unit.unit_id)
        said = {"verdict": label or "invalid", "reason": reason}
        said["decided"] = decisions[unit.unit_id].reason if label else None
        rows.append(
            {"reply_a": unit.reply_a, "reply_b": unit.reply_b, **said, **_confirmed(confirmed.get(unit.unit_id))}
        )
    return rows


def _by(answer: Answer, role: str) -> Row:
    return {"rater": answer.rater, "role": role, "round": answer.round}


def _final_labels(
    campaign: Campaign, rounds: Sequence[str], labels: Sequence[str]
) -> Callable[[str], tuple[str | None, str | None]]:
    """Returns a function that gives the final label of a unit, or why it has none.

    Raises:
        InputError: A label is none of the expected ones, or the votes do not give the final labels.
    """
    votes, decisions = votes_of(campaign, rounds)[LABEL], campaign.decisions()
    _check_decisions(campaign, rounds, votes, labels)

    def final(unit: str) -> tuple[str | None, str | None]:
        if not decisions:
            said = set(votes[unit].values())
            label = str(next(iter(said)))
            reason = CONFLICT if len(said) > 1 else NOT_SURE if label == NOT_SURE else None
            return (None if reason else label), reason
        if unit not in decisions:
            return None, UNDECIDED
        decision = decisions[unit]
        return decision.label, None if decision.label else decision.reason

    return final


def _check_decisions(
    campaign: Campaign, rounds: Sequence[str], votes: Mapping[str, object], labels: Sequence[str]
) -> None:
    decisions = campaign.decisions()
    for unit, decision in decisions.items():
        if decision.label not in (*labels, None):
            raise InputError(
                f"{campaign.folder / 'decisions.jsonl'}: the label of {unit} is {decision.label!r}, expected "
                f"{' or '.join(labels)}: decide it again with `fcconan annotate adjudicate`"
            )
    method = DAWID_SKENE if any(each.reason == "posterior" for each in decisions.values()) else RULE
    found = adjudicate(campaign, rounds=rounds, now=True, persons=(), method=method, at_least=0.0).by_rule
    changed = [
        unit
        for unit, each in decisions.items()
        # The least probability that was asked for is not known, so an improbable label cannot be checked.
        if each.by in (BY_VOTES, BY_RULE) and each.reason != "improbable" and unit in votes
        if found[unit].label != each.label
    ]
    if changed:
        raise InputError(
            f"the votes on {len(changed)} units, such as {changed[0]}, do not give their final labels: they changed, "
            "or other rounds were adjudicated; run `fcconan annotate adjudicate` again, with the same rounds"
        )


def _texts(
    campaign: Campaign, texts: Mapping[str, Row], ids: Sequence[str | None], side: str, about: Sequence[str]
) -> list[Row]:
    id_of = {"hs": make_hs_id, "cn": make_cn_id}[side]
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
        hs = make_hs_id(str(row.get("hate_speech")))
        if hs != row.get("hs_id"):
            raise InputError(
                f"{campaign.folder / 'replies.jsonl'}: the HS of {key} has the id {hs}, not {row.get('hs_id')}: it was "
                "changed; put the old text back"
            )
        replies.append({name: row.get(name) for name in CAMPAIGN_COLUMNS["replies"]})
    swapped = {
        (name, each.rater, each.unit_id): each.swapped
        for name in {answer.round for given in answers.values() for answer in given}
        for each in campaign.assignments(name)
    }
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
                first = "b" if swapped.get((answer.round, answer.rater, unit.unit_id)) else "a"
                said = {"verdict": answer.value or "invalid", "reason": reason, "shown_first": first}
                judged.append({"reply_a": unit.reply_a, "reply_b": unit.reply_b, **by, **said})
    return {"replies": replies, {"reply": "ratings", "comparison": "comparisons"}[campaign.task.unit]: judged}


def without_label(published: Published) -> dict[str, int]:
    """Returns how many judged pairs have no final label, by reason."""
    reasons = Counter(row["reason"] for row in published.rows.get("pairs", []) if row["reason"])
    return dict(sorted(reasons.items()))
