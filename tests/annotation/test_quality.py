"""Agreement of raters in a campaign, gold accuracy and time."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fcconan.annotation.quality import agreement_rows, disputed_units, rater_summaries, reliability_data, subset_means
from fcconan.reporting.campaigns import quality_tables

from fcconan.annotation.campaigns import Campaign, Unit
from fcconan.annotation.votes import current_votes
from fcconan.errors import InputError
from tests.annotation.answered import (
    NO,
    YES,
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


def test_gold_accuracy_and_median_seconds(tmp_path: Path) -> None:
    anchors = [Unit(f"hs-{at}:cn-{at}", "anchor", f"hs-{at}", f"cn-{at}", known={"label": YES}) for at in range(1, 5)]
    said: dict[str, Any] = {"rater-1": [YES, YES, YES, NO], "rater-2": [YES, YES, NO, None]}
    seconds: dict[str, Any] = {"rater-1": [10.0, 20.0, 30.0, 100.0], "rater-2": [None] * 4}
    rows = rater_summaries(campaign_of(tmp_path / "c", anchors, said, seconds=seconds))
    # The skipped question does not count.
    assert [tuple(row.values()) for row in rows] == [
        ("rater-1", 4, 0.75, 4, 25.0),
        ("rater-2", 3, pytest.approx(2 / 3), 0, None),
    ]
    (row, _) = rater_summaries(labelled(tmp_path / "d", "02", "00"))
    assert row == {"rater": "rater-1", "gold": 0, "gold_accuracy": None, "timed": 0, "median_seconds": None}


def test_grades_of_gold_questions_may_be_off_by_the_tolerance(tmp_path: Path) -> None:
    units = [
        Unit(f"re-{at}", "anchor", item_id="item", reply_a=f"re-{at}", known={"relevance": 4}) for at in range(1, 5)
    ]
    said = {"rater-1": [{"relevance": grade} for grade in (4.0, 3.0, 5.0, 2.0)]}
    campaign = campaign_of(tmp_path / "c", units, said, task="cseval")
    found = [rater_summaries(campaign, within=within)[0]["gold_accuracy"] for within in (0.0, 1.0, 2.0)]
    assert found == [0.25, 0.75, 1.0]


def test_the_command(tmp_path: Path, run_cli: RunCli) -> None:
    labelled(tmp_path / "c", "0022 02022" * 2, "0220 00  -" * 2, "     0220 " * 2)
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    page = tmp_path / "page.html"
    for file in files:
        done = run_cli("annotate", "agree", tmp_path / "c", "--resamples", 50, "--json", file, "--report", page)
        assert done.returncode == 0, done.stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    result = json.loads(files[0].read_text())
    signatures = result["signature"]
    assert signatures[0] in page.read_text(encoding="utf-8").replace("&#43;", "+")
    assert done.stdout.splitlines()[-len(signatures) :] == signatures
    assert [done.stdout.count(each) for each in signatures] == [1] * len(signatures)
    assert list(result) == ["signature", "rows", "subsets", "units", "raters", "notes"]
    assert result["notes"] == ["16 units have answers of two or more raters, 2 of one."]
    titles = [table.title for table in quality_tables(result)]
    assert titles == [
        "Agreement of all raters",
        "Agreement by subset: units that only these raters judged",
        "Agreement on single labels, each against all others together",
        "Agreement of pairs of raters",
        "Agreement over subsets",
        "Units with most disagreement: 10 of 10",
    ]
    assert all(title in page.read_text() for title in titles)
    every = run_cli("annotate", "agree", tmp_path / "c", "--resamples", 50, "--verbose").stdout
    assert all(f"{title}\n" in every for title in titles)
    shown = [title for title in titles if f"{title}\n" in done.stdout]
    assert shown == ["Agreement of all raters", "Units with most disagreement: 10 of 10"]


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
        "raters": [],
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
