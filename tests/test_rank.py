"""`fcconan.rank` and its two kernels: values by hand, of other implementations, and of simulated worlds."""

import itertools
import math
import warnings
from collections.abc import Iterable
from typing import Any

import evalica
import numpy as np
import pytest
from scipy import optimize, special, stats

from fcconan import Bootstrap, InputError, Result, rank
from fcconan.scoring import Floats, sign_flips
from fcconan.scoring.bradley_terry import strengths
from tests.cli.scored import cells

NONE = Bootstrap(resamples=0)
Row = dict[str, Any]


def rated(system: str, item: str, value: float | None, rater: str = "anna", aspect: str = "kind", **more: Any) -> Row:
    row = {"reply_id": f"{system}-{item}", "item_id": item, "system": system, "rater": rater, "rater_kind": "human"}
    return {**row, "aspect": aspect, "value": value, "low": 1, "high": 5, "higher_is_better": True, **more}


def verdict(item: str, a: str, b: str, verdict: str, rater: str = "anna") -> Row:
    return {"item_id": item, "system_a": a, "system_b": b, "verdict": verdict, "rater": rater}


def tournament(seed: int, systems: str = "abcd", items: int = 12, raters: Iterable[str] = ("anna",)) -> list[Row]:
    generator = np.random.default_rng(seed)
    return [
        verdict(f"i{item}", a, b, str(generator.choice(["a", "b", "tie"], p=[0.5, 0.3, 0.2])), rater)
        for rater in raters
        for item in range(items)
        for a, b in itertools.combinations(systems, 2)
    ]


def counts(result: Result, system: str) -> dict[str, float]:
    return dict(map(tuple, cells(result, "aspect", "value", system=system)))


# Ratings


def test_means_and_unified_score_by_hand() -> None:
    """People's means: A kind 4, 2, –, rude 0, 1, 2; B kind 3, 1, 2, rude 2, 1, –. Unified: (kind + 5 - 2 rude) / 2."""
    rude: Any = {"aspect": "rude", "low": 0, "high": 2, "higher_is_better": False}
    rows = [
        *(rated("A", "i1", 5), rated("A", "i1", 3, "ben"), rated("A", "i2", 2), rated("A", "i3", None)),
        *(rated("B", "i1", 3), rated("B", "i2", 1), rated("B", "i3", 2)),
        *(rated("A", "i1", 0, **rude), rated("A", "i2", 1, **rude), rated("A", "i2", 1, "ben", **rude)),
        *(rated("A", "i3", 2, **rude), rated("B", "i1", 2, **rude), rated("B", "i2", 1, **rude)),
        rated("B", "i3", None, **rude),
        *(rated(system, "i1", 9, "length", "words", rater_kind="metric", low=None, high=None) for system in "AB"),
    ]
    found = rank(rows, bootstrap=NONE)
    assert cells(found, "aspect", "system", "value", "n", "n_missing", rater="people") == [
        *(["unified", "A", 3.5, 2, 1], ["unified", "B", 2.0, 2, 1]),
        *(["kind", "A", 3.0, 2, 1], ["kind", "B", 2.0, 3, 0]),
        *(["rude", "A", 1.0, 3, 0], ["rude", "B", 1.5, 2, 1]),
    ]
    apart = cells(found, "a", "b", "aspect", "difference", "n", table="differences", rater="people")
    assert apart == [["A", "B", "unified", 1.5, 2], ["A", "B", "kind", 1.0, 2], ["A", "B", "rude", -1.0, 2]]
    assert cells(found, "aspect", "value", rater="length") == [["words", 9.0], ["words", 9.0]]
    of_ben = rank(rows, rater=("ben",), aspect=("kind",), bootstrap=NONE)
    assert cells(of_ben, "rater", "aspect", "system", "value", "n_missing")[0] == ["ben", "kind", "A", 3.0, 2]


@pytest.mark.parametrize("low_is_good", [False, "no", "0", 0])
def test_the_direction_of_an_aspect_is_read_from_any_file(low_is_good: Any) -> None:
    rows = [rated(name, "i1", value, higher_is_better=low_is_good) for name, value in (("A", 2), ("B", 4))]
    assert cells(rank(rows, bootstrap=NONE), "system") == [["A"], ["B"]]


