"""Examples for few-shot prompts: the training pairs with the most similar messages."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError
from fcconan.generation.items import Example, Item
from fcconan.generation.training_pool import TrainingPool
from fcconan.retrieval import MINILM, QUERY, Encoder, SentenceEncoder

Scores = npt.NDArray[np.float64]
TFIDF = "tfidf"
DECIMALS = 6  # similarities are rounded: later decimals of a model vary with the batch


class Examples:
    """Finds the training pairs with the most similar messages, outside of the leakage group of the item.

    At most one pair of each leakage group is used: the first of the pool. Ties follow the order of the pool.

    Args:
        pool: Pool of training pairs.
        k: Number of examples.
        encoder: `minilm` for the packaged weights, `tfidf` for TF-IDF fitted on the messages of the pool, the folder or
            the name on the Hub of a sentence-transformers model, or an encoder.
        device: Device of a local model.
        batch_size: Batch size of a local model.

    Attributes:
        configuration: All settings that change the result, as JSON-able values.

    Raises:
        InputError: The pool has no messages, or the encoder is not available.
    """

    def __init__(
        self,
        pool: TrainingPool,
        k: int = 3,
        encoder: str | Encoder = MINILM,
        *,
        device: str | None = None,
        batch_size: int = 64,
    ) -> None:
        self._messages: dict[str, list[int]] = {}
        for position, pair in enumerate(pool.pairs):
            if pair.hate_speech:
                self._messages.setdefault(pair.hate_speech, []).append(position)
        if not self._messages:
            raise InputError("the training pairs have no messages: a catalogue alone gives no examples")
        self._of_message = list(self._messages.values())
        self.pool, self.k = pool, k
        if isinstance(encoder, str) and encoder != TFIDF:
            encoder = SentenceEncoder(encoder, device=device, batch_size=batch_size)
        messages = list(self._messages)
        self._similar = _TfIdf(messages) if isinstance(encoder, str) else _Dense(encoder, messages)
        self.configuration: dict[str, Any] = {
            "pool": pool.configuration,
            "k": k,
            "encoder": self._similar.configuration,
            "order": "most similar first",
        }

    def prepare(self, items: Iterable[Item]) -> None:
        """Encodes the messages of many items in batches.

        Raises:
            InputError: The encoder cannot be used.
        """
        self._similar.prepare([item.hate_speech for item in items])

    def find(self, item: Item) -> tuple[Example, ...]:
        """Returns the examples for an item, the most similar one first.

        Raises:
            InputError: The encoder cannot be used.
        """
        scores = np.round(self._similar.scores(item.hate_speech), DECIMALS)
        excluded = self.pool.excluded_pairs(item)
        found: list[Example] = []
        seen_groups: set[int] = set()
        seen_replies: set[str] = set()
        for message in np.argsort(-scores, kind="stable").tolist():
            if len(found) == self.k:
                break
            if self.pool.groups[self._of_message[message][0]] in seen_groups:
                continue
            for position in self._of_message[message]:
                pair = self.pool.pairs[position]
                if position not in excluded and pair.cn_id not in seen_replies:
                    found.append(pair.example(float(scores[message])))
                    seen_groups.add(self.pool.groups[position])
                    seen_replies.add(pair.cn_id)
                    break
        return tuple(found)


class _Dense:
    """Cosine similarities of a text and the messages, by an encoder."""

    def __init__(self, encoder: Encoder, messages: Sequence[str]) -> None:
        self._encoder, self._messages = encoder, messages
        self._pool: npt.NDArray[np.float32] | None = None
        self._known: dict[str, npt.NDArray[np.float32]] = {}
        self.configuration = dict(encoder.configuration)

    def prepare(self, texts: Sequence[str]) -> None:
        if self._pool is None:
            self._pool = self._encoder.encode(self._messages, role=QUERY)
            self._known |= zip(self._messages, self._pool, strict=True)
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known |= zip(new, self._encoder.encode(new, role=QUERY), strict=True)

    def scores(self, text: str) -> Scores:
        self.prepare([text])
        assert self._pool is not None
        return np.asarray(self._pool @ self._known[text], dtype=np.float64)


class _TfIdf:
    """Cosine similarities of a text and the messages, by TF-IDF with scikit-learn's defaults."""

    configuration = TFIDF

    def __init__(self, messages: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectoriser = TfidfVectorizer()
        try:
            self._pool = self._vectoriser.fit_transform(messages).T.tocsr()
        except ValueError as error:
            raise InputError(
                f"TF-IDF cannot be fitted ({error}): give messages with words of two letters or more"
            ) from error

    def prepare(self, texts: Sequence[str]) -> None:
        """Does nothing: one text at a time is fast."""

    def scores(self, text: str) -> Scores:
        return np.asarray((self._vectoriser.transform([text]) @ self._pool).toarray()[0], dtype=np.float64)
