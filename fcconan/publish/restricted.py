"""Which columns hold text that may not be passed on, and whether any of it stands in the card."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fcconan import rows
from fcconan.build.quotations import quoted
from fcconan.build.release import CARD
from fcconan.data.manifest import MANIFEST
from fcconan.errors import InputError
from fcconan.publish.contents import Contents

_KINDS = (rows.PAIR, rows.REPLY, rows.RATING, rows.TEXT_BY_ID)
# Columns of these names hold text in every table, whatever a manifest says.
TEXT_COLUMNS = frozenset(name for columns in _KINDS for name, kind in columns.items() if kind in rows.RESTRICTED_TYPES)
# Labels and names are shorter; whatever is longer was written by somebody.
MOST_WORDS = 8
# These are written without spaces: as many characters are about one word.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_CHARACTERS = 2
# Columns that the package itself fills with settings or sentences of its own, in what --json writes.
OUR_WORDS = frozenset({"note", "signature"})
OUR_RESULTS = frozenset({"agreement", "correlations", "leaderboard", "reproduction", "tournament"})


def restricted_columns(contents: Contents) -> dict[str, list[str]]:
    """Returns the columns that may not be passed on, by config: none for a dataset whose texts may.

    A column counts if the manifest says so, if it has the name of a text column, or if it holds sentences. What the
    Parquet files hold decides, not what the manifest says of them.

    Raises:
        InputError: A Parquet file cannot be read, or the folder is said to hold no text and does.
    """
    found: dict[str, set[str]] = {}
    for path in contents.tables:
        _check_schema(contents, path)
        config = path.split("/")[0]
        declared = set(contents.manifest.get("restricted_columns", {}).get(config, ()))
        columns = set(_text_columns(contents, path, declared | TEXT_COLUMNS))
        if columns:
            found.setdefault(config, set()).update(columns)
    sorted_found = {config: sorted(columns) for config, columns in sorted(found.items())}
    if contents.manifest["labels_only"] and sorted_found:
        raise InputError(
            f"{contents.folder} is said to be labels-only and holds text ({listed(sorted_found)}): build it again"
        )
    return {} if may_be_passed_on(contents.manifest) else sorted_found


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


def check_no_text_in_card(contents: Contents, columns: dict[str, list[str]]) -> None:
    """Checks that card and manifest, which everybody sees also where the tables are gated, quote no restricted text.

    Args:
        contents: The folder.
        columns: Its restricted columns.

    Raises:
        InputError: One of them quotes a text.
    """
    for name in (CARD, MANIFEST):
        public = contents.path(name).read_text(encoding="utf-8")
        for config, texts in _texts(contents, columns):
            if quoted(public, texts):
                raise InputError(
                    f"{contents.path(name)} quotes a restricted text of {config}, and everybody can read that file, "
                    "also in a gated repository: take the quotation out of the recipe's card and build again"
                )


def _texts(contents: Contents, columns: dict[str, list[str]]) -> Iterator[tuple[str, set[str]]]:
    for path in contents.tables:
        config = path.split("/")[0]
        wanted = columns.get(config)
        if not wanted:
            continue
        table = _file(contents, path).read(columns=wanted, use_threads=False)
        seen: set[str] = set()
        for column in table.columns:
            seen.update(_strings(column))
        yield config, seen


def _text_columns(contents: Contents, path: str, named: set[str]) -> Iterator[str]:
    table = _file(contents, path).read(use_threads=False)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in named:
            yield name
            continue
        if is_ours(path.split("/")[0], name):
            continue
        if any(map(is_sentence, _strings(column.unique() if _plain(column) else column))):
            yield name


def is_sentence(text: str) -> bool:
    """Whether a string is longer than labels and names are."""
    return len(text.split()) + len(_UNSPACED.findall(text)) // _CHARACTERS > MOST_WORDS


def is_ours(config: str, column: str) -> bool:
    """Whether this package fills a column with sentences of its own."""
    return config in OUR_RESULTS and column in OUR_WORDS


def _check_schema(contents: Contents, path: str) -> None:
    """Checks that a table has no text where columns are named and described, which the card and viewers show to all.

    Raises:
        InputError: It has.
    """
    schema = _file(contents, path).schema_arrow
    described = (text for each in (schema, *schema) for text in _described(each.metadata))
    if any(map(is_sentence, (*_names(schema), *described))):
        raise InputError(
            f"{contents.path(path)} has text in the names of its columns or in its metadata, which everybody can read: "
            "rename the columns, or build the folder again"
        )


def _names(fields: Any) -> Iterator[str]:
    """Yields the names of columns, also those of the parts of records."""
    for field in fields:
        yield field.name
        if pa.types.is_nested(field.type):
            yield from _names(field.type.field(at) for at in range(field.type.num_fields))


def _described(metadata: Mapping[bytes, bytes] | None) -> Iterator[str]:
    """Yields the strings of the metadata of a table or column; what is JSON is taken apart."""
    for key, value in (metadata or {}).items():
        text = value.decode("utf-8", "replace")
        yield key.decode("utf-8", "replace")
        try:
            yield from _said(json.loads(text))
        except ValueError:
            yield text


def _said(whole: Any) -> Iterator[str]:
    waiting = [whole]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value
        elif isinstance(value, bytes):
            yield value.decode("utf-8", "replace").replace("\0", "")


def _plain(column: Any) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_large_string(column.type))


def _strings(column: Any) -> Iterator[str]:
    """Yields every string of a column, also those in lists and records."""
    if pa.types.is_primitive(column.type):
        return
    yield from _said(column.to_pylist())


def _file(contents: Contents, path: str) -> Any:
    try:
        return pq.ParquetFile(pa.BufferReader(contents.path(path).read_bytes()))
    except (OSError, pa.ArrowInvalid) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{contents.path(path)} is no Parquet file ({reason}): build the folder again") from error
