"""Text normalisation and content ids.

Ids follow from the text alone, so two files that hold the same message agree on its id without knowing of each
other. The rule is versioned: a changed rule would be a new version, never a silent change.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

NORMALISATION_VERSION = 1


def normalise(text: str) -> str:
    """Returns the text in Unicode NFC with every run of white space as one space, stripped (version 1)."""
    return " ".join(unicodedata.normalize("NFC", text).split())


_INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs"}
# Characters that show nothing although Unicode counts them among letters, marks and symbols: fillers of Hangul, the
# grapheme joiner, inherent vowels of Khmer, variation selectors and the empty pattern of Braille.
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def is_blank(text: str) -> bool:
    """Tells whether a text has no visible character, only white space, control and format characters, and fillers."""
    return all(unicodedata.category(sign) in _INVISIBLE for sign in _FILLERS.sub("", text))


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
    """Returns the id of an item: what a reply answers, one HS together with its reference CNs, if any.

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
        source_id: The upstream record, where one item holds several replies of one system with the same text.
    """
    return f"re-{short_hash(item, system, normalise(text), source_id)}"