def test_a_file_of_ratings_takes_item_and_system_from_the_dataset_beside_it() -> None:
    rows = [rated(name, item, 3, "anna") for name in "AB" for item in ("i1", "i2")]
    own = [{"reply_id": row["reply_id"], "rater": "ben", "aspect": "kind", "value": 1} for row in rows]
    assert cells(rank(rows, own, bootstrap=NONE), "system", "value", "n") == [["A", 2.0, 2], ["B", 2.0, 2]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"system": "C"}, "one reply_id for two systems or items, such as A-i1"),
        ({"rater": "ben", "high": 7}, "ratings of kind by people differ in high"),
        ({"rater": "ben", "selection_probability": 0}, "a selection_probability of 0 or less"),
        ({"rater": "ben", "value": math.inf}, r"value is .*inf.*, expected a number"),
        ({"rater": "ben", "rater_kind": "humn"}, "another rater_kind than human, model, metric"),
        ({"aspect": None}, "^rows, row 3: found no aspect, expected one in each row: fill the cell, or remove the row"),
    ],
)
def test_ratings_that_contradict_each_other_are_refused(changed: Row, message: str) -> None:
    rows = [rated("A", "i1", 2), rated("B", "i1", 3)]
    with pytest.raises(InputError, match=message):
        rank([*rows, {**rows[0], **changed}])


def test_a_missing_difference_has_a_reason_and_one_system_has_none() -> None:
    rows = [rated("A", "i1", 1), rated("A", "i2", 2), rated("B", "i2", 3), rated("C", "i3", 4)]
    found = rank(rows)
    reasons = [["C", "B", "no_common_items"], ["C", "A", "no_common_items"], ["B", "A", "too_few_items"]]
    assert cells(found, "a", "b", "reason", table="differences") == reasons  # the best system comes first
    expected = "Differences rest on the items that both systems answer, 0 to 1 of 3: their signs may differ from"
    assert found.notes[0] == f"{expected} those of the means."
    assert rank(rows[:2]).to_frame("differences").empty and "A" in str(rank(rows[:2]))


def test_intervals_equal_those_of_scipy() -> None:
    """Several replies to an item are drawn together, and differences are paired."""
    generator, bootstrap = np.random.default_rng(0), Bootstrap(resamples=30_000, confidence=0.9)
    values = {name: [generator.integers(1, 6, size=size) for size in (1, 2, 1, 3, 1, 1, 2, 1, 1, 2)] for name in "AB"}
    rows = [
        rated(name, f"i{item}", float(value), reply_id=f"{name}{item}-{number}")
        for name, of_items in values.items()
        for item, replies in enumerate(of_items)
        for number, value in enumerate(replies)
    ]
    found = rank(rows, bootstrap=bootstrap)
    scipys: Any = {"method": "percentile", "confidence_level": 0.9, "n_resamples": 30_000, "rng": 1}
    scipys |= {"vectorized": True, "paired": True}
    sums, sizes = (np.array([[f(each) for each in values[name]] for name in "AB"]) for f in (np.sum, len))
    ratio = stats.bootstrap((sums[0], sizes[0]), lambda x, y, axis: x.sum(axis) / y.sum(axis), **scipys)
    apart = stats.bootstrap((sums / sizes)[::-1].tolist(), lambda x, y, axis: (x - y).mean(axis), **scipys)
    (of_a,) = cells(found, "low", "high", system="A")
    (of_difference,) = cells(found, "low", "high", table="differences")
    for own, (low, high) in ((of_a, ratio.confidence_interval), (of_difference, apart.confidence_interval)):
        assert own == pytest.approx([low, high], abs=0.02 * (high - low))


# Verdicts


def test_verdicts_by_hand() -> None:
    rows = [
        *(verdict("i1", "ant", "bee", "a"), verdict("i1", "bee", "ant", "b")),  # both orders agree: ant won
        *(verdict("i2", "ant", "bee", "a"), verdict("i2", "bee", "ant", "a")),  # they disagree: a tie
        *(verdict("i3", "ant", "bee", "a"), verdict("i3", "bee", "ant", "invalid")),  # one is invalid
        *(verdict("i4", "ant", "bee", "b"), verdict("i4", "ant", "bee", "b")),  # a repeated row counts once
    ]
    found = rank(rows, bootstrap=NONE)
    assert counts(found, "ant") == {"strength": pytest.approx(0), "share": 50, "wins": 1, "losses": 1, "ties": 1}
    assert cells(found, "n", "n_missing", aspect="share") == [[3, 1], [3, 1]]
    assert cells(found, "a", "b", "wins_a", "wins_b", "ties", table="matrix") == [["ant", "bee", 1, 1, 1]]
    assert found.notes == ["1 of 4 verdicts are invalid or unresolved and count for no system."]
    with pytest.raises(InputError, match="anna gave different verdicts on ant and bee, item i4: remove one"):
        rank([*rows, verdict("i4", "ant", "bee", "a")])


