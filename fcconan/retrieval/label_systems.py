"""References that rank the CNs identically for all HS, and a system that learns from labels of other HS."""

from collections.abc import Mapping, Sequence

import numpy as np

from fcconan.errors import InputError
from fcconan.retrieval.dense import DOCUMENT, QUERY, Encoder
from fcconan.retrieval.label_learning import LabelledPair
from fcconan.retrieval.systems import Rankings, top_k
from fcconan.scoring import Flags, Floats


class LongestFirst:
    """Ranks CNs by length, longest first.

    Args:
        name: Name of the system.
    """

    ignores_message = True

    def __init__(self, name: str = "longest") -> None:
        self.name = name

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by the number of characters."""
        ranking = top_k(np.array([float(len(text)) for text in corpus.values()]), list(corpus), k)
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
        self.name, self.positives, self.judged = name, positives, judged
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


class Supervised:
    """Logistic regression on the similarity of HS and CN, the popularity of the CN and the labels of similar HS.

    The features of a labelled pair use labels of other leakage groups only, like those of a new HS. The last feature is
    the weighted share of positives. The weight of a label is exp((cosine of the HS - 1) / temperature) times the same
    expression for the CNs; the weights of the labelled HS are scaled to a mean of 1. Features are standardised.

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
        self.name, self.encoder, self.temperature, self.prior, self.C = name, encoder, temperature, prior, C
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
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        columns = {key: column for column, key in enumerate(corpus)}
        known = {label.query_id: (label.hate_speech, label.group) for label in self._labels}
        rows = {query: row for row, query in enumerate(known)}
        relevance = np.full((len(rows), len(columns)), np.nan)
        for label in self._labels:
            relevance[rows[label.query_id], columns[label.corpus_id]] = label.relevance > 0
        judged = np.isfinite(relevance)
        targets = relevance[judged]
        groups = np.array([group for _, group in known.values()])
        if len({*targets}) < 2 or len({*groups.tolist()}) < 2:
            raise InputError(
                f"{self.name} learns from positive and negative labels of several HS; found {int(targets.sum())} "
                f"positives among {len(targets)} labels of {len(known)} HS: give more labels"
            )
        catalogue = self.encoder.encode([*corpus.values()], role=DOCUMENT).astype(np.float64)
        labelled = self.encoder.encode([text for text, _ in known.values()], role=QUERY).astype(np.float64)
        asked = self.encoder.encode([*queries.values()], role=QUERY).astype(np.float64)
        near = np.exp((catalogue @ catalogue.T - 1) / self.temperature)
        counts = np.stack([np.nan_to_num(relevance), judged]).astype(np.float64)

        def features(vectors: Floats, others: Flags) -> Floats:
            """Returns similarity, log odds of popularity, and log odds of label neighbours; shape (HS, CNs, 3)."""
            popularity = (others @ counts[0] + 1) / (others @ counts[1] + 6)
            share = (counts[0].sum() + 1) / (counts[1].sum() + 6)
            weights = others * np.exp((vectors @ labelled.T - 1) / self.temperature)
            weights *= others.sum(axis=1, keepdims=True) / weights.sum(axis=1, keepdims=True)
            positive, total = (weights @ each @ near for each in counts)
            neighbours = (positive + self.prior * share) / (total + self.prior)
            odds = [np.log(each / (1 - each)) for each in (popularity, neighbours)]
            return np.stack([vectors @ catalogue.T, *odds], axis=-1)

        model = make_pipeline(StandardScaler(), LogisticRegression(C=self.C, max_iter=1000))
        model.fit(features(labelled, groups[:, None] != groups)[judged], targets)
        table = features(asked, np.ones((len(asked), len(groups)), dtype=bool))
        ids = list(corpus)
        return Rankings(
            {query: top_k(model.decision_function(each), ids, k) for query, each in zip(queries, table, strict=True)}
        )
