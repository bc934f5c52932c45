"""Sheets that raters fill in, for spreadsheets, Label Studio or Argilla."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from fcconan.services.campaign_folders import CampaignFolder, CampaignResult, check_outside
from fcconan.services.configuration import Configuration, argument, option


class SheetOptions(Configuration):
    """Which sheets are written."""

    tool: Literal["csv", "jsonl", "label-studio", "argilla"] = option("csv", help="Format of the sheets.")
    round: str = option("main", help="Round of the campaign.", metavar="NAME")
    rater: tuple[str, ...] = option((), help="Only the sheet of this rater; repeat it.", metavar="NAME")
    suggestions: Path | None = option(
        None, help="Votes, ratings or comparisons to show as suggestions.", metavar="FILE", role="read"
    )
    unanswered: bool = option(False, help="Export only units without an answer.")


@dataclass(frozen=True, repr=False)
class SheetResult(CampaignResult):
    """The sheets of a round, one for each rater.

    Attributes:
        written: Whether anything was written; not where all files were there already.
    """

    written: bool
    table: ClassVar[str] = "raters"


def export_sheets(
    campaign: CampaignFolder,
    out: Annotated[
        Path | str,
        argument(
            "Folder for the sheets and the guidelines.",
            flag="--out",
            short="-o",
            path=True,
            role="release",
        ),
    ],
    options: SheetOptions = SheetOptions(),
) -> SheetResult:
    """Writes the sheets of a round, one for each rater, and the guidelines.

    Args:
        campaign: The folder of the campaign.
        out: The folder to write. Files that are there and have another content are refused.
        options: The configuration.

    Raises:
        InputError: There is no such round or rater, nothing is left to answer, or a file is there with other content.

    Examples:
        >>> export_sheets(campaign, folder / "sheets").to_frame()[["rater", "units"]].values.tolist()
        [['ombrey-1', 4], ['tessok-2', 4]]
    """
    from fcconan.annotation import Campaign, export, read_suggestions, write

    opened, out = Campaign(Path(campaign)), Path(out)
    check_outside(opened.folder, out)
    shown = None if options.suggestions is None else read_suggestions(options.suggestions, opened, options.round)
    exported = export(
        opened,
        options.tool,
        round_name=options.round,
        raters=options.rater or None,
        suggestions=shown,
        unanswered=options.unanswered,
    )
    written = write(out, exported.files)
    rows = [
        {
            "rater": rater,
            "units": len(items),
            "sessions": len({item.assignment.session for item in items}),
            "suggested": sum(bool(item.suggestions) for item in items),
            "file": str(out / file),
        }
        for rater, (file, items) in exported.handed.items()
    ]
    left_out = None if shown is None else {"other": shown.n_other, "unanswered": shown.n_without}
    data = {"round": options.round, "tool": options.tool, "raters": rows, "suggestions_left_out": left_out}
    return SheetResult(data, opened.settings.name, written)
