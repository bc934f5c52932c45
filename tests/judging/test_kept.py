import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from fcconan.judging.rating import ModelJudge
from fcconan.judging.rating_cache import KeptRatings
from fcconan.judging.strategies import Plan
from fcconan.models.client import Client
from fcconan.models.endpoint import EndpointModel
from fcconan.models.requests import Call, CallReason, Reply
from tests.judging.fake_model import FakeModel, aspect, row, task

ROWS = [row(number, f"The Tessok bake {number} loaves.") for number in range(1, 8)]


def judge(fails_at: int = 0, reason: CallReason = "timeout", **further: Any) -> ModelJudge:
    def answer(call: Call) -> Reply | str:
        number = next(each for each in range(1, 8) if f"bake {each} " in str(call.messages))
        return Reply(reason=reason) if number == fails_at else json.dumps({"calm": number % 5 + 1})

    return ModelJudge(FakeModel(answer), Plan(task(aspect("calm"), **further)))


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    path.touch()
    return path


def run(rater: ModelJudge, journal: Path, rows: list[dict[str, Any]], stop: int | None = None) -> list[Any]:
    rating = KeptRatings(rater, journal).rate(rows)
    found = list(islice(rating, stop))
    rating.close()  # type: ignore[attr-defined]
    return found


def asked(rater: ModelJudge) -> int:
    assert isinstance(rater.model, FakeModel)
    return len(rater.model.calls)


def test_a_run_that_goes_on_takes_what_was_made_and_makes_the_rest(journal: Path) -> None:
    whole = list(judge().rate(ROWS))
    assert run(judge(), journal, ROWS, stop=4) == whole[:4]
    second = judge()
    assert (run(second, journal, ROWS), asked(second)) == (whole, 3)
    third = judge()
    assert (run(third, journal, ROWS), asked(third)) == (whole, 0)


def test_a_changed_reply_is_rated_again_and_the_others_are_not(journal: Path) -> None:
    run(judge(), journal, ROWS)
    changed = [*ROWS[:2], ROWS[2] | {"hate_speech": "Ombrey do nothing."}, *ROWS[3:]]
    second = judge()
    assert (run(second, journal, changed), asked(second)) == (list(judge().rate(changed)), 1)
    shuffled = [changed[place] for place in (6, 2, 0, 5, 1)]
    third = judge()
    assert (run(third, journal, shuffled), asked(third)) == (list(judge().rate(shuffled)), 0)
    fewer = judge()
    assert (len(run(fewer, journal, changed[:2])), asked(fewer)) == (2, 0)


def test_a_torn_line_is_computed_again(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = KeptRatings(judge(), journal)
    run(judge(), journal, ROWS)
    kept.path.write_bytes(kept.path.read_bytes()[:-20])
    second = judge()
    assert (run(second, journal, ROWS), asked(second)) == (list(judge().rate(ROWS)), 1)
    note = f"note: {kept.path} is damaged or of an older version: 1 of 7 entries are computed again\n"
    assert capsys.readouterr().err == note
    third = judge()
    assert (run(third, journal, ROWS), asked(third), capsys.readouterr().err) == (list(judge().rate(ROWS)), 0, "")


def test_edited_values_are_computed_again(journal: Path) -> None:
    kept = KeptRatings(judge(), journal)
    whole = run(judge(), journal, ROWS)
    text = kept.path.read_text()
    edited = text.replace('"value": 3.0', '"value": 5.0')
    assert edited.count('"value": 5.0') == text.count('"value": 5.0') + 2  # replies 2 and 7
    kept.path.write_text(edited)
    second = judge()
    assert (run(second, journal, ROWS), asked(second)) == (whole, 2)


@pytest.mark.parametrize("reason", ["timeout", "bad_body", "bad_request", "too_long"])
def test_a_failure_that_is_in_no_journal_is_not_kept(journal: Path, reason: CallReason) -> None:
    run(judge(3, reason), journal, ROWS)
    second = judge()
    assert (run(second, journal, ROWS), asked(second)) == (list(judge().rate(ROWS)), 1)


def test_a_failure_behind_a_known_reply_is_not_kept(journal: Path) -> None:
    run(judge(), journal, ROWS[1:2])
    assert len(run(judge(3), journal, ROWS[:3])) == 3
    third = judge()
    assert (run(third, journal, ROWS[:3]), asked(third)) == (list(judge().rate(ROWS[:3])), 1)


@pytest.mark.parametrize("reason", ["truncated", "filtered", "refused", "empty"])
def test_what_is_in_the_journal_is_kept(journal: Path, reason: CallReason) -> None:
    first = run(judge(3, reason), journal, ROWS)
    second = judge()
    assert (run(second, journal, ROWS), asked(second)) == (first, 0)


def test_with_and_without_a_schema_there_are_two_files(journal: Path) -> None:
    client = Client(journal=journal, base_url="http://127.0.0.1:9/v1")
    paths = {
        KeptRatings(
            ModelJudge(EndpointModel(client, "m", structured=structured), Plan(task(aspect("calm")))), journal
        ).path
        for structured in (True, False)
    }
    assert len(paths) == 2


def test_another_rubric_has_another_file(journal: Path) -> None:
    run(judge(), journal, ROWS)
    other = judge(rules=["Be fair."])
    run(other, journal, ROWS)
    assert asked(other) == 7
    assert len(list(journal.parent.glob("journal.jsonl.*.kept"))) == 2


def test_without_the_journal_all_is_asked_again(journal: Path) -> None:
    run(judge(), journal, ROWS)
    journal.unlink()
    second = judge()
    run(second, journal, ROWS)
    assert asked(second) == 7


def test_of_two_runs_at_once_one_keeps_and_both_rate(journal: Path) -> None:
    one, two = judge(), judge()
    first = KeptRatings(one, journal).rate(ROWS)
    whole = list(judge().rate(ROWS))
    assert next(first) == whole[0]
    assert run(two, journal, ROWS) == whole
    assert [whole[0], *first] == whole
    assert (asked(one), asked(two)) == (7, 7)


def test_a_run_at_its_end_leaves_nothing(journal: Path) -> None:
    kept = KeptRatings(judge(), journal)
    list(kept.rate(ROWS))
    kept.forget()
    kept.forget()
    assert [path.name for path in journal.parent.iterdir()] == ["journal.jsonl"]
