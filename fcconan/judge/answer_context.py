"""Judges the text around an answer: it may explain the answer, but not refuse, deny, correct or quote it.

Only clauses about the answer count: those that touch it, those whose subject is the grade or the judge, and corrections
such as `wait`. What an explanation says about the reply (`it does not answer the claim`) changes nothing.
"""

import re
from collections.abc import Callable, Collection, Sequence
from string import ascii_lowercase, ascii_uppercase

from fcconan.judge.answer_phrases import (
    AFFIRMED,
    AFTER,
    BEFORE,
    CORRECTIONS,
    END,
    LEADS,
    MARK,
    OWN_ANSWER,
    REFUSALS,
    SUBJECT,
    compiled,
)
from fcconan.judge.parsed import Reason
from fcconan.judge.refusal import refusal_kind

# Whether a text begins with another answer than the one that was read.
Differs = Callable[[str], bool]

_QUOTES = str.maketrans({**dict.fromkeys("’‘ʼ´", "'"), **dict.fromkeys("“”„«»", '"')})
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # of the same length, unlike `lower`
_FIRST_LETTER = re.compile(r"[^\W\d_]")
# A quotation that words introduce is not the judge's own speech.
_QUOTED = re.compile(rf"""(?<=[\w,:(] )(?:"[^"\n{MARK}]{{0,400}}"|'(?:[^'\n{MARK}]|(?<=\w)'(?=\w)){{1,400}}'(?!\w))""")
_NEAR = 240  # characters before and after an answer that may be of its sentence
_LONGEST_ANSWER = 80
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
# `one` is mostly a pronoun. What follows a grade shows that it counts nothing else, as in `2 claims`.
_OTHER_GRADE = re.compile(
    rf"""[\s:="'`*_(-]{{0,6}}(?:(?:an?|as|the|of|only|just)\s){{0,3}}["'`*_(]{{0,3}}"""
    rf"""(?P<number>\d{{1,9}}(?:\.\d{{1,9}})?(?![\d%])|{"|".join(word for word in _NUMBER_WORDS if word != "one")})"""
    r"""(?:\s?/\s?\d{1,3})?(?:\sstars?|\spoints?|\sout of \w{1,5})?["'`*_)]{0,3}(?=\W*$|\s?\n|[.!?](?:\s|$)|[,;:)]"""
    r"""|\s(?:\(|[-–—]\s|(?:because|since|as|for|at|instead|now|then|from|on|and not|not)\b))"""
)
# Fields beside a grade that make it void, and fields in which the judge speaks.
_ERRORS = frozenset({"error", "errors", "refusal", "refused", "declined", "rejected", "abstain", "abstained"})
_VALID = frozenset({"valid", "is valid", "applicable", "answered", "success"})
_NOTHING = frozenset({"", "null", "none", "false", "no", "0"})
_SPOKEN = frozenset(
    {"explanation", "reason", "reasoning", "rationale", "justification", "feedback", "note", "notes", "comment"}
    | {"comments", "remark", "remarks", "caveat", "disclaimer", "status", "correction", "analysis"}
)
# The clause before an answer has ended.
_ENDED = re.compile(r"[:,;)\n—–-][\s\"'`*_({\[]*$")
_SAME_LINE = re.compile(r"""[)\]}"'`*_]{0,6}(?:[,;:./|=<>→⇒—– -]{0,6})""")
_LIST_ITEM = re.compile(r"\d{1,2}[.)]\s+\w")
_NEXT_LINE = re.compile(r"\W{0,6}\n(?P<grade>[\W_]{0,4}\d(?:\.\d+)?(?: ?/ ?\d+)?[*_\"'` ]{0,4})(?:\n|$)")


def objection(around: str, differs: Differs, *, inline: bool = True) -> Reason | None:
    """Returns why the answers in a text do not count, or None where the text leaves them as they are.

    Args:
        around: The text, with `MARK` in the place of every answer.
        differs: Whether a text begins with another answer. Capitals and quotation marks of the text are lost.
        inline: Whether an answer may stand anywhere in a sentence; otherwise only words that lead up to an answer, such
            as `my rating is`, may precede it there.
    """
    if not any(character.isalnum() or character == "?" for character in around):
        return None
    cased = _plain(around)
    text = cased.translate(_LOWER)
    if _refused(text):
        return "refusal"
    for mark in re.finditer(MARK, text):
        before, after = text[max(0, mark.start() - _NEAR) : mark.start()], text[mark.end() : mark.end() + _NEAR]
        if _touched(before, after, differs, inline) or _denied_subject(after, cased[mark.end() : mark.end() + 20]):
            return "contradicted"
    if any(phrase.search(text) for phrase in CORRECTIONS):
        return "contradicted"
    if any(differs(text[own.end() : own.end() + _LONGEST_ANSWER]) for own in compiled(OWN_ANSWER).finditer(text)):
        return "contradicted"
    return None


