"""Retrieval as a way to answer, with a scripted retriever and those of the suite."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from fcconan.data import ids
from fcconan.errors import InputError
from fcconan.generation.retrieval_baseline import RetrievedCandidates
from fcconan.generation.training_pool import TrainingPool
from fcconan.retrieval import factories, suites
from fcconan.retrieval.dense import Vectors
from fcconan.retrieval.systems import Rankings
from fcconan.scoring.retrieval.evaluation import Ranking
from tests.generation.test_examples import item, made

OMBREY, TESSOK, VELMARI = (
    "The Ombrey never return a book",
    "Every Tessok cheats at cards",
    "Nobody needs Velmari bakers",
)
PAIRS = [
    made(OMBREY, "They return every book early", code="1"),
    made(OMBREY, "Which book, and when", code="1"),
    made(TESSOK, "Nobody cheats at cards where there are none", code="2"),
    made("Tessok and their cards", "Which book, and when", code="2"),
    made(VELMARI, "Everybody eats their bread", code="3"),
]


class Scripted:
    """Ranks the catalogue in its order, for every query alike, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, left_out: str = "") -> None:
        self.asked: list[tuple[dict[str, str], list[str], int]] = []
        self._left_out = left_out

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Mapping[str, Ranking]:
        self.asked.append((dict(queries), list(corpus.values()), k))
        ranking = [(key, float(-place)) for place, key in enumerate(corpus)][:k]
        failures = {key: "no answer" for key, text in queries.items() if text == self._left_out}
        return Rankings({key: ranking for key in queries if key not in failures}, failures=failures)


def texts(catalogue: RetrievedCandidates, message: str, *references: str, code: str = "") -> list[str]:
    return [each.counter_narrative for each in catalogue.find(item(message, *references, code=code))]


def test_all_items_are_ranked_at_once_and_deep_enough() -> None:
    system = Scripted()
    catalogue = RetrievedCandidates(TrainingPool(PAIRS), system, k=2)
    asked = [item(OMBREY, code="1"), item(TESSOK, code="2"), item("The Dravene sing", code="9")]
    catalogue.prepare(asked)
    # Four distinct CNs. Excluded for the Ombrey are their two CNs and, with these, the third pair of the Tessok: two
    # CNs. For the Tessok they are two as well. So the depth is two and two.
    queries, corpus, depth = system.asked[0]
    assert list(queries.values()) == [OMBREY, TESSOK, "The Dravene sing"]
    assert corpus == [PAIRS[place].counter_narrative for place in (0, 1, 2, 4)]
    assert depth == 4
    assert texts(catalogue, OMBREY, code="1") == [PAIRS[2].counter_narrative, PAIRS[4].counter_narrative]
    assert texts(catalogue, TESSOK, code="2") == [PAIRS[0].counter_narrative, PAIRS[4].counter_narrative]
    assert texts(catalogue, "The Dravene sing", code="9") == [PAIRS[0].counter_narrative, PAIRS[1].counter_narrative]
    assert len(system.asked) == 1
    first = catalogue.find(asked[1])[0]
    assert (first.pair_id, first.cn_id, first.score) == (PAIRS[0].pair_id, PAIRS[0].cn_id, 0.0)


def test_an_item_that_was_not_prepared_is_ranked_alone() -> None:
    system = Scripted()
    catalogue = RetrievedCandidates(TrainingPool(PAIRS), system)
    assert texts(catalogue, OMBREY, code="1") == [PAIRS[2].counter_narrative]
    assert [list(queries.values()) for queries, _, _ in system.asked] == [[OMBREY]]


def test_references_are_left_out_in_whatever_spelling() -> None:
    catalogue = RetrievedCandidates(TrainingPool(PAIRS), Scripted())
    assert texts(catalogue, "The Dravene sing", "they return EVERY book, early!", code="9") == [
        PAIRS[1].counter_narrative
    ]


def test_own_cns_are_left_in_where_finding_them_is_the_task() -> None:
    catalogue = RetrievedCandidates(TrainingPool(PAIRS), "tfidf", own=True)
    assert texts(catalogue, OMBREY, code="1") == ["They return every book early"]
    assert catalogue.configuration["own"] is True
    assert texts(RetrievedCandidates(TrainingPool(PAIRS), "tfidf"), OMBREY, code="1") == [PAIRS[2].counter_narrative]


