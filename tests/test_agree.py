"""`fcconan.agree`: values by hand, of other packages and of published tables; campaigns; what users do wrong."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from fcconan import Bootstrap, InputError, Result, Rows, agree
from fcconan.scoring import measure_agreement
from tests.annotation.answered import NO, YES, campaign_of, labelled, pair_units, reply_units
from tests.cli.scored import cells
from tests.conftest import RunCli

NONE = Bootstrap(resamples=0)
WEIGHTS = {"cohen": None, "cohen_linear": "linear", "cohen_quadratic": "quadratic"}
LEVELS: Any = ("nominal", "ordinal", "interval")
Row = dict[str, Any]
# Krippendorff (2011), section C: four observers, twelve units, missing values.
PUBLISHED = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]


def rated(*raters: str, aspect: str = "kind", items: str = "", **more: Any) -> list[Row]:
    """Grades of one digit by rater and reply; a full stop is a missing value."""
    return [
        {"reply_id": f"re-{at}", "item_id": f"i{items[at] if items else at}", "rater": f"r{number}", "aspect": aspect}
        | {"value": None if digit == "." else int(digit), "low": 1, "high": 5, **more}
        for number, digits in enumerate(raters, start=1)
        for at, digit in enumerate(digits)
    ]


def verdicts(rater: str, *rows: tuple[str, str, str, str]) -> list[Row]:
    names = ("item_id", "system_a", "system_b", "verdict")
    return [dict(zip(names, row, strict=True), rater=rater) for row in rows]


def values(result: Result, table: str = "agreement", **where: Any) -> dict[str, float]:
    return dict(map(tuple, cells(result, "coefficient", "value", table=table, **where)))


# Values


@pytest.mark.parametrize("seed", range(6))
def test_kappas_and_alphas_equal_those_of_other_packages(seed: int) -> None:
    generator = np.random.default_rng(seed)
    grades = generator.integers(1, 6, size=(3, 25)).astype(float)
    grades[1] = np.where(generator.random(25) < 0.6, grades[0], grades[1])
    grades[:, 20:][generator.random((3, 5)) < 0.5] = np.nan
    found = measure_agreement(grades, raters="abc", bootstrap=NONE).set_index(["a", "b", "coefficient"])["value"]
    of_pairs: dict[str, list[float]] = {name: [] for name in WEIGHTS}
    for one, other in itertools.combinations(range(3), 2):
        both = np.isfinite(grades[[one, other]]).all(axis=0)
        for name, weights in WEIGHTS.items():
            x, y = grades[one, both], grades[other, both]
            of_pairs[name].append(cohen_kappa_score(x, y, weights=weights, labels=range(1, 6)))
            assert found["abc"[one], "abc"[other], name] == pytest.approx(of_pairs[name][-1], abs=1e-12)
    overall = found[found.index.get_level_values("a").isna()].droplevel(["a", "b"])
    for name, kappas in of_pairs.items():
        assert overall[name] == pytest.approx(np.mean(kappas), abs=1e-12)
    for level in LEVELS:
        expected = krippendorff.alpha(grades, level_of_measurement=level)
        assert overall[f"krippendorff_{level}"] == pytest.approx(expected, abs=1e-12)


def test_alpha_is_that_of_the_published_example() -> None:
    found = values(agree(rated(*PUBLISHED), bootstrap=NONE))
    assert [round(found[f"krippendorff_{level}"], 3) for level in LEVELS] == [0.743, 0.815, 0.849]


def test_equal_values_are_counted_by_hand() -> None:
    """Pairs of values: 1 of 3 are equal in the first unit, 3 of 3, 0 of 1; the fourth has one value."""
    found = agree(rated("1213", "12..", "222."), bootstrap=NONE)
    assert cells(found, "value", "n", "n_items", coefficient="raw") == [[pytest.approx(4 / 7), 3, 3]]
    pairs = cells(found, "a", "b", "value", "n", table="pairs", coefficient="raw")
    assert pairs == [["r1", "r2", 1.0, 2], ["r1", "r3", pytest.approx(1 / 3), 3], ["r2", "r3", 0.5, 2]]


def test_intervals_are_those_of_a_loop_over_resampled_items() -> None:
    """Items with one to three units, which are drawn together; a second implementation computes the values."""
    generator = np.random.default_rng(3)
    items = "".join(str(at) * (1 + at % 3) for at in range(10))
    first = generator.integers(1, 5, size=len(items))
    second = np.where(generator.random(len(items)) < 0.5, first, generator.integers(1, 5, size=len(items)))
    rows = rated(*("".join(map(str, grades)) for grades in (first, second)), items=items)
    bootstrap = Bootstrap(resamples=4_000, confidence=0.9)
    coefficients: Any = ("raw", "cohen_linear", "krippendorff_ordinal")
    found = agree(rows, coefficient=coefficients, bootstrap=bootstrap)
    units = [[at for at, each in enumerate(items) if each == str(item)] for item in range(10)]
    drawn = []
    for _ in range(1_500):
        own = [at for item in generator.integers(10, size=10) for at in units[item]]
        x, y = first[own], second[own]
        kappa = cohen_kappa_score(x, y, weights="linear", labels=range(1, 6))
        drawn.append([(x == y).mean(), kappa, krippendorff.alpha([x, y], level_of_measurement="ordinal")])
    for own, low, high in zip(cells(found, "low", "high"), *np.quantile(drawn, [0.05, 0.95], axis=0), strict=True):
        assert own == pytest.approx([low, high], abs=0.08 * (high - low))
    assert cells(found, "n", "n_items")[0] == [len(items), 10]
    assert cells(found, "low", "high", table="pairs") == cells(found, "low", "high")


def test_labels_have_items_and_no_order() -> None:
    """12 votes of two raters on three messages: 5 of 6 equal; by chance (3 * 2 + 3 * 4) / 36 = 1 / 2."""
    said = {"anna": "yyynnn", "ben": "yynnnn"}
    rows = [
        {"pair_id": f"hs{at // 2}:cn{at}", "rater": rater, "label": label}
        for rater, labels in said.items()
        for at, label in enumerate(labels)
    ]
    found = agree(rows)
    alpha = 1 - 11 * 2 / (2 * 5 * 7)  # two of twelve coincidences differ; five labels are yes, seven no
    assert values(found) == {name: pytest.approx(value) for name, value in zip(
        ("raw", "cohen", "krippendorff_nominal"), (5 / 6, 2 / 3, alpha), strict=True)}  # fmt: skip
    assert cells(found, "n", "n_items") == [[6, 3]] * 3 and not found.notes
    assert cells(found, "unit", "disagreement", "n", "values", table="disputed") == [
        ["hs1:cn2", 1.0, 2, "anna: y, ben: n"]
    ]
    unknown = agree([{**row, "pair_id": row["pair_id"].replace(":", "-")} for row in rows])
    assert cells(unknown, "n_items")[0] == [6]
    assert unknown.notes == ["The items of some units are unknown: intervals take these units as independent."]


def test_verdicts_are_turned_to_the_first_row_of_a_pair() -> None:
    """anna: a, b (of both orders), tie (as they disagree); ben: a, tie, and one that cannot be read."""
    rows = [
        *verdicts("anna", ("i1", "elk", "ant", "a"), ("i2", "ant", "elk", "b"), ("i2", "elk", "ant", "a")),
        *verdicts("anna", ("i3", "ant", "elk", "a"), ("i3", "elk", "ant", "a")),
        *verdicts("ben", ("i1", "ant", "elk", "b"), ("i2", "ant", "elk", "tie"), ("i3", "ant", "elk", "invalid")),
    ]
    found = agree(rows, bootstrap=NONE)
    # elk is a in i1 and b in i2: anna a b, ben a tie; 1 of 4 by chance.
    assert values(found) == {"raw": 0.5, "cohen": pytest.approx(1 / 3), "krippendorff_nominal": pytest.approx(0.4)}
    assert cells(found, "unit", "values", table="disputed") == [["ant elk i2", "anna: b, ben: tie"]]


@pytest.mark.parametrize(
    ("raters", "reasons"),
    [
        (("111", "111"), {"cohen": "no_variation", "krippendorff_ordinal": "no_variation", "raw": None}),
        (("11.", "..2"), dict.fromkeys(("raw", "cohen", "krippendorff_ordinal"), "no_common_units")),
        (("12.", "12.", "..."), {"raw": None, "cohen": None}),
        (("123", "12.", "..3"), {"raw": None, "cohen": "undefined_pair", "krippendorff_ordinal": None}),
    ],
)
def test_a_missing_value_has_a_reason(raters: tuple[str, ...], reasons: dict[str, str | None]) -> None:
    found = agree(rated(*raters), bootstrap=Bootstrap(resamples=50))
    for name, reason in reasons.items():
        ((value, low, shown),) = cells(found, "value", "low", "reason", coefficient=name)
        assert math.isnan(value) == math.isnan(low) == (reason is not None)
        assert shown == reason or (reason is None and pd.isna(shown))


def test_one_item_has_no_interval_and_aspects_are_apart() -> None:
    rows = rated("123", "133", items="000") + rated("11", "12", aspect="true") + rated("1", aspect="calm")
    found = agree(rows, bootstrap=Bootstrap(resamples=50))
    assert cells(found, "aspect", "value", "n", "reason", coefficient="raw") == [
        *(["kind", pytest.approx(2 / 3), 3, None], ["true", 0.5, 2, None]),
        ["calm", pytest.approx(math.nan, nan_ok=True), 0, "one_rater"],
    ]
    assert math.isnan(cells(found, "low", aspect="kind")[0][0])
    assert "kind" in str(found).splitlines()[1]  # a column for each aspect
    assert {row[0] for row in cells(agree(rows, aspect=("true",), bootstrap=NONE), "aspect")} == {"true"}


def test_people_are_compared_if_there_are_two() -> None:
    judge = [{**row, "rater": "judge"} for row in rated("5511", rater_kind="model")]
    people, one = rated("1234", "1244", rater_kind="human"), rated("1234", rater_kind="human")
    metric = [{**row, "rater": "length"} for row in rated("1111", rater_kind="metric")]
    for rows, names in (
        (people + judge, [["r1", "r2"]]),
        (one + judge + metric, [["judge", "r1"]]),
        (judge + metric, [["judge", "length"]]),
    ):
        assert cells(agree(rows, bootstrap=NONE), "a", "b", table="pairs", coefficient="raw") == names
    found = agree(people + judge, rater=("judge", "r2"), bootstrap=NONE)
    assert cells(found, "a", "b", table="pairs")[0] == ["judge", "r2"]


def test_a_column_for_each_aspect_is_read(tmp_path: Path, run_cli: RunCli) -> None:
    lines = ["reply_id,rater,kind,true", "a,anna,1,2", "b,anna,2,2", "a,ben,1,3", "b,ben,2,2"]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    done = run_cli(
        *("agree", tmp_path / "wide.csv", "--resamples", 20, "--coefficient", "raw"),
        *("--json", tmp_path / "out.json", "--report", tmp_path / "report"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    written = json.loads((tmp_path / "out.json").read_text())
    assert [(row["aspect"], row["value"]) for row in written["tables"]["agreement"]] == [("kind", 1.0), ("true", 0.5)]
    assert written["signature"] == done.stdout.splitlines()[-2]
    assert "<svg" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


# Campaigns


def test_a_campaign_has_the_agreement_of_its_raters(tmp_path: Path, run_cli: RunCli) -> None:
    """Raters 1 and 2 share four units, all three two, 1 and 3 two more; - is skipped, a space was not asked."""
    labelled(tmp_path / "c", "0022 02022", "0220 00  -", "     0220 ")
    done = run_cli("agree", tmp_path / "c", "--resamples", 20, "--json", tmp_path / "out.json")
    assert (done.returncode, done.stderr) == (0, "")
    tables = json.loads((tmp_path / "out.json").read_text())["tables"]
    raw = [(row["value"], row["n"]) for name in ("agreement", "pairs") for row in tables[name][::3]]
    # Of all: 2 of 4 pairs, then 3 and 1 of 3, then 0 of 2.
    assert raw == [(0.5, 8), (0.5, 6), (0.5, 4), (0.5, 2)]
    assert [row["disagreement"] for row in tables["disputed"]] == [1.0] * 4 + [pytest.approx(2 / 3)]
    assert tables["disputed"][0]["unit"] == "hs-2:cn-2"
    assert [(row["rater"], row["n"], row["n_missing"]) for row in tables["raters"]] == [
        *(("rater-1", 9, 0), ("rater-2", 6, 1), ("rater-3", 4, 0))
    ]


def test_gold_questions_and_time_by_rater(tmp_path: Path) -> None:
    units = pair_units(6)
    units = [*units[:2], *(each.__class__(each.unit_id, "anchor", known={"label": YES}) for each in units[2:])]
    said: Any = {"rater-1": [NO, YES, YES, YES, YES, NO], "rater-2": [NO, YES, YES, YES, NO, None]}
    seconds: Any = {"rater-1": [10.0, 20.0, 30.0, 100.0, 25.0, 25.0], "rater-2": [None] * 6}
    campaign_of(tmp_path / "c", units, said, seconds=seconds)
    found = agree(tmp_path / "c", bootstrap=NONE)
    assert cells(found, "value", "n", coefficient="raw") == [[1.0, 2]]  # without gold questions
    (one, two) = cells(found, "rater", "n", "n_missing", "n_gold", "gold_accuracy", "median_seconds", table="raters")
    assert one == ["rater-1", 6, 0, 4, 0.75, 25.0]
    assert two[:4] == ["rater-2", 5, 1, 3] and two[4] == pytest.approx(2 / 3) and math.isnan(two[5])


def test_grades_of_a_campaign_have_their_aspects(tmp_path: Path) -> None:
    """Squared distances: 2 seen; of each of the first's grades to all of the second's 22, 10, 10 and 22, over 4."""
    grades = [[1.0, 2.0, 4.0, 5.0], [1.0, 3.0, 4.0, 4.0]]
    said = {f"rater-{at}": [{"relevance": each} for each in row] for at, row in enumerate(grades, start=1)}
    campaign_of(tmp_path / "c", reply_units(4), said, task="cseval")
    found = agree(tmp_path / "c", bootstrap=NONE)
    assert values(found, aspect="relevance")["cohen_quadratic"] == pytest.approx(1 - 2 / (64 / 4))
    assert cells(found, "unit", "disagreement", table="disputed") == [["re-2", 1.0], ["re-4", 1.0]]


@pytest.mark.parametrize(
    ("votes", "split", "message"),
    [
        (("??", "??"), None, "has no answers in main: import some first"),
        (("22", "20"), "other", "has no round of answers 'other': choose with --split among main"),
        (("22", "20"), "validation", "has no round of answers 'validation'"),
    ],
)
def test_rounds_without_labels_are_refused(
    votes: tuple[str, ...], split: str | None, message: str, tmp_path: Path
) -> None:
    campaign = labelled(tmp_path / "c", *votes)
    with campaign.changing():
        campaign.write("rounds/validation.jsonl", [])
    with pytest.raises(InputError, match=message):
        agree(tmp_path / "c", rows=Rows(split=split))


@pytest.mark.parametrize(
    ("rows", "options", "note"),
    [
        (rated("12.", "1..") + rated("1.", "12", aspect="rude"), {"aspect": ("kind",)}, "3 of 6 ratings have no value"),
        (
            verdicts("r1", ("i", "x", "y", "a")) + verdicts("r2", ("i", "x", "y", "a"), ("j", "x", "y", "Invalid")),
            {},
            "1 of 3 comparisons have no value",
        ),
        (
            [{"pair_id": "a:b", "rater": each, "label": label} for each in "ab" for label in "1"]
            + [{"pair_id": "a:c", "rater": "a", "label": None}],
            {},
            "1 of 3 votes have no value",
        ),
    ],
)
def test_missing_values_are_counted_in_a_note(rows: list[Row], options: Any, note: str) -> None:
    assert agree(rows, bootstrap=NONE, **options).notes == [f"{note} and are left out."]


# Mistakes


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (rated("123"), {}, "found values of r1, expected two raters or more in the column rater"),
        (rated("...", "..."), {}, "found values of no rater"),
        (rated("12", "12"), {"rater": ("r3",)}, "unknown rater 'r3': .*known are r1, r2"),
        (rated("12", "12"), {"aspect": ("kin",)}, "unknown aspect 'kin': did you mean 'kind'"),
        (rated("12", "17"), {}, "r2 rated kind of re-1 7, expected 1 to 5"),
        (rated("12") + rated("12", rater="r2", high=9), {}, "kind was rated on several scales"),
        (rated("12", "12") + rated("3"), {}, "r1 rated re-0 twice, with different values: remove one"),
        (verdicts("r1", ("i", "x", "x", "a")), {}, "expected an item, two systems"),
        (verdicts("r1", ("i", "x", "y", "a")), {"coefficient": ("cohen_linear",)}, "found values of r1"),
        (
            verdicts("r1", ("i", "x", "y", "a")) + verdicts("r2", ("i", "x", "y", "a")),
            {"coefficient": ("cohen_linear",)},
            "unknown coefficient of comparisons 'cohen_linear': .*known are raw, cohen, krippendorff_nominal",
        ),
        ([{"reply_id": "r", "rater": "anna"}], {"kind": "ratings"}, "neither value nor a column of numbers"),
        (rated("12", "12"), {"coefficient": ("fleiss",)}, "unknown coefficient of ratings 'fleiss'"),
    ],
)
def test_what_users_do_wrong_is_one_line(rows: list[Row], options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        agree(rows, bootstrap=NONE, **options)
    assert "\n" not in str(refused.value)


def test_means_of_people_are_no_grades() -> None:
    rows = [{**row, "value": 1 + at / 40} for at, row in enumerate(rated("1" * 60, "1" * 60))]
    with pytest.raises(InputError, match="found 120 different values, expected labels or the grades of a scale"):
        agree(rows)
    assert len(agree(rows, bootstrap=NONE).to_frame()) == 7