def objection_beside(fields: Sequence[tuple[str, str]], differs: Differs) -> Reason | None:
    """Returns why the fields beside an answer make it void, such as `"error": "refused"`; None where they do not.

    Args:
        fields: Plain name and content of each.
        differs: Whether a text begins with another answer.
    """
    for name, content in fields:
        empty = content.strip().lower() in _NOTHING
        if (name in _ERRORS and not empty) or (name in _VALID and empty and content.strip()):
            return "refusal"
        if name in _SPOKEN and (reason := objection(content, differs)):
            return reason
    return None


def other_grade(scale: tuple[float, float], value: float) -> Differs:
    """Returns whether a text begins with another grade of the scale."""

    def differs(text: str) -> bool:
        match = _OTHER_GRADE.match(text)
        if match is None:
            return False
        word = match["number"]
        number = float(_NUMBER_WORDS.index(word) if word in _NUMBER_WORDS else word)
        return scale[0] <= number <= scale[1] and number != value

    return differs


def other_choice(names: Collection[str]) -> Differs:
    """Returns whether a text begins with one of some plain names, and ends there or at a stop."""
    either = "|".join(r"[\s_-]{1,3}".join(map(re.escape, name.split())) for name in names)
    pattern = re.compile(
        rf"""[\s:="'`*_(\[-]{{0,6}}(?:(?:the |option |reply |response |assistant ){{0,2}})"""
        rf"""["'`*_(\[]{{0,3}}(?:{either})(?!\w){END}"""
    )
    return lambda text: bool(names) and pattern.match(text) is not None


def refuses(text: str) -> bool:
    """Whether a text without an answer is a refusal to judge: anywhere in English, else by its first sentences."""
    plain = _plain(text).translate(_LOWER)
    if _refused(plain):
        return True
    declined = refusal_kind(plain[:2000])
    return declined is not None and declined.kind != "endorsement"


def _refused(text: str) -> bool:
    return any(phrase.search(text) for phrase in REFUSALS)


def _plain(text: str) -> str:
    """The text with straight marks and single blanks, and without the words that it quotes."""
    lines = (" ".join(line.split()) for line in text.translate(_QUOTES).splitlines())
    return _QUOTED.sub('""', "\n".join(filter(None, lines)))


def _touched(before: str, after: str, differs: Differs, inline: bool) -> bool:
    """Whether the clause before an answer or the one after it takes the answer back."""
    clause = _clause(before)
    if compiled(BEFORE).search(clause):
        return True
    if not inline and clause and not _ENDED.search(before) and not compiled(LEADS).search(clause):
        return True
    if compiled(AFTER).match(after):
        return True
    next_line = _NEXT_LINE.match(after)
    if next_line is not None and differs(next_line["grade"]):
        return True
    begin = _SAME_LINE.match(after)
    rest = after[begin.end() :] if begin else after
    return not rest.startswith("\n") and not _LIST_ITEM.match(rest) and differs(rest)


def _denied_subject(after: str, cased: str) -> bool:
    """Whether an answer is the subject of a clause that does not affirm it; a capital begins another sentence."""
    word = _FIRST_LETTER.search(cased)
    if word is None or (word[0].isupper() and not cased.lstrip(")]}\"'`*_ ").startswith(("IS", "NOT"))):
        return False
    return compiled(SUBJECT).match(after) is not None and compiled(AFFIRMED).match(after) is None


def _clause(before: str) -> str:
    """The end of the sentence that leads up to an answer; empty where a full stop ends it."""
    text = before.rstrip(" \n\"'`*_([{")
    if text.endswith(("!", "?")) or (text.endswith(".") and not text.endswith(("e.g.", "i.e."))):
        return ""
    line = text.rsplit("\n", 1)[-1]
    return re.split(r"[!?;]\s|(?<!e\.g)(?<!i\.e)\.\s", line)[-1]