def test_the_catalogue_of_a_benchmark_without_what_fits_is_refused() -> None:
    """Of what is left, people found that it does not fit."""
    asked = [item(OMBREY, PAIRS[0].counter_narrative, code="1"), item(TESSOK, "Another CN", code="2")]
    alone = [made("", pair.counter_narrative) for pair in PAIRS]
    for pairs in (PAIRS, alone):
        judged = TrainingPool(pairs, judged=True)
        with pytest.raises(InputError, match=r"^the pool has CNs labelled for 1 of the 2 .*: give --allow-own-cns"):
            RetrievedCandidates(judged, Scripted()).prepare(asked)
        RetrievedCandidates(judged, Scripted()).prepare(asked[1:])
    # A CN that is there for other messages only.
    RetrievedCandidates(TrainingPool(PAIRS, judged=True), Scripted()).prepare(
        [item("The Dravene sing", PAIRS[0].counter_narrative)]
    )
    for pairs in (PAIRS, alone):
        judged = TrainingPool(pairs, judged=True)
        RetrievedCandidates(TrainingPool(pairs), Scripted()).prepare(asked)
        catalogue = RetrievedCandidates(judged, Scripted(), own=True)
        assert catalogue.find(asked[0])[0].counter_narrative == PAIRS[0].counter_narrative


def test_near_copies_are_left_out_with_their_cns() -> None:
    pool = TrainingPool([*PAIRS, made("Tessok sing", "They return every book early")])
    assert texts(RetrievedCandidates(pool, Scripted(), k=9), "The Ombrey never return any book", code="9") == [
        PAIRS[place].counter_narrative for place in (2, 4)
    ]


def test_too_few_and_failures_are_told() -> None:
    catalogue = RetrievedCandidates(TrainingPool(PAIRS), Scripted(left_out=TESSOK), k=3)
    catalogue.prepare([item(OMBREY, code="1"), item(TESSOK, code="2")])
    assert texts(catalogue, TESSOK, code="2") == []
    assert len(texts(catalogue, OMBREY, code="1")) == 2
    assert catalogue.failures == {f"it-{TESSOK}": "no answer"}


@pytest.mark.parametrize("name", ["random", "tfidf", "bm25", "bm25-fast"])
def test_systems_of_the_suite(name: str) -> None:
    asked = [item(OMBREY, code="1"), item("Nobody needs the bread of Velmari", code="9")]
    found = []
    for _ in range(2):
        catalogue = RetrievedCandidates(TrainingPool(PAIRS), name, k=1)
        catalogue.prepare(asked)
        found.append([catalogue.find(each) for each in asked])
        assert catalogue.configuration["retriever"] == name
        assert catalogue.configuration["catalogue"] == 4
        assert "fit_on" not in catalogue.configuration["system"]
    assert found[0] == found[1]
    excluded = {ids.make_cn_id(PAIRS[place].counter_narrative) for place in (0, 1)}
    assert not excluded & {each.cn_id for each in found[0][0]}
    if name != "random":
        assert [each.counter_narrative for each in found[0][1]] == ["Everybody eats their bread"]


def test_systems_that_learn_learn_from_pairs_that_are_kin_of_no_item(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    class Learns(Scripted):
        def __init__(self, train: list[tuple[str, str]]) -> None:
            super().__init__()
            seen.append([message for message, _ in train])

    module = type("Module", (), {"Learns": Learns})
    monkeypatch.setattr(factories, "import_module", lambda _: module)
    catalogue = RetrievedCandidates(TrainingPool(PAIRS), "mine:Learns")
    catalogue.prepare([item(OMBREY, code="1"), item("The Dravene sing", code="9")])
    # When made, to see that it can be; then without the Ombrey's pairs and the one that shares a CN with them.
    assert seen == [[pair.hate_speech for pair in PAIRS], [TESSOK, VELMARI]]
    assert catalogue.configuration["learns_from"] == "pairs outside of the leakage groups of all items"


@pytest.mark.parametrize("model", ["minilm", "owner/model", "folder"])
def test_models_by_name(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Length:
        """Turns a text into a vector by its number of words."""

        name = "length"

        def __init__(self, model: str, **options: object) -> None:
            self.configuration = {"model": model, **options}

        def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
            angles = np.array([len(text.split()) / 10 for text in texts])
            return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    monkeypatch.setattr(suites, "SentenceEncoder", Length)
    named = str(tmp_path) if model == "folder" else model
    catalogue = RetrievedCandidates(TrainingPool(PAIRS), named, k=2)
    # The Ombrey's message has six words; of the CNs that are left, one has eight and one four. Kin has five.
    assert sorted(texts(catalogue, OMBREY, code="1")) == ["Everybody eats their bread", PAIRS[2].counter_narrative]
    assert texts(catalogue, "Quillish towns have no streets", code="9") == [
        PAIRS[0].counter_narrative,
        PAIRS[1].counter_narrative,
    ]
    assert catalogue.configuration["system"]["encoder"]["model"] == named


def test_bad_input() -> None:
    with pytest.raises(InputError, match="unknown system 'tf-idf': did you mean 'tfidf'"):
        RetrievedCandidates(TrainingPool(PAIRS), "tf-idf")
    catalogue = RetrievedCandidates(TrainingPool(PAIRS), Scripted())
    catalogue.prepare([])
