"""The benchmark of judges on invented ratings: oracles, controls, and what no rater may learn from."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from fcconan.errors import InputError
from fcconan.judging.benchmark import predictions as made
from fcconan.judging.benchmark.evaluation import (
    correlation_rows,
    curve_rows,
    difference_rows,
    held_out_rows,
    score_table,
)
from fcconan.judging.benchmark.predictions import JudgePredictions, RaterValues
from fcconan.judging.benchmark.rated_rows import BenchmarkRows, benchmark_rows
from fcconan.judging.benchmark.suites import JudgeSuite, load_judge_suite
from fcconan.judging.learned.cross_fitting import cross_fit
from fcconan.scoring import Ratings, difference_interval
from fcconan.scoring.significance.intervals import draws
from tests.judging.simulated_judgements import simulated

pytestmark = pytest.mark.slow

RATERS: dict[str, Any] = {
    "surface": {"kind": "learned", "parts": ["surface"]},
    "surface+good": {"kind": "learned", "parts": ["surface"], "ratings": ["good"]},
    "words": {"kind": "lexical", "task": "cseval"},
    "pair": {"kind": "learned", "parts": ["pair"]},
    "length only": {"kind": "control", "parts": ["length"]},
    "message only": {"kind": "control", "parts": ["message"]},
    "permuted": {"kind": "control", "parts": ["surface"], "permuted": True},
    "of another dataset": {"kind": "learned", "ratings": ["gpt-9"]},
}
SUITE = JudgeSuite.model_validate(
    {
        "name": "invented",
        "folds": 5,
        "raters": RATERS,
        "curve": {"raters": ["surface"], "labels": [20, 60, 5000], "seeds": 2},
        "transfer": ["surface"],
    }
)


class Letters:
    """An encoder that counts letters."""

    name = "letters"

    def encode(self, texts: list[str], *, role: str) -> Any:
        return np.array([[text.count(letter) for letter in "abcdefghklmnoprst!"] for text in texts], dtype=float)


def rows_of(clean: int | None = 270, *, seed: int = 0) -> BenchmarkRows:
    replies, ratings = simulated(seed=seed)
    return benchmark_rows(replies, Ratings(ratings, replies), clean=clean)


def predictions_of(rows: BenchmarkRows, suite: JudgeSuite = SUITE) -> JudgePredictions:
    encoder: Any = Letters()
    return JudgePredictions(rows, suite, encoder=lambda name: encoder)


@pytest.fixture(scope="module")
def rows() -> BenchmarkRows:
    return rows_of()


@pytest.fixture(scope="module")
def predictions(rows: BenchmarkRows) -> JudgePredictions:
    return predictions_of(rows)


@pytest.fixture(scope="module")
def judged(predictions: JudgePredictions) -> list[RaterValues]:
    return predictions.every_rater()


@pytest.fixture(scope="module")
def found(rows: BenchmarkRows, judged: list[RaterValues]) -> list[dict[str, Any]]:
    return correlation_rows(rows, judged, resamples=50, seed=0, confidence=0.95)


def one(found: list[dict[str, Any]], rater: str, aspect: str = "relevance", **wanted: str) -> dict[str, Any]:
    keys = {"rater": rater, "aspect": aspect, "evaluated": "clean", "part": "all", "level": "pooled"}
    keys |= {"coefficient": "spearman"} | wanted
    (row,) = [row for row in found if all(row[key] == value for key, value in keys.items())]
    return row


def test_rows_of_the_benchmark(rows: BenchmarkRows) -> None:
    assert len(rows.table) == 300 and rows.clean.sum() == 270 and rows.clean[:270].all()
    assert len(set(rows.table.groups.tolist())) == 60
    assert rows.annotators is not None and rows.annotators.shape == (2, 2, 300)
    assert np.allclose(rows.annotators.mean(axis=0).T, rows.table.ratings)
    assert set(rows.table.rounds) == {"round1", "round2"}
    assert {name: each.kind for name, each in rows.released.items()} == {
        "good": "model", "blind": "model", "half": "model", "length": "metric", "rude": "metric",
    }  # fmt: skip


def test_a_metric_of_whole_replies_is_turned_where_praise_is_at_the_other_end(rows: BenchmarkRows) -> None:
    length, rude = rows.released["length"], rows.released["rude"]
    words = [len(text.split()) for text in rows.table.texts]
    marks = [text.count("!") for text in rows.table.texts]
    assert length.values[:, 0].tolist() == words and (-length.values[:, 1]).tolist() == words
    assert (-rude.values[:, 0]).tolist() == marks and rude.values[:, 1].tolist() == marks
    assert length.features[:, 0].tolist() == words and length.features.shape == (300, 1)


def test_coefficients_are_those_of_scipy(rows: BenchmarkRows, judged: list[RaterValues], found: list[Any]) -> None:
    values = {each.name: each.values for each in judged}
    for name in ("surface", "good, trained", "good", "length only"):
        for column, aspect in enumerate(("relevance", "aggressiveness")):
            pair = values[name][:270, column], rows.table.ratings[:270, column]
            assert one(found, name, aspect)["value"] == pytest.approx(spearmanr(*pair).statistic)
            assert one(found, name, aspect, coefficient="pearson")["value"] == pytest.approx(pearsonr(*pair).statistic)
            tau = one(found, name, aspect, coefficient="kendall_b")["value"]
            assert tau == pytest.approx(kendalltau(*pair).statistic)
            doubtful = one(found, name, aspect, evaluated="doubtful")
            pair = values[name][270:, column], rows.table.ratings[270:, column]
            assert doubtful["value"] == pytest.approx(spearmanr(*pair).statistic) and doubtful["n"] == 30
    in_round = np.array(rows.table.rounds[:270]) == "round2"
    pair = values["surface"][:270, 0][in_round], rows.table.ratings[:270, 0][in_round]
    assert one(found, "surface", part="round round2")["value"] == pytest.approx(spearmanr(*pair).statistic)
    of_system = np.array(rows.table.systems[:270]) == "system-1"
    pair = values["surface"][:270, 0][of_system], rows.table.ratings[:270, 0][of_system]
    assert one(found, "surface", part="system system-1")["value"] == pytest.approx(spearmanr(*pair).statistic)
    within = [
        spearmanr(values["surface"][5 * item : 5 * item + 5, 0], rows.table.ratings[5 * item : 5 * item + 5, 0])
        for item in range(54)
    ]
    assert one(found, "surface", level="per_item")["value"] == pytest.approx(
        np.nanmean([each.statistic for each in within])
    )


def test_people_are_one_person_against_the_mean_of_the_others(rows: BenchmarkRows, found: list[Any]) -> None:
    assert rows.annotators is not None
    anna, ben = rows.annotators[:, 0, :270]
    assert one(found, "surface")["ceiling"] == pytest.approx(spearmanr(anna, ben).statistic)


def test_raters_that_learn_find_what_there_is_to_learn(found: list[Any]) -> None:
    for name in ("surface", "surface+good", "length, trained", "good, trained", "length only"):
        assert one(found, name)["value"] > 0.8, name
    assert one(found, "surface", "aggressiveness")["value"] > 0.8
    assert one(found, "length only", "aggressiveness")["value"] < one(found, "surface", "aggressiveness")["value"]
    assert one(found, "half, trained")["n"] == 162  # three of the five replies to a message


def test_controls_find_nothing(found: list[Any]) -> None:
    for aspect in ("relevance", "aggressiveness"):
        assert abs(one(found, "permuted", aspect)["value"]) < 0.2
        assert abs(one(found, "message only", aspect)["value"]) < 0.2
        within = one(found, "message only", aspect, level="per_item")
        assert (within["value"], within["reason"]) == (None, "constant")


def test_a_rater_whose_ratings_are_lacking_is_left_out(
    predictions: JudgePredictions, judged: list[RaterValues]
) -> None:
    assert predictions.left_out == {"of another dataset": "gpt-9"}
    assert "of another dataset" not in {each.name for each in judged}


def test_all_raters_learn_on_the_same_folds_from_clean_rows_only(
    rows: BenchmarkRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, ...]] = []

    def watched(table: Any, features: Any, **options: Any) -> Any:
        seen.append((table.reply_ids, options["folds"], options["usable"]))
        return cross_fit(table, features, **options)

    monkeypatch.setattr(made, "cross_fit", watched)
    predictions = predictions_of(rows)
    predictions.every_rater()
    place = {reply: at for at, reply in enumerate(rows.table.reply_ids)}
    assert len(seen) == 6 + 5  # those of the suite that learn, and the released raters
    assert {len(replies) for replies, _, _ in seen} == {300, 180}
    for replies, folds, usable in seen:
        own = [place[reply] for reply in replies]
        assert folds.tolist() == predictions.folds[own].tolist()
        assert usable.tolist() == rows.clean[own].tolist()
    for group in set(rows.table.groups.tolist()):
        assert len(set(predictions.folds[rows.table.groups == group].tolist())) == 1


def changed(rows: BenchmarkRows, chosen: Any) -> BenchmarkRows:
    """The rows with other ratings by people in some of them."""
    ratings = rows.table.ratings.copy()
    ratings[chosen] = 6 - ratings[chosen]
    return replace(rows, table=replace(rows.table, ratings=ratings))


def test_ratings_of_a_message_and_of_doubtful_rows_change_no_prediction_of_theirs(rows: BenchmarkRows) -> None:
    suite = SUITE.model_copy(update={"train_released": ["good"], "raters": {"pair": SUITE.raters["pair"]}})
    usual = {each.name: each.values for each in predictions_of(rows, suite).every_rater()}
    for chosen, same in ((rows.table.groups == 7, rows.table.groups == 7), (~rows.clean, np.full(300, True))):
        again = {each.name: each.values for each in predictions_of(changed(rows, chosen), suite).every_rater()}
        for name in ("pair", "good, trained"):
            assert np.array_equal(usual[name][same], again[name][same]), name
    others = {each.name: each.values for each in predictions_of(changed(rows, rows.clean), suite).every_rater()}
    assert not np.allclose(usual["pair"], others["pair"])


def test_a_held_out_system_or_round_is_never_learned_from(
    rows: BenchmarkRows, predictions: JudgePredictions, judged: list[RaterValues], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned_from: list[Any] = []

    def watched(table: Any, features: Any, **options: Any) -> Any:
        learned_from.append(options["usable"])
        return cross_fit(table, features, **options)

    monkeypatch.setattr(made, "cross_fit", watched)
    held_out = predictions.held_out()
    assert [(each.by, each.name) for each in held_out] == [
        *(("system", f"system-{number}") for number in range(3)), ("round", "round1"), ("round", "round2"),
    ]  # fmt: skip
    used = {usable.tobytes() for usable in learned_from}
    for each in held_out:
        own = np.array(rows.table.systems if each.by == "system" else rows.table.rounds) == each.name
        assert (rows.clean & ~own).tobytes() in used
        assert np.isfinite(each.values[rows.clean & own]).all() and np.isnan(each.values[~(rows.clean & own)]).all()
        flipped = predictions_of(changed(rows, own), SUITE).held_out()
        again = next(other for other in flipped if (other.by, other.name) == (each.by, each.name))
        assert np.array_equal(each.values, again.values, equal_nan=True)
    values = {each.name: each.values for each in judged}
    row = held_out_rows(rows, judged, held_out)[2]
    own = rows.clean & (np.array(rows.table.systems) == "system-1")
    assert (row["held_out"], row["name"], row["aspect"], row["n"]) == ("system", "system-1", "relevance", own.sum())
    pairs = [(each[own, 0], rows.table.ratings[own, 0]) for each in (held_out[1].values, values["surface"])]
    assert [row["value"], row["value_in_folds"]] == pytest.approx([spearmanr(*pair).statistic for pair in pairs])


def test_the_label_curve_learns_from_nested_subsets(
    rows: BenchmarkRows, predictions: JudgePredictions, judged: list[RaterValues], monkeypatch: pytest.MonkeyPatch
) -> None:
    learned_from: list[Any] = []

    def watched(table: Any, features: Any, **options: Any) -> Any:
        learned_from.append(np.flatnonzero(options["usable"]))
        return cross_fit(table, features, **options)

    monkeypatch.setattr(made, "cross_fit", watched)
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # in order
    points = predictions.label_curve()
    # 20 labels for a fold's model are 25 of which it does not see a fifth.
    assert [(point.labels, point.seed) for point in points] == [(20, 0), (20, 1), (60, 0), (60, 1), (216, 0)]
    assert [len(own) for own in learned_from] == [25, 25, 75, 75]
    assert all(rows.clean[own].all() for own in learned_from)
    assert set(learned_from[0]) < set(learned_from[2]) and set(learned_from[0]) != set(learned_from[1])
    found = curve_rows(rows, points)
    first = [spearmanr(point.values[:270, 0], rows.table.ratings[:270, 0]).statistic for point in points[:2]]
    assert found[0] == {
        "rater": "surface", "labels": 20, "aspect": "relevance", "mean": pytest.approx(np.mean(first)),
        "lowest": pytest.approx(min(first)), "highest": pytest.approx(max(first)), "n_trials": 2,
    }  # fmt: skip
    values = next(each.values for each in judged if each.name == "surface")
    assert found[-2]["mean"] == pytest.approx(spearmanr(values[:270, 0], rows.table.ratings[:270, 0]).statistic)


def test_differences_are_tested_over_leakage_groups(rows: BenchmarkRows, judged: list[RaterValues]) -> None:
    compared = [each for each in judged if each.name in ("surface", "good", "blind")]
    tests, families = difference_rows(rows, compared, resamples=40, swaps=99, seed=3, confidence=0.9)
    assert len(tests) == 6 and [family["n_tests"] for family in families] == [3, 3]
    row = next(row for row in tests if (row["a"], row["b"], row["aspect"]) == ("good", "surface", "relevance"))
    assert row["n_units"] == 54 and row["family"].startswith("relevance")
    values = {each.name: each.values[:270, 0] for each in compared}
    people = rows.table.ratings[:270, 0]
    gaps = [spearmanr(values[name], people).statistic for name in ("good", "surface")]
    assert row["difference"] == pytest.approx(gaps[0] - gaps[1])
    group = np.unique(np.array(rows.table.groups[:270]).astype(str), return_inverse=True)[1]
    resampled = []
    for weights in draws(54, 40, 3):
        for own in weights:
            again = np.repeat(np.arange(270), own[group].astype(int))
            pair = [spearmanr(values[name][again], people[again]).statistic for name in ("good", "surface")]
            resampled.append(pair[0] - pair[1])
    assert [row["low"], row["high"]] == pytest.approx(np.quantile(resampled, [0.05, 0.95]).tolist())


def test_an_item_is_an_hs_within_items_and_a_leakage_group_elsewhere(
    rows: BenchmarkRows, judged: list[RaterValues]
) -> None:
    own = replace(rows, messages=[f"h{place // 2}" for place in range(300)])
    assert list(score_table(own, judged[:1], rows.clean, by_item=True).items) == own.messages[:270]
    assert list(score_table(own, judged[:1], rows.clean).items) == rows.table.groups[:270].tolist()


def test_the_interval_of_a_difference_is_of_the_rows_that_have_both(
    rows: BenchmarkRows, judged: list[RaterValues]
) -> None:
    table = score_table(rows, [each for each in judged if each.name in ("good", "half")], rows.clean)
    there = np.isfinite(table.metric_values[2])
    own = table.select(range(4), np.flatnonzero(there).tolist())
    assert difference_interval(table, 0, 2, 0, resamples=30)[0] is not None
    assert difference_interval(table, 0, 0, 0, resamples=30) == (0.0, 0.0)
    assert difference_interval(table, 0, 2, 0, resamples=0) == (None, None)
    both = replace(table, metric_values=np.where(there, table.metric_values, np.nan))
    assert difference_interval(table, 0, 2, 0, resamples=30) == difference_interval(both, 0, 2, 0, resamples=30)
    assert np.isfinite(own.metric_values).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: x\nraters:\n  a: {kind: learned}\n", "line 3: raters.a: give parts, ratings, or both: compare with "),
        ("name: x\nraters:\n  a: {kind: oracle}\n", "line 3: raters.a: Input tag 'oracle' found using 'kind' does not"),
        ("name: x\nraters: {}\nfold: 3\n", "line 3: fold: Extra inputs are not permitted"),
        ("name: x\nraters: {}\ntransfer: [a]\n", "line 1: the suite: transfer names 'a': name raters of this suite"),
        ("name: x\nraters:\n  a: {kind: learned, parts: [verse]}\n", "line 3: raters.a.parts.0: Input should be "),
    ],
)
def test_a_suite_that_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        load_judge_suite(path)
    assert str(raised.value).startswith(f"{path}, {message}")


def test_the_suite_of_the_package_is_that_of_cseval() -> None:
    suite = load_judge_suite()
    assert suite.rows["cseval"].clean == 1500 and suite.folds == 10 and suite.train_released == "all"
    assert set(suite.compare) <= {*suite.raters, "gpt-4", "gpt-4-zs"}


def test_ratings_without_a_scale_or_a_text_are_refused() -> None:
    replies, ratings = simulated(messages=3)
    unscaled = [row | {"low": None, "high": None} for row in ratings]
    with pytest.raises(InputError, match="the ratings by people have no scale"):
        benchmark_rows(replies, Ratings(unscaled, replies))
    with pytest.raises(InputError, match="found 0 replies with a text"):
        benchmark_rows([row | {"text": " "} for row in replies], Ratings(ratings, replies))
