"""Writes the reference pages docs/columns.md and docs/options.md from the code, for `make docs`."""

import io
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from fcconan import cli
from fcconan.building.cards import table_lines, type_name
from fcconan.building.kinds import campaign, dialogues, exhaustive, pairs, ratings, replies, tournament
from fcconan.building.recipes import load_recipe
from fcconan.data import PAIR, PUBLISHED, QRELS, RATING, REPLY, TEXT_BY_ID, VOTE, recipe_names
from fcconan.data.descriptions import describe_column, describe_config

EXTRA = {name: kind for recipe in recipe_names() for name, kind in load_recipe(recipe).extra_columns.items()}
DATASETS = {  # the configs with the same columns, and all columns that any dataset has
    "diamond gold silver bronze train pairs": PAIR.kinds | pairs.CONAN_COLUMNS | EXTRA | {"n_validators": "int"},
    "votes": VOTE.kinds | exhaustive.INFERRED | campaign.FURTHER,
    "corpus queries": TEXT_BY_ID.kinds,
    "qrels diamond-qrels gold-qrels silver-qrels": QRELS.kinds,
    "replies candidates": REPLY.kinds | ratings.EXTRA | tournament.WHERE | replies.EXTRA | replies.CHOSEN,
    "ratings": RATING.kinds | campaign.FURTHER,
    **{"scores": ratings.SCORE, "grades": campaign.FINAL_GRADE, "labels": campaign.FINAL_VERDICT},
    "comparisons": PUBLISHED["comparisons"].kinds | tournament.WHERE | campaign.FURTHER,
    **{"items": tournament.ITEM, "rubrics": replies.RUBRIC, "turns": dialogues.TURN},
}
SECTIONS = {"Datasets": DATASETS, "Published rows": {name: schema.kinds for name, schema in PUBLISHED.items()}}


def columns_page() -> Iterator[str]:
    """Yields the lines of the page of columns."""
    yield "# Columns\n\nHS: hate-speech message. CN: counter-narrative. An empty value is missing; it is never 0. Ids"
    yield "contain 12 hexadecimal digits of the sha256 of the normalised text (NFC; single spaces). A folder that was"
    yield "built with `--labels-only` has no columns of type `text`. The [protocol](protocol.md) defines the scores."
    for title, sections in SECTIONS.items():
        yield f"\n## {title}"
        for configs, columns in sections.items():
            names = configs.split()
            yield f"\n### {', '.join(f'`{name}`' for name in names)}\n"
            yield from (f"- `{name}`: {describe_config(name)}" for name in names)
            meanings = {column: dict.fromkeys(describe_column(name, column) for name in names) for column in columns}
            yield from ("", *table_lines([(c, type_name(columns[c]), "; or ".join(meanings[c])) for c in columns]))


def help_of(name: str) -> str:
    """Returns the section of a command."""
    console = Console(width=110, record=True, file=io.StringIO())
    cli.app.help_print(name.split(), console=console)
    return f"\n## {' '.join(['fcconan', *name.split()])}\n\n```text\n{console.export_text()}```"


if __name__ == "__main__":
    options = ["# Options\n\nThe help of all commands.", *map(help_of, ["", *sorted(cli.COMMANDS)])]
    for page, lines in (("columns", columns_page()), ("options", options)):
        Path(__file__).with_name(f"{page}.md").write_text("\n".join([*lines, ""]), encoding="utf-8")