def test_verdicts_on_other_replies_to_an_item_are_other_verdicts() -> None:
    rows = [{**verdict("i1", "ant", "bee", "a"), "reply_a": f"r{n}", "reply_b": f"s{n}"} for n in range(2)]
    assert counts(rank(rows, bootstrap=NONE), "ant")["wins"] == 2
    with pytest.raises(InputError, match="with and without reply_a and reply_b"):
        rank([*rows, verdict("i2", "ant", "bee", "a")])


def test_majorities_by_hand() -> None:
    """Half of the raters are no majority, and raters with an invalid verdict are raters."""
    given = ("a a b b", "a a a b", "a a invalid", "a invalid", "a tie b", "tie tie a")
    rows = [
        verdict(f"i{item}", "ant", "bee", each, f"r{rater}")
        for item, verdicts in enumerate(given)
        for rater, each in enumerate(verdicts.split())
    ]
    found = rank(rows, majority=True, bootstrap=NONE)
    known = counts(found, "ant")
    assert known["strength"] > 0 and [*known.values()][1:] == [pytest.approx(250 / 3), 2, 0, 1]
    assert cells(found, "rater", "n", "n_missing", system="ant", aspect="wins") == [["majority", 3, 3]]
    agreement = ["n", "unanimous", "majority", "unresolved", "three_way"]
    assert cells(found, *agreement, table="agreement") == [[6, 0, 3, 3, 1]]
    every = rank(rows, bootstrap=NONE)
    assert [counts(every, "ant")[name] for name in ("wins", "losses", "ties")] == [10, 4, 3]
    assert cells(every, "rater", "n", "n_missing", system="ant", aspect="wins") == [["4 raters", 17, 2]]
    assert cells(rank(rows, rater=("r0",), bootstrap=NONE), "n", system="bee", aspect="wins") == [[6]]


def test_raters_are_correlated_as_by_scipy() -> None:
    rows = tournament(3, "abcde", raters=("anna", "ben", "cleo"))
    shares = {name: dict.fromkeys("abcde", 0.0) for name in ("anna", "ben", "cleo")}
    for row in rows:
        for side in "ab":
            shares[row["rater"]][row[f"system_{side}"]] += {side: 1.0, "tie": 0.5}.get(row["verdict"], 0.0)
    functions = {"spearman": stats.spearmanr, "kendall": stats.kendalltau, "pearson": stats.pearsonr}
    found = cells(rank(rows, bootstrap=NONE), "a", "b", "coefficient", "value", "n", table="raters")
    assert [row[:3] for row in found[:3]] == [["anna", "ben", name] for name in functions] and len(found) == 9
    for a, b, name, value, n in found:
        expected = functions[name]([*shares[a].values()], [*shares[b].values()]).statistic
        assert (value, n) == (pytest.approx(expected, abs=1e-9), 5)


def test_intervals_of_shares_equal_those_of_scipy_and_strengths_follow_from_them() -> None:
    """Two systems, one verdict for each item: the strength is half the log odds of the share, but for the prior."""
    rows = tournament(6, "ab", items=40)
    points = [{"a": 100.0, "tie": 50.0, "b": 0.0}[row["verdict"]] for row in rows]
    scipys: Any = {"method": "percentile", "n_resamples": 30_000, "rng": 1}
    low, high = stats.bootstrap((points,), np.mean, **scipys).confidence_interval
    strength, share = cells(rank(rows, bootstrap=Bootstrap(resamples=30_000)), "low", "high", system="a")[:2]
    assert share == pytest.approx([low, high], abs=0.02 * (high - low))
    assert strength == pytest.approx([special.logit(end / 100) / 2 for end in share], abs=0.01)


def test_strengths_are_the_maximum_of_the_penalised_likelihood() -> None:
    wins = np.random.default_rng(0).integers(0, 4, size=(8, 5, 5)) / 2
    wins[:, range(5), range(5)] = 0
    wins[0, 0, 1:] = wins[0, 1:, 0] + 1  # a system that lost nothing
    wins[0, 1:, 0] = 0
    found = strengths(wins)  # all tournaments at once
    for own, each in zip(found, wins, strict=True):

        def loss(s: Floats, each: Floats = each) -> float:  # the prior has precision .01
            return float(0.005 * s @ s - (each * special.log_expit(s[:, None] - s)).sum())

        assert own == pytest.approx(optimize.minimize(loss, np.zeros(5), tol=1e-10).x, abs=1e-4)
        assert own.sum() == pytest.approx(0)


