import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm, spearmanr, t

from fcconan.errors import InputError
from fcconan.judging.audit.analysis import audit_judge
from fcconan.judging.audit.findings import share_interval
from fcconan.judging.audit.rows import read_ratings, read_replies

REFUSAL = "I'm sorry, but I cannot help with that."
Row = dict[str, Any]


def reply(name: str, text: str, hs: str | None = None) -> Row:
    return {"reply_id": name, "hs_id": hs or f"hs-{name}", "text": text}


def words(number: int) -> str:
    return " ".join(["bread"] * number)


def comparison(item: int | str, verdict: str, *, rater: str = "judge", **columns: Any) -> Row:
    return {
        "item_id": f"i{item}",
        "system_a": "x",
        "system_b": "y",
        "reply_a": f"i{item}-x",
        "reply_b": f"i{item}-y",
        "rater": rater,
        "rater_kind": "model",
        "verdict": verdict,
        "reason": "too_long" if verdict == "invalid" else None,
        **columns,
    }


def rating(name: str, value: float | None, *, rater: str = "judge", **columns: Any) -> Row:
    return {
        "reply_id": name,
        "rater": rater,
        "rater_kind": "model",
        "aspect": "relevance",
        "value": value,
        "low": 1.0,
        "high": 5.0,
        "higher_is_better": True,
        "reason": None if value is not None else "no_field",
        **columns,
    }


def finding(found: dict[str, Any], check: str, rater: str = "judge", failure: str | None = None) -> Row:
    [row] = [r for r in found["rows"] if (r["check"], r["rater"], r["failure"]) == (check, rater, failure)]
    return row  # type: ignore[no-any-return]


def duels(verdicts: Iterable[str], sizes: Iterable[tuple[int, int]], **columns: Any) -> tuple[list[Row], list[Row]]:
    rows, replies = [], []
    for item, (verdict, (a, b)) in enumerate(zip(verdicts, sizes, strict=True)):
        rows.append(comparison(item, verdict, **columns))
        replies += [reply(f"i{item}-x", words(a), f"hs-{item}"), reply(f"i{item}-y", words(b), f"hs-{item}")]
    return rows, replies


def test_wins_of_the_longer_reply() -> None:
    # Longer wins, longer loses, tie, longer wins; equal length; invalid; and a reply that nobody knows.
    rows, replies = duels(
        ["a", "a", "tie", "b", "a", "invalid", "a"], [(5, 2), (2, 5), (3, 4), (1, 9), (4, 4), (3, 2), (3, 2)]
    )
    row = finding(audit_judge(comparisons=rows, replies=replies[:-1]), "length_wins")
    assert row["value"] == (1 + 0 + 0.5 + 1) / 4
    assert (row["n"], row["n_units"], row["n_missing"], row["baseline"]) == (4, 4, 2, 0.5)
    assert row["note"] == (
        "1 comparisons of replies with equal values are left out; 1 comparisons have a reply that is missing from "
        "--replies"
    )


def test_a_judge_that_always_prefers_the_longer_reply() -> None:
    rows, replies = duels(["a", "b"] * 20, [(5, 2), (2, 5)] * 20)
    row = finding(audit_judge(comparisons=rows, replies=replies, resamples=500), "length_wins")
    assert (row["value"], row["high"]) == (1, 1)
    assert row["low"] == pytest.approx(binomtest(40, 40).proportion_ci(method="wilson").low)


@pytest.mark.parametrize(("flips", "items"), [(0, 10), (1, 40), (20, 40), (10, 10)])
def test_the_interval_of_a_share_is_wilsons_with_one_comparison_for_every_message(flips: int, items: int) -> None:
    rows = [
        comparison(item, "tie" if item < flips else "a", verdict_ab="a", verdict_ba="b" if item < flips else "a")
        for item in range(items)
    ]
    row = finding(audit_judge(comparisons=rows, resamples=1), "position_flips")
    known = binomtest(flips, items).proportion_ci(method="wilson")
    assert (row["value"], row["no_interval"]) == (flips / items, None)
    assert (row["low"], row["high"]) == pytest.approx((known.low, known.high), abs=1e-12)


