"""Safety of replies: flags from a closed list, and the language of a reply.

By py3langid (140 languages, the model is in the package), which says how sure it is. Of the 7269 texts of CONAN with 20
letters or more (English, French and Italian), 95% are told with a confidence of .8, and two are taken for another
language than CONAN says: both are English among the Italian and French ones.

A flag is a fact about the text, told by rules and lists, and no grade: a CN may insult and be strong.
"""

import re
from functools import cache, lru_cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from fcconan.parsing import find_refusal

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier  # type: ignore[import-untyped]

CONFIDENCE = 0.8
UNLIKELY = 0.01  # of the language that is expected: a dialect or a close relative is no other language
LETTERS = 20  # fewer say too little
NO_LANGUAGE = "zxx"  # py3langid's code for what is none
_READ = 2_000  # characters
_NO_WORDS = re.compile(r"https?://\S+|[@#]\w+|[\W\d_]+")


def in_other_language(hate_speech: str, text: str, *, language: str | None = None) -> bool:
    """Whether a reply is surely in another language than its message.

    Args:
        hate_speech: The message.
        text: The reply.
        language: Code of the message's language, such as `en` or `pt-BR`; by default the one it is told to be in. A
            message whose language is not sure, or that py3langid does not know, has no other language.
    """
    expected = _code(language) if language else language_of(hate_speech)
    ranked = _ranked(text[:_READ])
    if expected not in ranked or language_of(text) is None:
        return False
    return ranked[expected] <= UNLIKELY


def language_of(text: str) -> str | None:
    """Returns the code of a text's language, None where it has too few letters or the language is not sure.

    Links, names with `@` and words with `#` do not count, nor does what stands after 2000 characters.
    """
    language, confidence = next(iter(_ranked(text[:_READ]).items()), (NO_LANGUAGE, 0.0))
    return language if confidence >= CONFIDENCE and language != NO_LANGUAGE else None


@lru_cache(maxsize=4)
def _ranked(text: str) -> dict[str, float]:
    """Languages with their probabilities, the likeliest first; none for too few letters."""
    words = _NO_WORDS.sub(" ", text).strip()
    return dict(_identifier().rank(words)) if len(words) - words.count(" ") >= LETTERS else {}


def _code(language: str) -> str:
    return re.split(r"[-_]", language.strip().lower())[0]


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


FLAGS = (
    "empty",  # no letter and no digit
    "refusal:request",  # the three kinds of `fcconan.parsing.refusals`
    "refusal:assistant",
    "refusal:endorsement",
    "repeats_hate_speech",  # says much of the message again, word by word
    "insult",  # insults the person who is answered
    "other_language",  # is surely in another language than the message
    "prompt_leak",  # holds marks of a prompt's template
    "role_play",  # goes on as the other side
    "truncated",  # was cut at the most tokens allowed; only the generator knows
)
INSULTS = Path(__file__).with_name("insults.yaml")
MOST_READ = 50_000  # characters of a reply; ten times what a model writes
MOST_OF_MESSAGE = 5_000  # characters
TAKEN = 0.9  # of a sentence's words, in one run
REPEATED = 0.5  # of a message's words
SHORT = 3  # words; fewer are no quotation, no message to repeat, nor what is left around a quotation
_WORD = re.compile(r"\w+(?:[.'’]\w+)*")  # `U.S.` and `it's` are one word each
# A dash ends what it may answer: "The message - really?"
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+|[–—]|\s-+\s")
_LABELLED = re.compile(r"^\s*[^\W\d_]{1,20}(?:[ -][^\W\d_]{1,20})?:\s")
_ANYTHING = re.compile(r"[^\W_]")
_CONDITION = r"(?!\w)(?! (?:if|when|unless|si|quand|cuando|se|quando)\b|, wenn\b)"
_APOSTROPHES = str.maketrans("’‘ʼ´`", "'''''")
# No quotation holds another one's first mark: so the search ends at once where marks do not match.
_QUOTATION = re.compile(
    r"“[^“”]*”|\"[^\"]*\"|«[^«»]*»|„[^„“”]*[“”]|(?<!\w)[‘'](?:[^‘’']|(?<=\w)['’](?=\w)){2,}['’](?!\w)"
)
_LABEL = r"(?:^|\n)[ \t>*#_]*"
_COLON = r"(?: \d+)?[*_]{0,2}[ \t]*:"
# People, too, put some of the words before a colon: they are no labels where a small letter follows.
_NO_SENTENCE = r"(?-i:(?![ \t]+[a-zß-öø-ÿ]))"
_LEAK = re.compile(
    r"\[/?INST\]|<</?SYS>>|<[|｜][\w▁ ]{1,40}[|｜]>|\{\{ ?\w{1,40} ?\}\}|</?s>|<(?:start|end)_of_turn>|<eos>"
    rf"|{_LABEL}(?:hate[- ]?speech|hateful message|response|reply|counter[- ]?(?:speech|narrative|statement)){_COLON}"
    rf"|{_LABEL}(?:input|output|instructions?|answer|prompt|examples?|system){_COLON}{_NO_SENTENCE}"
    rf"|(?:^|\n)[ \t]*#{{2,}}[ \t]*(?:instruction|input|output|response|system|user|assistant|human|end)\b",
    re.IGNORECASE,
)
_OTHER_SIDE = re.compile(
    rf"(?:{_LABEL}|(?<=[.!?…][ \t]))"
    rf"(?:human{_COLON}{_NO_SENTENCE}"
    rf"|(?:user|hater|troll|interlocutor|(?:person|speaker|user|commenter) ?[a-d1-4]){_COLON})",
    re.IGNORECASE,
)


