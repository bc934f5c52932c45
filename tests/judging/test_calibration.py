import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

from fcconan.errors import InputError
from fcconan.judging.calibration import search as module
from fcconan.judging.calibration.data import CalibrationParts, RatedExample, sample_across_grades, split_examples
from fcconan.judging.calibration.drafting import EDITS
from fcconan.judging.calibration.scores import (
    CorrelationScore,
    ItemBootstrap,
    Metric,
    correlate_values,
    score_difference,
    score_predictions,
)
from fcconan.judging.calibration.search import search_steps
from fcconan.judging.calibration.settings import Calibration, CalibrationSettings, EvaluationSteps, load_steps
from fcconan.judging.tasks import Aspect
from fcconan.models.requests import ChatRequest, ChatResponse

ASPECT = Aspect(
    name="relevance",
    title="Relevance",
    question="Does the reply speak of what the message claims?",
    low=1,
    high=5,
    grades=dict.fromkeys(range(1, 6), "A grade."),
    steps=["Grade with care 4."],
)
# 40 HS with two replies each: ten HS to draft with, 15 to select on, 15 to report on.
EXAMPLES = [
    RatedExample(
        f"hs-{row // 2:02}", {"hate_speech": f"Ombrey h{row // 2:02}", "counter_narrative": f"No r{row:02}"}, value
    )
    for row, value in enumerate(np.random.default_rng(1).integers(1, 6, size=80).astype(float).tolist())
]
PARTS = split_examples(EXAMPLES, seed=3, shares=(0.25, 0.375, 0.375))
SETTINGS = CalibrationSettings(sizes=(2, 4), trials=2, keep=2, rounds=3, errors=3, resamples=100)
BEST = 10


class Judge:
    """A rater that is right on as many tenths of the examples as the steps' last number says, and upside down else."""

    def __init__(self) -> None:
        self.seen: list[set[str]] = []
        self.fails_at: int | None = None

    def __call__(self, steps: Sequence[str], examples: Sequence[RatedExample]) -> list[float | None]:
        if len(self.seen) == self.fails_at:
            raise ConnectionError("pulled the plug")
        self.seen.append({example.item for example in examples})
        return [self.rating(quality(steps), example) for example in examples]

    def rating(self, care: int, example: RatedExample) -> float | None:
        right = int(example.variables["counter_narrative"][-2:]) * 7 % BEST < care
        return example.value if right else 6 - example.value


class Drafter:
    """Drafts steps of the given qualities, and edits them by fixed amounts, up to the best."""

    name = "drafter"

    def __init__(self, *drafts: str | ChatResponse) -> None:
        self.configuration: dict[str, Any] = {"kind": "simulated"}
        self.drafts = list(drafts) or [written(care) for care in (2, 5, 3, 4)]
        self.changes = {"modify": 1, "paraphrase": 0, "add": -1, "calibrate": 2}
        self.calls: list[ChatRequest] = []

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        for call in calls:
            self.calls.append(call)
            content = json.loads(call.messages[1]["content"])
            if "steps" in content:
                edit = next(edit for edit, words in EDITS.items() if words in call.messages[0]["content"])
                care = min(BEST, quality(content["steps"]) + self.changes[edit])
                yield ChatResponse(f"1. {edit.capitalize()}.\n2. Grade with care {care}.")
            else:
                drafted = self.drafts[len(self.calls) - 1]
                yield drafted if isinstance(drafted, ChatResponse) else ChatResponse(drafted)

    @property
    def seen(self) -> set[str]:
        return {f"hs-{number}" for call in self.calls for number in re.findall(r"h(\d\d)\b", str(call.messages))}


def quality(steps: Sequence[str]) -> int:
    return int(re.findall(r"\d+", steps[-1])[-1])


def written(care: int) -> str:
    return json.dumps({"steps": [f"Grade with care {care}."]})


def items(examples: Iterable[RatedExample]) -> set[str]:
    return {example.item for example in examples}


