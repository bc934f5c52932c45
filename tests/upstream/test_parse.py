"""Whole grades in the released outputs of CSEval's judges and JudgeLM, found without the package's parser."""

from pathlib import Path

import pytest

from fcconan.parsing import parse_comparison, parse_rating
from tests.golden.answers import HIGHEST, KEYS, whole_grades

pytestmark = pytest.mark.upstream


def test_every_whole_grade_of_the_released_outputs_is_read(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FCCONAN_MIRROR", str(mirror))
    grades = [(aspect, text, grade) for _, aspect, found in whole_grades() for _, text, grade in found]
    read = 0
    for aspect, text, grade in grades:
        if aspect == "pair":
            found = parse_comparison(text)
            value = f"{found.score_a:g} {found.score_b:g}"
        else:
            value = f"{parse_rating(text, scale=(1, HIGHEST[aspect]), key=KEYS[aspect]).value:g}"
        read += value == grade
    assert (len(grades), read) == (16853, 16853)
