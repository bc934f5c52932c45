"""Export of sheets to annotation tools, with suggestions, and reading of returned files."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fcconan.annotation.campaigns import MAIN, VALIDATION, Campaign
from fcconan.annotation.tools import csv_sheets, guidelines, label_studio, task_view
from fcconan.annotation.tools.files import GivenFile, decoded, json_list
from fcconan.annotation.tools.task_view import OTHER_WAY, Item, questions, turned
from fcconan.annotation.votes import answer_in, unit_named
from fcconan.data import open_table, write_whole
from fcconan.errors import InputError


@dataclass(frozen=True)
class Suggestions:
    """Suggested answers.

    Attributes:
        rater: Rater of the suggestions.
        values: Suggestions by unit and question; verdicts refer to the order of the unit.
        n_other: Number of rows about other units.
        n_without: Number of rows without an answer.
    """

    rater: str
    values: dict[str, dict[str, str | float]]
    n_other: int
    n_without: int


def read_suggestions(path: Path, campaign: Campaign, round_name: str) -> Suggestions:
    """Reads suggestions: rows Vote, Rating or Comparison, according to the campaign's task.

    Raises:
        InputError: The file cannot be read, lacks raters, has several, has two answers to a question or one that is not
            valid, or has no row about a unit of the campaign.
    """
    if round_name == VALIDATION:
        raise InputError("--suggestions cannot be used in the validation round, which shows final labels: leave it out")
    asked = {question.name: question for question in questions(campaign, round_name)}
    units = campaign.units()
    raters: set[str] = set()
    values: dict[str, dict[str, str | float]] = {}
    n_other = n_without = 0
    for row in open_table("rows", [path]):
        where = row.place
        if not row.get("rater"):
            raise InputError(f"{where}: no rater: give votes, ratings or comparisons with their rater")
        raters.add(str(row["rater"]))
        if len(raters) > 1:
            raise InputError(f"{where}: a second rater ({', '.join(sorted(raters))}): give the rows of one rater")
        unit_id, (question, answer) = unit_named(row) or "", answer_in(row)
        reverse = ":".join(reversed(unit_id.split(":")))  # a comparison in the other order
        if unit_id not in units and reverse in units:
            unit_id, answer = reverse, OTHER_WAY.get(answer, answer)
        if unit_id not in units or question not in asked:
            n_other += 1
        elif answer is None or answer == "invalid":
            n_without += 1
        elif question in values.setdefault(unit_id, {}):
            raise InputError(f"{where}: {question} of {unit_id} has a suggestion already: remove one of the rows")
        else:
            try:
                values[unit_id][question] = asked[question].value(answer)
            except ValueError as error:
                raise InputError(f"{where}: {error}: correct or remove the row") from error
    if not any(values.values()):
        raise InputError(f"{path} has no answer about a unit of {campaign.folder}: give answers about its units")
    return Suggestions(raters.pop(), values, n_other, n_without)


def suggest(items: list[Item], suggestions: Suggestions) -> Iterator[Item]:
    """Yields the items with their suggestions, which refer to the order in which replies are shown."""
    for item in items:
        found = suggestions.values.get(item.unit.unit_id, {})
        yield replace(
            item, suggestions={name: turned(value, item.assignment, item.unit) for name, value in found.items()}
        )


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
    suggestions: Suggestions | None = None,
    unanswered: bool = False,
) -> Export:
    """Returns the files for the raters of a round: one for each rater, and the guidelines.

    Args:
        campaign: The campaign.
        tool: One of `TOOLS`.
        round_name: Name of the round.
        raters: Raters to export; None for all.
        suggestions: Suggested answers.
        unanswered: Whether answered units are left out.

    Raises:
        InputError: The round does not exist, a rater has no units in it, or there is nothing to export.
    """
    theirs = task_view.of_raters(campaign, round_name, list(raters) if raters else None, unanswered=unanswered)
    if suggestions is not None:
        theirs = {rater: list(suggest(items, suggestions)) for rater, items in theirs.items()}
    # Texts of the whole round: a rater's file does not depend on the selection of raters.
    texts = task_view.text_names({"": task_view.items(campaign, round_name)})
    guide = guidelines.guidelines(campaign, round_name, tool)
    files = {guidelines.FILE: guide, "guidelines.html": guidelines.as_page(guide, campaign)}
    handout = task_view.Handout(campaign, round_name, texts, guide, suggestions.rater if suggestions else None)
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
