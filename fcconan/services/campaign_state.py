"""The state of a campaign: returned and open answers, and the next command."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from fcconan.services.campaign_folders import CampaignFolder, CampaignResult
from fcconan.services.configuration import Configuration, option


class StatusOptions(Configuration):
    """Which rounds are shown."""

    round: tuple[str, ...] = option(
        (), help="Round to show, or a pattern such as 'queue-*'; repeat it. Default: all.", metavar="NAME"
    )


@dataclass(frozen=True, repr=False)
class StatusResult(CampaignResult):
    """Returned and open units; its main table has one row for each round and rater."""

    table: ClassVar[str] = "raters"

    def rounds(self) -> list[dict[str, Any]]:
        """Returns the sums of each round."""
        sums: dict[str, dict[str, Any]] = {}
        for row in self.rows():
            found = sums.setdefault(row["round"], {"round": row["round"], "raters": 0})
            found["raters"] += 1
            for name in ("assigned", "returned", "skipped", "open"):
                found[name] = found.get(name, 0) + row[name]
        return list(sums.values())


def campaign_status(campaign: CampaignFolder, options: StatusOptions = StatusOptions()) -> StatusResult:
    """Returns who has returned what, what is open, and the command that comes next.

    Args:
        campaign: The folder of the campaign.
        options: The configuration.

    Raises:
        InputError: The folder holds no campaign, or there is no such round.

    Examples:
        >>> found = campaign_status(campaign)
        >>> found.to_frame()[["round", "rater", "returned", "open"]].values.tolist()
        [['main', 'ombrey-1', 0, 4], ['main', 'tessok-2', 0, 4]]
        >>> found.data["next"]["reason"]
        '8 units of the round main need answers'
    """
    from fcconan.annotation import Campaign, progress_of

    opened = Campaign(Path(campaign))
    shown = opened.rounds_like(options.round) if options.round else opened.rounds()
    for name in shown:
        opened.assignments(name)  # refuses a name that no round has
    progress = progress_of(opened)
    data = {
        "task": opened.task.name,
        "unit": opened.task.unit,
        "units": dict(progress.units),
        "raters": [asdict(each) for each in progress.shares if each.round in shown],
        "next": asdict(progress.next),
    }
    return StatusResult(data, opened.settings.name)
