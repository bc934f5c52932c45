"""Tests of differences between systems: cases worked out by hand, scipy, invariances, and error rates."""

import itertools
import math
import random
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from fcconan.errors import InputError
from fcconan.scoring.ratings import Ratings
from fcconan.scoring.significance.families import Family, family_parts, floor_notes, system_pairs
from fcconan.scoring.system_tests import (
    SystemDifferences,
    SystemTest,
    compare_differences,
    compare_rated,
    sign_flip_signature,
    system_test_notes,
    verdict_differences,
)
from fcconan.scoring.tournament.preferences import read_verdicts
from fcconan.scoring.tournament.ranking import rank_systems

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]
nan = math.nan


def _rated(values: dict[str, list[float]], **more: Any) -> list[Row]:
    """Ratings of one reply of each system to each item; nan is missing."""
    return [
        {"reply_id": f"{system}-{item}", "item_id": f"i{item:03}", "system": system, "rater": "anna", "aspect": "tone"}
        | {"value": None if math.isnan(value) else value, "low": 0, "high": 10}
        | more
        for system, own in values.items()
        for item, value in enumerate(own)
    ]


def _tests(rows: list[Row], **options: Any) -> tuple[dict[str, SystemTest], list[Family]]:
    tests, families = compare_rated(Ratings(rows), **{"resamples": 2_000, **options})
    return {
        f"{test.a}{test.b}" if test.aspect == "tone" else f"{test.a}{test.b}:{test.aspect}": test for test in tests
    }, families


def _exact(differences: list[float]) -> float:
    """The share of all vectors of signs whose sum is as far from 0."""
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product((-1, 1), repeat=len(differences))]
    return float(np.mean(np.array(sums) >= abs(sum(differences)) - 1e-9))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([3, 5], [1, 4], 1 / 2),  # 2 + 1: of ++, +-, -+ and --, the first and the last
        ([3, 5, 4], [1, 4, 4], 1 / 2),  # an item without a difference decides nothing
        ([3, 5, 2], [1, 4, 5], 1.0),  # 2 + 1 - 3 = 0: every sum is as large
        ([5, 5, 5], [1, 3, 4], 1 / 4),  # 4 + 2 + 1: +++ and --- of eight
    ],
)
def test_p_of_two_or_three_items_by_hand(a: list[float], b: list[float], expected: float) -> None:
    found, (family,) = _tests(_rated({"A": a, "B": b}), resamples=20_000)
    test = found["AB"]
    assert expected == _exact((np.array(a) - np.array(b)).tolist())
    assert test.p == test.p_corrected == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 20_000))
    assert test.difference == pytest.approx(float(np.mean(a) - np.mean(b)))
    assert test.n == len(a)
    assert (family.n_tests, family.floor) == (1, 2 / 2 ** len(a))


def test_a_single_pair_is_that_of_scipy() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.integers(0, 11, size=(2, 11)).astype(float)
    found, _ = _tests(_rated({"A": a.tolist(), "B": b.tolist()}), resamples=20_000)
    theirs = stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert 0.02 < theirs.pvalue < 0.98
    assert found["AB"].p == pytest.approx(theirs.pvalue, abs=4 * math.sqrt(0.25 / 20_000))
    assert found["AB"].difference == pytest.approx(theirs.statistic, abs=1e-12)


def test_adjusted_p_of_three_items_is_that_of_all_signs() -> None:
    # The same signs serve all three pairs, whose statistics are |sum| / sqrt(sum of squares).
    values: dict[str, list[float]] = {"A": [9, 8, 7], "B": [5, 6, 6], "C": [5, 4, 7]}
    found, _ = _tests(_rated(values), resamples=20_000)
    signs = np.array(list(itertools.product((-1, 1), repeat=3)))
    differences = np.array(
        [np.subtract(values[a], values[b]) for a, b in itertools.combinations(values, 2)], dtype=float
    )
    drawn = np.abs(signs @ differences.T) / np.sqrt((differences**2).sum(axis=1))
    observed = drawn[-1]  # +++
    order = np.argsort(-observed)
    expected, before = np.zeros(3), 0.0
    for place, test in enumerate(order):
        before = max(before, float((drawn[:, order[place:]].max(axis=1) >= observed[test] - 1e-9).mean()))
        expected[test] = before
    assert [test.p_corrected for test in found.values()] == pytest.approx(expected.tolist(), abs=0.015)
    assert len(set(expected.tolist())) > 1


