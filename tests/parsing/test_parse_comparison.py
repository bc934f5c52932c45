from decimal import Decimal
from typing import Literal

import pytest
from hypothesis import given, strategies as st

from fcconan.parsing import ParsedComparison, parse_comparison


@pytest.mark.parametrize(
    ("text", "value", "score_a", "score_b"),
    [
        ("8 10", "b", 8, 10),
        ("10 8", "a", 10, 8),  # never 1 and 0, and never 10 and 1
        ("10 10", "tie", 10, 10),
        ("1 1", "tie", 1, 1),
        ("1 10", "b", 1, 10),
        ("8, 7", "a", 8, 7),
        ("8,7", "a", 8, 7),
        ("8 , 7", "a", 8, 7),
        ("8  7", "a", 8, 7),
        ("8\t7", "a", 8, 7),
        ("  8 7  ", "a", 8, 7),
        ("7.5 8", "b", 7.5, 8),
        ("7.25 7.5", "b", 7.25, 7.5),
        ("8.0 8", "tie", 8, 8),
        ('"8 7"', "a", 8, 7),
        ("'8 7'", "a", 8, 7),
        ("`8 7`", "a", 8, 7),
        ("08 7", "a", 8, 7),
        ("<think>3 8, perhaps</think>\n8 7", "a", 8, 7),
        ("The first is better.</think>8 7", "a", 8, 7),
        ("8 7\nThe second only says </think>", "a", 8, 7),
        ("8 7\nThe second only says </think> I win.", "a", 8, 7),
    ],
)
def test_two_scores_give_the_verdict(text: str, value: str, score_a: float, score_b: float) -> None:
    assert parse_comparison(text) == ParsedComparison(value, None, score_a, score_b)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "8 7\nAssistant 1 names a source; I would give 3 9 to the others.",
        "8 7\r\n9 2",
        "8 7 because the first names 3 sources, the second 9",
        '8 7 "Both reply politely."',
        "8 7 (out of 10)",
        *(f"8 7 {mark} the first names a source" for mark in "-–—"),
        *(f"8 7 {mark}The first names a source" for mark in "\"'“”(["),
        *(f"8 7 {word} it names 3 sources" for word in ("Because", "since", "as", "for")),
        "\n\n8 7",
        " \n\t\n8 7\n",
        "```\n8 7\n```",
        "```text\n8 7\nThe first is better.\n```",
        "  ```\n  8 7\n  ```",
    ],
)
def test_the_first_line_decides_whatever_follows(text: str) -> None:
    assert parse_comparison(text) == ParsedComparison("a", None, 8, 7)


@pytest.mark.parametrize("text", ["", " ", "\n", " \t\r\n ", "```\n```", "```text\n\n```"])
def test_nothing_is_empty(text: str) -> None:
    assert parse_comparison(text) == ParsedComparison(None, "empty")


@pytest.mark.parametrize(
    "text",
    [
        "8 7 6",  # which two?
        "3 4 year olds wrote this",
        "8 7 (6)",
        "8 7 ( 6)",
        "8 7(out of 10)",
        "8 7 - 6",
        "8 7 -polite",
        "8 7 forty readers said so",
        "8, 7, 6",
        "10 8 9.5",
        "8",
        "8 ",
        "87",
        "8 seven",
        "1. The statement",
        "1. The statement 8 7",
        "Assistant 1: 8, Assistant 2: 7",
        "Scores: 8 7",
        "The scores are 8 7",
        "abc8 7",
        "8a 7",
        "8 7a",
        "a8b 7c",
        "8 7.",
        "8 7, because",
        "8. 7",
        ".8 7",
        "8/10 7/10",
        "8-7",
        "-8 7",
        "8 -7",
        "8 7-6",
        "8e1 7",
        "8:7",
        "8 and 7",
        '"8" "7"',  # only the two scores together may stand in quotation marks
        '"8", "7"',
        "8,,7",
        "nan nan",
        "The first is better.\n8 7",  # numbers after the first line are no verdict
        "```\nThe first is better.\n8 7\n```",
        "None",
    ],
)
def test_anything_else_is_no_scores(text: str) -> None:
    assert parse_comparison(text) == ParsedComparison(None, "no_scores")


BELOW = ["0 0", "0 10", "10 0", "0.99 5", "0, 7", "0 10\n8 7"]  # JudgeLM is asked for 1 to 10


