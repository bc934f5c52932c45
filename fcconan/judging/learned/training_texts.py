"""Hashes of the training texts of a rater, which determine a model that has not seen a reply.

A hash reveals only to owners of a text that it was used. Paraphrased messages are found by their upstream code, and
near-duplicates by MinHash signatures of their letter trigrams: 128 minima of hash functions, of which 8 bits are stored
(b-bit minwise hashing, Li and König 2010). The share of equal minima estimates the Jaccard similarity of the trigrams.
Leakage groups merge messages from a similarity of 2/3; the threshold here is 0.55, because the standard error of the
estimate is .04.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
import numpy.typing as npt

from fcconan.data import short_hash, simplify_text
from fcconan.judging.learned.rated_texts import Ints

MINIMA = 128
NEAR = 0.55
_PRIME = 2**31 - 1
UNSEEN, OUT_OF_FOLD, IN_SAMPLE = "unseen", "out_of_fold", "in_sample"
Signatures = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class TrainingTexts:
    """Hashes of the training texts with the folds of their rows.

    Attributes:
        pairs: Hash of message and reply -> fold of each of its rows.
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
        """Returns the fold whose model rates a reply, or None for the model of all rows.

        The training of a fold's model includes all other folds. A training row is rated by the model of its own fold,
        even if another fold has a row with the same reply to another message. Any other reply is rated by a model whose
        training included neither the message (or a near-duplicate or paraphrase of it) nor the text of the reply.

        Args:
            message: The HS.
            text: The reply.
            codes: Upstream codes of the HS.

        Returns:
            The fold, and the provenance: `unseen` (message and reply are not in the training data), `out_of_fold` (they
            are, but not in the training of this fold's model) or `in_sample` (each model learned from one of them).
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
    """Hashes training texts.

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
    """Returns the hash of a text, ignoring case, punctuation and white space."""
    return short_hash(simplify_text(text))


def pair_hash(message: str, text: str) -> str:
    """Returns the hash of a message with its reply."""
    return short_hash(simplify_text(message), simplify_text(text))


@lru_cache(maxsize=20_000)
def minhash_signature(message: str) -> Signatures:
    """Returns the MinHash signature of a message, shape (128,)."""
    letters = simplify_text(message)
    runs = {letters[start : start + 3] for start in range(max(1, len(letters) - 2))}
    hashes = np.array([crc32(run.encode("utf-8", "surrogatepass")) % _PRIME for run in sorted(runs)], dtype=np.int64)
    factors, offsets = _hash_functions()
    minima = ((factors[:, None] * hashes + offsets[:, None]) % _PRIME).min(axis=1)
    return np.asarray(minima & 0xFF, dtype=np.uint8)


@lru_cache(maxsize=1)
def _hash_functions() -> tuple[Ints, Ints]:
    """Returns factors and offsets of the hash functions, shape (128,) each, from CRC-32 values that never change."""
    drawn = [crc32(f"{name}:{number}".encode()) % (_PRIME - 1) + 1 for name in "ab" for number in range(MINIMA)]
    factors, offsets = np.array(drawn, dtype=np.int64).reshape(2, MINIMA)
    return factors, offsets
