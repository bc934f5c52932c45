"""Agreement of the raters of a campaign, and their gold accuracy and time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError
from fcconan.services.campaign_folders import (
    CampaignFolder,
    CampaignResult,
    CampaignSeed,
    Rounds,
    Tolerance,
    count_option,
)
from fcconan.services.configuration import option
from fcconan.services.options import MOST_RESAMPLES

if TYPE_CHECKING:
    from fcconan.annotation import Campaign

MOST_LABELS = 101  # a scale with more grades has no signature of its own


class RaterQualityOptions(CampaignSeed, Rounds, Tolerance):
    """Which answers are compared."""

    list_units: int = count_option("Number of units with most disagreement to list.", 10, least=0)
    resamples: int = option(
        10_000,
        help="Resamples of the bootstrap; 0 gives no intervals.",
        ge=0,
        le=MOST_RESAMPLES,
    )
    confidence: float = option(0.95, help="Confidence level of intervals, below 1.", rare=True, gt=0, lt=1)


@dataclass(frozen=True, repr=False)
class RaterQualityResult(CampaignResult):
    """Agreement, gold accuracy and time; its main table has one row for each coefficient and group of raters.

    Attributes:
        listed: How many units with disagreement are listed.
    """

    listed: int

    @property
    def signature(self) -> str:
        """The signatures of agreement."""
        return " ".join(self.signature_lines())

    def signature_lines(self) -> list[str]:
        """Returns the distinct signatures of agreement."""
        return list(self.data["signature"])


def check_raters(campaign: CampaignFolder, options: RaterQualityOptions = RaterQualityOptions()) -> RaterQualityResult:
    """Measures the agreement of raters, and the gold accuracy and median time of each rater.

    Args:
        campaign: The folder of the campaign.
        options: The options.

    Returns:
        The main table has one row for each aspect, coefficient and group of raters (`level` is
        `overall`, `pair`, `subset` or `label`), with `value`, the interval `low` and `high`, and `n`.
        `data["raters"]` has one row for each rater, with `gold_accuracy` and `median_seconds`; `data["units"]` lists
        the units by disagreement.

    Raises:
        InputError: The round does not exist, has no answers, or is the round of validators.

    Examples:
        >>> found = check_raters(answered, RaterQualityOptions(resamples=0)).to_frame()
        >>> raw = found[found["coefficient"] == "raw"]
        >>> raw[["level", "n", "value"]].head(1).values.tolist()  # three of seven pairs of votes agree
        [['overall', 5, 0.42857142857142855]]
    """
    from fcconan.annotation import Campaign, derived_seed

    opened = Campaign(Path(campaign))
    drawn = {
        "resamples": options.resamples,
        "confidence": options.confidence,
        "seed": derived_seed(opened.settings.seed, "agree", options.seed),
    }
    data = _measured(opened, opened.rounds_like(options.round), drawn, options.tolerance)
    return RaterQualityResult(data, opened.settings.name, options.list_units)


def _measured(campaign: "Campaign", rounds: Sequence[str], drawn: dict[str, Any], tolerance: float) -> dict[str, Any]:
    from fcconan.annotation import (
        VALIDATION,
        agreement_rows,
        current_votes,
        disputed_units,
        rater_summaries,
        reliability_data,
        subset_means,
    )
    from fcconan.scoring import agreement_signature, has_pair_intervals

    if VALIDATION in rounds:
        raise InputError(
            f"the round {VALIDATION} has answers of validators; expected labels or grades: see "
            "`fcconan annotate validate`"
        )
    votes = current_votes(campaign, rounds)
    if not any(votes.values()):
        raise InputError(f"{campaign.folder} has no answers in {', '.join(rounds)}: import some first")
    rows = agreement_rows(campaign, votes, **drawn)
    several = {unit for given in votes.values() for unit, said in given.items() if len(said) > 1}
    single = {unit for given in votes.values() for unit in given} - several
    population = f"{campaign.settings.name}:{'+'.join(rounds)}"
    signatures = [
        agreement_signature(
            table.domain, population=population, pair_intervals=has_pair_intervals(len(table.raters)), **drawn
        )
        for table in reliability_data(campaign, votes)
        if len(table.domain) <= MOST_LABELS
    ]
    return {
        "signature": list(dict.fromkeys(signatures)),
        "rows": rows,
        "subsets": subset_means(rows),
        "units": disputed_units(campaign, votes),
        "raters": rater_summaries(campaign, rounds, within=tolerance),
        "notes": [f"{len(several)} units have answers of two or more raters, {len(single)} of one."],
    }
