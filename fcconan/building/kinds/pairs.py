"""Sparse pairs (CONAN and related corpora): each row is a CN that was written for the HS."""

from typing import TYPE_CHECKING, Any

from fcconan.building.recipes import PairsConfig, Recipe
from fcconan.building.rows import Row, pair_rows
from fcconan.building.source_files import SourceFiles, numbers, wrong_row
from fcconan.building.tables import Built, Table
from fcconan.data import PAIR, decode_conan_id
from fcconan.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

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
    read = {
        name: upstream.read(name, *TEXTS) for name in dict.fromkeys(config.source for config in upstream.recipe.pairs)
    }
    for config in upstream.recipe.pairs:
        table, repeated = _pairs_table(upstream.recipe, read[config.source], config)
        tables.append(table)
        if repeated:
            notes.append(
                f"{config.config}/{config.split}: rows that repeat an earlier pair: {repeated}; they are included."
            )
    return tables, notes


def _pairs_table(recipe: Recipe, rows: "DataFrame", config: PairsConfig) -> tuple[Table, int]:
    """Returns the pairs of one config, and the number of rows that repeat an earlier pair."""
    columns = PAIR.kinds | (CONAN_COLUMNS if config.decode == "conan-id" else {})
    extra = {name: kind for name, kind in recipe.extra_columns.items() if name in rows}
    if unknown := sorted(config.where.keys() - columns.keys() - extra.keys()):
        raise InputError(
            f"{rows.attrs['name']} has no column {unknown[0]!r} for `where` of {config.config!r}: correct the recipe"
        )
    more: dict[str, list[Any]] = {}
    for name, kind in extra.items():
        more[name] = numbers(rows, name, whole=kind == "int") if kind in ("int", "float") else [*rows[name]]
        long = rows[name].str.split().str.len() > WORDS_OF_A_CODE
        if kind == "string" and long.any():
            fault = f"{name} reads like a text: declare it as `text`, which labels-only folders leave out"
            raise wrong_row(rows, int(long.argmax()), fault)
    found: list[Row] = []
    for at, pair in enumerate(pair_rows(rows)):
        row = pair | {"label": "appropriate", "original_index": at} | {name: more[name][at] for name in more}
        if config.decode == "conan-id":
            decoded = decode_conan_id(pair["source_id"])
            if decoded is None:
                wrong = f"source_id is {pair['source_id']!r}, expected one such as ENT1ST0001HS0033CN000021"
                raise wrong_row(rows, at, f"{wrong}: correct the row, or leave `decode` out")
            row |= decoded
        if all(str("" if row.get(name) is None else row[name]) == value for name, value in config.where.items()):
            found.append(row)
    repeated = len(found) - len({pair["pair_id"] for pair in found})
    return Table.from_rows(config.config, config.split, columns | extra, found, ("source_id",)), repeated
