"""Results of the scoring verbs as tables."""

from pathlib import Path
from typing import Any

from fcconan.reporting.correlations import correlation_tables
from fcconan.reporting.page import write_page
from fcconan.reporting.scores import correlation_page, correlation_section

Row = dict[str, Any]


def _correlation(metric: str, coefficient: str, value: float | None, **more: Any) -> Row:
    counts = {
        "n": 9,
        "n_groups": 3,
        "n_constant": 1,
        "n_rows_too_few": 4,
        "n_missing": 2,
        "chance": 0.0,
        "ceiling": 0.8,
    }
    ends = {"low": None if value is None else value - 0.1, "high": None if value is None else value + 0.1}
    return {
        "metric": metric,
        "aspect": "relevance",
        "level": "pooled",
        "coefficient": coefficient,
        "value": value,
        "reason": None if value is not None else "constant",
        **counts,
        **ends,
        **more,
    }


def test_correlations_stand_best_first_with_chance_and_ceiling() -> None:
    rows = [
        _correlation("weak", "spearman", 0.2),
        _correlation("none", "spearman", None),
        _correlation("strong", "spearman", 0.7, low=None, high=None),
        _correlation("weak", "pearson", 0.3),
        _correlation("weak", "spearman", 0.5, level="per_item", ceiling=None),
    ]
    board, first, second = correlation_tables({"rows": rows})
    assert [row[0] for row in board.rows] == ["strong", "weak", "none", "(chance)", "(one person)"]
    assert correlation_tables({"rows": rows}, details=False) == [board]
    assert (
        first.title
        == "relevance, pooled (spearman: chance 0.000, one person 0.800; pearson: chance 0.000, one person 0.800)"
    )
    assert first.columns == ["metric", "spearman", "pearson", "rows", "groups", "constant", "too few", "missing"]
    assert first.rows == [
        ["strong", "0.700", "–", "9", "3", "1", "4", "2"],
        ["weak", "0.200 [0.100, 0.300]", "0.300 [0.200, 0.400]", "9", "3", "1", "4", "2"],
        ["none", "– (constant)", "–", "9", "3", "1", "4", "2"],
    ]
    assert second.title == "relevance, per_item (spearman: chance 0.000, one person –)"


def test_further_tables_of_correlations() -> None:
    test = {"a": "x", "b": "y", "aspect": "relevance", "level": "pooled", "coefficient": "pearson", "n": 9}
    test["test"] = "perm_both"
    done = {"difference": 0.25, "p": 0.01234, "p_corrected": 0.0247, "reason": None}
    undone = {"difference": None, "p": None, "p_corrected": None, "reason": "no_rows"}
    sample = {"metric": "x", "aspect": "relevance", "coefficient": "pearson", "n_trials": 6}
    spread = {"mean": 0.5, "standard_deviation": 0.01, "lowest": 0.4, "highest": 0.6}
    result = {
        "rows": [],
        "tests": [{**test, **done}, {**test, **undone}],
        "families": [{"name": "relevance, pooled, pearson", "n_tests": 1, "floor": 0.001, "correction": "max-t"}],
        "stability": [{**sample, **spread}],
        "missing": [{"rater": "x", "aspect": "relevance", "reason": "no_field", "n": 4}],
    }
    tests, stability, missing = correlation_tables(result)
    assert tests.rows == [
        ["x - y", "relevance", "pooled", "pearson", "0.250", "0.0123", "0.0247", "9"],
        ["x - y", "relevance", "pooled", "pearson", "– (no_rows)", "–", "–", "9"],
    ]
    assert tests.title == (
        "Differences between metrics, by random swaps (p corrected by max-t for 1 test, smallest possible 0.001)"
    )
    tiny = {**test, **done, "p": 1e-9, "p_corrected": 0.0}
    (tests,) = correlation_tables({"rows": [], "tests": [tiny]})
    assert tests.rows[0][5:7] == ["< 0.0001", "< 0.0001"]
    assert stability.rows == [["x", "relevance", "pearson", "0.500", "0.010", "0.400", "0.600", "6"]]
    assert missing.rows == [["x", "relevance", "no_field", "4"]]


