"""Finished runs on disk: reused only where nothing that changes them has changed."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fcconan
from fcconan.retrieve.collection import Collection
from fcconan.retrieve.kept import KeptRuns, default_folder
from fcconan.retrieve.lexical import BM25, BM25Fast, TfIdf
from fcconan.retrieve.system import Ranking, Rankings, TrainingPair

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
    """A system that does not say what changes its output."""

    name = "mine"

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, Ranking]:
        return {}


@pytest.fixture
def kept(tmp_path: Path) -> KeptRuns:
    return KeptRuns(tmp_path / "cache" / "runs")


def place(kept: KeptRuns, system: Any = None, collection: Collection = COLLECTION, depth: int = 10) -> Path:
    path = kept.path(system or BM25(), collection, depth)
    assert path is not None
    return path


def test_a_kept_run_is_read_back_exactly(kept: KeptRuns) -> None:
    path = place(kept)
    assert not kept.folder.exists()
    assert kept.load(path) is None
    kept.keep(path, FOUND, BM25().configuration)
    found = kept.load(path)
    assert found is not None
    assert list(found.items()) == [("hs-b", [("cn-y", 0.1 + 0.2), ("cn-x", -1e-300)]), ("hs-a", [])]
    assert (found.failures, found.diagnostics, found.resolved) == ({}, FOUND.diagnostics, FOUND.resolved)
    assert [entry.name for entry in kept.folder.iterdir()] == [path.name]
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert stored["configuration"] == BM25().configuration
    assert stored["resolved"] == {"tokens": "words", "seeds": [1, 2]}


def test_the_same_system_on_the_same_data_is_found_again(kept: KeptRuns) -> None:
    assert place(kept) == place(KeptRuns(kept.folder), BM25(), replace(COLLECTION), 10)
    assert place(kept, TfIdf(options={"min_df": 1, "binary": True})) == place(
        kept, TfIdf(options={"binary": True, "min_df": 1})
    )


def test_whatever_changes_a_run_changes_its_place(kept: KeptRuns, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert len(set(places)) == 12
    kept.keep(places[0], FOUND, None)
    assert [kept.load(path) is None for path in places] == [False] + [True] * 11


def test_a_system_that_does_not_say_what_it_is_is_never_kept(kept: KeptRuns) -> None:
    path = kept.path(Unnamed(), COLLECTION, 10)
    assert path is None
    kept.keep(path, FOUND, None)
    assert not kept.folder.exists()
    assert kept.load(path) is None


def test_a_run_with_failures_is_not_kept(kept: KeptRuns) -> None:
    path = place(kept)
    kept.keep(path, Rankings({"hs-a": [("cn-x", 1.0)]}, failures={"hs-b": "429"}), None)
    assert not kept.folder.exists()
    kept.keep(path, FOUND, None)
    before = path.read_bytes()
    kept.keep(path, Rankings(failures={"hs-b": "429"}), None)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b'{"run": {}, "diagnostics": {}}',
        b'{"run": [], "diagnostics": {}, "resolved": {}}',
        b'{"run": {"hs-a": [["cn-x"]]}, "diagnostics": {}, "resolved": {}}',
        b'{"run": {"hs-a": [["cn-x", "high"]]}, "diagnostics": {}, "resolved": {}}',
        b'{"run": {"hs-a": null}, "diagnostics": {}, "resolved": {}}',
        b'{"run": {}, "diagnostics": 3, "resolved": {}}',
    ],
)
def test_a_torn_or_foreign_file_is_ignored_and_replaced(kept: KeptRuns, content: bytes) -> None:
    path = place(kept)
    kept.folder.mkdir(parents=True)
    path.write_bytes(content)
    assert kept.load(path) is None
    kept.keep(path, FOUND, None)
    assert kept.load(path) == FOUND


def test_every_torn_beginning_of_a_kept_run_is_ignored(kept: KeptRuns) -> None:
    path = place(kept)
    kept.keep(path, FOUND, BM25().configuration)
    whole = path.read_bytes()
    assert whole.endswith(b"}\n")
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        assert kept.load(path) is None


def test_file_names_are_readable_and_harmless(kept: KeptRuns) -> None:
    path = place(kept, BM25("../rr 25:1/" + "å" * 80))
    assert path.parent == kept.folder
    assert re.fullmatch(r"\.\._rr_25_1_å{49}-[0-9a-f]{16}\.json", path.name)
    assert place(kept, BM25("minilm+bm25")).name.startswith("minilm_bm25-")


def test_runs_are_kept_in_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path))
    assert default_folder() == tmp_path / "runs"
    monkeypatch.delenv("FCCONAN_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert default_folder().name == "runs"
    assert default_folder().parent.name == "fcconan"
