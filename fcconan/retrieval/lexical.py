"""Lexical systems: TF-IDF and two implementations of BM25; and random rankings."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError
from fcconan.retrieval.systems import Rankings, TrainingPair
from fcconan.scoring import Ranking

WORD = re.compile(r"\w+")
BLOCK = 64  # scores in a block


def top_k(scores: npt.NDArray[Any], ids: Sequence[str], k: int) -> Ranking:
    """Returns the k best ids with their scores; ties are in the order of the ids."""
    if k < 1:
        return []
    if k < len(ids):
        # The k-th largest block maximum is a lower bound of the k-th best score, and is found in one pass.
        blocks = len(ids) // BLOCK
        pool = scores[: blocks * BLOCK].reshape(BLOCK, blocks).max(axis=0) if blocks >= k else scores
        cut = np.partition(pool, len(pool) - k)[len(pool) - k]
        chosen = np.flatnonzero(scores >= cut)
        chosen = chosen[np.argsort(-scores[chosen], kind="stable")][:k]
    else:
        chosen = np.argsort(-scores, kind="stable")
    return [(ids[index], float(scores[index])) for index in chosen.tolist()]


class Random:
    """Ranks the catalogue in an independent random order for each query.

    Args:
        name: Name of the system.
        seed: The first seed.
        seeds: Number of consecutive seeds that a benchmark averages over.
    """

    def __init__(self, name: str = "random", *, seed: int = 0, seeds: int = 1) -> None:
        self.name = name
        self.seed = seed
        self.seeds = seeds
        self.configuration = {"kind": "random", "seed": seed, "seeds": seeds}

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks with the first seed."""
        generator = np.random.default_rng(self.seed)
        ids = list(corpus)
        return Rankings({query: top_k(generator.random(len(ids)), ids, k) for query in queries})

    def replicates(self) -> "Iterator[Random]":
        """Yields one system for each seed."""
        for seed in range(self.seed, self.seed + self.seeds):
            yield Random(self.name, seed=seed)


class TfIdf:
    """Cosine of TF-IDF vectors (scikit-learn's defaults).

    Args:
        name: Name of the system.
        train: Pairs on whose CNs vocabulary and weights are fitted; if empty, they are fitted on the catalogue.
        options: Arguments of scikit-learn's `TfidfVectorizer`.
    """

    def __init__(
        self, name: str = "tfidf", *, train: Sequence[TrainingPair] = (), options: Mapping[str, Any] | None = None
    ) -> None:
        self.name = name
        self.options = dict(options or {})
        self.fit_on = [pair.counter_narrative for pair in train]
        self.configuration = {
            "kind": "tfidf",
            "fit_on": f"{len(self.fit_on)} training CNs" if self.fit_on else "the catalogue",
            "options": self.options,
        }

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by cosine.

        Raises:
            InputError: An option is unknown to the vectoriser, or the texts have no words.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            vectoriser = TfidfVectorizer(**self.options)
        except TypeError as error:
            raise InputError(
                f"TfidfVectorizer rejects the options of {self.name} ({error}): give arguments of TfidfVectorizer"
            ) from error
        try:
            vectoriser.fit(self.fit_on or list(corpus.values()))
        except ValueError as error:
            raise InputError(
                f"TF-IDF cannot be fitted ({error}): give texts with words of two letters or more"
            ) from error
        catalogue = vectoriser.transform(list(corpus.values())).T
        scores = vectoriser.transform(list(queries.values())) @ catalogue
        ids = list(corpus)
        resolved = {key: str(value) for key, value in sorted(vectoriser.get_params().items())}
        return Rankings(
            {query: top_k(scores[[row]].toarray()[0], ids, k) for row, query in enumerate(queries)}, resolved=resolved
        )


