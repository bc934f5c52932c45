"""What raters said in a campaign, as agreement, adjudication and validation read it."""

from collections.abc import Sequence
from typing import Any

from fcconan.annotation.campaigns import LABEL, MAIN, Answer, Campaign, Row, Unit
from fcconan.building import grouped

Value = str | float
Votes = dict[str, dict[str, dict[str, Value]]]  # aspect -> unit -> rater -> value
NOT_SURE = "not_sure"  # the label of raters who cannot decide


def votes_of(campaign: Campaign, rounds: Sequence[str] = (MAIN,), *, roles: Sequence[str] = ("item",)) -> Votes:
    """Returns the answers that hold: aspect -> unit -> rater -> value.

    Skipped questions are left out. Units and raters stand in the order of their files. Where a rater judged a unit in
    several of the rounds, as in a review, the round that is named last counts.

    Args:
        campaign: The campaign.
        rounds: Their names.
        roles: Of the units: `item`, `anchor`, `quiz`.

    Raises:
        InputError: There is no such round.
    """
    given = {key: answer.value for key, answer in answers_of(campaign, rounds).items() if answer.value is not None}
    raters = campaign.raters()
    units = [unit.unit_id for unit in campaign.units().values() if unit.role in roles]
    found: Votes = {}
    for aspect in campaign.aspects:
        keys = {unit: [(rater, unit, aspect) for rater in raters] for unit in units}
        votes = {unit: {key[0]: given[key] for key in asked if key in given} for unit, asked in keys.items()}
        found[aspect] = {unit: said for unit, said in votes.items() if said}
    return found


def answers_of(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[tuple[str, str, str], Answer]:
    """Returns the answers that hold, skipped ones included, by rater, unit and aspect; see `votes_of`.

    Raises:
        InputError: There is no such round.
    """
    for name in rounds:
        campaign.assignments(name)  # says which rounds there are
    given = grouped((answer.round, answer) for answer in campaign.answers().values())
    found = {(each.rater, each.unit_id, each.aspect): each for name in rounds for each in given.get(name, ())}
    raters = campaign.raters()
    for rater, _, _ in found:
        raters[rater]  # refuses answers of another campaign
    return found


def unit_named(row: Row) -> str | None:
    """Returns the id of the unit that a row is about: a pair, a reply, or two replies; None if it names none."""
    for key in ("unit_id", "pair_id", "reply_id"):
        if row.get(key):
            return str(row[key])
    for first, second in (("query_id", "corpus_id"), ("reply_a", "reply_b")):
        if row.get(first) and row.get(second):
            return f"{row[first]}:{row[second]}"
    return None


def answer_in(row: Row) -> tuple[str, Any]:
    """Returns question and answer of a row: `label` with a label or verdict, or an aspect with its value."""
    label = row.get(LABEL) or row.get("verdict")
    return (LABEL, label) if label or not row.get("aspect") else (str(row["aspect"]), row.get("value"))


def item_of(unit: Unit) -> str:
    """Returns what a unit is drawn with in a resample: its HS, or its item, or itself where neither is known."""
    return unit.hs_id or unit.item_id or unit.unit_id