def test_only_items_of_both_systems_are_compared() -> None:
    found, (family,) = _tests(
        _rated({"A": [1, 2, 3, 10], "B": [2, nan, 5, nan], "C": [nan, 4, nan, nan]}), resamples=99
    )
    assert (found["AB"].n, found["AB"].difference, found["AB"].reason) == (2, -1.5, None)
    for name, n, reason in (("AC", 1, "too_few_items"), ("BC", 0, "no_common_items")):
        test = found[name]
        assert [getattr(test, key) for key in ("difference", "low", "high", "p", "p_corrected")] == [None] * 5
        assert (test.n, test.reason) == (n, reason)
    assert (family.n_tests, family.units, family.floor) == (1, 2, 0.5)
    (note,) = floor_notes([family], "--resamples")
    assert note.endswith("0.5 with 2 paired units; 6 units or more are needed, more --resamples do not help.")


def test_pairs_with_few_common_items_are_counted_where_others_have_more() -> None:
    generator = np.random.default_rng(4)
    values = {name: generator.integers(0, 11, size=8).astype(float).tolist() for name in "ABC"}
    values["C"][:3] = [nan] * 3
    tests, families = compare_rated(Ratings(_rated(values)), resamples=99)
    assert [test.n for test in tests] == [8, 5, 5]
    assert system_test_notes(tests, families) == ["2 tests of 3 have fewer than 6 common items: no p can be below .05."]
    values["C"][0] = 1.0
    assert system_test_notes(*compare_rated(Ratings(_rated(values)), resamples=99)) == []


def test_items_without_a_common_value_change_nothing() -> None:
    values = {"A": [1.0, 4.0, 2.0, 8.0], "B": [3.0, 2.0, 2.0, 3.0]}
    apart = {"A": [5.0, *values["A"], nan], "B": [nan, *values["B"], 6.0]}
    found, families = _tests(_rated(values))
    assert _tests(_rated(apart)) == (found, families)


def test_several_replies_to_an_item_are_one_value() -> None:
    rows = _rated({"A": [1, 2], "B": [5, 5]})
    rows += [row | {"reply_id": f"{row['reply_id']}x", "value": 9} for row in rows if row["system"] == "A"][:1]
    found, _ = _tests(rows, resamples=9)
    assert (found["AB"].difference, found["AB"].n) == (((1 + 9) / 2 - 5 + 2 - 5) / 2, 2)


def test_equal_systems_have_p_1_and_a_better_one_the_smallest_p() -> None:
    generator = np.random.default_rng(1)
    own = generator.integers(1, 6, size=12).astype(float).tolist()
    found, (family,) = _tests(_rated({"A": own, "B": own, "C": [each + 2 for each in own]}), resamples=10_000)
    assert (found["AB"].p, found["AB"].p_corrected, found["AB"].difference) == (1.0, 1.0, 0.0)
    # C is better on each of 12 items: 2 of 4096 vectors of signs.
    for name in ("AC", "BC"):
        assert found[name].p_corrected == pytest.approx(2 / 2**12, abs=4 * math.sqrt(2 / 2**12 / 10_000))
    assert family.floor == 2 / 2**12


def test_names_and_the_order_of_rows_do_not_matter() -> None:
    generator = np.random.default_rng(2)
    values = {name: generator.integers(0, 11, size=9).astype(float).tolist() for name in "ABCD"}
    values["B"][3] = nan
    rows = _rated(values)
    found, families = _tests(rows)
    shuffled = list(rows)
    random.Random(4).shuffle(shuffled)
    assert _tests(shuffled) == (found, families)
    renamed = {"A": "z", "B": "y", "C": "x", "D": "w"}
    others, _ = _tests([row | {"system": renamed[row["system"]]} for row in rows])
    for test in found.values():
        other = others[renamed[test.b] + renamed[test.a]]
        assert (other.p, other.p_corrected, other.n) == (test.p, test.p_corrected, test.n)
        assert other.difference == pytest.approx(-(test.difference or 0.0), abs=1e-12)
        assert (other.low, other.high) == pytest.approx((-(test.high or 0.0), -(test.low or 0.0)), abs=1e-12)


