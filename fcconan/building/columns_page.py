"""Prints the reference page of columns: `python -m fcconan.building.columns_page > docs/columns.md`."""

from collections.abc import Iterator
from typing import NamedTuple

from fcconan.building.card_columns import table_lines, type_name
from fcconan.building.kinds import campaign, dialogues, exhaustive, pairs, ratings, replies, tournament
from fcconan.building.recipes import load_recipe
from fcconan.data import (
    PAIR,
    PUBLISHED,
    QRELS,
    RATING,
    REPLY,
    TEXT_BY_ID,
    VOTE,
    Columns,
    describe_column,
    describe_config,
    recipe_names,
)

_HEAD = """# Columns

The columns of every config, in datasets (`fcconan build`, `fcconan annotate tier`) and in rows that commands
write. This page is generated from the code by `make schema`. [Datasets](datasets.md) lists the configs of
each dataset, the [protocol page](protocol.md) defines the scores.

- HS: hate-speech message. CN: counter-narrative.
- A column of type `text` holds texts, which a folder built with `--labels-only` leaves out.
- Ids follow from the normalised text (NFC; one space for each run of white space): `hs-` or `cn-` and
  the first 12 hexadecimal digits of its sha256.
- Any value but an id may be empty. An empty value is missing; it is never 0.
"""


class Section(NamedTuple):
    """A group of configs with the same columns.

    Attributes:
        configs: Names of the configs.
        columns: Types of their columns, by name.
    """

    configs: tuple[str, ...]
    columns: Columns


def _extra_columns() -> Columns:
    """Returns the columns that the recipes of the catalogue add to those of pairs."""
    found: Columns = {}
    for name in recipe_names():
        found |= load_recipe(name).extra_columns
    return found


def dataset_sections() -> list[Section]:
    """Returns the configs of datasets with all columns that any dataset has."""
    return [
        Section(
            ("diamond", "gold", "silver", "bronze", "train", "pairs"),
            PAIR.kinds | pairs.CONAN_COLUMNS | _extra_columns() | {"n_validators": "int"},
        ),
        Section(("votes",), VOTE.kinds | exhaustive.INFERRED | campaign.FURTHER),
        Section(("corpus", "queries"), TEXT_BY_ID.kinds),
        Section(("qrels", "diamond-qrels", "gold-qrels", "silver-qrels"), QRELS.kinds),
        Section(
            ("replies", "candidates"), REPLY.kinds | ratings.EXTRA | tournament.WHERE | replies.EXTRA | replies.CHOSEN
        ),
        Section(("ratings",), RATING.kinds | campaign.FURTHER | campaign.SELECTED),
        Section(("scores",), ratings.SCORE),
        Section(("grades",), campaign.FINAL_GRADE),
        Section(
            ("comparisons",),
            PUBLISHED["comparisons"].kinds | tournament.WHERE | campaign.FURTHER | campaign.SHOWN_FIRST,
        ),
        Section(("labels",), campaign.FINAL_VERDICT),
        Section(("items",), tournament.ITEM),
        Section(("rubrics",), replies.RUBRIC),
        Section(("turns",), dialogues.TURN),
    ]


def published_sections() -> list[Section]:
    """Returns the kinds of rows that commands write."""
    return [Section((config,), schema.kinds) for config, schema in PUBLISHED.items()]


def columns_page() -> str:
    """Returns the page in Markdown."""
    parts = [_HEAD, "## Datasets\n", *map(_section, dataset_sections())]
    parts += ["## Rows of commands\n", *map(_section, published_sections())]
    return "\n".join(parts)


def _section(section: Section) -> str:
    lines = [f"### {', '.join(f'`{config}`' for config in section.configs)}", "", *_meanings(section), ""]
    rows = [(name, type_name(kind), _meaning(section.configs, name)) for name, kind in section.columns.items()]
    return "\n".join([*lines, *table_lines(rows), ""])


def _meanings(section: Section) -> Iterator[str]:
    described = dict.fromkeys(describe_config(config) for config in section.configs)
    if len(described) == 1:
        yield f"One row: {describe_config(section.configs[0])}."
        return
    yield "One row:\n"
    for config in section.configs:
        yield f"- `{config}`: {describe_config(config)}"


def _meaning(configs: tuple[str, ...], column: str) -> str:
    """Returns the meaning of a column; all meanings where they differ between configs."""
    by_meaning: dict[str, list[str]] = {}
    for config in configs:
        meaning = describe_column(config, column)
        if meaning is None:
            raise KeyError(f"describe the column {column} of {config} in fcconan/data/descriptions.py")
        by_meaning.setdefault(meaning, []).append(config)
    if len(by_meaning) == 1:
        return next(iter(by_meaning))
    return "; ".join(f"{meaning} (`{'`, `'.join(names)}`)" for meaning, names in by_meaning.items())


if __name__ == "__main__":
    print(columns_page(), end="")
