"""The rows that a campaign publishes, for a recipe of the kind `campaign`; texts are in files of their own.

- Pairs: all votes, and the final labels with their confirmation by validators. A judged pair without a final label has
  its votes and a reason.
- Replies and comparisons: the answers of all raters. Additional files contain the final verdicts of adjudicated
  comparisons, and the median grades of validated replies.

Not published: gold questions, qualification tests, and comments, which may identify their author. If the task requires
an explanation, the comment is part of the answer and is published.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from fcconan.annotation.adjudication import BY_RULE, BY_VOTES, adjudicate
from fcconan.annotation.campaigns import (
    LABEL,
    MAIN,
    QUALIFICATION,
    VALIDATION,
    Answer,
    Campaign,
    Row,
    Unit,
    round_options,
)
from fcconan.annotation.validation import Verdict, verdicts
from fcconan.annotation.votes import NOT_SURE, answers_of, current_votes
from fcconan.building import ABOUT_CN, ABOUT_HS, CAMPAIGN_COLUMNS, group_values
from fcconan.data import VOTE_LABELS, Columns, make_cn_id, make_hs_id
from fcconan.errors import InputError

SKIPPED = "not_rated"  # reason of an answer without a value
VERDICTS = ("a", "b", "tie")
# Reasons of judged pairs without a final label, in addition to those of `fcconan.annotation.adjudication`.
UNDECIDED = "undecided"  # not adjudicated, in a campaign with decisions
CONFLICT = "conflict"  # different votes, in a campaign without decisions
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
        rows: Rows by file. Pairs: `hs`, `cn`, `pairs` and `votes`. Replies: `replies`, `ratings` and, if validated,
            `grades`. Comparisons: `replies`, `comparisons` and, if adjudicated, `labels`.
        columns: Names and types of the columns of each file.
        counts: Counts of omitted data: `not_judged` (units without an answer), `judged_in_other_rounds` (units with
            answers in other rounds only), `controls` (gold questions and qualification tests), `skipped` (answers
            without a value; they are rows of replies and comparisons) and, if adjudicated, `decided_without_votes`
            (units with a final label).
        unpublished: Columns of the campaign's texts that are in no file.
        notes: Sentences about further omitted data.
    """

    rows: dict[str, list[Row]]
    columns: dict[str, Columns]
    counts: dict[str, int]
    unpublished: list[str]
    notes: list[str]