def test_a_baseline_restricts_the_pairs_and_the_family() -> None:
    generator = np.random.default_rng(6)
    rows = _rated({name: generator.integers(0, 11, size=12).astype(float).tolist() for name in "ABCD"})
    (every, (whole,)), (some, (part,)) = _tests(rows), _tests(rows, baseline="C")
    assert (list(every), whole.n_tests) == (["AB", "AC", "AD", "BC", "BD", "CD"], 6)
    assert (list(some), part.n_tests) == (["AC", "BC", "DC"], 3)
    assert some["DC"].p == every["CD"].p
    assert some["DC"].difference == pytest.approx(-(every["CD"].difference or 0))
    assert all(
        (test.p_corrected or 0) <= (every["".join(sorted(name))].p_corrected or 0) for name, test in some.items()
    )
    with pytest.raises(InputError, match=r"^unknown baseline system 'E': known are A, B, C, D$"):
        _tests(rows, baseline="E")
    with pytest.raises(InputError, match=r"^there is one system, A: --baseline needs another one"):
        system_pairs(["A"], "A")


def test_the_primary_aspect_has_a_family_of_its_own_for_every_rater() -> None:
    generator = np.random.default_rng(7)
    rows = []
    for rater, kind, aspects in (
        ("anna", "human", ("tone", "wit")),
        ("judge", "model", ("tone", "wit")),
        ("bleu", "metric", ("score",)),
    ):
        for aspect in aspects:
            own = {name: generator.integers(0, 11, size=8).astype(float).tolist() for name in "ABC"}
            rows += _rated(own, rater=rater, rater_kind=kind, aspect=aspect)
    tests, families = compare_rated(Ratings(rows), resamples=99)
    # Without --primary it is the unified score, and the only aspect of a rater without one.
    assert [(each.name, each.tests, each.n_tests) for each in families] == [
        ("people, primary", "pairs of systems, unified", 3),
        ("people, exploratory", "pairs of systems, tone, wit", 6),
        ("judge, primary", "pairs of systems, unified", 3),
        ("judge, exploratory", "pairs of systems, tone, wit", 6),
        ("bleu, primary", "pairs of systems, score", 3),
    ]
    assert [test.family for test in tests] == [name for each in families for name in [each.name] * each.n_tests]
    chosen = compare_rated(Ratings(rows), primary="wit", baseline="B", resamples=99)[1]
    assert [(each.name, each.tests, each.n_tests) for each in chosen] == [
        ("people, primary", "pairs of systems, wit", 2),
        ("people, exploratory", "pairs of systems, unified, tone", 4),
        ("judge, primary", "pairs of systems, wit", 2),
        ("judge, exploratory", "pairs of systems, unified, tone", 4),
        ("bleu, exploratory", "pairs of systems, score", 2),
    ]
    with pytest.raises(
        InputError, match=r"^unknown primary aspect 'wits': did you mean 'wit'\? known are unified, tone, wit, score$"
    ):
        compare_rated(Ratings(rows), primary="wits")


def test_a_low_value_can_be_the_better_one() -> None:
    (test,), _ = compare_rated(Ratings(_rated({"A": [1, 2], "B": [5, 5]}, higher_is_better=False)), resamples=9)
    assert (test.difference, test.higher_is_better) == (-3.5, False)


def test_intervals_are_those_of_a_plain_bootstrap_and_left_out_without_one() -> None:
    generator = np.random.default_rng(8)
    a, b = generator.integers(0, 11, size=(2, 9)).astype(float)
    rows = _rated({"A": a.tolist(), "B": b.tolist()})
    found, _ = _tests(rows, resamples=300, seed=5, confidence=0.8)
    drawn = np.random.default_rng(5).integers(9, size=(300, 9))
    expected = np.quantile((a - b)[drawn].mean(axis=1), [0.1, 0.9])
    assert (found["AB"].low, found["AB"].high) == pytest.approx(tuple(expected), abs=1e-12)
    without, (family,) = _tests(rows, resamples=0)
    assert (without["AB"].low, without["AB"].high, family.floor) == (None, None, 2 / 2**9)
    assert without["AB"].p == _tests(rows, resamples=10_000)[0]["AB"].p