def test_strengths_of_many_verdicts_equal_evalica() -> None:
    wins = np.random.default_rng(1).integers(1, 9, size=(5, 5)) * (1 - np.eye(5)) * 1e5  # the prior has no weight
    rows, columns = (each.tolist() for each in np.nonzero(wins))
    won, weights = [evalica.Winner.X] * len(rows), wins[rows, columns].tolist()
    scores = evalica.bradley_terry(rows, columns, won, weights=weights, tolerance=1e-12, limit=100_000).scores
    log = np.log(scores.sort_index().to_numpy())
    assert strengths(wins) == pytest.approx(log - log.mean(), abs=1e-5)


def test_strengths_at_their_limits() -> None:
    ahead = rank([verdict(f"i{n}", "ant", "bee", "a") for n in range(9)], bootstrap=Bootstrap(resamples=200))
    # 9 - 9 / (1 + exp(-2 s)) = .01 s
    s = counts(ahead, "ant")["strength"]
    assert 9 - 9 / (1 + math.exp(-2 * s)) == pytest.approx(0.01 * s) and 2 < s < 4
    assert ahead.notes == [
        f"{name} won or lost all its comparisons: its strength depends on the prior." for name in ("ant", "bee")
    ]
    apart = rank([*tournament(1, "ab"), *tournament(2, "cd")], bootstrap=Bootstrap(resamples=200))
    assert all(math.isnan(counts(apart, name)["strength"]) for name in "abcd")
    assert "there are no strengths" in apart.notes[0] and "4 of 6 pairs of systems never met" in apart.notes[0]


# Tests of differences


def enumerated(differences: Floats) -> tuple[Floats, Floats]:
    """p and step-down max-T p of all sign vectors, by loops."""
    scale = np.sqrt(np.nansum(differences**2, axis=1))
    scale[scale == 0] = 1
    signs = np.array(list(itertools.product((-1, 1), repeat=differences.shape[1])))
    drawn = np.abs(signs @ np.nan_to_num(differences).T) / scale
    observed = np.abs(np.nansum(differences, axis=1)) / scale
    p = (drawn >= observed - 1e-9).mean(axis=0)
    adjusted, largest = np.ones(len(p)), 0.0
    for each in np.argsort(-observed, kind="stable"):
        rest = observed <= observed[each] + 1e-9
        largest = adjusted[each] = max(largest, (drawn[:, rest].max(axis=1) >= observed[each] - 1e-9).mean())
    return p, adjusted


@pytest.mark.parametrize("seed", range(4))
def test_sign_flips_equal_all_sign_vectors(seed: int) -> None:
    differences = np.random.default_rng(seed).integers(-2, 4, size=(5, 8)).astype(float)
    differences[1, :3], differences[2], differences[3] = np.nan, 0.0, -2 * differences[0]  # gaps, no difference, a tie
    found = sign_flips(differences, Bootstrap(resamples=20_000, seed=seed))
    for own, exact in zip(found, enumerated(differences), strict=True):
        assert own == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 20_000))
    p, adjusted = found
    assert p[2] == adjusted[2] == 1 and p[0] == p[3] and adjusted[0] == adjusted[3]
    statistic = np.abs(np.nansum(differences, axis=1)) / np.sqrt(np.maximum(np.nansum(differences**2, axis=1), 1))
    assert (adjusted >= p).all() and (np.diff(adjusted[np.argsort(-statistic, kind="stable")]) >= 0).all()


def test_sign_flips_without_items_or_draws() -> None:
    differences = np.array([[1.0, np.nan, np.nan], [1.0, 1.0, 1.0]])
    p, adjusted = sign_flips(differences, Bootstrap(resamples=999))
    assert np.isnan([p[0], adjusted[0]]).all() and p[1] == adjusted[1] == pytest.approx(0.25, abs=0.06)
    assert np.isnan(sign_flips(differences, NONE)).all()


def test_family_wise_error_is_that_of_one_family() -> None:
    """Four equal systems: any p below .1 is an error; its rate over 300 worlds has a standard error of .017."""
    generator = np.random.default_rng(0)
    errors = np.zeros(2)
    for seed in range(300):
        values = generator.normal(size=(4, 12))
        differences = np.stack([values[a] - values[b] for a, b in itertools.combinations(range(4), 2)])
        errors += [each.min() < 0.1 for each in sign_flips(differences, Bootstrap(resamples=399, seed=seed))]
    assert errors[0] / 300 > 0.25 and 0.05 < errors[1] / 300 < 0.152


