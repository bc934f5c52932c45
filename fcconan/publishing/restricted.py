"""Restricted columns, and quotations of texts in card and manifest."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from fcconan.building import Texts, arrow_schema, column_type, group_values, table_bytes
from fcconan.data import CARD, MANIFEST, TEXT_COLUMNS, find_column, read_table
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents
from fcconan.publishing.forms import (
    TEXT_COLUMN_REASON,
    check_column_names,
    check_document,
    find_column_problem,
    iterate_strings,
    list_free_strings,
)
from fcconan.publishing.known_texts import KnownTexts

_MANIFEST_KEYS = frozenset(
    """
    format name title kind synthetic labels_only redistributable tier_rule package normalisation fingerprint versions
    aliases counts facts statistics restricted_columns sources excluded left_out notes files
    """.split()
)


def find_restricted_columns(contents: Contents, known: KnownTexts | None = None) -> dict[str, list[str]]:
    """Returns the columns that must not be redistributed, by config; none for redistributable datasets.

    A column is restricted if the manifest lists it, if it has the name of a text column, or if one of its strings does
    not have the form in the schema. The columns are those of the Parquet files.

    Args:
        contents: The folder.
        known: Texts of source datasets, which names must not equal; None to check forms only.

    Raises:
        InputError: A Parquet file cannot be read or contains more than its rows, or a labels-only folder contains
            texts.
    """
    found: dict[tuple[str, str], str] = {}  # config and column -> reason
    names: list[str] = []
    changed: list[str] = []
    for path in contents.tables:
        table = read_table(contents.path(path))
        config = path.split("/")[0]
        where = str(contents.path(path))
        check_column_names(where, config, table.column_names, known)
        names += [name for name in table.column_names if find_column(config, name) is None]
        declared = {*contents.manifest.get("restricted_columns", {}).get(config, ()), *TEXT_COLUMNS}
        for name, column in zip(table.column_names, table.columns, strict=True):
            reason = TEXT_COLUMN_REASON if name in declared else find_column_problem(config, name, column, known)
            if reason is not None:
                found.setdefault((config, name), reason)
            else:
                names += list_free_strings(config, name, column)
        if not _has_only_rows(table, contents.path(path)):
            changed.append(where)
    if contents.manifest["labels_only"] and found:
        config, name = min(found)
        columns = format_columns(group_values(sorted(found)))
        raise InputError(
            f"{contents.folder} is labels-only, but contains text ({columns}); {config}: {name}, "
            f"{found[config, name]}: build the folder again"
        )
    if changed:
        raise InputError(
            f"{changed[0]} differs from the file that this version of fcconan with pyarrow {pa.__version__} writes for "
            "its rows, and may contain further data: build the folder again"
        )
    if known is not None and known.quoted_in("\n".join(names)):
        raise InputError(
            f"the joined names in {contents.name} quote a text of a source dataset: leave out the column that "
            "contains it"
        )
    return {} if is_redistributable(contents.manifest) else group_values(sorted(found))


def is_redistributable(manifest: dict[str, Any]) -> bool:
    """Returns whether a dataset is redistributable by its manifest and by its recipe in the catalogue, if any."""
    from fcconan.building import load_recipe
    from fcconan.data import recipe_names

    if manifest.get("redistributable") is not True:
        return False
    return manifest["name"] not in recipe_names() or load_recipe(manifest["name"]).redistributable


def format_columns(columns: dict[str, list[str]]) -> str:
    """Returns columns as `config: column, column; config: ...`."""
    return "; ".join(f"{config}: {', '.join(names)}" for config, names in columns.items())


def check_no_text_in_card(contents: Contents, columns: dict[str, list[str]], known: KnownTexts | None = None) -> None:
    """Checks that card and manifest, which are public even in gated repositories, do not quote a text.

    Args:
        contents: The folder.
        columns: Restricted columns of the folder, whose texts are searched, by config.
        known: Further texts to search.

    Raises:
        InputError: Card or manifest quotes a text.
    """
    own = KnownTexts(tuple(Texts(texts) for texts in _read_restricted_texts(contents, columns)))
    unknown = contents.manifest.keys() - _MANIFEST_KEYS
    if known is not None and unknown:
        raise InputError(f"{contents.folder / MANIFEST} has {len(unknown)} unknown keys: build the folder again")
    for name in (CARD, MANIFEST):
        where = str(contents.folder / name)
        public = contents.path(name).read_text(encoding="utf-8")
        check_document(where, public, (), own)
        if known is not None:
            strings = iterate_strings(json.loads(public)) if name == MANIFEST else ()
            check_document(where, public, strings, known)


def _read_restricted_texts(contents: Contents, columns: dict[str, list[str]]) -> Iterator[Iterable[str]]:
    for path in contents.tables:
        wanted = columns.get(path.split("/")[0])
        if wanted:
            table = read_table(contents.path(path))
            yield {
                text
                for name in wanted
                if name in table.column_names
                for text in iterate_strings(table[name].to_pylist())
            }


def _has_only_rows(table: pa.Table, path: Path) -> bool:
    """Returns whether a file has only the rows of a table, without other metadata or further bytes."""
    columns = {field.name: column_type(field.type) for field in table.schema}
    kinds = {name: kind for name, kind in columns.items() if kind is not None}
    if len(kinds) < len(table.schema):  # an unknown type, or two columns of one name
        return False
    return table_bytes(table.cast(arrow_schema(kinds)).combine_chunks()) == path.read_bytes()
