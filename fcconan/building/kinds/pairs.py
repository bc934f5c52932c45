"""Sparse pairs (CONAN and related corpora): each row is a CN that was written for the HS."""

from typing import Any

from fcconan.building.recipes import PairsConfig, Recipe
from fcconan.building.rows import PERSON_AND_TOPIC, Row, pair_row
from fcconan.building.source_files import SourceFiles, SourceRow, SourceRows
from fcconan.building.tables import Built, Table
from fcconan.data import PAIR, decode_conan_id
from fcconan.errors import InputError

TEXTS = ("hate_speech", "counter_narrative")
# Maximum number of words of a code or name; a longer string is a text, which is not published.
WORDS_OF_A_CODE = 4
CONAN_COLUMNS = {
    "language": "string",
    "text_language": "string",
    "type_code": "string",
    "subtopic_code": "string",
    "hs_code": "string",
    "cn_code": "string",
    "augmentation": "string",
}


def build(upstream: SourceFiles) -> Built:
    """Builds one table for each entry of the recipe's `pairs`.

    Args:
        upstream: The recipe and its files.

    Raises:
        InputError: A file has an invalid format.
    """
    tables, notes = pairs_tables(upstream)
    return Built(tables, notes=notes)


def pairs_tables(upstream: SourceFiles) -> tuple[list[Table], list[str]]:
    """Returns one table for each entry of the recipe's `pairs`, and a note for each table with duplicate pairs."""
    tables, notes = [], []
    read: dict[str, SourceRows] = {}
    for config in upstream.recipe.pairs:
        if config.source not in read:
            read[config.source] = upstream.read(config.source, text_columns=TEXTS)
        table, repeated = _pairs_table(upstream.recipe, read[config.source], config)
        tables.append(table)
        if repeated:
            notes.append(
                f"{config.config}/{config.split}: rows that repeat an earlier pair: {repeated}; they are included."
            )
    return tables, notes


def _pairs_table(recipe: Recipe, rows: SourceRows, config: PairsConfig) -> tuple[Table, int]:
    """Returns the pairs of one config, and the number of rows that repeat an earlier pair."""
    rows.check_columns((*TEXTS, "source_id", *PERSON_AND_TOPIC, *recipe.extra_columns), recipe.kind)
    columns = PAIR.kinds | (CONAN_COLUMNS if config.decode == "conan-id" else {})
    columns |= {name: kind for name, kind in recipe.extra_columns.items() if name in rows.columns}
    unknown = sorted(config.where.keys() - columns.keys())
    if unknown:
        raise InputError(f"{rows.name}: no column {unknown[0]!r} for `where` of {config.config!r}; correct the recipe")
    found: list[Row] = []
    for record in rows:
        pair = pair_row(record) | {"label": "appropriate", "original_index": record.at}
        if config.decode == "conan-id":
            decoded = decode_conan_id(pair["source_id"])
            if decoded is None:
                raise record.fail(f"source_id is {pair['source_id']!r}, expected one such as ENT1ST0001HS0033CN000021")
            pair |= decoded
        pair |= {name: _cell(record, name, kind) for name, kind in recipe.extra_columns.items() if name in record}
        if all(_shown(pair.get(name)) == value for name, value in config.where.items()):
            found.append(pair)
    repeated = len(found) - len({pair["pair_id"] for pair in found})
    return Table.from_rows(config.config, config.split, columns, found, ("source_id",)), repeated


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


def _cell(record: SourceRow, name: str, kind: str) -> Any:
    if kind == "string" and len(record[name].split()) > WORDS_OF_A_CODE:
        raise record.fail(f"{name} reads like a text; declare it as `text`, which labels-only folders leave out")
    text = record.__getitem__
    return {"int": record.integer, "float": record.number, "string": text, "text": text}[kind](name)
