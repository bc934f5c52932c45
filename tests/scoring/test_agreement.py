import math
import random
from importlib import import_module
from itertools import combinations
from typing import Any, Literal

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import fcconan
from fcconan.errors import InputError
from fcconan.scoring.agreement import (
    AGREEMENT_COEFFICIENTS,
    REASONS,
    agreement_signature,
    alpha_of_counts,
    cohen_kappa,
    krippendorff_alpha,
    measure_agreement,
)
from fcconan.scoring.arrays import Floats

inter_rater = import_module("statsmodels.stats.inter_rater")  # it has no types
Level = Literal["nominal", "ordinal", "interval"]


def _oracle(units: list[list[float]], level: Level) -> float:
    """The GPL package wants one row a rater, with nan for what is missing."""
    width = max(len(unit) for unit in units)
    table = np.array([unit + [np.nan] * (width - len(unit)) for unit in units], dtype=float).T
    return float(krippendorff.alpha(reliability_data=table, level_of_measurement=level))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", range(20))
def test_equals_the_krippendorff_package(level: Level, seed: int) -> None:
    generator = random.Random(seed)
    scale = [1.0, 2.0, 3.0, 5.0]
    units = [[generator.choice(scale) for _ in range(generator.randint(0, 4))] for _ in range(40)]
    result = krippendorff_alpha(units, level=level)
    assert result.value == pytest.approx(_oracle(units, level), abs=1e-12)
    assert result.n_units == sum(len(unit) > 1 for unit in units)


def test_hand_derived_nominal_example() -> None:
    # Values aa, ab, bb: coincidences aa 2, bb 2, ab 1, ba 1; 6 values, 3 of each kind.
    # Observed disagreement 2/6; expected 2 * 3 * 3 / (6 * 5) = 18/30; alpha = 1 - (1/3) / (3/5) = 4/9.
    assert krippendorff_alpha([[0, 0], [0, 1], [1, 1]], level="nominal").value == pytest.approx(4 / 9, abs=1e-15)


def test_alpha_of_counts() -> None:
    # The same units; one with a single value does not count, nor does a value that nobody gave.
    counts = np.array([[2, 0, 0], [1, 0, 1], [0, 0, 2], [1, 0, 0]], dtype=np.float64)
    found = alpha_of_counts(counts, np.array([0.0, 1.0, 2.0]), level="nominal")
    assert found.value == pytest.approx(4 / 9, abs=1e-15)
    assert found.n_units == 3


def test_a_value_given_once_counts() -> None:
    # Coincidences: 1 with 1 twice, 2 with 2 twice, 1 with 3 and 3 with 1 once each; totals 3, 2 and 1 of 6.
    # 1 - (2 / 6) / ((36 - 9 - 4 - 1) / 30).
    found = krippendorff_alpha([[1.0, 1.0], [2.0, 2.0], [1.0, 3.0]], level="nominal")
    assert found.value == pytest.approx(6 / 11, abs=1e-15)


def test_a_domain_may_have_101_values() -> None:
    (row,) = measure_agreement([[1.0], [1.0]], range(101), coefficients=["raw"], resamples=0)[:1]
    assert row["value"] == 1.0


def test_undefined_is_missing_with_a_reason() -> None:
    assert krippendorff_alpha([[1], [], [2]], level="nominal").reason == "too_few_pairs"
    constant = krippendorff_alpha([[3, 3], [3, 3]], level="ordinal")
    assert (constant.value, constant.reason, constant.n_units) == (None, "no_variation", 2)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="level is 'ratio'"):
        krippendorff_alpha([[1, 2]], level="ratio")


