"""Features of replies for learned raters: embeddings of message and reply, and surface features."""

import re
from collections.abc import Sequence

import numpy as np

from fcconan.retrieval import QUERY, SentenceEncoder
from fcconan.scoring import Floats

SURFACE = (
    *("characters", "words", "sentences", "message_characters", "message_words"),
    *("shared_with_message", "overlap_with_message", "different_words", "word_length"),
    *("question_marks", "exclamation_marks", "commas", "quotation_marks", "is_question"),
    *("share_of_digits", "share_of_capitals", "starts_with_capital", "ends_with_mark", "has_address", "loud_words"),
    "repeated",
)
# A count becomes count / (count + half), so that very long replies differ little from long ones.
_HALF = (150, 30, 2, 150, 30)
_LONGEST_WORD = 10  # mean characters for each word
_RUN = 3  # words of a run; loops repeat runs
_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_ENDED = re.compile(r"""[.!?…]["'”»)\]]*$""")
_ADDRESS = re.compile(r"https?://|www\.", re.IGNORECASE)


def compute_features(messages: Sequence[str], texts: Sequence[str], encoder: str | None) -> Floats:
    """Computes the features of n replies.

    Args:
        messages: The HS; length n.
        texts: The replies; length n.
        encoder: Name of the encoder; None for surface features alone.

    Returns:
        Embeddings of message and reply, their product and their absolute difference (InferSent; Conneau et al., 2017,
        section 3.1), then their cosine and the surface features; shape (n, 4 dimensions + 1 + len(SURFACE)). Without
        encoder the surface features alone.

    Raises:
        InputError: The encoder is not available.
    """
    surface = np.array([_surface(*pair) for pair in zip(messages, texts, strict=True)])
    if encoder is None:
        return surface
    vectors = SentenceEncoder(encoder).encode([*messages, *texts], role=QUERY)
    message, reply = vectors[: len(texts)], vectors[len(texts) :]
    product = message * reply
    return np.hstack([message, reply, product, np.abs(message - reply), product.sum(axis=1, keepdims=True), surface])


def _surface(message: str, text: str) -> list[float]:
    """Returns the surface features of a reply, in the order of `SURFACE`; all are bounded."""
    asked, words = (_WORD.findall(each.lower()) for each in (message, text))
    shared = len({*asked} & {*words})
    stripped = text.strip()
    n_words, n_characters = max(1, len(words)), max(1, len(text))
    sentences = [each for each in _SENTENCE_END.split(stripped) if each]
    counts = [len(text), len(words), len(sentences), len(message), len(asked)]
    marks = [text.count("?"), text.count("!"), text.count(","), sum(text.count(mark) for mark in "\"'“”«»")]
    runs = [*zip(*(words[start:] for start in range(_RUN)), strict=False)]
    return [
        *(count / (count + half) for count, half in zip(counts, _HALF, strict=True)),
        shared / max(1, len({*words})),
        shared / max(1, len({*asked, *words})),
        len({*words}) / n_words,
        min(len(text) / n_words, _LONGEST_WORD),
        *(count / (count + 1) for count in marks),
        "?" in text,
        sum(letter.isdigit() for letter in text) / n_characters,
        sum(letter.isupper() for letter in text) / n_characters,
        stripped[:1].isupper(),
        bool(_ENDED.search(stripped)),
        bool(_ADDRESS.search(text)),
        sum(word.isupper() and len(word) > 2 for word in _WORD.findall(text)) / n_words,
        1 - len({*runs}) / len(runs) if runs else 0,
    ]
