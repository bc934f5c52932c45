"""Recomputed values of CSEval that need no upstream file, and the arithmetic inside its printed tables."""

import numpy as np
import pytest

from fcconan.reproduction import cseval_correlations as correlations
from fcconan.reproduction.published import load_paper, parse_printed
from fcconan.reproduction.values import status_of
from fcconan.scoring import Scores

ASPECTS = ("relevance", "aggressiveness", "coherence", "suitableness")


def table(name: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for each, row, column, printed in load_paper("cseval").cells():
        if each.id == name:
            found.setdefault(row, {})[column] = printed
    return found


def test_averages_of_table_1_follow_from_its_cells() -> None:
    rows = table("Table 1")
    checked = 0
    for row, cells in rows.items():
        if len(cells) < 10 or row == "gpt-4-minus-best-other":
            continue
        for name in ("spearman", "kendall"):
            mean = np.mean([float(cells[f"{aspect}/{name}"]) for aspect in ASPECTS])
            # The printed average uses unrounded values: each of the four may differ by half a unit.
            assert float(cells[f"average/{name}"]) == pytest.approx(mean, abs=0.001 + 1e-9)
            checked += 1
    assert checked == 2 * 20


def test_differences_in_the_last_row_of_table_1() -> None:
    rows = table("Table 1")
    off = {}
    for column, printed in rows["gpt-4-minus-best-other"].items():
        best = max(float(cells[column]) for row, cells in rows.items() if row[:5] != "gpt-4" and column in cells)
        difference = float(rows["gpt-4"][column]) - best
        if abs(difference - float(printed)) > 0.001 + 1e-9:  # each of the two is rounded
            off[column] = round(difference, 3)
    assert off == {"coherence/spearman": 0.018, "suitableness/spearman": 0.043}


def test_table_6_follows_from_table_5_but_the_mean_gain_does_not() -> None:
    found, printed = correlations.recompute_table_6(), table("Table 6")
    assert {key[1:]: round(value.value or 0, 3) for key, value in found.items() if key[0] == "Table 6"} == {
        ("best-traditional-metric", "relevance"): 0.415,  # .687 - .272
        ("best-traditional-metric", "aggressiveness"): 0.189,  # .461 - .272
        ("best-traditional-metric", "coherence"): 0.203,  # .597 - .394
        ("best-traditional-metric", "suitableness"): 0.317,  # .566 - .249
        ("best-method", "relevance"): 0.058,  # .687 - .629
        ("best-method", "aggressiveness"): 0.069,  # .461 - .392
        ("best-method", "coherence"): 0.019,  # .597 - .578
        ("best-method", "suitableness"): 0.044,  # .566 - .522
    }
    status = {
        key[1:]: status_of(parse_printed(printed[key[1]][key[2]]), value.value)
        for key, value in found.items()
        if key[0] == "Table 6"
    }
    assert {key for key, each in status.items() if each != "exact"} == {("best-traditional-metric", "coherence")}
    gain = found["text D", "mean-gain-over-best-traditional-metric", "value"]
    assert gain.value == pytest.approx((0.415 + 0.189 + 0.203 + 0.317) / 4)


def test_averages_are_over_four_aspects_and_for_toxicity_over_two() -> None:
    values = dict(zip(ASPECTS, (0.1, 0.2, 0.3, 0.6), strict=True))
    found = {
        (metric, aspect, "kendall"): value for metric in ("meteor", "toxicity") for aspect, value in values.items()
    }
    assert correlations.average_over_aspects(found) == {
        ("meteor", "average", "kendall"): pytest.approx(0.3),
        ("toxicity", "average", "kendall"): pytest.approx(0.4),
    }


def test_rows_and_metrics_are_selected() -> None:
    x, y, none = np.arange(9.0).reshape(3, 3), np.arange(6.0).reshape(2, 3), np.zeros((0, 2, 3))
    metrics = [("tessok", "fluency"), ("tessok", "courtesy"), ("velmari", None)]
    whole = Scores(metrics, x, ["fluency", "courtesy"], y, np.arange(3), np.arange(3), none)
    part = correlations._select(whole, np.array([True, False, True]), ["tessok"])
    assert part.metrics == metrics[:2] and part.x.tolist() == [[0, 2], [3, 5]]
    assert (part.y.tolist(), part.item.tolist(), part.system.tolist()) == ([[0, 2], [3, 5]], [0, 2], [0, 2])