def test_ratings_of_a_message_that_are_all_alike_count_little_more_than_one() -> None:
    # Twelve HS with ten failures each or none: the design effect is 119/11, and Student's t for 11 counts further.
    rows = [rating(f"r{number}", None if number < 30 else 3) for number in range(120)]
    replies = [reply(f"r{number}", f"No {number}.", f"hs-{number // 10}") for number in range(120)]
    row = finding(audit_judge(rows, replies=replies, resamples=1), "failures")
    effective = 120 / (119 / 11) * (t.ppf(0.975, 119) / t.ppf(0.975, 11)) ** 2
    z = norm.ppf(0.975)
    middle, half = 0.25 + z**2 / 2 / effective, z * math.sqrt(0.25 * 0.75 / effective + z**2 / 4 / effective**2)
    ends = [(middle + side * half) / (1 + z**2 / effective) for side in (-1, 1)]
    assert [row["low"], row["high"]] == pytest.approx(ends)
    # Where nothing failed, each HS counts once.
    none = finding(audit_judge(rows[30:], replies=replies, resamples=1), "failures")
    assert (none["value"], none["low"]) == (0, 0)
    assert none["high"] == pytest.approx(binomtest(0, 9).proportion_ci(method="wilson").high)


def test_intervals_of_shares_cover_rare_flips() -> None:
    """Of 40 comparisons 3 % flip; the bootstrap covers that in 68 % of all cases only."""
    generator, covered = np.random.default_rng(3), 0
    codes = np.arange(40)
    for _ in range(300):
        low, high = share_interval((generator.random(40) < 0.03).astype(float), [codes], 0.95)
        covered += low <= 0.03 <= high
    assert covered / 300 > 0.92


def test_an_interval_is_that_of_resampled_messages() -> None:
    # Of hs-0 the refusal gets 4 more, of hs-1 4 less: a resample has 4, 0 or -4 with 1/4, 1/2 and 1/4.
    rows = [rating(f"r{number}", value) for number, value in enumerate((5, 1, 1, 5))]
    replies = [
        reply(f"r{number}", f"No {number}." if number % 2 else REFUSAL, f"hs-{number // 2}") for number in range(4)
    ]
    wide = finding(audit_judge(rows, replies=replies, confidence=0.6), "refusal_difference")
    assert (wide["value"], wide["low"], wide["high"], wide["n"], wide["n_units"]) == (0, -4, 4, 4, 2)
    # Their middle 40 % are all 0, which says nothing of other messages.
    narrow = finding(audit_judge(rows, replies=replies, confidence=0.4), "refusal_difference")
    assert (narrow["low"], narrow["high"], narrow["no_interval"]) == (None, None, "no_spread")


def test_with_one_message_there_is_no_interval() -> None:
    rows, replies = duels(["a"], [(3, 2)])
    row = finding(audit_judge(comparisons=rows, replies=replies), "length_wins")
    assert (row["value"], row["low"], row["high"], row["n_units"]) == (1, None, None, 1)
    assert row["no_interval"] == "one_unit"


def simulated(seed: int, longer_wins: float, first_wins: float = 0.5, items: int = 400) -> tuple[list[Row], list[Row]]:
    """A judge that looks at nothing but length and position."""
    generator = np.random.default_rng(seed)
    sizes = [tuple(generator.choice(20, size=2, replace=False) + 1) for _ in range(items)]
    verdicts = ["a" if (a > b) == (generator.random() < longer_wins) else "b" for a, b in sizes]
    rows, replies = duels(verdicts, sizes)
    ordered = [
        {**row, "order": order, "verdict": "a" if (order == "ab") == (generator.random() < first_wins) else "b"}
        for row in rows
        for order in ("ab", "ba")
    ]
    return (ordered if first_wins != 0.5 else rows), replies


@pytest.mark.parametrize("bias", [0.5, 0.7, 0.9])
def test_the_interval_covers_a_bias_that_is_known(bias: float) -> None:
    rows, replies = simulated(1, bias)
    row = finding(audit_judge(comparisons=rows, replies=replies, resamples=2000), "length_wins")
    assert row["low"] < bias < row["high"]
    assert (row["low"] < 0.5 < row["high"]) == (bias == 0.5)


def test_position_from_a_row_for_each_order() -> None:
    said = [("a", "a"), ("a", "b"), ("a", "b"), ("b", "a"), ("tie", "tie"), ("a", "tie"), ("invalid", "a"), ("b", None)]
    rows = [
        comparison(item, verdict, order=order)
        for item, verdicts in enumerate(said)
        for order, verdict in zip(("ab", "ba"), verdicts, strict=True)
        if verdict is not None
    ]
    result = audit_judge(comparisons=[*rows, comparison(99, "a")])
    flips, reversals = finding(result, "position_flips"), finding(result, "position_reversals")
    assert (flips["value"], flips["n"], flips["n_missing"], flips["baseline"]) == (4 / 6, 6, 2, 0)
    assert flips["note"] == "1 comparisons have no verdicts of single orders"
    assert (reversals["value"], reversals["n"]) == (3 / 6, 6)
    first = finding(result, "first_position_wins")
    # a a: 1/2; a b: both times the first; b a: never; ties 1/2; a in the first order and a tie: 3/4.
    assert first["value"] == pytest.approx((0.5 + 1 + 1 + 0 + 0.5 + 0.75) / 6)
    assert (first["n"], first["baseline"]) == (6, 0.5)