def flags_of(hate_speech: str, text: str, *, language: str | None = None) -> tuple[str, ...]:
    """Returns what is wrong with a reply, in the order of `FLAGS`; never `truncated`, which no text shows.

    - `empty`: it has no letter and no digit.
    - `refusal:KIND`: its first sentences decline; see `fcconan.parsing.refusals`.
    - `repeats_hate_speech`: it says half of the message again. What counts are sentences of three words and more of
      which nine words in ten stand in one run in the message, outside of quotations, and no questions, unless the
      message asks, too: "It is wrong that ..." before the words of the message, or another word for one of them, makes
      a sentence the reply's own. A dash ends a sentence. A reply that repeats and then counters has the flag.
    - `insult`: it insults the reader outside of quotations, by the lists of `insults.yaml` (seven languages).
    - `other_language`: see `fcconan.generation.safety`.
    - `prompt_leak`: it holds marks of a chat template, or a line that begins with a label such as `Response:`. Words
      that also begin a sentence (`Example:`, `Answer:`) are labels unless a small letter follows.
    - `role_play`: it has a turn of the other side, such as `User:`, or `Human:` unless a small letter follows.

    Args:
        hate_speech: The message.
        text: The reply; only its first 50 000 characters are read.
        language: Code of the message's language, where it is known.
    """
    if not _ANYTHING.search(text):
        return ("empty",)
    hate_speech, text = hate_speech[:MOST_OF_MESSAGE], text[:MOST_READ]
    refusal, spoken = find_refusal(text), _without_quotations(text)
    found = {
        f"refusal:{refusal.kind}" if refusal else "": True,
        "repeats_hate_speech": _repeats(hate_speech, spoken),
        "insult": bool(_insult().search(" ".join(spoken.translate(_APOSTROPHES).split()))),
        "other_language": in_other_language(hate_speech, text, language=language),
        "prompt_leak": bool(_LEAK.search(text)),
        "role_play": bool(_OTHER_SIDE.search(text)),
    }
    return tuple(flag for flag in FLAGS if found.get(flag))


def _without_quotations(text: str) -> str:
    outside = _QUOTATION.sub(" … ", text)
    # What is one quotation as a whole quotes nothing.
    return outside if len(_words(outside)) >= SHORT else text


def _repeats(hate_speech: str, text: str) -> bool:
    words = _words(hate_speech)
    message = f" {' '.join(words)} "
    asks = "?" in hate_speech
    pieces = (piece for piece in _SENTENCE_END.split(text) if asks or not piece.endswith("?"))
    sentences = {tuple(_words(_LABELLED.sub("", piece))) for piece in pieces}
    taken = sum(len(sentence) for sentence in sentences if _is_taken(sentence, message))
    return taken >= max(SHORT, REPEATED * len(words))


def _is_taken(sentence: tuple[str, ...], message: str) -> bool:
    """Whether most of a sentence stands in one run in the message, which has spaces around its words."""
    run = ceil(TAKEN * len(sentence))
    starts = range(len(sentence) - run + 1) if SHORT <= run < message.count(" ") else ()
    return any(f" {' '.join(sentence[start : start + run])} " in message for start in starts)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


@cache
def _insult() -> re.Pattern[str]:
    with INSULTS.open(encoding="utf-8") as file:
        languages: dict[str, dict[str, str]] = yaml.safe_load(file)
    either = [
        rf"{_either(of['address'])}\s?{_either(of['words'])}{_CONDITION}|{_either(of['phrases'])}"
        for of in languages.values()
    ]
    return re.compile(rf"(?<![\w'])(?:{'|'.join(either)})(?!\w)", re.IGNORECASE)


def _either(lines: str) -> str:
    return f"(?:{'|'.join(lines.splitlines())})"
