"""Sheets that raters returned, which are checked and added to the campaign."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from fcconan.services.campaign_folders import CampaignFolder, CampaignResult
from fcconan.services.configuration import Configuration, argument, option

if TYPE_CHECKING:
    from fcconan.annotation import Imported


class ImportOptions(Configuration):
    """What is accepted."""

    round: str | None = option(None, help="Refuse files of other rounds.", metavar="NAME")
    user_map: Path | None = option(
        None,
        help="CSV of the columns user (in the tool) and rater (pseudonym); it is not stored.",
        metavar="FILE",
        renamed=("--raters",),
        role="read",
    )
    allow_changes: bool = option(
        False,
        help="Accept answers that replace earlier ones; the earlier ones are preserved.",
        renamed=("--changes",),
    )
    allow_withdrawn: bool = option(
        False, help="Accept answers to units that were withdrawn.", rare=True, renamed=("--late",)
    )
    dry_run: bool = option(False, help="Check the files; change nothing.")


@dataclass(frozen=True, repr=False)
class ImportResult(CampaignResult):
    """What each file held.

    Attributes:
        paths: The files.
        found: The counts of each of them.
    """

    paths: "Sequence[Path]"
    found: "Sequence[Imported]"
    table: ClassVar[str] = "files"


def import_answers(
    campaign: CampaignFolder,
    files: Annotated[
        Sequence[Path | str],
        argument(
            "Files that raters returned: CSV, JSONL, Label Studio's JSON, Argilla's records.",
            many=True,
            path=True,
            role="read",
        ),
    ],
    options: ImportOptions = ImportOptions(),
) -> ImportResult:
    """Checks what raters returned and adds the answers of all files to the campaign, or none.

    Args:
        campaign: The folder of the campaign.
        files: The files.
        options: The configuration.

    Raises:
        InputError: A file cannot be read, belongs to another campaign or round, or holds a wrong answer.

    Examples:
        >>> from fcconan.services import export_sheets
        >>> path = Path(export_sheets(campaign, folder / "sheets").to_frame()["file"][0])
        >>> filled_in = path.read_text(encoding="utf-8").replace(",,,", ",appropriate,,")
        >>> _ = path.write_text(filled_in, encoding="utf-8")
        >>> import_answers(campaign, [path]).to_frame()[["new", "waiting"]].values.tolist()
        [[4, 0]]
    """
    from fcconan.annotation import Campaign, import_files, read_file, read_people

    opened, paths = Campaign(Path(campaign)), [Path(each) for each in files]
    found = import_files(
        opened,
        [read_file(path, opened) for path in paths],
        people=None if options.user_map is None else read_people(options.user_map),
        round_name=options.round,
        changes=options.allow_changes,
        late=options.allow_withdrawn,
        dry_run=options.dry_run,
    )
    data = {"dry_run": options.dry_run, "files": [asdict(each) for each in found]}
    return ImportResult(data, opened.settings.name, paths, found)
