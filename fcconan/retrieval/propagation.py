"""Retrieval with similarity propagated through the training pairs.

Known HS that are similar to a query have human-written CNs; CNs of the catalogue that are similar to these may answer
the query. Let q, h, t and c be the unit vectors of query, known HS, known CN and catalogue CN:

    direct(q, c)     = q . c
    propagated(q, c) = sum over h of w(h) mean over CNs t of h of t . c,   w = softmax over h of q . h / temperature
    score(q, c)      = z(direct) + z(propagated),   z over the catalogue, for each query

The two parts always have equal weights. The temperature is given by the caller, or chosen by cross-validation inside
the training pairs, in folds that share no HS and no CN. Labels of the evaluation part are not used.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.errors import InputError
from fcconan.retrieval.dense import DOCUMENT, QUERY, Encoder, Vectors, resolved_settings
from fcconan.retrieval.lexical import top_k
from fcconan.retrieval.systems import Rankings, TrainingPair
from fcconan.retrieval.training_data import grouped_folds, index_texts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TEMPERATURES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
CUTOFF = 10


class PairPropagation:
    """Direct similarity blended with similarity propagated through the training pairs.

    Args:
        name: Name of the system.
        encoder: Encoder of HS and CNs.
        train: The training pairs.
        temperature: Temperature of the softmax over known HS, above 0; None selects one of `temperatures` by
            cross-validation.
        temperatures: Candidate temperatures of the cross-validation.
        folds: Number of folds of the cross-validation.
        repeats: Number of repetitions of the cross-validation, with different folds.
        seed: Seed of the folds of the first repetition.

    Raises:
        InputError: There are no training pairs.
    """

    def __init__(
        self,
        name: str = "pair-propagation",
        *,
        encoder: Encoder,
        train: Sequence[TrainingPair],
        temperature: float | None = None,
        temperatures: Sequence[float] = TEMPERATURES,
        folds: int = 5,
        repeats: int = 5,
        seed: int = 0,
    ) -> None:
        if not train:
            raise InputError(
                f"{name} needs training pairs, but the dataset has none without leakage: choose another system"
            )
        self.name = name
        self.encoder = encoder
        self.train = list(dict.fromkeys(train))
        self.temperature, self.temperatures = temperature, tuple(temperatures)
        self.folds, self.repeats, self.seed = folds, repeats, seed
        self.configuration = {
            "kind": "pair-propagation",
            "encoder": dict(encoder.configuration),
            "training_pairs": len(self.train),
            "blend": "equal weights of z-scores (fixed)",
            "temperature": temperature
            if temperature is not None
            else f"cross-validated over {', '.join(map(str, self.temperatures))}: {folds} grouped folds, "
            f"{repeats} times, seed {seed}",
        }

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by the sum of standardised direct and propagated similarity."""
        known, hs = index_texts(pair.hate_speech for pair in self.train)
        known_cns, cn = index_texts(pair.counter_narrative for pair in self.train)
        known_vectors = self.encoder.encode(known, role=QUERY)
        cn_vectors = self.encoder.encode(known_cns, role=DOCUMENT)
        answers = np.zeros((len(known), len(known_cns)))  # 1 if the CN was written for the HS
        answers[hs, cn] = 1
        chosen, cv_scores = self.temperature, None
        if chosen is None:
            chosen, cv_scores = self._cross_validate(known_vectors, cn_vectors, answers, hs, cn)
        bridge = _mean_cn_vectors(answers, cn_vectors)
        query_vectors = self.encoder.encode(list(queries.values()), role=QUERY).astype(np.float64)
        catalogue = self.encoder.encode(list(corpus.values()), role=DOCUMENT).astype(np.float64)
        ids = list(corpus)
        scores = blend_similarities(query_vectors, catalogue, known_vectors.astype(np.float64), bridge, chosen)
        resolved = {"temperature": chosen} | resolved_settings(self.encoder)
        if cv_scores is not None:
            resolved["cross_validation"] = cv_scores
        return Rankings(
            {query: top_k(scores[row], ids, k) for row, query in enumerate(queries)},
            resolved=resolved,
        )

    def _cross_validate(
        self, known: Vectors, known_cns: Vectors, answers: Floats, hs: Ints, cn: Ints
    ) -> tuple[float, dict[str, Any]]:
        """Chooses the temperature with the best mean of hit ratio, MRR, NDCG and MAP at 10 on held-out training pairs.

        The held-out HS are the queries and the held-out CNs the catalogue; similarity is propagated through the other
        folds. Ties are resolved in favour of the lower temperature.

        Returns:
            The temperature, and a JSON-able table of the scores.
        """
        known_fold = np.zeros(len(known), dtype=np.int64)
        written_fold = np.zeros(len(known_cns), dtype=np.int64)
        cv_scores: dict[float, list[float]] = {value: [] for value in self.temperatures}
        direct: list[float] = []
        for repeat in range(self.repeats):
            known_fold[hs] = written_fold[cn] = grouped_folds(self.train, self.folds, seed=self.seed + repeat)
            for fold in range(self.folds):
                queries, catalogue = known_fold == fold, written_fold == fold
                relevance = answers[queries][:, catalogue]
                query_vectors, candidates = known[queries].astype(np.float64), known_cns[catalogue].astype(np.float64)
                bridge = _mean_cn_vectors(answers[~queries][:, ~catalogue], known_cns[~catalogue])
                others = known[~queries].astype(np.float64)
                direct += mean_metrics(query_vectors @ candidates.T, relevance)
                for value in self.temperatures:
                    cv_scores[value] += mean_metrics(
                        blend_similarities(query_vectors, candidates, others, bridge, value), relevance
                    )
        means = {value: float(np.mean(values)) for value, values in cv_scores.items()}
        chosen = max(means, key=lambda value: (means[value], -value))
        table = {f"temperature {value}": round(mean, 6) for value, mean in means.items()}
        return chosen, {
            "mean_of_hit_rate_mrr_ndcg_map_at_10": {"direct alone": round(float(np.mean(direct)), 6), **table}
        }