def test_position_from_columns_of_both_orders() -> None:
    said = [("a", "b", "tie"), ("a", "a", "a"), ("a", None, "invalid"), (None, None, "tie")]
    rows = [
        comparison(item, verdict, verdict_ab=ab, verdict_ba=ba, reason_ba="no_scores" if ab and not ba else None)
        for item, (ab, ba, verdict) in enumerate(said)
    ]
    flips = finding(audit_judge(comparisons=rows), "position_flips")
    assert (flips["value"], flips["n"], flips["n_missing"]) == (1 / 2, 2, 1)
    assert flips["note"] == "1 comparisons have no verdicts of single orders"


def test_two_orders_are_one_comparison() -> None:
    rows = [comparison(0, "a", order="ab"), comparison(0, "b", order="ba"), comparison(1, "b", order="ba")]
    rows += [comparison(2, "invalid", order="ab"), comparison(2, "b", order="ba")]
    _, replies = duels("aaa", [(3, 2)] * 3)
    row = finding(audit_judge(comparisons=rows, replies=replies), "length_wins")
    assert (row["value"], row["n"], row["n_missing"]) == ((0.5 + 0) / 2, 2, 1)
    assert finding(audit_judge(comparisons=rows), "failures")["value"] == 1 / 3


def turned(row: Row) -> Row:
    """The same verdict with a and b exchanged."""
    swapped = {f"{name}_{side}": row[f"{name}_{other}"] for name in ("system", "reply") for side, other in ("ab", "ba")}
    return {**row, **swapped, "verdict": {"a": "b", "b": "a"}.get(row["verdict"], row["verdict"])}


def test_exchanged_replies_are_the_other_order() -> None:
    said = [("a", "a"), ("a", "b"), ("b", "a"), ("tie", "a"), ("invalid", "a")]
    rows = [
        comparison(item, verdict, order=order)
        for item, both in enumerate(said)
        for order, verdict in zip(("ab", "ba"), both, strict=True)
    ]
    without = [{key: value for key, value in row.items() if key != "order"} for row in rows]
    exchanged = [turned(row) if number % 2 else row for number, row in enumerate(without)]
    _, replies = duels("aaaaa", [(3, 2)] * 5)
    expected = audit_judge(comparisons=rows, replies=replies, own={"judge": "x"})
    assert audit_judge(comparisons=exchanged, replies=replies, own={"judge": "x"}) == expected
    # With a column `order`, either naming of a and b says the same.
    named = [
        {**turned(row), "order": "ba" if row["order"] == "ab" else "ab"} if number % 2 else row
        for number, row in enumerate(rows)
    ]
    assert audit_judge(comparisons=named, replies=replies, own={"judge": "x"}) == expected


def test_a_third_row_of_a_pair_is_refused() -> None:
    rows = [comparison(0, "a"), turned(comparison(0, "a"))]
    for third in rows:
        with pytest.raises(InputError, match="judge has two comparisons of i0-x and i0-y of item i0: give each"):
            audit_judge(comparisons=[*rows, third])
    with pytest.raises(InputError, match=r"has two comparisons of .*: give each file once"):
        audit_judge(comparisons=[comparison(0, "a", verdict_ab="a", verdict_ba="a"), turned(comparison(0, "a"))])


def test_the_interval_covers_a_known_preference_for_the_first_position() -> None:
    rows, _ = simulated(2, 0.5, first_wins=0.8)
    row = finding(audit_judge(comparisons=rows, resamples=2000), "first_position_wins")
    assert 0.5 < row["low"] < 0.8 < row["high"]
    flips = finding(audit_judge(comparisons=rows, resamples=2000), "position_flips")
    assert flips["low"] < 0.8**2 + 0.2**2 < flips["high"]


