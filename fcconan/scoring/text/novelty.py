"""Novelty: distance of a text from the nearest text of a training set (Wang and Wan, 2018)."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from fcconan.errors import InputError
from fcconan.scoring.arrays import Floats
from fcconan.scoring.text.scores import Metric, Reason, Unit, UnitScores, signature
from fcconan.scoring.text.tokenizers import plain

ROWS = 1_024  # texts compared at a time: with 5000 training texts their counts of shared words take some 50 MB


class Novelty(Metric):
    """1 - the largest Jaccard similarity of a text's set of words with that of a training text.

    Words are runs of characters between white space, in lower case and without ASCII punctuation. The value of the
    corpus is the mean over texts, as in the ranking paper.

    Args:
        training: Training CNs. Their order and repetitions have no effect.

    Raises:
        InputError: No training text has a word, or one is not a string.
    """

    independent = True
    names = ("novelty",)

    def __init__(self, training: Sequence[str]) -> None:
        if isinstance(training, str) or any(not isinstance(text, str) for text in training):
            raise InputError("the training texts of novelty are not all strings: give a list of CNs as strings")
        self._sets = sorted({tuple(sorted(set(plain(text)))) for text in training} - {()})
        if not self._sets:
            raise InputError(f"novelty has {len(training)} training texts and none has a word: give the training CNs")
        together = "\n".join(" ".join(words) for words in self._sets)
        self._fingerprint = hashlib.sha256(together.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self._vocabulary: dict[str, int] = {}
        for words in self._sets:
            for word in words:
                self._vocabulary.setdefault(word, len(self._vocabulary))
        self._training: Any = None

    def score(self, units: Sequence[Unit], *, batch_size: int, progress: bool | None) -> list[UnitScores]:
        """Scores units one by one."""
        if self._training is None:
            self._training = self._word_matrix(self._sets).T.tocsr()
        sets = [set(plain(unit.text)) for unit in units]
        there = [place for place, words in enumerate(sets) if words]
        values = np.full(len(units), np.nan)
        for start in range(0, len(there), ROWS):
            places = there[start : start + ROWS]
            values[places] = 1 - self._largest_similarity([sets[place] for place in places])
        reasons: dict[int, Reason] = {place: "no_words" for place, words in enumerate(sets) if not words}
        name = signature(
            "novelty",
            tok="plain",
            case="lc",
            training=f"{len(self._sets)}-sets-{self._fingerprint}",
            similarity="jaccard",
        )
        return [UnitScores("novelty", values, name, None, reasons)]

    def _largest_similarity(self, sets: Sequence[set[str]]) -> Floats:
        """Returns the largest Jaccard similarity of every set of words; shape (sets,)."""
        shared = (self._word_matrix(sets) @ self._training).tocsr()  # sparse: only pairs that share a word are compared
        own = np.array([len(words) for words in sets], dtype=np.float64)
        others = np.array([len(words) for words in self._sets], dtype=np.float64)
        rows = np.repeat(np.arange(len(sets)), np.diff(shared.indptr))
        similarity = shared.data / (own[rows] + others[shared.indices] - shared.data)
        nearest = np.zeros(len(sets))
        filled = np.flatnonzero(np.diff(shared.indptr))
        if len(filled):
            nearest[filled] = np.maximum.reduceat(similarity, shared.indptr[filled])
        return nearest

    def _word_matrix(self, sets: Sequence[Sequence[str] | set[str]]) -> Any:
        """Returns a matrix of sets by the words of the training set; 1 if the set has the word."""
        from scipy.sparse import csr_matrix

        columns = [[self._vocabulary[word] for word in words if word in self._vocabulary] for words in sets]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in columns])])
        flat = np.array([column for row in columns for column in row], dtype=np.int64)
        return csr_matrix((np.ones(len(flat)), flat, starts), shape=(len(sets), len(self._vocabulary)))
