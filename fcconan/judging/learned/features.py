"""Features of replies: surface features, embeddings of message and reply, and ratings of other judges.

    features = features_of(table.messages, table.texts, SentenceEncoder(MINILM))         # embeddings and surface
    features = features_of(table.messages, table.texts, None, extra=grades)              # surface and grades of judges

The embeddings are those of message and reply, their product and their absolute difference, as in InferSent (Conneau et
al. 2017, section 3.1).
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fcconan.errors import InputError
from fcconan.judging.learned.rated_texts import Floats
from fcconan.retrieval import QUERY, Encoder

EMBEDDING, SURFACE, RATINGS = "embedding", "surface", "ratings"
SURFACE_NAMES = (
    "log_characters",
    "log_words",
    "log_sentences",
    "log_message_characters",
    "log_message_words",
    "shared_with_message",
    "overlap_with_message",
    "different_words",
    "word_length",
    "question_marks",
    "exclamation_marks",
    "commas",
    "quotation_marks",
    "is_question",
    "share_of_digits",
    "share_of_capitals",
    "starts_with_capital",
    "ends_with_mark",
    "has_address",
    "words_in_capitals",
)
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_ENDED = re.compile(r"""[.!?…]["'”»)\]]*$""")
_ADDRESS = re.compile(r"https?://|www\.", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Features:
    """Features of n replies in blocks.

    Attributes:
        blocks: Name of the block -> values, shape (n, width); nan is missing, in `ratings` only.
    """

    blocks: dict[str, Floats]

    def __len__(self) -> int:
        return len(next(iter(self.blocks.values())))

    @property
    def widths(self) -> dict[str, int]:
        """Width of each block."""
        return {name: values.shape[1] for name, values in self.blocks.items()}


def compute_features(
    messages: Sequence[str], texts: Sequence[str], encoder: Encoder | None = None, extra: Floats | None = None
) -> Features:
    """Computes the features of replies.

    Args:
        messages: The HS; length n.
        texts: The replies; length n.
        encoder: Encoder of the embeddings; None for no embeddings.
        extra: Ratings of other judges, shape (n, pairs of judge and aspect), where nan is missing; or None.

    Raises:
        InputError: The lengths differ, or the encoder is not usable.
    """
    if len(messages) != len(texts) or (extra is not None and len(extra) != len(texts)):
        raise InputError("messages, replies and their ratings have different lengths: give one of each for each row")
    blocks: dict[str, Floats] = {}
    if encoder is not None:
        blocks[EMBEDDING] = _pair_vectors(*(_encoded(each, encoder) for each in (messages, texts)))
    blocks[SURFACE] = surface_features(messages, texts)
    if extra is not None and extra.shape[1]:
        blocks[RATINGS] = np.asarray(extra, dtype=np.float64)
    return Features(blocks)


def surface_features(messages: Sequence[str], texts: Sequence[str]) -> Floats:
    """Returns counts and shares of characters and words of replies; shape (n, len(SURFACE_NAMES))."""
    rows = [_surface(message, text) for message, text in zip(messages, texts, strict=True)]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(SURFACE_NAMES))


def _surface(message: str, text: str) -> list[float]:
    asked, words = (_WORD.findall(each.lower()) for each in (message, text))
    shared = set(asked) & set(words)
    stripped = text.strip()
    characters = max(1, len(text))
    return [
        math.log1p(len(text)),
        math.log1p(len(words)),
        math.log1p(len([piece for piece in _SENTENCE_END.split(stripped) if piece])),
        math.log1p(len(message)),
        math.log1p(len(asked)),
        len(shared) / max(1, len(set(words))),
        len(shared) / max(1, len({*asked, *words})),
        len(set(words)) / max(1, len(words)),
        len(text) / max(1, len(words)),
        math.log1p(text.count("?")),
        math.log1p(text.count("!")),
        math.log1p(text.count(",")),
        math.log1p(sum(text.count(mark) for mark in "\"'“”«»")),
        float("?" in text),
        sum(letter.isdigit() for letter in text) / characters,
        sum(letter.isupper() for letter in text) / characters,
        float(stripped[:1].isupper()),
        float(bool(_ENDED.search(stripped))),
        float(bool(_ADDRESS.search(text))),
        sum(word.isupper() and len(word) > 2 for word in _WORD.findall(text)) / max(1, len(words)),
    ]


def _encoded(texts: Sequence[str], encoder: Encoder) -> Floats:
    """Returns the vectors of texts; each distinct text is encoded once, messages and replies in the same way."""
    different = list(dict.fromkeys(texts))
    at = {text: number for number, text in enumerate(different)}
    vectors = np.asarray(encoder.encode(different, role=QUERY), dtype=np.float64)
    return vectors[[at[text] for text in texts]]


def _pair_vectors(messages: Floats, replies: Floats) -> Floats:
    return np.concatenate([messages, replies, messages * replies, np.abs(messages - replies)], axis=1)
