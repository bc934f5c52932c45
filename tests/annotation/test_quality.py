"""Agreement of raters in a campaign, and checks of how they went about it."""

import json
from itertools import permutations
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fcconan.annotation.assignment.rounds import RoundPlan, make_round
from fcconan.annotation.attention import (
    Judged,
    attention_checks,
    courses,
    fast_threshold,
    trend,
)
from fcconan.annotation.campaigns import Answer, Assignment, Campaign, Unit
from fcconan.annotation.quality import agreement_rows, disputed_units, reliability_data, subset_means
from fcconan.annotation.votes import current_votes
from fcconan.errors import InputError
from fcconan.reporting.campaigns import count_skipped_checks, quality_tables
from tests.annotation.answered import (
    NO,
    YES,
    add_answers,
    campaign_of,
    labelled,
    pair_units,
    reply_units,
)
from tests.conftest import RunCli


def rows_of(campaign: Campaign, level: str, coefficient: str) -> list[dict[str, Any]]:
    """The rows of one level and coefficient."""
    rows = agreement_rows(campaign, current_votes(campaign), resamples=0)
    return [row for row in rows if (row["level"], row["coefficient"]) == (level, coefficient)]


def check_of(rows: list[dict[str, Any]], check: str, rater: str = "rater-1") -> dict[str, Any]:
    """The row of one check of a rater."""
    (row,) = (row for row in rows if (row["check"], row["rater"]) == (check, rater))
    return row


def overlapping(folder: Path) -> Campaign:
    """Raters 1 and 2 share pairs 1 to 4, all three 6 and 7, 1 and 3 pairs 8 and 9; 5 is not asked, 10 is 1's alone."""
    return labelled(folder, "0022 02022", "0220 00  -", "     0220 ")


def test_subsets_are_units_of_the_same_raters(tmp_path: Path) -> None:
    campaign = overlapping(tmp_path / "c")
    raw = rows_of(campaign, "subset", "raw")
    assert [(row["raters"], row["n"], row["value"]) for row in raw] == [
        (["rater-1", "rater-2"], 4, 0.5),
        (["rater-1", "rater-3"], 2, 0.0),
        (["rater-1", "rater-2", "rater-3"], 2, (1 + 1 / 3) / 2),
    ]
    kappa = [row["value"] for row in rows_of(campaign, "subset", "cohen")]
    # Half agree, as by chance; none agree, where half would; of the three pairs of raters one agrees, two by chance.
    assert kappa == [0.0, -1.0, pytest.approx(1 / 3)]
    (mean,) = (row for row in subset_means(rows_of(campaign, "subset", "raw")))
    assert mean["mean"] == pytest.approx((0.5 + 0 + 2 / 3) / 3)
    assert mean["deviation"] == pytest.approx(np.std([0.5, 0.0, 2 / 3]))
    assert (mean["n_subsets"], mean["n_undefined"]) == (3, 0)


def test_pairs_of_raters_count_all_units_that_both_judged(tmp_path: Path) -> None:
    rows = rows_of(overlapping(tmp_path / "c"), "pair", "raw")
    assert [(row["raters"], row["n"], row["value"]) for row in rows] == [
        (["rater-1", "rater-2"], 6, 0.5),
        (["rater-1", "rater-3"], 4, 0.5),
        (["rater-2", "rater-3"], 2, 0.5),
    ]


def test_single_labels_are_counted_against_all_others(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "0012", "0112")
    rows = {row["label"]: row["value"] for row in rows_of(campaign, "label", "cohen")}
    # not_appropriate: 3 of 4 agree, (2 * 1 + 2 * 3) / 16 by chance; not_sure the same; appropriate: all agree.
    assert rows == {"not_appropriate": 0.5, "not_sure": 0.5, "appropriate": 1.0}


def test_constant_raters_have_no_kappa_and_a_reason(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "0000", "0000")
    for coefficient in ("cohen", "fleiss", "krippendorff_nominal"):
        for level in ("overall", "subset", "pair"):
            (row,) = rows_of(campaign, level, coefficient)
            assert (row["value"], row["reason"]) == (None, "no_variation")
    (mean,) = subset_means(rows_of(campaign, "subset", "cohen"))
    assert (mean["mean"], mean["deviation"], mean["n_undefined"]) == (None, None, 1)