@pytest.mark.parametrize("seed", range(40))
def test_kappa_equals_scikit_learns(seed: int) -> None:
    generator = random.Random(seed)
    first, second = (generator.choices(["a", "b", "tie"], weights=[4, 3, 1 + rater], k=30) for rater in (0, 1))
    second = [other if generator.random() < seed / 40 else label for label, other in zip(second, first, strict=True)]
    kappa = cohen_kappa(first, second)
    assert kappa == pytest.approx(float(cohen_kappa_score(first, second)), abs=1e-12)
    assert kappa == cohen_kappa(second, first)


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        # Of 4 items 3 agree; by chance 2 * 3 + 2 * 1 of 16: (3/4 - 1/2) / (1 - 1/2).
        ("aabb", "aaab", 1 / 2),
        # All agree.
        ("abc", "abc", 1),
        # None agrees; by chance 2 * 2 + 2 * 2 of 16: (0 - 1/2) / (1 - 1/2).
        ("aabb", "bbaa", -1),
        # 2 of 4; by chance 4 * 2 of 16: no better than chance.
        ("aaaa", "abab", 0),
        # No label in common, so nothing agrees by chance either.
        ("aa", "bb", 0),
        # 2 of 5; by chance 2 * 1 + 1 * 2 + 2 * 2 of 25: (2/5 - 8/25) / (1 - 8/25).
        ("aabcc", "abccb", 2 / 17),
    ],
)
def test_hand_derived_kappas(first: str, second: str, kappa: float) -> None:
    assert cohen_kappa(list(first), list(second)) == pytest.approx(kappa, abs=1e-15)


@pytest.mark.parametrize("labels", [[], ["a"], ["tie", "tie", "tie"]])
def test_kappa_without_items_or_without_variation_is_missing(labels: list[str]) -> None:
    assert cohen_kappa(labels, labels) is None


@pytest.mark.parametrize(("first", "second"), [(["a"], []), (["a", "b"], ["a", "b", "b"])])
def test_kappa_of_lists_of_different_length_is_refused(first: list[str], second: list[str]) -> None:
    with pytest.raises(ValueError, match=f"^found {len(first)} and {len(second)} labels, expected equal numbers$"):
        cohen_kappa(first, second)


SCALE = [1.0, 2.0, 3.0, 5.0, 8.0]


def _table(seed: int, *, raters: int = 4, items: int = 60, missing: float = 0.2) -> Floats:
    """Raters who agree in part, on items of which some lack ratings; the 8 of the scale is never given."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 4, size=items)
    given = np.where(generator.random((raters, items)) < 0.5, truth, generator.integers(0, 4, size=(raters, items)))
    return np.where(generator.random((raters, items)) < missing, np.nan, np.array(SCALE)[given])


def _found(values: Any, domain: list[float] = SCALE, **settings: Any) -> dict[tuple[str, ...], dict[str, Any]]:
    """Rows by coefficient, and by the raters' names where they are of a pair."""
    rows = measure_agreement(values, domain, **{"resamples": 0, **settings})
    return {(row["coefficient"], *(row["raters"] if row["level"] == "pair" else ())): row for row in rows}


def _fleiss(table: Floats) -> float:
    counts = np.stack([(table == value).sum(axis=0) for value in SCALE], axis=1)
    return float(inter_rater.fleiss_kappa(counts[counts.sum(axis=1) == counts.sum(axis=1).max()]))


def _cohen(first: Floats, second: Floats, weights: Literal["linear", "quadratic"] | None) -> float:
    both = ~np.isnan(first + second)
    codes = [np.searchsorted(SCALE, each[both]) for each in (first, second)]
    if weights is None:
        return float(cohen_kappa_score(*codes, labels=list(range(len(SCALE)))))
    # scikit-learn weighs positions in the domain; statsmodels takes the values of its categories.
    together = np.zeros((len(SCALE), len(SCALE)))
    np.add.at(together, tuple(codes), 1)
    return float(inter_rater.cohens_kappa(together, weights=np.array(SCALE), wt=weights, return_results=False))


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_all_coefficients_equal_other_implementations(seed: int, missing: float) -> None:
    table = _table(seed, missing=missing)
    found = _found(table)
    assert len(found) == len(AGREEMENT_COEFFICIENTS) * 7
    for who in [(), *combinations(range(4), 2)]:
        part = table[list(who)] if who else table
        names = tuple(f"rater-{rater + 1}" for rater in who)
        pairs = list(combinations(part, 2))
        expected = {
            "cohen": np.mean([_cohen(a, b, None) for a, b in pairs]),
            "cohen_linear": np.mean([_cohen(a, b, "linear") for a, b in pairs]),
            "cohen_quadratic": np.mean([_cohen(a, b, "quadratic") for a, b in pairs]),
            "fleiss": _fleiss(part),
            "raw": sum(int((a == b).sum()) for a, b in pairs) / sum(int((~np.isnan(a + b)).sum()) for a, b in pairs),
        }
        levels: tuple[Level, ...] = ("nominal", "ordinal", "interval")
        for level in levels:
            alpha = krippendorff.alpha(reliability_data=part, value_domain=SCALE, level_of_measurement=level)
            expected[f"krippendorff_{level}"] = float(alpha)
        for name, value in expected.items():
            assert found[name, *names]["value"] == pytest.approx(value, abs=1e-12), name


