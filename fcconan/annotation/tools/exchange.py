"""Writes what raters are handed, and reads what they hand back, whatever the tool."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.annotation.campaigns import MAIN, Campaign, as_lines
from fcconan.annotation.tools import argilla, csv_sheets, guidelines, label_studio, task_view
from fcconan.annotation.tools.files import decoded, json_list
from fcconan.annotation.tools.returned import GivenFile
from fcconan.annotation.tools.suggestions import Suggestions, suggest
from fcconan.annotation.tools.task_view import Item
from fcconan.data import write_whole
from fcconan.errors import InputError

TOOLS = tuple(task_view.ENDS)
Row = dict[str, Any]


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
        InputError: There is no such tool, round or rater, or nothing to hand out.
    """
    if tool not in TOOLS:
        raise InputError(f"there is no tool {tool!r}: choose one of {', '.join(TOOLS)}")
    theirs = task_view.of_raters(campaign, round_name, list(raters) if raters else None, unanswered=unanswered)
    if suggestions is not None:
        theirs = {rater: list(suggest(items, suggestions)) for rater, items in theirs.items()}
    # Of the whole round, so that a file does not change with whose files are written beside it.
    texts = task_view.text_names({"": task_view.items(campaign, round_name)})
    guide = guidelines.guidelines(campaign, round_name, tool)
    files = {guidelines.FILE: guide, "guidelines.html": guidelines.as_page(guide, campaign)}
    agent = suggestions.rater if suggestions else None
    if tool == "label-studio":
        config = label_studio.configuration(campaign, round_name, texts)
        files["config.xml"] = config
        body = label_studio.project(campaign, round_name, config, guide, suggested=suggestions is not None)
        files["project.json"] = _json(body)
    handed = {}
    for rater, items in theirs.items():
        name = task_view.file_name(round_name, rater, tool)
        if tool == "argilla":
            settings = argilla.settings(campaign, round_name, items, texts, guide)
            files[f"{name}/.argilla/dataset.json"] = _json(argilla.dataset(campaign, round_name, rater, guide))
            files[f"{name}/.argilla/settings.json"] = _json(settings)
            files[f"{name}/{argilla.RECORDS}"] = _json(argilla.records(campaign, round_name, items, texts, agent))
        elif tool == "label-studio":
            files[name] = _json(label_studio.tasks(campaign, round_name, items, texts, agent))
        else:
            rows = csv_sheets.sheet(campaign, round_name, items, texts)
            files[name] = csv_sheets.as_csv(rows) if tool == "csv" else as_lines(rows)
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
            raise InputError(
                f"{path} is there with another content, which may be somebody's work: choose another --out"
            )
    for path in missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        # `write_whole` translates no line ends on this system; a sheet has its own.
        write_whole(path, files[str(path.relative_to(folder))])
    return bool(missing)


def read_file(path: Path, campaign: Campaign) -> GivenFile:
    """Reads a file that was handed back, of whatever tool it is.

    Args:
        path: CSV, JSON lines, Label Studio's JSON export, Argilla's records as JSON, or the folder that it wrote.
        campaign: The campaign.

    Raises:
        InputError: It cannot be read, or is of no tool that is known.
    """
    file = path / argilla.RECORDS if path.is_dir() else path
    if not file.is_file():
        raise InputError(f"there is no file {file}: give what raters handed back")
    content = file.read_bytes()
    text = decoded(file, content)
    suffix = file.suffix.lower()
    if not text.strip():
        raise InputError(f"{file} is empty: export it from the tool again")
    if suffix in (".csv", ".tsv", ".txt"):
        tool, units = "csv", csv_sheets.read(file, text, campaign, jsonl=False)
    elif suffix == ".jsonl":
        tool, units = "jsonl", csv_sheets.read(file, text, campaign, jsonl=True)
    elif suffix == ".json":
        rows = json_list(file, text)
        if any("data" in row for row in rows[:1]):
            tool, units = "label-studio", label_studio.read(file, rows, campaign)
        else:
            tool, units = "argilla", argilla.read(file, rows, campaign)
    else:
        raise InputError(f"{file} ends in {suffix or 'nothing'}, expected .csv, .tsv, .jsonl or .json")
    return GivenFile(path, hashlib.sha256(content).hexdigest(), tool, units)


def _json(data: Any) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
