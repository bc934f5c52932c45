"""Whether every string that is published has a closed form and is no text of a source dataset."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from fcconan.data.forms import MOST_WORDS, NAME, NUMBER, TEXT, Form, is_name, is_title, unknown_words
from fcconan.data.schemas import column_of
from fcconan.errors import InputError
from fcconan.publish.known_texts import KnownTexts

SHOWN = 6  # characters of a refused string that a message repeats
SIGNATURE_KEYS = frozenset(
    """
    fcconan metric metrics data domain missing bootstrap confidence seed people raters replies items unified rows
    systems protocol catalogue queries map ties depth orders verdicts regularisation length reproduce cohen-overall
    threshold permutations resamples family tests floor primary baseline adjustment correction level coefficient
    aspect population unit hs labels scale failures pairs test swaps sides comparisons statistic
    """.split()
)
TEXTS = "a column of texts"
WITHHELD = "withheld"  # stands for a part of a signature that is not of this grammar
_SEPARATORS = re.compile(r"[,+]")


def shown(string: str) -> str:
    """Returns what a message may say of a string that may be hateful: its beginning, its length and its hash."""
    digest = hashlib.sha256(string.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{string[: min(SHOWN, len(string) // 2)]!a}... ({len(string)} characters, sha256 {digest})"


def problem(string: str, form: Form, known: KnownTexts | None) -> str | None:
    """Returns why a string may not be published in a place, or None.

    Args:
        string: The string.
        form: The form that it must have.
        known: The texts that it must not be; None where only its form counts.
    """
    if not string or form.is_closed(string):
        return None
    if not form.admits(string):
        return f"{shown(string)} is not {form.meaning}"
    if known is not None and known.is_text(string):
        return f"{shown(string)} is a text of a source dataset"
    return None


def column_problem(config: str, name: str, column: Any, known: KnownTexts | None) -> str | None:
    """Returns why a column of an Arrow table may not be published, with the row, or None.

    Args:
        config: The config.
        name: The column.
        column: Its values.
        known: As in `problem`.
    """
    declared = column_of(config, name)
    form = declared.form if declared is not None else NAME
    if form is TEXT:
        return TEXTS
    of = column.type
    is_list = pa.types.is_list(of) or pa.types.is_large_list(of)
    if is_list:
        of = of.value_type
    if not (pa.types.is_string(of) or pa.types.is_large_string(of)):
        plain = pa.types.is_integer(of) or pa.types.is_floating(of) or pa.types.is_boolean(of) or pa.types.is_null(of)
        return None if plain or pa.types.is_temporal(of) else f"its type is {str(of).split('<')[0]}, expected strings"
    if declared is not None and declared.kind in ("int", "float", "bool"):
        form = NUMBER
    if is_list:
        return _list_problem(column.to_pylist(), form, known)
    for value in column.unique().to_pylist():
        why = problem(value or "", form, known)
        if why is not None:
            return f"row {column.to_pylist().index(value) + 1}: {why}"
    return None


def _list_problem(lists: Iterable[list[str | None] | None], form: Form, known: KnownTexts | None) -> str | None:
    seen: set[tuple[str, ...]] = set()
    for number, value in enumerate(lists, start=1):
        strings = tuple(each for each in value or () if each)
        if strings in seen:
            continue
        seen.add(strings)
        found = [problem(each, form, known) for each in strings]
        if len(strings) > 1 and known is not None and known.is_text(" ".join(strings)):
            found.append(f"{shown(' '.join(strings))}, its strings one after another, is a text of a source dataset")
        why = next(filter(None, found), None)
        if why is not None:
            return f"row {number}: {why}"
    return None


def check_column_names(where: str, config: str, names: Iterable[str], known: KnownTexts | None) -> None:
    """Checks that names of columns, which the card and viewers show to everybody, are of the schema or names.

    Args:
        where: The file, for the message.
        config: The config.
        names: Of the columns.
        known: As in `problem`.

    Raises:
        InputError: One is not.
    """
    for name in names:
        why = problem(name, NAME, known) if name.strip() else "an empty string"
        if why is not None and column_of(config, name) is None:
            raise InputError(
                f"{where}: the name of a column is no name that may be published ({why}): rename the column, or leave "
                "it out"
            )


def check_metadata(where: str, schema: pa.Schema, expected: Mapping[str, Any]) -> None:
    """Checks that a table has the metadata that a build writes and no other.

    Args:
        where: The file, for the message.
        schema: Of the table.
        expected: The features that it must state.

    Raises:
        InputError: It has other metadata.
    """
    metadata = dict(schema.metadata or {})
    try:
        stated = json.loads(metadata.pop(b"huggingface", b"null"))
    except ValueError:
        stated = 0
    fields = [key for field in schema for key in (field.metadata or {}) if key != b"PARQUET:field_id"]
    if metadata or fields or stated not in (None, {"info": {"features": expected}}):
        raise InputError(f"{where} has metadata that no build writes, which everybody can read: build the folder again")


def check_titles(titles: Mapping[str, str], known: KnownTexts) -> None:
    """Checks titles and other names that are not in a table, such as that of the repository.

    Args:
        titles: The strings by a phrase that says where they come from.
        known: The texts that none of them may be.

    Raises:
        InputError: One is no title, or it is or holds a text.
    """
    for where, title in titles.items():
        if not is_title(title):
            why = f"is not made of letters, digits and spaces with at most {MOST_WORDS} unknown words"
        elif known.is_text(title):
            why = "is or holds a text of a source dataset"
        else:
            continue
        raise InputError(f"{where} cannot be published: {shown(title)} {why}; give another one")


def check_document(where: str, content: str, strings: Iterable[str], known: KnownTexts) -> None:
    """Checks that a document that everybody can read quotes no text.

    Args:
        where: The file, for the message.
        content: All of it.
        strings: Strings of it that are compared one by one, such as the keys and values of JSON.
        known: The texts.

    Raises:
        InputError: It quotes one.
    """
    single = next((string for string in strings if known.is_text(string)), None)
    if single is not None or known.quoted_in(content):
        what = "" if single is None else f" ({shown(single)})"
        raise InputError(
            f"{where} quotes a restricted text{what}, and everybody can read that file, also in a gated repository: "
            "take the quotation out of the recipe's card and build again"
        )


def strings_of(whole: Any) -> Iterator[str]:
    """Yields all strings of a JSON value, keys included."""
    waiting = [whole]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value


def clean_signature(signature: str, cells: frozenset[str], known: KnownTexts) -> str | None:
    """Writes a signature again from the parts that are of its grammar: `key:value|key:value...`.

    A key is one of `SIGNATURE_KEYS`. A value is a list of names and numbers with commas or `+` between them, with at
    most three unknown words besides names that the rows hold. Any other part is written as `withheld`.

    Args:
        signature: The signature.
        cells: The names that the rows hold, which have been checked.
        known: The texts that it must not quote.

    Returns:
        The signature; None if it quotes a text or nothing of it is left.
    """
    parts = []
    for part in signature.split("|"):
        key, _, value = part.partition(":")
        items = [item for item in _SEPARATORS.split(value) if item and item not in cells]
        good = (
            key in SIGNATURE_KEYS
            and all(is_name(item.strip("()")) for item in items)
            and sum(map(unknown_words, items)) <= MOST_WORDS
            and not known.is_text(value)
        )
        parts.append(part if good else WITHHELD)
    written = "|".join(parts)
    return None if known.quoted_in(written) or set(parts) == {WITHHELD} else written
