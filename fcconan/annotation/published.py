"""The rows that a campaign publishes, for a recipe of the kind `campaign`; texts are in files of their own.

- Pairs: all votes, and the final labels with their confirmation by validators. A judged pair without a final label has
  its votes and a reason.
- Replies and comparisons: the answers of all raters. Additional files contain the final verdicts of adjudicated
  comparisons, and the validation of the median grades of replies.

`valid` is empty where no validator judged the label. Not published: gold questions, qualification tests, and comments,
which may identify their author. If the task requires an explanation, the comment is part of the answer and is
published.
"""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fcconan.annotation.campaigns import VALIDATION, Campaign
from fcconan.annotation.votes import BY_RULE, BY_VOTES, answer_table, decide, verdicts
from fcconan.building import CAMPAIGN_COLUMNS
from fcconan.data import VOTE_LABELS
from fcconan.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

SKIPPED = "not_rated"  # reason of an answer without a value
UNDECIDED = "undecided"  # reason of a judged pair that was not adjudicated
LABELS = {"pair": {*VOTE_LABELS}, "reply": set[str](), "comparison": {"a", "b", "tie"}}
KEY = ("round", "rater", "unit_id")
VALID = {"agreed": 1, "disagreed": 0, "split": 0}


def published_tables(campaign: Campaign, rounds: Sequence[str]) -> tuple[dict[str, "DataFrame"], dict[str, int]]:
    """Returns the rows that a campaign publishes, in the order of its units and raters.

    Args:
        campaign: The campaign.
        rounds: Rounds whose answers count. If a rater answered a question in several rounds, the last one counts.

    Returns:
        Rows by file. Pairs: `hs`, `cn`, `pairs` and `votes`. Replies: `replies`, `ratings` and, if validated, `grades`.
        Comparisons: `replies`, `comparisons` and, if adjudicated, `labels`. And the numbers of units and answers that
        are left out, by reason.

    Raises:
        InputError: The labels of the task have no place in a dataset, there are no answers or final labels, or votes
            have changed since they were adjudicated.
    """
    from pandas import DataFrame

    task = campaign.task
    if (labels := {label.name for label in task.labels}) - LABELS[task.unit] or (task.unit != "reply") != bool(labels):
        raise InputError(
            f"{task.name} has the labels {', '.join(sorted(labels)) or 'none'} for a {task.unit}, expected "
            f"{', '.join(sorted(LABELS[task.unit])) or 'aspects'}: publish the answers in another way"
        )
    items = DataFrame(
        [(unit.unit_id, unit.unit_id, unit.unit_id, unit.reply_a, unit.reply_b) for unit in campaign.items()],
        columns=["unit_id", "pair_id", "reply_id", "reply_a", "reply_b"],
    ).set_index("unit_id")
    items["original_index"] = range(len(items))
    answers = answer_table(campaign, rounds).query("role == 'item'").join(items, on="unit_id")
    if answers["value"].isna().all():
        raise InputError(f"{campaign.folder} has no answers in {', '.join(rounds)}: import answers first")
    swapped = {(name, *each.key) for name in rounds for each in campaign.assignments(name) if each.swapped}
    skipped = answers["value"].isna()
    answers = answers.assign(
        role=answers["rater"].map({name: rater.role for name, rater in campaign.raters().items()}),
        label=answers["value"],
        verdict=answers["value"].mask(skipped, "invalid"),
        reason=skipped.map({True: SKIPPED, False: None}),
        shown_first=["b" if key in swapped else "a" for key in zip(*(answers[name] for name in KEY), strict=True)],
        explanation=answers["comment"] if task.explain else None,
    )
    left_out = {
        "units without an answer": len(items) - answers[~skipped]["unit_id"].nunique(),
        "gold questions and qualification tests": len(campaign.units()) - len(items),
        "skipped answers": int(skipped.sum()) if task.unit == "pair" else 0,
    }
    if task.unit == "pair":
        answers = answers[~skipped]
        final = _final(campaign, rounds, items.loc[answers["unit_id"].unique()])
        left_out |= {f"pairs without a label: {reason}": n for reason, n in final["reason"].value_counts().items()}
        ids = {side: [getattr(unit, f"{side}_id") for unit in campaign.items()] for side in ("hs", "cn")}
        tables = {**{side: _texts(campaign, own) for side, own in ids.items()}, "pairs": final, "votes": answers}
    else:
        tables = {"replies": _texts(campaign, items[["reply_a", "reply_b"]].stack().dropna())}
        tables["ratings" if task.unit == "reply" else "comparisons"] = answers
    if task.unit == "comparison" and campaign.decisions():
        tables["labels"] = _final(campaign, rounds, items.loc[answers["unit_id"].unique()])
    if task.unit == "reply" and campaign.answers(VALIDATION):
        tables["grades"] = _with_validation(campaign, rounds, items).dropna(subset="n_validators")
    tables = {name: table.reindex(columns=[*CAMPAIGN_COLUMNS[name]]) for name, table in tables.items()}
    return tables, {reason: number for reason, number in left_out.items() if number}


def _final(campaign: Campaign, rounds: Sequence[str], items: "DataFrame") -> "DataFrame":
    """Returns units with their final labels and the validation of these.

    Raises:
        InputError: There are no final labels, or votes have changed since they were adjudicated.
    """
    decisions, rule = campaign.decisions(), decide(campaign, rounds, allow_pending=True)["rule"]
    if not decisions:
        raise InputError(f"{campaign.folder} has no final labels: run `fcconan annotate adjudicate` first")
    own = {unit: decisions[unit] for unit in items.index if unit in decisions}
    by_rule = {unit: each.label for unit, each in own.items() if each.by in (BY_VOTES, BY_RULE)}
    if changed := [unit for unit, label in by_rule.items() if rule[unit] != label]:
        raise InputError(
            f"the votes on {len(changed)} units, such as {changed[0]}, do not give their final labels: votes have "
            "changed, or other rounds were adjudicated; run `fcconan annotate adjudicate` with the same rounds"
        )
    labels = {unit: each.label for unit, each in own.items() if each.label is not None}
    reasons = {unit: each.reason for unit, each in own.items()}
    found = _with_validation(campaign, rounds, items)
    return found.assign(
        label=[labels.get(unit) for unit in found.index],
        verdict=[labels.get(unit, "invalid") for unit in found.index],
        reason=[None if unit in labels else reasons.get(unit, UNDECIDED) for unit in found.index],
        decided=[reasons[unit] if unit in labels else None for unit in found.index],
        n_validators=found["n_validators"].fillna(0),
    )


def _with_validation(campaign: Campaign, rounds: Sequence[str], items: "DataFrame") -> "DataFrame":
    """Returns units with `valid` (missing without a judgement of a validator) and `n_validators`."""
    found = verdicts(campaign, rounds)
    return items.join(found.assign(valid=found["state"].map(VALID))[["valid", "n_validators"]].astype("Int64"))


def _texts(campaign: Campaign, ids: Iterable[str]) -> "DataFrame":
    """Returns the texts with the given ids, once each, and all that is known about them."""
    from pandas import DataFrame

    texts = campaign.texts()
    rows = (texts[key] for key in dict.fromkeys(ids))
    return DataFrame(
        [
            row
            | {"source_id": row.get("source_id") or "; ".join(row.get("source_ids") or ()) or None}
            | {"references": json.dumps(row.get("references") or [], ensure_ascii=False)}
            for row in rows
        ],
        dtype=object,
    )
