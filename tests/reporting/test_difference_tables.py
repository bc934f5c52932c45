"""Tables of tests of differences between systems."""

from itertools import combinations
from typing import Any

import pytest

from fcconan.reporting.correlations import MOST, difference_tables, family_text
from fcconan.reporting.scores import leaderboard_section
from fcconan.reporting.tables import p_text

Row = dict[str, Any]


def _result(systems: str, *raters: tuple[str, str], aspects: tuple[str, ...] = ("tone",)) -> Row:
    """A leaderboard on which systems are the better the later they come in the alphabet."""
    best_first = sorted(systems, reverse=True)
    rows = [
        {"rater": rater, "rater_kind": kind, "aspect": aspect, "system": system, "value": 1.0, "low": None}
        | {"high": None, "n": 1, "n_missing": 0, "scale": None, "higher_is_better": aspect != "malice"}
        for rater, kind in raters
        for aspect in aspects
        for system in best_first
    ]
    comparisons = [
        {"a": a, "b": b, "rater": rater, "aspect": aspect, "higher_is_better": aspect != "malice"}
        | {"difference": -0.5, "low": -1.0, "high": 0.25, "p": 0.01, "p_corrected": 0.02, "n": 9, "reason": None}
        | {"family": f"{rater}, {'exploratory' if at else 'primary'}"}
        for rater, _ in raters
        for at, aspect in enumerate(aspects)
        for a, b in combinations(systems, 2)
    ]
    names = list(dict.fromkeys(row["family"] for row in comparisons))
    families = [
        {"name": name, "n_tests": sum(row["family"] == name for row in comparisons), "floor": 0.01}
        | {"correction": "max-t"}
        for name in names
    ]
    return {"rows": rows, "comparisons": comparisons, "families": families}


def test_a_terminal_shows_the_primary_tests_of_judges_and_a_page_all() -> None:
    result = _result("AB", ("people", "human"), ("bleu", "metric"), ("rude", "metric"), aspects=("tone", "malice"))
    for row in (*result["rows"], *result["comparisons"]):
        if row["rater"] == "bleu":
            row["aspect"] = f"bleu {row['aspect']}"  # which people did not rate
    how = "p corrected by max-t for 1 test, smallest possible 0.01"
    shown = difference_tables(result)
    assert [table.title for table in shown] == [
        f"Differences between systems by {rater}: tone (primary; {how})" for rater in ("people", "rude")
    ]
    assert shown[0].rows == [["A", "B", "-0.500", "[-1.000, 0.250]", "0.0100", "0.0200", "9"]]
    every = difference_tables(result, every=True)
    assert [table.title.split(" (")[0] for table in every if "exploratory" in table.title] == [
        f"Differences between systems by {rater}: {aspect}"
        for rater, aspect in (("people", "malice"), ("bleu", "bleu malice"), ("rude", "malice"))
    ]
    assert "malice (low is better)" in every[1].title
    assert leaderboard_section(result).tables[-len(every) :] == every


def test_metrics_alone_are_shown() -> None:
    assert len(difference_tables(_result("AB", ("bleu", "metric"), ("rouge", "metric")))) == 2


def test_of_many_pairs_a_terminal_shows_neighbours() -> None:
    (few,) = difference_tables(_result("ABCDEF", ("people", "human")))
    assert (len(few.rows), "neighbours" in few.title) == (MOST, False)
    (many,) = difference_tables(_result("ABCDEFG", ("people", "human")))
    assert [row[:2] for row in many.rows] == [["A", "B"], ["B", "C"], ["C", "D"], ["D", "E"], ["E", "F"], ["F", "G"]]
    assert many.title.endswith("for 21 tests, smallest possible 0.01; neighbours only, 6 of 21)")
    assert len(difference_tables(_result("ABCDEFG", ("people", "human")), every=True)[0].rows) == 21


def test_an_exploratory_table_names_its_aspects_and_says_why_a_p_is_missing() -> None:
    result = _result("AB", ("people", "human"), aspects=("tone", "wit", "malice"))
    result["comparisons"][1] |= dict.fromkeys(("difference", "low", "high", "p", "p_corrected")) | {
        "reason": "no_common_items", "n": 0,
    }  # fmt: skip
    table = difference_tables(result, every=True)[1]
    assert table.columns == ["aspect", "a", "b", "a - b", "interval", "p", "p corrected", "items"]
    assert table.rows == [
        ["wit", "A", "B", "– (no_common_items)", "–", "–", "–", "0"],
        ["malice (low is better)", "A", "B", "-0.500", "[-1.000, 0.250]", "0.0100", "0.0200", "9"],
    ]


def test_a_result_of_an_earlier_version_has_no_such_table() -> None:
    result = _result("AB", ("people", "human"))
    assert difference_tables({"rows": result["rows"]}) == []


@pytest.mark.parametrize(("value", "shown"), [(None, "–"), (0.00005, "< 0.0001"), (0.0001, "0.0001"), (1.0, "1.0000")])
def test_small_p_values(value: float | None, shown: str) -> None:
    assert p_text(value) == shown


def test_a_family_without_a_bound_names_none() -> None:
    assert family_text(3, None, "holm") == "p corrected by holm for 3 tests"