def test_tests_are_those_of_the_first_measure_and_the_pairs_of_a_family() -> None:
    values = np.random.default_rng(5).integers(1, 6, size=(2, 4, 10)).astype(float)
    rows = [
        rated(system, f"i{item}", values[place, number, item], aspect=aspect)
        for place, aspect in enumerate(("kind", "true"))
        for number, system in enumerate("ABCD")
        for item in range(10)
    ]
    unified, bootstrap = values.mean(axis=0), Bootstrap(resamples=500, seed=3)
    best = "".join(sorted("ABCD", key=lambda name: -unified["ABCD".index(name)].mean()))
    every = [a + b for a, b in itertools.combinations(best, 2)]
    others = [name for name in best if name not in "AB"]
    for baseline, pairs in (((), every), (("A", "B"), [name + one for one in "AB" for name in others])):
        found = rank(rows, baseline=baseline, bootstrap=bootstrap)
        tested = cells(found, "a", "b", "difference", "p", "p_adjusted", table="differences", aspect="unified")
        differences = np.stack([unified["ABCD".index(pair[0])] - unified["ABCD".index(pair[1])] for pair in pairs])
        assert [a + b for a, b, *_ in tested] == pairs
        expected = np.stack([differences.mean(axis=1), *sign_flips(differences, bootstrap)], axis=1)
        assert np.array([row[2:] for row in tested]) == pytest.approx(expected)
        untested = cells(found, "p", "low", table="differences", aspect="kind")
        assert all(math.isnan(p) and math.isfinite(low) for p, low in untested)


def test_win_rates_are_paired_by_item_and_come_from_common_opponents() -> None:
    """i1: a and b tie, a beats c, c beats b: a - b is (0 + 1) / 2. i2: a and b meet c only: 1 - .5."""
    rows = [verdict("i1", "a", "b", "tie"), verdict("i1", "a", "c", "a"), verdict("i1", "b", "c", "b")]
    rows += [verdict("i2", "a", "c", "a"), verdict("i2", "b", "c", "tie")]
    found = cells(rank(rows), "difference", "n", table="differences", a="a", b="b")
    assert found == [[0.5, 2]]


# Prediction-powered estimates


def judged(people: Floats, judge: Floats, system: str = "A", more: dict[str, Any] | None = None) -> list[Row]:
    """Ratings of replies to an item each; nan is no rating by people."""
    machine: Any = {"rater": "judge", "rater_kind": "model", "low": None, "high": None}
    rows = [rated(system, f"i{n}", value, **machine, **(more or {})) for n, value in enumerate(judge)]
    return rows + [
        rated(system, f"i{n}", value, low=None, high=None) for n, value in enumerate(people) if value == value
    ]


def predicted(rows: list[Row], **options: Any) -> Any:
    found = rank(rows, rater=("people",), aspect=("kind",), predicted_by="judge", bootstrap=NONE, **options)
    return found.to_frame("predicted")


