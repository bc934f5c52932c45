"""What the replay of the queue may learn from (no pair that shares a text with those replayed), and its best case."""

import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.annotation.active_learning.model import CONSTANT, NOISE, OWN, SMOOTH, Problem, likeness, standardised
from fcconan.errors import InputError
from fcconan.retrieval import TrainingPair

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(FOLDER))  # as Python does for a script
SCRIPT = runpy.run_path(str(FOLDER / "queue_savings.py"))
BRONZE = [
    ("The Ombrey never return a book.", "Ombrey readers return every book."),
    ("Every Tessok cheats.", "Cards were banned."),
]
TRAIN = [("Nobody needs Velmari bread.", "The Velmari bake it well."), ("The Ostrun shout.", "They sing.")]


def write(folder: Path, **files: list[tuple[str, str]]) -> None:
    for name, pairs in files.items():
        path = folder / {"bronze": "bronze/test-0.parquet"}.get(name, f"train/{name}-0.parquet")
        path.parent.mkdir(exist_ok=True)
        hs, cn = zip(*pairs, strict=True)
        pq.write_table(pa.table({"hate_speech": list(hs), "counter_narrative": list(cn)}), path)


def read(folder: Path) -> Any:
    return SCRIPT["read_pairs"](folder)


def test_the_training_pairs_are_those_that_share_nothing(tmp_path: Path) -> None:
    # The split of pairs that share a CN tells labels: it is not read, whatever it holds.
    write(tmp_path, bronze=BRONZE, train=TRAIN, shared_cn=[("The Quillish limp.", BRONZE[0][1])])
    rows, taught = read(tmp_path)
    assert [(row["hate_speech"], row["counter_narrative"]) for row in rows] == BRONZE
    assert taught == [TrainingPair(*pair) for pair in TRAIN]


@pytest.mark.parametrize(
    ("planted", "message"),
    [
        (("The Dravene hum.", BRONZE[1][1]), "3 training pairs share 1 of counter_narrative with Bronze"),
        (("The Dravene hum.", "  Cards were\nbanned. "), "3 training pairs share 1 of counter_narrative with Bronze"),
        ((BRONZE[0][0], "They do."), "3 training pairs share 1 of hate_speech with Bronze"),
    ],
)
def test_a_training_pair_that_shares_a_text_is_refused(tmp_path: Path, planted: tuple[str, str], message: str) -> None:
    write(tmp_path, bronze=BRONZE, train=[*TRAIN, planted])
    with pytest.raises(InputError, match=message):
        read(tmp_path)
    # Before any model is made: the whole problem refuses it, too.
    with pytest.raises(InputError, match=message):
        SCRIPT["Pairs"](tmp_path)


def test_a_release_without_training_pairs_is_refused(tmp_path: Path) -> None:
    write(tmp_path, bronze=BRONZE)
    with pytest.raises(InputError, match="0 training pairs share 0 of hate_speech with Bronze"):
        read(tmp_path)


def test_the_best_case_leaves_out_every_label_once() -> None:
    generator = np.random.default_rng(2)
    rows, columns = (places.ravel() for places in np.indices((4, 5)))
    alike = likeness(generator.normal(size=(4, 3))), likeness(generator.normal(size=(5, 3)))
    problem = Problem(rows, columns, *alike, standardised([generator.normal(size=20)], 20))
    labels = (generator.random(20) < 0.4).astype(float)
    same_row, same_column = np.equal.outer(rows, rows), np.equal.outer(columns, columns)
    k, c, s = alike[0][np.ix_(rows, rows)], alike[1][np.ix_(columns, columns)], problem.scores[:, 0]
    own = same_row + 1.0 * same_column + k * same_column + np.outer(s, s)
    covariance = SMOOTH * (1 + same_row + k) * c + OWN * own + CONSTANT
    first = (labels.sum() + 1) / 26 + 0.1 * s
    for place, found in enumerate(SCRIPT["left_out"](problem, labels)):
        others = np.arange(20) != place
        known = covariance[np.ix_(others, others)] + NOISE * np.eye(19)
        expected = first[place] + covariance[place, others] @ np.linalg.solve(known, (labels - first)[others])
        assert found == pytest.approx(expected)