def test_items_that_count_and_items_that_do_not() -> None:
    nan = math.nan
    # Items with 3, 2, 2, 1 and no ratings.
    table = [[1, 2, nan, nan, nan], [1, 2, 3, 1, nan], [2, nan, 3, nan, nan]]
    found = _found(table, [1, 2, 3])
    assert {key: (row["n"], row["n_missing"]) for key, row in found.items() if len(key) == 1} == {
        (name,): (1, 3) if name == "fleiss" else (3, 1) for name in AGREEMENT_COEFFICIENTS
    }
    assert (found["cohen", "rater-1", "rater-2"]["n"], found["cohen", "rater-1", "rater-2"]["n_missing"]) == (2, 2)
    # Of 3 + 1 + 1 pairs of ratings the first item has one that is equal, the others are.
    assert found["raw",]["value"] == pytest.approx(3 / 5, abs=1e-15)


@pytest.mark.parametrize("name", AGREEMENT_COEFFICIENTS)
def test_intervals_are_percentiles_over_resampled_items(name: str) -> None:
    table = _table(3, raters=3, items=40, missing=0.1)
    table = table[:, (~np.isnan(table)).sum(axis=0) == 3]
    row = _found(table, resamples=50, seed=9, confidence=0.8, coefficients=[name])[name,]
    drawn = np.random.default_rng(9).integers(table.shape[1], size=(50, table.shape[1]))
    values = [_found(table[:, resample], coefficients=[name])[name,]["value"] for resample in drawn]
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(values, [0.1, 0.9])), abs=1e-10)
    assert row["n_undefined"] == 0


def test_many_resamples_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = _table(4, raters=2, items=30)
    whole = measure_agreement(table, SCALE, resamples=300, seed=1)
    monkeypatch.setattr("fcconan.scoring.agreement.CHUNK", 700)
    parts = measure_agreement(table, SCALE, resamples=300, seed=1)
    ends = [[[row[end] for row in rows] for end in ("low", "high")] for rows in (whole, parts)]
    assert ends[0] == [pytest.approx(each, abs=1e-12) for each in ends[1]]


def test_rows_name_aspect_raters_and_level() -> None:
    (overall, pair) = measure_agreement(
        [[1, 2], [1, 1]], [1, 2], coefficients=["raw"], raters=["Ada", "Bo"], aspect="wit"
    )
    assert (overall["level"], pair["level"]) == ("overall", "pair")
    for row in (overall, pair):
        assert list(row)[:4] == ["aspect", "coefficient", "level", "raters"]
        assert (row["aspect"], row["coefficient"], row["raters"], row["value"]) == ("wit", "raw", ["Ada", "Bo"], 0.5)
        assert (row["low"], row["high"], row["reason"]) == (0.0, 1.0, None)


def test_one_rater_is_missing_with_a_reason() -> None:
    rows = measure_agreement([[1, 2, math.nan]], [1, 2])
    assert [(row["level"], row["value"], row["low"], row["n"], row["n_missing"], row["reason"]) for row in rows] == [
        ("overall", None, None, 0, 2, "one_rater")
    ] * len(AGREEMENT_COEFFICIENTS)
    assert [(row["n_items"], row["n_undefined"], row["high"]) for row in rows] == [(0, 0, None)] * len(
        AGREEMENT_COEFFICIENTS
    )


def test_items_before_the_first_that_counts_do_not_hide_it() -> None:
    rows = measure_agreement([[1.0, 1.0, 2.0], [math.nan, 1.0, 1.0]], [1, 2], coefficients=["raw"], resamples=0)
    assert [(row["value"], row["n"], row["n_items"], row["n_missing"]) for row in rows] == [(0.5, 2, 2, 1)] * 2


