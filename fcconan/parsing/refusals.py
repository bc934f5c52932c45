"""Finds replies that decline to answer, as assistants do, instead of countering the hate.

The patterns are data, in `refusals.yaml`: seven languages, three kinds. Only the heads of a reply's first
sentences are looked at: a CN may say further down, or in the middle of a sentence, what it will not put up with.
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
# Quotation marks, list marks and a label such as `Reply:` may stand before the first word.
_BEFORE_WORDS = re.compile(r"^[\W\d_]*(?:[\w-]+(?: [\w-]+)?:\s[\W_]*)?")
# More than four openings in a row are no sentence, and would take long to try.
_MOST_OPENINGS = 4
_LONGEST_HEAD = 300  # characters of a sentence; a bound on the time that a hostile reply may cost
_APOSTROPHES = str.maketrans("’‘ʼ´`", "'''''")


@dataclass(frozen=True)
class Refusal:
    """How a reply declines.

    Attributes:
        kind: `request`: it will not do what it is asked to. `assistant`: it says that it is a machine, and disclaims.
            `endorsement`: it will not approve of the message, as though it had been asked to; a counter-argument often
            follows.
        language: Of the pattern.
        sentence: The sentence that declines.
    """

    kind: Kind
    language: Language
    sentence: str


def is_refusal(text: str) -> bool:
    """Whether a reply declines to answer as an assistant; see `refusal_kind`."""
    return find_refusal(text) is not None


def find_refusal(text: str) -> Refusal | None:
    """Returns how a reply declines to answer as an assistant, or None where it does not.

    Args:
        text: The reply, in any of English, Spanish, French, Italian, German, Portuguese and Basque. Only its first
            `SENTENCES` sentences count.
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
    """The lists of every language, English first, each as one pattern."""
    with PATTERNS.open(encoding="utf-8") as file:
        languages: dict[Language, dict[str, str]] = yaml.safe_load(file)
    return {language: {name: _alternatives(lines) for name, lines in of.items()} for language, of in languages.items()}


@cache
def _patterns_of_any_kind() -> dict[Language, re.Pattern[str]]:
    """One pattern a language, which matches where one of `_kinds` does.

    Most sentences are no refusals, and their openings, which take the time, are so tried once and not for every kind.
    """
    found = {}
    for language, of in _parts().items():
        declined = rf"{of['cannot']}\s?(?:{of['declined']}|{of['endorsed']})"
        heads = "|".join((of["assistant"], declined, of["declining"], _refusal_after_apology(of)))
        found[language] = re.compile(rf"{_lead(of)}(?:{heads})", re.IGNORECASE)
    return found


@cache
def _patterns_by_kind(language: Language) -> list[tuple[Kind, re.Pattern[str]]]:
    """The pattern of every kind, in the order in which they are tried."""
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
