"""Systems by the ratings of their replies, with means worked out by hand and intervals by a plain bootstrap."""

from typing import Any

import numpy as np
import pytest

from fcconan.errors import InputError
from fcconan.scoring.leaderboards import LeaderboardRow, leaderboard, leaderboard_signature, unified
from fcconan.scoring.ratings import Ratings

Row = dict[str, Any]
# Item and system of each reply.
REPLIES = {"r1": ("i1", "A"), "r2": ("i1", "B"), "r3": ("i2", "A"), "r4": ("i2", "B")}
ABOUT = [{"reply_id": key, "item_id": item, "system": system} for key, (item, system) in REPLIES.items()]


def _rows(rater: str, aspect: str, values: list[Any], kind: str = "human", **more: Any) -> list[Row]:
    return [
        {"reply_id": key, "rater": rater, "rater_kind": kind, "aspect": aspect, "value": value, **more}
        for key, value in zip(REPLIES, values, strict=True)
    ]


RELEVANCE: Row = {"low": 1, "high": 5}
RUDENESS: Row = {"low": 1, "high": 3, "higher_is_better": False}
ROWS = [
    *_rows("anna", "relevance", [5, 2, 4, 1], **RELEVANCE),
    *_rows("ben", "relevance", [4, None, None, 2], **RELEVANCE),
    *_rows("anna", "rudeness", [1, 3, 2, None], **RUDENESS),
    *_rows("judge", "relevance", [3, 3, 3, 3], "model", **RELEVANCE),
    *_rows("rouge-l", "score", [0.5, 0.25, 0.75, 0.25], "metric"),
]
RATED = Ratings(ROWS, ABOUT)


def _named(rows: list[LeaderboardRow], rater: str, aspect: str) -> list[LeaderboardRow]:
    return [row for row in rows if (row.rater, row.aspect) == (rater, aspect)]


def test_means_by_system_best_first() -> None:
    rows = leaderboard(RATED, resamples=0)
    assert list(dict.fromkeys((row.rater, row.rater_kind, row.aspect) for row in rows)) == [
        ("people", "human", "unified"),
        ("people", "human", "relevance"),
        ("people", "human", "rudeness"),
        ("judge", "model", "relevance"),
        ("rouge-l", "metric", "score"),
    ]
    # People's means of r1 to r4 are 4.5, 2, 4 and 1.5.
    relevance = [
        (row.system, row.value, row.n, row.n_items, row.n_missing) for row in _named(rows, "people", "relevance")
    ]
    assert relevance == [("A", 4.25, 2, 2, 0), ("B", 1.75, 2, 2, 0)]
    rudeness = _named(rows, "people", "rudeness")
    assert [(row.system, row.value, row.n, row.n_missing) for row in rudeness] == [("A", 1.5, 2, 0), ("B", 3.0, 1, 1)]
    # Rudeness from 1 (3 of 3) to 5 (1 of 3): 5, 1 and 3; r4 lacks it.
    assert {row.scale for row in _named(rows, "people", "rudeness")} == {(1, 3)}
    assert {row.scale for row in _named(rows, "rouge-l", "score")} == {None}
    assert {row.scale for row in _named(rows, "people", "unified")} == {(1, 5)}
    overall = [(row.system, row.value, row.n, row.n_missing) for row in _named(rows, "people", "unified")]
    assert overall == [("A", (4.75 + 3.5) / 2, 2, 0), ("B", 1.5, 1, 1)]
    assert {row.low for row in rows} == {None}


def test_a_system_without_a_rating_comes_last_and_has_no_value() -> None:
    rated = Ratings(_rows("anna", "relevance", [None, 1, None, 1], **RELEVANCE), ABOUT)
    last = leaderboard(rated, resamples=5)[-1]
    assert (last.system, last.value, last.low, last.high, last.n, last.n_missing) == ("A", None, None, None, 0, 2)


def test_a_rater_without_a_value_for_an_aspect_has_no_unified_score() -> None:
    rows = [*_rows("anna", "relevance", [1, 2, 3, 4], **RELEVANCE), *_rows("anna", "tone", [None] * 4, **RELEVANCE)]
    assert {row.aspect for row in leaderboard(Ratings(rows, ABOUT), resamples=0)} == {"relevance", "tone"}


def test_a_judge_of_other_aspects_has_no_unified_score() -> None:
    scaled: Row = {"low": 1, "high": 5}
    rows = [
        *(row for aspect in ("relevance", "tone") for row in _rows("anna", aspect, [1, 2, 3, 4], **scaled)),
        *(row for aspect in ("sarcasm", "length") for row in _rows("judge", aspect, [1, 2, 3, 4], "model", **scaled)),
    ]
    found = {(row.rater, row.aspect) for row in leaderboard(Ratings(rows, ABOUT), resamples=0)}
    assert found == {
        ("people", "unified"),
        ("people", "relevance"),
        ("people", "tone"),
        ("judge", "sarcasm"),
        ("judge", "length"),
    }