def blend_similarities(
    query_vectors: Floats, catalogue: Floats, known: Floats, bridge: Floats, temperature: float
) -> Floats:
    """Returns the sum of standardised direct and propagated similarity.

    Args:
        query_vectors: Unit vectors of the queries; shape (queries, dimensions).
        catalogue: Unit vectors of the catalogue; shape (catalogue, dimensions).
        known: Unit vectors of the known HS; shape (known, dimensions).
        bridge: Mean vector of the CNs of each known HS; shape (known, dimensions).
        temperature: Temperature of the softmax over known HS; above 0.

    Returns:
        Scores of shape (queries, catalogue).
    """
    similarity = query_vectors @ known.T / temperature
    weights = np.exp(similarity - similarity.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return _standardise(query_vectors @ catalogue.T) + _standardise(weights @ bridge @ catalogue.T)


def _standardise(scores: Floats) -> Floats:
    """Standardises each row; a row of equal scores becomes 0."""
    spread = scores.std(axis=1, keepdims=True)
    return (scores - scores.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1.0)


def _mean_cn_vectors(answers: Floats, known_cns: Vectors) -> Floats:
    """Returns the mean vector of the CNs of each known HS; shape (known HS, dimensions)."""
    return (answers / answers.sum(axis=1, keepdims=True)) @ known_cns.astype(np.float64)


def mean_metrics(scores: Floats, relevance: Floats) -> list[float]:
    """Returns the mean of hit ratio, MRR, NDCG and MAP at 10 for each query.

    Args:
        scores: Scores of shape (queries, catalogue).
        relevance: Relevances of shape (queries, catalogue).
    """
    from fcconan.scoring import PAPER_METRICS, Ranked

    order = np.argsort(-scores, axis=1, kind="stable")
    gains = np.take_along_axis(relevance, order, axis=1).astype(np.int64)
    ranked = Ranked(
        query_ids=tuple(map(str, range(len(gains)))),
        gains=gains,
        relevances=-np.sort(-relevance.astype(np.int64), axis=1),
        n_corpus=scores.shape[1],
        failed=np.zeros(len(gains), dtype=np.bool_),
    )
    metrics = [PAPER_METRICS[name](ranked, CUTOFF) for name in ("hit_rate", "mrr", "ndcg", "map")]
    return [float(value) for value in np.mean(metrics, axis=0)]