def test_one_rater_and_nobody(tmp_path: Path) -> None:
    (row,) = rows_of(labelled(tmp_path / "c", "02"), "overall", "cohen")
    assert (row["value"], row["reason"]) == (None, "one_rater")
    assert rows_of(labelled(tmp_path / "d", "-?"), "overall", "cohen") == []


def test_items_are_resampled_with_all_their_pairs(tmp_path: Path) -> None:
    units = [Unit(f"hs-{1 + at // 3}:cn-{at}", hs_id=f"hs-{1 + at // 3}", cn_id=f"cn-{at}") for at in range(6)]
    campaign = campaign_of(tmp_path / "c", units, {"rater-1": [NO, YES] * 3, "rater-2": [NO, NO] * 3})
    (row,) = rows_of(campaign, "overall", "raw")
    assert (row["n"], row["n_items"]) == (6, 2)


def test_anchors_do_not_count(tmp_path: Path) -> None:
    units = [*pair_units(2), Unit("hs-9:cn-9", "anchor", "hs-9", "cn-9", known={"label": NO})]
    campaign = campaign_of(tmp_path / "c", units, {"rater-1": [NO, YES, NO], "rater-2": [NO, YES, YES]})
    (row,) = rows_of(campaign, "overall", "raw")
    assert (row["n"], row["value"]) == (2, 1.0)


def test_grades_have_weighted_coefficients_by_aspect(tmp_path: Path) -> None:
    grades = [[1.0, 2.0, 4.0, 5.0], [1.0, 3.0, 4.0, 4.0]]
    said = {f"rater-{at}": [{"relevance": each} for each in row] for at, row in enumerate(grades, start=1)}
    campaign = campaign_of(tmp_path / "c", reply_units(4), said, task="cseval")
    (row,) = (row for row in rows_of(campaign, "overall", "cohen_quadratic") if row["aspect"] == "relevance")
    # Squared distances: 2 seen; of each of the first's grades to all of the second's 22, 10, 10 and 22, over 4.
    assert row["value"] == pytest.approx(1 - 2 / (64 / 4))
    assert {table.aspect: len(table.raters) for table in reliability_data(campaign, current_votes(campaign))} == {
        "relevance": 2,
        "coherence": 0,
        "aggressiveness": 0,
        "suitableness": 0,
    }


def test_grades_with_decimals_have_alpha_only(tmp_path: Path) -> None:
    values = [round(1 + 0.03 * at, 2) for at in range(105)]
    said: dict[str, list[Any]] = {"rater-1": [{"relatedness": each} for each in values]}
    said["rater-2"] = [{"relatedness": min(each + 0.5, 5.0)} for each in values]
    campaign = campaign_of(tmp_path / "c", reply_units(105), said, task="grounded")
    rows = agreement_rows(campaign, {"relatedness": current_votes(campaign)["relatedness"]}, resamples=0)
    mine = [row for row in rows if row["level"] == "overall"]
    assert {row["coefficient"] for row in mine} == {"krippendorff_ordinal", "krippendorff_interval"}
    import krippendorff

    table = [values, [min(each + 0.5, 5.0) for each in values]]
    for row in mine:
        level = row["coefficient"].removeprefix("krippendorff_")
        assert row["value"] == pytest.approx(krippendorff.alpha(table, level_of_measurement=level))
        assert (row["n"], row["n_items"], row["low"]) == (105, 105, None)


def test_units_with_most_disagreement_come_first(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "0020", "0222", "0 1 ")
    found = disputed_units(campaign, current_votes(campaign))
    assert [(row["unit_id"], row["disagreement"], row["n"]) for row in found] == [
        ("hs-2:cn-2", 1.0, 2),
        ("hs-4:cn-4", 1.0, 2),
        ("hs-3:cn-3", 2 / 3, 3),
    ]
    assert found[0]["values"] == {"rater-1": NO, "rater-2": YES}


def test_disagreement_of_grades_is_their_mean_distance(tmp_path: Path) -> None:
    said = {f"rater-{at}": [{"relevance": grade}, {"relevance": 3.0}] for at, grade in ((1, 1.0), (2, 2.0), (3, 5.0))}
    campaign = campaign_of(tmp_path / "c", reply_units(2), said, task="cseval")
    (row,) = disputed_units(campaign, current_votes(campaign))
    assert (row["unit_id"], row["aspect"], row["disagreement"]) == ("re-1", "relevance", (1 + 3 + 4) / 3)