def test_wins_and_grades_of_refusals() -> None:
    texts = {"i0-x": REFUSAL, "i0-y": "No.", "i1-x": "No.", "i1-y": REFUSAL, "i2-x": REFUSAL, "i2-y": REFUSAL}
    replies = [reply(name, text, name[:2]) for name, text in texts.items()]
    rows = [comparison(0, "a"), comparison(1, "tie"), comparison(2, "a")]
    wins = finding(audit_judge(comparisons=rows, replies=replies), "refusal_wins")
    assert (wins["value"], wins["n"], wins["n_missing"], wins["baseline"]) == (0.75, 2, 0, 0.5)
    grades = [rating(name, value) for name, value in zip(texts, (5, 2, 3, None, 4, 3), strict=True)]
    row = finding(audit_judge(grades, replies=replies), "refusal_difference")
    assert row["value"] == (5 + 4 + 3) / 3 - (2 + 3) / 2
    assert (row["n"], row["n_missing"], row["baseline"], row["note"]) == (5, 1, 0, "3 refusals")
    turned = [{**each, "higher_is_better": False} for each in grades]
    assert finding(audit_judge(turned, replies=replies), "refusal_difference")["value"] == -(4 - 2.5)


def test_without_refusals_there_is_no_difference() -> None:
    row = finding(audit_judge([rating("r", 3)], replies=[reply("r", "No.")]), "refusal_difference")
    assert (row["value"], row["low"], row["high"], row["reason"], row["n"]) == (None, None, None, "one_group", 1)


def test_correlation_of_length_and_grade() -> None:
    generator = np.random.default_rng(5)
    sizes, grades = generator.integers(1, 12, size=60), generator.integers(1, 6, size=60)
    replies = [reply(f"r{number}", words(size)) for number, size in enumerate(sizes)]
    rows = [rating(f"r{number}", int(grade)) for number, grade in enumerate(grades)]
    row = finding(audit_judge([*rows, rating("r9", None, rater="judge")][:60], replies=replies), "length_correlation")
    assert row["value"] == pytest.approx(spearmanr(sizes, grades).statistic, abs=1e-12)
    # An independent bootstrap, each resample ranked by SciPy.
    draws = []
    for _ in range(1500):
        drawn = generator.integers(60, size=60)
        draws.append(spearmanr(sizes[drawn], grades[drawn]).statistic)
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.03)
    turned = [{**each, "higher_is_better": False} for each in rows]
    reverse = finding(audit_judge(turned, replies=replies, resamples=10), "length_correlation")
    assert reverse["value"] == pytest.approx(-row["value"])


def test_a_constant_judge_has_no_correlation() -> None:
    replies = [reply(f"r{number}", words(number + 1)) for number in range(5)]
    row = finding(audit_judge([rating(f"r{number}", 3) for number in range(5)], replies=replies), "length_correlation")
    assert (row["value"], row["low"], row["high"], row["reason"], row["n"]) == (None, None, None, "constant", 5)


def test_compression_against_people() -> None:
    judge = [rating(f"r{number}", value) for number, value in enumerate([3, 3, 3, 4])]
    people = [
        rating(f"r{number}", value, rater="rater-1", rater_kind="human") for number, value in enumerate([1, 3, 4, 5, 1])
    ]
    result = audit_judge([*judge, rating("r9", None), *people])
    modal, used = finding(result, "modal_share"), finding(result, "levels_used")
    assert (modal["value"], modal["n"], modal["n_missing"], modal["baseline"]) == (0.75, 4, 1, 0.25)
    assert (used["value"], used["baseline"]) == (2 / 5, 4 / 5)
    entropy = finding(result, "entropy")
    assert entropy["value"] == pytest.approx(-(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) / math.log(5))
    assert entropy["baseline"] == pytest.approx(math.log(4) / math.log(5))
    spread = finding(result, "spread")
    assert spread["value"] == pytest.approx(np.std([3, 3, 3, 4]) / np.std([1, 3, 4, 5]))
    assert (spread["n"], spread["n_missing"], spread["baseline"], spread["note"]) == (4, 1, 1, "4 ratings of people")
    assert finding(result, "spread", "rater-1")["reason"] == "no_people"


def test_spread_is_that_of_scales_of_one_length() -> None:
    judge = [rating(f"r{number}", value, low=0, high=10) for number, value in enumerate([0, 10])]
    people = [rating(f"r{number}", value, rater="p", rater_kind="human") for number, value in enumerate([1, 5])]
    assert finding(audit_judge([*judge, *people]), "spread")["value"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("values", "scale", "used", "reason"),
    [
        ([3, 4], (1, 5), 2 / 5, None),
        ([3.5, 4], (1, 5), 2 / 41, None),
        ([3.25, 4], (1, 5), 2 / 401, None),
        ([3.333, 4], (1, 5), None, "no_levels"),
        ([3.25, 4], (0, 10), None, "no_levels"),
        ([3, 4], (None, None), None, "no_levels"),
    ],
)
def test_possible_grades_follow_from_scale_and_decimals(
    values: list[float], scale: tuple[Any, Any], used: float | None, reason: str | None
) -> None:
    rows = [rating(f"r{number}", value, low=scale[0], high=scale[1]) for number, value in enumerate(values)]
    row = finding(audit_judge(rows), "levels_used")
    assert (row["value"], row["reason"], row["n"]) == (used, reason, 2)


