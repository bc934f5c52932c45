import json
import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fcconan
from fcconan.errors import InputError
from fcconan.scoring.significance.intervals import draws
from fcconan.scoring.tournament.bradley_terry import strengths
from fcconan.scoring.tournament.preferences import majority_votes, read_verdicts
from fcconan.scoring.tournament.ranking import compare_raters, correlate_tables, rank_systems
from tests.scoring.test_preferences import Row, row


def _by_name(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {system["name"]: system for system in result["systems"]}


SMALL = [
    row("ant", "elk", "a", "i1"),
    row("ant", "owl", "a", "i1"),
    row("elk", "owl", "tie", "i1"),
    row("ant", "elk", "b", "i2"),
    row("ant", "owl", "tie", "i2"),
    row("elk", "owl", "a", "i2"),
    row("owl", "ant", "invalid", "i3"),
]


def few(units: int) -> str:
    """The note about tests that cannot be significant: 2 of 2^n vectors of n signs give the observed difference."""
    return (
        f"No test of the primary family can be significant: its smallest corrected p is {2 / 2**units:.3g} with "
        f"{units} paired units; 6 units or more are needed, more --resamples do not help."
    )


def test_points_shares_and_counts_by_hand() -> None:
    result = rank_systems(SMALL, resamples=0)
    # Points: ant 1 + 1 + 0 + 0.5, elk 0 + 0.5 + 1 + 1, owl 0 + 0.5 + 0.5 + 0; together 6.
    found = {
        name: [system[key] for key in ("points", "share", "wins", "losses", "ties", "invalid")]
        for name, system in _by_name(result).items()
    }
    assert found == {
        "ant": [2.5, 250 / 6, 2, 1, 1, 1],
        "elk": [2.5, 250 / 6, 2, 1, 1, 0],
        "owl": [1.0, 100 / 6, 0, 2, 2, 1],
    }
    assert result["win_matrix"] == {
        "systems": ["ant", "elk", "owl"],
        "wins": [[0, 1, 1], [1, 0, 1], [0, 0, 0]],
        "ties": [[0, 0, 1], [0, 0, 1], [1, 1, 0]],
    }
    assert (result["invalid"], result["n_verdicts"], result["n_items"], result["missing_pairs"]) == (1, 7, 3, [])
    assert (result["fewest_per_pair"], result["most_per_pair"]) == (2, 2)
    assert result["notes"] == ["1 of 7 verdicts is invalid and counts for no system.", few(2)]
    assert [system["reason"] for system in result["systems"]] == [None] * 3


def test_one_verdict_gives_all_shares() -> None:
    found = _by_name(rank_systems([row("ant", "elk", "a")], resamples=0))
    assert [found[name]["share"] for name in ("ant", "elk")] == [100.0, 0.0]


def test_strengths_are_those_of_the_half_win_matrix() -> None:
    systems = _by_name(rank_systems(SMALL, resamples=0))
    expected = strengths(np.array([[0, 1, 1.5], [1, 0, 1.5], [0.5, 0.5, 0]]))
    assert [systems[name]["bradley_terry"] for name in ("ant", "elk", "owl")] == pytest.approx(expected, abs=1e-12)
    assert systems["ant"]["bradley_terry"] == pytest.approx(systems["elk"]["bradley_terry"], abs=1e-12)


def _random_rows(seed: int, items: int = 25, raters: tuple[str, ...] = ("r1",)) -> list[Row]:
    generator = np.random.default_rng(seed)
    return [
        row(a, b, str(generator.choice(["a", "b", "tie", "invalid"], p=[0.5, 0.3, 0.15, 0.05])), f"i{item:02}", rater)
        for rater in raters
        for item in range(items)
        for a, b in combinations(("ant", "elk", "fox", "owl"), 2)
    ]


def test_intervals_are_percentiles_of_refits_to_resampled_items() -> None:
    rows = _random_rows(1)
    result = _by_name(rank_systems(rows, resamples=80, seed=4, confidence=0.9))
    drawn = np.random.default_rng(4).integers(25, size=(80, 25))
    refits = []
    for resample in drawn:
        copies = [
            each | {"item_id": f"{copy}"}
            for copy, item in enumerate(resample)
            for each in rows
            if each["item_id"] == f"i{item:02}"
        ]
        refits.append(_by_name(rank_systems(copies, resamples=0)))
    for name, system in result.items():
        for value, low, high in (("bradley_terry", "low", "high"), ("share", "share_low", "share_high")):
            ends = np.quantile([refit[name][value] for refit in refits], [0.05, 0.95])
            assert (system[low], system[high]) == pytest.approx(tuple(ends), abs=1e-9)


def test_the_order_of_rows_and_sides_makes_no_difference() -> None:
    rows = _random_rows(2)
    swapped = {"a": "b", "b": "a"}
    turned = [
        each
        | {
            "system_a": each["system_b"],
            "system_b": each["system_a"],
            "verdict": swapped.get(each["verdict"], each["verdict"]),
        }
        for each in reversed(rows)
    ]
    assert rank_systems(turned, resamples=50) == rank_systems(rows, resamples=50)


def test_another_seed_gives_other_intervals_only() -> None:
    one, two = (rank_systems(_random_rows(2), resamples=50, seed=seed)["systems"] for seed in (0, 1))
    assert [system["bradley_terry"] for system in one] == [system["bradley_terry"] for system in two]
    assert [system["low"] for system in one] != [system["low"] for system in two]


def test_the_best_system_comes_first() -> None:
    names = [system["name"] for system in rank_systems([*SMALL, row("elk", "ant", "a", "i4")], resamples=0)["systems"]]
    assert names == ["elk", "ant", "owl"]


def test_signature() -> None:
    result = rank_systems(
        SMALL, population="demo-1.2.3/human", resamples=200, seed=7, regularisation=0.5, confidence=0.9
    )
    assert result["signature"] == (
        f"fcconan:{fcconan.__version__}|metric:bradley-terry+share|data:demo-1.2.3/human|raters:r1|items:3|verdicts:6-of-7|"
        "ties:half-win|orders:disagreement-ties|regularisation:0.5|bootstrap:200-by-item|confidence:0.9|seed:7"
    )
    assert next(iter(result)) == "signature"  # first, where people look
    votes = [row("ant", "elk", "a", item, rater) for item, rater in (("i1", "r1"), ("i1", "r2"), ("i2", "r1"))]
    assert "|raters:r1,r2|" in rank_systems(votes, resamples=0)["signature"]
    assert result["settings"]["ties"] == "half-win"
    without = rank_systems([*votes, row("ant", "elk", "b", "i2", "r2")], majority=True, resamples=0)
    assert "|verdicts:1-of-2|" in without["signature"]
    assert without["signature"].endswith("|bootstrap:0-by-item|confidence:0.95|seed:0")


def test_all_ties() -> None:
    rows = [row(a, b, "tie", item) for item in ("i1", "i2") for a, b in combinations(("ant", "elk", "owl"), 2)]
    for system in rank_systems(rows, resamples=20)["systems"]:
        assert system["share"] == pytest.approx(100 / 3, abs=1e-12)
        assert (system["bradley_terry"], system["low"], system["high"]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


def test_a_system_that_never_loses_has_a_finite_strength_and_a_note() -> None:
    rows = [row("ant", other, "a", item) for item in ("i1", "i2") for other in ("elk", "owl")]
    rows += [row("elk", "owl", "a", "i1"), row("elk", "owl", "b", "i2")]
    result = rank_systems(rows, resamples=50)
    assert result["separated"] == [["ant"], ["elk", "owl"]]
    assert result["notes"] == [
        "No system of a later one of these groups won a point from an earlier one: ant; elk, owl. Distances between "
        "their strengths depend on the regularisation alone.",
        few(2),
    ]
    ends = [system[key] for system in result["systems"] for key in ("low", "bradley_terry", "high")]
    assert np.isfinite(ends).all()


def test_disconnected_systems_have_shares_but_no_strengths() -> None:
    rows = [
        row("ant", "elk", "a"),
        row("fox", "owl", "b"),
        row("ant", "elk", "tie", "i2"),
        row("fox", "owl", "b", "i2"),
    ]
    result = rank_systems(rows, resamples=50)
    for system in result["systems"]:
        assert (system["bradley_terry"], system["low"], system["high"]) == (None, None, None)
        assert system["reason"] == "disconnected"
    assert {name: system["share"] for name, system in _by_name(result).items()} == {
        "owl": 50.0,
        "ant": 37.5,
        "elk": 12.5,
        "fox": 0.0,
    }
    assert result["groups"] == [["ant", "elk"], ["fox", "owl"]]
    assert result["missing_pairs"] == [["ant", "fox"], ["ant", "owl"], ["elk", "fox"], ["elk", "owl"]]
    assert result["notes"] == [
        "4 of 6 pairs of systems never met, and no comparisons connect these groups: ant, elk; fox, owl. Shares are "
        "unfair and there are no strengths: rank each group by itself, or compare systems of different groups.",
        few(2),
    ]


def test_a_missing_pair_makes_shares_unfair_and_strengths_fair() -> None:
    # ant and owl never met. elk beats both 3 to 1; ant met elk twice as often as owl did, and has twice its points.
    rows = [row("elk", "ant", verdict, f"i{item}") for item, verdict in enumerate("aaabaaab")]
    rows += [row("elk", "owl", verdict, f"i{item}") for item, verdict in enumerate("aaab")]
    result = rank_systems(rows, resamples=0, regularisation=1e-6)
    systems = _by_name(result)
    assert systems["ant"]["points"] == 2 * systems["owl"]["points"]
    assert systems["ant"]["bradley_terry"] == pytest.approx(systems["owl"]["bradley_terry"], abs=1e-4)
    assert result["missing_pairs"] == [["ant", "owl"]]


def test_uneven_pairs_are_noted() -> None:
    result = rank_systems(SMALL[:4], resamples=0)
    assert (result["fewest_per_pair"], result["most_per_pair"]) == (1, 2)
    assert result["notes"] == ["Pairs of systems met 1 to 2 times: shares depend on whom a system met.", few(2)]


def test_a_system_with_invalid_verdicts_only_has_no_scores_and_disturbs_nobody() -> None:
    result = rank_systems([*SMALL, row("ant", "yak", "invalid", "i1")], resamples=30)
    assert _by_name(result)["yak"] == {
        "name": "yak",
        "points": 0.0,
        "share": None,
        "share_low": None,
        "share_high": None,
        "bradley_terry": None,
        "low": None,
        "high": None,
        "wins": 0,
        "losses": 0,
        "ties": 0,
        "invalid": 1,
        "unresolved": 0,
        "reason": "no_verdicts",
    }
    assert result["systems"][-1]["name"] == "yak"
    without = _by_name(rank_systems(SMALL, resamples=30))
    assert _by_name(result)["elk"] == without["elk"]


def test_one_item_has_no_interval() -> None:
    result = rank_systems(SMALL[:3], resamples=100)
    assert [(system["low"], system["high"], system["share_low"]) for system in result["systems"]] == [(None,) * 3] * 3
    assert result["notes"][-1] == "One item cannot be resampled: there are no intervals."


def test_resamples_that_do_not_connect_are_counted() -> None:
    rows = [row("ant", "elk", "a", "i1"), row("elk", "owl", "a", "i2")]
    result = rank_systems(rows, resamples=200)
    assert 60 < result["n_disconnected_resamples"] < 140
    assert result["notes"][-1] == (
        f"{result['n_disconnected_resamples']} resamples do not connect all systems; the intervals of strengths leave "
        "them out."
    )


def test_several_raters_and_both_orders_and_repetitions_are_noted() -> None:
    rows = [*SMALL, SMALL[0], row("elk", "ant", "tie", "i1"), row("ant", "elk", "a", "i1", "r2")]
    assert rank_systems(rows, resamples=0)["notes"][-4:] == [
        "The verdicts of 2 raters (r1, r2) count together: choose with --rater, or take --majority.",
        "1 verdict was given in both orders; 1 of them disagrees and is a tie.",
        "1 row repeats a verdict and counts once.",
        few(2),
    ]


def test_pairs_that_a_rater_left_out_are_named() -> None:
    # Nobody compared elk with owl; r2, a model, left out ant and owl, too, of which one verdict is invalid.
    rows = [
        *(row("ant", other, "a", rater="r1", rater_kind="human") for other in ("elk", "owl")),
        row("ant", "elk", "a", rater="r2", rater_kind="model"),
        row("owl", "ant", "invalid", rater="r2", rater_kind="model"),
        row("ant", "elk", "a", rater="r3"),
    ]
    result = rank_systems(rows, resamples=0)
    assert result["missing_pairs"] == [["elk", "owl"]]
    assert result["missing_by_rater"] == {
        "r1": [["elk", "owl"]],
        "r2": [["ant", "owl"], ["elk", "owl"]],
        "r3": [["ant", "owl"], ["elk", "owl"]],
    }
    assert (
        "Raters left out different pairs of systems (of 3: r1 1, r2 2, r3 2): rank each by itself with --rater."
        in (result["notes"])
    )
    assert any("3 raters (people: 1; models: r2; of unknown kind: r3)" in note for note in result["notes"])


def test_raters_who_left_out_the_same_pairs_need_no_note() -> None:
    rows = [row("ant", other, "a", rater=rater) for other in ("elk", "owl") for rater in ("r1", "r2")]
    result = rank_systems(rows, resamples=0)
    assert result["missing_by_rater"] == {"r1": [["elk", "owl"]], "r2": [["elk", "owl"]]}
    assert not any("left out" in note for note in result["notes"])
    assert rank_systems(SMALL, resamples=0)["missing_by_rater"] == {}


def test_pairs_that_a_corpus_lacks_are_named() -> None:
    # North has all three pairs, south one of them; west has a second one, of which the verdict is invalid.
    pairs = (("ant", "elk"), ("ant", "owl"), ("elk", "owl"))
    north = [row(*pair, "a", "i1") | {"corpus": "north"} for pair in pairs]
    south = [row("ant", "elk", "a", "i2") | {"corpus": "south"}]
    west = [row("elk", "ant", "a", "i3"), row("elk", "owl", "invalid", "i3")]
    result = rank_systems([*north, *south, *(each | {"corpus": "west"} for each in west)], resamples=0)
    left = [["ant", "owl"], ["elk", "owl"]]
    assert (result["missing_pairs"], result["missing_by_corpus"]) == ([], {"south": left, "west": left})
    assert result["corpora"] == {"north": 1, "south": 1, "west": 1}
    note = (
        "Corpora lack different pairs of systems (of 3: south 2, west 2): rank each by itself with --filter "
        "corpus=NAME."
    )
    assert note in result["notes"]
    # Each alone, or all of the same pairs, is said once, as pairs that never met.
    for rows in (south, [*south, west[0] | {"corpus": "west"}]):
        assert not any("Corpora" in note for note in rank_systems(rows, resamples=0)["notes"])
    assert rank_systems(SMALL, resamples=0)["missing_by_corpus"] == {}


def test_a_majority_is_no_person() -> None:
    human = {"rater_kind": "human"}
    rows = [each | human | {"rater": rater} for each in SMALL for rater in ("majority", "majority-released")]
    assert (
        "The verdicts of 2 raters (majorities: majority, majority-released) count together: choose one with --rater, "
        "because a majority consists of verdicts of the others."
    ) in rank_systems(rows, resamples=0)["notes"]
    rows = [each | human | {"rater": rater} for each in SMALL for rater in ("anna", "ben", "majority")]
    notes = rank_systems(rows, resamples=0)["notes"]
    assert any("3 raters (people: 2; majorities: majority) count together: choose one" in note for note in notes)


def test_the_majority_is_that_of_the_raters_of_the_rows() -> None:
    rows = [*SMALL, *(each | {"rater": "r2"} for each in SMALL[:2]), row("ant", "elk", "a", "i2", "r2")]
    result, votes = (
        rank_systems(rows, majority=True, resamples=20),
        rank_systems(majority_votes(rows), resamples=20),
    )
    assert result["systems"] == votes["systems"]
    assert (result["raters"], [*result["rater_kinds"]]) == (["majority"], ["r1", "r2"])
    assert (result["unresolved"], result["invalid"], votes["unresolved"], votes["invalid"]) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regularisation": 0.0}, "found the regularisation 0.0"),
        ({"regularisation": math.inf}, "found the regularisation inf"),
        ({"resamples": -1}, "-1 resamples"),
        ({"confidence": 1.0}, "the confidence 1.0: give a number above 0, 0 or more, and a number between 0 and 1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rank_systems([row("ant", "elk", "a", reply_a="p", reply_b="q")], **settings)


def test_verdicts_that_are_all_invalid_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"^no verdict is readable \(1 invalid, 0 unresolved\), expected wins or ties: look at "
    ):
        rank_systems([row("ant", "elk", "invalid")])


def test_verdicts_without_a_majority_are_not_readable_either() -> None:
    rows = [row("ant", "elk", "a", rater="r1"), row("ant", "elk", "b", rater="r2")]
    with pytest.raises(InputError, match=r"^no verdict is readable \(0 invalid, 1 unresolved\)"):
        rank_systems(rows, majority=True)


@pytest.mark.parametrize("seed", range(10))
def test_correlations_equal_scipys(seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = ({f"s{i}": float(generator.integers(0, 6)) for i in range(9)} for _ in range(2))
    found = {each["coefficient"]: each for each in correlate_tables(x, dict(reversed(y.items())))}
    first, second = [*x.values()], [*y.values()]
    assert found["pearson"]["value"] == pytest.approx(stats.pearsonr(first, second).statistic, abs=1e-12)
    assert found["spearman"]["value"] == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)
    assert found["kendall"]["value"] == pytest.approx(stats.kendalltau(first, second).statistic, abs=1e-12)
    assert {(each["n"], each["n_missing"], each["reason"]) for each in found.values()} == {(9, 0, None)}


def test_systems_in_one_table_only_are_counted() -> None:
    found = correlate_tables({"ant": 1.0, "elk": 2.0, "fox": None, "owl": 4.0}, {"ant": 2.0, "elk": 5.0, "yak": 1.0})
    assert [(each["value"], each["n"], each["n_missing"]) for each in found] == [(pytest.approx(1.0), 2, 3)] * 3


@pytest.mark.parametrize(
    ("y", "reason"),
    [({"ant": 1.0}, "too_few_systems"), ({}, "too_few_systems"), ({"ant": 3.0, "elk": 3.0}, "constant")],
)
def test_correlations_that_are_undefined_say_why(y: dict[str, float], reason: str) -> None:
    found = correlate_tables({"ant": 1.0, "elk": 2.0}, y)
    assert [(each["value"], each["reason"]) for each in found] == [(None, reason)] * 3


def test_scores_that_differ_by_rounding_share_a_rank() -> None:
    # Ranks 1.5, 1.5 and 3 against 1, 2 and 3: 1.5 / sqrt(1.5 * 2).
    found = correlate_tables({"ant": 0.1 + 0.2, "elk": 0.3, "owl": 0.5}, {"ant": 1.0, "elk": 2.0, "owl": 3.0})
    values = {each["coefficient"]: each["value"] for each in found}
    assert values["spearman"] == pytest.approx(1.5 / math.sqrt(3), abs=1e-12)


def test_resamples_without_a_correlation_are_counted() -> None:
    # For both raters ant wins one item and ties the other: resamples of the second alone have equal shares.
    rows = [row("ant", "elk", verdict, item, rater) for item, verdict in (("i1", "a"), ("i2", "tie")) for rater in "rs"]
    without = sum(float(weights[0] == 0) for some in draws(2, 50, 3) for weights in some)
    assert 5 < without < 25
    for each in compare_raters(rows, resamples=50, seed=3):
        assert [each["value"], each["low"], each["high"]] == pytest.approx([1.0] * 3, abs=1e-15)
        assert each["n_undefined"] == without


@pytest.mark.parametrize("score", ["share", "bradley_terry"])
def test_raters_tables_are_correlated_with_intervals(score: str) -> None:
    rows = _random_rows(3, raters=("r1", "r2"))
    found = {each["coefficient"]: each for each in compare_raters(rows, score=score, resamples=60, seed=2)}
    tables = [
        {
            each["name"]: each[score]
            for each in rank_systems([r for r in rows if r["rater"] == rater], resamples=0)["systems"]
        }
        for rater in ("r1", "r2")
    ]
    for expected in correlate_tables(*tables):
        value = found[expected["coefficient"]]
        assert value["value"] == pytest.approx(expected["value"], abs=1e-9)
        assert value["low"] <= value["value"] + 1e-9
        assert value["value"] <= value["high"] + 1e-9
        assert (value["a"], value["b"], value["score"], value["n"]) == ("r1", "r2", score, 4)
    drawn = np.random.default_rng(2).integers(25, size=(60, 25))
    per_item = [read_verdicts(rows).wins(rater) for rater in (0, 1)]
    resampled = []
    for resample in drawn:
        wins = [each[resample].sum(axis=0) for each in per_item]
        scores = [strengths(w) if score == "bradley_terry" else w.sum(axis=1) / w.sum() for w in wins]
        resampled.append(stats.pearsonr(*scores).statistic)
    ends = np.quantile(resampled, [0.025, 0.975])
    assert (found["pearson"]["low"], found["pearson"]["high"]) == pytest.approx(tuple(ends), abs=1e-9)


def test_a_rater_with_invalid_verdicts_only_has_no_table() -> None:
    rows = [*SMALL, row("ant", "elk", "invalid", rater="r2")]
    found = compare_raters(rows, resamples=20)
    assert [(each["value"], each["low"], each["n"], each["n_missing"], each["reason"]) for each in found] == [
        (None, None, 0, 3, "too_few_systems")
    ] * 3
    assert [each["n_undefined"] for each in found] == [0] * 3


def test_an_unknown_score_is_refused() -> None:
    with pytest.raises(InputError, match="unknown score 'elo': known are share, bradley_terry"):
        compare_raters(SMALL, score="elo")


def test_the_result_is_json_without_nan() -> None:
    result = rank_systems([*SMALL, row("yak", "ant", "invalid")], resamples=30)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
