"""Current answers of a campaign, for agreement, adjudication and validation."""

from collections.abc import Sequence
from pathlib import Path

from fcconan.annotation.campaigns import MAIN, VALIDATION, Answer, Campaign, Row, Unit
from fcconan.building import group_values
from fcconan.errors import InputError

Value = str | float
Votes = dict[str, dict[str, dict[str, Value]]]  # aspect -> unit -> rater -> value
NOT_SURE = "not_sure"  # the label of raters who cannot decide


def current_votes(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> Votes:
    """Returns the current answers: aspect -> unit -> rater -> value.

    Skipped questions, gold questions and qualification tests are left out. Units and raters are in the order of their
    files. If a rater judged a unit in several of the rounds, as in a review, the last one counts.

    Args:
        campaign: The campaign.
        rounds: Names of the rounds.

    Raises:
        InputError: A round does not exist.
    """
    given = {key: answer.value for key, answer in answers_of(campaign, rounds).items() if answer.value is not None}
    raters = campaign.raters()
    units = [unit.unit_id for unit in campaign.items()]
    found: Votes = {}
    for aspect in campaign.aspects:
        keys = {unit: [(rater, unit, aspect) for rater in raters] for unit in units}
        votes = {unit: {key[0]: given[key] for key in asked if key in given} for unit, asked in keys.items()}
        found[aspect] = {unit: said for unit, said in votes.items() if said}
    return found


def answers_of(campaign: Campaign, rounds: Sequence[str] = (MAIN,)) -> dict[tuple[str, str, str], Answer]:
    """Returns the current answers, skipped ones included, by rater, unit and aspect; see `current_votes`.

    Raises:
        InputError: A round does not exist.
    """
    for name in rounds:
        campaign.assignments(name)  # raises InputError for unknown rounds
    given = group_values((answer.round, answer) for answer in campaign.answers().values())
    found = {(each.rater, each.unit_id, each.aspect): each for name in rounds for each in given.get(name, ())}
    raters = campaign.raters()
    for rater, _, _ in found:
        raters[rater]  # raises InputError for answers of unknown raters
    return found


def vote_rows(folder: Path, round_name: str | None = None) -> list[Row]:
    """Returns the current answers of a campaign as votes, or as ratings in a task with grades.

    Args:
        folder: Folder of the campaign.
        round_name: Name of a round or a pattern; None for the main round.

    Returns:
        Rows of all answers but those of the qualification test, skipped ones included. `known` is the right answer to
        a gold question.

    Raises:
        InputError: The round does not exist, has no answers, or is that of the validators.
    """
    campaign = Campaign(folder)
    rounds = campaign.rounds_like([round_name] if round_name else ())
    if VALIDATION in rounds or not set(rounds) <= {*campaign.rounds()}:
        known = ", ".join(name for name in campaign.rounds() if name != VALIDATION)
        raise InputError(f"{folder} has no round of answers {rounds[0]!r}: choose with --split among {known or 'none'}")
    units, rows = campaign.units(), []
    for (rater, unit_id, aspect), answer in answers_of(campaign, rounds).items():
        unit = units[unit_id]
        row: Row = {"rater": rater, "item_id": item_of(unit), "known": (unit.known or {}).get(aspect)}
        if campaign.task.labels:
            row |= {"pair_id": unit_id, "label": answer.value}
        else:
            scale = campaign.task.aspect(aspect)
            row |= {"reply_id": unit_id, "aspect": aspect, "value": answer.value, "low": scale.low, "high": scale.high}
        if unit.role != "quiz":
            rows.append(row | {"seconds": answer.seconds})
    if not any(row.get("label", row.get("value")) is not None for row in rows):
        raise InputError(f"{folder} has no answers in {', '.join(rounds)}: import some first")
    return rows


def unit_named(row: Row) -> str | None:
    """Returns the id of the unit of a row: a pair, a reply, or two replies; None without an id."""
    for key in ("unit_id", "pair_id", "reply_id"):
        if row.get(key):
            return str(row[key])
    for first, second in (("query_id", "corpus_id"), ("reply_a", "reply_b")):
        if row.get(first) and row.get(second):
            return f"{row[first]}:{row[second]}"
    return None


def item_of(unit: Unit) -> str:
    """Returns the resampling cluster of a unit: its HS, its item, or itself if neither is known."""
    return unit.hs_id or unit.item_id or unit.unit_id
