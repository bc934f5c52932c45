"""The reproduction table of the FC-CONAN paper."""

import json
from collections import Counter
from pathlib import Path

import pytest

from fcconan import Bootstrap, bench
from fcconan.reproduction import fc_conan
from fcconan.reproduction.comparison import Cell, as_rows, reproduce
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.fc_conan import recompute
from fcconan.reproduction.published import load_paper
from tests.upstream.conftest import Release, shared_folder

pytestmark = [pytest.mark.upstream, pytest.mark.long]

Reproduced = dict[tuple[str, str, str], Cell]
_kept: list[Cell] = []


def by_key(cells: list[Cell]) -> Reproduced:
    return {(cell.table, cell.row, cell.column): cell for cell in cells}


def computed(release: Release, folder: Path) -> list[Cell]:
    for name in ("fc-conan", "conan"):
        (folder / name).symlink_to(release(name))
    return reproduce("fc-conan", Datasets(folder), recompute)


@pytest.fixture
def reproduced(release: Release, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """Computed once in a test session, however many processes share the tests."""
    if not _kept:
        with shared_folder(tmp_path_factory, "reproduced-fc-conan") as folder:
            file = folder / "cells.json"
            if not file.exists():
                file.write_text(json.dumps(as_rows(computed(release, tmp_path))), encoding="utf-8")
            _kept.extend(Cell(**row) for row in json.loads(file.read_text(encoding="utf-8")))
    return by_key(_kept)


def row(reproduced: Reproduced, table: str, name: str) -> list[tuple[str, float | None]]:
    return [
        (cell.status, cell.recomputed)
        for (where, each, _), cell in reproduced.items()
        if (where, each) == (table, name)
    ]


def test_every_value_has_its_status(reproduced: Reproduced) -> None:
    counted = {
        table: dict(Counter(cell.status for (where, *_), cell in reproduced.items() if where == table))
        for table, *_ in reproduced
    }
    assert counted == {
        "Table 1": {"exact": 12},
        "Table 2": {"exact": 8},
        "Table 3": {"exact": 12},
        "Table 4": {"exact": 12, "needs_model": 32, "not_released": 4},
        "text abstract": {"exact": 1, "differs": 1},
        "text 1": {"not_released": 3},
        "text 2": {"exact": 5, "differs": 2},
        "text 3 selection": {"exact": 4, "differs": 2},
        "text 3 annotation": {"exact": 1, "not_released": 3},
        "text 3 validation": {"not_released": 4},
        "text 4.2 agreement": {"not_released": 3},
        "text 4.2 validity": {"exact": 8, "rounding": 1},
        "text 4.3 pool": {"exact": 3},
        "text 4.3 bm25": {"exact": 1, "differs": 1},
        "text 4.3 groups": {"exact": 6, "rounding": 4, "not_released": 1},
    }
    assert [key for key, cell in reproduced.items() if cell.status == "differs" and not cell.note] == []


def test_table_4(reproduced: Reproduced) -> None:
    for system, expected in {
        "tfidf": [0.2203, 0.0703, 0.4024, 63.275],
        "bm25": [0.1819, 0.0296, 0.3810, 81.650],
        "sbert-minilm": [0.3270, 0.1766, 0.4804, 39.200],
    }.items():
        found = row(reproduced, "Table 4", system)
        assert [status for status, _ in found] == ["exact"] * 4
        assert [value for _, value in found] == pytest.approx(expected, abs=5.1e-5)
    assert reproduced["Table 4", "tfidf", "avg"].note == "protocol sound: 0.2248"  # without pairs of evaluated HS
    plain = {system: reproduced["Table 4", system, "cv"].note for system in ("tfidf", "bm25", "sbert-minilm")}
    assert {system: note.split(": ")[-1] for system, note in plain.items()} == {
        "tfidf": "63.260", "bm25": "81.669", "sbert-minilm": "39.199",
    }  # fmt: skip


def test_the_retrieved_replies_hold_all_released_ones(reproduced: Reproduced) -> None:
    assert reproduced["text 3 selection", "similar_per_reply", "value"].recomputed == 2
    retrieved = reproduced["text 3 selection", "retrieved_replies", "value"]
    assert (retrieved.recomputed, retrieved.status) == (133, "exact")
    assert retrieved.note.endswith("; 130 were released")


def test_what_differs(reproduced: Reproduced) -> None:
    differing = {key: cell.recomputed for key, cell in reproduced.items() if cell.status in ("differs", "rounding")}
    assert differing == {
        ("text abstract", "counter_narratives", "value"): 130,
        ("text 2", "pairs", "value"): 4069,
        ("text 2", "english_pairs_with_translations_and_paraphrases", "value"): 6645,
        ("text 3 selection", "counter_narratives", "value"): 130,
        ("text 3 selection", "combinations", "value"): 5850,
        ("text 4.2 validity", "1_annotator", "percent"): pytest.approx(11.498786, abs=1e-6),
        ("text 4.3 bm25", "bm25", "k1"): 1.5,
        ("text 4.3 groups", "embeddings", "cv"): pytest.approx(46.80625),
        ("text 4.3 groups", "rerankers", "avg"): pytest.approx(0.237833, abs=1e-6),
        ("text 4.3 groups", "gpt-4o_and_rr25-1", "avg"): pytest.approx(0.21595),
        ("text 4.3 groups", "gpt-4o_and_rr25-1", "cv"): pytest.approx(89.525),
    }


def test_a_strict_diamond_is_in_the_notes(reproduced: Reproduced) -> None:
    strict = {
        key: cell.note.split()[0]
        for key, cell in reproduced.items()
        if key[1] == "diamond" and "must all agree" in cell.note
    }
    assert strict == {
        ("Table 1", "diamond", "total"): "530",
        ("Table 1", "diamond", "appropriate"): "29",
        ("Table 1", "diamond", "not_appropriate"): "501",
        ("Table 2", "diamond", "valid"): "530",
        ("Table 3", "diamond", "3_annotators"): "174",
    }


def test_the_row_of_chance_is_explained_by_what_chance_gives(release: Release) -> None:
    found = bench(release("fc-conan"), system=["bm25"], protocol="paper", bootstrap=Bootstrap(resamples=0))
    chance = found.to_frame("tiers").query("system == 'chance'").set_index("statistic")["value"]
    (table,) = (table for table in load_paper("fc-conan").tables if table.id == "Table 4")
    assert [f"{chance[name]:.4f}"[1:] for name in ("avg", "min", "max")] == [".1625", ".0346", ".3259"]
    assert f"{chance['cv']:.2f}" == "72.07"
    assert ".1625, .0346, .3259 and 72.07" in table.without_rows["random"].why


def test_without_minilm_its_row_has_a_reason(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fc_conan, "_load_minilm", lambda: None)
    monkeypatch.setattr(fc_conan, "K1", (1.2, 1.5))
    monkeypatch.setattr(fc_conan, "B", (0.75,))
    monkeypatch.setattr(fc_conan, "CUTOFFS", (5, 10))
    found = by_key(computed(release, tmp_path))
    assert row(found, "Table 4", "sbert-minilm") == [("needs_model", None)] * 4
    assert row(found, "text 3 selection", "retrieved_replies") == [("needs_model", None)]
    assert "fcconan[minilm]" in found["Table 4", "sbert-minilm", "avg"].note
    assert row(found, "Table 4", "tfidf")[0][0] == "exact"
