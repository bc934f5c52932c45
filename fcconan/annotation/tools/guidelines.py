"""The guidelines of a round: the campaign's own, those of the catalogue, or what follows from the task."""

import html

from fcconan.annotation.campaigns import VALIDATION, Campaign
from fcconan.annotation.tools.task_view import SHOWN, TITLES, Question, questions
from fcconan.data import task_names, task_path
from fcconan.judging import load_task

FILE = "guidelines.md"
_VALIDATORS = """# Guidelines: do you agree?

Other people have judged what you will see, and their answer is shown {where}. Say whether you agree with it.

| Label | Choose it when |
|---|---|
| `agree` | The answer is right, judged by the guidelines below. |
| `disagree` | Another answer would be right. |

**You may skip anything, at any time, without giving a reason.** Decide for yourself: that an answer is shown does not
make it right. What the others were told follows.
"""
_REVIEW = """# Guidelines: a second look

You have judged these texts before, and others judged them differently. What you and they said is shown {where}. Answer
once more: change your mind where they convince you, and stand by your answer where they do not. What all of you were
told follows.
"""
_CARE = """## Looking after yourself

Hateful messages can be unpleasant to read. **You may skip any item, at any time, without giving a reason.** Take
regular breaks, and do not work through long sessions. If you feel distressed, stop, and talk to someone you trust or to
the person who organised the annotation. Ending your participation early has no consequences.
"""
_PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid #999; padding: .3em .6em; text-align: left; vertical-align: top; }}
blockquote {{ border-left: 4px solid #999; margin-left: 0; padding-left: 1em; }}
</style>
</head>
<body>
{body}</body>
</html>
"""


def guidelines(campaign: Campaign, round_name: str, tool: str = "label-studio") -> str:
    """Returns what raters are told, as Markdown.

    It is the file `guidelines.md` of the campaign, if it has one; else that of the catalogue, if the campaign's task is
    the catalogue's unchanged; else what follows from the task alone, so that guidelines never contradict the task. In a
    round that shows raters something, a few lines before it explain that, and where it is found.

    Args:
        campaign: The campaign.
        round_name: The round.
        tool: What raters judge in; sheets have columns in place of headings.
    """
    where = f"in the column `{SHOWN}`" if tool in ("csv", "jsonl") else f'under "{TITLES[SHOWN]}"'
    text = _of_task(campaign)
    if round_name == VALIDATION:
        return _VALIDATORS.format(where=where) + "\n" + text
    if (campaign.folder / "rounds" / f"{round_name}.shown.jsonl").is_file():
        return _REVIEW.format(where=where) + "\n" + text
    return text


def as_html(markdown: str) -> str:
    """Returns Markdown as a piece of an HTML page; HTML in it is shown as it stands."""
    from markdown_it import MarkdownIt

    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))


def as_page(markdown: str, campaign: Campaign) -> str:
    """Returns Markdown as an HTML page that needs no other file."""
    title, language = html.escape(campaign.task.title), html.escape(campaign.settings.language)
    return _PAGE.format(language=language, title=title, body=as_html(markdown))


def meanings(question: Question) -> list[tuple[str, str]]:
    """Returns what every label or grade means, in order."""
    return list(question.options) or [(str(grade), meaning) for grade, meaning in question.grades]


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
    return "\n\n".join([*parts, _CARE])
