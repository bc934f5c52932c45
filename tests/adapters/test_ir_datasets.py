import sys
from pathlib import Path
from typing import Any

import pytest

from fcconan import Bootstrap, bench
from fcconan.errors import InputError
from fcconan.retrieval import load_collection
from fcconan.retrieval.adapters.ir_datasets import register


@pytest.fixture(scope="module")
def ir_datasets() -> Any:
    """Imported where it is used: other processes that share the tests need not wait for it."""
    import ir_datasets

    return ir_datasets


@pytest.fixture
def registered(ir_datasets: Any, demo: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The demo under a name of its own, in a registry of its own."""
    monkeypatch.setattr(ir_datasets, "registry", ir_datasets.util.Registry())
    return register(str(demo), "made-up")


def test_rows_are_those_of_the_folder(ir_datasets: Any, demo: Path, registered: list[str]) -> None:
    collection = load_collection(str(demo))
    assert registered == ["made-up", *(f"made-up/{tier}" for tier in ("diamond", "gold", "silver", "bronze"))]
    for tier in collection.partitions:
        dataset: Any = ir_datasets.load(f"made-up/{tier}")
        assert {doc.doc_id: doc.text for doc in dataset.docs_iter()} == collection.corpus
        assert {query.query_id: query.text for query in dataset.queries_iter()} == collection.queries
        assert dataset.qrels_dict() == collection.partitions[tier]
        assert dataset.qrels_defs().keys() == {qrel.relevance for qrel in dataset.qrels_iter()}


def test_counts_types_lookups_and_slices_are_as_for_any_dataset_of_the_library(
    ir_datasets: Any, registered: list[str]
) -> None:
    gold: Any = ir_datasets.load("made-up/gold")
    assert (gold.docs_count(), gold.queries_count(), gold.qrels_count()) == (60, 24, 973)
    assert (len(gold.docs), len(gold.queries), len(gold.qrels)) == (60, 24, 973)
    assert (gold.docs_cls()._fields, gold.queries_cls()._fields) == (("doc_id", "text"), ("query_id", "text"))
    assert gold.qrels_cls()._fields == ("query_id", "doc_id", "relevance")
    assert (gold.docs_lang(), gold.docs_namespace(), gold.dataset_id()) == ("en", "made-up", "made-up/gold")
    docs = list(gold.docs_iter())
    assert list(gold.docs_iter()[10:30:5]) == docs[10:30:5]
    assert gold.docs_iter()[-1] == docs[-1]
    store = gold.docs_store()
    assert store.get(docs[3].doc_id) == docs[3]
    assert store.get_many([docs[1].doc_id, "nothing"]) == {docs[1].doc_id: docs[1]}
    assert gold.docs.lookup(docs[7].doc_id).default_text() == docs[7].text
    assert gold.metadata() == {
        "docs": {"count": 60},
        "queries": {"count": 24},
        "qrels": {"count": 973, "fields": {"relevance": {"counts_by_value": {"0": 841, "1": 132}}}},
    }
    assert gold.documentation()["pretty_name"] == "fcconan demo"
    texts: Any = ir_datasets.load("made-up")
    assert (texts.has_docs(), texts.has_queries(), texts.has_qrels()) == (True, True, False)
    assert ir_datasets.docs_parent_id("made-up/gold") == "made-up"


def test_a_beir_folder_has_a_subset_for_each_file_of_qrels(
    ir_datasets: Any, beir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ir_datasets, "registry", ir_datasets.util.Registry())
    assert register(str(beir)) == ["shelves", "shelves/dev", "shelves/test"]
    dev: Any = ir_datasets.load("shelves/dev")
    assert [tuple(doc) for doc in dev.docs_iter()[:1]] == [("c1", "Ask the library.")]
    assert dev.qrels_dict() == {"q2": {"c1": 0, "c2": 1, "c3": 0}}
    assert ir_datasets.load("shelves/test").qrels_dict() == {"q1": {"c1": 1, "c3": 1}}
    assert (dev.queries_count(), dev.docs_lang(), dev.documentation()) == (2, "en", {"pretty_name": "shelves"})


def test_figures_of_ir_measures_are_ours(ir_datasets: Any, demo: Path, registered: list[str]) -> None:
    import ir_measures

    collection = load_collection(str(demo))
    # No two scores of a query are equal, so that the rules for ties, which differ, do not matter.
    run = {
        query: [(key, float(abs(hash_of(text) - hash_of(hate)))) for key, text in collection.corpus.items()]
        for query, hate in collection.queries.items()
    }
    flat = [ir_measures.ScoredDoc(query, key, score) for query, ranking in run.items() for key, score in ranking]
    names = {"nDCG@10": "ndcg@10", "AP@10": "map@10", "RR@10": "mrr@10", "R@10": "recall@10", "P@10": "precision@10"}
    measures = [ir_measures.parse_measure(name) for name in [*names, "Success@10"]]
    names |= {"Success@10": "hit_rate@10"}

    class Mine:
        name = "mine"

        def rank(self, *_: Any) -> Any:
            return run

    scores = bench(demo, system=Mine(), metric=(*names.values(),), bootstrap=Bootstrap(resamples=0)).to_frame("scores")
    for tier in ("diamond", "bronze"):
        dataset: Any = ir_datasets.load(f"made-up/{tier}")
        found = ir_measures.calc_aggregate(measures, dataset.qrels_iter(), flat)
        own = scores[(scores["system"] == "mine") & (scores["partition"] == tier)].set_index("metric")["value"]
        assert {str(measure): value for measure, value in found.items()} == pytest.approx(
            {theirs: own[ours] for theirs, ours in names.items()}
        )


def test_without_the_library_one_line_says_what_to_install(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets.formats", None)
    with pytest.raises(InputError, match=r"^ir_datasets cannot be imported \(.*\): run `pip install ir_datasets`$"):
        register(str(demo))


def hash_of(text: str) -> int:
    import hashlib

    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")


def test_a_name_is_given_once(demo: Path, registered: list[str]) -> None:
    with pytest.raises(InputError) as raised:
        register(str(demo), "made-up")
    assert str(raised.value) == "ir_datasets has a dataset 'made-up' already: give this one another name"
    assert register(str(demo))[0] == "demo"
