"""The reviews of CSEval, from what was released."""

from pathlib import Path

import numpy as np
import pytest

from fcconan.annotation import find_outliers
from fcconan.data import read_rows

pytestmark = pytest.mark.upstream
ANNOTATIONS = "AmeyHengle/cs-eval/data/annotations"
ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")


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
