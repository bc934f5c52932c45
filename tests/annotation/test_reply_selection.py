"""Replies that a queue selects for short intervals: probabilities, what they depend on, rounds and exported weights."""

import json
from pathlib import Path

import numpy as np
import pytest

from fcconan import (
    BuildOptions,
    LeaderboardOptions,
    QueueOptions,
    TierOptions,
    build,
    leaderboard,
    queue_units,
    tier,
)
from fcconan.annotation.active_learning.features import Score
from fcconan.annotation.active_learning.queue import FILE, Batch
from fcconan.annotation.active_learning.reply_selection import (
    GOAL,
    ReplyQueue,
    expected_errors,
    select_replies,
    selection_probabilities,
    stored_probabilities,
    systematic_sample,
)
from fcconan.annotation.campaigns import Answer, Campaign, Rater, Settings, Unit, create
from fcconan.annotation.progress import campaign_progress
from fcconan.data import make_hs_id
from fcconan.errors import InputError
from fcconan.judging.tasks import load_task

SYSTEMS = ("A", "B")
nan = np.nan


def _campaign(folder: Path, *, items: int = 30, task: str = "cseval") -> Campaign:
    texts = [f"The Ombrey own ferry {item}" for item in range(items)]
    replies = [
        {
            "reply_id": f"re-{system}{item}",
            "item_id": f"i{item}",
            "hs_id": make_hs_id(text),
            "hate_speech": text,
            "text": f"Ferry {item} belongs to the port, says {system}",
            "system": system,
        }
        for item, text in enumerate(texts)
        for system in SYSTEMS
    ]
    units = [
        Unit(row["reply_id"], hs_id=row["hs_id"], item_id=row["item_id"], reply_a=row["reply_id"]) for row in replies
    ]
    campaign = create(folder, Settings(name="ferries"), load_task(task), units, {"replies.jsonl": replies})
    campaign.write("raters.jsonl", [Rater("r1"), Rater("r2")])
    return campaign


def _answer(campaign: Campaign, batch: Batch, grade: dict[str, int] | None = None) -> None:
    given = [
        Answer(batch.round, each.rater, each.unit_id, aspect.name, (grade or {}).get(each.unit_id, aspect.low))
        for each in campaign.assignments(batch.round)
        for aspect in campaign.task.aspects
    ]
    campaign.write("answers.jsonl", [*campaign.history(), *given])


def _step(campaign: Campaign, budget: int, size: int, scores: list[Score] | None = None, seed: int = 5) -> Batch:
    batch = select_replies(campaign, ReplyQueue(campaign), scores or [], budget=budget, size=size, seed=seed)
    assert batch is not None
    return batch


def test_probabilities_are_half_even_and_half_by_error() -> None:
    # Sizes: .5 + .5 * error / 2: .75, .75, 1, 1.5; 2 of 4 in all.
    assert selection_probabilities(np.array([1.0, 1, 2, 4]), 2) == pytest.approx([0.375, 0.375, 0.5, 0.75])
    # Sizes .5 + .5 * error / 3: the last would have 3 * 2 / 4 and is certain; the others share 2.
    assert selection_probabilities(np.array([1.0, 1, 1, 9]), 3) == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1.0])
    assert selection_probabilities(np.array([1.0, 3]), 2).tolist() == [1.0, 1.0]
    assert selection_probabilities(np.array([1.0, 3]), 0).tolist() == [0.0, 0.0]
    assert selection_probabilities(np.zeros(0), 0).tolist() == []


def test_a_systematic_sample_has_its_size_and_its_probabilities() -> None:
    chances = selection_probabilities(np.array([1.0, 1, 2, 4, 3, 1, 8]), 3)
    generator = np.random.default_rng(1)
    drawn = np.array([systematic_sample(chances, generator) for _ in range(20_000)])
    assert set(drawn.sum(axis=1)) == {3}
    assert drawn.mean(axis=0) == pytest.approx(chances, abs=0.011)  # three standard errors