def published_rows(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> Published:
    """Returns the rows that a campaign publishes, in the order of its units and raters.

    Args:
        campaign: The campaign.
        rounds: Rounds whose answers count. If a rater answered a question in several rounds, the last one counts.

    Raises:
        InputError: The task has another kind of answer, no unit was judged, a text was changed, or the votes do not
            give the final labels.
    """
    _check_task(campaign)
    units = {unit.unit_id: unit for unit in campaign.items()}
    given = answers_of(campaign, rounds)
    asked = product(units, campaign.raters(), campaign.aspects)
    keys = ((rater, unit, aspect) for unit, rater, aspect in asked)
    answers = group_values((key[1], given[key]) for key in keys if key in given)
    judged = {unit for unit, said in answers.items() if any(each.value is not None for each in said)}
    unjudged = units.keys() - judged
    elsewhere = [
        answer
        for answer in campaign.answers().values()
        if answer.unit_id in unjudged
        and answer.value is not None
        and answer.round not in (*rounds, VALIDATION, QUALIFICATION)
    ]
    others = list(dict.fromkeys(answer.round for answer in elsewhere))  # a review follows its round
    n_elsewhere = len({answer.unit_id for answer in elsewhere})
    if not judged:
        todo = "import answers with `fcconan annotate import`"
        if others:
            todo = f"choose rounds with answers, with {round_options(others)}"
        raise InputError(f"{campaign.folder} has no answers in {', '.join(rounds)}: {todo}")
    decisions = campaign.decisions()
    if campaign.task.labels and not decisions and campaign.answers(VALIDATION):
        raise InputError(f"{campaign.folder} has validators but no final labels: run `fcconan annotate adjudicate`")
    counts = {
        "not_judged": len(unjudged) - n_elsewhere,
        "judged_in_other_rounds": n_elsewhere,
        "controls": len(campaign.units()) - len(units),
        "skipped": sum(each.value is None for said in answers.values() for each in said),
    }
    decided = {unit for unit, decision in decisions.items() if decision.label is not None}
    if campaign.task.unit == "pair":
        rows = _pairs(campaign, rounds, units, answers)
        counts["decided_without_votes"] = len(decided & unjudged)
    else:
        rows = _judged_replies(campaign, units, answers)
    if campaign.task.unit == "comparison" and decisions:
        rows["labels"] = _labels(campaign, rounds, units, answers)
        counts["decided_without_votes"] = len(decided - answers.keys())
    if campaign.task.unit == "reply" and campaign.answers(VALIDATION):
        found = verdicts(campaign, rounds)
        rows["grades"] = [{"reply_id": unit} | _confirmed(verdict) for unit, verdict in found.items()]
    rows = {name: held for name, held in rows.items() if held or name not in ("labels", "grades")}
    columns = {name: {column: TYPES.get(column, "string") for column in CAMPAIGN_COLUMNS[name]} for name in rows}
    known = {column for name in rows for column in CAMPAIGN_COLUMNS[name]} | {"source_ids"}
    unpublished = {name for row in campaign.texts().values() for name in row} - known
    notes = [
        f"{n_elsewhere} units were judged only in {', '.join(others)} and are not published: give "
        f"{round_options([*others, *rounds])} to publish them."
    ]
    return Published(rows, columns, counts, sorted(unpublished), notes if others else [])


def _check_task(campaign: Campaign) -> None:
    """Checks that the columns of a dataset fit the task."""
    task = campaign.task
    found = {label.name for label in task.labels}
    expected: set[str] = {"pair": set(VOTE_LABELS), "reply": set(), "comparison": set(VERDICTS)}[task.unit]
    if bool(found) != bool(expected) or not found <= expected:
        words = [f"the labels {', '.join(sorted(names))}" if names else "aspects" for names in (found, expected)]
        raise InputError(
            f"the task {task.name} has {words[0]} for a {task.unit}, expected {words[1]}: "
            "change the task, or publish the answers in another way"
        )


def _pairs(
    campaign: Campaign, rounds: Sequence[str], units: Mapping[str, Unit], answers: Mapping[str, Sequence[Answer]]
) -> dict[str, list[Row]]:
    raters, confirmed = campaign.raters(), verdicts(campaign)
    final = _final_labels(campaign, rounds)
    pairs, votes = [], []
    for place, unit in enumerate(units):
        given = [answer for answer in answers.get(unit, ()) if answer.value is not None]
        if not given:
            continue
        label, reason = final(unit)
        pair: Row = {"pair_id": unit, "label": label, **_confirmed(confirmed.get(unit))}
        pairs.append(pair | {"reason": reason, "original_index": place})
        votes += [{"pair_id": unit, "label": answer.value} | _by(answer, raters[answer.rater].role) for answer in given]
    return {
        "hs": _texts(campaign, [unit.hs_id for unit in units.values()], "hs", ABOUT_HS),
        "cn": _texts(campaign, [unit.cn_id for unit in units.values()], "cn", ABOUT_CN),
        "pairs": pairs,
        "votes": votes,
    }


def _confirmed(verdict: Verdict | None) -> Row:
    return {
        "valid": int(verdict is not None and verdict.state == "agreed"),
        "n_validators": len(verdict.answers) if verdict else 0,
    }


def _labels(
    campaign: Campaign, rounds: Sequence[str], units: Mapping[str, Unit], answers: Mapping[str, Sequence[Answer]]
) -> list[Row]:
    """Returns the final verdicts of judged comparisons, with the reason of the decision."""
    decisions, confirmed = campaign.decisions(), verdicts(campaign)
    final = _final_labels(campaign, rounds)
    rows = []
    for unit in answers:
        label, reason = final(unit)
        said = {"verdict": label or "invalid", "reason": reason}
        said["decided"] = decisions[unit].reason if label else None
        replies = {"reply_a": units[unit].reply_a, "reply_b": units[unit].reply_b}
        rows.append(replies | said | _confirmed(confirmed.get(unit)))
    return rows


def _by(answer: Answer, role: str) -> Row:
    return {"rater": answer.rater, "role": role, "round": answer.round}


def _final_labels(campaign: Campaign, rounds: Sequence[str]) -> Callable[[str], tuple[str | None, str | None]]:
    """Returns a function from a unit to its final label and, if there is none, the reason.

    Raises:
        InputError: The votes do not give the final labels.
    """
    votes, decisions = current_votes(campaign, rounds)[LABEL], campaign.decisions()
    _check_decisions(campaign, rounds, votes)

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


def _check_decisions(campaign: Campaign, rounds: Sequence[str], votes: Mapping[str, object]) -> None:
    decisions = campaign.decisions()
    found = adjudicate(campaign, rounds=rounds, now=True, persons=()).by_rule
    changed = [
        unit
        for unit, each in decisions.items()
        if each.by in (BY_VOTES, BY_RULE) and unit in votes
        if found[unit].label != each.label
    ]
    if changed:
        raise InputError(
            f"the votes on {len(changed)} units, such as {changed[0]}, do not give their final labels: votes have "
            "changed, or other rounds were adjudicated; run `fcconan annotate adjudicate` again with the same rounds"
        )


def _texts(campaign: Campaign, ids: Iterable[str | None], side: str, about: Sequence[str]) -> list[Row]:
    id_of = {"hs": make_hs_id, "cn": make_cn_id}[side]
    texts, rows = campaign.texts(), []
    for key in dict.fromkeys(map(str, ids)):
        row = texts[key]
        _check_unchanged(campaign.folder / f"{side}.jsonl", key, id_of(row["text"]))
        found = {f"{side}_id": key, "text": row["text"], **{name: row.get(name) for name in about}}
        if side == "cn" and not found["source_id"]:
            found["source_id"] = "; ".join(row.get("source_ids") or []) or None
        rows.append(found)
    return rows


def _check_unchanged(file: Path, key: str, found: str) -> None:
    if found != key:
        raise InputError(f"{file}: the text of {key} has the id {found}: restore the text that was judged")


def _judged_replies(
    campaign: Campaign, units: Mapping[str, Unit], answers: Mapping[str, Sequence[Answer]]
) -> dict[str, list[Row]]:
    raters, texts = campaign.raters(), campaign.texts()
    ids = dict.fromkeys(key for unit in units.values() for key in (unit.reply_a, unit.reply_b) if key is not None)
    replies = []
    for key in ids:
        row = texts[key]
        hs = make_hs_id(str(row.get("hate_speech")))
        _check_unchanged(campaign.folder / "replies.jsonl", str(row.get("hs_id")), hs)
        replies.append({name: row.get(name) for name in CAMPAIGN_COLUMNS["replies"]})
    given = [answer for said in answers.values() for answer in said]
    swapped = {
        (name, *each.key): each.swapped
        for name in {answer.round for answer in given}
        for each in campaign.assignments(name)
    }
    judged = []
    for answer in given:
        unit, by = units[answer.unit_id], _by(answer, raters[answer.rater].role)
        if campaign.task.unit == "reply":
            explanation = answer.comment if campaign.task.explain else None
            said = {"aspect": answer.aspect, "value": answer.value, "explanation": explanation}
            judged.append({"reply_id": unit.reply_a, **by, **said})
        else:
            reason = SKIPPED if answer.value is None else None
            first = "b" if swapped.get((answer.round, *answer.key)) else "a"
            said = {"verdict": answer.value or "invalid", "reason": reason, "shown_first": first}
            judged.append({"reply_a": unit.reply_a, "reply_b": unit.reply_b, **by, **said})
    return {"replies": replies, {"reply": "ratings", "comparison": "comparisons"}[campaign.task.unit]: judged}


def without_label(published: Published) -> dict[str, int]:
    """Returns the number of judged pairs without a final label, by reason."""
    reasons = Counter(row["reason"] for row in published.rows.get("pairs", []) if row["reason"])
    return dict(sorted(reasons.items()))
