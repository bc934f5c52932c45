"""Lexical baseline: ratings from word counts, without a model. Judges must exceed it; its grades are not reliable.

Each measure is a share from 0 (worst) to 1 (best), mapped linearly to the scale of the aspect without rounding:

- relatedness, relevance: cosine of the TF-IDF vectors of message and reply.
- fluency, grammaticality: mean of the shares of distinct word triples and of unbroken words, a capital at the start (0
  or 1) and a punctuation mark at the end (0 or 1).
- toxicity, aggressiveness: 1 minus a third for each insult, shouted word and run of exclamation marks; 0 at least.
- specificity, richness: mean of the length (50 words or more are 1) and the share of rare words.
- coherence: mean Jaccard similarity of the words of adjacent sentences.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal

from fcconan.data import reply_metadata
from fcconan.errors import InputError
from fcconan.judging.tasks import Aspect, Task

Row = dict[str, Any]
Reason = Literal["empty_reply", "no_hate_speech", "not_measured", "one_sentence"]
FULL_LENGTH = 50  # words
RARE = 0.01  # a rare word occurs in at most this share of the texts, or in one text
WORST_MARKS = 3  # insults, shouted words and runs of exclamation marks of the worst grade
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_BROKEN = re.compile(r"(\w)\1\1|[^\W\d_]\d|\d[^\W\d_]|�")
_ENDED = re.compile(r"""[.!?…]["'”»)\]]*$""")
# Mild insults that do not refer to groups; English, Spanish, French, Italian, German, Portuguese and Basque.
_INSULTS = frozenset(
    "clown clowns coward cowards dumb fool fools idiot idiotic idiots ignorant imbecile liar liars loser losers moron"
    " morons pathetic stupid trash idiota idiotas estúpido estúpida imbécil tonto tonta imbécile stupide crétin menteur"
    " stupido stupida cretino cretina bugiardo dumm dummkopf trottel lügner estúpidos mentiroso ergel kaiku".split()
)


class LexicalJudge:
    """Baseline that rates replies by word counts.

    Args:
        task: Task with aspects. Ratings of aspects other than those listed in this module are missing.

    Raises:
        InputError: The task has no aspects.
    """

    name = "lexical-baseline"

    def __init__(self, task: Task) -> None:
        if not task.aspects:
            raise InputError(
                f"the task {task.name} has labels, and the lexical baseline rates aspects: choose another task"
            )
        self.task = task
        self.configuration: dict[str, Any] = {"kind": "lexical", "version": 1, "task": task.name}

    def rate(self, replies: Iterable[Row]) -> Iterator[list[Row]]:
        """Yields the ratings of each reply: a row for each aspect, with the columns of a Rating.

        Args:
            replies: Rows with `reply_id`, `hate_speech` and `text`. They are read twice: document frequencies of words
                are counted over all replies and distinct messages first.

        Raises:
            InputError: `replies` is an iterator, which can be read only once.
        """
        if iter(replies) is replies:
            raise InputError("the replies are an iterator, which can be read only once: give a list")
        words = _Vocabulary(replies)
        for row in replies:
            yield [_rating(row, aspect, words) for aspect in self.task.aspects]


class _Vocabulary:
    """Document frequency of words."""

    def __init__(self, replies: Iterable[Row]) -> None:
        self.texts, self.counts = 0, Counter[str]()
        messages: set[int] = set()
        for row in replies:
            self._add(row["text"])
            if hash(row["hate_speech"]) not in messages:
                messages.add(hash(row["hate_speech"]))
                self._add(row["hate_speech"])

    def _add(self, text: str | None) -> None:
        if words := set(_words(text)):
            self.texts += 1
            self.counts.update(words)

    def vector(self, text: str) -> dict[str, float]:
        """Returns the TF-IDF vector of a text, with the inverse document frequency ln((1 + n) / (1 + df)) + 1."""
        return {
            word: count * (math.log((1 + self.texts) / (1 + self.counts[word])) + 1)
            for word, count in Counter(_words(text)).items()
        }

    def is_rare(self, word: str) -> bool:
        return self.counts[word] <= max(1, RARE * self.texts)


