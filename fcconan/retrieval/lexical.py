"""Lexical systems: TF-IDF and two forms of BM25; and random rankings."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from fcconan.errors import InputError
from fcconan.retrieval.systems import Rankings, TrainingPair, top_k

ROWS = 256  # queries whose scores are in memory at a time


class Random:
    """Ranks the catalogue in an independent random order for each query.

    Args:
        name: Name of the system.
        seed: Seed of the orders.
    """

    def __init__(self, name: str = "random", *, seed: int = 0) -> None:
        self.name, self.seed = name, seed

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks at random."""
        generator, ids = np.random.default_rng(self.seed), list(corpus)
        return Rankings({query: top_k(generator.random(len(ids)), ids, k) for query in queries})


class TfIdf:
    """Cosine of TF-IDF vectors (scikit-learn's defaults).

    Args:
        name: Name of the system.
        train: Training pairs.
        fit_on: Texts on which vocabulary and weights are fitted: CNs of the training pairs, if there are any, or the
            catalogue.
        options: Arguments of scikit-learn's `TfidfVectorizer`.

    Raises:
        InputError: `fit_on` is unknown.
    """

    def __init__(
        self,
        name: str = "tfidf",
        *,
        train: Sequence[TrainingPair] = (),
        fit_on: Literal["training", "catalogue"] = "training",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if fit_on not in ("training", "catalogue"):
            raise InputError(f"{name}: found fit_on {fit_on!r}, expected training or catalogue: choose one")
        self.name, self.options = name, dict(options or {})
        self.fit_on = [pair.counter_narrative for pair in train] if fit_on == "training" else []

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by cosine.

        Raises:
            InputError: An option is unknown to the vectoriser, or the texts have no words.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            vectoriser = TfidfVectorizer(**self.options).fit(self.fit_on or [*corpus.values()])
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{self.name} cannot be fitted ({error}): give texts with words of two letters or more, and arguments "
                "of TfidfVectorizer as options"
            ) from error
        return _ranked(
            vectoriser.transform(queries.values()), vectoriser.transform(corpus.values()).T, queries, corpus, k
        )


class BM25:
    """Okapi BM25 as in rank-bm25, on tokens between white space, as in Table 4 of FC-CONAN.

    Scores equal those of `rank_bm25.BM25Okapi`. The weights of terms are in a sparse matrix, which is more than 60
    times as fast on MT-CONAN (benchmarks/speed/retrieval.py).

    Args:
        name: Name of the system.
        k1: Saturation of term frequency. The paper prints 1.2, but its scores result from 1.5.
        b: Weight of the length of a CN, 0 to 1.
        epsilon: Replacement of a negative inverse document frequency, as a share of the mean.
        lowercase: Whether texts are converted to lower case.

    Raises:
        InputError: `k1` or `b` is out of range.
    """

    def __init__(
        self, name: str = "bm25", *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25, lowercase: bool = False
    ) -> None:
        if k1 <= 0 or not 0 <= b <= 1:
            raise InputError(f"{name}: found k1 {k1} and b {b}, expected k1 above 0 and b from 0 to 1: correct them")
        self.name, self.k1, self.b, self.epsilon, self.lowercase = name, k1, b, epsilon, lowercase

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by BM25."""
        from scipy.sparse import csr_array

        counts = [Counter(self._tokens(text)) for text in corpus.values()]
        lengths = np.array([each.total() for each in counts], dtype=np.float64)
        documents = Counter(token for each in counts for token in each)  # documents that contain a token
        idf = [math.log(len(counts) - n + 0.5) - math.log(n + 0.5) for n in documents.values()]
        floor = self.epsilon * sum(idf) / max(len(idf), 1)
        weights = np.array([floor if each < 0 else each for each in idf])
        columns = {token: column for column, token in enumerate(documents)}
        tokens = np.array([columns[token] for each in counts for token in each], dtype=np.int64)
        frequency = np.array([n for each in counts for n in each.values()], dtype=np.float64)
        document = np.repeat(np.arange(len(counts)), [len(each) for each in counts])
        norm = self.k1 * (1 - self.b + self.b * lengths / max(lengths.mean(), 1e-300))[document]
        values = weights[tokens] * (frequency * (self.k1 + 1) / (frequency + norm))
        index = csr_array((values, (tokens, document)), shape=(len(columns), len(counts)))
        asked = [[columns[token] for token in self._tokens(text) if token in columns] for text in queries.values()]
        starts = np.cumsum([0, *map(len, asked)])
        places = np.array([place for each in asked for place in each], dtype=np.int64)  # in the order of the query
        return _ranked(
            csr_array((np.ones(len(places)), places, starts), shape=(len(asked), len(columns))),
            index,
            queries,
            corpus,
            k,
        )

    def _tokens(self, text: str) -> list[str]:
        return (text.lower() if self.lowercase else text).split()


class BM25Fast:
    """BM25 by bm25s with its defaults: Lucene's variant on words of two letters or more, without English stop words.

    Args:
        name: Name of the system.
        k1: Saturation of term frequency.
        b: Weight of the length of a CN.
    """

    def __init__(self, name: str = "bm25-fast", *, k1: float = 1.5, b: float = 0.75) -> None:
        self.name, self.k1, self.b = name, k1, b

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by BM25."""
        import bm25s

        def tokens(texts: Mapping[str, str]) -> list[list[str]]:
            found: list[list[str]] = bm25s.tokenize([*texts.values()], return_ids=False, show_progress=False)
            return found

        ids, index = list(corpus), bm25s.BM25(k1=self.k1, b=self.b)
        index.index(tokens(corpus), show_progress=False)
        known = [[token for token in each if token in index.vocab_dict] for each in tokens(queries)]
        scores = [index.get_scores(each) if each else np.zeros(len(ids)) for each in known]
        return Rankings({query: top_k(row, ids, k) for query, row in zip(queries, scores, strict=True)})


def _ranked(asked: Any, index: Any, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
    """Returns rankings by the product of two sparse matrices: queries by terms, and terms by CNs."""
    ids, names, found = list(corpus), list(queries), Rankings()
    for start in range(0, len(names), ROWS):
        rows = (asked[start : start + ROWS] @ index).toarray()
        found |= {query: top_k(row, ids, k) for query, row in zip(names[start:], rows, strict=False)}
    return found