def test_a_single_grade_has_no_entropy_and_no_spread() -> None:
    judge = [rating(f"r{number}", 3) for number in range(3)]
    people = [rating(f"r{number}", number + 1, rater="p", rater_kind="human") for number in range(3)]
    result = audit_judge([*judge, *people], resamples=50)
    assert finding(result, "modal_share")["value"] == 1
    assert finding(result, "entropy")["value"] == 0
    # That three grades are alike does not show that all are.
    known = binomtest(3, 3).proportion_ci(method="wilson")
    assert finding(result, "modal_share")["low"] == pytest.approx(known.low)
    spread = finding(result, "spread")
    assert (spread["value"], spread["low"], spread["no_interval"]) == (0, None, "no_spread")


def test_grades_that_are_spread_evenly() -> None:
    rows = [rating(f"r{number}", number % 5 + 1) for number in range(50)]
    result = audit_judge(rows, resamples=200)
    modal = finding(result, "modal_share")
    known = binomtest(10, 50).proportion_ci(0.99, method="wilson")  # each of five grades may be the most frequent one
    assert (modal["value"], modal["low"], modal["high"]) == pytest.approx((0.2, known.low, known.high))
    for check in ("levels_used", "entropy"):
        row = finding(result, check)
        assert (row["value"], row["low"], row["high"], row["no_interval"]) == (1, None, None, "biased")


def test_the_intervals_that_are_corrected_are_declared() -> None:
    rows = [rating(f"r{number}", number % 3 + 1, aspect=aspect) for aspect in ("tone", "wit") for number in range(30)]
    rows += [rating(f"r{number}", 2, aspect="malice") for number in range(30)]  # one grade: nothing is corrected
    result = audit_judge(rows, resamples=100)
    assert [(family["n_tests"], family["correction"]) for family in result["families"]] == [(3, "bonferroni")] * 2
    assert [family["name"].split(", ")[1:] for family in result["families"]] == [
        ["tone", "modal_share"],
        ["wit", "modal_share"],
    ]
    noted = {row["aspect"]: row["note"] for row in result["rows"] if row["check"] == "modal_share"}
    note = "interval holds for all 3 grades (Bonferroni)"
    assert noted == {"tone": note, "wit": note, "malice": ""}
    assert "|correction:bonferroni-of-modal-shares|v:" in result["signature"]
    assert audit_judge(rows[60:], resamples=100)["families"] == []


def test_in_a_grid_of_messages_and_texts_both_are_resampled() -> None:
    generator = np.random.default_rng(8)
    # Twenty messages with the same twenty replies, whose grade hangs on the reply alone.
    sizes, merits = generator.permutation(20) + 1, generator.normal(size=20)
    replies = [reply(f"r{h}-{c}", words(sizes[c]), f"hs-{h}") for h in range(20) for c in range(20)]
    rows = [rating(f"r{h}-{c}", float(merits[c]), low=-5.0) for h in range(20) for c in range(20)]
    row = finding(audit_judge(rows, replies=replies, resamples=1000), "length_correlation")
    assert row["value"] == pytest.approx(spearmanr(sizes, merits).statistic)
    # Messages make no difference, so what is uncertain is the choice of the twenty texts.
    draws = [spearmanr(sizes[drawn], merits[drawn]).statistic for drawn in generator.integers(20, size=(1000, 20))]
    assert (row["low"], row["high"]) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.07)
    # Without its grid, the same dataset is resampled by messages.
    apart = [{**each, "text": f"{each['text']} {number}"} for number, each in enumerate(replies)]
    row = finding(audit_judge(rows, replies=apart, resamples=100), "length_correlation")
    assert (row["low"], row["high"], row["no_interval"]) == (None, None, "no_spread")


def test_the_share_of_a_grid_is_as_uncertain_as_its_texts() -> None:
    # Of twenty texts under twenty messages five fail, always: 400 ratings know no more than 20.
    replies = [reply(f"r{h}-{c}", f"No {c}.", f"hs-{h}") for h in range(20) for c in range(20)]
    rows = [rating(f"r{h}-{c}", None if c < 5 else 3) for h in range(20) for c in range(20)]
    row = finding(audit_judge(rows, replies=replies, resamples=1), "failures")
    known = binomtest(5, 20).proportion_ci(method="wilson")
    assert (row["low"], row["high"]) == pytest.approx((known.low, known.high), abs=0.03)


