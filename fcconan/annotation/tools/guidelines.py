"""Guidelines of a round: the campaign's own, those of the catalogue, or generated from the task."""

import html

from fcconan.annotation.campaigns import VALIDATION, Campaign
from fcconan.annotation.tools.task_view import SHOWN, TITLES, Question, questions
from fcconan.data import content_folder, task_names, task_path
from fcconan.judging import load_task

FILE = "guidelines.md"


def guidelines(campaign: Campaign, round_name: str, tool: str = "label-studio") -> str:
    """Returns the guidelines for raters, as Markdown.

    They are the campaign's file `guidelines.md` if it exists; otherwise those of the catalogue, if the campaign's task
    equals the task in the catalogue; otherwise text generated from the task, so that guidelines never contradict the
    task.
    In rounds with further information, such as reviews, an introduction explains it.

    Args:
        campaign: The campaign.
        round_name: Name of the round.
        tool: Annotation tool. Sheets have columns instead of headings, and a section that explains how to fill them in.
    """
    where = f"in the column `{SHOWN}`" if tool == "csv" else f'under "{TITLES[SHOWN]}"'
    text = _of_round(campaign, round_name, where)
    return f"{text.rstrip()}\n\n{_of_sheet(campaign, round_name)}" if tool == "csv" else text


def _of_round(campaign: Campaign, round_name: str, where: str) -> str:
    if campaign.shown(round_name) is None and round_name != VALIDATION:
        return _of_task(campaign)
    explained = campaign_template("validation.md" if round_name == VALIDATION else "review.md")
    return explained.format(where=where) + "\n" + _of_task(campaign)


def as_html(markdown: str) -> str:
    """Converts Markdown to an HTML fragment; HTML in it is escaped."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))


def as_page(markdown: str, campaign: Campaign) -> str:
    """Converts Markdown to an HTML page without references to other files."""
    title, language = html.escape(campaign.task.title), html.escape(campaign.settings.language)
    return campaign_template("page.html").format(language=language, title=title, body=as_html(markdown))


def campaign_template(name: str) -> str:
    """Returns a template of the catalogue for campaigns, such as `care.md` or `recipe.yaml`."""
    return (content_folder() / "annotations" / "campaigns" / name).read_text(encoding="utf-8")


def meanings(question: Question) -> list[tuple[str, str]]:
    """Returns labels or grades with their meanings, in order."""
    return list(question.options) or [(str(grade), meaning) for grade, meaning in question.grades]


def _of_sheet(campaign: Campaign, round_name: str) -> str:
    """Returns the section on the columns of a sheet."""
    lines = []
    for question in questions(campaign, round_name):
        expected = ", ".join(f"`{name}`" for name, _ in question.options) or f"{question.low} to {question.high}"
        decimals = f", with up to {question.decimals} decimals" if question.decimals else ""
        lines.append(f"  - `{question.name}`: {expected}{decimals}")
    return campaign_template("sheet.md").format(answers="\n".join(lines))


def _of_task(campaign: Campaign) -> str:
    own = campaign.folder / FILE
    if own.is_file():
        return own.read_text(encoding="utf-8")
    if campaign.task.name in task_names():
        file = task_path(campaign.task.name).with_name(FILE)
        if file.is_file() and load_task(campaign.task.name) == campaign.task:
            return file.read_text(encoding="utf-8")
    return _from_task(campaign)


def _from_task(campaign: Campaign) -> str:
    task = campaign.task
    parts = [f"# {task.title}", f"> {task.question}"]
    for question in questions(campaign, ""):
        if task.aspects:
            parts += [f"## {question.title}", question.text]
        name = "Label" if question.options else "Grade"
        rows = [f"| `{key}` | {' '.join(meaning.split())} |" for key, meaning in meanings(question)]
        parts.append("\n".join([f"| {name} | Meaning |", "|---|---|", *(row.replace("\n", " ") for row in rows)]))
        if question.decimals:
            parts.append(f"Grades may have up to {question.decimals} decimals.")
    if task.rules:
        parts += ["## How to work", "\n".join(f"- {rule}" for rule in task.rules)]
    return "\n\n".join([*parts, campaign_template("care.md")])
