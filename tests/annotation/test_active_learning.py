"""The queue: what the model learns, what a batch takes, what is still unseen, and the rounds that come of it."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.queue_replay import needed, needed_at_random, replay
from fcconan.annotation.active_learning.features import Positive, build_problem, labels_of, read_positive, read_scores
from fcconan.annotation.active_learning.model import (
    CONSTANT,
    NOISE,
    OWN,
    SMOOTH,
    Choice,
    Problem,
    chances,
    choose,
    drawn_share,
    likeness,
    predict,
    promising,
    standardised,
)
from fcconan.annotation.active_learning.queue import FILE, Batch, Queue, make_batch, queue_summary
from fcconan.annotation.active_learning.stopping import AGAINST_FEWER, AGAINST_MORE, Draw, Estimate, decide, estimate
from fcconan.annotation.campaigns import (
    LABEL,
    MAIN,
    VALIDATION,
    Answer,
    Assignment,
    Campaign,
    Decision,
    Rater,
    Settings,
    Unit,
    create,
)
from fcconan.errors import InputError
from fcconan.judging import load_task
from fcconan.retrieval import run_text
from tests.conftest import RunCli

PEOPLES = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")
NO, YES = "not_appropriate", "appropriate"
FITTING = Positive(LABEL, label=YES)


def small_problem(n_rows: int = 6, n_columns: int = 8, seed: int = 0) -> Problem:
    generator = np.random.default_rng(seed)
    rows, columns = (places.ravel() for places in np.indices((n_rows, n_columns)))
    hs, cn = (likeness(generator.normal(size=(number, 3))) for number in (n_rows, n_columns))
    return Problem(rows, columns, hs, cn, standardised([generator.normal(size=len(rows))], len(rows)))


def truths(problem: Problem, seed: int = 0) -> Any:
    """Positives that lie in some columns more than in others."""
    generator = np.random.default_rng([seed, 9])
    rates = np.linspace(0.1, 0.9, problem.columns.max() + 1) ** 3
    return generator.random(len(problem.rows)) < rates[problem.columns]


def pair_campaign(folder: Path, *, raters: int = 2, hs: int = 4, cn: int = 5) -> Campaign:
    units = [Unit(f"hs-{h}:cn-{c}", hs_id=f"hs-{h}", cn_id=f"cn-{c}") for h in range(hs) for c in range(cn)]
    units.append(Unit("hs-0:cn-quiz", role="quiz", hs_id="hs-0", cn_id="cn-quiz", known={LABEL: NO}))
    texts = {
        "hs.jsonl": [{"hs_id": f"hs-{h}", "text": f"The {PEOPLES[h]} take all the ferries"} for h in range(hs)],
        "cn.jsonl": [{"cn_id": f"cn-{c}", "text": f"Ferries of {PEOPLES[c]} carry {c} guests"} for c in range(cn)],
    }
    campaign = create(folder, Settings(name="ferries"), load_task("appropriateness"), units, texts)
    campaign.write("raters.csv", [Rater(f"r{number}") for number in range(1, raters + 1)])
    return campaign


def answer(campaign: Campaign, round_name: str, positive: Sequence[str], skipped: Sequence[str] = ()) -> None:
    """Everybody answers everything in a round."""
    said = [
        Answer(round_name, each.rater, each.unit_id, LABEL, _said(each.unit_id, positive, skipped))
        for each in campaign.assignments(round_name)
        if not each.withdrawn
    ]
    campaign.write("answers.jsonl", [*campaign.history(), *said])


def _said(unit_id: str, positive: Sequence[str], skipped: Sequence[str]) -> str | None:
    return None if unit_id in skipped else YES if unit_id in positive else NO


def make(campaign: Campaign, positive: Positive = FITTING, **settings: Any) -> tuple[Queue, Batch | None]:
    queue = Queue(campaign, positive)
    return queue, make_batch(campaign, queue, build_problem(campaign, [], "tfidf"), seed=3, **settings)


def test_likeness_falls_with_the_cosine_of_centred_vectors() -> None:
    found = likeness([[3.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    # Centred: right, left, and nothing.
    expected = [[1, math.exp(-4), math.exp(-2)], [math.exp(-4), 1, math.exp(-2)], [math.exp(-2), math.exp(-2), 1]]
    assert found == pytest.approx(np.array(expected))


def test_missing_scores_are_average_and_a_constant_score_says_nothing() -> None:
    found = standardised([np.array([1.0, 3.0, np.nan]), np.array([2.0, 2.0, 2.0])], 3)
    assert found.tolist() == [[-1, 0], [1, 0], [0, 0]]


def test_the_model_solves_the_equations_of_its_covariance() -> None:
    problem = small_problem()
    problem = replace(problem, columns=np.where(problem.columns == 7, 6, problem.columns))  # two units in one cell
    labels = np.full(48, np.nan)
    labels[::3] = np.random.default_rng(1).choice([0.0, 0.5, 1.0], 16)
    r, c, s = problem.rows, problem.columns, problem.scores[:, 0]
    k, own_k = problem.row_likeness[np.ix_(r, r)], problem.column_likeness[np.ix_(c, c)]
    same_r, same_c = np.equal.outer(r, r), np.equal.outer(c, c)
    known = np.isfinite(labels)
    first = (labels[known].sum() + 1) / (16 + 6) + 0.1 * s

    def expected(constant: float, smooth: float, own: float, noise: float) -> Any:
        covariance = (
            smooth * (1 + same_r + k) * own_k + own * (same_r + 1.0 * same_c + k * same_c + np.outer(s, s)) + constant
        )
        solved = np.linalg.solve(covariance[np.ix_(known, known)] + noise * np.eye(16), (labels - first)[known])
        return first + covariance[:, known] @ solved

    assert predict(problem, labels) == pytest.approx(expected(CONSTANT, SMOOTH, OWN, NOISE), abs=1e-4)
    others = (0.2, 0.05, 0.4, 0.3)
    assert predict(problem, labels, others) == pytest.approx(expected(*others), abs=1e-4)


def test_before_any_label_the_scores_decide() -> None:
    problem = replace(small_problem(1, 3), scores=np.array([[1.0], [0.0], [-1.0]]))
    assert predict(problem, np.full(3, np.nan)) == pytest.approx([1 / 6 + 0.1, 1 / 6, 1 / 6 - 0.1])
    without = replace(problem, scores=np.zeros((3, 0)))
    assert predict(without, np.full(3, np.nan)) == pytest.approx([1 / 6] * 3)


def test_draws_follow_the_uncertainty_of_labels() -> None:
    # Deviations of 0.5 (held at even odds) and, for an expected label of 0.01 or less, of sqrt(0.01 * 0.99).
    rare = math.sqrt(0.0099)
    assert chances(np.array([0.9, -2.0])) == pytest.approx([0.1 + 0.4 / (0.5 + rare), 0.1 + 0.8 * rare / (0.5 + rare)])


def test_a_batch_takes_some_by_chance_and_the_likeliest_of_the_rest() -> None:
    expected = np.array([0.1, 0.9, 0.4, 0.3, 0.4, 0.8])
    left = np.array([True, False, True, True, True, True])
    # Every unit has a column of its own: all are equally unknown, so that the expected label decides alone.
    given = expected, left, np.arange(6)
    choice = choose(*given, size=4, random_share=0.2, generator=np.random.default_rng(0))
    places = [0, 2, 3, 4, 5]
    first = dict(zip(places, chances(expected[left]), strict=True))
    # Likely units are 0.8, 0.4, 0.4 and 0.3: the share is 0.2 ** (cost / 0.1), of four, rounded up.
    cost = 1.9 / 4 - sum(first[place] * expected[place] for place in places)
    assert 0.25 < 0.2 ** (cost / 0.1) < 0.5
    assert len(choice.drawn) == 2
    others = [place for place in (5, 2, 4, 3, 0) if place not in choice.drawn]
    assert choice.likely == others[:2]
    one, two = choice.drawn
    assert choice.probabilities == pytest.approx([first[one], first[two] / (1 - first[one])])
    assert choice.smallest == pytest.approx([min(first.values()), min(first.values()) / (1 - first[one])])
    none = choose(*given, size=9, random_share=0.0, generator=np.random.default_rng(0))
    assert (none.drawn, none.likely) == ([], [5, 2, 4, 3, 0])
    assert choose(*given, size=9, random_share=1.0, generator=np.random.default_rng(0)).likely == []
    nothing = choose(expected, ~np.ones(6, bool), np.arange(6), size=2, random_share=1.0, generator=None)  # type: ignore[arg-type]
    assert nothing == Choice([], [], [], [])


def test_a_batch_draws_by_what_draws_cost() -> None:
    # 10 likely units among 90 others; they are all that the batch holds. Deviations are 0.3 and, at 0.01, sqrt(0.0099).
    expected = np.where(np.arange(100) < 10, 0.1, 0.01)
    to_likely = 0.2 * 10 / 100 + 0.8 * 10 * 0.3 / (10 * 0.3 + 90 * math.sqrt(0.0099))
    cost = 0.1 - (to_likely * 0.1 + (1 - to_likely) * 0.01)
    assert cost == pytest.approx(0.0701, abs=1e-4)
    choice = choose(
        expected, np.ones(100, bool), np.arange(100), size=10, random_share=0.2, generator=np.random.default_rng(0)
    )
    assert len(choice.drawn) == math.ceil(10 * 0.2 ** (cost / 0.1)) == 4  # 3.2, rounded up


def test_units_of_columns_that_little_is_known_of_come_earlier() -> None:
    expected, columns = np.array([0.5, 0.45, 0.2, 0.35, 0.3, 0.24]), np.array([0, 0, 0, 1, 2, 2])
    # Of column 0, three units were given out before; of column 1 none; of column 2 one. Worth, with a weight of 0.2:
    #   0.5 + 0.2 / sqrt(4) = 0.6,  0.45 + 0.2 / sqrt(5) = 0.539,  0.2 + 0.2 / sqrt(6) = 0.282 (third of its column)
    #   0.35 + 0.2 / sqrt(1) = 0.55
    #   0.3 + 0.2 / sqrt(2) = 0.441,  0.24 + 0.2 / sqrt(3) = 0.355
    given_out = np.array([3, 0, 1])
    assert promising(expected, columns, given_out, explore=0.2).tolist() == [0, 3, 1, 4, 5, 2]
    assert promising(expected, columns, given_out).tolist() == [0, 3, 1, 4, 5, 2]
    assert promising(expected, columns, given_out, explore=0.0).tolist() == [0, 1, 3, 4, 5, 2]
    assert promising(expected, columns, given_out, explore=2.0).tolist() == [3, 4, 0, 5, 1, 2]
    assert promising(np.full(4, 0.3), np.array([1, 0, 1, 0]), np.zeros(2, int)).tolist() == [0, 1, 2, 3]
    # 0.5 + 0.2 / sqrt(4) = 0.6 is more than 0.38 + 0.2.
    assert promising(np.array([0.5, 0.38]), np.array([0, 1]), np.array([3, 0]), explore=0.2).tolist() == [0, 1]


def test_a_batch_is_spread_over_columns_by_what_was_given_out() -> None:
    expected, columns = np.array([0.3, 0.3, 0.28, 0.1, 0.05]), np.array([0, 0, 1, 1, 1])
    left = np.array([True, True, True, True, False])
    # Column 1 has one unit given out: 0.28 + 0.2 / sqrt(2) = 0.421, and the second of column 0 is worth 0.441.
    choice = choose(expected, left, columns, size=3, random_share=0.0, generator=np.random.default_rng(0))
    assert choice.likely == [0, 1, 2]
    left[4] = True  # nothing is given out: 0.28 + 0.2 = 0.48
    choice = choose(expected, left, columns, size=3, random_share=0.0, generator=np.random.default_rng(0))
    assert choice.likely == [0, 2, 1]


def test_draws_are_few_while_they_cost_positives() -> None:
    assert drawn_share(0.2, 0.1) == pytest.approx(0.2)
    assert drawn_share(0.2, 0.2) == pytest.approx(0.04)
    assert drawn_share(0.2, 0.05) == pytest.approx(math.sqrt(0.2))
    # At most half, or what was asked for; a draw never costs less than nothing.
    assert (drawn_share(0.2, 0.0), drawn_share(0.2, -0.3), drawn_share(0.7, 0.0)) == (0.5, 0.5, 0.7)
    assert [drawn_share(share, cost) for share in (0.0, 1.0) for cost in (-0.1, 0.0, 0.4)] == [0, 0, 0, 1, 1, 1]


def test_a_draw_weighted_by_its_chance_says_how_many_positives_are_left() -> None:
    expected, positive = np.array([0.5, 0.1, 0.01, 0.3]), np.array([True, False, True, True])
    found = []
    for seed in range(1_500):
        generator = np.random.default_rng(seed)
        choice = choose(expected, np.ones(4, bool), np.arange(4), size=2, random_share=1.0, generator=generator)
        (one, two), (p, q) = choice.drawn, choice.probabilities
        found.append((positive[one] / p, positive[one] + positive[two] / q))
    assert np.mean(found, axis=0) == pytest.approx([3, 3], abs=0.2)  # four standard errors


def brute_force(draws: Sequence[Draw], found: int, left: int, confidence: float) -> tuple[int, int]:
    """The interval by trying every total, one gambler after the other, at every time."""
    limit, held = 2 / (1 - confidence), []
    for total in range(found, found + left + 1):
        more, fewer = [1.0] * len(AGAINST_MORE), [1.0] * len(AGAINST_FEWER)
        refuted = False
        for draw in draws:
            value, unseen = draw.positive / draw.probability, total - draw.found
            more = [w * (1 + t * (unseen - value) * draw.smallest) for w, t in zip(more, AGAINST_MORE, strict=True)]
            fewer = [
                w * (1 + t * (value / max(unseen, 1) - (unseen > 0))) for w, t in zip(fewer, AGAINST_FEWER, strict=True)
            ]
            refuted = refuted or bool(max(np.mean(more), np.mean(fewer)) >= limit)
        held += [] if refuted else [total - found]
    return held[0], held[-1]


@pytest.mark.parametrize(("n", "n_positive", "confidence"), [(120, 60, 0.95), (200, 20, 0.9), (150, 140, 0.95)])
def test_the_interval_holds_what_no_gambler_refutes(n: int, n_positive: int, confidence: float) -> None:
    positive = np.random.default_rng(5).permutation(n) < n_positive
    draws, found = [], 0
    for at in range(60):  # the first ones in the order of their places: labels are in random order
        draws.append(Draw(bool(positive[at]), 1 / (n - at), 1 / (n - at), found))
        found += int(positive[at])
    known = estimate(draws, found=found, left=n - 60, confidence=confidence)
    assert (known.low, known.high) == brute_force(draws, found, n - 60, confidence)
    assert (known.low, known.high) != (0, n - 60)
    assert known.recall_low == found / (found + known.high)
    assert known.recall_likely is not None and known.recall_low < known.recall_likely


def test_one_draw_estimates_and_excludes_nothing() -> None:
    # One positive, drawn with the chance 1/10: as if there were ten.
    known = estimate([Draw(True, 0.1, 0.1, 0)], found=1, left=9)
    assert (known.low, known.high, known.recall_low, known.recall_high) == (0, 9, 0.1, 1.0)
    assert known.unseen == pytest.approx(9)
    assert known.recall == pytest.approx(0.1)


def test_nothing_is_estimated_without_a_draw_and_nothing_is_unseen_at_the_end() -> None:
    none = estimate([], found=4, left=6)
    assert (none.unseen, none.recall, none.low, none.high, none.recall_low) == (None, None, 0, 6, 0.4)
    end = estimate([Draw(True, 0.5, 0.5, 0)], found=4, left=0)
    assert (end.unseen, end.recall, end.high) == (0.0, 1.0, 0)
    assert estimate([], found=0, left=6).recall_high is None  # no positive at all, perhaps


def test_the_queue_stops_by_the_interval_and_not_by_the_estimate() -> None:
    known = estimate([], found=9, left=91)
    assert decide(known, 0.9) == "go_on"
    assert decide(replace(known, recall=0.99), 0.9) == "go_on"
    assert decide(replace(known, recall_likely=0.9), 0.9) == "probably_reached"
    assert decide(replace(known, recall_low=0.9), 0.9) == "reached"
    assert decide(replace(known, left=0), 0.9) == "all_judged"


def test_intervals_are_seldom_wrong_at_any_time_however_the_rest_is_chosen() -> None:
    problem = small_problem(12, 20)
    wrong, narrowed = 0, 0
    for seed in range(40):
        positive = truths(problem, seed)
        played = replay(problem, positive, batch=40, random_share=0.5, seed=seed, estimates=True)
        wrong += any(not each.low <= positive.sum() - each.found <= each.high for each in played.estimates)
        narrowed += played.estimates[2].high < played.estimates[2].left
    assert wrong <= 2  # 5 % of 40
    assert narrowed > 25


def test_a_replay_learns_nothing_from_labels_that_were_not_asked_for() -> None:
    problem = small_problem(8, 15)
    positive = truths(problem)
    order = replay(problem, positive, batch=10).order
    assert sorted(order) == list(range(120))
    asked = order[:40]
    poisoned = ~positive
    poisoned[asked] = positive[asked]
    other = replay(problem, poisoned, batch=10).order
    assert other[:50] == order[:50]  # the fifth batch was chosen by the labels of four
    assert other != order


def test_a_replay_ends_when_enough_is_found_and_beats_chance() -> None:
    problem = small_problem(12, 20)
    positive = truths(problem)
    played = replay(problem, positive, batch=10, until=0.8)
    assert positive[played.order].sum() >= 0.8 * positive.sum() > positive[played.order[:-10]].sum()
    assert played.estimates == []
    assert needed(played.order, positive, 0.8) < 0.8 * needed_at_random(240, int(positive.sum()), 0.8)
    with pytest.raises(InputError, match="batches of 0"):
        replay(problem, positive, batch=0)
    with pytest.raises(InputError, match="with 0 positives"):
        replay(problem, np.zeros(240, bool))


def test_judgements_are_counted_up_to_the_last_positive_that_is_wanted() -> None:
    positive = np.array([True, False, True, False, True])
    assert [needed([1, 0, 3, 2, 4], positive, share) for share in (0.3, 0.5, 0.9)] == [2, 4, 5]
    with pytest.raises(InputError, match="the order has 1 positives; expected 3: replay for longer"):
        needed([1, 0], positive, 1.0)
    # One positive among three stands in place 1, 2 or 3; the first of two of three, in 1, 1 or 2.
    assert needed_at_random(3, 1, 1.0) == 2
    assert needed_at_random(3, 2, 0.5) == pytest.approx(4 / 3)


def test_what_is_looked_for_is_a_label_or_grades() -> None:
    pairs, replies = load_task("appropriateness"), load_task("cseval")
    assert read_positive(None, pairs) == FITTING
    assert read_positive(NO, pairs).of(NO) and not read_positive(NO, pairs).of(YES)
    good = read_positive("relevance >= 4", replies)
    assert (str(good), good.of(4.0), good.of(3.0)) == ("relevance>=4", True, False)
    assert read_positive("aggressiveness<=2", replies).of(2)
    assert [read_positive(said, load_task("pairwise")).of_difference(2.0) for said in ("a", "b", "tie")] == [2, -2, -2]
    for said, task, message in (
        ("good", pairs, "no label 'good'"),
        (None, load_task("pairwise"), "--positive a"),
        (None, replies, "give an aspect with a bound"),
        ("charm>=2", replies, "has no aspect 'charm'"),
        ("relevance>=1", replies, "is met by all grades or none"),
    ):
        with pytest.raises(InputError, match=message):
            read_positive(said, task)


def test_labels_are_shares_of_raters_unless_somebody_decided(tmp_path: Path) -> None:
    campaign = pair_campaign(tmp_path / "c")
    given = {("r1", "hs-0:cn-0"): YES, ("r2", "hs-0:cn-0"): NO, ("r1", "hs-0:cn-1"): None, ("r1", "hs-0:cn-2"): NO}
    said = [Answer(MAIN, rater, unit, LABEL, value) for (rater, unit), value in given.items()]
    said.append(Answer(VALIDATION, "v1", "hs-0:cn-4", LABEL, "agree"))
    campaign.write("answers.jsonl", said)
    assert labels_of(campaign, FITTING) == {"hs-0:cn-0": 0.5, "hs-0:cn-1": None, "hs-0:cn-2": 0.0}
    campaign.write(
        "decisions.jsonl", [Decision("hs-0:cn-2", YES, "r9", "person"), Decision("hs-0:cn-0", None, "rule", "x")]
    )
    assert labels_of(campaign, FITTING) == {"hs-0:cn-0": None, "hs-0:cn-1": None, "hs-0:cn-2": 1.0}


def test_batches_are_rounds_that_wait_for_their_answers(tmp_path: Path) -> None:
    campaign = pair_campaign(tmp_path / "c", raters=3)
    queue, batch = make(campaign, size=7, random_share=0.4)
    # Nothing tells one unit from another yet: draws cost no positives, and half of the batch, rounded up, is drawn.
    assert batch is not None and (len(batch.drawn), len(batch.likely)) == (4, 3)
    given = campaign.assignments("queue-1")
    assert sorted(each.unit_id for each in given) == sorted(batch.chosen)
    assert sorted(sum(each.rater == rater for each in given) for rater in ("r1", "r2", "r3")) == [2, 2, 3]
    before = {path.name: path.read_bytes() for path in campaign.folder.rglob("*.jsonl")}
    queue, none = make(campaign, size=7)
    assert none is None and len(queue.waiting) == 7
    assert {path.name: path.read_bytes() for path in campaign.folder.rglob("*.jsonl")} == before
    first = batch.chosen[0]
    answer(campaign, "queue-1", [first], skipped=[batch.chosen[1]])
    queue, batch = make(campaign, size=7)
    assert batch is not None and batch.round == "queue-2" and not set(batch.chosen) & {each.unit_id for each in given}
    told = queue_summary(queue, batch, target=0.9, confidence=0.95)
    assert told["batch"] == {"likely": 3, "drawn": 4, "again": 0, "answered": 0}
    assert told["units"] == {
        "all": 20,
        "outside": 0,
        "outside_not_answered": 0,
        "judged": 7,
        "skipped": 1,
        "waiting": 0,
        "relieved": 0,
        "stuck": 0,
    }
    assert (told["estimate"]["found"], told["estimate"]["left"], told["estimate"]["n_draws"]) == (1, 13, 4)
    loads = [
        sum(each.rater == rater for name in ("queue-1", "queue-2") for each in campaign.assignments(name))
        for rater in ("r1", "r2", "r3")
    ]
    assert sorted(loads) == [4, 5, 5]


def test_an_unfinished_batch_does_not_count_for_the_estimate(tmp_path: Path) -> None:
    campaign = pair_campaign(tmp_path / "c")
    _, first = make(campaign, size=6, random_share=0.5)
    assert first is not None
    answer(campaign, "queue-1", first.drawn[:1])
    _, second = make(campaign, size=6, random_share=0.5)
    assert second is not None
    done = Answer("queue-2", "r1", second.drawn[0], LABEL, YES)
    campaign.write("answers.jsonl", [*campaign.history(), done])
    queue = Queue(campaign, FITTING)
    known = queue.estimate(0.95)
    assert (known.found, known.n_draws, known.left) == (2, 3, 13)
    _, third = make(campaign, size=6, while_open=True)
    assert third is not None and not set(third.chosen) & set(first.chosen + second.chosen)


def test_positives_of_the_same_batch_count_for_the_draws_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = pair_campaign(tmp_path / "c")
    _, batch = make(campaign, size=6, random_share=0.5)
    assert batch is not None and len(batch.drawn) == 3
    answer(campaign, "queue-1", [*batch.drawn, batch.likely[0]])
    (p, q, r), (a, b, c) = batch.probabilities, batch.smallest
    # Positives found before each draw: none, the first one, and two; the likely one counts after them.
    by_hand = [Draw(True, p, a, 0), Draw(True, q, b, 1), Draw(True, r, c, 2)]
    used: list[Draw] = []

    def kept(draws: Sequence[Draw], **settings: Any) -> Estimate:
        used.extend(draws)
        return estimate(draws, **settings)

    monkeypatch.setattr("fcconan.annotation.active_learning.queue.estimate", kept)
    known = Queue(campaign, FITTING).estimate(0.95)
    assert used == by_hand and (known.found, known.left) == (4, 14)


def test_the_queue_estimates_what_its_replay_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = pair_campaign(tmp_path / "c")
    items = [unit_id for unit_id, unit in campaign.units().items() if unit.role == "item"]
    positive = [unit_id for unit_id in items if unit_id.endswith(("cn-0", "cn-3"))]
    problem = build_problem(campaign, [], "tfidf")
    made: list[Choice] = []

    def recorded(*given: Any, **settings: Any) -> Choice:
        made.append(choose(*given, **settings))
        return made[-1]

    monkeypatch.setattr("fcconan.annotation.active_learning.queue.choose", recorded)
    found = []
    for number in (1, 2, 3, 4):
        make_batch(campaign, Queue(campaign, FITTING), problem, size=5, random_share=0.8, seed=3)
        answer(campaign, f"queue-{number}", positive)
        found.append(Queue(campaign, FITTING).estimate(0.95))
    assert max(sum(items[place] in positive for place in choice.drawn[:-1]) for choice in made) >= 2
    same = iter(made)
    monkeypatch.setattr("benchmarks.queue_replay.choose", lambda *given, **settings: next(same))
    assert replay(problem, np.isin(items, positive), batch=5, estimates=True).estimates == found


def test_nobody_is_given_a_unit_twice_in_whatever_round(tmp_path: Path) -> None:
    campaign = reply_campaign(tmp_path / "c", "cseval")
    positive = read_positive("relevance>=4", campaign.task)
    make(campaign, positive, size=1)
    left = Queue(campaign, positive).left
    campaign.write("rounds/main.jsonl", [Assignment("r1", each, at) for at, each in enumerate(left[:2], start=1)])
    campaign.write(
        "rounds/validation.jsonl", [Assignment("r1", each, at) for at, each in enumerate(left[2:4], start=1)]
    )
    campaign.write("rounds/early.jsonl", [Assignment("r1", each, 1, withdrawn=True) for each in left[4:6]])
    campaign.write("answers.jsonl", [Answer("gone", "r1", each, "suitability", 3.0) for each in left[6:]])
    make(campaign, positive, size=9, while_open=True)
    given = {each.unit_id: each.rater for each in campaign.assignments("queue-2")}
    assert given == dict.fromkeys(left, "r2")  # although r1 has less to do


def test_a_unit_that_was_answered_elsewhere_is_drawn_and_costs_nothing(tmp_path: Path) -> None:
    campaign = pair_campaign(tmp_path / "c")
    _, first = make(campaign, size=2, random_share=1.0)
    assert first is not None
    answer(campaign, "queue-1", [])
    known, held = Queue(campaign, FITTING).left[3:5]
    campaign.write("rounds/main.jsonl", [Assignment("r1", known, 1), Assignment("r1", held, 2)])
    campaign.write("answers.jsonl", [*campaign.history(), Answer(MAIN, "r1", known, LABEL, YES)])
    queue, batch = make(campaign, size=17, random_share=1.0)
    assert batch is not None and known in queue.left and known in batch.drawn and held in batch.drawn
    assert queue_summary(queue, batch, target=0.9, confidence=0.95)["batch"] == {
        "likely": 0, "drawn": 17, "again": 0, "answered": 1
    }  # fmt: skip
    given = campaign.assignments("queue-2")
    assert {each.unit_id for each in given} == set(batch.drawn) - {known}
    assert [each.rater for each in given if each.unit_id == held] == ["r2"]
    answer(campaign, "queue-2", [])
    after = Queue(campaign, FITTING).estimate(0.95)
    assert (after.found, after.n_draws, after.left) == (1, 19, 1)


def test_a_unit_that_nobody_may_judge_waits_for_somebody_else(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = pair_campaign(tmp_path / "c", raters=1)
    _, first = make(campaign, size=2, random_share=1.0)
    answer(campaign, "queue-1", [])
    barred = Queue(campaign, FITTING).left[0]
    campaign.write("rounds/main.jsonl", [Assignment("r1", barred, 1, withdrawn=True)])
    _, batch = make(campaign, size=18, random_share=1.0)
    assert first is not None and batch is not None and barred in batch.drawn
    assert barred not in {each.unit_id for each in campaign.assignments("queue-2")}
    answer(campaign, "queue-2", [])
    queue, none = make(campaign)
    assert none is None and (queue.stuck, queue.relieved, queue.waiting) == ([barred], [], [])
    told = queue_summary(queue, None, target=0.9, confidence=0.95)
    assert (told["state"], told["decision"], told["units"]["judged"]) == ("stuck", "go_on", 19)
    assert (told["estimate"]["n_draws"], told["estimate"]["left"]) == (2, 1)
    assert "1 units need another rater" in run_cli("annotate", "queue", campaign.folder).stdout
    campaign.write("raters.csv", [Rater("r1"), Rater("r2")])
    _, last = make(campaign)
    assert last is not None and (last.again, last.chosen) == ([barred], [])
    assert [(each.rater, each.unit_id) for each in campaign.assignments("queue-3")] == [("r2", barred)]
    answer(campaign, "queue-3", [barred])
    end = Queue(campaign, FITTING).estimate(0.95)
    assert (end.found, end.n_draws, end.left) == (1, 20, 0)


def test_what_raters_who_left_had_goes_to_others(tmp_path: Path) -> None:
    campaign = pair_campaign(tmp_path / "c")
    _, batch = make(campaign, size=4)
    assert batch is not None
    left = [replace(each, withdrawn=each.rater == "r1") for each in campaign.assignments("queue-1")]
    campaign.write("rounds/queue-1.jsonl", left)
    campaign.write("raters.csv", [Rater("r1", state="left"), Rater("r2")])
    answer(campaign, "queue-1", [])
    _, second = make(campaign, size=3)
    assert second is not None
    assert sorted(second.again) == sorted(each.unit_id for each in left if each.withdrawn)
    assert len(second.chosen) == 1
    assert {each.rater for each in campaign.assignments("queue-2")} == {"r2"}
    campaign.write("raters.csv", [Rater("r1", state="left"), Rater("v1", role="validator")])
    answer(campaign, "queue-2", [])
    with pytest.raises(InputError, match="no active annotator"):
        make(campaign)


def test_units_given_out_before_teach_and_are_left_alone(tmp_path: Path) -> None:
    campaign = pair_campaign(tmp_path / "c")
    campaign.write("rounds/main.jsonl", [Assignment("r1", "hs-0:cn-0", 1), Assignment("r1", "hs-0:cn-1", 2)])
    campaign.write("answers.jsonl", [Answer(MAIN, "r1", "hs-0:cn-0", LABEL, YES)])
    queue, batch = make(campaign, size=100)
    assert batch is not None and batch.outside == ["hs-0:cn-0", "hs-0:cn-1"] and len(batch.chosen) == 18
    assert queue.labels["hs-0:cn-0"] == 1.0
    answer(campaign, "queue-1", [])
    queue, none = make(campaign)
    assert none is None and queue.estimate(0.95).found == 0
    # The queue has nothing left; one of the units that it leaves alone is not answered yet.
    told = queue_summary(queue, None, target=0.9, confidence=0.95)
    assert (told["state"], told["decision"], told["units"]["outside_not_answered"]) == ("not_answered",) * 2 + (1,)
    campaign.write("answers.jsonl", [*campaign.history(), Answer(MAIN, "r2", "hs-0:cn-1", LABEL, None)])
    told = queue_summary(Queue(campaign, FITTING), None, target=0.9, confidence=0.95)
    assert (told["state"], told["decision"]) == ("done", "all_judged")


@pytest.mark.parametrize(("target", "decision"), [(0.05, "reached"), (0.9, "probably_reached"), (1.0, "go_on")])
def test_there_is_no_stop_while_units_given_out_before_are_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: float, decision: str
) -> None:
    campaign = pair_campaign(tmp_path / "c")
    campaign.write("rounds/main.jsonl", [Assignment("r1", "hs-0:cn-0", 1)])
    make(campaign, size=5)
    known = Estimate(4, 14, 5, 0.2, 0, 9, 0.95, 0.3, 1.0, 0.92)
    monkeypatch.setattr(Queue, "estimate", lambda *_: known)
    assert decide(known, target) == decision
    for answers, said in (([], decision if decision == "go_on" else "not_answered"), (["hs-0:cn-0"], decision)):
        campaign.write("answers.jsonl", [Answer(MAIN, "r1", unit, LABEL, NO) for unit in answers])
        told = queue_summary(Queue(campaign, FITTING), None, target=target, confidence=0.95)
        assert (told["decision"], told["state"]) == (said, "waiting")


def test_a_batch_whose_round_was_never_written_is_made_again(tmp_path: Path) -> None:
    campaign = pair_campaign(tmp_path / "c")
    make(campaign, size=5)
    before = (campaign.folder / FILE).read_bytes()
    (campaign.folder / "rounds" / "queue-1.jsonl").unlink()
    _, batch = make(campaign, size=5)
    assert batch is not None and (campaign.folder / FILE).read_bytes() == before


def test_the_queue_stays_with_what_it_looks_for(tmp_path: Path) -> None:
    campaign = pair_campaign(tmp_path / "c")
    make(campaign, size=5)
    with pytest.raises(InputError, match="the queue searches appropriate, found not_appropriate"):
        Queue(campaign, Positive(LABEL, label=NO))
    (campaign.folder / FILE).write_text('{"round": "queue-1"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 1 is not a valid batch"):
        Queue(campaign, FITTING)


def reply_campaign(folder: Path, task: str) -> Campaign:
    """Two systems on five items: as replies, or as comparisons."""
    replies = [
        {"reply_id": f"re-{i}{s}", "item_id": f"item-{i}", "hs_id": f"hs-{i}", "system": s,
         "hate_speech": f"The {PEOPLES[i]} sink every boat", "text": f"No boat was sunk by {PEOPLES[i]} {s}"}
        for i in range(5) for s in "ab"
    ]  # fmt: skip
    units = (
        [Unit(f"re-{i}a:re-{i}b", item_id=f"item-{i}", reply_a=f"re-{i}a", reply_b=f"re-{i}b") for i in range(5)]
        if load_task(task).unit == "comparison"
        else [Unit(f"re-{i}{s}", item_id=f"item-{i}", reply_a=f"re-{i}{s}") for i in range(5) for s in "ab"]
    )
    campaign = create(folder, Settings(name="boats"), load_task(task), units, {"replies.jsonl": replies})
    campaign.write("raters.csv", [Rater("r1"), Rater("r2")])
    return campaign


def test_replies_are_queued_by_their_grades(tmp_path: Path) -> None:
    campaign = reply_campaign(tmp_path / "c", "cseval")
    positive = read_positive("relevance>=4", campaign.task)
    problem = build_problem(campaign, [], "tfidf")
    assert problem.rows.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert problem.columns.tolist() == [0, 1] * 5
    assert problem.column_likeness.tolist() == [[1, 0], [0, 1]]
    _, batch = make(campaign, positive, size=4)
    assert batch is not None
    said = [
        Answer("queue-1", each.rater, each.unit_id, aspect, 5.0 if each.unit_id == batch.chosen[0] else 3.0)
        for each in campaign.assignments("queue-1")
        for aspect in campaign.aspects
    ]
    campaign.write("answers.jsonl", said)
    queue = Queue(campaign, positive)
    assert (queue.found, len(queue.left), queue.waiting) == (1, 6, [])


def test_comparisons_are_queued_and_some_shown_the_other_way_round(tmp_path: Path) -> None:
    campaign = reply_campaign(tmp_path / "c", "pairwise")
    make(campaign, Positive(LABEL, label="a"), size=5)
    sides = [each.swapped for each in campaign.assignments("queue-1")]
    assert len(sides) == 5 and set(sides) == {True, False}
    assert build_problem(campaign, [], "tfidf").columns.tolist() == [0] * 5


UNITS = {unit: Unit(unit, hs_id=unit.split(":")[0], cn_id=unit.split(":")[1]) for unit in ("h:c", "h:d", "i:c", "i:d")}


def test_runs_rank_what_they_leave_out_last(tmp_path: Path) -> None:
    (tmp_path / "bm25.trec").write_text(
        run_text("bm25", {"h": [("c", 3.0), ("x", 2.0)], "i": [("d", 1.0)]}), encoding="utf-8"
    )
    (score,) = read_scores(tmp_path / "bm25.trec", UNITS, FITTING)
    assert (score.name, score.n_unknown) == ("bm25.trec", 1)
    assert score.values == {"h:c": 3.0, "h:d": 2.0, "i:d": 1.0, "i:c": 1.0}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"unit_id": "h:c", "score": 2}, {"unit_id": "h:d", "score": None}], {"": {"h:c": 2.0}}),
        ([{"query_id": "i", "corpus_id": "c", "score": 0.5, "system": "bm25"}], {"bm25": {"i:c": 0.5}}),
        (
            [{"pair_id": "h:c", "rater": "m", "label": YES}, {"pair_id": "h:d", "rater": "m", "label": "not_sure"}],
            {"m": {"h:c": 1.0, "h:d": 0.5}},
        ),
        ([{"pair_id": "h:c", "rater": rater, "label": NO} for rater in "mn"], {"m": {"h:c": 0.0}, "n": {"h:c": 0.0}}),
        ([{"reply_a": "h", "reply_b": "c", "score_a": 7, "score_b": 4}], {"": {"h:c": -3.0}}),
        ([{"reply_a": "h", "reply_b": "c", "verdict": "b"}], {"": {"h:c": -1.0}}),
    ],
)
def test_rows_of_scores_say_what_they_score(
    tmp_path: Path, rows: list[dict[str, Any]], expected: Mapping[str, Mapping[str, float]]
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = read_scores(path, UNITS, FITTING)
    assert {score.name: score.values for score in found} == {
        ":".join(filter(None, ("s.jsonl", name))): values for name, values in expected.items()
    }


def test_low_grades_speak_for_what_is_looked_for_among_low_grades(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("reply_id,rater,aspect,value\nh:c,m,aggressiveness,4\n", encoding="utf-8")
    calm = Positive("aggressiveness", bound=2, high=False)
    assert read_scores(path, UNITS, calm)[0].values == {"h:c": -4.0}
    assert read_scores(path, UNITS, replace(calm, high=True))[0].values == {"h:c": 4.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unit_id,score\nh:c,high\n", "row 1: the score is 'high', expected a finite number"),
        ("unit_id,score\nh:c,1\nh:c,2\n", "row 2: the file has two scores of h:c"),
        ("name,score\nh:c,1\n", "row 1: no unit_id, pair_id, reply_id, or pair of ids: add the id of the scored unit"),
        ("unit_id,score\nz:c,1\n", "has no score of a unit of the campaign"),
    ],
)
def test_bad_scores_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_scores(tmp_path / "s.csv", UNITS, FITTING)


def test_the_command_makes_a_round_once_and_says_where_the_queue_stands(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = pair_campaign(tmp_path / "c")
    scores = tmp_path / "s.csv"
    scores.write_text("unit_id,score\nhs-0:cn-0,5\nhs-1:cn-1,4\n", encoding="utf-8")
    command = ("annotate", "queue", campaign.folder, "--scores", scores, "--queue-size", 6, "--encoder", "tfidf")
    first = run_cli(*command, "--json", tmp_path / "q.json")
    assert first.returncode == 0, first.stderr
    assert "New round queue-1: 3 likely positives, 3 random units." in first.stdout
    assert "18 units have no score and get the mean; 0 scores belong to no unit" in first.stdout
    told = json.loads((tmp_path / "q.json").read_text(encoding="utf-8"))
    assert (told["state"], told["decision"]) == ("batch", "go_on")
    assert told["batch"] == {"likely": 3, "drawn": 3, "again": 0, "answered": 0}
    assert told["estimate"]["unseen"] is None
    before = (campaign.folder / "rounds" / "queue-1.jsonl").read_bytes()
    again = run_cli(*command)
    assert "6 units have no answer yet, so no queue is made" in again.stdout
    assert (campaign.folder / "rounds" / "queue-1.jsonl").read_bytes() == before
    assert Campaign(campaign.folder).rounds() == ["queue-1"]
    answer(campaign, "queue-1", ["hs-0:cn-0"])
    shown = run_cli(*command, "--status-only", "--json", tmp_path / "q.json")
    told = json.loads((tmp_path / "q.json").read_text(encoding="utf-8"))
    assert told["state"] == "ready" and told["units"]["judged"] == 6 and "queue-2" not in shown.stdout
    assert "New round queue-2" in run_cli(*command).stdout
    wrong = run_cli(*command, "--positive", "fine")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


def test_units_that_another_round_gave_out_are_not_called_judged(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = pair_campaign(tmp_path / "c")
    items = [unit_id for unit_id, unit in campaign.units().items() if unit.role == "item"]
    campaign.write("rounds/main.jsonl", [Assignment("r1", each, at) for at, each in enumerate(items, start=1)])
    campaign.write("answers.jsonl", [Answer(MAIN, "r1", each, LABEL, NO) for each in items[:3]])
    said = run_cli("annotate", "queue", campaign.folder, "--json", tmp_path / "q.json")
    assert (said.returncode, said.stderr) == (0, "")
    assert "17 units were assigned before the first queue and have no answer yet" in said.stdout
    assert "stop" not in said.stdout and "is judged" not in said.stdout
    assert json.loads((tmp_path / "q.json").read_text(encoding="utf-8"))["decision"] == "not_answered"
    answer(campaign, MAIN, [])
    assert "stop: every unit is judged" in run_cli("annotate", "queue", campaign.folder).stdout


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--random-share", "2", "Invalid value for '--random-share'"),
        ("--random-share", "nan", "Invalid value for '--random-share'"),
        ("--random-share", "-1", "Invalid value for '--random-share'"),
        ("--confidence", "nan", "Invalid value for '--confidence'"),
        ("--target-recall", "0", "Invalid value for '--target-recall'"),
    ],
)
def test_options_of_the_queue_are_checked_before_anything_else(
    tmp_path: Path, run_cli: RunCli, option: str, value: str, message: str
) -> None:
    # There is no campaign, so nothing can have been read before.
    said = run_cli("annotate", "queue", tmp_path / "none", "--status-only", option, value)
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (2, "", 1)
    assert message in said.stderr
