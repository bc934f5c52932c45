"""What a rater remembers of the texts it learned from: hashes, which tell who may rate a reply without having seen it.

A hash tells only those who have the text that it was there. Messages in other words are found by the upstream code, and
near-duplicates by signatures of their runs of three letters: 128 minima of hash functions, of which 8 bits are stored
(b-bit minwise hashing, Li and König 2010). The share of equal minima estimates the share of common runs; `Kinship`
joins messages from 2/3 on, and here 0.55 is enough, as the estimate is off by .04.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from fcconan.data import short_hash, simplified
from fcconan.judging.learned.rated_texts import Ints

MINIMA = 128
NEAR = 0.55
_PRIME = 2**31 - 1
UNSEEN, OUT_OF_FOLD, IN_SAMPLE = "unseen", "out_of_fold", "in_sample"
Signatures = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class TrainingTexts:
    """The hashes of the training texts, each with the folds of its rows.

    Attributes:
        pairs: Hash of message and reply -> fold of each row, so that there are as many folds as rows.
        messages: Hash of a message -> folds.
        replies: Hash of a reply -> folds.
        codes: Hash of an upstream code of a message -> folds.
        signatures: Signature of each message, in the order of `messages`, shape (messages, 128).
    """

    pairs: Mapping[str, tuple[int, ...]]
    messages: Mapping[str, tuple[int, ...]]
    replies: Mapping[str, tuple[int, ...]]
    codes: Mapping[str, tuple[int, ...]]
    signatures: Signatures

    def model_for(self, message: str, text: str, codes: Iterable[str] = ()) -> tuple[int | None, str]:
        """Returns which model may rate a reply: the one of a fold, or None for the model of all rows.

        The model of a fold saw the texts of all other folds. A training row gets the model of its own fold, also where
        another fold has a row with the same reply to another message. Any other reply gets the model that saw neither
        the message, in the same or other words, nor the text of the reply.

        Args:
            message: The HS.
            text: The reply.
            codes: Upstream codes of the HS.

        Returns:
            The fold, and `unseen` (the texts are no training texts), `out_of_fold` (they are, and this fold's model did
            not learn from the row, or from the message and the reply) or `in_sample` (each model learned from one).
        """
        found = set(self.pairs.get(pair_hash(message, text), ()))
        if not found:
            found = self._folds_of_message(message, codes)
            if text.strip():
                found |= {*self.replies.get(text_hash(text), ())}
        if len(found) == 1:
            return found.pop(), OUT_OF_FOLD
        return None, IN_SAMPLE if found else UNSEEN

    @property
    def shared_replies(self) -> int:
        """Number of reply texts with rows in several folds."""
        return sum(len(folds) > 1 for folds in self.replies.values())

    def _folds_of_message(self, message: str, codes: Iterable[str]) -> set[int]:
        if not message.strip():
            return set()
        found = {*self.messages.get(text_hash(message), ())}
        for code in codes:
            found |= {*self.codes.get(short_hash(code), ())}
        if found:
            return found
        equal = (self.signatures == minhash_signature(message)).mean(axis=1)
        folds = list(self.messages.values())
        return {fold for at in np.flatnonzero(equal >= NEAR).tolist() for fold in folds[at]}


def hash_training_texts(
    messages: Sequence[str], texts: Sequence[str], codes: Sequence[Sequence[str]], folds: Ints
) -> TrainingTexts:
    """Returns the hashes of training texts.

    Args:
        messages: The HS; length n.
        texts: The replies; length n.
        codes: Upstream codes of each HS.
        folds: Fold of each row, shape (n,).
    """
    pairs: dict[str, list[int]] = {}
    asked, replies, coded = (
        dict[str, set[int]](),
        dict[str, set[int]](),
        dict[str, set[int]](),
    )
    signatures: dict[str, Signatures] = {}
    for message, text, own, fold in zip(messages, texts, codes, folds.tolist(), strict=True):
        pairs.setdefault(pair_hash(message, text), []).append(fold)
        if message.strip():
            asked.setdefault(key := text_hash(message), set()).add(fold)
            signatures.setdefault(key, minhash_signature(message))
        if text.strip():
            replies.setdefault(text_hash(text), set()).add(fold)
        for code in own:
            coded.setdefault(short_hash(code), set()).add(fold)
    stacked = np.array([signatures[key] for key in asked], dtype=np.uint8).reshape(-1, MINIMA)
    return TrainingTexts(_frozen(pairs), _frozen(asked), _frozen(replies), _frozen(coded), stacked)


def _frozen(found: Mapping[str, Collection[int]]) -> dict[str, tuple[int, ...]]:
    return {key: tuple(sorted(folds)) for key, folds in found.items()}


def text_hash(text: str) -> str:
    """Returns the hash of a text, the same for other case, punctuation and white space."""
    return short_hash(simplified(text))


def pair_hash(message: str, text: str) -> str:
    """Returns the hash of a message with its reply."""
    return short_hash(simplified(message), simplified(text))


@lru_cache(maxsize=20_000)
def minhash_signature(message: str) -> Signatures:
    """Returns the signature of a message, shape (128,)."""
    letters = simplified(message)
    runs = {letters[start : start + 3] for start in range(max(1, len(letters) - 2))}
    hashes = np.array([crc32(run.encode("utf-8", "surrogatepass")) % _PRIME for run in sorted(runs)], dtype=np.int64)
    factors, offsets = _hash_functions()
    minima = ((factors[:, None] * hashes + offsets[:, None]) % _PRIME).min(axis=1)
    return np.asarray(minima & 0xFF, dtype=np.uint8)


@lru_cache(maxsize=1)
def _hash_functions() -> tuple[Ints, Ints]:
    """Returns factors and offsets, shape (128,) each, of a generator whose numbers are the same for good."""
    drawn = [crc32(f"{name}:{number}".encode()) % (_PRIME - 1) + 1 for name in "ab" for number in range(MINIMA)]
    factors, offsets = np.array(drawn, dtype=np.int64).reshape(2, MINIMA)
    return factors, offsets
