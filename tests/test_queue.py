"""`annotate queue`: the model, the choice of a batch, the estimate of what is unseen, and the rounds of the verb."""

import json
import math
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fcconan
from benchmarks.queue_replay import needed, needed_at_random, replay
from fcconan.annotation import Problem, choose, estimate, likeness, predict, standardised
from fcconan.data import task_path

PEOPLES = ("Ombrey", "Tessok", "Velmari", "Dravene", "Quillish", "Ostrun")
NO, YES = "not_appropriate", "appropriate"
Rows = Iterable[dict[str, Any]]


def small_problem(n_rows: int = 6, n_columns: int = 8, seed: int = 0) -> Problem:
    generator = np.random.default_rng(seed)
    rows, columns = (places.ravel() for places in np.indices((n_rows, n_columns)))
    hs, cn = (likeness(generator.normal(size=(number, 3))) for number in (n_rows, n_columns))
    return Problem(rows, columns, hs, cn, standardised(generator.normal(size=len(rows))))


def truths(problem: Problem, seed: int = 0) -> Any:
    """Positives that lie in some columns more than in others."""
    generator = np.random.default_rng([seed, 9])
    rates = np.linspace(0.1, 0.9, problem.columns.max() + 1) ** 3
    return generator.random(len(problem.rows)) < rates[problem.columns]


def write(path: Path, rows: Rows) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def campaign_of(folder: Path, task: str, units: Rows, raters: Sequence[str] = ("r1", "r2")) -> Path:
    """The folder of a campaign, file by file."""
    folder.mkdir()
    shutil.copy(task_path(task), folder / "task.yaml")
    (folder / "campaign.yaml").write_text("format: 1\nname: ferries\nseed: 3\n", encoding="utf-8")
    write(folder / "units.jsonl", units)
    return with_raters(folder, *raters)


def with_raters(folder: Path, *raters: str) -> Path:
    (folder / "raters.csv").write_text("rater,role,state\n" + "".join(f"{each},,\n" for each in raters), "utf-8")
    write(folder / "raters.jsonl", ({"rater": rater} for rater in raters))
    return folder


def pairs(folder: Path, raters: Sequence[str] = ("r1", "r2"), hs: int = 4, cn: int = 5) -> Path:
    units = [{"unit_id": f"h{h}:c{c}", "hs_id": f"h{h}", "cn_id": f"c{c}"} for h in range(hs) for c in range(cn)]
    quiz = {"unit_id": "h0:quiz", "role": "quiz", "hs_id": "h0", "cn_id": "quiz", "known": {"label": NO}}
    campaign_of(folder, "appropriateness", [*units, quiz], raters)
    texts = [(f"h{h}", f"The {PEOPLES[h]} take all the ferries") for h in range(hs)]
    write(folder / "hs.jsonl", ({"hs_id": key, "text": text} for key, text in texts))
    texts = [(f"c{c}", f"Ferries of {PEOPLES[c]} carry {c} guests") for c in range(cn)]
    write(folder / "cn.jsonl", ({"cn_id": key, "text": text} for key, text in texts))
    return folder


def replies(folder: Path, task: str, units: Rows) -> Path:
    """A campaign on replies of two systems to five items."""
    campaign_of(folder, task, units)
    keys = [(i, s) for i in range(5) for s in "ab"]
    write(
        folder / "replies.jsonl",
        (
            {"reply_id": f"re-{i}{s}", "hate_speech": f"The {PEOPLES[i]} sink boats", "text": "No boat.", "system": s}
            for i, s in keys
        ),
    )
    return folder


def given(folder: Path, name: str) -> list[dict[str, Any]]:
    return read(folder / "rounds" / f"{name}.jsonl")


def answer(folder: Path, name: str, positive: Sequence[str] = (), skipped: Sequence[str] = ()) -> None:
    """All raters answer everything in a round."""
    path = folder / "answers.jsonl"
    said = read(path) if path.exists() else []
    for each in given(folder, name):
        unit = each["unit_id"]
        value = None if unit in skipped else YES if unit in positive else NO
        said.append({"round": name, "rater": each["rater"], "unit_id": unit, "aspect": "label", "value": value})
    write(path, said)


