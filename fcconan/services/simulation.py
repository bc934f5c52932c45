"""Simulated raters: filled-in sheets to try a campaign."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from fcconan.services.campaign_folders import CampaignFolder, CampaignResult, CampaignSeed, check_outside, share_option
from fcconan.services.configuration import option, output


class SimulateOptions(CampaignSeed):
    """How simulated raters answer."""

    round: str = option("main", help="Round of the campaign.", metavar="NAME")
    accuracy: float = share_option("Share of correct answers of simulated raters.", 0.9)
    skip_rate: float = share_option("Share of units that simulated raters skip.", 0.0, rare=True)


@dataclass(frozen=True, repr=False)
class SimulateResult(CampaignResult):
    """The number of units and skipped units of each simulated rater.

    Attributes:
        written: Whether anything was written; not where all sheets were there already.
    """

    table: ClassVar[str] = "raters"
    written: bool


def simulate(
    campaign: CampaignFolder,
    out: Annotated[Path | str, output("Folder for filled-in sheets and truth.jsonl.")],
    options: SimulateOptions = SimulateOptions(),
) -> SimulateResult:
    """Fills in sheets with simulated answers, and writes the right answers to truth.jsonl.

    Args:
        campaign: The folder of the campaign.
        out: The folder to write.
        options: The options.

    Returns:
        One row for each simulated rater: `rater`, `units`, `skipped` and `file`.

    Raises:
        InputError: The round does not exist, or a sheet exists with other content.

    Examples:
        >>> simulate(campaign, folder / "sheets", SimulateOptions(accuracy=1)).to_frame()["units"].tolist()
        [4, 4]
    """
    from fcconan.annotation import Campaign, answered_sheets, derived_seed, sample_truth, simulate_answers, write

    opened, out = Campaign(Path(campaign)), Path(out)
    check_outside(opened.folder, out)
    truth = sample_truth(opened)
    seed = derived_seed(opened.settings.seed, f"simulate {options.round}", options.seed)
    found = simulate_answers(
        opened, options.round, truth, accuracy=options.accuracy, skip_rate=options.skip_rate, seed=seed
    )
    written = write(out, answered_sheets(options.round, found, truth))
    rows = [
        {
            "rater": rater,
            "units": len(sheet),
            "skipped": sum(bool(row["skip"]) for row in sheet),
            "file": str(out / f"{options.round}-{rater}.csv"),
        }
        for rater, sheet in found.items()
    ]
    return SimulateResult({"round": options.round, "seed": seed, "raters": rows}, opened.settings.name, written)
