"""The release of a campaign: data files and a recipe, from which a dataset is built."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fcconan.data import tier_rule_names
from fcconan.services.campaign_folders import CampaignFolder, CampaignResult, Rounds
from fcconan.services.configuration import option, output

if TYPE_CHECKING:
    from fcconan.annotation import WrittenDataset


class TierOptions(Rounds):
    """Options of `tier`: the published rounds, and the rule of the tiers."""

    tier_rule: str | None = option(
        None,
        help="Rule of the tiers of pairs; default: released.",
        metavar="released|strict|FILE.yaml",
        complete=tier_rule_names,
        role="read",
    )
    synthetic: bool = option(False, help="State that the answers were simulated.", rare=True)


@dataclass(frozen=True, repr=False)
class TierResult(CampaignResult):
    """The written dataset. The main table has one row for each split.

    Attributes:
        written: The files, and the counts of omitted units.
    """

    written: "WrittenDataset"

    def rows(self) -> list[dict[str, object]]:
        """Returns config, split and number of rows of each table of the dataset."""
        return [
            {"config": config, "split": split, "rows": rows}
            for config, splits in self.written.rows.items()
            for split, rows in splits.items()
        ]


def tier(
    campaign: CampaignFolder,
    out: Annotated[Path | str, output("Folder for data files and recipe.yaml.")],
    options: TierOptions = TierOptions(),
) -> TierResult:
    """Sorts the pairs of a campaign into tiers and writes data files and a recipe that `build` reads.

    Args:
        campaign: The folder of the campaign.
        out: The folder to write; data files of the same campaign are replaced.
        options: The options.

    Returns:
        The files and counts. The main table has the columns `config`, `split` and `rows`.

    Raises:
        InputError: The tier rule cannot be used, the campaign cannot be published as it is, or the folder holds
            something else.

    Examples:
        >>> tier(answered, folder / "data", TierOptions(synthetic=True)).to_frame().head(2).values.tolist()
        [['diamond', 'test', 2], ['gold', 'test', 3]]
    """
    from fcconan.annotation import Campaign, write_dataset

    opened = Campaign(Path(campaign))
    written = write_dataset(
        opened, Path(out), rule=options.tier_rule, rounds=opened.rounds_like(options.round), synthetic=options.synthetic
    )
    notes = list(written.published.notes)
    if written.unvalidated:
        notes.append(
            f"No label was validated, so tiers that require it are empty: run `fcconan annotate validate {campaign}`."
        )
    data = {
        "recipe": str(written.recipe),
        "tier_rule": written.tier_rule,
        "rows": written.rows,
        "facts": written.facts,
        "without_label": written.without_label,
        **written.published.counts,
        "unpublished_columns": written.published.unpublished,
        "notes": notes,
    }
    return TierResult(data, opened.settings.name, written)
