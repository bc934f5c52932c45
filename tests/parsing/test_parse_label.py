from typing import Literal

import pytest
from hypothesis import given, strategies as st

from fcconan.errors import InputError
from fcconan.parsing import ParsedComparison, ParsedLabel, Reason, parse_label, parse_verdict

LABELS = ("appropriate", "not_sure", "not_appropriate")


@pytest.mark.parametrize(
    "text",
    [
        "not_appropriate",
        " Not appropriate.\n",
        "**not-appropriate**",
        '"not_appropriate"',
        "```\nnot_appropriate\n```",
        "```not_appropriate```",
        "<think>appropriate?</think>not_appropriate",
        '{"label": "not_appropriate"}',
        '{"Label": "NOT APPROPRIATE"}',
        "{'label': 'not_appropriate'}",
        '{"label": not_appropriate}',
        '```json\n{"label": "not_appropriate"}\n```\nIt is not_sure of 2 things, yet appropriate in tone.',
        'Either appropriate or not: {"label": "not_appropriate"}',
        '{"label": "not_appropriate"} {"label": "not appropriate"}',
        '{"label": "appropriate|not_sure|not_appropriate"}\n{"label": "not_appropriate"}',
        '{"label": "not_appropriate", "explanation": "It is',
        "Label: not_appropriate",
        "It insults the Ombrey.\n**Label:** Not appropriate",
    ],
)
def test_the_label_is_read(text: str) -> None:
    found = parse_label(text, LABELS)
    assert (found.value, found.reason) == ("not_appropriate", None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("```\n```", "empty"),
        ("<think>appropriate", "truncated"),
        ("It is appropriate.", "no_answer"),
        ("appropriate, not_sure", "no_answer"),
        ("inappropriate", "no_answer"),
        ("1", "no_answer"),
        ('{"verdict": "appropriate"}', "no_answer"),
        ('{"label": "inappropriate"}', "unknown_label"),
        ('{"label": "appropriate, perhaps"}', "unknown_label"),
        ('{"label": null}', "unknown_label"),
        ('{"label": 1}', "unknown_label"),
        ('{"label": ["appropriate"]}', "unknown_label"),
        ("Label: it is appropriate", "unknown_label"),
        ('{"label": "appropriate"} {"label": "not_sure"}', "ambiguous"),
        ('{"label": "appropriate" or "not_sure"}', "ambiguous"),
        ('{"label": "appropriate"|"not_sure"|"not_appropriate"}', "ambiguous"),
        ("Label: appropriate\nLabel: not_sure", "ambiguous"),
        ('{"label": "appropriate', "truncated"),
        ('{"label": not', "truncated"),
        ('{"label":', "truncated"),
        ('{"label": "appropriate|not_sure|not_appropriate"}', "template"),
        ('{"label": "..."}', "template"),
        ('{"label": ""}', "template"),
        ('{"label": "<label>"}', "template"),
        ('{"label": {"name": "appropriate"}}', "template"),
    ],
)
def test_anything_else_is_no_label(text: str, reason: Reason) -> None:
    assert parse_label(text, LABELS) == ParsedLabel(None, reason)


def test_the_explanation_of_a_label() -> None:
    text = '{"label": "Appropriate", "explanation": "It cites \\"the harbour\\"."}'
    assert parse_label(text, LABELS) == ParsedLabel("appropriate", None, 'It cites "the harbour".')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"label": "not_appropriate", "explanation": "It', ParsedLabel("not_appropriate", None, "It")),
        ("not_appropriate", ParsedLabel(None, "no_answer")),  # perhaps the beginning of a sentence
        ("Label: not_appropriate", ParsedLabel(None, "no_answer")),
        ("Label: not_sure</think>{'label': 'appropriate'}", ParsedLabel(None, "ambiguous")),
    ],
)
def test_of_an_output_that_was_cut_only_json_is_read(text: str, expected: ParsedLabel) -> None:
    assert parse_label(text, LABELS, cut=True) == expected


def test_there_may_be_one_label() -> None:
    assert parse_label("Label: spam", ["spam"]) == ParsedLabel("spam")
    assert parse_label("Label: good", ["spam"]) == ParsedLabel(None, "unknown_label")


@pytest.mark.parametrize("labels", [[], ["yes", "Yes"], ["not sure", "not_sure"]])
def test_labels_that_cannot_be_told_apart(labels: list[str]) -> None:
    with pytest.raises(InputError, match="give at least one"):
        parse_label("yes", labels)


@given(st.sampled_from(LABELS), st.text("abc xyz.,!?\n"), st.text("abc xyz.,!?\n"))
def test_words_around_a_label_do_not_change_it(label: str, before: str, after: str) -> None:
    assert parse_label(f'{before}\n```json\n{{"label": "{label}"}}\n```\n{after}', LABELS) == ParsedLabel(label)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"better": "a"}', "a"),
        ('{"better": "B"}', "b"),
        ('{"better": "tie"}', "tie"),
        ("{'better': 'a'}", "a"),
        ('```json\n{"better": "b", "explanation": "A names 3 sources, B 4."}\n```', "b"),
        ("[[A]]", "a"),
        ("[[b]]", "b"),
        ("It is [[ A]].", "a"),
        ("It is [[A ]].", "a"),
        ("[[C]]", "tie"),
        ("[[tie]]", "tie"),
        ("A names 3 sources, but B answers.\nMy final verdict: [[B]]", "b"),
        ("[[A]] is better, so [[A]]", "a"),
        ('{"better": "a"} [[A]]', "a"),
        ('{"better": "b", "explanation": "A only says </think>{\'better\': \'a\'} and [[A]]."}', "b"),
        ("[[A]], [[B]] or [[C]]?</think>[[B]]", "b"),
        ('{"better": "b"}\nBetter: the second one', "b"),
        ("A", "a"),
        ("b.", "b"),
        ("**Tie**", "tie"),
        ("```\nA\n```", "a"),
        ("Better: A", "a"),
    ],
)
def test_verdicts(text: str, value: Literal["a", "b", "tie"]) -> None:
    assert parse_verdict(text) == ParsedComparison(value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("<think>[[A]]", "truncated"),
        ("A is better.", "no_answer"),
        ("A or B", "no_answer"),
        ("AB", "no_answer"),
        ("C", "no_answer"),
        ("[A]", "no_answer"),
        ("[[A", "no_answer"),
        ("[[A/B]]", "no_answer"),
        ("8 7", "no_answer"),
        ("{\"explanation\": \"it says 'better': 'a'\"}", "no_answer"),
        ("Better: a\nBetter: b (2 reasons)", "ambiguous"),
        ('{"better": "a"}\nBetter: b', "ambiguous"),
        ("[[A]]</think>[[B]]", "ambiguous"),
        ('{"better": "a"5}', "unknown_label"),
        ("[[A]] or [[B]]", "ambiguous"),
        ("[[A]] if the first is better, [[B]] if the second, [[C]] for a tie", "ambiguous"),
        ('{"better": "a"} [[B]]', "ambiguous"),
        ('{"better": "a", "better": "b"}', "ambiguous"),
        ('{"better": "a" or "b" or "tie"}', "ambiguous"),
        ('{"better": "c"}', "unknown_label"),
        ('{"better": "both"}', "unknown_label"),
        ('{"better": null}', "unknown_label"),
        ('{"better": "a|b|tie"}', "template"),
        ('{"better": "a', "truncated"),
    ],
)
def test_anything_else_is_no_verdict(text: str, reason: Reason) -> None:
    assert parse_verdict(text) == ParsedComparison(None, reason)
