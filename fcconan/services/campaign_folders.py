"""The folder of a campaign: its options, its results, and its state."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import fcconan
from fcconan.errors import InputError
from fcconan.services.configuration import LARGEST, Configuration, argument, option
from fcconan.services.options import LARGEST_SEED
from fcconan.services.results import Result

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