def test_trend_is_spearman_with_a_permutation_test() -> None:
    errors = [0.0, 0.0, 1.0, 0.0, 1.0, 2.0]
    rho = stats.spearmanr(range(6), errors).statistic
    ranks = stats.rankdata(errors)
    every = np.corrcoef(np.arange(6), [*permutations(ranks)])[0, 1:]
    exact = np.mean(np.abs(every) >= abs(rho) - 1e-12)
    found = trend(errors, permutations=5_000, seed=1)
    assert found is not None
    assert found[0] == pytest.approx(rho)
    assert found[1] == pytest.approx(exact, abs=0.02)
    assert found == trend(errors, permutations=5_000, seed=1)
    assert trend(errors[::-1], permutations=100, seed=1)[0] == pytest.approx(-rho)  # type: ignore[index]
    assert trend([1.0] * 12, permutations=10, seed=0) is None


def test_blocks_change_places_and_errors_within_them() -> None:
    # Three of a CN, then one of another: three orders within the first block, times two of the blocks.
    places = [("main", 1)] * 3 + [("main", 2)]
    within = set(permutations((0, 0, 1)))
    orders = [order for block in within for order in ([*block, 1], [1, *block])]
    rho = [abs(stats.spearmanr(range(4), order).statistic) for order in orders]
    observed = abs(stats.spearmanr(range(4), [0, 0, 1, 1]).statistic)
    found = trend([0, 0, 1, 1], permutations=4_000, seed=2, places=places)
    assert found is not None
    assert found[1] == pytest.approx(np.mean(np.array(rho) >= observed - 1e-9), abs=0.03)
    # Strata keep their places: gold questions at 2 and 4, and a block of two equal errors, so that nothing can change.
    fixed = [("main", 1), ("anchors", 0), ("main", 1), ("anchors", 0)]
    found = trend([0, 1, 0, 1], permutations=50, seed=2, places=fixed)
    assert found is not None
    assert found[1] == 1.0
    # The orders of three blocks of two equal errors: 0, 0, 0, 0, 1, 1 has the strongest trend, as has its reverse.
    found = trend([0, 0, 0, 0, 1, 1], permutations=4_000, seed=2, places=[("main", at // 2) for at in range(6)])
    assert found is not None
    assert found[1] == pytest.approx(2 / 3, abs=0.03)


def in_blocks(folder: Path) -> Campaign:
    """Four raters and 16 CNs of 20 HS each, of which all pairs are right or all are wrong; all judge everything."""
    units = [Unit(f"hs-{at}:cn-{cn}", hs_id=f"hs-{at}", cn_id=f"cn-{cn}") for cn in range(16) for at in range(20)]
    units += [Unit(f"hs-{at}:cn-99", "anchor", f"hs-{at}", "cn-99", known={"label": YES}) for at in range(20)]
    campaign = campaign_of(folder, units, {f"rater-{at}": [""] * len(units) for at in range(1, 5)})
    (folder / "rounds" / "main.jsonl").unlink()
    make_round(campaign, "main", RoundPlan(blocks="cn", all_raters=True, session_size=100, anchors_per_session=2))
    return campaign


def test_errors_in_one_block_are_no_drift(tmp_path: Path) -> None:
    campaign = in_blocks(tmp_path / "c")
    order = campaign.assignments()
    mine = [each.unit_id for each in order if each.rater == "rater-1" and "cn-99" not in each.unit_id]
    last = mine[-1].split(":")[1]
    wrong = {("rater-1", unit) for unit in mine if unit.endswith(f":{last}")}
    answers = [
        Answer("main", each.rater, each.unit_id, "label", NO if (each.rater, each.unit_id) in wrong else YES)
        for each in order
    ]
    campaign.write("answers.jsonl", answers)
    drift = check_of(attention_checks(campaign, permutations=400), "drift")
    # The one block stands at an end of 16 in an eighth of all orders.
    assert drift["p"] == pytest.approx(1 / 8, abs=0.05)
    (campaign.folder / "rounds" / "main.json").unlink()
    assert check_of(attention_checks(campaign, permutations=400), "drift")["p"] == 1 / 401


def test_places_follow_from_how_the_round_was_made(tmp_path: Path) -> None:
    campaign = in_blocks(tmp_path / "c")
    campaign.write("answers.jsonl", [Answer("main", "rater-1", unit, "label", YES) for unit in campaign.units()])
    course = courses(campaign)["rater-1"]
    units = campaign.units()
    anchors = {each.unit for each in course if units[each.unit].role == "anchor"}
    pairs = [(units[each.unit].cn_id, each.place) for each in course]
    assert {place for cn, place in pairs if cn == "cn-99"} == {("main, anchors", 0)}
    assert len(anchors) == 8  # two in each of four sessions
    blocks = dict.fromkeys(pair for pair in pairs if pair[0] != "cn-99")
    assert [place for _, place in blocks] == [("main", number) for number in range(1, 17)]
    assert len({cn for cn, _ in blocks}) == 16
    # What is taken over later comes one by one.
    last = campaign.assignments()
    moved = [each for each in last if each.rater == "rater-2" and units[each.unit_id].cn_id in ("cn-1", "cn-2")]
    taken = [each for pair in zip(moved[:2], moved[-2:], strict=True) for each in pair]
    rest = [each for each in last if each.rater == "rater-1" and units[each.unit_id].cn_id not in ("cn-1", "cn-2")]
    late = [Assignment("rater-1", each.unit_id, 1000 + at) for at, each in enumerate(taken)]
    campaign.write("rounds/main.jsonl", [*rest, *late])
    assert [each.place[1] for each in courses(campaign)["rater-1"][-4:]] == [15, 16, 17, 18]


def test_seconds_below_three_robust_deviations_are_fast() -> None:
    seconds = [10.0, 20.0, 20.0, 40.0, 80.0]
    # Logarithms: median log 20; distances log 2, 0, 0, log 2, log 4, of which the median is log 2.
    assert fast_threshold([seconds[:2], [*seconds[2:], None]]) == pytest.approx(exp(log(20) - 3 * 1.4826 * log(2)))
    assert fast_threshold([[5.0, 5.0, 5.0, 9.0]]) is None
    assert fast_threshold([[None], []]) is None


def test_a_rater_who_tires_is_shown(tmp_path: Path) -> None:
    good = "02" * 30
    tired = good[:30] + "0" * 30
    campaign = labelled(tmp_path / "c", tired, good, good)
    rows = attention_checks(campaign, permutations=500, seed=0)
    drift = check_of(rows, "drift")
    assert (drift["statistic"], drift["n"], drift["flagged"]) == ("spearman", 60, True)
    errors = [0] * 30 + [0, 1] * 15
    assert drift["value"] == pytest.approx(stats.spearmanr(range(60), errors).statistic)
    assert drift["p"] == 1 / 501
    assert drift["p_corrected"] == drift["p"]  # the others are never wrong, so there is one test
    assert drift["note"] == "error 0.000 in the first half, 0.500 in the second"
    assert check_of(rows, "drift", "rater-2")["reason"] == "no_variation"


def test_two_raters_are_each_others_reference_and_three_need_a_majority(tmp_path: Path) -> None:
    two = attention_checks(labelled(tmp_path / "c", "02" * 6, "00" * 6), permutations=50)
    assert check_of(two, "drift")["n"] == 12
    three = attention_checks(labelled(tmp_path / "d", "00" * 6, "02" * 6, "22" * 6), permutations=50)
    assert check_of(three, "drift")["n"] == 6  # where the two others agree
    unsure = attention_checks(labelled(tmp_path / "e", "00" * 6, "11" * 6), permutations=50)
    assert (check_of(unsure, "drift")["n"], check_of(unsure, "drift")["reason"]) == (0, "too_few")


def test_a_constant_rater_is_shown_where_others_vary(tmp_path: Path) -> None:
    rows = attention_checks(labelled(tmp_path / "c", "0" * 12, "02" * 6), permutations=50)
    constant = check_of(rows, "constant")
    assert (constant["flagged"], constant["note"]) == (True, "always not_appropriate, where others vary")
    assert check_of(rows, "constant", "rater-2")["flagged"] is False
    alone = attention_checks(labelled(tmp_path / "d", "0" * 12, "0" * 12), permutations=50)
    assert check_of(alone, "constant")["flagged"] is False


def test_anchors_have_a_pass_mark(tmp_path: Path) -> None:
    anchors = [Unit(f"hs-{at}:cn-{at}", "anchor", f"hs-{at}", f"cn-{at}", known={"label": YES}) for at in range(1, 5)]
    campaign = campaign_of(tmp_path / "c", anchors, {"rater-1": [YES, YES, YES, NO], "rater-2": [YES, YES, YES, None]})
    rows = attention_checks(campaign, permutations=10)
    assert (check_of(rows, "anchors")["value"], check_of(rows, "anchors")["flagged"]) == (0.75, True)
    assert check_of(rows, "anchors", "rater-2")["value"] == 1.0
    assert check_of(attention_checks(campaign, permutations=10, pass_mark=0.75), "anchors")["flagged"] is False


def test_grades_of_anchors_may_be_off_by_what_is_given(tmp_path: Path) -> None:
    units = [
        Unit(f"re-{at}", "anchor", item_id="item", reply_a=f"re-{at}", known={"relevance": 4}) for at in range(1, 5)
    ]
    said = {"rater-1": [{"relevance": grade} for grade in (4.0, 3.0, 5.0, 2.0)]}
    campaign = campaign_of(tmp_path / "c", units, said, task="cseval")

    def share(within: float) -> float:
        rows = attention_checks(campaign, permutations=10, within=within)
        return float(next(row["value"] for row in rows if (row["check"], row["aspect"]) == ("anchors", "relevance")))

    assert [share(within) for within in (0.0, 1.0, 2.0)] == [0.25, 0.75, 1.0]
    assert count_skipped_checks(attention_checks(campaign, permutations=10))["anchors"] == {"no_anchors": 3}


def test_fast_answers(tmp_path: Path) -> None:
    seconds = {"rater-1": [1.0] * 2 + [20.0] * 18, "rater-2": [18.0, 22.0] * 10, "rater-3": [15.0, 30.0] * 10}
    said = {rater: [NO, YES] * 10 for rater in seconds}
    campaign = campaign_of(tmp_path / "c", pair_units(20), said, seconds=seconds)
    threshold = fast_threshold([seconds[rater] for rater in said])
    assert threshold is not None
    assert 1 < threshold < 15
    rows = attention_checks(campaign, permutations=10)
    fast = check_of(rows, "fast")
    assert (fast["value"], fast["n"], fast["flagged"]) == (0.1, 20, True)
    assert fast["note"] == f"below {threshold:.1f} s; median 20.0 s"
    assert check_of(rows, "fast", "rater-3")["value"] == 0.0
    rows = attention_checks(campaign, permutations=10, too_fast=19.0)
    assert [check_of(rows, "fast", rater)["value"] for rater in said] == [0.1, 0.5, 0.5]
    assert check_of(attention_checks(labelled(tmp_path / "d", "02"), permutations=10), "fast")["reason"] == "no_seconds"


def test_courses_follow_the_order_in_which_units_were_shown(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "02-?")
    order = [Assignment("rater-1", f"hs-{at}:cn-{at}", place) for at, place in ((1, 3), (2, 1), (3, 4), (4, 2))]
    campaign.write("rounds/main.jsonl", order)
    assert courses(campaign) == {
        "rater-1": [
            Judged("hs-2:cn-2", {"label": YES}, None, ("main", 0)),
            Judged("hs-1:cn-1", {"label": NO}, None, ("main", 0)),
            Judged("hs-3:cn-3", {"label": None}, None, ("main", 0)),
        ]
    }
    campaign.write("rounds/again.jsonl", [Assignment("rater-1", "hs-1:cn-1", 1)])
    add_answers(campaign, Answer("again", "rater-1", "hs-1:cn-1", "label", YES, 4.0))
    course = courses(campaign, ["main", "again"])["rater-1"]
    assert (course[1].values, course[1].place) == ({"label": YES}, ("main", 0))
    assert [each.seconds for each in course] == [None, 4.0, None]


def test_the_command(tmp_path: Path, run_cli: RunCli) -> None:
    labelled(tmp_path / "c", "0022 02022" * 2, "0220 00  -" * 2, "     0220 " * 2)
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    page = tmp_path / "page.html"
    for file in files:
        done = run_cli("annotate", "agree", tmp_path / "c", "--resamples", 50, "--json", file, "--report", page)
        assert done.returncode == 0, done.stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    result = json.loads(files[0].read_text())
    signature = result["tests_signature"]
    assert signature in page.read_text(encoding="utf-8").replace("&#43;", "+")
    signatures = [*result["signature"], signature]
    assert done.stdout.splitlines()[-len(signatures) :] == signatures
    assert [done.stdout.count(each) for each in signatures] == [1] * len(signatures)
    assert [family["n_tests"] for family in result["families"]] == [2]
    assert "|test:attention|draws:50|" in signature and "|family:check|tests:2|floor:0.0392|" in signature
    assert list(result) == ["signature", "tests_signature", "rows", "subsets", "units", "checks", "families", "notes"]
    assert result["notes"] == ["16 units have answers of two or more raters, 2 of one."]
    titles = [table.title for table in quality_tables(result)]
    assert titles == [
        "Agreement of all raters",
        "Agreement by subset: units that only these raters judged",
        "Agreement on single labels, each against all others together",
        "Agreement of pairs of raters",
        "Agreement over subsets",
        "Units with most disagreement: 10 of 10",
        "Raters to review",
        "All checks of raters (tests in each family, p corrected by holm: drift 2 (smallest possible 0.039))",
    ]
    assert all(title in page.read_text() for title in titles)
    every = run_cli("annotate", "agree", tmp_path / "c", "--resamples", 50, "--verbose").stdout
    assert "Not checked: fast: no_seconds 3" in every and all(f"{title}\n" in every for title in titles)
    shown = [title for title in titles if f"{title}\n" in done.stdout]
    assert shown == ["Agreement of all raters", "Units with most disagreement: 10 of 10", "Raters to review"]


def test_families_of_checks_state_their_number_of_tests_and_the_smallest_p(tmp_path: Path, run_cli: RunCli) -> None:
    labelled(tmp_path / "c", "0022 02022" * 2, "0220 00  -" * 2, "     0220 " * 2)
    result = {}
    for resamples in (39, 38):
        done = run_cli("annotate", "agree", tmp_path / "c", "--resamples", resamples, "--json", tmp_path / "a.json")
        result = json.loads((tmp_path / "a.json").read_text())
        tested = [row for row in result["checks"] if row["check"] == "drift" and row["p"] is not None]
        families = {family["name"]: family for family in result["families"]}
        assert (families["drift"]["n_tests"], families["drift"]["correction"]) == (len(tested), "holm") == (2, "holm")
        assert families["drift"]["floor"] == pytest.approx(2 / (resamples + 1))
        assert ("raise --resamples to 40 or more" in done.stdout) == (resamples == 38)
    assert result["notes"][1:] == [
        "No check of drift can be significant: its smallest corrected p is 0.0513 for 2 tests of 38 random orders; "
        "raise --resamples to 40 or more."
    ]


def test_no_answers_no_agreement(tmp_path: Path, run_cli: RunCli) -> None:
    labelled(tmp_path / "c", "??")
    done = run_cli("annotate", "agree", tmp_path / "c")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "has no answers in main: import some first" in done.stderr
    with pytest.raises(InputError, match="no round 'other'"):
        current_votes(labelled(tmp_path / "d", "0"), ["other"])


def test_every_subset_of_three_has_a_line_with_its_names(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "2020", "2202", "02  ", "  20")
    result = {
        "rows": agreement_rows(campaign, current_votes(campaign), resamples=0),
        "subsets": [],
        "units": [],
        "checks": [],
    }
    table = next(table for table in quality_tables(result) if table.title.startswith("Agreement by subset"))
    assert [row[1] for row in table.rows] == ["rater-1, rater-2, rater-3", "rater-1, rater-2, rater-4"]


def test_answers_of_validators_are_no_labels(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = labelled(tmp_path / "c", "22", "20")
    with campaign.changing():
        campaign.write("rounds/validation.jsonl", [])
    done = run_cli("annotate", "agree", tmp_path / "c", "--round", "validation")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "see `fcconan annotate validate`" in done.stderr
