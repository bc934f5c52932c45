"""Systems that learn from labels of other HS: by hand, against scikit-learn, and that no label leaks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fcconan.data import balanced_folds, leakage_groups
from fcconan.errors import InputError
from fcconan.retrieval.benchmark import bench
from fcconan.retrieval.benchmark_settings import BenchmarkSettings
from fcconan.retrieval.collections import Collection, Qrels
from fcconan.retrieval.dense import Vectors
from fcconan.retrieval.label_learning import (
    LabelledPair,
    labelled_pairs,
    learns_from_labels,
    rank_held_out,
)
from fcconan.retrieval.label_systems import LongestFirst, Popularity, Supervised
from fcconan.retrieval.systems import Rankings

# The first two say the same thing, in the same letters.
HS = {
    "a": "The Ombrey never return a book.",
    "b": "the ombrey never return a BOOK",
    "c": "Every Tessok cheats at cards, says the baker.",
    "d": "Nobody needs the Velmari and their noisy markets.",
}
CN = {"x": "They do.", "y": "Cards were banned in their towns, long ago.", "z": "Ask them."}
LABELS: Qrels = {
    "a": {"x": 1, "y": 0, "z": 0},
    "b": {"x": 1, "y": 0},
    "c": {"x": 0, "y": 1, "z": 0},
    "d": {"x": 1, "z": 1},
}


def collection_of(qrels: Qrels, queries: Mapping[str, str] = HS, corpus: Mapping[str, str] = CN) -> Collection:
    return Collection("cards", "Cards", "0" * 12, queries, corpus, (), {"test": lambda: qrels})


def groups_of(queries: Mapping[str, str]) -> Any:
    return leakage_groups(list(queries.values()))


class Letters:
    """An encoder: how often six letters occur in a text, as a unit vector."""

    name = "letters"
    configuration: dict[str, Any] = {"model": "letters"}  # noqa: RUF012

    def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
        counts = np.array([[1 + text.lower().count(letter) for letter in "aeortn"] for text in texts], dtype=np.float64)
        found: Vectors = (counts / np.linalg.norm(counts, axis=1, keepdims=True)).astype(np.float32)
        return found


class Recorder:
    """A system that records its inputs and ranks only the first CN."""

    name = "recorder"

    def __init__(self) -> None:
        self.seen: list[tuple[set[str], set[str]]] = []
        self._known: set[str] = set()

    def fit(self, labels: Sequence[LabelledPair]) -> None:
        self._known = {label.query_id for label in labels}

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        self.seen.append((set(queries), self._known))
        return Rankings({query: [(next(iter(corpus)), 1.0)] for query in queries})


def random_labels(seed: int, n_hs: int = 12, n_cns: int = 9) -> Collection:
    """Labels of invented HS that share no words, three quarters of the pairs judged."""
    generator = np.random.default_rng(seed)
    words = ["".join(generator.choice(list("abcdefghijklmnopqrstuvwxyz"), 7)) for _ in range(400)]
    queries = {f"h{n}": " ".join(generator.choice(words, 6)) for n in range(n_hs)}
    corpus = {f"c{n}": " ".join(generator.choice(words, 5)) for n in range(n_cns)}
    qrels = {
        query: {key: int(generator.random() < 0.4) for key in corpus if generator.random() < 0.75} for query in queries
    }
    return collection_of(qrels, queries, corpus)


def test_the_same_message_in_other_letters_is_one_group_and_groups_are_whole_in_folds() -> None:
    groups = groups_of(HS)
    assert groups.tolist() == [0, 0, 1, 2]
    assert balanced_folds(groups.tolist(), 100).tolist() in ([0, 0, 1, 2], [0, 0, 2, 1])
    assert balanced_folds(groups.tolist(), 2).tolist() == [0, 0, 1, 1]  # two and two HS
    shuffled = [balanced_folds(np.repeat(np.arange(10), 3).tolist(), 4, seed=seed).reshape(10, 3) for seed in range(5)]
    assert all((folds == folds[:, :1]).all() for folds in shuffled)
    assert {tuple(np.bincount(folds[:, 0])) for folds in shuffled} == {(3, 3, 2, 2)}
    assert len({tuple(folds[:, 0]) for folds in shuffled}) == 5


def test_a_system_sees_only_labels_of_other_groups_and_ranks_every_message_once() -> None:
    system = Recorder()
    collection = collection_of(LABELS)
    groups = groups_of(HS)
    found = rank_held_out(
        system, collection, labelled_pairs(collection, LABELS, groups), balanced_folds(groups.tolist(), 9), 3
    )
    assert system.seen == [({"a", "b"}, {"c", "d"}), ({"c"}, {"a", "b", "d"}), ({"d"}, {"a", "b", "c"})]
    assert list(found) == list(HS)
    with pytest.raises(InputError, match="all 2 HS of cards are in one leakage group"):
        part = {key: HS[key] for key in "ab"}
        rank_held_out(system, collection_of({}, part), [], balanced_folds(groups_of(part).tolist(), 9), 3)


def test_popularity_by_hand() -> None:
    collection = collection_of(LABELS)
    groups = groups_of(HS)
    labels = labelled_pairs(collection, LABELS, groups)
    found = rank_held_out(Popularity(), collection, labels, balanced_folds(groups.tolist(), 9), 3)
    # For a and b: x has 1 of 2 positives, y 1 of 1, z 1 of 2.
    assert found["a"] == found["b"] == [("y", 2 / 7), ("x", 2 / 8), ("z", 2 / 8)]
    # For c: x has 3 of 3, y 0 of 2, z 1 of 2.
    assert found["c"] == [("x", 4 / 9), ("z", 2 / 8), ("y", 1 / 8)]
    # For d: x has 2 of 3, y 1 of 3, z 0 of 2; another prior.
    found = rank_held_out(Popularity(positives=2, judged=4), collection, labels, balanced_folds(groups.tolist(), 9), 2)
    assert found["d"] == [("x", 4 / 7), ("y", 3 / 7)]


def test_longest_first_with_ties_in_the_order_of_the_catalogue() -> None:
    found = LongestFirst().rank({"a": "", "b": ""}, {"p": "four", "q": "longer", "r": "also", "s": "sixsix"}, 3)
    assert found == {key: [("q", 6.0), ("s", 6.0), ("p", 4.0)] for key in "ab"}
    assert not learns_from_labels(LongestFirst())
    assert learns_from_labels(Popularity())


def shares_by_loop(
    asked: str, labels: list[LabelledPair], corpus: Mapping[str, str], temperature: float, prior: float
) -> dict[str, float]:
    """The weighted shares of positives, pair by pair."""

    def cosine(one: str, other: str) -> float:
        left, right = Letters().encode([one, other], role="query").astype(np.float64)
        return float(left @ right)

    known = {label.query_id: label.hate_speech for label in labels}
    weights = {query: np.exp((cosine(asked, text) - 1) / temperature) for query, text in known.items()}
    mean = sum(weights.values()) / len(weights)
    share = (sum(label.relevance > 0 for label in labels) + 1) / (len(labels) + 6)
    found = {}
    for key, text in corpus.items():
        above, below = prior * share, prior
        for label in labels:
            alike = np.exp((cosine(text, label.counter_narrative) - 1) / temperature)
            weight = weights[label.query_id] / mean * alike
            above += weight * (label.relevance > 0)
            below += weight
        found[key] = above / below
    return found


def test_supervised_is_scikit_learns_regression_on_features_of_other_groups() -> None:
    collection = random_labels(2)
    groups = groups_of(collection.queries)
    labels = [label for label in labelled_pairs(collection, collection.qrels("test"), groups) if label.group]
    corpus = collection.corpus
    system = Supervised(encoder=Letters(), temperature=0.3, prior=1.5, C=0.7)
    system.fit(labels)
    found = dict(system.rank({"h0": collection.queries["h0"]}, corpus, 9)["h0"])

    def features(text: str, own: int) -> dict[str, list[float]]:
        others = [label for label in labels if label.group != own]
        shares = shares_by_loop(text, others, corpus, 0.3, 1.5)
        # The overall share of positives is that of all labels.
        whole = (sum(label.relevance for label in labels) + 1) / (len(labels) + 6)
        part = (sum(label.relevance for label in others) + 1) / (len(others) + 6)
        rows = {}
        for key in corpus:
            of_cn = [label.relevance for label in others if label.corpus_id == key]
            popularity = (sum(of_cn) + 1) / (len(of_cn) + 6)
            left, right = Letters().encode([text, corpus[key]], role="query").astype(np.float64)
            total = shares_total(text, others, corpus, key)
            share = shares[key] + 1.5 * (whole - part) / (total + 1.5)
            rows[key] = [float(left @ right), *(np.log(p / (1 - p)) for p in (popularity, share))]
        return rows

    def shares_total(text: str, others: list[LabelledPair], corpus: Mapping[str, str], key: str) -> float:
        encoded = Letters().encode([text, corpus[key]], role="query").astype(np.float64)
        known = {label.query_id: label.hate_speech for label in others}
        weights = {
            query: np.exp((float(encoded[0] @ Letters().encode([one], role="query")[0]) - 1) / 0.3)
            for query, one in known.items()
        }
        mean = sum(weights.values()) / len(weights)
        return float(
            sum(
                weights[label.query_id]
                / mean
                * np.exp((float(encoded[1] @ Letters().encode([label.counter_narrative], role="query")[0]) - 1) / 0.3)
                for label in others
            )
        )

    table = {group: features(collection.queries[f"h{group}"], group) for group in range(12)}
    rows = np.array([table[label.group][label.corpus_id] for label in labels])
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    model = LogisticRegression(C=0.7, max_iter=1000).fit(
        (rows - mean) / deviation, [label.relevance > 0 for label in labels]
    )
    asked = (np.array(list(table[0].values())) - mean) / deviation
    expected = dict(zip(corpus, model.decision_function(asked), strict=True))
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("make", [Popularity, Supervised])
def test_flipping_all_labels_of_a_group_leaves_its_own_rankings_as_they_are(make: Any) -> None:
    collection = random_labels(3)
    queries = dict(collection.queries) | {"h12": collection.queries["h4"].upper()}  # the group of h4 has two HS
    qrels = collection.qrels("test") | {"h12": {"c1": 1, "c2": 0, "c5": 1}}
    flipped = {
        query: {key: 1 - value for key, value in judged.items()} if query in ("h4", "h12") else judged
        for query, judged in qrels.items()
    }
    system = make() if make is Popularity else make(encoder=Letters())
    groups = groups_of(queries)
    runs = []
    for labels in (qrels, flipped):
        one = collection_of(labels, queries, collection.corpus)
        runs.append(
            rank_held_out(system, one, labelled_pairs(one, labels, groups), balanced_folds(groups.tolist(), 99), 9)
        )
    assert runs[0]["h4"] == runs[1]["h4"]
    assert runs[0]["h12"] == runs[1]["h12"]
    assert runs[0]["h5"] != runs[1]["h5"]


def test_supervised_refuses_labels_of_one_kind_and_protocol_sound_refuses_supervised() -> None:
    collection = random_labels(4)
    groups = groups_of(collection.queries)
    labels = labelled_pairs(collection, collection.qrels("test"), groups)
    system = Supervised(encoder=Letters())
    system.fit([label._replace(relevance=0) for label in labels])
    with pytest.raises(InputError, match="found 0 positives among"):
        system.rank(collection.queries, collection.corpus, 3)
    settings = BenchmarkSettings(metrics=("mrr@3",), k=3, resamples=100).resolve(collection_of(LABELS))
    with pytest.raises(InputError, match="use --protocol cross-validated"):
        bench(collection_of(LABELS), [Supervised(encoder=Letters())], settings)


SETTINGS = BenchmarkSettings(protocol="cross-validated", metrics=("ndcg@3",), k=3, resamples=100, repeats=4)


def test_a_benchmark_of_systems_that_learn() -> None:
    collection = random_labels(5)
    systems: list[Any] = [
        LongestFirst(),
        Popularity(),
        Supervised("penalised", encoder=Letters(), C=0.1),
        Supervised(encoder=Letters()),
    ]
    settings = SETTINGS.resolve(collection)
    result, details = bench(collection, systems, settings)
    again, _ = bench(collection, systems, settings)
    assert result == again
    flags = {name: (one.get("uses_labels"), one.get("ignores_message")) for name, one in result["systems"].items()}
    assert flags == {
        "longest": (None, True),
        "popularity": (True, True),
        "penalised": (True, None),
        "supervised": (True, None),
    }
    for name in ("longest", "popularity"):
        assert result["systems"][name]["message_auc"]["test"]["value"] == 0.5
    assert "|folds:100-and-4x5-by-leakage-group" in result["signature"]
    assert result["chance"]["judged_only"]["test"]["ndcg@3"] > result["chance"]["partitions"]["test"]["ndcg@3"]
    pairs = {(row["a"], row["b"]) for row in result["message_auc_differences"]}
    assert pairs == {("penalised", "supervised")}
    compared = {(row["a"], row["b"]): row for row in result["comparisons"]}
    row = compared["popularity", "supervised"]
    on_judged = [result["systems"][name]["judged_only"]["test"]["ndcg@3"] for name in ("popularity", "supervised")]
    assert row["judged_only"]["difference"] == pytest.approx(on_judged[0] - on_judged[1], abs=1e-9)
    assert row["two_way"][0] < row["difference"] < row["two_way"][1]
    groups = groups_of(collection.queries)
    labels = labelled_pairs(collection, collection.qrels("test"), groups)
    alone = rank_held_out(Popularity(), collection, labels, balanced_folds(groups.tolist(), 100), 9)
    assert details["scores"]["popularity.test"] == alone


def test_a_score_on_judged_pairs_is_that_of_the_ranking_without_the_others() -> None:
    corpus = {key: f"text {key}" for key in "pqrstu"}
    qrels: Qrels = {"a": {"q": 1, "s": 0}, "c": {"p": 0, "u": 1, "t": 1}, "d": {"s": 0}}

    class Fixed:
        name = "fixed"

        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
            order = [(key, float(-place)) for place, key in enumerate("pqrstu")]
            return Rankings(dict.fromkeys(queries, order))

    queries = {key: HS[key] for key in "acd"}
    settings = BenchmarkSettings(metrics=("mrr@2", "accuracy@2"), k=2, resamples=100)
    result, _ = bench(collection_of(qrels, queries, corpus), [Fixed()], settings)
    one = result["systems"]["fixed"]
    # All CNs: q is second for a, t fifth for c. Judged only: q, s for a; p, t, u for c; d has no positive.
    assert one["partitions"]["test"]["mrr@2"] == 0.25
    assert one["judged_only"] == {"test": {"mrr@2": 0.75}}
    # A random order: 1 of 2 for a: (1 + 1/2) / 2. 2 of 3 for c: first with 2/3, else second.
    expected = ((1 + 0.5) / 2 + (2 / 3 + (1 / 3) * 0.5)) / 2
    assert result["chance"]["judged_only"]["test"]["mrr@2"] == pytest.approx(expected)


class Keeper:
    """A system that wrongly remembers earlier labels."""

    name = "keeper"

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], int] = {}

    def fit(self, labels: Sequence[LabelledPair]) -> None:
        self.seen |= {(label.query_id, label.corpus_id): label.relevance for label in labels}

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        return Rankings({query: [(key, float(self.seen.get((query, key), 0))) for key in corpus] for query in queries})


def test_a_system_that_remembers_earlier_labels_is_refused() -> None:
    collection = random_labels(8)
    with pytest.raises(InputError, match="keeper ranks h0 differently when it is fitted on the same labels again"):
        bench(collection, [Keeper()], SETTINGS.resolve(collection))


def test_a_system_that_says_it_ignores_the_message_is_checked() -> None:
    collection = random_labels(8)
    learner, plain = Recorder(), LongestFirst()
    learner.ignores_message = True  # type: ignore[attr-defined]
    bench(collection, [learner], SETTINGS.resolve(collection))  # it does

    def by_length(queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        return Rankings(
            {query: [(key, float(len(query) + len(text))) for key in corpus] for query, text in queries.items()}
        )

    for system in (learner, plain):
        system.rank = by_length  # type: ignore[method-assign]
        with pytest.raises(InputError, match="ignores_message = True but ranks CNs differently"):
            bench(collection, [system], SETTINGS.resolve(collection))
    with pytest.raises(InputError, match="use --protocol cross-validated"):
        bench(collection, [learner], replace(SETTINGS, protocol="sound").resolve(collection))


def test_a_fit_that_fails_leaves_the_other_systems_alone() -> None:
    collection = random_labels(9)

    class Broken(Recorder):
        name = "broken"

        def fit(self, labels: Sequence[LabelledPair]) -> None:
            raise ValueError("no luck")

    result, _ = bench(collection, [Broken(), Popularity()], SETTINGS.resolve(collection))
    assert result["failed"] == {"broken": "fit: ValueError: no luck"}
    assert list(result["systems"]) == ["popularity"]


def test_the_run_of_a_system_that_learns_is_one_for_each_partition() -> None:
    whole = random_labels(10)
    few = {query: dict(list(judged.items())[:3]) for query, judged in whole.qrels("test").items()}
    collection = whole.with_partition("few", lambda: few)
    result, details = bench(collection, [Popularity(), LongestFirst()], SETTINGS.resolve(collection))
    assert list(details["scores"]) == ["popularity.test", "popularity.few", "longest"]
    for part in ("test", "few"):
        alone = replace(collection, partitions={"test": collection.partitions[part]})
        again, found = bench(alone, [Popularity()], SETTINGS.resolve(alone))
        assert details["scores"][f"popularity.{part}"] == found["scores"]["popularity.test"]
        values = [one["systems"]["popularity"]["partitions"] for one in (result, again)]
        assert values[0][part]["ndcg@3"] == values[1]["test"]["ndcg@3"]
    assert any("A report shows the rankings for few" in note for note in result["notes"])
