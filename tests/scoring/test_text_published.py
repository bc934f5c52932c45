"""The automatic metrics of the ranking paper's release, recomputed from its texts.

BERTScore, layer 9 of bert-base-multilingual-cased there, needs that model and is left out.
"""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from fcconan.scoring.text.corpus import RepetitionRate, csv_cell
from fcconan.scoring.text.evaluation import score_texts
from fcconan.scoring.text.novelty import Novelty
from fcconan.scoring.text.overlap import Bleu

pytestmark = pytest.mark.upstream

Replies = dict[str, list[str]]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _conan(folder: Path, systems: list[str]) -> Replies:
    rows = _rows(folder / "CONAN_rank_evaluation_data.csv")
    return {system: [row[system] for row in rows] for system in systems}


def _conan_mt(folder: Path, systems: list[str]) -> Replies:
    """Nine HS are in the evaluation file; the tenth and last is in the verdicts only."""
    rows = _rows(folder / "CONAN-MT_rank_evaluation_data.csv")
    names = {system: "CN" if system == "gold_truth" else f"{system}_MT-CONAN" for system in systems}
    replies = {system: [row[names[system]] for row in rows] for system in systems}
    there = {row["CN"].strip() for row in rows}
    judged: dict[str, dict[str, str]] = {}
    with (folder / "judgelm" / "judged_7.jsonl").open(encoding="utf-8") as file:
        for verdict in map(json.loads, file):
            for side in ("1", "2"):
                answers = judged.setdefault(verdict["question_body"], {})
                answers[verdict[f"answer{side}_model_id"]] = verdict[f"answer{side}_body"]
    (tenth,) = (answers for answers in judged.values() if answers["gold_truth"].strip() not in there)
    return {system: [*texts, tenth[system]] for system, texts in replies.items()}


@pytest.mark.parametrize(
    ("corpus", "training"), [("CONAN", "CONAN/CONAN_train.csv"), ("CONAN-MT", "MT-CONAN/MT-CONAN_train.csv")]
)
def test_the_metrics_of_the_ranking_paper(mirror: Path, corpus: str, training: str) -> None:
    root = mirror / "hitz-zentroa" / "cn-eval"
    folder = root / "evaluation" / "manual_evaluation" / "rank" / corpus
    published = {row["model"]: row for row in _rows(folder / "metrics" / "Regular_metrics_human.csv")}
    replies = (_conan if corpus == "CONAN" else _conan_mt)(folder, list(published))
    references = [[text] for text in replies["gold_truth"]]
    novelty = Novelty([row["CN"] for row in _rows(root / "data" / training)])
    assert len(published) == 9
    for system, row in published.items():
        texts = replies[system]
        scores = score_texts(
            texts, references, [Bleu([4], corpus_smoothing="none"), "rouge-l", "length-words", novelty]
        )
        rates = score_texts([csv_cell(text) for text in texts], metrics=[RepetitionRate(windows="script")])
        found = {name: each.corpus.value for name, each in (scores | rates).items()}
        assert found["bleu-4"] == pytest.approx(float(row["bleu"]), abs=5.1e-5), system
        assert found["length-words"] == pytest.approx(float(row["gen_len"]), abs=1e-9), system
        assert found["novelty"] == pytest.approx(float(row["novelty"]), abs=5.1e-5), system
        # The script prints six digits of each of the four rates before it takes their mean.
        assert found["repetition-rate"] == pytest.approx(float(row["RR"]), abs=1.6e-4), system
        # evaluate's ROUGE is the median of the means of 1000 random resamples.
        generator = np.random.default_rng(0)
        values = scores["rouge-l"].values
        draws = values[generator.integers(10, size=(500, 1000, 10))].mean(axis=2)
        medians = np.median(draws, axis=1)
        assert medians.min() - 5.1e-5 <= float(row["rougeL"]) <= medians.max() + 5.1e-5, system