def test_errors_are_learned_in_thirds() -> None:
    """The judge is right about 20 low and 20 middle replies; grades of 20 high ones are .2 higher or lower."""
    features = np.repeat([-1.0, 0.0, 1.0], 20)[:, None]
    grades = np.repeat([0.2, 0.5, 0.8], 20) + np.concatenate([np.zeros(40), np.tile([-0.2, 0.2], 10)])
    found = expected_errors(features, grades[None])
    squares = (20 * 0.04, 0.04 * 20 / 60)  # of the high third, on average
    high, other = (squares[0] + 10 * squares[1]) / 30, 10 * squares[1] / 30
    # The ridge shrinks weights by a little.
    assert found[[0, 30, 50]] == pytest.approx(np.sqrt([other, other, high]), rel=0.02)
    unknown = np.where(np.arange(60) < 41, nan, grades)  # 19 grades
    assert expected_errors(features, unknown[None]).tolist() == [1.0] * 60
    assert expected_errors(np.zeros((60, 0)), grades[None]).tolist() == [1.0] * 60


def test_batches_go_through_all_replies_once(tmp_path: Path) -> None:
    campaign = _campaign(tmp_path / "c")
    first = _step(campaign, 24, 10)
    assert (first.positive, len(first.drawn), len(first.passed), first.likely) == (GOAL, 10, 15, [])
    assert first.probabilities == pytest.approx([0.4] * 10)  # 24 of 60, without judges
    assert select_replies(campaign, ReplyQueue(campaign), [], budget=24, size=10, seed=5) is None  # not answered
    _answer(campaign, first)
    second = _step(campaign, 24, 10)
    _answer(campaign, second)
    last = _step(campaign, 24, 10)
    assert [len(each.drawn) for each in (second, last)] == [10, 4]
    _answer(campaign, last)
    batches = (first, second, last)
    assert sorted(unit for each in batches for unit in (*each.drawn, *each.passed)) == sorted(campaign.units())
    assert select_replies(campaign, ReplyQueue(campaign), [], budget=24, size=10, seed=5) is None  # spent
    chances = stored_probabilities(campaign)
    assert len(chances) == 24 and sum(1 / chance for chance in chances.values()) == pytest.approx(60)
    assert campaign.rounds() == ["queue-1", "queue-2", "queue-3"]
    assert {each.rater for each in campaign.assignments("queue-1")} == {"r1", "r2"}


def test_a_system_with_fewer_replies_has_higher_probabilities(tmp_path: Path) -> None:
    campaign = _campaign(tmp_path / "c")
    few = [unit for unit in campaign.items() if str(unit.reply_a)[3] == "A" or int(unit.unit_id[4:]) < 10]
    campaign.write("units.jsonl", few)
    batch = _step(campaign, 20, 20)
    chances = {unit[3]: chance for unit, chance in zip(batch.drawn, batch.probabilities, strict=True)}
    # Sizes .5 + .5 * (1 / replies) / mean, and the mean of 1 / replies is 2 / 40: 5 / 6 and 3 / 2; 20 of 40.
    assert chances == pytest.approx({"A": 5 / 12, "B": 3 / 4})


def test_probabilities_follow_from_answers_on_other_replies(tmp_path: Path) -> None:
    """Answers to a batch change the next one's probabilities, never its own; the same answers give the same batch."""
    scores = [Score("judge", {f"re-{s}{i}": float(i) for i in range(30) for s in SYSTEMS}, 0)]
    files = []
    for name, high in (("a", 5), ("b", 5), ("c", 1)):
        campaign = _campaign(tmp_path / name)
        first = _step(campaign, 40, 24, scores)
        _answer(campaign, first, {unit: high if int(unit[4:]) % 2 else 1 for unit in first.drawn})
        _step(campaign, 40, 24, scores)
        files.append((campaign.folder / FILE).read_text(encoding="utf-8"))
    assert files[0] == files[1]
    one, other = (file.splitlines() for file in (files[0], files[2]))
    assert one[0] == other[0]
    assert json.loads(one[1])["probabilities"] != json.loads(other[1])["probabilities"]
    assert set(json.loads(one[1])["drawn"]).isdisjoint(json.loads(one[0])["drawn"] + json.loads(one[0])["passed"])


