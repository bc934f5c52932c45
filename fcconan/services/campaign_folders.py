"""The folder of a campaign: its options, its results, and its state."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import fcconan
from fcconan.errors import InputError
from fcconan.services.configuration import LARGEST, Configuration, argument, option
from fcconan.services.options import LARGEST_SEED
from fcconan.services.results import Result

MOST_GRADES = 1_000_000.0  # no scale is longer

CampaignFolder = Annotated[Path | str, argument("Folder of the campaign.", path=True, role="folder")]


def count_option(help: str, default: int | None = None, *, least: int = 1, most: int = LARGEST, **how: Any) -> Any:
    """Declares an option for a number of things.

    Args:
        help: One sentence or phrase for the help and the reference.
        default: The default.
        least: The smallest number.
        most: The largest number.
        how: Further arguments of `option`.
    """
    return option(default, help=help, metavar="N", ge=least, le=most, **how)


def share_option(help: str, default: float | None = None, **how: Any) -> Any:
    """Declares an option for a share from 0 to 1; see `option`."""
    return option(default, help=help, metavar="SHARE", ge=0, le=1, **how)


def file_option(help: str, role: Literal["read", "write"] = "read", **how: Any) -> Any:
    """Declares an option for a file; see `option`."""
    return option(None, help=help, metavar="FILE", role=role, **how)


class CampaignSeed(Configuration):
    """The seed of the random choices of one step."""

    seed: int | None = option(
        None,
        help="Seed of all random choices; default: derived from the seed of the campaign.",
        metavar="INTEGER",
        ge=0,
        le=LARGEST_SEED,
    )


class RoundSize(CampaignSeed):
    """How many units are drawn for a round, and how many of them make a session."""

    sample_size: int | None = count_option("Number of units to draw; default: all.")
    session_size: int | None = count_option("Largest number of units in a session; default: one session.")


class Rounds(Configuration):
    """The rounds whose answers are read."""

    round: tuple[str, ...] = option(
        (),
        help="Rounds whose answers count, or a pattern such as 'queue-*'; default: all with answers.",
        metavar="NAME",
    )


class Tolerance(Configuration):
    """The tolerance of a correct answer to a gold question."""

    tolerance: float = option(
        0.0,
        help="Largest distance from the correct grade that counts as correct.",
        rare=True,
        ge=0,
        le=MOST_GRADES,
    )


@dataclass(frozen=True, repr=False)
class CampaignResult(Result):
    """The result of a step of a campaign.

    Attributes:
        campaign: The name of the campaign.
    """

    campaign: str

    @property
    def signature(self) -> str:
        """The package version and the campaign."""
        return f"fcconan:{fcconan.__version__}|campaign:{self.campaign}"


def check_outside(campaign: Path, out: Path) -> None:
    """Checks that a folder to write is not within the folder of a campaign.

    Raises:
        InputError: It is.
    """
    if out.resolve().is_relative_to(campaign.resolve()):
        raise InputError(f"{out} is in the folder of the campaign: choose another --out, outside the campaign")


class StatusOptions(Configuration):
    """Which rounds are shown."""

    round: tuple[str, ...] = option(
        (), help="Rounds to show, or a pattern such as 'queue-*'; default: all.", metavar="NAME"
    )


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
    """Returns the returned and open units of each rater, and the next command.

    Args:
        campaign: The folder of the campaign.
        options: The options.

    Returns:
        The progress. The main table has one row for each round and rater, with the columns `round`, `rater`, `state`,
        `assigned`, `returned`, `skipped` and `open`. `data["next"]` has the next command, its reason, and an
        `alternative` that continues without open units.

    Raises:
        InputError: The folder does not hold a campaign, or the round does not exist.

    Examples:
        >>> found = campaign_status(campaign)
        >>> found.to_frame()[["round", "rater", "returned", "open"]].values.tolist()
        [['main', 'ombrey-1', 0, 4], ['main', 'tessok-2', 0, 4]]
        >>> found.data["next"]["reason"]
        '8 units of the round main need answers'
    """
    from fcconan.annotation import Campaign, campaign_progress

    opened = Campaign(Path(campaign))
    shown = opened.rounds_like(options.round) if options.round else opened.rounds()
    for name in shown:
        opened.assignments(name)  # refuses a name that no round has
    progress = campaign_progress(opened)
    data = {
        "task": opened.task.name,
        "unit": opened.task.unit,
        "units": dict(progress.units),
        "raters": [asdict(each) for each in progress.shares if each.round in shown],
        "next": asdict(progress.next),
    }
    return StatusResult(data, opened.settings.name)
