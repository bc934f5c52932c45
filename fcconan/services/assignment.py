"""Assignment: raters of a campaign, rounds, reassignment, and the qualification test."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from fcconan.services.campaign_folders import (
    MOST_GRADES,
    CampaignFolder,
    CampaignResult,
    RoundSize,
    Tolerance,
    count_option,
    share_option,
)
from fcconan.services.configuration import Configuration, option

if TYPE_CHECKING:
    from fcconan.annotation import Assignment, Balance, Campaign, RoundPlan

MOST_RATERS = 10_000


class RosterOptions(Configuration):
    """Options of `update_raters`: raters to add, and raters who leave."""

    join: tuple[str, ...] = option((), help="Pseudonym of a rater who joins or returns.", metavar="NAME")
    leave: tuple[str, ...] = option((), help="Pseudonym of a rater who leaves.", metavar="NAME")
    role: Literal["annotator", "validator"] = option("annotator", help="Role of raters who join.")
    invited: bool = option(False, help="Require raters who join to pass the qualification test.")
    add_annotators: int = count_option(
        "Add annotator-1 to annotator-N where they are missing.",
        0,
        least=0,
        most=MOST_RATERS,
    )
    add_validators: int = count_option(
        "Add validator-1 to validator-N where they are missing.",
        0,
        least=0,
        most=MOST_RATERS,
    )


class RosterResult(CampaignResult):
    """The raters of a campaign, with their state now and before."""

    table: ClassVar[str] = "raters"


def update_raters(campaign: CampaignFolder, options: RosterOptions = RosterOptions()) -> RosterResult:
    """Lists the raters of a campaign, adds raters and marks raters as left.

    `assign` with `reassign` assigns the open units of raters who left to other raters.

    Args:
        campaign: The folder of the campaign.
        options: The options.

    Returns:
        All raters. The main table has the columns `rater`, `role`, `state` and `was` (the state before).

    Raises:
        InputError: The folder does not hold a campaign, or a rater cannot join or leave.

    Examples:
        >>> found = update_raters(campaign, RosterOptions(leave=("velmari-3",), add_validators=1))
        >>> found.to_frame()[["rater", "state"]].values.tolist()
        [['ombrey-1', 'active'], ['tessok-2', 'active'], ['velmari-3', 'left'], ['validator-1', 'active']]
    """
    from fcconan.annotation import Campaign, join, leave

    opened = Campaign(Path(campaign))
    with opened.changing():
        before = opened.raters()
        found = join(before, options.join, role=options.role, invited=options.invited)
        numbered: tuple[tuple[Literal["annotator", "validator"], int], ...]
        numbered = (("annotator", options.add_annotators), ("validator", options.add_validators))
        for role, number in numbered:
            names = [name for name in (f"{role}-{each}" for each in range(1, number + 1)) if name not in found]
            found = join(found, names, role=role, invited=options.invited and role == "annotator")
        found = leave(found, options.leave)
        if found != before:
            opened.write("raters.jsonl", found.values())
    rows = [
        {
            "rater": each.rater,
            "role": each.role,
            "state": each.state,
            "was": before[each.rater].state if each.rater in before else None,
        }
        for each in found.values()
    ]
    n_changed = sum(row["state"] != row["was"] for row in rows)
    return RosterResult({"raters": rows, "n_changed": n_changed}, opened.settings.name)


class AssignOptions(RoundSize, Tolerance):
    """Options of `assign`: the units and raters of a round, or a change of the round."""

    round: str = option(
        "main",
        help="Round of the campaign; qualification gives the qualification test to invited raters.",
        metavar="NAME",
    )
    blocks: Literal["units", "cn", "hs"] = option(
        "units", help="Units that go to the same raters: all of a CN, all of an HS, or single units.", rare=True
    )
    overlap: dict[Annotated[int, Field(ge=2, le=3)], Annotated[float, Field(ge=0, le=1)]] = option(
        {},
        help="Share of units that this number of raters judge, such as 2=0.2.",
        metavar="RATERS=SHARE",
    )
    overlap_unit: Literal["block", "unit"] = option(
        "block",
        help="Units of the overlap: whole blocks, or single units of all blocks.",
        rare=True,
    )
    all_raters: bool = option(False, help="Assign all units of the round to all raters.")
    exclude_round: tuple[str, ...] = option((), help="Round whose units are left out.", rare=True, metavar="NAME")
    gold_per_session: int = count_option("Gold questions in each session.", 0, least=0, rare=True)
    review: str | None = option(
        None, help="Round whose outlying or conflicting answers are judged again.", rare=True, metavar="NAME"
    )
    max_distance: float | None = option(
        None,
        help="Largest distance of grades that are not reviewed; default: 2.",
        rare=True,
        metavar="GRADES",
        ge=0,
        le=MOST_GRADES,
    )
    reassign: bool = option(False, help="Assign open units of raters who left to other raters; nothing else changes.")
    reassign_skipped: bool = option(False, help="Reassign also units that were skipped.", rare=True)
    rebalance: bool = option(False, help="Reassign also open units of raters with more work than others.", rare=True)
    pass_mark: float = share_option("Share of gold questions that must be answered correctly.", 0.8, rare=True)
    qualify: bool = option(False, help="Decide by the qualification test which invited raters qualify.")


# The options of a new round.
_OF_ROUNDS = (
    "blocks overlap overlap_unit all_raters sample_size exclude_round review max_distance session_size gold_per_session"
).split()


class AssignResult(CampaignResult):
    """The units of each rater; with `qualify`, the result of each rater in the qualification test."""

    table: ClassVar[str] = "raters"


def assign(campaign: CampaignFolder, options: AssignOptions = AssignOptions()) -> AssignResult:
    """Assigns units to raters in a round, or reassigns open units, or decides which invited raters qualify.

    The same call again returns the existing round.

    Args:
        campaign: The folder of the campaign.
        options: The options.

    Returns:
        The work of each rater. The main table has the columns `rater`, `units`, `anchors` (gold questions),
        `sessions` and `open`. With `qualify`, it has the results of the qualification test.

    Raises:
        InputError: Options contradict each other, the round was made with other options, or it cannot be made.

    Examples:
        >>> found = assign(campaign, AssignOptions(round="second", sample_size=3))
        >>> found.to_frame()[["rater", "units"]].values.tolist()
        [['velmari-3', 3]]
    """
    from fcconan.annotation import Campaign, RoundPlan

    plan = RoundPlan(
        blocks=options.blocks,
        twice=options.overlap.get(2, 0.0),
        thrice=options.overlap.get(3, 0.0),
        scatter=options.overlap_unit == "unit",
        all_raters=options.all_raters,
        sample=options.sample_size,
        without=options.exclude_round,
        review=options.review,
        more_than=options.max_distance,
        session_size=options.session_size,
        anchors_per_session=options.gold_per_session,
        seed=options.seed,
    )
    _check(options)
    opened = Campaign(Path(campaign))
    with opened.changing():
        if options.qualify:
            data = _qualified(opened, options)
        else:
            notes, reviewed, assignments = _made(opened, options, plan)
            data = _summary(opened, options.round, assignments, notes) | reviewed
    return AssignResult(data, opened.settings.name)


def _check(options: AssignOptions) -> None:
    """Checks that steps other than a new round have no options of a new round."""
    from fcconan.annotation import QUALIFICATION

    if not options.reassign:
        options.refuse("reassign_skipped", "rebalance", why="only for --reassign")
    is_quiz = options.round == QUALIFICATION
    steps = {"--reassign": options.reassign, "--qualify": options.qualify, "the qualification test": is_quiz}
    step = next((name for name, is_chosen in steps.items() if is_chosen), None)
    if step is not None:
        unused = [name for name in _OF_ROUNDS if name != "session_size" or options.reassign]
        further = ["qualify"] if options.reassign else []
        options.refuse(*unused, *further, why=f"{step} changes neither units nor orders")


def _qualified(campaign: "Campaign", options: AssignOptions) -> dict[str, Any]:
    from fcconan.annotation import qualify

    results = qualify(campaign, pass_mark=options.pass_mark, within=options.tolerance)
    return {
        "pass_mark": options.pass_mark,
        "within": options.tolerance,
        "raters": [{**asdict(each), "share": each.share} for each in results],
    }


def _made(
    campaign: "Campaign", options: AssignOptions, plan: "RoundPlan"
) -> "tuple[list[str], dict[str, Any], Sequence[Assignment]]":
    """Makes or changes the round, and returns notes, counts of a review, and the assignments."""
    from fcconan.annotation import QUALIFICATION, assign_qualification, make_round, reassign, review_cases

    name = options.round
    if options.reassign:
        moved = reassign(campaign, name, skipped=options.reassign_skipped, relieve=options.rebalance, seed=options.seed)
        notes = [f"{moved.moved} new assignments, {moved.withdrawn} withdrawn."]
        if moved.waiting:
            notes.append(
                f"{len(moved.waiting)} units of raters who left or skipped them cannot be reassigned: each active "
                "rater has had them."
            )
        return notes, {}, moved.assignments
    if name == QUALIFICATION:
        return [], {}, assign_qualification(campaign, session_size=options.session_size, seed=options.seed)
    assignments, is_new = make_round(campaign, name, plan)
    if not is_new:
        notes = [f"The round {name} exists with the same options: nothing changed."]
        return notes, {}, assignments
    if options.review is None:
        return [], {}, assignments
    cases = review_cases(campaign, plan)
    note = (
        f"{cases.alone} answers of one rater differ from all others: that rater reviews them. On {cases.apart} other "
        "questions raters differ and none of them is alone: all who answered review them."
    )
    return [note], {"reviewed": {"alone": cases.alone, "apart": cases.apart}}, assignments


def _summary(
    campaign: "Campaign", round_name: str, assignments: "Sequence[Assignment]", notes: Sequence[str]
) -> dict[str, Any]:
    from fcconan.annotation import measure_balance, units_by_rater

    there = [each for each in assignments if not each.withdrawn]
    judged = units_by_rater(assignments, campaign.units())
    # A rater who left and has no units would be the rater with the smallest load.
    spread = measure_balance({rater: ids for rater, ids in judged.items() if ids})
    return {
        "round": round_name,
        "raters": _rater_rows(campaign, round_name, there, judged),
        "spread": asdict(spread) | {"by_raters": {str(key): value for key, value in spread.by_raters.items()}},
        "notes": [*notes, *_about_spread(round_name, spread)],
    }


def _rater_rows(
    campaign: "Campaign", round_name: str, there: "Sequence[Assignment]", judged: dict[str, list[str]]
) -> list[dict[str, Any]]:
    """Returns the work of each rater: units, gold questions, sessions and open units."""
    from fcconan.annotation import completed_assignments

    units, done = campaign.units(), completed_assignments(campaign, round_name)
    known = Counter(each.rater for each in there if units[each.unit_id].role == "anchor")
    to_do = Counter(each.rater for each in there if (each.rater, each.unit_id) not in done)
    sessions = Counter(rater for rater, _ in {(each.rater, each.session) for each in there})
    return [
        {"rater": rater, "units": len(ids), "anchors": known[rater], "sessions": sessions[rater], "open": to_do[rater]}
        for rater, ids in judged.items()
    ]


def _about_spread(round_name: str, spread: "Balance") -> list[str]:
    """Returns sentences about loads and shared units."""
    if not spread.judgements:
        return [f"The round {round_name} is empty: no rater has anything to do."]
    several = ", ".join(f"{number} by {raters}" for raters, number in spread.by_raters.items())
    found = [
        f"{sum(spread.by_raters.values())} units, {spread.judgements} judgements: {several}.",
        f"Raters have {spread.least} to {spread.most} units, a difference of {spread.most - spread.least}.",
    ]
    if spread.pairs and max(spread.by_raters) > 1:
        found.append(
            f"{spread.sharing} of {spread.pairs} pairs of raters share units, {spread.fewest_shared} to "
            f"{spread.most_shared} each; shared units {'connect' if spread.connected else 'do not connect'} all raters."
        )
    return found
