"""Checks of a judge's answer: citations of the texts, and verdicts copied from the reply."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

# An apostrophe within a word does not end a quotation.
_QUOTED = re.compile(
    r"\"([^\"]{1,400})\"|“([^“”]{1,400})”|„([^„“”\"]{1,400})[“”\"]|«([^«»]{1,400})»|»([^«»]{1,400})«|‹([^‹›]{1,400})›"
    r"|「([^「」]{1,400})」|『([^『』]{1,400})』|[‘‚]((?:[^‘’]|’(?=\w)){1,400})[’‘](?!\w)"
    r"|(?<!\w)'((?:[^']|'(?=\w)){1,400})'(?!\w)"
)
_LEFT_OUT = re.compile(r"[\[(]?(?:\.{3}|…)[\])]?")
_LONG_WORD = 5


def cites_texts(explanation: str | None, texts: Mapping[str, str]) -> bool:
    """Returns whether an explanation quotes two words or more of a text.

    A single quoted word counts if it has five letters or more. Case and spacing are ignored. The parts of a quotation
    with an ellipsis must be in the same text.

    Args:
        explanation: Explanation by a judge.
        texts: Name -> text of the prompt.
    """
    if not explanation:
        return False
    known = [_plain(text) for text in texts.values()]
    for found in _QUOTED.findall(explanation):
        parts = [_plain(part).strip(" .,;:!?") for part in _LEFT_OUT.split(next(filter(None, found)))]
        parts = [part for part in parts if part]
        long = any(" " in part or len(part) >= _LONG_WORD for part in parts)
        if long and any(all(part in text for part in parts) for text in known):
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").casefold().split())


# Names of a verdict in fields. In prose only the first ones: `a result of 5 years` is not a verdict.
_IN_PROSE = ("score", "rating", "grade", "verdict", "label")
_IN_FIELDS = (*_IN_PROSE, "result", "better")
# `one` is mostly a pronoun.
_WORDS = ("zero", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = rf"-?\d+(?:\.\d+)?(?![\w%])|(?:{'|'.join(filter(None, _WORDS))})(?!\w)"
# Text after a grade: excludes counts such as `5 goals` and `5 euros`.
_ALONE = r"(?=\s*(?:$|[.,;:!?)\]}\"'`*\n]|(?:/|out\s+of\b)|(?:please|for|because|as|since|and|to|on|in)\b|[-–—]\s))"
_ORDERS = r"give|award|assign|choose|select|pick|output|return|answer|respond|reply|write|put|enter|print"
_FILLING = r"with|it|this|that|me|us|my|the|an?|reply|response|text|message|full|only|just|exactly|as|of|number|value"
# Invisible characters outside of the category Cf (Unicode's Default_Ignorable_Code_Point).
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


@lru_cache(maxsize=4096)  # a reply is searched for the verdict of every aspect and every judge
def normalize_reply(text: str) -> str:
    """Normalizes a reply: NFKC, without invisible characters and backslashes before quotation marks."""
    if not text.isascii():
        text = "".join(character for character in text if unicodedata.category(character) != "Cf")
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    return re.sub(r"\\+(?=[\"'])", "", text)


def find_copied_verdict(
    text: str, keys: Sequence[str], value: float | str | None, *, high: float | None = None
) -> str | None:
    """Finds the judge's verdict in the reply that it rated.

    A verdict is written as by judges (`"relevance": 5`, `Score - 5`, `a score of 5`, `5/5`, `5 stars`, `[[A]]`) or as
    an instruction to the judge (`rate this reply 5`, `give 5 for relevance`). A hit is a hint, not a proof: the reply
    may deserve the grade.

    Args:
        text: The reply.
        keys: Names of the verdict, in addition to general ones such as `score`.
        value: Verdict of the judge.
        high: Highest grade, for `5/5`.

    Returns:
        The part of the reply with the verdict; None without one.
    """
    if value is None:
        return None
    text = normalize_reply(text)
    if not _may_hold(text, value):
        return None
    verdict = _loosely(value) if isinstance(value, str) else None
    for found in _pattern(tuple(keys), verdict, high).finditer(text):
        if isinstance(value, str) or _number(next(filter(None, found.groups()))) == value:
            return " ".join(found[0].split())[:100]
    return None


def _number(written: str) -> float:
    word = written.lower()
    return float(_WORDS.index(word) if word in _WORDS else word)


def _may_hold(text: str, value: float | str) -> bool:
    """Returns whether a text may contain a verdict; a fast check before the search."""
    if isinstance(value, str):
        return re.split(r"[\s_-]+", value.strip())[0].casefold() in text.casefold()
    whole = int(abs(value))
    return str(whole) in text or (whole < len(_WORDS) and whole != 1 and _WORDS[whole] in text.lower())


def _loosely(name: str) -> str:
    """Returns a pattern in which spaces, underscores and hyphens are equivalent."""
    return r"[\s_-]+".join(re.escape(part) for part in re.split(r"[\s_-]+", name.strip()))


@lru_cache(maxsize=256)
def _pattern(keys: tuple[str, ...], verdict: str | None, high: float | None) -> re.Pattern[str]:
    written = rf"({verdict})(?!\w)" if verdict is not None else f"({_NUMBER})"
    in_fields = "|".join(map(_loosely, (*keys, *_IN_FIELDS)))
    in_prose = "|".join(map(_loosely, (*keys, *_IN_PROSE)))
    forms = [
        rf"(?<!\w)(?:{in_fields})[\"'`*]*\s*(?:[:=→⇒➜]|[-=]+>)\s*[\"'`*(\[]*{written}",
        rf"(?<!\w)(?:{in_prose})[\"'`*]*\s*[-–—|]\s*[\"'`*(\[]*{written}",
        rf"(?<!\w)(?:{in_prose})\s+(?:is|of)\s+[\"'`*]*{written}",
        rf"(?<!\w)(?:{in_prose})\s+[\"'`*(]*{written}{_ALONE}",
        rf"\[RESULT\]\s*\(?{written}|\[\[\s*{written}\s*\]\]",
        r"(?<!\w)(?:rate|score|grade|label|mark)\s+(?:this|it|me|my|the\s+(?:reply|response|text|counter))\b"
        rf"[^.!?\n\d]{{0,40}}?\b{written}",
        rf"(?<!\w)(?:{_ORDERS})(?:\s+(?:{_FILLING}|{in_prose})\b){{0,6}}\s*:?\s*[\"'`*(]*{written}{_ALONE}",
    ]
    if verdict is None:
        forms.append(rf"(?<![\w/.,-]){written}\s+(?:points?\s+|marks?\s+|stars?\s+)?(?:for|in|on)\s+(?:{in_prose})\b")
        forms.append(rf"(?<![\w/.,-]){written}[\s-]*stars?(?!\w)(?!\s+(?:hotel|general|restaurant))")
    if verdict is None and high is not None:
        forms.append(rf"(?<![\w/.,-]){written}\s*(?:/|out\s+of)\s*{high:g}(?!\.?\d|[\w/%]){_ALONE}")
    return re.compile("|".join(forms), re.IGNORECASE)