def test_raters_without_a_common_item_are_missing_with_a_reason() -> None:
    found = _found([[1, math.nan, 2], [math.nan, 1, math.nan], [1, 2, 2]], [1, 2])
    assert {row["reason"] for key, row in found.items() if key[1:] == ("rater-1", "rater-2")} == {"too_few_pairs"}
    assert found["cohen",]["reason"] == "undefined_pair"
    assert found["krippendorff_nominal",]["reason"] is None
    assert found["cohen", "rater-1", "rater-3"]["value"] == 1.0


def test_no_ratings_at_all_are_missing_with_a_reason() -> None:
    rows = measure_agreement(np.full((2, 0), np.nan), [1, 2])
    assert {(row["value"], row["n"], row["n_missing"], row["reason"]) for row in rows} == {
        (None, 0, 0, "too_few_pairs")
    }


def test_constant_ratings_agree_but_have_no_chance_corrected_value() -> None:
    found = _found([[2, 2, 2], [2, 2, 2]], [1, 2], resamples=20)
    assert (found["raw",]["value"], found["raw",]["low"], found["raw",]["reason"]) == (1.0, 1.0, None)
    for name in AGREEMENT_COEFFICIENTS[1:]:
        assert (found[name,]["value"], found[name,]["n"]) == (None, 3)
        assert found[name,]["reason"] == "no_variation"


def test_one_constant_rater_makes_the_mean_kappa_missing_only_with_another_equal_one() -> None:
    # Rater 1 is constant: kappa with the others is 0. Raters 1 and 2 constant and equal: undefined.
    one = _found([[1, 1, 1, 1], [1, 2, 1, 2], [1, 2, 1, 2]], [1, 2])
    assert one["cohen",]["value"] == pytest.approx(1 / 3, abs=1e-15)
    two = _found([[1, 1, 1, 1], [1, 1, 1, 1], [1, 2, 1, 2]], [1, 2])
    assert (two["cohen",]["value"], two["cohen",]["reason"]) == (None, "undefined_pair")
    assert two["cohen", "rater-1", "rater-2"]["reason"] == "no_variation"


def test_every_reason_is_in_the_closed_list() -> None:
    assert {"one_rater", "too_few_pairs", "no_variation", "undefined_pair"} == set(REASONS)


def test_resamples_without_a_value_are_counted_and_left_out() -> None:
    # 1 of 4 items differs: (3/4)^4 of the resamples do not draw it, and are constant.
    row = _found([[1, 1, 1, 2], [1, 1, 1, 2]], [1, 2], resamples=4000, coefficients=["krippendorff_nominal"])
    found = row["krippendorff_nominal",]
    constant = 0.75**4 + 0.25**4
    assert found["n_undefined"] / 4000 == pytest.approx(constant, abs=3 * math.sqrt(constant * (1 - constant) / 4000))
    assert (found["value"], found["low"], found["high"]) == (1.0, 1.0, 1.0)


def test_one_item_has_no_interval() -> None:
    row = _found([[1], [2]], [1, 2], resamples=100)["raw",]
    assert (row["value"], row["low"], row["high"], row["n"], row["n_undefined"]) == (0.0, None, None, 1, 0)


def test_weights_are_distances_of_values() -> None:
    # 1 of 3 disagrees; by chance 2 * 2 + 1 * 1 of 9: 1 - (1/3) / (5/9). A common factor of all weights cancels out.
    for domain in ([1.0, 5.0], [1.0, 3.0, 5.0], [1.0, 2.0, 5.0]):
        one = _found([[1, 5, 1], [5, 5, 1]], domain)["cohen_linear",]
        assert one["value"] == pytest.approx(2 / 5, abs=1e-15)
    # Rater 1: 1, 1, 3, 5; rater 2: 1, 5, 3, 3. Seen: 4 + 2. By chance (of 16): 1 with 3, 3, 5: 2 * (2 + 2 + 4);
    # 3 with 1, 5: 2 + 2; 5 with 1, 3, 3: 4 + 2 + 2. 1 - (6 / 4) / (28 / 16).
    steps = _found([[1, 1, 3, 5], [1, 5, 3, 3]], [1, 3, 5])["cohen_linear",]
    assert steps["value"] == pytest.approx(1 / 7, abs=1e-15)
    # Rater 1: 1, 1, 2, 5; rater 2: 1, 5, 2, 2. Seen: 4 + 3. By chance (of 16): 1 with 2, 2, 5: 2 * (1 + 1 + 4);
    # 2 with 1, 5: 1 + 3; 5 with 1, 2, 2: 4 + 3 + 3. 1 - (7 / 4) / (26 / 16). By positions it would be that above.
    gaps = _found([[1, 1, 2, 5], [1, 5, 2, 2]], [1, 2, 5])["cohen_linear",]
    assert gaps["value"] == pytest.approx(-1 / 13, abs=1e-15)


