"""Systems that learn from labels of other HS, and a baseline that ignores HS and labels.

`popularity` and `longest` rank the CNs identically for all HS. Their scores are references for systems that read the
message.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError
from fcconan.retrieval.dense import DOCUMENT, QUERY, Encoder, resolved_settings
from fcconan.retrieval.label_learning import LabelledPair
from fcconan.retrieval.lexical import top_k
from fcconan.retrieval.systems import Rankings

Floats = npt.NDArray[np.float64]


class LongestFirst:
    """Ranks CNs by length, longest first.

    Args:
        name: Name of the system.
    """

    ignores_message = True

    def __init__(self, name: str = "longest") -> None:
        self.name = name
        self.configuration = {"kind": "longest"}

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by the number of characters."""
        lengths = np.array([len(text) for text in corpus.values()], dtype=np.float64)
        ranking = top_k(lengths, list(corpus), k)
        return Rankings(dict.fromkeys(queries, ranking))


class Popularity:
    """Ranks CNs by their smoothed share of positives for other HS: (positives + a) / (judged + b).

    Args:
        name: Name of the system.
        positives: Constant a: positives added to each CN.
        judged: Constant b: labels added to each CN.
    """

    ignores_message = True

    def __init__(self, name: str = "popularity", *, positives: float = 1.0, judged: float = 6.0) -> None:
        self.name = name
        self.positives, self.judged = positives, judged
        self.configuration = {"kind": "popularity", "positives": positives, "judged": judged}
        self._labels: Sequence[LabelledPair] = ()

    def fit(self, labels: Sequence[LabelledPair]) -> None:
        """Stores the labels of other HS."""
        self._labels = labels

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks identically for all HS."""
        columns = {key: column for column, key in enumerate(corpus)}
        counts = np.zeros((2, len(columns)))
        for label in self._labels:
            counts[:, columns[label.corpus_id]] += (label.relevance > 0, 1)
        ranking = top_k((counts[0] + self.positives) / (counts[1] + self.judged), list(corpus), k)
        return Rankings(dict.fromkeys(queries, ranking))


class _LabelMatrices:
    """Labels as matrices of labelled HS and CNs of the catalogue.

    Attributes:
        texts: Texts of the labelled HS.
        groups: Leakage groups of these HS; shape (HS,).
        judged: Indicator of judged pairs, 0 or 1; shape (HS, CNs).
        positive: Indicator of positives, 0 or 1; shape (HS, CNs).
    """

    def __init__(self, labels: Sequence[LabelledPair], corpus: Mapping[str, str]) -> None:
        texts = {label.query_id: label.hate_speech for label in labels}
        groups = {label.query_id: label.group for label in labels}
        rows = {query: row for row, query in enumerate(texts)}
        columns = {key: column for column, key in enumerate(corpus)}
        self.texts = list(texts.values())
        self.groups = np.array([groups[query] for query in texts], dtype=np.int64)
        self.judged = np.zeros((len(rows), len(columns)))
        self.positive = np.zeros((len(rows), len(columns)))
        for label in labels:
            cell = rows[label.query_id], columns[label.corpus_id]
            self.judged[cell] = 1
            self.positive[cell] = label.relevance > 0

    @property
    def share(self) -> float:
        """Share of positives, smoothed by one positive and five negatives."""
        return float((self.positive.sum() + 1) / (self.judged.sum() + 6))


class _CachedEncoder:
    """An encoder with a cache of single texts, because folds encode different lists of the same texts."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._cache: dict[tuple[str, str], Any] = {}

    def encode(self, texts: Iterable[str], role: str) -> Floats:
        """Returns the vectors of texts; shape (texts, dimensions)."""
        listed = list(texts)
        missing = [text for text in dict.fromkeys(listed) if (role, text) not in self._cache]
        if missing:
            vectors = self.encoder.encode(missing, role=role)
            self._cache |= {(role, text): vector for text, vector in zip(missing, vectors, strict=True)}
        return np.array([self._cache[role, text] for text in listed], dtype=np.float64)


