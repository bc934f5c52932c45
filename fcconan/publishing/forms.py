"""Checks that published strings have a closed form and are not texts of a source dataset."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fcconan.building import column_type
from fcconan.data import MOST_WORDS, NAME, NUMBER, TEXT, Form, find_column, is_title
from fcconan.errors import InputError
from fcconan.publishing.known_texts import KnownTexts

SHOWN_CHARACTERS = 6  # maximum number of characters of a rejected string in a message
TEXT_COLUMN_REASON = "a column of texts"


def describe_string(string: str) -> str:
    """Returns a description of a possibly hateful string for messages: its beginning, length and hash."""
    digest = hashlib.sha256(string.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{string[: min(SHOWN_CHARACTERS, len(string) // 2)]!a}... ({len(string)} characters, sha256 {digest})"


def find_problem(string: str, form: Form, known: KnownTexts | None) -> str | None:
    """Returns the reason for not publishing a string, or None if it may be published.

    Args:
        string: The string.
        form: Required form.
        known: Texts that must not be published; None to check the form only.
    """
    if not string or form.is_closed(string):
        return None
    if not form.admits(string):
        return f"{describe_string(string)} is not {form.meaning}"
    if known is not None and known.is_text(string):
        return f"{describe_string(string)} is a text of a source dataset"
    return None


def find_column_problem(config: str, name: str, column: pa.ChunkedArray, known: KnownTexts | None) -> str | None:
    """Returns the reason for not publishing a column of an Arrow table, with the row, or None.

    Args:
        config: Name of the config.
        name: Name of the column.
        column: Values of the column.
        known: As in `find_problem`.
    """
    form = _find_form(config, name)
    kind = column_type(column.type)
    if form is TEXT:
        return TEXT_COLUMN_REASON
    if kind is None:
        return f"its type is {re.split(r'[<[(]', str(column.type))[0]}, expected strings"
    if kind == "strings":
        return _find_list_problem(column.to_pylist(), form, known)
    for value in list_free_strings(config, name, column):
        reason = find_problem(value, form, known)
        if reason is not None:
            return f"row {column.to_pylist().index(value) + 1}: {reason}"
    return None


def list_free_strings(config: str, name: str, column: pa.ChunkedArray) -> list[str]:
    """Returns the different strings of a column that are not ids or vocabulary, by first occurrence.

    Args:
        config: Name of the config.
        name: Name of the column.
        column: Values of the column.
    """
    kind = column_type(column.type)
    if kind not in ("string", "strings"):
        return []
    form = _find_form(config, name)
    strings = (pc.list_flatten(column) if kind == "strings" else column).unique().to_pylist()
    return [string for string in strings if string and not form.is_closed(string)]


def _find_form(config: str, name: str) -> Form:
    declared = find_column(config, name)
    if declared is None:
        return NAME
    return NUMBER if declared.kind in ("int", "float", "bool") else declared.form


def _find_list_problem(lists: Iterable[list[str | None] | None], form: Form, known: KnownTexts | None) -> str | None:
    seen: set[tuple[str, ...]] = set()
    for number, value in enumerate(lists, start=1):
        strings = tuple(each for each in value or () if each)
        if strings in seen:
            continue
        seen.add(strings)
        found = [find_problem(each, form, known) for each in strings]
        if len(strings) > 1 and known is not None and known.is_text(" ".join(strings)):
            found.append(f"{describe_string(' '.join(strings))}, its strings joined, is a text of a source dataset")
        reason = next(filter(None, found), None)
        if reason is not None:
            return f"row {number}: {reason}"
    return None


def check_column_names(where: str, config: str, names: Iterable[str], known: KnownTexts | None) -> None:
    """Checks that names of columns, which are always public, are in the schema or have the form of names.

    Args:
        where: Name of the file, for messages.
        config: Name of the config.
        names: Names of the columns.
        known: As in `find_problem`.

    Raises:
        InputError: A name must not be published.
    """
    for name in names:
        reason = find_problem(name, NAME, known) if name.strip() else "an empty string"
        if reason is not None and find_column(config, name) is None:
            raise InputError(
                f"{where}: a column name cannot be published ({reason}): rename the column, or leave it out"
            )


def check_titles(titles: Mapping[str, str], known: KnownTexts) -> None:
    """Checks titles and other names outside of tables, such as the name of the repository.

    Args:
        titles: The strings, by their origin in words.
        known: Texts that must not be published.

    Raises:
        InputError: A string does not have the form of a title, or contains a text.
    """
    for where, title in titles.items():
        if not is_title(title):
            reason = f"has other characters than letters, digits and spaces, or more than {MOST_WORDS} unknown words"
        elif known.is_text(title):
            reason = "contains a text of a source dataset"
        else:
            continue
        raise InputError(f"{where} cannot be published: {describe_string(title)} {reason}; give another one")


def check_document(where: str, content: str, strings: Iterable[str], known: KnownTexts) -> None:
    """Checks that a public document does not quote a text.

    Args:
        where: Name of the file, for messages.
        content: Content of the document.
        strings: Strings of the document to compare separately, such as the keys and values of JSON.
        known: The texts.

    Raises:
        InputError: The document quotes a text.
    """
    listed = list(strings)
    single = next((string for string in listed if known.is_text(string)), None)
    if single is not None or known.quoted_in("\n".join([content, *listed])):
        what = "" if single is None else f" ({describe_string(single)})"
        raise InputError(
            f"{where} quotes a restricted text{what}, and this file is public even in a gated repository: remove the "
            "quotation from the card in the recipe and build again"
        )


def iterate_strings(root: Any) -> Iterator[str]:
    """Yields all strings of a JSON value, keys included."""
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            stack += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            stack += value
