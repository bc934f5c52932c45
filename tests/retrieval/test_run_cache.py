"""Cached runs: reused only if all inputs are unchanged."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fcconan
from fcconan.data.checkpoints import Checkpoint
from fcconan.retrieval.collections import Collection
from fcconan.retrieval.lexical import BM25, BM25Fast, TfIdf
from fcconan.retrieval.run_cache import RunCache, default_folder, load_run, save_run
from fcconan.retrieval.systems import Rankings, TrainingPair
from fcconan.scoring.retrieval.evaluation import Ranking

COLLECTION = Collection(
    name="mine",
    title="Mine",
    fingerprint="0123456789ab",
    queries={"hs-a": "The Ombrey never return a book.", "hs-b": "Every Tessok cheats at cards."},
    corpus={"cn-x": "Readers return books early.", "cn-y": "Cards were banned there."},
    train=(),
    partitions={},
)
FOUND = Rankings(
    {"hs-b": [("cn-y", 0.1 + 0.2), ("cn-x", -1e-300)], "hs-a": []},
    diagnostics={"calls": 3},
    resolved={"tokens": "words", "seeds": [1, 2]},
)


class Unnamed:
    """A system without a `configuration`."""

    name = "mine"

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, Ranking]:
        return {}


@pytest.fixture
def kept(tmp_path: Path) -> RunCache:
    return RunCache(tmp_path / "cache" / "runs")


def place(kept: RunCache, system: Any = None, collection: Collection = COLLECTION, depth: int = 10) -> Checkpoint:
    checkpoint = kept.checkpoint(system or BM25(), collection, depth)
    assert checkpoint is not None
    return checkpoint


def test_a_cached_run_is_read_back_exactly(kept: RunCache) -> None:
    checkpoint = place(kept)
    assert not kept.folder.exists()
    assert load_run(checkpoint) is None
    save_run(checkpoint, FOUND)
    found = load_run(checkpoint)
    assert found is not None
    assert list(found.items()) == [("hs-b", [("cn-y", 0.1 + 0.2), ("cn-x", -1e-300)]), ("hs-a", [])]
    assert (found.failures, found.diagnostics, found.resolved) == ({}, FOUND.diagnostics, FOUND.resolved)
    assert [entry.name for entry in kept.folder.iterdir()] == [checkpoint.path.name]
    stored = json.loads(checkpoint.path.read_text(encoding="utf-8"))
    assert stored["inputs"]["configuration"] == BM25().configuration
    assert stored["value"]["resolved"] == {"tokens": "words", "seeds": [1, 2]}


def test_the_same_system_on_the_same_data_is_found_again(kept: RunCache) -> None:
    save_run(place(kept), FOUND)
    assert load_run(place(RunCache(kept.folder), BM25(), replace(COLLECTION), 10)) == FOUND
    save_run(place(kept, TfIdf(options={"min_df": 1, "binary": True})), FOUND)
    assert load_run(place(kept, TfIdf(options={"binary": True, "min_df": 1}))) == FOUND


def test_each_input_of_a_run_changes_its_checkpoint(kept: RunCache, monkeypatch: pytest.MonkeyPatch) -> None:
    reordered = {key: COLLECTION.corpus[key] for key in ("cn-y", "cn-x")}
    places = [
        place(kept),
        place(kept, BM25(k1=1.2)),
        place(kept, BM25(lowercase=True)),
        place(kept, BM25Fast("bm25")),
        place(kept, depth=11),
        place(kept, collection=replace(COLLECTION, fingerprint="0123456789ac")),
        place(kept, collection=replace(COLLECTION, corpus={"cn-x": COLLECTION.corpus["cn-x"]})),
        place(kept, collection=replace(COLLECTION, corpus=reordered)),
        place(kept, collection=replace(COLLECTION, train=(TrainingPair("hs", "cn"),))),
        place(kept, collection=replace(COLLECTION, train=(TrainingPair("hs", "another"),))),
        place(kept, collection=replace(COLLECTION, queries={"hs-a": COLLECTION.queries["hs-a"]})),
    ]
    monkeypatch.setattr(fcconan, "__version__", "99.0")
    places.append(place(kept))
    assert len({each.path for each in places}) == 12
    save_run(places[0], FOUND)
    content = places[0].path.read_bytes()
    assert [load_run(each) is None for each in places] == [False] + [True] * 11
    for each in places[1:]:  # a file of another run that was moved to the place of this one
        each.path.write_bytes(content)
        assert load_run(each) is None


def test_a_system_without_a_configuration_is_never_cached(kept: RunCache) -> None:
    assert kept.checkpoint(Unnamed(), COLLECTION, 10) is None


def test_a_run_with_failures_is_not_cached(kept: RunCache) -> None:
    checkpoint = place(kept)
    save_run(checkpoint, Rankings({"hs-a": [("cn-x", 1.0)]}, failures={"hs-b": "429"}))
    assert not kept.folder.exists()
    save_run(checkpoint, FOUND)
    before = checkpoint.path.read_bytes()
    save_run(checkpoint, Rankings(failures={"hs-b": "429"}))
    assert checkpoint.path.read_bytes() == before


def test_a_run_that_cannot_be_saved_as_it_is_costs_time_only(kept: RunCache) -> None:
    save_run(place(kept), Rankings(FOUND, diagnostics={"calls": object()}))
    assert load_run(place(kept)) is None
    kept.folder.parent.mkdir(parents=True, exist_ok=True)
    kept.folder.touch()  # a file in the place of the folder
    save_run(place(kept), FOUND)
    assert load_run(place(kept)) is None


def test_no_flipped_bit_of_a_run_changes_a_ranking(kept: RunCache, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = place(kept)
    save_run(checkpoint, FOUND)
    content = checkpoint.path.read_bytes()
    bits = range(0, 8 * len(content), 13)
    for bit in bits:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        checkpoint.path.write_bytes(damaged)
        assert load_run(checkpoint) is None
    assert capsys.readouterr().err.count("note: ") == len(bits)


def test_a_file_of_the_format_before_is_computed_again(kept: RunCache) -> None:
    checkpoint = place(kept)
    kept.folder.mkdir(parents=True)
    checkpoint.path.write_text('{"configuration": {}, "resolved": {}, "diagnostics": {}, "run": {"hs-a": []}}\n')
    assert load_run(checkpoint) is None
    save_run(checkpoint, FOUND)
    assert load_run(checkpoint) == FOUND


def test_file_names_are_readable_and_harmless(kept: RunCache) -> None:
    path = place(kept, BM25("../rr 25:1/" + "å" * 80)).path
    assert path.parent == kept.folder
    assert re.fullmatch(r"\.\._rr_25_1_å{49}-[0-9a-f]{12}\.json", path.name)
    assert place(kept, BM25("minilm+bm25")).path.name.startswith("minilm_bm25-")


def test_runs_are_kept_in_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "runs"
    monkeypatch.delenv("FCCONAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert default_folder().name == "runs"
    assert default_folder().parent.name == "fcconan"