def test_weights_reach_the_leaderboard(tmp_path: Path) -> None:
    campaign = _campaign(tmp_path / "c")
    ratings = tmp_path / "judge.jsonl"
    rows = [
        {"reply_id": f"re-{s}{i}", "rater": "j", "rater_kind": "model", "aspect": "relevance", "value": 1 + (i + n) % 5}
        for i in range(30)
        for n, s in enumerate(SYSTEMS)
    ]
    ratings.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    grades = {f"re-{s}{i}": 1 + (i + n) % 5 for i in range(30) for n, s in enumerate(SYSTEMS)}
    options = QueueOptions(budget=36, queue_size=24, scores=(ratings,))
    for number in (1, 2):
        result = queue_units(campaign.folder, options)
        assert (result.data["state"], result.data["units"]["selected"]) == ("batch", [24, 36][number - 1])
        _answer(campaign, campaign.read(FILE, Batch)[-1], grades)
    done = queue_units(campaign.folder, options)
    assert done.data["state"] == "done"
    assert done.notes[0].startswith("No further reply is selected: the budget is 36, and 36 were selected. Write the")
    less = queue_units(campaign.folder, QueueOptions(budget=20))
    assert less.data["units"]["selected"] == 36
    assert less.notes[0].startswith("No further reply is selected: the budget is 20, and 36 were selected. Write the")
    assert campaign_progress(Campaign(campaign.folder)).next.command.endswith("c --budget N")
    tier(campaign.folder, tmp_path / "data", TierOptions(round=("queue-*",), synthetic=True))
    build(str(tmp_path / "data" / "recipe.yaml"), tmp_path / "built", BuildOptions())
    found = leaderboard(
        [tmp_path / "built", ratings], LeaderboardOptions(predicted_by="j", aspect=("relevance",), resamples=0)
    ).data["prediction_powered"]
    assert found["weighted"]
    chances = stored_probabilities(campaign)
    for row in found["rows"][:2]:
        own = [unit for unit in chances if unit[3] == row["a"]]
        weights = np.array([1 / chances[unit] for unit in own])
        assert row["people"] == pytest.approx(weights @ [grades[unit] for unit in own] / weights.sum(), abs=1e-12)
        assert (row["n"], row["n_all"]) == (len(own), 30)
        # The judge is right about every reply, so that only the choice of the 30 items is left to chance.
        assert row["value"] == pytest.approx(np.mean([grades[f"re-{row['a']}{i}"] for i in range(30)]), abs=1e-9)


def test_what_the_queue_refuses(tmp_path: Path) -> None:
    campaign = _campaign(tmp_path / "c")
    with pytest.raises(InputError, match=r"positive: .*not for .*budget; leave it out"):
        queue_units(campaign.folder, QueueOptions(budget=5, positive="relevance>=4"))
    _step(campaign, 10, 5)
    with pytest.raises(InputError, match=r"was made with .*budget: give .*budget again"):
        queue_units(campaign.folder, QueueOptions(positive="relevance>=4"))
    other = _campaign(tmp_path / "other")
    other.write(FILE, [Batch("queue-1", "relevance>=4", 0, [], [], [], [], [], [])])
    other.write("rounds/queue-1.jsonl", [])
    with pytest.raises(InputError, match=r"searches relevance>=4: leave .*budget out"):
        queue_units(other.folder, QueueOptions(budget=5))
    with pytest.raises(InputError, match="budget needs grades of replies, and appropriateness has none"):
        ReplyQueue(_campaign(tmp_path / "labels", task="appropriateness"))