@pytest.mark.parametrize("weights", ["linear", "quadratic"])
def test_whole_grades_are_weighted_as_scikit_learn_does(weights: Literal["linear", "quadratic"]) -> None:
    first, second = np.random.default_rng(5).integers(1, 6, size=(2, 50))
    found = _found([first, second], [1, 2, 3, 4, 5])[f"cohen_{weights}",]["value"]
    assert found == pytest.approx(cohen_kappa_score(first, second, weights=weights, labels=[1, 2, 3, 4, 5]), abs=1e-12)


def test_one_half_grade_hardly_moves_a_weighted_kappa() -> None:
    given = [[1, 2, 3, 4, 5, 5, 4, 3, 2, 1], [2, 2, 3, 5, 4, 5, 3, 3, 1, 1]]
    whole = _found(given, [1, 2, 3, 4, 5])["cohen_quadratic",]["value"]
    half = _found([[*row, 3.5] for row in given], [1, 2, 3, 3.5, 4, 5])["cohen_quadratic",]["value"]
    # Whole: 1 - (5 / 10) / (41 / 10): means 3, variances 2 and 2.1, so 2 + 2.1 - 0 and (3 - 2.9) ** 2 more by chance.
    assert whole == pytest.approx(1 - 0.5 / (2 + 1.89 + 0.01), abs=1e-12)
    assert half == pytest.approx(whole, abs=0.01)


@pytest.mark.parametrize(
    ("values", "domain", "settings", "message"),
    [
        ([[1, 6], [1, 2]], [1, 2, 3], {}, "ratings outside the domain: 1, the first is 6 by rater 1 for unit 2"),
        (
            [[1, 2], [1, math.inf]],
            [1, 2],
            {},
            "the first is inf by rater 2 for unit 2, expected one of 1, 2: correct them",
        ),
        ([1, 2], [1, 2], {}, r"the ratings have the shape \(2,\), expected \(raters, units\)"),
        ([], [1, 2], {}, r"the ratings have the shape \(0,\)"),
        ([[1]], [], {}, r"the domain is \[\], 0 values: give 1 to 101 numbers, ascending"),
        ([[1]], [2, 1], {}, r"the domain is \[2, 1\], 2 values"),
        ([[1]], [1, 1], {}, r"the domain is \[1, 1\]"),
        ([[1]], [1, math.nan], {}, r"the domain is \[1, nan\]"),
        ([[1]], list(range(102)), {}, "102 values: give 1 to 101"),
        ([[1], [1]], [1], {"raters": ["Ada"]}, r"found 2 rows of ratings and the raters \['Ada'\]"),
        ([[1], [1]], [1], {"raters": ["Ada", "Ada"]}, "give each row a different name"),
        ([[1]], [1], {"coefficients": ["kappa"]}, "unknown coefficient 'kappa': known are raw, cohen"),
    ],
)
def test_bad_input_is_refused(values: Any, domain: list[float], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        measure_agreement(values, domain, **settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", AGREEMENT_COEFFICIENTS)
def test_intervals_are_percentiles_over_resampled_items_with_all_their_things(name: str) -> None:
    table = _table(3, raters=3, items=40, missing=0.1)
    generator = np.random.default_rng(2)
    items = [f"i{number}" for number in generator.integers(12, size=40)]
    row = _found(table, items=items, resamples=50, seed=9, confidence=0.8, coefficients=[name])[name,]
    most = (~np.isnan(table)).sum(axis=0) >= (3 if name == "fleiss" else 2)
    counted = {item for item, counts in zip(items, most, strict=True) if counts}
    known = [item for item in dict.fromkeys(items) if item in counted]
    values = []
    for drawn in np.random.default_rng(9).integers(len(known), size=(50, len(known))):
        columns = [at for item in drawn for at, own in enumerate(items) if own == known[item] and most[at]]
        values.append(_found(table[:, columns], coefficients=[name])[name,]["value"])
    assert (row["n"], row["n_items"]) == (int(most.sum()), len(known))
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(values, [0.1, 0.9])), abs=1e-10)
    alone = _found(table, resamples=50, seed=9, confidence=0.8, coefficients=[name])[name,]
    assert (row["value"], row["n"]) == (alone["value"], alone["n_items"])
    assert row["low"] != alone["low"]