def test_ratings_of_other_replies_are_counted() -> None:
    result = audit_judge([rating("r1", 3), rating("r2", 4)], replies=[reply("r3", "No.")])
    for check in ("length_correlation", "refusal_difference"):
        row = finding(result, check)
        assert (row["n"], row["n_missing"], row["note"]) == (0, 2, "2 ratings have no reply in --replies")


def test_self_preference_is_what_people_do_not_share() -> None:
    mine = [comparison(item, verdict, rater="x") for item, verdict in enumerate(["a", "a", "a", "tie", "invalid", "a"])]
    people = [
        comparison(item, verdict, rater=name, rater_kind="human")
        for name, verdicts in (("p", "abba"), ("q", "bbba"))
        for item, verdict in enumerate(verdicts)
    ]
    # Another judge does not count where there are people.
    other = [comparison(item, "b", rater="other") for item in range(6)]
    row = finding(audit_judge(comparisons=[*mine, *people, *other]), "self_preference", "x")
    assert row["value"] == pytest.approx(3.5 / 4 - (1 + 0 + 0 + 2) / 8)
    assert (row["n"], row["n_missing"], row["baseline"]) == (4, 2, 0)
    assert row["note"] == "own replies win 0.875, with people 0.375"
    alone = finding(audit_judge(comparisons=[*mine, *other]), "self_preference", "x")
    assert (alone["value"], alone["note"]) == (4.5 / 5, "own replies win 0.900, with the other raters 0.000")


def test_own_systems_may_be_named_and_sides_may_be_swapped() -> None:
    mine = [comparison(0, "b", rater="judge-y"), comparison(1, "b", rater="judge-y")]
    swapped = {"system_a": "y", "system_b": "x", "reply_a": "i0-y", "reply_b": "i0-x"}
    people = [comparison(0, "b", rater="p", rater_kind="human") | swapped]
    result = audit_judge(comparisons=[*mine, *people], own={"judge-y": ["y", "z"]})
    row = finding(result, "self_preference", "judge-y")
    assert (row["value"], row["n"], row["n_missing"]) == (1 - 0, 1, 1)
    assert not [each for each in result["rows"] if each["check"] == "self_preference" and each["rater"] != "judge-y"]


def test_the_interval_covers_a_known_self_preference() -> None:
    generator = np.random.default_rng(7)
    rows = []
    for item in range(500):
        rows.append(comparison(item, "a" if generator.random() < 0.75 else "b", rater="x"))
        rows.append(comparison(item, "a" if generator.random() < 0.5 else "b", rater="fair"))
        rows.append(comparison(item, "a" if generator.random() < 0.5 else "b", rater="p", rater_kind="human"))
    result = audit_judge(comparisons=rows, own={"x": "x", "fair": "x"}, resamples=2000)
    biased, fair = (finding(result, "self_preference", rater) for rater in ("x", "fair"))
    assert 0 < biased["low"] < 0.25 < biased["high"]
    assert fair["low"] < 0 < fair["high"]


def rated_by_two(
    mine: Iterable[float | None], people: Iterable[float | None], systems: str, **columns: Any
) -> tuple[list[Row], list[Row]]:
    """One reply for each letter of `systems`, which wrote it, with a grade of the judge x and one of a person."""
    replies = [reply(f"r{number}", "No.") | {"system": system} for number, system in enumerate(systems)]
    rows = [rating(f"r{number}", value, rater="x", **columns) for number, value in enumerate(mine)]
    rows += [rating(f"r{number}", value, rater="p", rater_kind="human") for number, value in enumerate(people)]
    return rows, replies


def test_self_preference_in_grades_is_what_people_do_not_share() -> None:
    # Two of its own, then two of others that count, one without its grade, one without a person's.
    rows, replies = rated_by_two([5, 4, 3, 2, None, 1], [3, 4, 4, 2, 5, None], "xxyzyy")
    lenient = [rating(f"r{number}", value, rater="q", rater_kind="human") for number, value in enumerate([4, 5])]
    another = [rating(f"r{number}", 1, rater="other") for number in range(6)]
    row = finding(audit_judge([*rows, *lenient, *another], replies=replies), "self_preference_grades", "x")
    judge, person = (5 + 4) / 2 - (3 + 2) / 2, (3.5 + 4.5) / 2 - (4 + 2) / 2
    assert row["value"] == pytest.approx((judge - person) / 4)
    assert (row["n"], row["n_units"], row["n_missing"], row["baseline"], row["aspect"]) == (4, 4, 2, 0, "relevance")
    assert row["note"] == "own minus other replies 0.500, with people 0.250"
    # Without people, the other raters stand in for them.
    alone = finding(audit_judge([*rows[:6], *another], replies=replies), "self_preference_grades", "x")
    assert alone["value"] == pytest.approx((4.5 - (3 + 2 + 1) / 3) / 4)
    assert (alone["n"], alone["note"]) == (5, "own minus other replies 0.625, with the other raters 0.000")