def _verdict(a: str, b: str, verdict: str, item: str = "i1") -> Row:
    return {"item_id": item, "system_a": a, "system_b": b, "verdict": verdict, "rater": "anna"}


def _apart(rows: list[Row]) -> list[list[float]]:
    verdicts = read_verdicts(rows)
    found: list[list[float]] = verdict_differences(verdicts.wins(), system_pairs(verdicts.systems)).tolist()
    return found


def test_win_rates_are_compared_on_what_both_systems_met() -> None:
    # A beats B and C, B and C tie: 2, 1/2 and 1/2 points of two comparisons each.
    round_robin = [_verdict("A", "B", "a"), _verdict("C", "A", "b"), _verdict("B", "C", "tie")]
    assert _apart(round_robin) == [[0.75], [0.75], [0.0]]
    # A met C and D and beat both; B met C only, and lost: they are compared by C.
    assert _apart([_verdict("A", "C", "a"), _verdict("A", "D", "a"), _verdict("B", "C", "b")])[0] == [1.0]
    # A met C, B met D: nothing is common.
    assert math.isnan(_apart([_verdict("A", "C", "a"), _verdict("B", "D", "a")])[0][0])
    # Two of three verdicts on the pair are for A: 2/3 - 1/3.
    three = [_verdict("A", "B", verdict) | {"rater": rater} for rater, verdict in zip("xyz", "aab", strict=True)]
    assert _apart(three)[0] == pytest.approx([1 / 3])


def test_where_all_met_equally_often_win_rates_are_points_per_comparison() -> None:
    generator = np.random.default_rng(9)
    rows = [
        _verdict(a, b, str(generator.choice(["a", "b", "tie"])), f"i{item}")
        for item in range(6)
        for a, b in itertools.combinations("ABCD", 2)
    ]
    wins = read_verdicts(rows).wins()
    points = wins.sum(axis=2) / (wins + wins.swapaxes(1, 2)).sum(axis=2)
    expected = [points[:, a] - points[:, b] for a, b in itertools.combinations(range(4), 2)]
    np.testing.assert_allclose(verdict_differences(wins, system_pairs("ABCD")), expected, atol=1e-15)


def test_a_tournament_tests_its_systems() -> None:
    rows = [
        _verdict(a, b, "a" if (a, b) != ("B", "C") else "ab"[item % 2], f"i{item:02}")
        for item in range(12)
        for a, b in (("A", "B"), ("A", "C"), ("B", "C"))
    ]
    result = rank_systems(rows, resamples=2_000)
    tests = {f"{test['a']}{test['b']}": test for test in result["comparisons"]}
    assert [tests[name]["difference"] for name in ("AB", "AC", "BC")] == [0.75, 0.75, 0.0]
    assert all(tests[name]["p_corrected"] < 0.005 for name in ("AB", "AC"))
    assert tests["BC"]["p"] == 1.0
    assert {(test["n"], test["family"], test["aspect"], test["rater"]) for test in tests.values()} == {
        (12, "primary", "win_rate", None)
    }
    (family,) = result["families"]
    assert (family["n_tests"], family["correction"], len(result["notes"])) == (3, "max-t", 1)
    assert result["tests_signature"] == (
        f"{result['signature']}|test:sign-flip|draws:2000-by-item|sides:2|pairs:all|family:win-rates|tests:3|floor:0.0005|"
        "correction:max-t"
    )
    chosen = rank_systems(rows, resamples=100, baseline="B")
    assert ([(test["a"], test["b"]) for test in chosen["comparisons"]], chosen["families"][0]["n_tests"]) == (
        [("A", "B"), ("C", "B")],
        2,
    )
    assert "|pairs:against-B|" in chosen["tests_signature"]
    with pytest.raises(InputError, match="unknown baseline system 'D'"):
        rank_systems(rows, resamples=0, baseline="D")


