"""`annotate export`: sheets that raters fill in, and the guidelines.

A CSV sheet has a row for every unit, and an empty cell for every question:

    campaign round rater unit_id text_sha session   identity of the row
    hate_speech counter_narrative ...               texts
    label ...                                       a column for every question, such as agree_or_disagree
    comment skip                                    optional; `skip` is true except for 0, no and false

A column `seconds` is read if it exists. A row without answers is open. In a translated task, columns and labels have
other words (`words`).

Spreadsheets evaluate texts that begin like a formula. Such a text gets a `'` in front, which is removed by the import.
"""

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fcconan.annotation.campaigns import VALIDATION, Campaign
from fcconan.annotation.label_studio import configuration, project
from fcconan.annotation.questions import COMMENT, SHOWN, SKIP, TITLES, VERDICTS, handed_out, questions
from fcconan.data import check_names, content_folder, in_language, task_names, task_path
from fcconan.errors import InputError
from fcconan.judging import load_task
from fcconan.result import Result

if TYPE_CHECKING:
    from pandas import DataFrame

FORMULA = re.compile(r"'*[=+\-@\t\r]")  # also texts that are escaped already, so that escaping can be reversed
HIDDEN = ["swapped", "withdrawn"]  # columns that raters do not see


def export_sheets(
    campaign: Path,
    *,
    out: Path,
    tool: Literal["csv", "label-studio"] = "csv",
    round: str = "main",
    rater: tuple[str, ...] = (),
    unanswered: bool = False,
) -> Result:
    """Write the sheets that raters fill in, for spreadsheets or Label Studio, and the guidelines.

    In Label Studio's open edition, all users see all tasks of a project. Each rater therefore gets a project, from
    `project.json` and the rater's tasks.

    Args:
        campaign: Folder of the campaign.
        out: Folder for the sheets and the guidelines.
        tool: Format of the sheets.
        round: Round of the campaign.
        rater: Only the sheets of these raters.
        unanswered: Export only units without an answer.

    Returns:
        `raters`: one row for each rater, with `units`, `sessions` and the `file`.

    Raises:
        InputError: The round does not exist, a rater has no units in it, or all units have answers.

    Examples:
        >>> export_sheets(campaign, out=folder / "sheets").to_frame()[["rater", "units"]].values.tolist()
        [['ombrey-1', 4], ['tessok-2', 4]]
    """
    from pandas import DataFrame

    opened, out = Campaign(Path(campaign)), Path(out)
    asked = questions(opened, round)
    sheets = raters_sheets(opened, round, rater)
    if unanswered:
        answered = Counter(answer.key for answer in opened.answers(round).values())
        number = {name: [answered[name, unit] for unit in own["unit_id"]] for name, own in sheets.items()}
        sheets = {name: own[[count < len(asked) for count in number[name]]] for name, own in sheets.items()}
        sheets = {name: own for name, own in sheets.items() if not own.empty}
    if not sheets:
        raise InputError(f"the round {round} has no open units: there is nothing to export")
    guide = guidelines(opened, round, tool)
    title, language = escape(opened.task.title), escape(_language(opened))
    page = campaign_template("page.html").format(language=language, title=title, body=as_html(guide))
    files = {"guidelines.md": guide, "guidelines.html": page}
    if tool == "label-studio":
        texts = [name for name in TITLES if name in next(iter(sheets.values()))]
        files["config.xml"] = configuration(texts, asked)
        title = f"{opened.settings.name} {round}"
        files["project.json"] = as_json(project(title, files["config.xml"], as_html(guide)))
    rows = []
    for name, own in sheets.items():
        seen = own.drop(columns=HIDDEN)
        if tool == "csv":
            file = f"{round}-{name}.csv"
            empty = dict.fromkeys([*(each.name for each in asked), COMMENT, SKIP])
            files[file] = as_csv(seen.assign(**empty).rename(columns=opened.task.words), opened.task.delimiter)
        else:
            file = f"{round}-{name}.json"
            files[file] = as_json([{"data": row} for row in seen.to_dict("records")])
        sessions = own["session"].nunique()
        rows.append({"rater": name, "units": len(own), "sessions": sessions, "file": str(out / file)})
    write(out, files)
    returned = f"fcconan annotate import {shlex.quote(str(opened.folder))} FILES"
    identity = {"campaign": opened.settings.name, "round": round, "tool": tool}
    note = f"Next: {returned} (after raters have filled in and returned the sheets)."
    return Result("annotate export", {"raters": DataFrame(rows)}, identity, [note])