def test_chance_that_differs_stands_beside_every_value() -> None:
    accuracy = "pairwise_accuracy"
    rows = [
        _correlation("x", "spearman", 0.5),
        _correlation("x", accuracy, 0.6, chance=0.5, n_constant=0, n_groups=4),
        _correlation("y", accuracy, 0.7, chance=0.25, n_constant=0, n_groups=4, low=None, high=None),
        _correlation("x", f"{accuracy}_calibrated", 0.8, chance=None, n_constant=0, n_groups=4),
    ]
    _, plain, accuracies = correlation_tables({"rows": rows})
    assert plain.columns[:2] == ["metric", "spearman"]
    assert plain.rows[0][2:] == ["9", "3", "1", "4", "2"]
    assert accuracies.title == (
        f"relevance, pooled ({accuracy}: one person 0.800; {accuracy}_calibrated: chance –, one person 0.800)"
    )
    assert accuracies.columns[1:4] == [accuracy, f"chance of {accuracy}", f"{accuracy}_calibrated"]
    assert accuracies.rows == [
        ["y", "0.700", "0.250", "–", "9", "4", "0", "4", "2"],
        ["x", "0.600 [0.500, 0.700]", "0.500", "0.800 [0.700, 0.900]", "9", "4", "0", "4", "2"],
    ]
    rows[2]["chance"] = 0.5
    assert f"{accuracy}: chance 0.500, one person" in correlation_tables({"rows": rows})[2].title


def test_counts_that_differ_between_coefficients_stand_in_their_order() -> None:
    rows = [
        _correlation("x", "spearman", 0.5),
        _correlation("x", "pearson", 0.6, n_constant=0, n_groups=4),
        _correlation("y", "spearman", 0.1, n=7),
        _correlation("y", "pearson", 0.2, n=7),
    ]
    _, table = correlation_tables({"rows": rows})
    assert [row[3:] for row in table.rows] == [
        ["9", "3 / 4", "1 / 0", "4", "2"],
        ["7", "3", "1", "4", "2"],
    ]


def test_judges_of_different_items_are_compared_on_those_that_all_scored() -> None:
    row: Row = {"protocol": "sound", "reason": None, "low": None, "high": None, "ceiling": 0.9, "chance": 0.8}
    row |= {"n_incomplete": 0, "n_missing": 0, "chance_common": 0.7, "n_groups_common": 2}
    ndcg = [
        {**row, "metric": "some", "value": 0.95, "n_groups": 2, "value_common": 0.95},
        {**row, "metric": "every", "value": 0.92, "n_groups": 3, "value_common": 0.97},
        {**row, "metric": "none", "value": None, "reason": "incomplete", "n_groups": 0, "n_groups_common": 0}
        | {"value_common": None, "chance_common": None},
    ]
    (table,) = correlation_tables({"rows": [], "ndcg": ndcg})
    assert table.columns[-3:] == ["NDCG, common items", "chance, common items", "common items"]
    assert [[cells[0], cells[1], *cells[-3:]] for cells in table.rows] == [
        ["every", "0.920", "0.970", "0.700", "2"],
        ["some", "0.950", "0.950", "0.700", "2"],
        ["none", "– (incomplete)", "–", "–", "0"],
    ]
    (table,) = correlation_tables({"rows": [], "ndcg": ndcg[:1]})
    assert (table.columns[-1], table.rows[0][1]) == ("missing", "0.950")


def test_notes_of_a_result_stand_before_ours() -> None:
    section = correlation_section({"rows": [], "notes": ["Mind this."]})
    assert (section.title, section.notes[0], len(section.notes)) == ("Judges and metrics", "Mind this.", 4)


def test_a_page_is_written(tmp_path: Path) -> None:
    result = {"rows": [_correlation("x", "pearson", 0.5)], "signature": "s|1"}
    write_page(tmp_path / "c.html", correlation_page(result))
    assert "<code>s|1</code>" in (tmp_path / "c.html").read_text(encoding="utf-8")