def test_things_of_one_item_have_no_interval() -> None:
    row = _found([[1, 1], [2, 1]], [1, 2], items=["i1", "i1"], resamples=20)["raw",]
    assert (row["value"], row["n"], row["n_items"], row["low"], row["high"]) == (0.5, 2, 1, None, None)


def test_every_thing_has_one_item() -> None:
    with pytest.raises(InputError, match=r"^found 1 items for 2 rated units: give one item for each unit$"):
        measure_agreement([[1, 1], [2, 1]], [1, 2], items=["i1"])


@pytest.mark.parametrize(("raters", "asked", "there"), [(10, None, True), (11, None, False), (11, True, True)])
def test_pairs_of_many_raters_have_intervals_on_request(raters: int, asked: bool | None, there: bool) -> None:
    table = np.random.default_rng(0).integers(1, 3, size=(raters, 8))
    rows = measure_agreement(table, [1, 2], coefficients=["raw"], resamples=20, pair_intervals=asked)
    assert [row["low"] is not None for row in rows] == [True] + [there] * (raters * (raters - 1) // 2)
    assert None not in [row["value"] for row in rows]


def test_two_raters_are_everybody_and_have_an_interval() -> None:
    rows = measure_agreement([[1, 2, 1], [1, 1, 1]], [1, 2], coefficients=["raw"], resamples=20, pair_intervals=False)
    assert rows[0]["low"] is not None
    assert rows[0]["low"] == rows[1]["low"]


def test_the_signature_names_what_is_resampled() -> None:
    shown = agreement_signature([1, 2], population="demo-1.0.0", unit="reply", resamples=5, pair_intervals=False)
    assert "|bootstrap:5-by-reply-overall-only|" in shown


def test_signature() -> None:
    assert agreement_signature([1, 2.5], population="demo-1.0.0", resamples=500, seed=3, confidence=0.9) == (
        f"fcconan:{fcconan.__version__}|metric:agreement|data:demo-1.0.0|domain:1,2.5|missing:left-out|"
        "cohen-overall:mean-of-pairs|bootstrap:500-by-item|confidence:0.9|seed:3"
    )


def test_intervals_hold_the_truth_in_19_of_20_simulations() -> None:
    # Two raters say the truth or guess, each with probability 1/2, from 2 values: kappa is 1/4.
    generator, hits, simulations = np.random.default_rng(1), 0, 400
    for simulation in range(simulations):
        truth = generator.integers(0, 2, size=200)
        guesses = generator.integers(0, 2, size=(2, 200))
        table = np.where(generator.random((2, 200)) < 0.5, truth, guesses)
        row = measure_agreement(table, [0, 1], coefficients=["cohen"], resamples=400, seed=simulation)[0]
        hits += row["low"] <= 0.25 <= row["high"]
    assert hits / simulations == pytest.approx(0.95, abs=0.02)  # the sampling error is 0.011


def test_intervals_hold_the_truth_where_errors_on_one_item_are_alike() -> None:
    # 50 HS messages with 8 replies each; on every other message both raters guess, on the others they say the truth.
    generator, simulations, replies = np.random.default_rng(1), 300, 8
    items = [str(item) for item in range(50) for _ in range(replies)]
    hits = {"items": 0, "replies": 0}
    for simulation in range(simulations):
        truth, guesses = generator.integers(0, 2, size=400), generator.integers(0, 2, size=(2, 400))
        table = np.where(np.repeat(generator.random(50) < 0.5, replies), guesses, truth)
        for unit, own in (("items", items), ("replies", None)):
            row = measure_agreement(table, [0, 1], items=own, coefficients=["cohen"], resamples=300, seed=simulation)[0]
            hits[unit] += row["low"] <= 0.5 <= row["high"]  # kappa is the share of messages without guesses
    assert hits["items"] / simulations == pytest.approx(0.94, abs=0.03)
    assert hits["replies"] / simulations < 0.85
