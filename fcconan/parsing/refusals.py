"""Finds replies that decline to answer, as assistants do, instead of countering the hate.

The patterns are defined in `refusals.yaml`: seven languages, three kinds. Only the beginnings of the first sentences of
a reply are searched: a CN may reject the hate later, or in the middle of a sentence.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

Language = Literal["en", "es", "fr", "it", "de", "pt", "eu"]
Kind = Literal["request", "assistant", "endorsement"]
SENTENCES = 3
PATTERNS = Path(__file__).with_name("refusals.yaml")
_SENTENCE_END = re.compile(r"""(?<=[.!?…])["'»”]*\s+|\n+""")
# Quotation marks, list marks and a label such as `Reply:` may precede the first word.
_BEFORE_WORDS = re.compile(r"^[\W\d_]*(?:[\w-]+(?: [\w-]+)?:\s[\W_]*)?")
# Bounds the search time; sentences rarely have more openings.
_MOST_OPENINGS = 4
_LONGEST_HEAD = 300  # characters of a sentence; bounds the search time for hostile replies
_APOSTROPHES = str.maketrans("’‘ʼ´`", "'''''")


@dataclass(frozen=True)
class Refusal:
    """Refusal in a reply.

    Attributes:
        kind: `request`: declines the request. `assistant`: speaks as a machine and disclaims. `endorsement`: declines
            to approve of the message; a counter-argument often follows.
        language: Language of the pattern.
        sentence: Sentence that declines.
    """

    kind: Kind
    language: Language
    sentence: str


def is_refusal(text: str) -> bool:
    """Returns whether a reply declines to answer as an assistant; see `find_refusal`."""
    return find_refusal(text) is not None


def find_refusal(text: str) -> Refusal | None:
    """Finds the first sentence in which a reply declines to answer as an assistant.

    Args:
        text: Reply in English, Spanish, French, Italian, German, Portuguese or Basque. Only its first `SENTENCES`
            sentences are searched.

    Returns:
        The refusal; None without one.
    """
    for sentence in _head(text):
        for language, any_kind in _patterns_of_any_kind().items():
            if any_kind.match(sentence):
                kind = next(kind for kind, pattern in _patterns_by_kind(language) if pattern.match(sentence))
                return Refusal(kind, language, sentence)
    return None


def _head(text: str) -> list[str]:
    pieces = (_BEFORE_WORDS.sub("", piece) for piece in _SENTENCE_END.split(text.translate(_APOSTROPHES)))
    sentences = [" ".join(piece.split()).rstrip(""".!?…"'»” """) for piece in pieces]
    return [sentence[:_LONGEST_HEAD] for sentence in sentences if sentence][:SENTENCES]


@cache
def _parts() -> dict[Language, dict[str, str]]:
    """Returns the lists of each language, English first, each as one pattern."""
    with PATTERNS.open(encoding="utf-8") as file:
        languages: dict[Language, dict[str, str]] = yaml.safe_load(file)
    return {language: {name: _alternatives(lines) for name, lines in of.items()} for language, of in languages.items()}


@cache
def _patterns_of_any_kind() -> dict[Language, re.Pattern[str]]:
    """Returns a pattern for each language that matches a refusal of any kind.

    Most sentences are not refusals. One pattern tries their openings, the slowest part, once and not for each kind.
    """
    found = {}
    for language, of in _parts().items():
        declined = rf"{of['cannot']}\s?(?:{of['declined']}|{of['endorsed']})"
        heads = "|".join((of["assistant"], declined, of["declining"], _refusal_after_apology(of)))
        found[language] = re.compile(rf"{_lead(of)}(?:{heads})", re.IGNORECASE)
    return found


@cache
def _patterns_by_kind(language: Language) -> list[tuple[Kind, re.Pattern[str]]]:
    """Returns the pattern of each kind, in the order of matching."""
    of = _parts()[language]
    lead = _lead(of)
    cannot = rf"{lead}{of['cannot']}\s?"
    heads: list[tuple[Kind, str]] = [
        ("assistant", rf"{lead}{of['assistant']}"),
        ("request", rf"{cannot}{of['declined']}|{lead}{of['declining']}|{lead}{_refusal_after_apology(of)}"),
        ("endorsement", rf"{cannot}{of['endorsed']}"),
    ]
    return [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in heads]


def _lead(of: dict[str, str]) -> str:
    return rf"(?:(?:{of['apologies']}|{of['openings']})\b[\s,;:—–-]*){{0,{_MOST_OPENINGS}}}"


def _refusal_after_apology(of: dict[str, str]) -> str:
    return rf"{of['apologies']}\b[\s,;:—–-]*{_lead(of)}{of['cannot']}\s?{of['after_apology']}\b"


def _alternatives(lines: str) -> str:
    return f"(?:{'|'.join(lines.splitlines())})"
