"""`mteb` evaluates an encoder on a built folder, offline, and finds what a few lines of our own find."""

import hashlib
import math
import socket
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.adapters.encoders import VectorEncoder, Vectors
from tests.upstream import oracle
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream

TIERS = ("diamond", "gold", "silver", "bronze")
SIZE = 512


@cache
def _vector(text: str) -> Vectors:
    """Counts of hashed words. Products of counts are whole numbers, so that ties are ties on every machine."""
    words = [int(hashlib.sha256(word.encode()).hexdigest(), 16) % SIZE for word in text.lower().split()]
    return np.bincount(words, minlength=SIZE).astype(np.float64)


class HashedWords(VectorEncoder):
    name = "hashed-words"

    def vector(self, text: str) -> Vectors:
        return _vector(text)


def _task(folder: Path, subsets: tuple[str, ...]) -> Any:
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    languages: Any = {subset: ["eng-Latn"] for subset in subsets} if subsets else ["eng-Latn"]
    settings = TaskMetadata(
        name="FCConanTiers" if subsets else "FCConan",
        description="Retrieval of counter-narratives.",
        reference=None,
        dataset={"path": str(folder), "revision": "local"},
        type="Retrieval",
        category="t2t",
        eval_splits=["test"],
        eval_langs=languages,
        main_score="ndcg_at_10",
    )
    return type("FCConan", (AbsTaskRetrieval,), {"metadata": settings})()


def _ndcg_at_10(folder: Path, qrels_config: str) -> float:
    """Mean over the judged queries; equal scores are ordered as trec_eval does, the greater id first."""
    corpus = {row["_id"]: _vector(row["text"]) for row in oracle.rows(folder, "corpus", "test")}
    queries = {row["_id"]: _vector(row["text"]) for row in oracle.rows(folder, "queries", "test")}
    qrels: dict[str, dict[str, int]] = {}
    for row in oracle.rows(folder, qrels_config, "test"):
        qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = row["score"]
    values = []
    for query, judged in qrels.items():
        ranked = sorted(corpus, key=lambda cn: (float(corpus[cn] @ queries[query]), cn), reverse=True)[:10]
        gain = sum(judged.get(cn, 0) / math.log2(rank + 1) for rank, cn in enumerate(ranked, start=1))
        ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(10, sum(judged.values())) + 1))
        values.append(gain / ideal if ideal else 0.0)
    return sum(values) / len(values)


def _evaluate(folder: Path, subsets: tuple[str, ...]) -> dict[str, float]:
    import mteb

    encoder: Any = HashedWords()
    results = mteb.evaluate(encoder, _task(folder, subsets), cache=None, show_progress_bar=False)
    return {scores["hf_subset"]: scores["ndcg_at_10"] for scores in results.task_results[0].scores["test"]}


@pytest.mark.long
def test_mteb_agrees_on_every_tier(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("mteb reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    folder = release("fc-conan")
    found = _evaluate(folder, TIERS)
    expected = {tier: _ndcg_at_10(folder, "qrels" if tier == "bronze" else f"{tier}-qrels") for tier in TIERS}
    assert found == pytest.approx(expected, abs=1e-5)
    assert len(set(found.values())) == 4
    assert _evaluate(folder, ()) == pytest.approx({"default": expected["bronze"]}, abs=1e-5)
