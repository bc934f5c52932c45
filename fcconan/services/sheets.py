"""Sheets that raters fill in: their export and import."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from fcconan.services.campaign_folders import CampaignFolder, CampaignResult, check_outside, file_option
from fcconan.services.configuration import Configuration, argument, option, output

if TYPE_CHECKING:
    from fcconan.annotation import Imported


class SheetOptions(Configuration):
    """Options of `export_sheets`: format, round and raters."""

    tool: Literal["csv", "label-studio"] = option("csv", help="Format of the sheets.")
    round: str = option("main", help="Round of the campaign.", metavar="NAME")
    rater: tuple[str, ...] = option((), help="Only the sheet of this rater.", metavar="NAME")
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
    out: Annotated[Path | str, output("Folder for the sheets and the guidelines.")],
    options: SheetOptions = SheetOptions(),
) -> SheetResult:
    """Writes the sheets of a round, one for each rater, and the guidelines.

    Args:
        campaign: The folder of the campaign.
        out: The folder to write. Existing files with other content raise an error.
        options: The options.

    Returns:
        The exported sheets. The main table has one row for each rater, with the columns `rater`, `units`, `sessions`
        and `file`.

    Raises:
        InputError: The round or rater does not exist, all units have answers, or a file exists with other content.

    Examples:
        >>> export_sheets(campaign, folder / "sheets").to_frame()[["rater", "units"]].values.tolist()
        [['ombrey-1', 4], ['tessok-2', 4]]
    """
    from fcconan.annotation import Campaign, export, write

    opened, out = Campaign(Path(campaign)), Path(out)
    check_outside(opened.folder, out)
    exported = export(
        opened,
        options.tool,
        round_name=options.round,
        raters=options.rater or None,
        unanswered=options.unanswered,
    )
    written = write(out, exported.files)
    rows = [
        {
            "rater": rater,
            "units": len(items),
            "sessions": len({item.assignment.session for item in items}),
            "file": str(out / name),
        }
        for rater, (name, items) in exported.handed.items()
    ]
    data = {"round": options.round, "tool": options.tool, "raters": rows}
    return SheetResult(data, opened.settings.name, written)


class ImportOptions(Configuration):
    """Options of `import_answers`: accepted rounds and changes."""

    round: str | None = option(None, help="Refuse files of other rounds.", metavar="NAME")
    user_map: Path | None = file_option(
        "CSV of the columns user (in the tool) and rater (pseudonym); it is not stored."
    )
    allow_changes: bool = option(
        False, help="Accept answers that replace earlier ones; the earlier ones are preserved."
    )
    allow_withdrawn: bool = option(False, help="Accept answers to units that were withdrawn.", rare=True)
    dry_run: bool = option(False, help="Check the files; change nothing.")


@dataclass(frozen=True, repr=False)
class ImportResult(CampaignResult):
    """The imported files. The main table has one row for each file.

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
            "Files that raters returned: CSV, or Label Studio's JSON.",
            many=True,
            path=True,
            role="read",
        ),
    ],
    options: ImportOptions = ImportOptions(),
) -> ImportResult:
    """Checks the returned files of raters, and adds their answers to the campaign.

    If one file is invalid, no answer is added.

    Args:
        campaign: The folder of the campaign.
        files: The files.
        options: The options.

    Returns:
        The counts of the import. The main table has one row for each file, with the numbers of `units`, `skipped`
        (units), `answers`, `new`, `changed` and `same` (answers), and `waiting` (units without an answer).

    Raises:
        InputError: A file cannot be read, belongs to another campaign or round, or contains an invalid answer.

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
