import json
from typing import Any

import pytest

from fcconan.models.requests import ChatResponse, Sampling, TokenAlternatives
from fcconan.models.responses import fault, read_reply


def completion(content: Any = "3", **changes: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop", **changes}
    return {"model": "m-1", "choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}}


SAID = {"model": "m-1", "prompt_tokens": 7, "completion_tokens": 3}


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        (completion(), None),
        (completion(None), None),
        ({}, "no choices"),
        ({"choices": []}, "no choices"),
        ({"choices": {"0": {}}}, "no choices"),
        ({"choices": ["3"]}, "no choices"),
        ({"choices": [{"text": "3"}]}, "no message"),
        ({"choices": [{"message": "3"}]}, "no message"),
        (completion([{"type": "text", "text": "3"}]), None),
        (completion(["3"]), "no message"),
        (completion(3), "no message"),
        (completion("3", finish_reason="error"), "the choice is an error (None)"),
        (completion("3", error={"code": 502}), "the choice is an error ({'code': 502})"),
        (completion("3", error=None), None),
    ],
)
def test_the_shape_of_a_completion_is_checked(body: dict[str, Any], wrong: str | None) -> None:
    assert fault({}, body) == wrong


def test_words_are_read_with_their_tokens() -> None:
    assert read_reply(completion(" 3 "), structured=True) == ChatResponse(" 3 ", structured=True, **SAID)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (completion("3", finish_reason="length"), {"reason": "truncated", "cut": "3"}),
        (completion("", finish_reason="length"), {"reason": "truncated", "cut": None}),
        (completion(None, finish_reason="length"), {"reason": "truncated", "cut": None}),
        (completion("3", finish_reason="content_filter"), {"reason": "filtered"}),
        (completion("3", message={"content": "3", "refusal": "I would rather not."}), {"reason": "refused"}),
        (completion("3", message={"content": "3", "refusal": ""}), {"text": "3"}),
        (completion(None), {"reason": "empty"}),
        (completion(" \n"), {"reason": "empty"}),
        (completion("3", finish_reason=None), {"text": "3"}),
        (completion([{"type": "text", "text": "3 "}, {"text": "of 5"}]), {"text": "3 of 5"}),
        (completion([{"type": "thinking", "text": "4?"}, {"type": "text", "text": "3"}]), {"text": "3"}),
        (completion([{"type": "text", "text": None}]), {"reason": "empty"}),
        (completion([{"text": "3"}], finish_reason="length"), {"reason": "truncated", "cut": "3"}),
    ],
)
def test_what_is_no_whole_answer_has_a_reason_and_no_text(body: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read_reply(body) == ChatResponse(**{**SAID, **expected})


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": "7", "completion_tokens": True}])
def test_odd_counts_are_no_counts(usage: Any) -> None:
    reply = read_reply({**completion(), "usage": usage, "model": None})
    assert reply == ChatResponse("3")


def test_half_a_character_becomes_a_replacement_character() -> None:
    halves = json.loads(r'"3 \ud83d and \ude00 but \ud83d\ude00, \ufeff, \ud83d"')
    whole = "3 \ufffd and \ufffd but \U0001f600, \ufeff, \ufffd"
    assert read_reply(completion(halves)).text == whole
    assert read_reply(completion(halves, finish_reason="length")).cut == whole


def logprobs(*entries: Any) -> dict[str, Any]:
    return completion("3", logprobs={"content": list(entries)})


def test_logprobs_hold_the_token_itself_and_the_likelier_of_two_with_one_text() -> None:
    top = [{"token": "3", "logprob": -0.5}, {"token": "4", "logprob": -2}, {"token": "4", "logprob": -1}]
    entry = {"token": "5", "logprob": -9.0, "top_logprobs": top}
    again = {"token": "3", "logprob": -0.7, "top_logprobs": top[:1]}
    assert read_reply(logprobs(entry, again, {"token": "\n", "logprob": 0})).logprobs == (
        TokenAlternatives("5", {"3": -0.5, "4": -1.0, "5": -9.0}),
        TokenAlternatives("3", {"3": -0.5}),
        TokenAlternatives("\n", {"\n": 0.0}),
    )


@pytest.mark.parametrize(
    "entry",
    [
        {"token": "3", "logprob": "likely"},
        {"token": "3", "logprob": -1, "top_logprobs": ["4"]},
        {"token": "3", "logprob": -1, "top_logprobs": 4},
        {"logprob": -1},
        "3",
    ],
)
def test_odd_logprobs_are_none_and_the_words_stay(entry: Any) -> None:
    reply = read_reply(logprobs({"token": "3", "logprob": -1}, entry))
    assert (reply.text, reply.logprobs) == ("3", None)


@pytest.mark.parametrize("found", [None, {}, {"content": None}, {"content": []}, []])
def test_no_logprobs_are_none(found: Any) -> None:
    assert read_reply(completion("3", logprobs=found)).logprobs is None


@pytest.mark.parametrize("none", [None, float("nan"), float("-inf"), float("inf")])
def test_an_alternative_without_a_finite_number_is_left_out(none: float | None) -> None:
    top = [{"token": "4", "logprob": none}, {"token": "5", "logprob": -2}]
    entries = {"token": "3", "logprob": -1, "top_logprobs": top}, {"token": "3", "logprob": none}
    assert read_reply(logprobs(*entries)).logprobs == (
        TokenAlternatives("3", {"5": -2.0, "3": -1.0}),
        TokenAlternatives("3", {}),
    )


def test_settings_at_the_ends_of_their_range_are_taken() -> None:
    ends = Sampling(temperature=0, max_tokens=1, top_p=1, top_logprobs=20)
    assert (ends.temperature, ends.max_tokens, ends.top_p, ends.top_logprobs) == (0, 1, 1, 20)
    assert Sampling(None, None, None, (), None).temperature is None
