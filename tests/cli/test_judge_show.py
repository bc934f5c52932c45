"""`fcconan judge show` on answers of unusual shapes, which earlier versions or other programs may have stored."""

from pathlib import Path
from typing import Any

import pytest

from fcconan.models.answers.store import AnswerStore
from tests.cli.judging import fcconan


@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        ({"finish_reason": "stop", "message": {"content": "four"}}, "--- answer (stop)\nfour\n"),
        ({"finish_reason": "stop", "message": "four"}, "--- answer (stop)\nfour\n"),
        ({"message": [4]}, "--- answer (None)\n[4]\n"),
        ({"message": None}, "--- answer (None)\nNone\n"),
        ("four", '--- answer\n{"choices": ["four"]}\n'),
    ],
)
def test_an_answer_of_any_shape_is_shown(tmp_path: Path, choice: Any, shown: str) -> None:
    AnswerStore(tmp_path / "answers").put({"body": {"model": "stub", "messages": []}}, {"choices": [choice]})
    done = fcconan("judge", "show", "--response-cache", tmp_path / "answers")
    assert (done.status, done.stderr) == (0, "")
    assert shown in done.stdout


def test_a_model_without_answers_is_refused_with_those_that_have_some(tmp_path: Path) -> None:
    for model in ("oak", "elm"):
        AnswerStore(tmp_path / "answers").put({"body": {"model": model, "messages": []}}, {"choices": []})
    shown = fcconan("judge", "show", "--response-cache", tmp_path / "answers", "--only-model", "oak")
    assert shown.status == 0 and "elm" not in shown.stdout
    refused = fcconan("judge", "show", "--response-cache", tmp_path / "answers", "--only-model", "ash")
    assert refused.complaint == "found no answer of 'ash': choose from elm, oak"
