"""Estimates of systems from few ratings by people: which rows count, weights, plans, notes, tables and the command."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks import few_labels as benchmark
from fcconan import LeaderboardOptions, leaderboard
from fcconan.errors import InputError
from fcconan.reporting import leaderboard_page, powered_tables
from fcconan.scoring.few_labels import label_plan, powered_notes, powered_rows
from fcconan.scoring.prediction_powered import PoweredEstimate, powered_estimate, summarise_ratings
from fcconan.scoring.ratings import Ratings
from tests.cli.judging import fcconan

Row = dict[str, Any]
nan = math.nan
ITEMS = 40


def _rows(rater: str, aspect: str, values: dict[str, Any], **more: Any) -> list[Row]:
    """Ratings of one reply of each system to each item; nan is left out."""
    return [
        {"reply_id": f"{system}-{item}", "item_id": f"i{item:02}", "system": system, "rater": rater, "aspect": aspect}
        | {"value": float(value), "low": 1, "high": 5, "rater_kind": "model"}
        | more
        for system, own in values.items()
        for item, value in enumerate(own)
        if not math.isnan(value)
    ]


def _values(seed: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """People's grades of 12 replies of each system, and a judge's of all."""
    generator = np.random.default_rng(seed)
    truth = {system: generator.normal(mean, 0.8, ITEMS).clip(1, 5) for system, mean in (("A", 3.0), ("B", 2.5))}
    judged = {system: (own + generator.normal(0, 0.3, ITEMS)).clip(1, 5) for system, own in truth.items()}
    choice = np.random.default_rng(10)
    rated = {system: choice.permutation(ITEMS)[:12] for system in truth}
    people = {s: np.where(np.isin(np.arange(ITEMS), rated[s]), own, nan) for s, own in truth.items()}
    return people, judged


def _all(aspect: str = "tone", seed: int = 1, **more: Any) -> list[Row]:
    people, judged = _values(seed)
    return [*_rows("anna", aspect, people, rater_kind="human", **more), *_rows("judge", aspect, judged, **more)]


def _direct(people: dict[str, Any], judged: dict[str, Any]) -> dict[str, PoweredEstimate]:
    samples = {system: summarise_ratings(people[system], judged[system], np.arange(ITEMS), ITEMS) for system in people}
    a, b = samples["A"], samples["B"]
    assert a is not None and b is not None
    return {"A": powered_estimate(a), "B": powered_estimate(b), "AB": powered_estimate(a - b)}


def test_means_and_differences_of_systems() -> None:
    found = powered_rows(Ratings(_all()), "judge")
    assert [(row.aspect, row.a, row.b) for row in found] == [
        ("tone", "A", None),
        ("tone", "B", None),
        ("tone", "A", "B"),
    ]
    for row, expected in zip(found, _direct(*_values()).values(), strict=True):
        assert row.estimate is not None and row.plan is None
        known = (row.estimate.value, row.estimate.low, row.estimate.high, row.estimate.power, row.estimate.n_effective)
        theirs = (expected.value, expected.low, expected.high, expected.power, expected.n_effective)
        assert known == pytest.approx(theirs, rel=1e-9)
    assert found[2].estimate is not None and found[2].estimate.n_effective is not None
    assert found[2].estimate.n == 24 < found[2].estimate.n_effective


def test_people_are_the_mean_of_several_and_a_reply_has_one_rating_at_least() -> None:
    people, judged = _values()
    second = {"A": people["A"] + 0.5, "B": np.full(ITEMS, nan)}
    rows = [*_rows("ben", "tone", second, rater_kind="human"), *_all()]
    expected = _direct({"A": people["A"] + 0.25, "B": people["B"]}, judged)
    found = powered_rows(Ratings(rows), "judge")
    assert [row.estimate.value for row in found if row.estimate] == pytest.approx(
        [each.value for each in expected.values()], rel=1e-9
    )


def test_a_judge_for_whom_low_is_good_is_turned_round() -> None:
    people, judged = _values()
    turned = {system: 6 - own for system, own in judged.items()}
    rows = [*_rows("anna", "tone", people, rater_kind="human"), *_rows("bot", "score", turned, higher_is_better=False)]
    found = powered_rows(Ratings(rows), "bot")  # its only aspect predicts all of people's
    assert [row.estimate.value for row in found if row.estimate] == pytest.approx(
        [each.value for each in _direct(people, judged).values()], rel=1e-9
    )


def test_the_unified_score_is_predicted_by_the_judges_unified_score() -> None:
    rows = [*_all("tone", 1), *_all("hate", 2, higher_is_better=False)]
    found = powered_rows(Ratings(rows), "judge", baseline="A")
    assert list(dict.fromkeys(row.aspect for row in found)) == ["unified", "tone", "hate"]
    assert [(row.a, row.b) for row in found[:3]] == [("A", None), ("B", None), ("B", "A")]
    ratings = leaderboard(rows, LeaderboardOptions(resamples=0, rater=("people",))).data["rows"]
    unified = {row["system"]: row["value"] for row in ratings if row["aspect"] == "unified"}
    for row in found[:2]:
        assert row.estimate is not None and row.estimate.people == pytest.approx(unified[row.a])
        assert row.estimate.power > 0
    assert [row.higher_is_better for row in found] == [True] * 6 + [False] * 3


def test_weights_are_inverse_probabilities() -> None:
    rows = _all()
    chances = {row["reply_id"]: 0.2 + 0.02 * number for number, row in enumerate(rows[:24])}
    weighted = [{**row, "selection_probability": chances.get(row["reply_id"])} for row in rows]
    found = powered_rows(Ratings(weighted), "judge")
    for row in found[:2]:
        own = [each for each in rows[:24] if each["system"] == row.a]
        weights = np.array([1 / chances[each["reply_id"]] for each in own])
        assert row.estimate is not None
        assert row.estimate.people == pytest.approx(weights @ [each["value"] for each in own] / weights.sum())
    notes = powered_notes(Ratings(weighted), "judge", found)
    assert notes[0].endswith("were selected at random, weights by selection_probability.")
    for each in weighted:
        each["selection_probability"] = (
            None if each["reply_id"] == rows[3]["reply_id"] else each["selection_probability"]
        )
    with pytest.raises(InputError, match="1 replies that people rated lack a selection_probability, others have one"):
        powered_rows(Ratings(weighted), "judge")


def test_a_note_says_that_plain_means_are_not_weighted() -> None:
    rows = _all()
    chances = {row["reply_id"]: 0.2 + 0.02 * number for number, row in enumerate(rows[:24])}
    weighted = [{**row, "selection_probability": chances.get(row["reply_id"])} for row in rows]
    said = (
        "The ratings have a selection_probability: the estimates of --predicted-by are weighted by it; the plain means "
        "and their tests are not."
    )
    for judge in (None, "judge"):
        options = LeaderboardOptions(resamples=0, predicted_by=judge)
        plain, found = leaderboard(rows, options).data, leaderboard(weighted, options).data
        assert found["notes"].count(said) == 1 and said not in plain["notes"]
        assert found["rows"] == plain["rows"]


@pytest.mark.parametrize(("given", "message"), [(0, "is 0, expected above 0"), (1.5, "is 1.5, expected above 0")])
def test_a_probability_is_above_0_and_at_most_1(given: float, message: str) -> None:
    rows = _all()
    rows[0]["selection_probability"] = given
    with pytest.raises(InputError, match=message):
        Ratings(rows)


def test_a_reply_has_one_probability() -> None:
    rows = [*_all(), *_all("hate")]
    rows[0]["selection_probability"] = 0.5
    again = next(row for row in rows[1:] if row["reply_id"] == rows[0]["reply_id"] and row["rater"] == "anna")
    again["selection_probability"] = "0.25"
    with pytest.raises(InputError, match=r"is 0.25, but 0.5 in another row of the reply; write one"):
        Ratings(rows)
    again["selection_probability"] = "0.5"
    assert Ratings(rows).probabilities is not None
    assert Ratings(_all()).probabilities is None


def test_a_plan_by_hand() -> None:
    """The interval of people alone, 1.96 errors of .2 wide on each side, comes of 50 ratings: of one, 50 * .04 = 2.

    To detect .5 the error may be .5 / (1.96 + .8416) = .1785, its square .03185: 2 / .03185 = 62.8 ratings. A judge who
    explains half, of 400 replies: (1 - .5) * 2 / (.03185 - .5 * 2 / 400) = 34.07.
    """
    z = stats.norm.ppf(0.975)
    known = PoweredEstimate(1.0, 0.9, 1.1, 1.0, 1.0, 1 - 0.2 * z, 1 + 0.2 * z, 50, 25, 400, 0, 0.5, 0.0, 90.0)
    plan = label_plan(known, 0.5)
    assert plan is not None
    assert (plan.difference, plan.people, plan.with_judge) == (0.5, 63, 35)
    tiny = label_plan(known, 0.19)  # 434.9 without the judge: more than there are replies
    assert tiny is not None and (tiny.people, tiny.with_judge) == (435, None)
    large = label_plan(known, 10)
    assert large is not None and (large.people, large.with_judge) == (4, 4)


def test_a_plan_holds_in_simulated_worlds() -> None:
    """With as many ratings as planned, the interval excludes 0 in about 80 % of worlds, with and without the judge."""
    generator, n_all, apart = np.random.default_rng(3), 1_500, 0.3

    def difference(n: int) -> PoweredEstimate:
        samples = []
        for mean in (apart, 0.0):
            truth = generator.normal(mean, 1, n_all)
            judged = truth + generator.normal(0, 0.7, n_all)
            people = np.where(np.arange(n_all) < n // 2, truth, nan)
            samples.append(summarise_ratings(people, judged, np.arange(n_all), n_all))
        first, second = samples
        assert first is not None and second is not None
        return powered_estimate(first - second)

    plan = label_plan(difference(600), apart)
    assert plan is not None and plan.with_judge is not None
    # 2 * (1.96 + .84)^2 / .09 for each system, and 1 / 1.49 of the variance is explained.
    assert plan.people == pytest.approx(349, rel=0.15) and plan.with_judge == pytest.approx(136, rel=0.2)
    alone = [difference(plan.people) for _ in range(300)]
    with_judge = [difference(plan.with_judge) for _ in range(300)]
    assert 0.7 < np.mean([each.people_low is not None and each.people_low > 0 for each in alone]) < 0.9
    assert 0.7 < np.mean([each.low is not None and each.low > 0 for each in with_judge]) < 0.9


def test_notes_warn_of_a_selection_that_is_not_random() -> None:
    people, judged = _values()
    order = np.argsort(judged["A"])
    people["A"] = np.where(np.isin(np.arange(ITEMS), order[:12]), judged["A"], nan)
    rows = [*_rows("anna", "tone", people, rater_kind="human"), *_rows("judge", "tone", judged)]
    rated = Ratings(rows)
    notes = powered_notes(rated, "judge", powered_rows(rated, "judge"))
    assert len(notes) == 2 and "by more than 4 standard errors: A (tone). The rated replies are hardly" in notes[1]
    rated = Ratings(_all())
    assert len(powered_notes(rated, "judge", powered_rows(rated, "judge"))) == 1
    missing = Ratings([row for row in _all() if (row["rater"], row["reply_id"]) != ("judge", _all()[0]["reply_id"])])
    notes = powered_notes(missing, "judge", powered_rows(missing, "judge"))
    assert notes[1:] == ["Replies without a rating by judge count with its mean; a row has at most 1 of them."]


def test_a_note_names_a_lambda_above_1_from_few_ratings() -> None:
    def notes(scale: float, copies: int = 1) -> list[str]:
        people, judged = _values()
        rows = [
            row | {"reply_id": f"{row['reply_id']}-{copy}", "item_id": f"{row['item_id']}-{copy}"}
            for copy in range(copies)
            for row in (
                *_rows("anna", "tone", people, rater_kind="human"),
                *_rows("judge", "tone", {system: own * scale for system, own in judged.items()}, low=0, high=10),
            )
        ]
        rated = Ratings(rows)
        found = powered_rows(rated, "judge")
        powers = {f"{row.a}{row.b or ''}": row.estimate.power for row in found if row.estimate is not None}
        assert all((power > 1) == (scale < 0.5) for power in powers.values()), powers
        return powered_notes(rated, "judge", found)

    # 12 ratings of each system, 24 of both, and a judge whose scale is a fifth of people's.
    assert notes(0.2)[1:] == [
        "Few ratings by people determine the weight of judge: lambda is above 1 in 3 estimates from fewer than 30 "
        "ratings, such as A (tone). More ratings may change it considerably."
    ]
    assert len(notes(2.0)) == 1
    assert "lambda is above 1 in 2 estimates" in notes(0.2, copies=2)[1]  # 24 and 24, and 48 of the difference
    assert len(notes(0.2, copies=3)) == 1  # 36 of each


def test_a_system_that_people_did_not_rate_has_a_reason() -> None:
    rows = [row for row in _all() if (row["rater"], row["system"]) != ("anna", "B")]
    data = leaderboard(rows, LeaderboardOptions(resamples=0, predicted_by="judge", separate=0.3)).data
    found = {(row["a"], row["b"]): row for row in data["prediction_powered"]["rows"]}
    assert found["B", None]["reason"] == found["A", "B"]["reason"] == "not_rated"
    assert found["B", None]["value"] is found["A", "B"]["needed_people"] is None
    assert powered_tables(data)[0].rows[1][1] == "– (not_rated)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"predicted_by": "anna"}, "unknown rater 'anna': known are judge"),
        ({"predicted_by": "judgf"}, "unknown rater 'judgf': did you mean 'judge'"),
        ({"separate": 0.3}, "--separate plans ratings with a judge: give --predicted-by RATER"),
    ],
)
def test_what_is_refused(options: Row, message: str) -> None:
    with pytest.raises(InputError) as raised:
        leaderboard(_all(), LeaderboardOptions(resamples=0, **options))
    assert message.replace("--", "").replace("-", "_") in str(raised.value).replace("--", "").replace("-", "_")


def test_nobody_who_rated_is_a_person() -> None:
    with pytest.raises(InputError, match="found ratings by judge, expected some by people"):
        powered_rows(Ratings(_rows("judge", "tone", _values()[1])), "judge")


def test_results_without_a_judge_are_as_before() -> None:
    with_judge = leaderboard(_all(), LeaderboardOptions(resamples=50, predicted_by="judge")).data
    without = leaderboard(_all(), LeaderboardOptions(resamples=50)).data
    assert "prediction_powered" not in without and powered_tables(without) == []
    for key in without:
        if key != "notes":
            assert with_judge[key] == without[key]
    assert with_judge["notes"][: len(without["notes"])] == without["notes"]
    powered = with_judge["prediction_powered"]
    assert powered["signature"] == (
        f"{without['signature']}|predicted-by:judge|lambda:tuned|interval:t-by-item|weights:equal|pairs:all"
    )
    assert (powered["predicted_by"], powered["weighted"], powered["separate"]) == ("judge", False, None)


def test_the_command_prints_tables_and_writes_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in _all()), encoding="utf-8")
    options = ["--predicted-by", "judge", "--separate", 0.6, "--resamples", 0]
    done = fcconan("leaderboard", "x.jsonl", *options, "--json", "x.json", "--report", "x.html")
    assert (done.status, done.stderr) == (0, "")
    assert "People's mean ratings, with judge: tone" in done.stdout
    assert "ratings for 0.6, with judge" in done.stdout
    result = json.loads(Path("x.json").read_text(encoding="utf-8"))
    means, differences = powered_tables(result)
    assert means.columns == ["system", "people alone", "with judge", "lambda", "rated", "of", "worth ratings"]
    row = result["prediction_powered"]["rows"][0]
    assert means.rows[0][1] == f"{row['people']:.2f} [{row['people_low']:.2f}, {row['people_high']:.2f}]"
    assert means.rows[0][2] == f"{row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
    assert means.rows[0][4:6] == ["12", "40"]
    assert differences.rows[0][-2:] == [
        str(result["prediction_powered"]["rows"][2][f"needed_{who}"]) for who in ("people", "with_judge")
    ]
    assert "People&#39;s mean ratings, with judge: tone" in Path("x.html").read_text(encoding="utf-8")
    assert len(leaderboard_page(result).sections[0].own_tables()) == 6


def test_a_difference_that_the_judge_is_too_small_for_is_noted() -> None:
    options = LeaderboardOptions(resamples=0, predicted_by="judge", separate=0.05)
    result = leaderboard(_all(), options).data
    (row,) = [row for row in result["prediction_powered"]["rows"] if row["b"] is not None]
    assert row["needed_with_judge"] is None and powered_tables(result)[1].rows[0][-1] == "–"
    assert result["notes"][-1] == (
        "Where the number of ratings with judge is missing (–), judge has rated too few replies to separate the two "
        "systems: let it rate more."
    )


def test_the_benchmark_counts_covered_worlds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmark, "SIZES", (50,))
    for weighted in (False, True):
        rows = benchmark.coverage(40, 1, weighted)
        assert [(row["judge"], row["what"]) for row in rows] == [
            (judge, what)
            for judge in ("good", "useless", "adversarial", "biased")
            for what in ("mean", "difference, paired", "difference, unpaired")
        ]
        assert all(row["coverage"] >= 0.8 and row["width"] <= row["widest"] <= 1 + 1e-12 for row in rows)
        assert max(row["width"] for row in rows[:3]) < 0.8 < min(row["width"] for row in rows[3:9])
    assert "widest" in capsys.readouterr().out
