"""Export of sheets to annotation tools, and reading of returned files."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fcconan.annotation.campaigns import MAIN, Campaign
from fcconan.annotation.tools import csv_sheets, guidelines, label_studio, task_view
from fcconan.annotation.tools.files import GivenFile, decoded, json_list
from fcconan.annotation.tools.task_view import Item
from fcconan.data import write_whole
from fcconan.errors import InputError

_FILES = {"csv": csv_sheets.files, "label-studio": label_studio.files}
TOOLS = tuple(_FILES)


@dataclass(frozen=True)
class Export:
    """The files of an export.

    Attributes:
        files: Content by path within the folder.
        handed: Rater -> file or folder, and items.
    """

    files: dict[str, str]
    handed: dict[str, tuple[str, list[Item]]]


def export(
    campaign: Campaign,
    tool: str,
    *,
    round_name: str = MAIN,
    raters: Sequence[str] | None = None,
    unanswered: bool = False,
) -> Export:
    """Returns the files for the raters of a round: one for each rater, and the guidelines.

    Args:
        campaign: The campaign.
        tool: One of `TOOLS`.
        round_name: Name of the round.
        raters: Raters to export; None for all.
        unanswered: Whether answered units are left out.

    Raises:
        InputError: The round does not exist, a rater has no units in it, or there is nothing to export.
    """
    theirs = task_view.of_raters(campaign, round_name, list(raters) if raters else None, unanswered=unanswered)
    # Texts of the whole round: a rater's file does not depend on the selection of raters.
    texts = task_view.text_names({"": task_view.items(campaign, round_name)})
    guide = guidelines.guidelines(campaign, round_name, tool)
    files = {guidelines.FILE: guide, "guidelines.html": guidelines.as_page(guide, campaign)}
    handout = task_view.Handout(campaign, round_name, texts, guide)
    handed = {}
    for rater, items in theirs.items():
        name = task_view.file_name(round_name, rater, tool)
        files |= _FILES[tool](handout, rater, name, items)
        handed[rater] = name, items
    return Export(files, handed)


def write(folder: Path, files: Mapping[str, str]) -> bool:
    """Writes files into a folder, without replacing others.

    Returns:
        Whether anything was written; false if all files exist.

    Raises:
        InputError: A file exists with other content, which may contain answers.
        OSError: The files cannot be written.
    """
    missing = []
    for name, content in files.items():
        path = folder / name
        if not path.exists():
            missing.append(path)
        elif not path.is_file() or path.read_bytes() != content.encode():
            raise InputError(f"{path} exists with other content, perhaps with answers: choose another folder")
    for path in missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        # `write_whole` does not convert line ends.
        write_whole(path, files[str(path.relative_to(folder))])
    return bool(missing)


def read_file(path: Path, campaign: Campaign) -> GivenFile:
    """Reads a returned file of any tool.

    Args:
        path: CSV, or Label Studio's JSON export.
        campaign: The campaign.

    Raises:
        InputError: The file cannot be read, or its format is unknown.
    """
    if not path.is_file():
        raise InputError(f"the file {path} does not exist: give returned files")
    content = path.read_bytes()
    text = decoded(path, content)
    suffix = path.suffix.lower()
    if not text.strip():
        raise InputError(f"{path} is empty: export it from the tool again")
    if suffix in (".csv", ".tsv", ".txt"):
        tool, units = "csv", csv_sheets.read(path, text, campaign)
    elif suffix == ".json":
        tool, units = "label-studio", label_studio.read(path, json_list(path, text))
    else:
        raise InputError(f"{path} ends in {suffix or 'nothing'}, expected .csv, .tsv or .json")
    return GivenFile(path, hashlib.sha256(content).hexdigest(), tool, units)
