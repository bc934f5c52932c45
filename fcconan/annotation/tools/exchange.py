"""Export of sheets to annotation tools, with suggestions, and import of the answers."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fcconan.annotation.campaigns import MAIN, VALIDATION, Campaign
from fcconan.annotation.tools import argilla, csv_sheets, guidelines, label_studio, task_view
from fcconan.annotation.tools.files import GivenFile, decoded, json_list
from fcconan.annotation.tools.task_view import OTHER_WAY, Item, questions, turned
from fcconan.annotation.votes import answer_in, unit_named
from fcconan.data import open_table, write_whole
from fcconan.errors import InputError


@dataclass(frozen=True)
class Suggestions:
    """What is suggested.

    Attributes:
        rater: Whose answers they are.
        values: By unit and question, about the unit's own order of replies.
        n_other: Rows about something that the campaign does not judge.
        n_without: Rows without an answer.
    """

    rater: str
    values: dict[str, dict[str, str | float]]
    n_other: int
    n_without: int


def read_suggestions(path: Path, campaign: Campaign, round_name: str) -> Suggestions:
    """Reads a file of rows Vote, Rating or Comparison, as the campaign's unit wants them.

    Raises:
        InputError: It cannot be read, lacks raters, has several, two answers to one question, an answer
            that the task does not know, or is about nothing in the campaign.
    """
    if round_name == VALIDATION:
        raise InputError("a round of validation takes no suggestions: it shows labels that people agreed on")
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
            raise InputError(f"{where}: a second rater ({', '.join(sorted(raters))}): keep the rows of one of them")
        unit_id, (question, answer) = unit_named(row) or "", answer_in(row)
        reverse = ":".join(reversed(unit_id.split(":")))  # of a comparison, its replies in the other order
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
        raise InputError(f"{path} has no answer to anything that {campaign.folder} judges: nothing to suggest")
    return Suggestions(raters.pop(), values, n_other, n_without)


def suggest(items: list[Item], suggestions: Suggestions) -> Iterator[Item]:
    """Yields the items with what is suggested for each, about the order in which its replies are shown."""
    for item in items:
        found = suggestions.values.get(item.unit.unit_id, {})
        yield replace(
            item, suggestions={name: turned(value, item.assignment, item.unit) for name, value in found.items()}
        )


_FILES = {"csv": csv_sheets.files, "label-studio": label_studio.files, "argilla": argilla.files}
TOOLS = tuple(_FILES)


@dataclass(frozen=True)
class Export:
    """What is handed out.

    Attributes:
        files: Content by path within the folder.
        handed: Of every rater: the file or folder that is theirs, and what they judge.
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
    """Returns the files for the raters of a round: one each, and the guidelines.

    Args:
        campaign: The campaign.
        tool: One of `TOOLS`.
        round_name: The round.
        raters: Whose; None for all.
        suggestions: What to suggest.
        unanswered: Whether to leave out what has been answered.

    Raises:
        InputError: There is no such round or rater, or nothing to hand out.
    """
    theirs = task_view.of_raters(campaign, round_name, list(raters) if raters else None, unanswered=unanswered)
    if suggestions is not None:
        theirs = {rater: list(suggest(items, suggestions)) for rater, items in theirs.items()}
    # Of the whole round, so that a file does not change with whose files are written beside it.
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
    """Writes files into a folder, none of them in the place of something else.

    Returns:
        Whether anything was written; not where all are there already.

    Raises:
        InputError: One of them is there with another content: somebody may have filled it in.
        OSError: They cannot be written.
    """
    missing = []
    for name, content in files.items():
        path = folder / name
        if not path.exists():
            missing.append(path)
        elif not path.is_file() or path.read_bytes() != content.encode():
            raise InputError(f"{path} is there with another content, perhaps somebody's work: choose another place")
    for path in missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        # `write_whole` translates no line ends on this system; a sheet has its own.
        write_whole(path, files[str(path.relative_to(folder))])
    return bool(missing)


def read_file(path: Path, campaign: Campaign) -> GivenFile:
    """Reads a file that was handed back, of whatever tool it is.

    Args:
        path: CSV, Label Studio's JSON export, or Argilla's records as JSON.
        campaign: The campaign.

    Raises:
        InputError: It cannot be read, or is of no tool that is known.
    """
    if not path.is_file():
        raise InputError(f"there is no file {path}: give what raters handed back")
    content = path.read_bytes()
    text = decoded(path, content)
    suffix = path.suffix.lower()
    if not text.strip():
        raise InputError(f"{path} is empty: export it from the tool again")
    if suffix in (".csv", ".tsv", ".txt"):
        tool, units = "csv", csv_sheets.read(path, text, campaign)
    elif suffix == ".json":
        rows = json_list(path, text)
        if any("data" in row for row in rows[:1]):
            tool, units = "label-studio", label_studio.read(path, rows)
        else:
            tool, units = "argilla", argilla.read(path, rows, campaign)
    else:
        raise InputError(f"{path} ends in {suffix or 'nothing'}, expected .csv, .tsv or .json")
    return GivenFile(path, hashlib.sha256(content).hexdigest(), tool, units)
