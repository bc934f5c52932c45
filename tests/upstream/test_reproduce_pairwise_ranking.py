"""The reproduction table of the paper on pairwise ranking."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fcconan.reproduction.comparison import Cell, as_rows, reproduce
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.pairwise_ranking import recompute
from tests.conftest import MIRROR
from tests.upstream import oracle
from tests.upstream.conftest import Release, shared_folder

pytestmark = [pytest.mark.upstream, pytest.mark.long]

Reproduced = dict[tuple[str, str, str], Cell]
_kept: list[Cell] = []
RELEASED = {
    "CONAN": "CONAN/metrics/Regular_metrics_human.csv",
    "MT-CONAN": "CONAN-MT/metrics/Regular_metrics_human.csv",
    "both": "Regular_metrics_human_all.csv",
}
COLUMNS = {"rouge-l": "rougeL", "bleu": "bleu", "length": "gen_len", "novelty": "novelty", "repetition_rate": "RR"}


def by_key(cells: list[Cell]) -> Reproduced:
    return {(cell.table, cell.row, cell.column): cell for cell in cells}


def computed(release: Release, folder: Path) -> list[Cell]:
    for name in ("cn-ranking",):
        (folder / name).symlink_to(release(name))
    return reproduce("pairwise-ranking", Datasets(folder), recompute)


@pytest.fixture
def reproduced(release: Release, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Reproduced:
    """Computed once in a test session, however many processes share the tests."""
    if not _kept:
        with shared_folder(tmp_path_factory, "reproduced-pairwise-ranking") as folder:
            file = folder / "cells.json"
            if not file.exists():
                file.write_text(json.dumps(as_rows(computed(release, tmp_path))), encoding="utf-8")
            _kept.extend(Cell(**row) for row in json.loads(file.read_text(encoding="utf-8")))
    return by_key(_kept)


def column(reproduced: Reproduced, table: str, name: str) -> dict[str, float | None]:
    return {row: cell.recomputed for (where, row, each), cell in reproduced.items() if (where, each) == (table, name)}


def statuses(reproduced: Reproduced, table: str) -> Counter[str]:
    return Counter(cell.status for (where, *_), cell in reproduced.items() if where == table)


def test_every_value_has_its_status(reproduced: Reproduced) -> None:
    assert {table: dict(statuses(reproduced, table)) for table, *_ in reproduced} == {
        "Table 2": {"exact": 8, "differs": 2},
        "Table 3": {"needs_model": 8},
        "Table 4": {"exact": 5, "differs": 31},
        "Table 5": {"exact": 54},
        "Table B.1": {"exact": 6},
        "text abstract": {"differs": 1},
        "text 3.2": {"exact": 4, "differs": 3},
        "text 4.1 tournaments": {"exact": 1, "differs": 2},
        "text 4.1 people": {"exact": 7},
        "text 4.1 agreement": {"exact": 2},
        "text 4.2": {"exact": 5},
        "text 6.1 people": {"differs": 3},
        "text 6.1 pearson": {"differs": 2},
        "text 6.1 metrics": {"exact": 2},
        "released metrics CONAN": {"exact": 39, "differs": 6},
        "released BERTScore CONAN": {"needs_model": 9},
        "released metrics MT-CONAN": {"exact": 36, "rounding": 3, "differs": 6},
        "released BERTScore MT-CONAN": {"needs_model": 9},
        "released metrics both": {"not_released": 45},
        "released BERTScore both": {"not_released": 9},
    }
    assert [key for key, cell in reproduced.items() if cell.status == "differs" and not cell.note] == []


def test_table_4_does_not_follow_from_the_released_verdicts(reproduced: Reproduced) -> None:
    people, judge = column(reproduced, "Table 4", "human/share"), column(reproduced, "Table 4", "judgelm-33b/share")
    assert {system: round(share or 0, 2) for system, share in people.items()} == {
        "zephyr_zs": 18.68, "gold_truth": 13.19, "mistral_zs_instruct": 17.36, "zephyr": 8.06, "mistral_zs": 7.08,
        "mistral": 8.82, "mistral_instruct": 10.00, "llama_zs_chat": 10.42, "llama_chat": 6.39,
    }  # fmt: skip
    assert {system: round(share or 0, 2) for system, share in judge.items()} == {
        "zephyr_zs": 20.54, "gold_truth": 6.82, "mistral_zs_instruct": 17.76, "zephyr": 8.70, "mistral_zs": 4.32,
        "mistral": 7.66, "mistral_instruct": 9.96, "llama_zs_chat": 17.55, "llama_chat": 6.69,
    }  # fmt: skip
    assert list(column(reproduced, "Table 4", "human/rank").values()) == [1, 3, 2, 7, 8, 6, 5, 4, 9]
    assert list(column(reproduced, "Table 4", "judgelm-33b/rank").values()) == [1, 7, 2, 5, 9, 6, 4, 3, 8]
    shares = [cell for (table, _, name), cell in reproduced.items() if table == "Table 4" and name.endswith("/share")]
    assert {cell.status for cell in shares} == {"differs"}
    assert "718 readable verdicts of 720" in reproduced["Table 4", "zephyr_zs", "judgelm-33b/share"].note
    assert "strict majorities: 18.92" in reproduced["Table 4", "zephyr_zs", "human/share"].note


def test_correlations_with_people(reproduced: Reproduced) -> None:
    found = {
        (row, name): round(cell.recomputed or 0, 4)
        for (table, row, name), cell in reproduced.items()
        if table in ("text abstract", "text 6.1 people", "text 6.1 pearson", "text 6.1 metrics")
    }
    assert found == {
        ("judgelm_human", "spearman"): 0.8,
        ("judgelm-7b", "spearman"): 0.6667,
        ("judgelm-33b", "spearman"): 0.8,
        ("bertscore", "spearman"): 0.4167,
        ("judgelm-33b", "pearson"): 0.7907,
        ("judgelm-33b", "p"): 0.0112,
        ("rouge-l_bertscore", "spearman"): 0.8833,
        ("rouge-l_bleu", "spearman"): 0.3,
    }
    notes = {row: reproduced["text 6.1 people", row, "spearman"].note for row in ("judgelm-33b", "bertscore")}
    assert "give 0.88" in notes["judgelm-33b"]
    assert notes["judgelm-33b"].endswith("0.70")
    assert notes["bertscore"].endswith("0.50")
    assert reproduced["text 6.1 pearson", "judgelm-33b", "pearson"].note.endswith("0.7290")
    assert reproduced["text 6.1 pearson", "judgelm-33b", "p"].note.endswith("0.0258")
    assert reproduced["text 6.1 metrics", "rouge-l_bleu", "spearman"].note.endswith("0.55")


def test_agreement_and_sizes(reproduced: Reproduced) -> None:
    kappas = column(reproduced, "text 4.1 agreement", "mean_kappa")
    assert kappas == {"conan": pytest.approx(0.42221, abs=5e-6), "mt-conan": pytest.approx(0.58339, abs=5e-6)}
    assert reproduced["text 4.2", "mean_kappa", "value"].recomputed == pytest.approx(0.694845, abs=5e-7)
    assert column(reproduced, "Table 2", "pairs") == {"conan": 6645, "mt-conan": 5003}
    assert column(reproduced, "Table 2", "counter_narratives") == {"conan": 4041, "mt-conan": 4997}
    assert column(reproduced, "text 4.1 tournaments", "value") == {"systems": 9, "items": 2277, "comparisons": 81972}


def test_released_metrics(reproduced: Reproduced) -> None:
    for corpus in ("CONAN", "MT-CONAN"):
        table = f"released metrics {corpus}"
        for name in ("bleu", "length", "novelty"):
            cells = [cell for (where, _, each), cell in reproduced.items() if (where, each) == (table, name)]
            assert [cell.status for cell in cells] == ["exact"] * 9
        rates = {key: cell for key, cell in reproduced.items() if key[0] == table and key[2] == "repetition_rate"}
        assert {cell.status for cell in rates.values()} <= {"exact", "rounding"}
        for (_, _, name), cell in reproduced.items():
            if cell.table == table and name == "rouge-l":
                assert cell.recomputed == pytest.approx(float(cell.published), abs=0.0019)
                ends = [float(number) for number in re.findall(r"0\.\d{4}", cell.note)]
                assert not ends or ends[0] <= float(cell.published) <= ends[1]


@pytest.mark.parametrize("corpus", list(RELEASED))
def test_the_released_metrics_are_transcribed(reproduced: Reproduced, mirror: Path, corpus: str) -> None:
    path = mirror / oracle.CN_EVAL / "evaluation/manual_evaluation/rank" / RELEASED[corpus]
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    assert len(rows) == 9
    for system, row in rows.items():
        for name, theirs in COLUMNS.items():
            assert reproduced[f"released metrics {corpus}", system, name].published == row[theirs]
        assert reproduced[f"released BERTScore {corpus}", system, "bertscore"].published == row["bertscore"]


def test_table_5_equals_the_released_cells(reproduced: Reproduced) -> None:
    """From the two files themselves, with numpy."""
    assert MIRROR is not None
    folder = Path(MIRROR) / oracle.CN_EVAL / "evaluation/manual_evaluation/features"
    rows = [row for number in (1, 3) for row in oracle.read_csv(folder / f"ann{number}_feature_evaluation_data.csv")]
    for (table, system, feature), cell in reproduced.items():
        if table == "Table 5":
            given = [float(row[feature.capitalize()]) for row in rows if row["model"] == system]
            assert len(given) == 20
            assert cell.recomputed == pytest.approx(np.mean(given), abs=1e-12)