def test_self_preference_in_grades_does_not_hang_on_the_scale_or_its_direction() -> None:
    people = [3, 4, 4, 2]
    rows, replies = rated_by_two([5, 4, 3, 2], people, "xxyz")
    expected = finding(audit_judge(rows, replies=replies), "self_preference_grades", "x")["value"]
    assert expected == pytest.approx(((4.5 - 2.5) - (3.5 - 3)) / 4)
    wide, _ = rated_by_two([10, 7.5, 5, 2.5], people, "xxyz", low=0, high=10)
    assert finding(audit_judge(wide, replies=replies), "self_preference_grades", "x")["value"] == pytest.approx(
        expected
    )
    turned, _ = rated_by_two([1, 2, 3, 4], people, "xxyz", higher_is_better=False)
    assert finding(audit_judge(turned, replies=replies), "self_preference_grades", "x")["value"] == pytest.approx(
        expected
    )


def test_self_preference_in_grades_needs_own_and_other_replies() -> None:
    rows, replies = rated_by_two([5, 4], [3, 4], "xx")
    row = finding(audit_judge(rows, replies=replies), "self_preference_grades", "x")
    assert (row["value"], row["low"], row["high"], row["reason"]) == (None, None, None, "one_group")
    assert row["note"] == "2 of 2 replies that others also rated are its own"
    row = finding(audit_judge(rows[:2], replies=replies), "self_preference_grades", "x")
    assert (row["value"], row["reason"], row["n"], row["n_missing"]) == (None, "no_rows", 0, 2)
    # A rater without replies of its own has no such row, nor have people.
    others = [reply("r8", "No.") | {"system": "z"}, reply("r9", "No.") | {"system": "y"}]
    result = audit_judge(rows, replies=[*replies, *others], own={"x": "z", "p": ["y"]})
    assert not [each for each in result["rows"] if each["check"] == "self_preference_grades"]


def test_the_interval_covers_a_known_self_preference_in_grades() -> None:
    generator = np.random.default_rng(11)
    rows, replies = [], []
    for number in range(600):
        quality, own = generator.normal(), number % 2
        replies.append(reply(f"r{number}", "No.", f"hs-{number // 2}") | {"system": "xy"[own]})
        for rater, kind, gain in (("x", "model", 0.5), ("fair", "model", 0), ("p", "human", 0)):
            value = 3 + quality + 0.3 * (1 - own) + gain * (1 - own) + generator.normal()
            rows.append(rating(f"r{number}", value, rater=rater, rater_kind=kind, low=-5.0, high=11.0))
    result = audit_judge(rows, replies=replies, own={"x": "x", "fair": "x"}, resamples=2000)
    biased, fair = (finding(result, "self_preference_grades", rater) for rater in ("x", "fair"))
    assert biased["n_units"] == 300
    assert 0 < biased["low"] < 0.5 / 16 < biased["high"]
    assert fair["low"] < 0 < fair["high"]


def test_failures_by_reason() -> None:
    rows = [rating("r1", 3), rating("r2", None), rating("r3", None, reason="empty"), rating("r4", None)]
    result = audit_judge([*rows, rating("r5", None, reason=None)])
    found = {row["failure"]: row["value"] for row in result["rows"] if row["check"] == "failures"}
    assert found == {None: 4 / 5, "no_field": 2 / 5, "empty": 1 / 5, "unknown": 1 / 5}
    compared = audit_judge(comparisons=[comparison(0, "a"), comparison(1, "invalid")])
    assert finding(compared, "failures", failure="too_long")["value"] == 1 / 2


def test_the_result_is_json_without_nan_and_the_same_for_one_seed() -> None:
    rows, replies = simulated(4, 0.6, items=12)
    grades = [rating(each["reply_id"], None if number else 3) for number, each in enumerate(replies)]
    one = audit_judge(grades, rows, replies, resamples=100, seed=1)
    assert json.loads(json.dumps(one, allow_nan=False)) == one
    assert audit_judge(grades, rows, replies, resamples=100, seed=1) == one
    assert one != audit_judge(grades, rows, replies, resamples=100, seed=2)
    assert one["signature"].startswith("audit|resamples:100|seed:1|confidence:0.95|refusals:")


