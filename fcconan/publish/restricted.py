"""Which columns may not be passed on, and whether card and manifest quote a text."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fcconan.build.quotations import Texts
from fcconan.build.release import CARD
from fcconan.data.manifest import MANIFEST
from fcconan.data.schemas import TEXT_COLUMNS, feature_specification
from fcconan.errors import InputError
from fcconan.publish.contents import Contents
from fcconan.publish.forms import TEXTS, check_column_names, check_document, check_metadata, column_problem, strings_of
from fcconan.publish.known_texts import KnownTexts

_MANIFEST_KEYS = frozenset(
    """
    format name title kind synthetic labels_only redistributable tier_rule package normalisation fingerprint versions
    aliases counts facts statistics restricted_columns sources excluded left_out notes files about signatures
    """.split()
)


def restricted_columns(contents: Contents, known: KnownTexts | None = None) -> dict[str, list[str]]:
    """Returns the columns that may not be passed on, by config: none for a dataset whose texts may.

    A column counts if the manifest says so, if it has the name of a text column, or if one of its strings has not the
    form that the schema of the column asks for. The Parquet files decide, not the manifest.

    Args:
        contents: The folder.
        known: The texts of source datasets, which no name may be; None to look at forms only.

    Raises:
        InputError: A Parquet file cannot be read, or the folder is said to hold no text and does.
    """
    found: dict[str, dict[str, str]] = {}
    free = may_be_passed_on(contents.manifest)
    schemas: dict[str, pa.Schema] = {}
    for path in contents.tables:
        table = _read(contents, path)
        config = path.split("/")[0]
        where = path if contents.is_rows else str(contents.path(path))
        check_column_names(where, config, _names(table.schema), known)
        schemas[where] = table.schema
        declared = {*contents.manifest.get("restricted_columns", {}).get(config, ()), *TEXT_COLUMNS}
        for name, column in zip(table.column_names, table.columns, strict=True):
            why = TEXTS if name in declared else column_problem(config, name, column, known)
            if why is not None:
                found.setdefault(config, {}).setdefault(name, why)
    listed_found = {config: sorted(columns) for config, columns in sorted(found.items())}
    if contents.manifest["labels_only"] and found:
        raise _holds_text(contents, found)
    for where, schema in schemas.items():
        check_metadata(where, schema, _features(schema))
    if not free:
        return listed_found
    if contents.is_rows:  # texts of that dataset have been compared with it; other columns have not
        others = {
            config: {name: why for name, why in columns.items() if why != TEXTS} for config, columns in found.items()
        }
        if any(others.values()):
            raise _holds_text(contents, {config: columns for config, columns in others.items() if columns})
    return {}


def _holds_text(contents: Contents, found: dict[str, dict[str, str]]) -> InputError:
    columns = listed({config: sorted(names) for config, names in sorted(found.items())})
    config = min(found)
    name = min(found[config])
    where, advice = (
        (contents.title, f"leave it out with --drop-column {name}, or give it such values")
        if contents.is_rows
        else (f"{contents.folder} is said to be labels-only and", "build it again")
    )
    return InputError(f"{where} holds text ({columns}); {config}: {name}, {found[config][name]}: {advice}")


def may_be_passed_on(manifest: dict[str, Any]) -> bool:
    """Whether the texts of a dataset may be published: if its manifest and, where there is one, its recipe say so."""
    from fcconan.build.recipe import load_recipe
    from fcconan.catalog import recipe_names

    if manifest.get("redistributable") is not True:
        return False
    return manifest["name"] not in recipe_names() or load_recipe(manifest["name"]).redistributable


def listed(columns: dict[str, list[str]]) -> str:
    """Returns columns as `config: column, column; config: ...`."""
    return "; ".join(f"{config}: {', '.join(names)}" for config, names in columns.items())


def check_no_text_in_card(contents: Contents, columns: dict[str, list[str]], known: KnownTexts | None = None) -> None:
    """Checks that card and manifest, which everybody sees also where the tables are gated, quote no text.

    Args:
        contents: The folder.
        columns: Its restricted columns, whose texts are looked for.
        known: Further texts to look for.

    Raises:
        InputError: One of them quotes a text.
    """
    own = KnownTexts(tuple(Texts(texts) for texts in _texts(contents, columns)))
    for name in (CARD, MANIFEST):
        public = contents.path(name).read_text(encoding="utf-8")
        check_document(str(contents.path(name)), public, (), own)
        if known is not None:
            strings = strings_of(json.loads(public)) if name == MANIFEST else ()
            unknown = contents.manifest.keys() - _MANIFEST_KEYS
            if unknown:
                raise InputError(
                    f"{contents.path(MANIFEST)} has {len(unknown)} keys that no build writes: build it again"
                )
            check_document(str(contents.path(name)), public, strings, known)


def _texts(contents: Contents, columns: dict[str, list[str]]) -> Iterator[Iterable[str]]:
    for path in contents.tables:
        wanted = columns.get(path.split("/")[0])
        if wanted:
            table = _read(contents, path)
            yield {
                text for name in wanted if name in table.column_names for text in strings_of(table[name].to_pylist())
            }


def _names(fields: Any) -> Iterator[str]:
    """Yields the names of columns, also those of the parts of records."""
    for field in fields:
        yield field.name
        if pa.types.is_struct(field.type):
            yield from _names(field.type)


def _features(schema: pa.Schema) -> dict[str, Any]:
    """Returns the features that a build states for such a table."""
    kinds = {"string": "string", "int32": "int", "double": "float", "bool": "bool"}
    columns = {}
    for field in schema:
        is_list = pa.types.is_list(field.type)
        kind = kinds.get(str(field.type.value_type if is_list else field.type), "other")
        columns[field.name] = f"{kind}s" if is_list else kind
    try:
        return feature_specification(columns)
    except KeyError:  # a type that no build writes
        return {}


def _read(contents: Contents, path: str) -> Any:
    try:
        with pa.BufferReader(contents.path(path).read_bytes()) as file:
            return pq.ParquetFile(file).read(use_threads=False)
    except (OSError, pa.ArrowInvalid) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{contents.path(path)} is no Parquet file ({reason}): build the folder again") from error
