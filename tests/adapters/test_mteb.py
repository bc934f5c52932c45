import hashlib
import math
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan import Bootstrap, bench
from fcconan.building import table_path
from fcconan.errors import InputError
from fcconan.retrieval import load_collection
from fcconan.retrieval.adapters.mteb import SearchModel, task, tasks
from tests.adapters.encoders import VectorEncoder, Vectors

# What mteb calls a metric, and what `bench` does.
SAME = {
    "ndcg": "ndcg",
    "map": "map",
    "mrr": "mrr",
    "recall": "recall",
    "precision": "precision",
    "hit_rate": "hit_rate",
}


def vector(text: str) -> Vectors:
    """Eight numbers that follow from a text; no two similarities are equal."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=8)


class Encoder(VectorEncoder):
    name = "eight-numbers"

    def vector(self, text: str) -> Vectors:
        return vector(text)


def evaluated(made: Any) -> dict[str, float]:
    """What `mteb.evaluate` calls for each task (docs/consuming.md runs that), without importing every model first."""
    return dict(made.evaluate(Encoder(), "test", encode_kwargs={})["default"])


class ByVectors:
    name = "by-vectors"

    def rank(self, queries: Any, corpus: Any, k: int) -> Any:
        catalogue = {key: vector(text) for key, text in corpus.items()}
        return {
            query: [(key, float(vector(text) @ each)) for key, each in catalogue.items()]
            for query, text in queries.items()
        }


def _scores(folder: Path, metrics: list[str], protocol: Any) -> dict[str, dict[str, float]]:
    found = bench(folder, system=ByVectors(), metric=(*metrics,), protocol=protocol, bootstrap=Bootstrap(resamples=0))
    table = found.to_frame("scores").query("system == 'by-vectors'")
    return {part: dict(zip(own["metric"], own["value"], strict=True)) for part, own in table.groupby("partition")}


@pytest.mark.long
def test_figures_are_those_of_our_own_evaluation_on_every_tier(demo: Path) -> None:
    collection = load_collection(str(demo))
    metrics = [f"{name}@{k}" for name in SAME.values() for k in (5, 10)]
    scores = _scores(demo, metrics, "sound")
    made = {each.metadata.name: each for each in tasks(str(demo))}
    assert list(made) == [f"Demo{tier}Retrieval" for tier in ("Diamond", "Gold", "Silver", "Bronze")]
    seen = set()
    for tier, each in zip(collection.partitions, made.values(), strict=True):
        found = evaluated(each)
        own = scores[tier]
        assert {name: found[f"{name}_at_{k}"] for k in (5, 10) for name in SAME} == pytest.approx(
            {name: own[f"{ours}@{k}"] for k in (5, 10) for name, ours in SAME.items()}, abs=1e-5
        )
        assert found["main_score"] == found["ndcg_at_10"]
        seen.add(found["ndcg_at_10"])
    assert len(seen) == 4


class Last:
    """The last CN of the catalogue first."""

    name = "last"

    def rank(self, queries: Any, corpus: Any, k: int) -> Any:
        return {query: [(key, float(place)) for place, key in enumerate(corpus)][::-1][:k] for query in queries}


def test_a_system_in_a_beir_folder_scores_as_in_bench(beir: Path) -> None:
    from mteb.models import SearchProtocol

    model = SearchModel(Last())
    assert isinstance(model, SearchProtocol)
    assert model.mteb_model_meta.name == "own/last"
    made = {each.metadata.name: each.evaluate(model, "test", encode_kwargs={})["default"] for each in tasks(str(beir))}
    assert list(made) == ["ShelvesDevRetrieval", "ShelvesTestRetrieval"]
    # c3, c2, c1: the positive of dev is second, those of test are first and third.
    ideal = 1 + 1 / math.log2(3)
    expected = {"dev": 1 / math.log2(3), "test": (1 + 1 / 2) / ideal}
    found = [each["ndcg_at_10"] for each in made.values()]
    assert found == pytest.approx([*expected.values()], abs=1e-5)
    own = bench(beir, system=Last(), metric=("ndcg@10",), bootstrap=Bootstrap(resamples=0))
    scores = own.to_frame("scores").query("system == 'last' and metric == 'ndcg@10'").set_index("partition")["value"]
    assert scores.to_dict() == pytest.approx(expected)
    assert own.identity["primary"] == "ndcg@10@test"  # though dev has more judgements
    assert task(str(beir)).metadata.name == "ShelvesTestRetrieval"


def test_a_system_without_a_ranking_is_an_error_in_mteb(beir: Path) -> None:
    class Silent(Last):
        def rank(self, queries: Any, corpus: Any, k: int) -> Any:
            raise RuntimeError("no index")

    with pytest.raises(InputError, match="last ranks nothing for 1 queries, such as q1: RuntimeError: no index"):
        task(str(beir), "test").evaluate(SearchModel(Silent()), "test", encode_kwargs={})


def test_protocol_paper_ranks_the_pool_and_counts_queries_without_a_positive(demo: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(demo, tmp_path / "demo"))
    file = folder / table_path("diamond-qrels", "test")
    table = pq.read_table(file)
    silent, wrong = sorted(set(table["query-id"].to_pylist()))[:2]
    rows = [row for row in table.to_pylist() if row["query-id"] != silent]
    rows = [row | ({"score": 0} if row["query-id"] == wrong else {}) for row in rows]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)
    own = _scores(folder, ["ndcg@10"], "paper")["diamond"]["ndcg@10"]
    assert evaluated(task(str(folder), "diamond", protocol="paper"))["ndcg_at_10"] == pytest.approx(own, abs=1e-5)


def test_metadata_say_what_the_card_says_and_leave_open_what_it_does_not(demo: Path) -> None:
    settings = task(str(demo), "gold").metadata
    assert settings.dataset == {"path": str(demo), "revision": load_collection(str(demo)).fingerprint}
    assert (settings.license, settings.eval_langs, settings.annotations_creators) == (
        "apache-2.0",
        ["eng-Latn"],
        "automatic",
    )
    assert settings.bibtex_citation.startswith("@misc{fcconan-demo,")
    assert (settings.date, settings.dialect, settings.contributed_by, settings.is_public) == (None, None, None, True)
    assert "Synthetic data." in settings.description
    assert "60 CNs" in settings.description


def test_without_the_library_one_line_says_what_to_install(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb.abstasks.retrieval", None)
    with pytest.raises(InputError, match=r"^mteb cannot be imported \(.*\): run `pip install 'mteb>=2'`$"):
        task(str(demo))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tier": "platinum"}, "has no tier 'platinum': give one of diamond, gold, silver, bronze"),
        ({"protocol": "fast"}, "unknown protocol 'fast': give sound or paper"),
        ({"revision": "v1"}, "is a local folder and has no revision 'v1': leave it out"),
    ],
)
def test_what_is_not_there_is_said(demo: Path, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as raised:
        task(str(demo), **arguments)
    assert str(raised.value).endswith(message)