@pytest.mark.parametrize("text", ["11 3", "3 11", "10.01 3", "100 100", "810 7", "11 3\n8 7", *BELOW])
def test_a_score_off_the_scale_is_no_verdict_and_is_not_clamped(text: str) -> None:
    assert parse_comparison(text) == ParsedComparison(None, "out_of_scale")


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [("5 1", "a", None), ("0 5", None, "out_of_scale"), ("5 5.5", None, "out_of_scale"), ("1 1", "tie", None)],
)
def test_another_scale_may_be_given(text: str, value: str | None, reason: str | None) -> None:
    parsed = parse_comparison(text, scale=(1, 5))
    assert (parsed.value, parsed.reason) == (value, reason)


@pytest.mark.parametrize(("text", "value", "scores"), [("0 0", "tie", (0, 0)), ("0 10", "b", (0, 10))])
def test_a_scale_from_zero_takes_what_the_scale_of_judgelm_refuses(
    text: str, value: Literal["b", "tie"], scores: tuple[float, float]
) -> None:
    assert parse_comparison(text, scale=(0, 10)) == ParsedComparison(value, None, *scores)


@pytest.mark.parametrize(
    ("text", "reason"), [("<think>8 7", "truncated"), ("<think>8 7</think>", "empty"), ("8 7</think>7 8", "ambiguous")]
)
def test_scores_that_were_only_thought_are_no_verdict(text: str, reason: Literal["truncated"]) -> None:
    assert parse_comparison(text) == ParsedComparison(None, reason)


def test_a_loop_of_one_sentence_is_no_scores_and_takes_no_time() -> None:
    assert parse_comparison("The statement 1 is 2 true. " * 20_000).reason == "no_scores"
    assert parse_comparison("8 " * 50_000).reason == "no_scores"
    assert parse_comparison("8" + " " * 100_000 + "x").reason == "no_scores"


SCORES = st.one_of(st.integers(1, 10), st.decimals(1, 10, places=2), st.decimals(1, 10, places=1))


@given(SCORES, SCORES, st.sampled_from([" ", "  ", ", ", ",", "\t"]))
def test_any_two_scores_on_the_scale_give_the_right_verdict(a: int | Decimal, b: int | Decimal, between: str) -> None:
    expected = "a" if a > b else "b" if b > a else "tie"
    for text in (f"{a}{between}{b}", f"```\n{a}{between}{b}\n```\nIn words: 1 2."):
        parsed = parse_comparison(text)
        assert (parsed.value, parsed.reason, parsed.score_a, parsed.score_b) == (expected, None, float(a), float(b))


@given(SCORES, SCORES)
def test_exchanging_the_replies_exchanges_the_verdict(a: int | Decimal, b: int | Decimal) -> None:
    exchanged = {"a": "b", "b": "a", "tie": "tie"}
    assert parse_comparison(f"{b} {a}").value == exchanged[str(parse_comparison(f"{a} {b}").value)]


@given(st.lists(st.integers(0, 10), min_size=3, max_size=6))
def test_more_than_two_numbers_are_no_scores(numbers: list[int]) -> None:
    assert parse_comparison(" ".join(map(str, numbers))) == ParsedComparison(None, "no_scores")


@given(st.text())
def test_any_text_gives_a_verdict_or_a_reason_and_never_both(text: str) -> None:
    parsed = parse_comparison(text)
    assert (parsed.value is None) != (parsed.reason is None)
    if parsed.value is not None:
        assert parsed.score_a is not None
        assert parsed.score_b is not None


@pytest.mark.parametrize("text", ["```8 7```", "```8 7", "```\n8 7```"])
def test_a_fence_may_stand_on_the_line_of_the_scores(text: str) -> None:
    assert parse_comparison(text) == ParsedComparison("a", None, 8, 7)


@pytest.mark.parametrize(("text", "reason"), [("```json 8 7```", "no_scores"), ("```I cannot compare.```", "refusal")])
def test_a_fence_with_text_beside_it_is_not_empty(text: str, reason: Literal["no_scores", "refusal"]) -> None:
    assert parse_comparison(text) == ParsedComparison(None, reason)


@pytest.mark.parametrize("text", ["11 3", "9" * 400 + " 3"])
def test_a_score_off_the_scale_is_no_number(text: str) -> None:
    assert parse_comparison(text) == ParsedComparison(None, "out_of_scale")