def test_predicted_means_equal_ppi_python() -> None:
    """Its interval has quantiles of the normal distribution and variances over n, ours of Student's t and over n - 2.

    Its lambda divides by the judge's variance over all replies, ours by that over the rated ones.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of statsmodels, as it is imported
        from ppi_py import ppi
    generator, n = np.random.default_rng(2), 800
    truth = generator.normal(3, 1, 4_000)
    judge = 0.5 + 0.8 * truth + 0.7 * generator.normal(size=4_000)
    people = np.where(np.arange(4_000) < n, truth, np.nan)
    own = predicted(judged(people, judge)).iloc[0]
    fixed = ppi.ppi_mean_pointestimate(people[:n], judge[:n], judge[n:], lam=own["weight"] * 0.8)
    assert own["value"] == pytest.approx(float(np.squeeze(fixed)), abs=1e-9)
    low, high = (float(np.squeeze(end)) for end in ppi.ppi_mean_ci(people[:n], judge[:n], judge[n:], alpha=0.05))
    width = high - low
    assert own["value"] == pytest.approx((low + high) / 2, abs=0.05 * width)
    assert own["high"] - own["low"] == pytest.approx(width, rel=0.02)
    alone = stats.t.interval(0.95, n - 1, truth[:n].mean(), stats.sem(truth[:n]))
    assert own[["people", "people_low", "people_high"]].tolist() == pytest.approx([truth[:n].mean(), *alone])
    assert (own["n"], own["n_all"]) == (n, 4_000) and own["high"] - own["low"] < 0.85 * (alone[1] - alone[0])


@pytest.mark.parametrize("by_chance", [False, True])
def test_predicted_means_are_unbiased_with_a_biased_judge(by_chance: bool) -> None:
    """Each of 300 systems is a world with the mean 3; people rate 40 of 120 replies, good ones rarely if by chance."""
    generator, rows = np.random.default_rng(7), []
    for world in range(300):
        truth = generator.normal(3, 1, 120)
        judge = 1.5 + 0.8 * truth + 0.5 * generator.normal(size=120)
        chances = np.where(judge > 3.9, 0.15, 0.5) if by_chance else np.full(120, 1 / 3)
        people = np.where(generator.random(120) < chances, truth, np.nan)
        rows += judged(people, judge, f"s{world}")
        for row, chance in zip(rows[-int(np.isfinite(people).sum()) :], chances[np.isfinite(people)], strict=True):
            row["selection_probability"] = chance
    found = predicted(rows, baseline=("s0",))
    means = found[found["b"].isna()]
    errors = means["value"] - 3
    assert abs(errors.mean()) < 3 * errors.std() / math.sqrt(300)
    covered = ((means["low"] <= 3) & (means["high"] >= 3)).mean()
    assert 0.91 < covered < 0.98
    if not by_chance:
        assert (means["high"] - means["low"]).mean() < 0.9 * (means["people_high"] - means["people_low"]).mean()


def test_selection_probabilities_and_reversed_judges_by_hand() -> None:
    people = np.array([1.0, 4, 2, 5, 3, 5, 1, 4] + 16 * [np.nan])
    judge = np.array([1.0, 4, 2, 5, 3, 4, 1, 4] + 16 * [5.0])
    rows = judged(people, judge)
    for row, chance in zip(rows[-8:], (0.5, 1, 0.25, 1, 0.5, 1, 1, 1), strict=True):
        row["selection_probability"] = chance
    (weighted,) = predicted(rows).to_dict("records")
    assert weighted["people"] == pytest.approx((2 * 1 + 4 + 4 * 2 + 5 + 2 * 3 + 5 + 1 + 4) / 13)
    del rows[-1]["selection_probability"]
    with pytest.raises(InputError, match="1 replies that people rated lack a selection_probability"):
        predicted(rows)
    # Errors instead of merits, under another name: it is the only aspect of the judge and predicts every one.
    turned = judged(people, 6 - judge, more={"aspect": "errors", "higher_is_better": False})
    plain, other = (predicted(each).iloc[0] for each in (judged(people, judge), turned))
    assert plain["weight"] > 0 and other["value"] == pytest.approx(plain["value"])
    assert other[["low", "high"]].tolist() == pytest.approx(plain[["low", "high"]].tolist())
    useless = predicted(judged(people, np.ones(24))).iloc[0]
    assert useless["weight"] == 0 and useless["value"] == useless["people"] == 25 / 8


def test_a_predicted_difference_is_that_of_two_means() -> None:
    generator, rows = np.random.default_rng(4), []
    for system in "AB":
        truth = generator.normal(3, 1, 60)
        people = np.where(np.arange(60) < 30, truth, np.nan)
        rows += judged(people, truth + 0.1 * generator.normal(size=60), system)
    found = predicted(rows)
    a, b, apart = (found[["value", "people", "low", "high"]].to_numpy()[place] for place in range(3))
    assert found[["a", "b"]].iloc[2].tolist() == found["a"].iloc[:2].tolist() and apart[1] == pytest.approx(a[1] - b[1])
    assert apart[0] == pytest.approx(a[0] - b[0], abs=0.02) and apart[2] < apart[0] < apart[3]


def test_a_difference_has_the_degrees_of_freedom_of_the_system_with_fewer_rated_items() -> None:
    """A judge with one grade has no weight, so the interval is that of two means over other items."""
    few, many = np.full(33, np.nan), np.random.default_rng(6).normal(3, 1, 33)
    few[:3], many[:3] = (2.0, 3.0, 5.0), np.nan
    apart = predicted(judged(few, np.ones(33)) + judged(many, np.ones(33), "B")).iloc[2]
    variance = sum(np.nanvar(own, ddof=1) / np.isfinite(own).sum() for own in (few, many))
    assert apart["high"] - apart["value"] == pytest.approx(stats.t.ppf(0.975, 2) * math.sqrt(variance))