def raters_sheets(campaign: Campaign, round_name: str, raters: Collection[str] = ()) -> dict[str, "DataFrame"]:
    """Returns the units of raters as they see them, without withdrawn ones; by default of all raters of a round.

    Raises:
        InputError: The round does not exist, or a rater has no units in it.
    """
    units = handed_out(campaign, round_name)
    sheets = dict(iter(units[~units["withdrawn"]].groupby("rater", sort=False)))
    chosen = check_names(f"rater of the round {round_name}", raters, sheets)
    return {name: own for name, own in sheets.items() if not raters or name in chosen}


def as_csv(rows: "DataFrame", delimiter: str) -> str:
    """Returns rows as CSV, with escaped formulas, and the byte order mark that Excel needs for UTF-8."""

    def guarded(cell: Any) -> Any:
        return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell

    # With these line ends, cells with either kind of line end are quoted.
    text = rows.map(guarded).to_csv(index=False, lineterminator="\r\n", sep=delimiter)
    return f"\ufeff{text}"


def unguarded(cell: Any) -> Any:
    """Returns a cell as it was before `as_csv`."""
    return cell[1:] if isinstance(cell, str) and cell.startswith("'") and FORMULA.match(cell) else cell


def as_json(data: Any) -> str:
    """Returns data as indented JSON."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def as_html(markdown: str) -> str:
    """Converts Markdown to an HTML fragment; HTML in it is escaped."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))


def write(folder: Path, files: dict[str, str]) -> None:
    """Writes files with their line ends into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def campaign_template(name: str, language: str = "en") -> str:
    """Returns a template of the catalogue for campaigns, such as `care.md`; in English if it is not translated."""
    path = content_folder() / "annotations" / "campaigns" / name
    return in_language(path, language).read_text(encoding="utf-8")


def _language(campaign: Campaign) -> str:
    """Returns the language that raters read."""
    return campaign.settings.language if campaign.task.words else "en"


def guidelines(campaign: Campaign, round_name: str, tool: str) -> str:
    """Returns the guidelines for raters, as Markdown.

    They are the campaign's file `guidelines.md` if it exists; otherwise those of the catalogue, if the campaign's task
    equals the task in the catalogue; otherwise text generated from the task, so that guidelines never contradict the
    task. An introduction explains reviews and validation, and a section at the end the columns of a sheet.
    """
    name, words = campaign.task.name, campaign.task.words
    files = [campaign.folder / "guidelines.md"]
    if name in task_names() and load_task(name) == campaign.task:
        files.append(task_path(name).with_name("guidelines.md"))
    own = next((file.read_text(encoding="utf-8") for file in files if file.is_file()), None)
    text = _from_task(campaign) if own is None else own
    if round_name == VALIDATION or campaign.shown(round_name) is not None:
        where = words.get(SHOWN, SHOWN if tool == "csv" else TITLES[SHOWN])
        agree, disagree = (words.get(name, name) for name in VERDICTS)
        template = campaign_template("validation.md" if round_name == VALIDATION else "review.md", _language(campaign))
        text = f"{template.format(where=where, agree=agree, disagree=disagree)}\n{text}"
    if tool != "csv":
        return text
    answers = []
    for each in questions(campaign, round_name):
        expected = each.expected if each.low is not None else [f"`{label}`" for label in each.expected]
        answers.append(f"  - `{words.get(each.name, each.name)}`: {', '.join(expected)}")
    columns = {name: words.get(name, name) for name in (COMMENT, SKIP)}
    how = campaign_template("sheet.md", _language(campaign)).format(answers="\n".join(answers), **columns)
    return f"{text.rstrip()}\n\n{how}"


def _from_task(campaign: Campaign) -> str:
    task = campaign.task
    parts = [f"# {task.title}", f"> {task.question}"]
    for question in questions(campaign, ""):
        if task.aspects:
            parts += [f"## {question.title}", question.text]
        said = {question.words.get(key, key): meaning for key, meaning in question.meanings.items()}
        rows = [f"| `{key}` | {' '.join(meaning.split())} |" for key, meaning in said.items()]
        parts.append("\n".join([f"| {'Label' if question.low is None else 'Grade'} | Meaning |", "|---|---|", *rows]))
        if question.decimals:
            parts.append(f"Grades may have up to {question.decimals} decimals.")
    if task.rules:
        parts += ["## How to work", "\n".join(f"- {rule}" for rule in task.rules)]
    return "\n\n".join([*parts, campaign_template("care.md", _language(campaign))])
