"""The overlaps of FC-CONAN and the reviews of CSEval, from what was released."""

from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from fcconan.annotation.assignment.assignments import assign_units
from fcconan.annotation.assignment.rounds import find_outliers

from fcconan.annotation.campaigns import Unit
from fcconan.data import read_rows
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream
ANNOTATIONS = "AmeyHengle/cs-eval/data/annotations"
ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")


def test_blocks_of_a_cn_overlap_as_in_fc_conan(release: Release) -> None:
    [file] = (release("fc-conan") / "bronze").glob("*.parquet")
    pairs = list(read_rows(file))
    # All pairs of a CN had as many annotators: 18 CNs had two, six had three.
    by_cn: dict[str, set[int]] = {}
    for pair in pairs:
        by_cn.setdefault(pair["cn_id"], set()).add(pair["n_votes"])
    assert Counter(tuple(votes) for votes in by_cn.values()) == {(1,): 106, (2,): 18, (3,): 6}
    # 18 + 6 * 3 is one CN for each of the 36 pairs of nine annotators, and so do we spread them.
    units = [Unit(f"{hs}:{cn}", hs_id=hs, cn_id=cn) for hs in sorted({pair["hs_id"] for pair in pairs}) for cn in by_cn]
    raters = [f"annotator-{number}" for number in range(1, 10)]
    found = assign_units(units, raters, overlap={2: 18 / 130, 3: 6 / 130}, blocks="cn", seed=0)
    had: dict[str, set[str]] = {rater: set() for rater in raters}
    for each in found:
        had[each.rater].add(each.unit_id)
    assert Counter(Counter(each.unit_id for each in found).values()) == {1: 106 * 45, 2: 18 * 45, 3: 6 * 45}
    assert {len(had[one] & had[other]) for one, other in combinations(raters, 2)} == {45}
    assert {len(units) for units in had.values()} == {17 * 45, 18 * 45}  # 160 blocks for nine


@pytest.mark.parametrize(
    ("name", "units", "reviews"),
    [("annotations_first_pass_500.csv", 93, 93), ("annotations_second_pass_1500.csv", 52, 52)],
)
def test_reviews_of_cseval(mirror: Path, name: str, units: int, reviews: int) -> None:
    rows = list(read_rows(mirror / ANNOTATIONS / name))
    found: set[tuple[str, str]] = set()
    expected: set[tuple[str, str]] = set()
    for aspect in ASPECTS:
        cells = [[row[f"{aspect}_score_a{rater}"] for rater in (1, 2, 3)] for row in rows]
        grades = np.array([[float(cell or "nan") for cell in three] for three in cells])
        for row, three in enumerate(grades):
            values = {f"rater-{rater}": float(grade) for rater, grade in enumerate(three) if np.isfinite(grade)}
            found |= {(rater, f"reply-{row}") for rater in find_outliers(values, 2)}
        # Of three raters, one is far off who is more than 2 points away from both others.
        away = np.abs(grades[:, :, None] - grades[:, None, :]) > 2
        expected |= {(f"rater-{rater}", f"reply-{row}") for row, rater in np.argwhere(away.sum(axis=2) == 2).tolist()}
    assert found == expected
    assert (len({unit for _, unit in found}), len(found)) == (units, reviews)