def test_unified_maps_every_aspect_to_one_to_five() -> None:
    # The paper's own rule for 1-5 where 1 is best, and for 1-3: 6 - value and 2 * value - 1.
    values = np.array([[2.0, 5.0, np.nan], [1.0, 4.0, 1.0], [3.0, 2.0, 3.0]])
    found = unified(values, [(1, 5), (1, 5), (1, 3)], [True, False, True])
    np.testing.assert_allclose(found, [(2 + 5 + 5) / 3, (5 + 2 + 3) / 3, np.nan], rtol=1e-15)


def test_intervals_are_those_of_a_plain_bootstrap_over_items() -> None:
    generator = np.random.default_rng(3)
    items = np.repeat(np.arange(30), 2)
    values = generator.integers(1, 6, size=60).astype(float)
    values[generator.random(60) < 0.2] = np.nan
    rows = [
        {"reply_id": f"r{at}", "rater": "anna", "aspect": "tone", "value": value, "low": 1, "high": 5}
        for at, value in enumerate(values)
    ]
    about = [{"reply_id": f"r{at}", "item_id": f"{item:02d}", "system": "AB"[at % 2]} for at, item in enumerate(items)]
    found = {row.system: row for row in leaderboard(Ratings(rows, about), resamples=400, seed=7, confidence=0.9)}
    draws = np.random.default_rng(7).integers(30, size=(400, 30))
    for system in (0, 1):
        own = values[system::2]  # by item
        means = np.array([np.nanmean(own[drawn]) for drawn in draws])
        row = found["AB"[system]]
        assert row.value == pytest.approx(np.nanmean(own), abs=1e-12)
        assert (row.low, row.high) == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])), abs=1e-12)


def test_one_item_has_no_interval() -> None:
    rows = leaderboard(
        Ratings(_rows("anna", "tone", [1, 2, 3, 4], **RELEVANCE), [{**row, "item_id": "i1"} for row in ABOUT]),
        resamples=10,
    )
    assert [(row.system, row.value, row.low) for row in rows] == [("B", 3.0, None), ("A", 2.0, None)]


def test_raters_and_aspects_are_chosen() -> None:
    rows = leaderboard(RATED, raters=["anna", "rouge-l"], aspects=["relevance", "relevance"], resamples=0)
    assert [(row.rater, row.system, row.value) for row in rows] == [("anna", "A", 4.5), ("anna", "B", 1.5)]


def test_metrics_alone_make_a_leaderboard() -> None:
    rated = Ratings(ROWS[-4:], ABOUT)
    assert [(row.system, row.value) for row in leaderboard(rated, resamples=0)] == [("A", 0.625), ("B", 0.25)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"raters": ["dora"]}, "unknown rater 'dora': known are people, anna, ben, judge, rouge-l"),
        ({"aspects": ["tone"]}, "unknown aspect 'tone': known are relevance, rudeness, score"),
        ({"raters": ["judge"], "aspects": ["rudeness"]}, "none of judge rated rudeness: choose others"),
    ],
)
def test_what_is_not_there_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        leaderboard(RATED, **options)
    assert str(refused.value) == message


def test_unknown_systems_are_refused() -> None:
    with pytest.raises(InputError, match=r"^the systems of the replies are unknown: give the replies"):
        leaderboard(Ratings(ROWS))


def test_the_signature_names_what_changes_the_figures() -> None:
    import fcconan

    shown = leaderboard_signature(
        RATED, population="x@1", aspects=["relevance", "rudeness"], resamples=10, seed=2, confidence=0.9
    )
    assert shown == (
        f"fcconan:{fcconan.__version__}|metric:mean-rating|data:x@1|people:anna,ben|raters:all|replies:4|items:2|unified:relevance+rudeness|"
        "missing:left-out|bootstrap:10-by-item|confidence:0.9|seed:2"
    )


def test_the_signature_names_people_and_raters() -> None:
    settings: Row = {"population": "x@1", "aspects": [], "resamples": 0, "seed": 0, "confidence": 0.95}
    chosen = leaderboard_signature(RATED, raters=["people", "judge", "judge"], **settings)
    assert "|people:anna,ben|raters:judge,people|" in chosen
    models = Ratings([row for row in ROWS if row["rater_kind"] != "human"], ABOUT)
    assert "|people:none|raters:all|" in leaderboard_signature(models, **settings)