def run(
    folder: Path,
    *,
    judge: Judge | None = None,
    drafter: Drafter | None = None,
    parts: CalibrationParts = PARTS,
    settings: CalibrationSettings = SETTINGS,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[Calibration, list[dict[str, Any]]]:
    log = folder / "log.jsonl"
    made = search_steps(
        ASPECT,
        parts,
        rate=judge or Judge(),
        drafter=drafter or Drafter(),
        settings=settings,
        log=log,
        rater="judge",
        progress=progress,
    )
    return made, [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def candidates(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["record"] == "candidate"]


def expected(care: int, part: Sequence[RatedExample]) -> float:
    judge = Judge()
    return round(float(stats.spearmanr([judge.rating(care, e) for e in part], [e.value for e in part]).statistic), 10)


def test_the_best_steps_are_found(tmp_path: Path) -> None:
    made, records = run(tmp_path)
    # 5 is the best draft; in three rounds of at most +2 it becomes 7, 9 and 10, which is the best there is.
    assert quality(made.steps.steps) == BEST
    assert made.steps == EvaluationSteps("relevance", 1, 5, ("Calibrate.", "Grade with care 10."), made.steps.signature)
    assert made.selection == CorrelationScore(1.0, None, 30, 0)
    assert made.report == CorrelationScore(1.0, None, 30, 0, 1.0, 1.0)
    assert made.baseline.value == expected(4, PARTS.report)
    assert made.gain.value == round(1.0 - expected(4, PARTS.report), 10)
    assert [(each["phase"], each["how"], each["size"], each["trial"]) for each in candidates(records)[:4]] == [
        ("draft", "draft", 2, 1),
        ("draft", "draft", 2, 2),
        ("draft", "draft", 4, 1),
        ("draft", "draft", 4, 2),
    ]


def test_every_candidate_is_in_the_log_with_its_score(tmp_path: Path) -> None:
    made, records = run(tmp_path, settings=replace(SETTINGS, rounds=1))
    assert [record["record"] for record in records] == ["settings"] + ["candidate"] * 4 + ["kept"] + [
        "candidate"
    ] * 8 + ["report"]
    assert records[0]["signature"] == made.steps.signature
    tried = candidates(records)
    assert [each["candidate"] for each in tried] == list(range(1, 13))
    kept = sorted(range(1, 5), key=lambda number: -tried[number - 1]["selection"]["value"])[:2]
    assert records[5] == {"record": "kept", "round": 1, "candidates": kept}
    assert [(each["parent"], each["how"]) for each in tried[4:]] == [
        (number, edit) for number in kept for edit in EDITS
    ]
    for each in tried:
        assert each["selection"] == {"value": expected(quality(each["steps"]), PARTS.select), "n": 30, "n_missing": 0}
        assert (each["status"], each["reason"]) == ("usable", None)
        assert re.fullmatch("[0-9a-f]{12}", each["prompt"])
    assert len({each["prompt"] for each in tried}) == 12
    assert made.tally == {"draft: usable": 4, "refine: usable": 8}
    assert records[-1]["candidate"] == made.candidate


def test_the_errors_shown_are_the_largest_of_the_drafting_part(tmp_path: Path) -> None:
    _, records = run(tmp_path, settings=replace(SETTINGS, rounds=1, keep=1))
    judge = Judge()
    off = [(abs((judge.rating(5, example) or 0) - example.value), example) for example in PARTS.draft]
    worst = sorted((size for size, _ in off), reverse=True)[:3]
    by_item = [(example.item, example.value, judge.rating(5, example)) for _, example in off]
    for each in candidates(records)[4:]:
        assert [abs(given - value) for _, value, given in each["shown"]] == worst
        assert all(tuple(shown) in by_item for shown in each["shown"])


# ---- Nothing of one part is used for another.


def guard(judge: Judge, drafter: Drafter, parts: CalibrationParts) -> None:
    """What must hold of every calibration, seen from the outside."""
    draft, select, report = items(parts.draft), items(parts.select), items(parts.report)
    assert not draft & select
    assert not draft & report
    assert not select & report
    assert drafter.seen
    assert drafter.seen <= draft
    *before, best, baseline = judge.seen
    assert best == baseline == report
    assert all(seen in (draft, select) for seen in before)
    assert not any(seen & report for seen in before)


def test_the_drafter_the_selection_and_the_report_see_their_own_part_only(tmp_path: Path) -> None:
    judge, drafter = Judge(), Drafter()
    run(tmp_path, judge=judge, drafter=drafter)
    guard(judge, drafter, PARTS)
    assert judge.seen.count(items(PARTS.report)) == 2  # the best steps and the task's own, once each


def forced(
    draft: Sequence[RatedExample], select: Sequence[RatedExample], report: Sequence[RatedExample]
) -> CalibrationParts:
    """CalibrationParts past their own check."""
    parts = object.__new__(CalibrationParts)
    for name, examples in (("draft", draft), ("select", select), ("report", report)):
        object.__setattr__(parts, name, tuple(examples))
    return parts


@pytest.mark.parametrize(
    "leaked",
    [
        forced(PARTS.draft, PARTS.report, PARTS.report),
        forced(PARTS.draft, PARTS.select + PARTS.report[:1], PARTS.report),
        forced(PARTS.draft + PARTS.report[:1], PARTS.select, PARTS.report),
        forced(PARTS.draft + PARTS.select[:1], PARTS.select, PARTS.report),
    ],
)
def test_the_guard_sees_a_leaked_split_and_parts_refuse_it(tmp_path: Path, leaked: CalibrationParts) -> None:
    judge, drafter = Judge(), Drafter()
    run(tmp_path, judge=judge, drafter=drafter, parts=leaked)
    with pytest.raises(AssertionError):
        guard(judge, drafter, leaked)
    with pytest.raises(InputError, match=r"is in the \w+ part and in the \w+ part: keep all rows of an HS in one part"):
        CalibrationParts(leaked.draft, leaked.select, leaked.report)


@pytest.mark.parametrize(
    ("place", "part"), [("_selection", "report"), ("_drafting", "report"), ("_drafting", "select")]
)
def test_the_guard_sees_an_algorithm_that_leaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, part: str
) -> None:
    begin = module._Search.__post_init__

    def leak(work: module._Search) -> None:
        begin(work)
        setattr(work, place, getattr(work.parts, part))

    monkeypatch.setattr(module._Search, "__post_init__", leak)
    judge, drafter = Judge(), Drafter()
    run(tmp_path, judge=judge, drafter=drafter)
    with pytest.raises(AssertionError):
        guard(judge, drafter, PARTS)


class Guesser(Judge):
    """Its ratings depend on the steps and the example, and not at all on what people said."""

    guesses = np.random.default_rng(0).integers(1, 6, size=(360, len(EXAMPLES)))

    def rating(self, care: int, example: RatedExample) -> float:
        return float(self.guesses[care, int(example.variables["counter_narrative"][-2:])])


@pytest.mark.long
def test_a_judge_that_guesses_looks_good_only_where_report_data_leak_into_the_selection(tmp_path: Path) -> None:
    settings = CalibrationSettings(sizes=(2,), trials=30, rounds=0, resamples=100)
    reports: dict[str, list[float]] = {"sound": [], "leaked": []}
    for seed in range(12):
        sound = split_examples(EXAMPLES, seed=seed, shares=(0.25, 0.375, 0.375))
        for name, parts in (("sound", sound), ("leaked", forced(sound.draft, sound.report, sound.report))):
            drafter = Drafter(*(written(care) for care in range(30 * seed, 30 * seed + 30)))
            made, _ = run(tmp_path, judge=Guesser(), drafter=drafter, settings=settings, parts=parts)
            reports[name].append(made.report.value or 0.0)
            if name == "leaked":
                assert made.report.value == made.selection.value
    # The best of 30 guesses on 30 examples: two standard errors (.19 each) above 0; elsewhere it guesses.
    assert np.mean(reports["leaked"]) > 0.3
    assert abs(np.mean(reports["sound"])) < 0.15


# ---- Interruption.


def test_a_run_that_was_stopped_anywhere_ends_as_one_that_was_not(tmp_path: Path) -> None:
    judge = Judge()
    settings = replace(SETTINGS, rounds=1)
    made, _ = run(tmp_path / "whole", judge=judge, settings=settings)
    whole = (tmp_path / "whole" / "log.jsonl").read_bytes()
    assert len(judge.seen) == 4 + 2 + 8 + 2
    for moment in range(len(judge.seen)):
        folder = tmp_path / str(moment)
        stopped = Judge()
        stopped.fails_at = moment
        with pytest.raises(ConnectionError):
            run(folder, judge=stopped, settings=settings)
        assert not (folder / "log.jsonl").exists()
        assert whole.startswith((folder / "log.jsonl.partial").read_bytes())
        assert run(folder, settings=settings)[0] == made
        assert (folder / "log.jsonl").read_bytes() == whole
        assert [path.name for path in folder.iterdir()] == ["log.jsonl"]


def test_the_log_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    partial = tmp_path / "log.jsonl.partial"
    lines: list[int] = []

    def look(line: str) -> None:
        if "scoring" in line:
            lines.append(len(partial.read_text(encoding="utf-8").splitlines()))

    run(tmp_path, settings=replace(SETTINGS, rounds=0), progress=look)
    assert lines == [1, 2, 3, 4]


# ---- What can go wrong with drafts and ratings.


def test_failed_drafts_are_recorded_with_their_reason(tmp_path: Path) -> None:
    drafter = Drafter(ChatResponse(None, "rate_limited"), "I cannot help with that.", ChatResponse(" "), written(5))
    made, records = run(tmp_path, drafter=drafter, settings=replace(SETTINGS, rounds=0))
    assert [(each["status"], each["reason"], each["selection"] is None) for each in candidates(records)] == [
        ("failed", "rate_limited", True),
        ("failed", "no_list", True),
        ("failed", "empty", True),
        ("usable", None, False),
    ]
    assert made.candidate == 4
    assert made.tally == {"draft: failed": 3, "draft: usable": 1}


def test_drafts_that_failed_for_a_passing_reason_are_counted(tmp_path: Path) -> None:
    drafter = Drafter(
        ChatResponse(reason="timeout"), written(5), ChatResponse(reason="filtered"), ChatResponse(reason="server_error")
    )
    made, _ = run(tmp_path, drafter=drafter, settings=replace(SETTINGS, rounds=0))
    assert (made.failed_drafts, made.tally) == (2, {"draft: failed": 3, "draft: usable": 1})


def test_drafts_that_copy_an_example_that_they_saw_fail(tmp_path: Path) -> None:
    def told(example: RatedExample) -> RatedExample:
        return replace(example, variables={**example.variables, "note": f"The story of note {example.item[3:]}"})

    parts = CalibrationParts(*(tuple(told(example) for example in part) for _, part in PARTS))
    _, records = run(tmp_path / "first", parts=parts, settings=replace(SETTINGS, rounds=0))
    seen, unseen = candidates(records)[0]["shown"][0][0], PARTS.report[0].item
    notes = [f"1. Think of the story of note {item[3:]}.\n2. Grade with care 5." for item in (seen, unseen)]
    drafter = Drafter(notes[0], notes[1].replace("5", "6"), written(3), written(4))
    _, records = run(tmp_path / "second", drafter=drafter, parts=parts, settings=replace(SETTINGS, rounds=0))
    assert [each["reason"] for each in candidates(records)] == ["copies_example", None, None, None]


def test_no_usable_draft_is_one_clear_line(tmp_path: Path) -> None:
    drafter = Drafter("", "", "No.", ChatResponse(None, "timeout"))
    with pytest.raises(InputError) as caught:
        run(tmp_path, drafter=drafter)
    partial = tmp_path / "log.jsonl.partial"
    assert str(caught.value) == (
        "none of 4 candidates for relevance is usable (2 failed: empty, 1 failed: no_list, 1 failed: timeout): see "
        f"{partial}, and use another drafter, other settings, or another judge"
    )
    assert len(partial.read_text(encoding="utf-8").splitlines()) == 5


def test_steps_that_were_tried_before_are_not_rated_again(tmp_path: Path) -> None:
    judge = Judge()
    drafter = Drafter(written(3), written(5), "1. Grade with care 3.", written(4))
    _, records = run(tmp_path, judge=judge, drafter=drafter, settings=replace(SETTINGS, rounds=0))
    assert [(each["status"], each["same_as"]) for each in candidates(records)] == [
        ("usable", None),
        ("usable", None),
        ("duplicate", 1),
        ("usable", None),
    ]
    assert len(judge.seen) == 3 + 2


class Patchy(Judge):
    """Has no rating for as many of the first examples as the steps' number exceeds 10 by; right if those are many."""

    def __call__(self, steps: Sequence[str], examples: Sequence[RatedExample]) -> list[float | None]:
        self.seen.append(items(examples))
        gone = quality(steps) - BEST
        off = 0 if gone > 6 else 1
        return [None if row < gone else min(5.0, e.value + off * (row % 2)) for row, e in enumerate(examples)]


def test_missing_ratings_are_left_out_and_too_many_rule_a_candidate_out(tmp_path: Path) -> None:
    drafter = Drafter(written(17), written(16), written(40), written(41))
    settings = replace(SETTINGS, rounds=0)
    made, records = run(tmp_path, judge=Patchy(), drafter=drafter, settings=settings)
    tried = candidates(records)
    assert [each["status"] for each in tried] == ["too_many_missing", "usable", "too_many_missing", "too_many_missing"]
    assert [each["selection"]["n_missing"] for each in tried] == [7, 6, 30, 30]
    assert tried[0]["selection"]["value"] == 1.0
    assert made.candidate == 2
    kept = PARTS.select[6:]
    right = stats.spearmanr(
        [min(5, e.value + row % 2) for row, e in enumerate(kept)], [e.value for e in kept]
    ).statistic
    # In the worst case the first six were rated 1 where people are above the median, and 5 elsewhere.
    people = [example.value for example in PARTS.select]
    worst = [1 if value > np.median(people) else 5 for value in people]
    given = [*worst[:6], *(min(5, value + row % 2) for row, value in enumerate(people[6:]))]
    assert tried[1]["selection"] == {
        "value": pytest.approx(right, abs=1e-9),
        "n": 24,
        "n_missing": 6,
        "worst": pytest.approx(stats.spearmanr(given, people).statistic, abs=1e-9),
    }
    assert tried[2]["selection"] == {"value": None, "n": 0, "n_missing": 30}
    assert (made.report.n, made.report.n_missing) == (24, 6)
    assert (made.baseline.n, made.baseline.n_missing) == (30, 0)
    assert (made.gain.n, made.gain.n_missing) == (24, 6)


class Cowardly(Judge):
    """Whatever the steps, the same ratings; odd steps give none on the five examples that it misjudges most."""

    guesses = np.random.default_rng(4).normal(0, 1.2, size=len(EXAMPLES))

    def __call__(self, steps: Sequence[str], examples: Sequence[RatedExample]) -> list[float | None]:
        given = [self.rating(0, example) for example in examples]
        worst = sorted(range(len(examples)), key=lambda row: -abs(given[row] - examples[row].value))[:5]
        return [None if row in worst and quality(steps) % 2 else value for row, value in enumerate(given)]

    def rating(self, care: int, example: RatedExample) -> float:
        return float(np.clip(example.value + self.guesses[int(example.variables["counter_narrative"][-2:])], 1, 5))


def test_steps_that_fail_on_hard_examples_gain_nothing_by_it(tmp_path: Path) -> None:
    drafter = Drafter(written(3), written(2), written(5), written(7))
    made, records = run(tmp_path, judge=Cowardly(), drafter=drafter, settings=replace(SETTINGS, rounds=0))
    failing, whole = (each["selection"] for each in candidates(records)[:2])
    assert (failing["n_missing"], whole["n_missing"]) == (5, 0)
    assert failing["value"] > whole["value"] > failing["worst"]
    assert (made.candidate, made.selection.worst_case) == (2, whole["value"])


def test_the_worst_case_is_known_only_with_a_scale_and_something_missing() -> None:
    human, given = [1.0, 2.0, 3.0, 4.0], [1.0, None, 3.0, None]
    scaled = score_predictions("pearson", given, human, scale=(1, 5))
    assert scaled.worst == round(stats.pearsonr([1, 5, 3, 1], human).statistic, 10)
    assert score_predictions("pearson", given, human).worst is None
    assert score_predictions("pearson", [1.0, 2.0, 3.0, 4.0], human, scale=(1, 5)).worst is None


class Constant(Judge):
    def rating(self, care: int, example: RatedExample) -> float:
        return 3.0 if care < 5 else example.value


def test_constant_ratings_have_no_correlation_rather_than_0(tmp_path: Path) -> None:
    made, records = run(tmp_path, judge=Constant(), settings=replace(SETTINGS, rounds=0))
    tried = candidates(records)
    assert [(each["status"], each["reason"]) for each in tried] == [
        ("undefined", "constant_predictions"),
        ("usable", None),
        ("undefined", "constant_predictions"),
        ("undefined", "constant_predictions"),
    ]
    assert tried[0]["selection"] == {"value": None, "n": 30, "n_missing": 0}
    assert made.baseline == CorrelationScore(None, "constant_predictions", 30, 0, n_undefined=100)
    assert made.gain == CorrelationScore(None, "constant_predictions", 30, 0, n_undefined=100)


def test_of_equal_candidates_the_earlier_one_wins(tmp_path: Path) -> None:
    class Even(Judge):
        def rating(self, care: int, example: RatedExample) -> float:
            return example.value if care > 2 else 6 - example.value

    made, records = run(tmp_path, judge=Even(), settings=replace(SETTINGS, rounds=1))
    assert made.candidate == 2  # drafts of 2, 5, 3, 4: the second is the first that is right
    kept = [record for record in records if record["record"] == "kept"]
    assert kept == [{"record": "kept", "round": 1, "candidates": [2, 3]}]
    # Candidates that misjudge nothing have nothing to be refined on.
    assert [record["candidate"] for record in records if record["record"] == "no_errors"] == [2, 3]
    assert len(candidates(records)) == 4


# ---- Requests.


def test_drafts_are_sampled_at_temperatures_of_the_range_and_told_apart(tmp_path: Path) -> None:
    drafter = Drafter()
    settings = replace(SETTINGS, rounds=2, keep=1, refinements=2, temperatures=(0.2, 0.9), max_tokens=77, seed=5)
    _, records = run(tmp_path, drafter=drafter, settings=settings)
    samplings = [call.sampling for call in drafter.calls]
    assert [sampling.temperature for sampling in samplings] == [each["temperature"] for each in candidates(records)]
    drafted = [sampling.temperature or 0.0 for sampling in samplings[:4]]
    assert len(set(drafted)) == 4
    assert min(drafted) >= 0.2
    assert max(drafted) <= 0.9
    assert [sampling.temperature for sampling in samplings[4:]] == [0.9] * 16
    assert {sampling.max_tokens for sampling in samplings} == {77}
    assert [call.sample for call in drafter.calls] == [0, 1, 0, 1] + [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4
    assert [sampling.seed for sampling in samplings] == [5 + call.sample for call in drafter.calls]


def test_models_without_a_temperature_are_sent_none(tmp_path: Path) -> None:
    drafter = Drafter()
    run(tmp_path, drafter=drafter, settings=replace(SETTINGS, temperatures=None))
    assert {call.sampling.temperature for call in drafter.calls} == {None}


def test_the_seed_decides_the_examples(tmp_path: Path) -> None:
    def shown(seed: int) -> list[Any]:
        return [each["shown"] for each in candidates(run(tmp_path, settings=replace(SETTINGS, seed=seed))[1])[:4]]

    assert shown(0) == shown(0)
    assert shown(0) != shown(1)


def test_a_run_takes_no_more_than_its_settings_say(tmp_path: Path) -> None:
    judge, drafter = Judge(), Drafter()
    settings = replace(SETTINGS, rounds=1)
    run(tmp_path, judge=judge, drafter=drafter, settings=settings)
    # 4 drafts and 2 x 4 refinements on 30 examples, 2 candidates on 20 of the drafting part, 2 on 30 of the report.
    assert len(drafter.calls) == 12
    sizes = {frozenset(items(part)): len(part) for _, part in PARTS}
    assert sum(sizes[frozenset(seen)] for seen in judge.seen) == 12 * 30 + 2 * 20 + 2 * 30


# ---- CalibrationParts.


def test_split_keeps_items_together_and_depends_on_the_seed_only() -> None:
    parts = split_examples(EXAMPLES, seed=3, shares=(0.25, 0.375, 0.375))
    assert [len(items(part)) for _, part in parts] == [10, 15, 15]
    assert [len(part) for _, part in parts] == [20, 30, 30]
    assert sorted((e.item, e.value) for _, part in parts for e in part) == sorted((e.item, e.value) for e in EXAMPLES)
    shuffled = split_examples(EXAMPLES[::-1], seed=3, shares=(0.25, 0.375, 0.375))
    assert [items(part) for _, part in shuffled] == [items(part) for _, part in parts]
    assert [items(part) for _, part in split_examples(EXAMPLES, seed=4)] != [
        items(part) for _, part in split_examples(EXAMPLES, seed=3)
    ]


def test_texts_that_several_hs_share_stay_in_one_part() -> None:
    # Ten pairs of HS that differ in case only, five pairs with one CN, twenty HS of their own.
    examples = []
    for number in range(50):
        message = f"Ombrey {number // 2}" if number < 20 else f"Tessok {number}"
        reply = f"Shared {number // 2}" if 20 <= number < 30 else f"Own {number}"
        shown = {"hate_speech": message.upper() if number % 2 else message, "counter_narrative": f" {reply}"}
        examples.append(RatedExample(f"hs-{number:02}", shown, float(number % 5 + 1)))
    for seed in range(5):
        parts = split_examples(examples, seed=seed)
        assert [one["items"] for one in parts.summary().values()] == [7, 14, 14]
        assert [one["shared_texts"] for one in parts.summary().values()] == [0, 0, 0]
        for at in (0, 1):
            texts = [{list(e.variables.values())[at].casefold() for e in part} for _, part in parts]
            assert not texts[0] & texts[1] and not texts[0] & texts[2] and not texts[1] & texts[2]
    assert {example.item for _, part in parts for example in part} == {
        f"hs-{number:02}" for number in range(50) if number >= 30 or not number % 2
    }


def test_where_all_hs_have_the_same_replies_the_result_says_so() -> None:
    examples = [
        RatedExample(
            f"hs-{row:02}", {"hate_speech": f"Ombrey {row}", "counter_narrative": f"No {row % 2}."}, float(row % 5)
        )
        for row in range(50)
    ]
    summary = split_examples(examples).summary()
    assert [(one["items"], one["shared_texts"]) for one in summary.values()] == [(10, 10), (20, 20), (20, 20)]


def test_too_few_hs_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        split_examples(EXAMPLES[:40])
    assert str(caught.value) == (
        "found ratings of 20 HS, expected 5 or more for each of the three parts: give about 25 HS or more, "
        "or a larger --limit"
    )
    assert [len(items(part)) for _, part in split_examples(EXAMPLES[:50])] == [5, 10, 10]


def test_examples_are_spread_over_the_grades() -> None:
    examples = [RatedExample(str(row), {}, value) for row, value in enumerate([1.0] * 20 + [2.0] * 2 + [5.0])]
    for seed in range(20):
        drawn = sample_across_grades(examples, 5, np.random.default_rng(seed))
        assert sorted(example.value for example in drawn) == [1, 1, 1, 2, 2] or sorted(
            example.value for example in drawn
        ) == [1, 1, 2, 2, 5]
        assert {example.value for example in sample_across_grades(examples, 3, np.random.default_rng(seed))} == {
            1,
            2,
            5,
        }
        assert len({example.item for example in drawn}) == 5


# ---- Scores.


@pytest.mark.parametrize("seed", range(5))
def test_correlations_are_those_of_scipy(seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = generator.integers(1, 6, size=(2, 40)).astype(float)  # grades: full of ties
    right: dict[Metric, float] = {
        "spearman": stats.spearmanr(x, y).statistic,
        "kendall": stats.kendalltau(x, y).statistic,
        "pearson": stats.pearsonr(x, y).statistic,
    }
    for metric, value in right.items():
        found, reason = correlate_values(metric, x, y)
        assert found == pytest.approx(value, abs=1e-12)
        assert reason is None


def test_what_has_no_correlation_has_a_reason() -> None:
    one, two = np.array([1.0]), np.array([1.0, 2.0])
    assert correlate_values("spearman", one, one) == (None, "too_few")
    assert correlate_values("kendall", two, np.array([3.0, 3.0])) == (None, "constant_human")
    assert correlate_values("pearson", np.array([3.0, 3.0]), two) == (None, "constant_predictions")


def test_intervals_draw_items_with_all_their_rows() -> None:
    human = [1.0, 2.0, 4.0, 3.0, 5.0, 2.0]
    first: list[float | None] = [1.0, 3.0, 4.0, 2.0, 5.0, 1.0]
    second: list[float | None] = [2.0, None, 1.0, 3.0, 4.0, 5.0]
    items_of = ("a", "a", "b", "c", "c", "c")
    rows = {"a": [0, 1], "b": [2], "c": [3, 4, 5]}
    generator = np.random.default_rng(7)
    alone, gains = [], []
    for _ in range(300):
        drawn = [row for draw in generator.integers(3, size=3) for row in rows["abc"[draw]]]
        both = [row for row in drawn if row != 1]
        if drawn != [2, 2, 2]:
            alone.append(stats.spearmanr([first[row] for row in drawn], [human[row] for row in drawn]).statistic)
        if set(both) not in ({2}, {0}):
            values = [
                stats.spearmanr([s[r] for r in both], [human[r] for r in both]).statistic for s in (first, second)
            ]
            gains.append(values[0] - values[1])
    bootstrap = ItemBootstrap(items_of, 300, 7)
    found = score_predictions("spearman", first, human, bootstrap=bootstrap)
    assert found.value == pytest.approx(stats.spearmanr(first, human).statistic, abs=1e-9)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(alone, [0.025, 0.975])), abs=1e-9)
    assert (found.n, found.n_missing, found.n_undefined) == (6, 0, 300 - len(alone))
    assert found.n_undefined > 0
    gain = score_difference("spearman", first, second, human, bootstrap)
    kept = [0, 2, 3, 4, 5]
    right = [stats.spearmanr([s[row] for row in kept], [human[row] for row in kept]).statistic for s in (first, second)]
    assert gain.value == pytest.approx(right[0] - right[1], abs=1e-9)
    assert (gain.low, gain.high) == pytest.approx(tuple(np.quantile(gains, [0.025, 0.975])), abs=1e-9)
    assert (gain.n, gain.n_missing, gain.n_undefined) == (5, 1, 300 - len(gains))


# ---- Files and settings.


def test_saved_steps_are_read_back_and_replace_those_of_the_aspect(tmp_path: Path) -> None:
    made, _ = run(tmp_path)
    path = tmp_path / "made" / "relevance.yaml"
    made.save(path)
    assert load_steps(path) == made.steps
    assert load_steps(path).onto(ASPECT).steps == ["Calibrate.", "Grade with care 10."]
    assert load_steps(path).onto(ASPECT).question == ASPECT.question
    assert [each.name for each in path.parent.iterdir()] == ["relevance.yaml"]
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert list(content) == [
        *("aspect", "low", "high", "steps", "signature", "candidate", "selection", "report", "baseline", "gain"),
        *("parts", "settings", "tally", "failed_drafts"),
    ]
    assert content["report"] == {
        **{"value": 1.0, "reason": None, "n": 30, "n_missing": 0, "low": 1.0, "high": 1.0, "n_undefined": 0},
        "worst": None,
    }
    assert {name: (part["items"], part["examples"]) for name, part in content["parts"].items()} == {
        "draft": (10, 20),
        "select": (15, 30),
        "report": (15, 30),
    }
    assert content["settings"]["sizes"] == [2, 4]
    before = path.read_bytes()
    run(tmp_path)[0].save(path)
    assert path.read_bytes() == before


def test_steps_for_another_aspect_or_scale_are_refused() -> None:
    steps = EvaluationSteps("relevance", 1, 5, ("Read.",), "s")
    other = ASPECT.model_copy(update={"high": 3})
    with pytest.raises(InputError) as caught:
        steps.onto(other)
    assert str(caught.value) == (
        "the steps were calibrated for relevance from 1 to 5, not for relevance from 1 to 3: give steps for this "
        "aspect and scale"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "aspect: a\nlow: 1\nhigh: 5\nsteps: Read.\nsignature: s\n",
            "line 4: steps: Input should be a valid tuple (found 'Read.')",
        ),
        ("aspect: a\nlow: 1\nhigh: 5\nsteps: []\nsignature: s\n", "line 4: steps: Tuple should have at least 1 item"),
        ("aspect: a\nlow: 1\nhigh: 5\nsteps: [1]\nsignature: s\n", "line 4: steps.0: Input should be a valid string"),
        (
            "aspect: a\nlow: true\nhigh: 5\nsteps: [Read.]\nsignature: s\n",
            "line 2: low: Input should be a valid integer (found True)",
        ),
        ("aspect: a\nlow: 1\nhigh: 5\nsteps: [Read.]\n", "line 1: signature: Field required"),
    ],
)
def test_a_file_that_holds_no_steps_is_refused(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "steps.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_steps(path)
    assert found in str(caught.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is missing: give a file of `fcconan judge calibrate`"):
        load_steps(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"sizes": ()}, "sizes are []: give one or more different numbers above 0"),
        ({"sizes": (3, 3)}, r"sizes are [3, 3]"),
        ({"temperatures": (1.0, 0.5)}, "temperatures are [1.0, 0.5]"),
        ({"temperatures": (-0.5, 0.5)}, "temperatures are [-0.5, 0.5]"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        CalibrationSettings(**setting)
    assert message in str(caught.value)


def test_ratings_off_the_scale_constant_ratings_and_too_large_sizes_are_refused(tmp_path: Path) -> None:
    zero = (replace(PARTS.draft[0], value=0.0), *PARTS.draft[1:])
    with pytest.raises(InputError) as caught:
        run(tmp_path, parts=CalibrationParts(zero, PARTS.select, PARTS.report))
    assert str(caught.value) == (
        f"an example of {PARTS.draft[0].item} in the draft part has the rating 0: "
        "relevance has the scale 1 to 5, so leave it out"
    )
    constant = tuple(replace(example, value=2.0) for example in PARTS.report)
    with pytest.raises(InputError, match=r"^all 30 examples of the report part have the rating 2: a correlation needs"):
        run(tmp_path, parts=CalibrationParts(PARTS.draft, PARTS.select, constant))
    with pytest.raises(InputError, match=r"^the largest size is 21, and the draft part has 20 examples: lower it$"):
        run(tmp_path, settings=CalibrationSettings(sizes=(2, 21)))
    assert list(tmp_path.iterdir()) == []  # refused before anything was written
