"""References, and systems that learn from labels of other HS: by hand, and no label leaks."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fcconan.errors import InputError
from fcconan.retrieval import (
    LabelledPair,
    LongestFirst,
    Popularity,
    Rankings,
    Supervised,
    learns_from_labels,
    rank_partitions,
    score_matrix,
)
from fcconan.scoring import Floats

HS = {
    "a": "The Ombrey never return a book.",
    "b": "the ombrey never return a BOOK",
    "c": "Every Tessok cheats at cards, says the baker.",
    "d": "Nobody needs the Velmari and their noisy markets.",
}
GROUPS = [0, 0, 1, 2]  # the first two say the same thing
CN = {"x": "They do.", "y": "Cards were banned in their towns, long ago.", "z": "Ask them."}
LABELS = {
    "a": {"x": 1, "y": 0, "z": 0},
    "b": {"x": 1, "y": 0},
    "c": {"x": 0, "y": 1, "z": 0},
    "d": {"x": 1, "z": 1},
}
Texts = dict[str, str]
Labels = dict[str, dict[str, int]]


class Letters:
    """An encoder: how often six letters occur in a text, as a unit vector."""

    name = "letters"
    configuration: dict[str, Any] = {"model": "letters"}  # noqa: RUF012

    def encode(self, texts: Sequence[str], *, role: str) -> Any:
        counts = np.array([[1 + text.lower().count(letter) for letter in "aeortn"] for text in texts], dtype=np.float64)
        return (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)


class Recorder:
    """A system that records its inputs and ranks only the first CN."""

    name = "recorder"

    def __init__(self, refused: str = "") -> None:
        self.seen, self.known, self.refused = list[tuple[str, str]](), "", refused

    def fit(self, labels: Sequence[LabelledPair]) -> None:
        self.known = "".join(sorted({label.query_id for label in labels}))
        if self.known == self.refused:
            raise ValueError("no luck")

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        self.seen.append(("".join(queries), self.known))
        return Rankings({query: [(next(iter(corpus)), 1.0)] for query in queries})


def random_labels(seed: int, n_hs: int = 12, n_cns: int = 9) -> tuple[Texts, Texts, Labels]:
    """Labels of invented HS that share no words, three quarters of the pairs judged."""
    generator = np.random.default_rng(seed)
    words = ["".join(generator.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(400)]
    queries = {f"h{n}": " ".join(generator.choice(words, 6)) for n in range(n_hs)}
    corpus = {f"c{n}": " ".join(generator.choice(words, 5)) for n in range(n_cns)}
    judged = {query: [key for key in corpus if generator.random() < 0.75] for query in queries}
    return queries, corpus, {query: {key: int(generator.random() < 0.4) for key in judged[query]} for query in queries}


def ranked(*given: Any) -> dict[str, Rankings]:
    """The rankings of `rank_partitions`, by partition."""
    return {name: run for name, run, _ in rank_partitions(*given)}


def test_a_system_sees_only_labels_of_other_groups_and_ranks_every_message_once() -> None:
    system = Recorder()
    found = ranked(system, HS, CN, {"gold": LABELS, "few": {"a": {"x": 1}, "c": {"x": 0}}}, GROUPS, 3)
    assert {*system.seen[:3]} == {("ab", "cd"), ("c", "abd"), ("d", "abc")}
    assert {*system.seen[3:]} == {("ab", "c"), ("c", "a"), ("d", "ac")}  # of the own partition
    assert {part: list(run) for part, run in found.items()} == {"gold": list("abcd"), "few": list("abcd")}
    assert learns_from_labels(system) and not learns_from_labels(LongestFirst())
    with pytest.raises(InputError, match="all 2 HS are in one leakage group"):
        ranked(system, {key: HS[key] for key in "ab"}, CN, {"gold": LABELS}, [0, 0], 3)


def test_a_fit_that_fails_is_a_reason_for_its_messages() -> None:
    found = ranked(Recorder(refused="abd"), HS, CN, {"gold": LABELS}, GROUPS, 3)["gold"]
    assert list(found) == ["a", "b", "d"] and found.failures == {"c": "fit: ValueError: no luck"}


def test_scores_for_the_message_auc_are_of_whole_groups_in_five_folds() -> None:
    queries, corpus, labels = random_labels(1, n_hs=24)
    groups = [number // 2 for number in range(24)]
    [(_, run, folds)] = rank_partitions(Popularity(), queries, corpus, {"gold": labels}, groups, 9, most_folds=5)
    scores = score_matrix(run, queries, corpus)
    assert scores.shape == (24, 9) and np.isfinite(scores).all()
    assert (folds[::2] == folds[1::2]).all() and sorted(np.bincount(folds)) == [4, 4, 4, 6, 6]
    for fold in range(5):  # all HS of a fold are ranked by one fit
        assert len(np.unique(scores[folds == fold], axis=0)) == 1
    scores = score_matrix(ranked(Recorder(refused="abd"), HS, CN, {"gold": LABELS}, GROUPS, 3)["gold"], HS, CN)
    assert scores[0].tolist() == [1.0, -np.inf, -np.inf] and np.isnan(scores[2]).all()


def test_references_by_hand() -> None:
    found = ranked(Popularity(), HS, CN, {"gold": LABELS}, GROUPS, 3)["gold"]
    # For a and b: x has 1 of 2 positives, y 1 of 1, z 1 of 2. For c: x has 3 of 3, y 0 of 2, z 1 of 2.
    assert found["a"] == found["b"] == [("y", 2 / 7), ("x", 2 / 8), ("z", 2 / 8)]
    assert found["c"] == [("x", 4 / 9), ("z", 2 / 8), ("y", 1 / 8)]
    # For d: x has 2 of 3, y 1 of 3, z 0 of 2; another prior.
    prior = ranked(Popularity(positives=2, judged=4), HS, CN, {"gold": LABELS}, GROUPS, 2)["gold"]
    assert prior["d"] == [("x", 4 / 7), ("y", 3 / 7)]
    longest = LongestFirst().rank({"a": "", "b": ""}, {"p": "four", "q": "longer", "r": "also", "s": "sixsix"}, 3)
    assert longest["a"] == longest["b"] == [("q", 6.0), ("s", 6.0), ("p", 4.0)]
    assert LongestFirst.ignores_message and Popularity.ignores_message


def test_supervised_is_a_regression_on_features_of_other_groups() -> None:
    """Every feature of every pair, by loops over labels."""
    queries, corpus, qrels = random_labels(2)
    labels = [
        LabelledPair(query, key, queries[query], corpus[key], value, int(query[1:]))
        for query, judged in qrels.items()
        for key, value in judged.items()
        if query != "h0"
    ]
    temperature, prior = 0.3, 1.5
    system = Supervised(encoder=Letters(), temperature=temperature, prior=prior, C=0.7)
    system.fit(labels)
    found = dict(system.rank({"h0": queries["h0"]}, corpus, 9)["h0"])
    texts = [*queries.values(), *corpus.values()]
    vectors = dict(zip(texts, Letters().encode(texts, role="query").astype(np.float64), strict=True))

    def alike(one: str, other: str) -> float:
        return float(np.exp((vectors[one] @ vectors[other] - 1) / temperature))

    share = (sum(label.relevance for label in labels) + 1) / (len(labels) + 6)

    def features(text: str, group: int) -> Floats:
        others = [label for label in labels if label.group != group]
        weights = {label.query_id: alike(text, label.hate_speech) for label in others}
        mean, rows = np.mean([*weights.values()]), []
        for key, cn in corpus.items():
            own = [label.relevance for label in others if label.corpus_id == key]
            near = [
                (label.relevance, weights[label.query_id] / mean * alike(cn, label.counter_narrative))
                for label in others
            ]
            above, below = sum(value * weight for value, weight in near), sum(weight for _, weight in near)
            shares = (sum(own) + 1) / (len(own) + 6), (above + prior * share) / (below + prior)
            rows.append([vectors[text] @ vectors[cn], *(np.log(each / (1 - each)) for each in shares)])
        return np.array(rows)

    table = {query: features(text, int(query[1:])) for query, text in queries.items()}
    rows = np.array([table[label.query_id][list(corpus).index(label.corpus_id)] for label in labels])
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    model = LogisticRegression(C=0.7, max_iter=1000)
    model.fit((rows - mean) / deviation, [label.relevance for label in labels])
    expected = model.decision_function((table["h0"] - mean) / deviation)
    assert found == pytest.approx(dict(zip(corpus, expected, strict=True)), rel=1e-5)
    system.fit([label._replace(relevance=0) for label in labels])
    with pytest.raises(InputError, match="found 0 positives among"):
        system.rank(queries, corpus, 3)


@pytest.mark.parametrize("make", [Popularity, lambda: Supervised(encoder=Letters())])
def test_flipping_all_labels_of_a_group_leaves_its_own_rankings_as_they_are(make: Any) -> None:
    queries, corpus, qrels = random_labels(3)
    queries["h12"], qrels["h12"] = queries["h4"].upper(), {"c1": 1, "c2": 0, "c5": 1}  # in the group of h4
    flipped = {
        query: {key: 1 - value for key, value in judged.items()} if query in ("h4", "h12") else judged
        for query, judged in qrels.items()
    }
    runs = ranked(make(), queries, corpus, {"as is": qrels, "flipped": flipped}, [*range(12), 4], 9)
    for query in queries:
        assert (runs["as is"][query] == runs["flipped"][query]) == (query in ("h4", "h12"))