def test_signatures_name_families_and_floors() -> None:
    families = [Family("x", "", 3, 0.001), Family("y", "", 6, 0.002), Family("z", "", 0, None, "holm")]
    assert family_parts(families, "rule") == {
        "family": "rule", "tests": "3+6+0", "floor": "0.001+0.002+none", "correction": "max-t+holm"
    }  # fmt: skip
    assert family_parts([families[0]] * 2, "rule")["tests"] == "2x3"
    parts = family_parts([families[0], Family("few", "", 3, 0.125), families[0], families[2]], "rule")
    assert (parts["tests"], parts["floor"]) == ("2x3+3+0", "0.001+0.125+none")
    parts = family_parts([families[0], families[2]], "rule")
    assert (parts["tests"], parts["floor"]) == ("3+0", "0.001")
    assert family_parts([], "rule") == {"family": "rule", "tests": "0", "floor": "none", "correction": "none"}
    signature = sign_flip_signature("s", families[:1], by="rule", draws=9, baseline="B")
    assert signature == (
        "s|test:sign-flip|draws:9-by-item|sides:2|pairs:against-B|family:rule|tests:3|floor:0.001|correction:max-t"
    )


def test_without_pairs_there_is_no_test() -> None:
    assert compare_differences([SystemDifferences(None, "x", True, "f", np.zeros((0, 3)))], ["A"], []) == ([], [])
    assert compare_rated(Ratings(_rated({"A": [1, 2]}))) == ([], [])


def _error_rate(worlds: int, better: int, resamples: int) -> tuple[int, int, int]:
    """Simulates 6 systems, some better: worlds with an error, differences found, differences found by Holm's method."""
    generator = np.random.default_rng(11)
    pairs = system_pairs("ABCDEF")
    errors = power = by_holm = 0
    for world in range(worlds):
        hard = generator.normal(size=20)  # an item is easy or hard for all systems
        values = hard + generator.normal(size=(6, 20))
        values[:better] += 1.2
        graded = np.clip(np.round(values + 3), 1, 5)
        apart = np.array([graded[a] - graded[b] for a, b in pairs])
        tests, _ = compare_differences(
            [SystemDifferences(None, "x", True, "f", apart)], "ABCDEF", pairs, resamples=resamples, seed=world
        )
        is_true = [(a < better) != (b < better) for a, b in pairs]
        found = [test.p_corrected is not None and test.p_corrected <= 0.05 for test in tests]
        errors += any(each and not true for each, true in zip(found, is_true, strict=True))
        power += sum(each and true for each, true in zip(found, is_true, strict=True))
        p_values = sorted((test.p or 1.0, true) for test, true in zip(tests, is_true, strict=True))
        for rank, (p, true) in enumerate(p_values):
            if p * (len(pairs) - rank) > 0.05:
                break
            by_holm += true
    return errors, power, by_holm


@pytest.mark.parametrize("better", [0, 3])
def test_few_worlds_without_a_difference_have_an_error(better: int) -> None:
    errors, power, by_holm = _error_rate(150, better, 199)
    assert errors <= stats.binom.ppf(0.999, 150, 0.05)
    assert power >= by_holm
    assert (power > 0) == (better > 0)


@pytest.mark.long
@pytest.mark.parametrize("better", [0, 3])
def test_five_of_a_hundred_worlds_have_an_error_at_most(better: int) -> None:
    errors, power, by_holm = _error_rate(1_500, better, 999)
    assert errors <= stats.binom.ppf(0.999, 1_500, 0.05)
    if not better:
        assert errors >= stats.binom.ppf(0.001, 1_500, 0.05)
    assert power > by_holm or not better


def test_rows_hold_what_results_need() -> None:
    (test,), _ = compare_rated(Ratings(_rated({"A": [1, 2], "B": [5, 5]})), resamples=9)
    assert list(asdict(test)) == [
        "a", "b", "rater", "aspect", "higher_is_better", "difference", "low", "high", "p", "p_corrected", "n", "family",
        "reason",
    ]  # fmt: skip