class BM25:
    """Okapi BM25 by rank-bm25, on tokens between white space, as in Table 4 of FC-CONAN.

    Args:
        name: Name of the system.
        k1: Saturation of term frequency. The paper prints 1.2, but its scores result from 1.5.
        b: Weight of the length of a CN.
        epsilon: Replacement of a negative inverse document frequency, as a share of the mean.
        lowercase: Whether texts are converted to lower case.
    """

    def __init__(
        self, name: str = "bm25", *, k1: float = 1.5, b: float = 0.75, epsilon: float = 0.25, lowercase: bool = False
    ) -> None:
        self.name = name
        self.k1, self.b, self.epsilon, self.lowercase = k1, b, epsilon, lowercase
        self.configuration = {
            "kind": "bm25",
            "library": "rank-bm25, BM25Okapi",
            "k1": k1,
            "b": b,
            "epsilon": epsilon,
            "tokens": "white space",
            "lowercase": lowercase,
        }

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by BM25."""
        from rank_bm25 import BM25Okapi

        catalogue = [self._tokens(text) for text in corpus.values()]
        ids = list(corpus)
        if not any(catalogue):  # rank-bm25 would divide by zero
            return Rankings({query: top_k(np.zeros(len(ids)), ids, k) for query in queries})
        index = BM25Okapi(catalogue, k1=self.k1, b=self.b, epsilon=self.epsilon)
        with np.errstate(invalid="ignore"):  # with b = 1, rank-bm25 divides 0 by 0 for a CN without a word
            scores = {query: np.nan_to_num(index.get_scores(self._tokens(text))) for query, text in queries.items()}
        return Rankings({query: top_k(row, ids, k) for query, row in scores.items()})

    def _tokens(self, text: str) -> list[str]:
        return (text.lower() if self.lowercase else text).split()


class BM25Fast:
    """BM25 from sparse arrays (bm25s), with stemming and stop words as options.

    CNs that share no word with the query have no score. They are left out unless the whole catalogue is requested; then
    they are tied at the end.

    Args:
        name: Name of the system.
        k1: Saturation of term frequency.
        b: Weight of the length of a CN.
        method: Variant of bm25s: `lucene`, `atire`, `bm25+`, `bm25l` or `robertson`.
        idf_method: Variant of the inverse document frequency; default: the same as `method`.
        tokens: `words` (sequences of letters and digits, in lower case) or `white space` (as for `BM25`).
        stemmer: Language of a Snowball stemmer, such as `english`; None for no stemming.
        stopwords: Language of a stop word list of bm25s, such as `en`, or a list of words; None for no stop words.
    """

    def __init__(
        self,
        name: str = "bm25-fast",
        *,
        k1: float = 1.5,
        b: float = 0.75,
        method: str = "lucene",
        idf_method: str | None = None,
        tokens: str = "words",
        stemmer: str | None = None,
        stopwords: str | Sequence[str] | None = None,
    ) -> None:
        self.name = name
        self.k1, self.b, self.method, self.idf_method = k1, b, method, idf_method
        self._tokenise = _make_tokeniser(tokens, stemmer, stopwords)
        self.configuration = {
            "kind": "bm25-fast",
            "library": "bm25s",
            "k1": k1,
            "b": b,
            "method": method,
            "idf_method": idf_method or method,
            "tokens": tokens,
            "stemmer": stemmer,
            "stopwords": stopwords if stopwords is None or isinstance(stopwords, str) else list(stopwords),
        }

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by BM25."""
        import bm25s

        ids = list(corpus)
        index = bm25s.BM25(k1=self.k1, b=self.b, method=self.method, idf_method=self.idf_method)
        tokens = [self._tokenise(text) for text in corpus.values()]
        if not any(tokens):
            return Rankings({query: top_k(np.zeros(len(ids)), ids, k) for query in queries})
        index.index(tokens, show_progress=False, create_empty_token=False)
        words = [[token for token in self._tokenise(text) if token in index.vocab_dict] for text in queries.values()]
        whole = k >= len(ids)
        found: dict[str, Ranking] = {}
        for query, known in zip(queries, words, strict=True):
            scores = index.get_scores(known) if known else np.zeros(len(ids), dtype=np.float32)
            ranking = top_k(scores, ids, k)
            found[query] = ranking if whole else [entry for entry in ranking if entry[1] > 0]
        return Rankings(found)


def _make_tokeniser(
    tokens: str, stemmer: str | None, stopwords: str | Sequence[str] | None
) -> Callable[[str], list[str]]:
    stop_list = _load_stopwords(stopwords)
    stem = _load_stemmer(stemmer)

    def tokenise(text: str) -> list[str]:
        found = text.split() if tokens == "white space" else WORD.findall(text.lower())
        chosen = [token for token in found if token.lower() not in stop_list] if stop_list else found
        return stem(chosen) if stem else chosen

    return tokenise


def _load_stopwords(stopwords: str | Sequence[str] | None) -> frozenset[str]:
    if stopwords is None:
        return frozenset()
    if not isinstance(stopwords, str):
        return frozenset(word.lower() for word in stopwords)
    from bm25s.tokenization import Tokenizer

    try:
        return frozenset(Tokenizer(stopwords=stopwords).stopwords)
    except ValueError as error:
        raise InputError(
            f"bm25s has no stop words {stopwords!r}: give a language such as en, or a list of words"
        ) from error


def _load_stemmer(language: str | None) -> Callable[[list[str]], list[str]] | None:
    if language is None:
        return None
    import Stemmer

    try:
        stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer(language).stemWords
    except KeyError as error:
        known = ", ".join(Stemmer.algorithms())
        raise InputError(f"there is no Snowball stemmer for {language!r}: known are {known}") from error
    return stem
