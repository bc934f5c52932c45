"""Results of the scoring verbs as tables."""

from typing import Any

from fcconan.reporting.scores import agreement_tables


def test_agreement_has_a_line_for_everybody_and_every_pair() -> None:
    row: dict[str, Any] = {"aspect": None, "coefficient": "raw", "value": 0.5, "low": 0.4, "high": 0.6, "n": 4}
    row |= {"n_items": 2, "n_missing": 1}
    rows = [
        {**row, "level": "overall", "raters": ["a", "b", "c"], "reason": None},
        {**row, "level": "pair", "raters": ["a", "b"], "value": None, "low": None, "reason": "too_few_pairs"},
    ]
    (table,) = agreement_tables(rows)
    assert table.columns == ["aspect", "raters", "raw", "rated", "items", "left out"]
    assert table.rows == [
        ["all", "3 raters", "0.500 [0.400, 0.600]", "4", "2", "1"],
        ["all", "a and b", "– (too_few_pairs)", "4", "2", "1"],
    ]
    assert [len(each.rows) for each in agreement_tables(rows, pairs=False)] == [1]
    # More than four coefficients are several tables; counts that differ stand in their order.
    many = [{**rows[0], "coefficient": name, "n": n} for n, name in enumerate("vwxyz")]
    assert [(table.columns[2:-3], table.rows[0][-3]) for table in agreement_tables(many)] == [
        (["v", "w", "x", "y"], "0 / 1 / 2 / 3"),
        (["z"], "4"),
    ]