class Supervised:
    """Logistic regression on the similarity of HS and CN, the popularity of the CN and the labels of similar HS.

    The features of a labelled pair use labels of other leakage groups only, like those of a new HS. The last feature is
    the weighted share of positives. The weight of a label is exp((cosine of the HS - 1) / temperature) times the same
    expression for the CNs; the weights of the labelled HS are scaled to a mean of 1.

    Args:
        name: Name of the system.
        encoder: Encoder of HS and CNs.
        temperature: Temperature of both similarities; lower values give distant neighbours less weight.
        prior: Number of labels with the overall share of positives that are added.
        C: Inverse strength of the L2 penalty, as in scikit-learn.
    """

    def __init__(
        self,
        name: str = "supervised",
        *,
        encoder: Encoder,
        temperature: float = 0.1,
        prior: float = 3.0,
        C: float = 1.0,  # noqa: N803 - scikit-learn's name
    ) -> None:
        self.name, self.encoder = name, encoder
        self._vectors = _CachedEncoder(encoder)
        self.temperature, self.prior, self.C = temperature, prior, C
        self.configuration: dict[str, Any] = {
            "kind": "supervised",
            "temperature": temperature,
            "prior": prior,
            "encoder": dict(encoder.configuration),
            "C": C,
        }
        self._labels: Sequence[LabelledPair] = ()

    def fit(self, labels: Sequence[LabelledPair]) -> None:
        """Stores the labels of other HS."""
        self._labels = labels

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by the log odds of a positive.

        Raises:
            InputError: The labels are all positive, all negative, or of one leakage group.
        """
        from sklearn.linear_model import LogisticRegression

        known = _LabelMatrices(self._labels, corpus)
        judged = known.judged > 0
        targets = known.positive[judged] > 0
        if targets.all() or not targets.any() or len(set(known.groups)) < 2:
            raise InputError(
                f"{self.name} learns from positive and negative labels of several HS; found {int(targets.sum())} "
                f"positives among {len(targets)} labels of {len(known.texts)} HS: give more labels"
            )
        catalogue = self._vectors.encode(corpus.values(), DOCUMENT)
        cn_weights = np.exp((catalogue @ catalogue.T - 1) / self.temperature)
        known_vectors = self._vectors.encode(known.texts, QUERY)
        query_vectors = self._vectors.encode(queries.values(), QUERY)
        features = self._features(known_vectors, catalogue, known, cn_weights, known.groups)[judged]
        mean, deviation = features.mean(axis=0), features.std(axis=0)
        deviation[deviation == 0] = 1.0
        model = LogisticRegression(C=self.C, max_iter=1000).fit((features - mean) / deviation, targets)
        table = (self._features(query_vectors, catalogue, known, cn_weights, None) - mean) / deviation
        scores = table @ model.coef_[0] + model.intercept_[0]
        ids = list(corpus)
        found = {query: top_k(scores[row], ids, k) for row, query in enumerate(queries)}
        return Rankings(found, resolved=resolved_settings(self.encoder))

    def _features(
        self, query_vectors: Floats, catalogue: Floats, known: _LabelMatrices, cn_weights: Floats, groups: Any
    ) -> Floats:
        """Returns similarity, log odds of popularity, and log odds of label neighbours; shape (HS, CNs, 3)."""
        others = np.ones((len(query_vectors), len(known.groups))) if groups is None else groups[:, None] != known.groups
        popularity = (others @ known.positive + 1) / (others @ known.judged + 6)
        neighbours = self._positive_shares(query_vectors, known, cn_weights, groups)
        return np.stack([query_vectors @ catalogue.T, _log_odds(popularity), _log_odds(neighbours)], axis=-1)

    def _positive_shares(self, query_vectors: Floats, known: _LabelMatrices, cn_weights: Floats, groups: Any) -> Floats:
        """Returns the weighted share of positives.

        Args:
            query_vectors: Vectors of the HS; shape (HS, dimensions).
            known: The labels.
            cn_weights: Weights between CNs; shape (CNs, CNs).
            groups: Leakage group of each HS, whose labels are excluded for this HS; None excludes no labels.

        Returns:
            Shares of shape (HS, CNs).
        """
        weights = np.exp((query_vectors @ self._vectors.encode(known.texts, QUERY).T - 1) / self.temperature)
        if groups is not None:
            weights *= groups[:, None] != known.groups
        total = weights.sum(axis=1, keepdims=True)
        weights *= np.divide((weights > 0).sum(axis=1, keepdims=True), total, out=np.zeros_like(total), where=total > 0)
        found: Floats = (weights @ known.positive @ cn_weights + self.prior * known.share) / (
            weights @ known.judged @ cn_weights + self.prior
        )
        return found


def _log_odds(shares: Floats) -> Floats:
    found: Floats = np.log(shares / (1 - shares))
    return found
