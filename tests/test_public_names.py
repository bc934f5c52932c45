"""Every figure that a verb writes is defined in docs/protocol.md."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import fcconan

ROOT = Path(__file__).resolve().parent.parent
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text(encoding="utf-8")
DEFINED = {name for span in re.findall(r"`([^`\n]+)`", PROTOCOL) for name in (span, *re.split(r"[\s,()/]+", span))}


def undefined(names: set[str]) -> list[str]:
    """The figures among some names that the protocol does not have; metrics are defined with the cutoff k."""
    return sorted({re.sub(r"@\d+$", "@k", name) for name in names} - DEFINED)


def test_metrics_coefficients_levels_and_checks_are_defined() -> None:
    from fcconan import scoring
    from fcconan.reproduction import STATUSES
    from fcconan.scoring import METRICS, reliability
    from fcconan.scoring.correlation import levels, weighted
    from fcconan.scoring.verdicts import COEFFICIENTS

    found = {f"{name}@k" for name in METRICS}
    found |= {*scoring.TEXT_METRICS, *weighted.COEFFICIENTS, *STATUSES}
    found |= {*reliability.COEFFICIENTS, *levels.LEVELS, *COEFFICIENTS}
    found |= {f"{model}-{field}" for model in ("bertscore", "bartscore") for field in scoring.FIELDS}
    checks = {*re.findall(r"\(`(\w+)`\)", fcconan.audit.__doc__ or "")}
    assert {"spread", "self_preference_grades"} <= checks
    assert undefined(found | checks) == []


def test_a_figure_that_is_not_defined_is_noticed() -> None:
    assert undefined({"mrr@10", "hit_rate@5", "ceiling", "mrr_of_luck@10"}) == ["mrr_of_luck@k"]


def test_examples_by_hand_are_what_the_package_computes() -> None:
    from fcconan import scoring
    from fcconan.scoring import evaluate, measure_agreement

    names = [f"{name}@3" for name in ("hit_rate", "mrr", "precision", "recall", "f1", "map", "ndcg", "accuracy")]
    labels, ranked = np.array([[1, 0, np.nan, 1, np.nan]]), np.array([[1, 0, 2, 3]])
    found = evaluate(ranked, labels, names, np.zeros(1, dtype=bool))
    expected = [1, 1 / 2, 1 / 3, 1 / 2, 0.4, 0.25, 0.3869, 0.4]
    assert [found[name].item() for name in names] == pytest.approx(expected, abs=5e-5)
    assert scoring.repetition_rate(["a b a b a b c d"]) == pytest.approx(42.04, abs=5e-3)
    given: list[list[float]] = [[1, 2, 3, 3, np.nan], [1, 2, 3, 2, 1], [1, 3, 3, 2, 1]]
    alike = ("raw", "krippendorff_nominal", "krippendorff_ordinal", "krippendorff_interval")
    rows = measure_agreement(given, coefficients=alike, bootstrap=fcconan.Bootstrap(resamples=0))
    assert rows["value"][rows["a"].isna()].tolist() == pytest.approx([9 / 13, 0.6, 0.8143, 0.8143], abs=5e-5)
    won = [{"item_id": f"i{n}", "system_a": "A", "system_b": "B", "verdict": "aaab"[n]} for n in range(4)]
    strengths = fcconan.rank(won, bootstrap=fcconan.Bootstrap(resamples=0)).to_frame()["value"][:2]
    assert strengths.tolist() == pytest.approx([0.549, -0.549], abs=5e-3)
    about = {"reply_id": "r", "system": "A", "rater": "anna", "low": 1.0}
    given_grades = {"relevance": (5, 5), "aggressiveness": (1, 5), "suitableness": (2, 3)}
    graded = [
        {**about, "aspect": aspect, "value": value, "high": high, "higher_is_better": aspect != "aggressiveness"}
        for aspect, (value, high) in given_grades.items()
    ]
    assert fcconan.rank(graded).to_frame()["value"][0] == pytest.approx(13 / 3)
    assert math.isclose(math.tanh(1), 0.76, abs_tol=5e-3)