def test_without_replies_nothing_is_known_of_length() -> None:
    row = finding(audit_judge([rating("r", 3)], [comparison(0, "a")]), "length_wins")
    assert (row["value"], row["reason"], row["n"], row["n_missing"]) == (None, "no_rows", 0, 1)
    row = finding(audit_judge([rating("r", 3)]), "length_correlation")
    assert (row["value"], row["reason"], row["n"], row["n_missing"]) == (None, "no_rows", 0, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ratings": [rating("r", math.nan)]}, "the relevance of r by judge is nan: expected a number, or null"),
        ({"ratings": [rating("r", "4")]}, "the relevance of r by judge is '4': expected a number"),  # type: ignore[arg-type]
        ({"ratings": [{"reply_id": "r"}]}, "ratings: rater is None, expected a name or an id"),
        ({"comparisons": [comparison(0, "A")]}, "a verdict is 'A': give one of a, b, tie, invalid"),
        ({"comparisons": [comparison(0, "a", order="aa")]}, "the order of a comparison is 'aa': give ab"),
        (
            {"comparisons": [comparison(0, "a", order="ab")] * 2},
            "judge has two comparisons of i0-x and i0-y of item i0: give each file once",
        ),
        (
            {"ratings": [rating("r", 3), rating("q", 3), rating("r", 4)]},
            "judge has two ratings of relevance of r: give each file once, and repeat ratings with",
        ),
        (
            {"comparisons": [comparison(0, "a"), comparison(0, "a")]},
            "judge has two comparisons of i0-x and i0-y of item i0: give each file once, and repeat comparisons",
        ),
        (
            {"comparisons": [comparison(0, "a")], "own": {"jugde": "x"}},
            "found the rater jugde with the systems x; expected a rater among judge, and systems among x, y",
        ),
        (
            {"comparisons": [comparison(0, "a")], "own": {"judge": "X"}},
            "found the rater judge with the systems X; expected a rater among judge, and systems among x, y",
        ),
        (
            {"ratings": [rating("r", 3)], "own": {"judge": "x"}},
            "expected a rater among judge, and systems among none",
        ),
        (
            {"ratings": [{"pair_id": "p", "label": "not_sure"}]},
            "ratings: reply_id is None, expected a name or an id",
        ),
        (
            {"ratings": [], "replies": [reply("r", ""), reply("r", "")]},
            "two replies have the id r: give each reply once",
        ),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        audit_judge(**arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_hs_of_a_rating_is_that_of_its_reply_or_else_its_own() -> None:
    rows = [rating("r1", 1.0, hs_id="hs-1", item_id="it-1"), rating("r2", 1.0, item_id="it-2"), rating("r3", 1.0)]
    assert read_ratings(rows, read_replies(None))["unit"].tolist() == ["hs-1", "it-2", "r3"]
    known = read_replies([reply("r1", "No.", "hs-9")])
    assert read_ratings(rows, known)["unit"].tolist() == ["hs-9", "it-2", "r3"]


def test_a_comparison_that_is_given_twice_with_both_orders_is_refused() -> None:
    row = comparison(0, "a", verdict_ab="a", verdict_ba="a")
    with pytest.raises(InputError, match="judge has two comparisons of i0-x and i0-y of item i0: give each"):
        audit_judge(comparisons=[row, row])


def test_of_grades_that_are_equally_frequent_the_lowest_one_is_the_modal_one() -> None:
    rows = [rating(f"r{n}", value, hs_id=hs) for n, (value, hs) in enumerate([(2, "a"), (2, "a"), (4, "a"), (4, "b")])]
    modal = finding(audit_judge(rows), "modal_share")
    ends = share_interval(np.array([1.0, 1.0, 0.0, 0.0]), [np.array([0, 0, 0, 1])], 0.975)
    assert (modal["low"], modal["high"]) == pytest.approx(ends)


def test_comparisons_of_other_systems_say_nothing_of_self_preference() -> None:
    rows = [comparison(n, "a", rater=rater) for n in range(2) for rater in ("x", "other")]
    rows += [comparison(2, "a", rater="x"), comparison(3, "a", rater="x", system_a="z")]
    found = finding(audit_judge(comparisons=rows), "self_preference", "x")
    assert (found["n"], found["n_missing"]) == (2, 1)