def queue(folder: Path, **options: Any) -> fcconan.Result:
    return fcconan.queue_units(folder, **{"encoder": "tfidf", "seed": 3, **options})


def counts(found: fcconan.Result) -> dict[str, Any]:
    (row,) = found.to_frame("units").to_dict("records")
    return {str(name): value for name, value in row.items()}


def said(found: fcconan.Result) -> str:
    return " ".join(found.notes)


def test_likeness_falls_with_the_cosine_of_centred_vectors() -> None:
    found = likeness([[3.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    # Centred: right, left, and zero.
    expected = [[1, math.exp(-4), math.exp(-2)], [math.exp(-4), 1, math.exp(-2)], [math.exp(-2), math.exp(-2), 1]]
    assert found == pytest.approx(np.array(expected))


def test_missing_scores_are_average_and_a_constant_score_is_zero() -> None:
    assert standardised(np.array([[1.0, 2], [3, 2], [np.nan, 2]])).tolist() == [[-1, 0], [1, 0], [0, 0]]


def test_the_model_solves_the_equations_of_its_covariance() -> None:
    problem = small_problem()
    problem = problem._replace(columns=np.where(problem.columns == 7, 6, problem.columns))  # two units in one cell
    labels = np.full(48, np.nan)
    labels[::3] = np.random.default_rng(1).choice([0.0, 0.5, 1.0], 16)
    r, c, s = problem.rows, problem.columns, problem.scores[:, 0]
    k, own_k = problem.row_likeness[np.ix_(r, r)], problem.column_likeness[np.ix_(c, c)]
    same_r, same_c = np.equal.outer(r, r), np.equal.outer(c, c)
    known = np.isfinite(labels)
    first = (labels[known].sum() + 1) / (16 + 6) + 0.1 * s
    for constant, smooth, own, noise in ((0.01, 0.03, 0.01, 0.05), (0.2, 0.05, 0.4, 0.3)):
        both = same_r + 1.0 * same_c + k * same_c + np.outer(s, s)
        covariance = smooth * (1 + same_r + k) * own_k + own * both + constant
        solved = np.linalg.solve(covariance[np.ix_(known, known)] + noise * np.eye(16), (labels - first)[known])
        expected = first + covariance[:, known] @ solved
        assert predict(problem, labels, (constant, smooth, own, noise)) == pytest.approx(expected, abs=1e-4)


def test_before_any_label_the_scores_decide() -> None:
    problem = small_problem(1, 3)._replace(scores=np.array([[1.0], [0.0], [-1.0]]))
    assert predict(problem, np.full(3, np.nan)) == pytest.approx([1 / 6 + 0.1, 1 / 6, 1 / 6 - 0.1])
    without = problem._replace(scores=np.zeros((3, 0)))
    assert predict(without, np.full(3, np.nan)) == pytest.approx([1 / 6] * 3)


def chosen(expected: Sequence[float], *, columns: Sequence[int] | None = None, seed: int = 0, **how: Any) -> Any:
    values = np.array(expected)
    left = np.array(how.pop("left", [True] * len(values)))
    places = np.arange(len(values)) if columns is None else np.array(columns)
    return choose(values, left, places, generator=np.random.default_rng(seed), **how)


def test_a_batch_takes_some_by_chance_and_the_likeliest_of_the_rest() -> None:
    # Unit 1 is not left. Every unit has a column of its own, so that the expected label decides alone.
    how: dict[str, Any] = {"left": [True, False, True, True, True, True]}
    expected = [0.1, 0.9, 0.4, 0.3, 0.4, 0.8]
    found = chosen(expected, size=4, random_share=0.2, **how)
    # A fifth of a draw's probability is uniform, the rest follows the deviation; expected labels above 0.5 count 0.5.
    deviation = {place: math.sqrt(p * (1 - p)) for place, p in {0: 0.1, 2: 0.4, 3: 0.3, 4: 0.4, 5: 0.5}.items()}
    first = {place: 0.2 / 5 + 0.8 * each / sum(deviation.values()) for place, each in deviation.items()}
    # Likely units are 0.8, 0.4, 0.4 and 0.3: the share is 0.2 ** (cost / 0.1), of four, rounded up.
    cost = 1.9 / 4 - sum(share * expected[place] for place, share in first.items())
    assert 0.25 < 0.2 ** (cost / 0.1) < 0.5
    one, two = found["drawn"]
    assert found["likely"] == [place for place in (5, 2, 4, 3, 0) if place not in (one, two)][:2]
    assert found["probabilities"] == pytest.approx([first[one], first[two] / (1 - first[one])])
    assert found["smallest"] == pytest.approx([min(first.values()), min(first.values()) / (1 - first[one])])
    none = chosen(expected, size=9, random_share=0.0, **how)
    assert (none["drawn"], none["likely"]) == ([], [5, 2, 4, 3, 0])
    assert chosen(expected, size=9, random_share=1.0, **how)["likely"] == []
    assert not any(chosen(expected, size=2, random_share=1.0, left=[False] * 6).values())
    # At most half is drawn, or the requested share, where a draw costs no positive.
    assert [len(chosen([0.3] * 9, size=8, random_share=share)["drawn"]) for share in (0.2, 0.7)] == [4, 6]


def test_a_batch_is_spread_over_columns_with_few_answers() -> None:
    def order(expected: Sequence[float], columns: Sequence[int], left: Sequence[bool], explore: float) -> list[int]:
        how: dict[str, Any] = {"size": 9, "random_share": 0.0, "explore": explore}
        found: list[int] = chosen(expected, columns=columns, left=left, **how)["likely"]
        return found

    # Three units of column 0 were given out before, none of column 1, one of column 2. Worth, with a weight of 0.2:
    #   0.5 + 0.2 / sqrt(4) = 0.6,  0.45 + 0.2 / sqrt(5) = 0.539,  0.2 + 0.2 / sqrt(6) = 0.282 (third of its column)
    #   0.35 + 0.2 / sqrt(1) = 0.55
    #   0.3 + 0.2 / sqrt(2) = 0.441,  0.24 + 0.2 / sqrt(3) = 0.355
    expected, columns = [0.5, 0.45, 0.2, 0.35, 0.3, 0.24, 1, 1, 1, 1], [0, 0, 0, 1, 2, 2, 0, 0, 0, 2]
    left = [True] * 6 + [False] * 4
    assert order(expected, columns, left, 0.2) == [0, 3, 1, 4, 5, 2]
    assert order(expected, columns, left, 0.0) == [0, 1, 3, 4, 5, 2]
    assert order(expected, columns, left, 2.0) == [3, 4, 0, 5, 1, 2]


def test_a_draw_weighted_by_its_chance_gives_the_number_of_positives() -> None:
    positive, found = np.array([True, False, True, True]), []
    for seed in range(1_500):
        choice = chosen([0.5, 0.1, 0.01, 0.3], size=2, random_share=1.0, seed=seed)
        (one, two), (p, q) = choice["drawn"], choice["probabilities"]
        found.append((positive[one] / p, positive[one] + positive[two] / q))
    assert np.mean(found, axis=0) == pytest.approx([3, 3], abs=0.2)  # four standard errors


def brute_force(draws: Sequence[Any], found: int, left: int, confidence: float) -> tuple[int, int]:
    """The interval by trying every total, one gambler after the other, at every time."""
    for_more, for_fewer = (0.05, *np.arange(1, 10) / 10), (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    limit, held = 2 / (1 - confidence), []
    for total in range(found, found + left + 1):
        more, fewer = np.ones(len(for_more)), np.ones(len(for_fewer))
        refuted = False
        for positive, probability, smallest, before in draws:
            value, unseen = positive / probability, total - before
            more *= 1 + np.array(for_more) * (unseen - value) * smallest
            fewer *= 1 + np.array(for_fewer) * (value / max(unseen, 1) - (unseen > 0))
            refuted = refuted or bool(max(np.mean(more), np.mean(fewer)) >= limit)
        held += [] if refuted else [total - found]
    return held[0], held[-1]


@pytest.mark.parametrize(("n", "n_positive", "confidence"), [(120, 60, 0.95), (200, 20, 0.9), (150, 140, 0.95)])
def test_the_interval_holds_all_totals_that_no_gambler_refutes(n: int, n_positive: int, confidence: float) -> None:
    positive = np.random.default_rng(5).permutation(n) < n_positive
    draws, found = [], 0
    for at in range(60):  # the first ones in the order of their places: labels are in random order
        draws.append((float(positive[at]), 1 / (n - at), 1 / (n - at), float(found)))
        found += int(positive[at])
    known = estimate(draws, found=found, left=n - 60, confidence=confidence)
    assert (known["low"], known["high"]) == brute_force(draws, found, n - 60, confidence) != (0, n - 60)
    assert known["recall_low"] == found / (found + known["high"]) < known["recall_likely"]


def test_an_estimate_of_one_draw_of_none_and_at_the_end() -> None:
    # One positive, drawn with the chance 1/10: as if there were ten.
    one = estimate([(True, 0.1, 0.1, 0)], found=1, left=9)
    assert [one[name] for name in ("low", "high", "recall_low", "recall_high")] == [0, 9, 0.1, 1.0]
    assert (one["unseen"], one["recall"]) == pytest.approx((9, 0.1))
    none = estimate([], found=4, left=6)
    assert [none[name] for name in ("unseen", "recall", "low", "high", "recall_low")] == [None, None, 0, 6, 0.4]
    end = estimate([(True, 0.5, 0.5, 0)], found=4, left=0)
    assert [end[name] for name in ("unseen", "recall", "high")] == [0.0, 1.0, 0]
    assert estimate([], found=0, left=6)["recall_high"] is None  # there may be no positive


def test_intervals_are_rarely_wrong_at_any_time() -> None:
    problem = small_problem(12, 20)
    wrong, narrowed = 0, 0
    for seed in range(40):
        positive = truths(problem, seed)
        played = replay(problem, positive, batch=40, random_share=0.5, seed=seed, estimates=True)
        known = played.estimates
        wrong += any(not each["low"] <= positive.sum() - each["found"] <= each["high"] for each in known)
        narrowed += known[2]["high"] < known[2]["left"]
    assert wrong <= 2  # 5 % of 40
    assert narrowed > 25


def test_a_replay_uses_labels_of_earlier_batches_only_and_beats_chance() -> None:
    problem = small_problem(12, 20)
    positive = truths(problem)
    order = replay(problem, positive, batch=10).order
    assert sorted(order) == list(range(240))
    poisoned = ~positive
    poisoned[order[:40]] = positive[order[:40]]
    assert replay(problem, poisoned, batch=10).order[:50] == order[:50]  # the fifth batch follows labels of four
    assert needed(order, positive, 0.8) < 0.8 * needed_at_random(240, int(positive.sum()), 0.8)


def test_queues_are_rounds_that_wait_for_their_answers(tmp_path: Path) -> None:
    folder = pairs(tmp_path / "c", raters=("r1", "r2", "r3"))
    # All units are equal at first: draws cost no positives, and half of the queue, rounded up, is drawn.
    found = queue(folder, queue_size=7, random_share=0.4)
    assert found.to_frame("queues").to_dict("records") == [
        {"round": "queue-1", "likely": 3, "drawn": 4, "again": 0, "answered": 0, "positive": 0}
    ]
    first = [each["unit_id"] for each in given(folder, "queue-1")]
    (line,) = read(folder / "queue.jsonl")
    assert sorted(first) == sorted(line["drawn"] + line["likely"])
    before = {path.name: path.read_bytes() for path in folder.rglob("*.jsonl")}
    assert "7 units have no answer yet, so no queue is made" in said(queue(folder))
    assert {path.name: path.read_bytes() for path in folder.rglob("*.jsonl")} == before
    answer(folder, "queue-1", line["drawn"][:1], skipped=line["drawn"][1:2])
    shown = queue(folder, status_only=True)
    expected = {"all": 20, "judged": 7, "skipped": 1, "waiting": 0, "outside": 0, "found": 1, "drawn": 4}
    assert counts(shown) == expected
    again = queue(folder, queue_size=7)
    assert again.to_frame("queues")["round"].tolist() == ["queue-1", "queue-2"]
    second = given(folder, "queue-2")
    assert not {each["unit_id"] for each in second} & {*first}
    loads = Counter(each["rater"] for each in [*given(folder, "queue-1"), *second])
    assert sorted(loads.values()) == [4, 5, 5]


def test_the_estimate_reads_complete_queues_and_counts_positives_before_each_draw(tmp_path: Path) -> None:
    folder = pairs(tmp_path / "c")
    queue(folder, queue_size=6, random_share=0.5)
    (line,) = read(folder / "queue.jsonl")
    answer(folder, "queue-1", [*line["drawn"], line["likely"][0]])
    # Positives found before each draw: none, the first one, and two; the likely one counts after them.
    draws = [
        (1.0, p, s, float(n)) for n, (p, s) in enumerate(zip(line["probabilities"], line["smallest"], strict=True))
    ]
    known = estimate(draws, found=4, left=14)
    shown = queue(folder, status_only=True).to_frame("estimate").set_index("name")
    assert shown.loc["unseen"].tolist() == pytest.approx([known["unseen"], known["low"], known["high"]])
    assert shown.loc["recall"].tolist() == pytest.approx([known[f"recall{end}"] for end in ("", "_low", "_high")])
    queue(folder, queue_size=6)
    one = given(folder, "queue-2")[0]
    label = {"round": "queue-2", "rater": one["rater"], "unit_id": one["unit_id"], "aspect": "label", "value": YES}
    write(folder / "answers.jsonl", [*read(folder / "answers.jsonl"), label])
    shown = queue(folder, status_only=True)
    assert [counts(shown)[name] for name in ("found", "drawn", "judged", "waiting")] == [5, 3, 7, 5]
    third = queue(folder, queue_size=6, allow_pending=True).to_frame("queues")
    assert third["round"].tolist()[-1] == "queue-3"


def test_the_queue_learns_from_earlier_answers_and_leaves_their_units_out(tmp_path: Path) -> None:
    folder = pairs(tmp_path / "c")
    early = [{"rater": "r1", "unit_id": f"h0:c{c}", "position": c + 1} for c in range(2)]
    write(folder / "rounds" / "main.jsonl", early)
    label = {"round": "main", "rater": "r1", "aspect": "label", "value": YES}
    write(folder / "answers.jsonl", [label | {"unit_id": "h0:c0"}])
    found = queue(folder, queue_size=100)
    assert "1 units were assigned before the first queue and have no answer yet" in said(found)
    answer(folder, "queue-1")
    shown = queue(folder)
    assert (counts(shown)["found"], counts(shown)["outside"], counts(shown)["judged"]) == (0, 2, 18)
    assert "Stop" not in said(shown)
    write(folder / "answers.jsonl", [*read(folder / "answers.jsonl"), label | {"unit_id": "h0:c1", "value": None}])
    assert "Stop: every unit is judged." in said(queue(folder))
    # A final label replaces the answers.
    write(folder / "decisions.jsonl", [{"unit_id": "h3:c3", "label": YES, "by": "r9", "reason": "person"}])
    assert counts(queue(folder))["found"] == 1


def test_a_rater_gets_a_unit_only_once(tmp_path: Path) -> None:
    folder = pairs(tmp_path / "c")
    queue(folder, queue_size=2)
    answer(folder, "queue-1")
    had = {each["unit_id"] for each in given(folder, "queue-1")}
    left = [f"h{h}:c{c}" for h in range(4) for c in range(5) if f"h{h}:c{c}" not in had]
    rows = [{"rater": "r1", "unit_id": unit, "position": 1} for unit in left]
    write(folder / "rounds" / "main.jsonl", rows[:6])
    write(folder / "rounds" / "validation.jsonl", rows[6:12])
    write(folder / "rounds" / "early.jsonl", [row | {"withdrawn": True} for row in rows[12:]])
    known = {"round": "main", "rater": "r1", "unit_id": left[0], "aspect": "label", "value": YES}
    write(folder / "answers.jsonl", [*read(folder / "answers.jsonl"), known])
    queue(folder, queue_size=50)
    # An answer from another round counts, and its unit is not assigned again.
    assert {each["unit_id"]: each["rater"] for each in given(folder, "queue-2")} == dict.fromkeys(left[1:], "r2")
    assert counts(queue(folder, status_only=True))["found"] == 1


def test_units_of_raters_who_left_go_to_others(tmp_path: Path) -> None:
    folder = pairs(tmp_path / "c", raters=("r1",))
    queue(folder, queue_size=3)
    rows = given(folder, "queue-1")
    write(folder / "rounds" / "queue-1.jsonl", [row | {"withdrawn": True} for row in rows])
    assert "3 units need another rater" in said(queue(folder, status_only=True))
    with_raters(folder, "r1", "r2")
    found = queue(folder, queue_size=5).to_frame("queues")
    assert found["again"].tolist() == [0, 3] and (found["likely"] + found["drawn"]).tolist() == [3, 2]
    theirs = {each["unit_id"] for each in given(folder, "queue-2") if each["rater"] == "r2"}
    assert theirs >= {row["unit_id"] for row in rows}
    with_raters(folder)
    answer(folder, "queue-2")
    with pytest.raises(fcconan.InputError, match="no active annotator"):
        queue(folder)


def test_replies_are_queued_by_their_grades(tmp_path: Path) -> None:
    units = [{"unit_id": f"re-{i}{s}", "hs_id": f"h{i}", "reply_a": f"re-{i}{s}"} for i in range(5) for s in "ab"]
    folder = replies(tmp_path / "c", "cseval", units)
    queue(folder, positive="relevance >= 4", queue_size=4)
    rows = given(folder, "queue-1")
    about = {"round": "queue-1", "aspect": "relevance"}
    said = [
        {**about, "rater": row["rater"], "unit_id": row["unit_id"], "value": 5.0 - 2 * at}
        for at, row in enumerate(rows)
    ]
    write(folder / "answers.jsonl", said)
    shown = queue(folder, status_only=True)  # the target is that of the last queue
    assert shown.identity["positive"] == "relevance>=4"
    assert (counts(shown)["found"], counts(shown)["judged"]) == (1, 4)


def test_comparisons_are_queued_and_some_shown_the_other_way_round(tmp_path: Path) -> None:
    about = [(f"re-{i}a", f"re-{i}b") for i in range(5)]
    units = [{"unit_id": f"{a}:{b}", "hs_id": f"h{i}", "reply_a": a, "reply_b": b} for i, (a, b) in enumerate(about)]
    folder = replies(tmp_path / "c", "pairwise", units)
    queue(folder, positive="a", queue_size=5)
    assert {each.get("swapped", False) for each in given(folder, "queue-1")} == {True, False}


@pytest.mark.parametrize(
    ("name", "text", "first", "missing"),
    [
        ("s.trec", "h0 Q0 c1 1 5 bm25\nh0 Q0 x 2 1 bm25\n", ["h0:c1"], 15),  # other CNs of h0 get the lowest score
        ("s.csv", "unit_id,score\nh2:c3,5\nh1:c1,1\n", ["h2:c3"], 18),
        ("s.csv", "query_id;corpus_id;score\nh2;c3;0,5\nh1;c1;0,1\n", ["h2:c3"], 18),
        ("s.csv", "unit_id\tscore\nh2:c3\t0,5\nh1:c1\t0,1\nh0:c0\tn/a\n", ["h2:c3"], 18),
        ("s.csv", f"pair_id,label\nh2:c3,{YES}\nh1:c1,not_sure\nh0:c0,{NO}\n", ["h2:c3"], 17),
        ("s.csv", "pair_id,rater,score\nh2:c3,m,4\nh1:c1,m,1\nh2:c3,n,2\nh1:c1,n,1\n", ["h2:c3"], 18),
    ],
)
def test_scores_rank_the_units_of_the_first_queue(
    tmp_path: Path, name: str, text: str, first: list[str], missing: int
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    folder = pairs(tmp_path / "c")
    found = queue(folder, scores=tmp_path / name, queue_size=4, random_share=0.0)
    assert read(folder / "queue.jsonl")[0]["likely"][: len(first)] == first
    assert f"{missing} units have no score and get the mean; {int('.trec' in name)} scores belong to no unit" in said(
        found
    )


def test_low_grades_of_a_judge_count_for_a_target_of_low_grades(tmp_path: Path) -> None:
    units = [{"unit_id": f"re-{i}a", "hs_id": f"h{i}", "reply_a": f"re-{i}a"} for i in range(5)]
    folder = replies(tmp_path / "c", "cseval", units)
    text = "reply_id,rater,aspect,value\n" + "".join(f"re-{i}a,m,aggressiveness,{5 - i}\n" for i in range(5))
    (tmp_path / "s.csv").write_text(text, encoding="utf-8")
    queue(folder, scores=tmp_path / "s.csv", positive="aggressiveness<=2", queue_size=2, random_share=0.0)
    assert read(folder / "queue.jsonl")[0]["likely"] == ["re-4a", "re-3a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": "good"}, "found --positive good, expected .*appropriate"),
        ({"scores": "name,score\nh0:c0,1\n"}, "has the columns name, score, expected unit_id"),
        ({"scores": "unit_id,score\nz:c,1\n"}, "has no score of a unit of the campaign"),
        ({"scores": "unit_id,score\nh0:c0,high\n"}, "row 2: value is 'high', expected a number"),
    ],
)
def test_mistakes(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    if "scores" in options:
        (tmp_path / "s.csv").write_text(options["scores"], encoding="utf-8")
        options = {"scores": tmp_path / "s.csv"}
    with pytest.raises(fcconan.InputError, match=message):
        queue(pairs(tmp_path / "c"), **options)


def test_mistakes_about_the_target(tmp_path: Path) -> None:
    folder = replies(tmp_path / "c", "cseval", [{"unit_id": "re-0a", "hs_id": "h0", "reply_a": "re-0a"}])
    for positive in (None, "relevance>=1", "charm>=2"):
        with pytest.raises(fcconan.InputError, match=r"expected a bound that some grades meet|no aspect 'charm'"):
            queue(folder, positive=positive)
    folder = pairs(tmp_path / "d")
    queue(folder)
    with pytest.raises(fcconan.InputError, match="the queue searches appropriate, found --positive not_appropriate"):
        queue(folder, positive=NO)


def test_a_missing_label_of_a_judge_is_no_score(tmp_path: Path) -> None:
    folder = pairs(tmp_path / "c")
    units = [row["unit_id"] for row in read(folder / "units.jsonl")][:2]
    write(
        tmp_path / "judge.jsonl", [{"unit_id": units[0], "label": "appropriate"}, {"unit_id": units[1], "label": None}]
    )
    found = queue(folder, scores=tmp_path / "judge.jsonl", queue_size=4)
    assert "19 units have no score and get the mean" in said(found)


def test_a_review_replaces_the_answers_of_its_rater(tmp_path: Path) -> None:
    folder = pairs(tmp_path / "c")
    queue(folder, queue_size=4)
    answer(folder, "queue-1")
    unit = given(folder, "queue-1")[0]["unit_id"]
    assert counts(queue(folder, status_only=True))["found"] == 0
    answers = read(folder / "answers.jsonl")
    review = next(row for row in answers if row["unit_id"] == unit) | {"round": "review-1", "value": "appropriate"}
    write(folder / "answers.jsonl", [*answers, review])
    (folder / "rounds" / "review-1.jsonl").write_text("", encoding="utf-8")
    (folder / "rounds" / "review-1.json").write_text('{"review": "queue-1"}', encoding="utf-8")
    assert counts(queue(folder, status_only=True))["found"] == 1
