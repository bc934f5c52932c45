"""Ids: hashes, content ids of texts, and ids in rows.

An id depends on the text only: the same message has the same id in all files. The rule is versioned.
"""

import ast
import hashlib
import json
import math
import re
import unicodedata
import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from pathlib import Path
from typing import Any


def file_sha256(path: Path) -> str:
    """Returns the sha256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_with_hash(path: Path) -> str:
    """Returns a file's name with the first 12 digits of its sha256, such as `rows.csv@1f2e3d4c5b6a`, for signatures."""
    return f"{path.name}@{file_sha256(path)[:12]}"


NORMALISATION_VERSION = 1


def normalise(text: str) -> str:
    """Returns the text in Unicode NFC with every run of white space as one space, stripped (version 1)."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def is_blank(text: object) -> bool:
    """Returns whether a value has no visible character: no text, or only white space, control and format characters."""
    return not (isinstance(text, str) and any(each.isprintable() and not each.isspace() for each in text))


def short_hash(*parts: str) -> str:
    """Returns the first 12 hexadecimal digits of the sha256 of the parts, joined by line feeds."""
    return hashlib.sha256("\n".join(parts).encode("utf-8")).hexdigest()[:12]


def make_hs_id(text: str) -> str:
    """Returns the id of a hate-speech message: `hs-` and 12 hexadecimal digits of its normalised text."""
    return f"hs-{short_hash(normalise(text))}"


def make_cn_id(text: str) -> str:
    """Returns the id of a counter-narrative: `cn-` and 12 hexadecimal digits of its normalised text."""
    return f"cn-{short_hash(normalise(text))}"


def make_pair_id(hs: str, cn: str) -> str:
    """Returns the id of a pair from the ids of its two sides."""
    return f"{hs}:{cn}"


def make_item_id(hs: str, references: Iterable[str]) -> str:
    """Returns the id of an item: one HS with its reference CNs, if any. A reply answers an item.

    Args:
        hs: The id of the HS.
        references: The ids of the reference CNs, in any order.
    """
    return f"it-{short_hash(hs, *sorted(references))}"


def make_reply_id(item: str, system: str, text: str, source_id: str = "") -> str:
    """Returns the id of one system's reply to one item.

    Args:
        item: The id of the item.
        system: The name of the system.
        text: The reply.
        source_id: Id of the upstream record, where a system has several replies with the same text for one item.
    """
    return f"re-{short_hash(item, system, normalise(text), source_id)}"


# <language><type>ST<subtopic>HS<message>CN<reply>, then the derivation of the row from an original, if any.
CONAN_ID = re.compile(r"(EN|FR|IT)(T\d)ST(\d{4})HS(\d{4})CN(\d{6})(P1|P2|T1)?")
AUGMENTATION = {None: "original", "P1": "paraphrase-1", "P2": "paraphrase-2", "T1": "translation-1"}


def decode_conan_id(source_id: str) -> dict[str, str] | None:
    """Decodes the `cn_id` of CONAN.

    Args:
        source_id: Such as `FRT1ST0012HS0037CN001687P1`.

    Returns:
        The language of the campaign, the language of the text (translations are into English), the codes of HS type,
        subtopic, HS and CN, and the augmentation; None if the text is not an id of CONAN.
    """
    match = CONAN_ID.fullmatch(source_id)
    if match is None:
        return None
    language, kind, subtopic, hs, cn, augmentation = match.groups()
    return {
        "language": language.lower(),
        "text_language": "en" if augmentation == "T1" else language.lower(),
        "type_code": kind,
        "subtopic_code": f"ST{subtopic}",
        "hs_code": f"HS{hs}",
        "cn_code": f"CN{cn}",
        "augmentation": AUGMENTATION[augmentation],
    }


ID_COLUMNS = (
    "reply_id", "pair_id", "item_id", "hs_id", "source_id", "system", "system_a", "system_b", "reply_a", "reply_b",
    "rater",
)  # fmt: skip
EXACT = 2**53  # larger integers are not exact as floats


def is_missing(value: Any) -> bool:
    """Returns whether a cell is empty: None, an empty text, or nan."""
    return value is None or (isinstance(value, str) and not value) or (isinstance(value, float) and math.isnan(value))


def cell_list(value: Any) -> list[Any]:
    """Returns a cell as a list: a list, a list in the notation of JSON or pandas, or a list with the cell itself."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str) and value.startswith("["):
        for read in (json.loads, ast.literal_eval):
            try:
                with warnings.catch_warnings(action="ignore"):  # invalid escapes in a text are fine
                    found = read(value)
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            if isinstance(found, list):
                return found
    return [value]


def cell_text(value: Any) -> str:
    """Returns a cell as text, which is the same for all file formats: 1, 1.0, "1" and "1.0" are one id.

    JSONL and Parquet may have numbers as ids, and pandas turns integers into floats if a cell is empty.
    """
    if is_missing(value):
        return "None"
    if isinstance(value, str):
        is_number = value.endswith(".0") and value[:-2].removeprefix("-").isdecimal()
        return value[:-2] if is_number else value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(int(value))
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) <= EXACT else str(value)
    return str(value)