def _rating(row: Mapping[str, Any], aspect: Aspect, words: _Vocabulary) -> Row:
    share, reason = _measured(row["text"] or "", row["hate_speech"] or "", aspect.name, words)
    value = None
    if share is not None:
        steps = share * (aspect.high - aspect.low)
        value = aspect.low + steps if aspect.higher_is_better else aspect.high - steps
    return {
        "reply_id": row["reply_id"],
        "rater": LexicalJudge.name,
        "rater_kind": "metric",
        "aspect": aspect.name,
        "value": value,
        "low": float(aspect.low),
        "high": float(aspect.high),
        "higher_is_better": aspect.higher_is_better,
        "reason": reason,
        "explanation": None if share is None else f"baseline without a model: share {share:.3f}",
        **reply_metadata(row),
    }


def _measured(text: str, message: str, aspect: str, words: _Vocabulary) -> tuple[float | None, Reason | None]:
    if aspect not in _MEASURES:
        return None, "not_measured"
    if not _words(text):
        return None, "empty_reply"
    if _MEASURES[aspect] is _relatedness and not _words(message):
        return None, "no_hate_speech"
    share = _MEASURES[aspect](text, message, words)
    return share, None if share is not None else "one_sentence"


def _relatedness(text: str, message: str, words: _Vocabulary) -> float:
    one, other = words.vector(text), words.vector(message)
    product = sum(weight * other.get(word, 0.0) for word, weight in one.items())
    return min(1.0, product / (math.hypot(*one.values()) * math.hypot(*other.values())))


def _fluency(text: str, message: str, words: _Vocabulary) -> float:
    tokens, spoken = text.split(), _words(text)
    triples = list(zip(spoken, spoken[1:], spoken[2:], strict=False))
    fresh = len(set(triples)) / len(triples) if triples else 1.0
    unbroken = sum(not _BROKEN.search(token) for token in tokens) / len(tokens)
    first = next((letter for letter in text if letter.isalpha()), "")
    return (fresh + unbroken + (first == first.upper()) + bool(_ENDED.search(text.strip()))) / 4


def _peace(text: str, message: str, words: _Vocabulary) -> float:
    insults = sum(word in _INSULTS for word in _words(text))
    tokens: list[str] = _WORD.findall(text)
    loud = [False, *(word.isupper() and len(word) > 2 for word in tokens), False]
    # A single word in capitals is an abbreviation; two in a row are shouted.
    shouted = sum(loud[at] and (loud[at - 1] or loud[at + 1]) for at in range(1, len(loud) - 1))
    runs = len(re.findall(r"!{2,}", text))
    return 1.0 - min(1.0, (insults + shouted + runs) / WORST_MARKS)


def _specificity(text: str, message: str, words: _Vocabulary) -> float:
    spoken = _words(text)
    rare = sum(words.is_rare(word) for word in set(spoken)) / len(set(spoken))
    return (min(1.0, len(spoken) / FULL_LENGTH) + rare) / 2


def _coherence(text: str, message: str, words: _Vocabulary) -> float | None:
    sentences = [found for piece in _SENTENCE_END.split(text) if (found := set(_words(piece)))]
    shared = [len(one & other) / len(one | other) for one, other in pairwise(sentences)]
    return sum(shared) / len(shared) if shared else None


def _words(text: str | None) -> list[str]:
    return _WORD.findall((text or "").lower())


_MEASURES: dict[str, Callable[[str, str, _Vocabulary], float | None]] = {
    "relatedness": _relatedness,
    "relevance": _relatedness,
    "fluency": _fluency,
    "grammaticality": _fluency,
    "toxicity": _peace,
    "aggressiveness": _peace,
    "specificity": _specificity,
    "richness": _specificity,
    "coherence": _coherence,
}
