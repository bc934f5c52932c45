"""Phrases that package, messages and documentation do not use, with named exceptions (`phrases.yaml`)."""

import re
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.prose.texts import Text, read_texts, text_files


class Hit(NamedTuple):
    """A phrase in a text."""

    phrase: str
    path: str
    line: int
    excerpt: str
    instead: str


_LIST = yaml.safe_load(Path(__file__).with_name("phrases.yaml").read_text(encoding="utf-8"))
PHRASES = {
    entry["phrase"]: (re.compile(entry["pattern"], re.IGNORECASE), entry["instead"]) for entry in _LIST["phrases"]
}
EXCEPTIONS = [(entry["path"], entry.get("text", ""), entry["reason"]) for entry in _LIST["exceptions"]]

# "seed: Of the draws." explains nothing without the name of the argument.
_ARGUMENT = re.compile(r"^ +\*{0,2}\w+: ((?:Of|By|For|In|To|From|With) [^\n]*)", re.MULTILINE)


def find_hits(text: Text) -> list[Hit]:
    """Finds the phrases of a text, and of a docstring the descriptions of arguments that begin with a preposition."""
    found = []
    for name, (pattern, instead) in PHRASES.items():
        for match in pattern.finditer(text.text):
            line = text.line + text.text.count("\n", 0, match.start())
            excerpt = " ".join(text.text[max(0, match.start() - 60) : match.end() + 60].split())
            found.append(Hit(name, text.path, line, excerpt, instead))
    if text.is_docstring:
        for match in _ARGUMENT.finditer(text.text):
            line = text.line + text.text.count("\n", 0, match.start())
            found.append(Hit("argument: Of", text.path, line, match[1], "a complete phrase: Seed of the bootstrap."))
    return found


def is_excepted(hit: Hit, text: Text) -> bool:
    """Returns whether an exception names the file of a hit, or a folder above it, and a piece of its text."""
    return any(hit.path.startswith(path) and piece in text.text for path, piece, _ in EXCEPTIONS)


def all_hits() -> list[Hit]:
    """Returns the phrases in all files, without the exceptions."""
    texts = [text for path in text_files() for text in read_texts(path)]
    return [hit for text in texts for hit in find_hits(text) if not is_excepted(hit, text)]
