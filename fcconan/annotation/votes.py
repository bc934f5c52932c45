"""Current answers of a campaign, and the final labels that a rule gives them.

The rule gives all labels of FC-CONAN's release:

- One vote: its label.
- Two votes: if one is `not_sure`, the other label; if they contradict each other, no label.
- Three or more votes: the label with a strict majority of all votes, `not_sure` included.

A unit without a label is discarded with a reason, unless a person decides it. The release has labelled pairs only, so
it cannot show whether `not_sure` counts as a vote. The two readings differ first where two of three raters are not
sure; the rule takes the cautious one and discards the unit.

The rule applies to verdicts between two replies as well: a comparison without a strict majority is discarded. That is
different from `tie`, which is a verdict of its own. Grades are published without a decision.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.annotation.campaigns import QUALIFICATION, VALIDATION, Campaign, Decision, Row, Unit
from fcconan.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

NOT_SURE = "not_sure"  # the label of raters who cannot decide
BY_VOTES, BY_RULE = "votes", "rule"  # equal votes, and others; otherwise a person decided
WAITING, NOT_ASSIGNED = "waiting", "not_assigned"  # units without a decision
FIELDS = ("round", "rater", "unit_id", "aspect", "value", "seconds", "comment")


def answer_table(campaign: Campaign, rounds: Sequence[str]) -> "DataFrame":
    """Returns the current answers, skipped ones included, in the order of units, raters and aspects.

    If a rater answered a question in several rounds, as in a review, the answer of the last round counts.

    Args:
        campaign: The campaign.
        rounds: Names of the rounds.

    Returns:
        The fields of `Answer`, and `role` of the unit; `value` is None for skipped questions.

    Raises:
        InputError: A round does not exist.
    """
    from pandas import DataFrame

    for name in rounds:
        campaign.assignments(name)  # raises InputError for unknown rounds
    given = ([getattr(each, name) for name in FIELDS] for each in campaign.history() if each.round in rounds)
    table = DataFrame(given, columns=[*FIELDS], dtype=object)
    table = table.sort_values("round", key=lambda names: names.map([*rounds].index), kind="stable")
    table = table.drop_duplicates(["unit_id", "rater", "aspect"], keep="last")
    units = campaign.units()
    order = {"unit_id": [*units], "rater": [*campaign.raters()], "aspect": campaign.aspects}
    place = {column: {name: at for at, name in enumerate(names)} for column, names in order.items()}
    table = table.sort_values([*order], key=lambda column: column.map(place[str(column.name)]), ignore_index=True)
    return table.assign(role=table["unit_id"].map({key: unit.role for key, unit in units.items()}))


def decide(
    campaign: Campaign, rounds: Sequence[str], *, allow_pending: bool = False, persons: Mapping[str, Decision] = {}
) -> "DataFrame":
    """Returns the final label of each unit, by the rule or by a person.

    Args:
        campaign: A campaign on a task with labels.
        rounds: Rounds whose answers are votes.
        allow_pending: Whether units with open assignments are decided as well, if they have a vote.
        persons: Decisions of persons by unit.

    Returns:
        Units by id, without gold questions and qualification tests: `votes` in the order of the raters; `rule`, the
        label that the rule gives, and `rule_reason`; `label`, `by` and `reason` of the decision. Units without a
        decision have the reason `waiting` (for answers) or `not_assigned`.

    Raises:
        InputError: A round does not exist.
    """
    from pandas import DataFrame

    table = answer_table(campaign, rounds)
    answered = {*zip(table["rater"], table["unit_id"], strict=True)}
    assigned = [each for name in rounds for each in campaign.assignments(name)]
    asked = {each.unit_id for each in assigned if not each.withdrawn or each.key in answered}
    pending = {each.unit_id for each in assigned if not each.withdrawn and each.key not in answered}
    votes = table.dropna(subset="value").groupby("unit_id")["value"].agg(list).to_dict()
    rows = []
    for unit in (each.unit_id for each in campaign.items()):
        given = votes.get(unit, [])
        rule: tuple[str | None, str] = None, NOT_ASSIGNED
        if unit in asked:
            rule = (None, WAITING) if unit in pending and not (allow_pending and given) else resolve(given)
        own = persons.get(unit)
        by = BY_VOTES if len({*given}) < 2 else BY_RULE
        rows.append((unit, given, *rule, *((rule[0], by, rule[1]) if own is None else (own.label, own.by, own.reason))))
    columns = ["unit_id", "votes", "rule", "rule_reason", "label", "by", "reason"]
    return DataFrame(rows, columns=columns, dtype=object).set_index("unit_id")


def resolve(votes: Sequence[str]) -> tuple[str | None, str]:
    """Applies the rule to the votes on one unit.

    Args:
        votes: Labels of the raters, `not_sure` included, without skipped answers.

    Returns:
        The label, or None if the unit is discarded; and the reason.

    Examples:
        >>> resolve(["appropriate", "not_sure"])
        ('appropriate', 'other_not_sure')
    """
    if not votes:
        return None, "all_skipped"
    label, backing = Counter(votes).most_common(1)[0]
    if backing == len(votes):
        reason = "not_sure" if label == NOT_SURE else "single" if backing == 1 else "unanimous"
        return (None if label == NOT_SURE else label), reason
    if len(votes) == 2 and NOT_SURE in votes:
        return next(vote for vote in votes if vote != NOT_SURE), "other_not_sure"
    if 2 * backing <= len(votes):
        return None, "no_majority"
    return (None, "not_sure") if label == NOT_SURE else (label, "majority")


def vote_rows(folder: Path, round_name: str | None = None) -> list[Row]:
    """Returns the current answers of a campaign as votes, or as ratings in a task with grades.

    Args:
        folder: Folder of the campaign.
        round_name: Name of a round or a pattern; None for all rounds with answers.

    Returns:
        Rows of all answers but those of the qualification test, skipped ones included. `known` is the right answer to
        a gold question.

    Raises:
        InputError: The round does not exist, has no answers, or is that of the validators.
    """
    campaign = Campaign(folder)
    rounds = campaign.rounds_like([round_name] if round_name else ())
    known = [name for name in campaign.rounds() if name not in (VALIDATION, QUALIFICATION)]
    if not {*rounds} <= {*known}:
        raise InputError(
            f"{folder} has no round of answers {rounds[0]!r}: choose with --split among {', '.join(known) or 'none'}"
        )
    table, units, rows = answer_table(campaign, rounds), campaign.units(), []
    if table["value"].isna().all():
        raise InputError(f"{folder} has no answers in {', '.join(rounds)}: import some first")
    for row in table[table["role"] != "quiz"].to_dict("records"):
        unit, aspect, value = units[row["unit_id"]], row["aspect"], row["value"]
        found = {"rater": row["rater"], "item_id": item_of(unit), "known": (unit.known or {}).get(aspect)}
        if campaign.task.labels:
            found |= {"pair_id": unit.unit_id, "label": value}
        else:
            scale = campaign.task.aspect(aspect)
            found |= {"reply_id": unit.unit_id, "aspect": aspect, "value": value, "low": scale.low, "high": scale.high}
        rows.append(found | {"seconds": row["seconds"]})
    return rows


def item_of(unit: Unit) -> str:
    """Returns the resampling cluster of a unit: its HS, its item, or itself if neither is known."""
    return unit.hs_id or unit.item_id or unit.unit_id
