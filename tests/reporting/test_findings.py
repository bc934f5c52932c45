"""Who leads, by how much, and whether that is significant."""

from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.reporting.findings import (
    correlation_finding,
    ratings_finding,
    retrieval_finding,
    significance,
    tournament_finding,
)
from fcconan.reporting.page import today
from tests.reporting.invented import example_result

FAMILIES = [{"name": "people, primary", "n_tests": 3}]


def _test(p: float | None, **more: Any) -> dict[str, Any]:
    return {"a": "B", "b": "A", "difference": -2.0, "p_corrected": p, "family": "people, primary", **more}


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (None, "this was not tested"),
        (_test(None), "this was not tested"),
        (_test(0.04), "significant (p = 0.0400, corrected for 3 tests)"),
        (_test(0.00001), "significant (p < 0.0001, corrected for 3 tests)"),
        (_test(0.05), "not significant (p = 0.0500, corrected for 3 tests)"),
    ],
)
def test_significance_goes_by_the_corrected_p(test: dict[str, Any] | None, said: str) -> None:
    assert significance(test, FAMILIES) == said


def test_a_benchmark_names_leader_distance_and_primary_test() -> None:
    result = example_result()
    said = retrieval_finding(result)
    assert said == (
        "bm25 leads with an average of 0.4688, 0.3281 above random. On the primary metric, NDCG@10 on bronze, the two "
        "differ by +0.5000: not significant (p = 0.0600, corrected for 2 tests)."
    )
    result["comparisons"] = []
    assert retrieval_finding(result).endswith("above random. This difference was not tested.")
    result["systems"] = {"bm25": result["systems"]["bm25"]}
    assert retrieval_finding(result) == "bm25 has an average of 0.4688."
    assert retrieval_finding({**result, "systems": {}}) == "No system has an average."


def test_a_tournament_and_a_leaderboard_name_the_first_two() -> None:
    systems = [{"name": "A", "share": 60.0}, {"name": "B", "share": 40.0}]
    result = {"systems": systems, "comparisons": [_test(0.2)], "families": FAMILIES}
    assert tournament_finding(result) == (
        "A leads with 60.00 % of the points, 20.00 above B: not significant (p = 0.2000, corrected for 3 tests)."
    )
    assert tournament_finding({"systems": systems[:1]}) == ""
    column = [{"system": name, "rater": "r", "aspect": "x", "value": value} for name, value in (("A", 4.5), ("B", 4.0))]
    tests = [_test(0.01, rater="r", aspect="y"), _test(0.03, rater="r", aspect="x")]
    assert ratings_finding({"comparisons": tests, "families": FAMILIES}, column) == (
        "A leads in x by r with 4.50, 0.50 from B: significant (p = 0.0300, corrected for 3 tests)."
    )


def test_judges_without_a_mean_do_not_lead() -> None:
    board = [["a", "0.750"], ["b", "0.500"], ["c", "–"], ["(chance)", "–"]]
    tests = [_test(0.01, a="a", b="b"), _test(0.5, a="b", b="a"), _test(0.01, a="a", b="c")]
    assert correlation_finding({"tests": tests}, board) == (
        "a agrees best with people, with a mean correlation of 0.750; b has 0.500: "
        "significant in 1 of 2 corrected tests."
    )
    assert correlation_finding({}, board[2:]) == "No judge has a value for every aspect."
    assert correlation_finding({}, [board[0], board[2]]).endswith("0.750; no other has a value for every aspect.")


def test_a_single_judge_is_not_the_best_of_several() -> None:
    alone = "a, the only judge, has a mean correlation of 0.750 with people."
    assert correlation_finding({}, [["a", "0.750"]]) == alone
    assert correlation_finding({}, [["a", "0.750"], ["(chance)", "0.000"], ["(one person)", "0.800"]]) == alone


def test_a_day_is_that_of_the_result_or_the_one_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    assert len(today()) == 10
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert today() == "1970-01-01"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "now")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is 'now': give a whole number"):
        today()
