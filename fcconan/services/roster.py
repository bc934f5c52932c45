"""The raters of a campaign: who joins and who leaves."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from fcconan.services.campaign_folders import CampaignFolder, CampaignResult
from fcconan.services.configuration import Configuration, option

MOST_RATERS = 10_000


class RosterOptions(Configuration):
    """Which raters join and leave."""

    join: tuple[str, ...] = option((), help="Pseudonym of a rater who joins or returns; repeat it.", metavar="NAME")
    leave: tuple[str, ...] = option((), help="Pseudonym of a rater who leaves; repeat it.", metavar="NAME")
    role: Literal["annotator", "validator"] = option("annotator", help="Role of raters who join.")
    invited: bool = option(False, help="Require raters who join to pass the qualification test.")
    add_annotators: int = option(
        0,
        help="Add annotator-1 to annotator-N where they are missing.",
        metavar="N",
        renamed=("--annotators",),
        ge=0,
        le=MOST_RATERS,
    )
    add_validators: int = option(
        0,
        help="Add validator-1 to validator-N where they are missing.",
        metavar="N",
        renamed=("--validators",),
        ge=0,
        le=MOST_RATERS,
    )


@dataclass(frozen=True, repr=False)
class RosterResult(CampaignResult):
    """The raters of a campaign, with their state now and before."""

    table: ClassVar[str] = "raters"


def update_raters(campaign: CampaignFolder, options: RosterOptions = RosterOptions()) -> RosterResult:
    """Lists raters, some of whom join or leave; `assign` with `reassign` gives open work to others.

    Args:
        campaign: The folder of the campaign.
        options: The configuration.

    Raises:
        InputError: The folder holds no campaign, or a rater cannot join or leave.

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
