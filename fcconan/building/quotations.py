"""Finds restricted texts in public documents, also with other spelling, escapes or spacing."""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

QUOTED_WORDS = 8  # consecutive words that count as a quotation
SHORTEST_TEXT = 4  # words of a text that is searched as a whole
SHORTEST_SHORT = 6  # letters of a shorter text that is searched in a document
LONGEST_WORD = 20  # letters; a shorter text of one word may be a name
SHORTEST_INSIDE = 12  # letters of a text of several words that is searched within names
LONGEST_NAME = 160  # letters and digits; longer strings are searched for quotations
_ANCHOR = 16  # letters in the index of positions of quotations
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\u\{([0-9a-fA-F]{1,6})\}|\\U([0-9a-fA-F]{8})|\\x([0-9a-fA-F]{2})|\\[bfnrt]")
_ESCAPES = ("\\", "%", "&")  # first characters of escapes
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,400}>")
_FILLERS = re.compile("[\u115f\u1160]")  # invisible letters
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]+")
# Parts of a document that are compared with short texts: lines, cells, quotations, and strings without spaces.
_PARTS = re.compile(r"[\n\r|`\"“”„«»<>;:,()\[\]{}]+")


def words(text: str) -> list[str]:
    """Returns the words of a text: case, escapes, compatibility forms, marks and invisible characters removed."""
    read = _unescaped(text)
    if read.isascii():  # most strings, in a tenth of the time
        return _WORD.findall(read.casefold())
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", read).casefold())
    shown = "".join(each for each in plain if unicodedata.category(each) not in ("Mn", "Me", "Cf"))
    return _WORD.findall(_FILLERS.sub("", shown))


def squeezed(text: str) -> str:
    """Returns the letters and digits of a text without anything between them."""
    return "".join(words(text))


def _unescaped(text: str) -> str:
    if not any(sign in text for sign in _ESCAPES):
        return text
    for _ in range(2):  # `%2520` is escaped twice
        text = _ESCAPE.sub(_character, html.unescape(unquote(text)))
    return text


def _readings(text: str) -> list[str]:
    """Returns the source of a text and, if it has tags, the text in a browser."""
    plain = _unescaped(text)
    return list(dict.fromkeys((plain, _TAG.sub(" ", plain))))


def _character(escape: re.Match[str]) -> str:
    code = int(next(filter(None, escape.groups()), "20"), 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else " "


class Texts:
    """An index of restricted texts.

    Args:
        texts: The texts.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._wholes: set[str] = set()
        self._inside: set[str] = set()
        self._short: set[str] = set()
        self._long: set[tuple[str, ...]] = set()
        for parts in (words(reading) for text in texts for reading in _readings(text)):
            letters = len("".join(parts))
            if len(parts) < 2 and letters <= LONGEST_WORD:
                continue
            self._wholes.add("".join(parts))
            if letters >= SHORTEST_INSIDE and len(parts) > 1:
                self._inside.add("".join(parts))
            if len(parts) >= SHORTEST_TEXT:
                self._long.add(tuple(parts))
            if len(parts) > 1 and letters >= SHORTEST_SHORT and (len(parts) < SHORTEST_TEXT or letters < _ANCHOR):
                self._short.add("".join(parts))

    def is_text(self, string: str) -> bool:
        """Returns whether a string is one of the texts, or contains one of several words.

        Separators of words and digits are ignored. Digits often number the rows of a file.
        """
        return any(self._is_text(words(reading)) for reading in _readings(string))

    def _is_text(self, parts: list[str]) -> bool:
        whole = "".join(parts)
        writings = {whole, _DIGITS.sub("", whole)}
        if not writings.isdisjoint(self._wholes):
            return True
        runs = (parts[start:end] for start in range(len(parts)) for end in range(start + 2, len(parts) + 1))
        if len(parts) <= 4 * QUOTED_WORDS and any("".join(run) in self._wholes for run in runs):
            return True
        return len(whole) <= LONGEST_NAME and any(
            writing[start:end] in self._inside
            for writing in writings
            for start in range(len(writing) - SHORTEST_INSIDE + 1)
            for end in range(start + SHORTEST_INSIDE, len(writing) + 1)
        )

    def quoted_in(self, public: str) -> bool:
        """Returns whether a document quotes one of the texts.

        A quotation is one of these: eight consecutive words of a text; a whole text of four to seven words; a whole
        text of two or three words that is a line, a cell, a quotation or a string without spaces of the document.
        """
        return any(map(self._is_quoted_in, _readings(public)))

    def _is_quoted_in(self, public: str) -> bool:
        parts = words(public)
        flat, spaced = "".join(parts), f" {' '.join(parts)} "
        anchors = {flat[at : at + _ANCHOR] for at in range(len(flat))}

        def is_there(run: tuple[str, ...]) -> bool:
            joined = "".join(run)
            if len(joined) < _ANCHOR:  # too short for a match across word boundaries
                return f" {' '.join(run)} " in spaced
            return joined[:_ANCHOR] in anchors and joined in flat

        return any(squeezed(part) in self._short for part in set(_parts(public))) or any(
            is_there(text[at : at + QUOTED_WORDS])
            for text in self._long
            for at in range(max(1, len(text) - QUOTED_WORDS + 1))
        )


def _parts(public: str) -> Iterator[str]:
    for part in _PARTS.split(public):
        yield part
        yield from part.split()
