import json
import re
import time
from typing import get_args

import pytest
from hypothesis import assume, given, strategies as st

from fcconan.errors import InputError
from fcconan.parsing import (
    AspectField,
    ParsedRating,
    Reason,
    parse_comparison,
    parse_label,
    parse_multi,
    parse_prometheus,
    parse_rating,
    parse_verdict,
)


def _keyed(text: str, decimals: int = 0) -> ParsedRating:
    return parse_rating(text, scale=(1, 5), key="Relevance", decimals=decimals)


def _keyless(text: str, decimals: int = 0) -> ParsedRating:
    return parse_rating(text, scale=(1, 5), decimals=decimals)


@pytest.mark.parametrize(
    "text",
    [
        '{"Relevance": 4}',
        ' {"Relevance":4}',
        '{"Relevance": "4"}',
        '{"Relevance": " 4 "}',
        '{ "Relevance" : 4 }',
        '{\n  "Relevance": 4\n}',
        '{"relevance": 4}',
        '{"RELEVANCE": 4}',
        '{"Relevance": 4.0}',
        '{"Relevance": 4.00}',
        '{"Relevance": 04}',
        '{"Relevance": +4}',
        '{"Relevance": 4,}',
        '{"Relevance": 4, }',
        '{"Relevance": "4 (Mostly relevant)"}',
        '{"Relevance": "4 - mostly relevant"}',
        '{"Relevance": "4: mostly relevant"}',
        '{"Relevance": "Score 4 (Mostly relevant)"}',
        '{"Relevance": "4/5"}',
        '{"Relevance": 4/5}',
        '{"Relevance": "4 out of 5"}',
        '{"Relevance": "4 (out of 5)"}',
        '{"Relevance": "4/5 (Mostly relevant)"}',
        '{"Relevance": "4 stars"}',
        '{"Relevance": "\\u0034"}',
        '{"Relevance": ４}',
        '{"Relevance": "٤"}',
        '{"Relevance": "**4**"}',
        "{'Relevance': 4}",
        "{'Relevance': '4'}",
        "{“Relevance”: “4”}",
        "{Relevance: 4}",
        '{"scores": {"Relevance": 4}}',
        '{"Relevance": {"score": 4}}',
        '{"Relevance": {"rating": "4"}}',
        '{"Coherence": 2, "Relevance": 4, "Fluency": 1}',
        '{"Coherence": "2 (it says \\"Relevance\\": 1)", "Relevance": 4}',
        '{"Relevance": 4} The 3 claims of the Ombrey are answered in 2 sentences.',
        '{"Relevance": 4}\n\nExplanation:\n1. **Read it**: it names 5 sources.',
        'Of 5 claims it answers 3, so: {"Relevance": 4}',
        '```json\n{"Relevance": 4}\n```',
        '```\n{"Relevance": 4}\n```\nThe reply has 2 parts.',
        '```{"Relevance": 4}```',
        '"Relevance": 4}',  # where the prompt opened the object
        '"Relevance": 4',
        '{"Relevance": 4} {"Relevance": 4}',
        '{"Relevance": 4, "Relevance": "4"}',
        '{"Relevance": <1-5>}\n{"Relevance": 4}',  # the prompt, and the answer
        '{"Relevance": 4}\n{"Relevance": ',  # a loop that was cut
        '{"Relevance": 4, "expl',
        '{"Relevance": 4,',
        '{"Relevance": 4\n',
        '{"Relevance": "4"',
        '{"Relevance": "4", "explanation": "It names',
        '<think>Perhaps {"Relevance": 2}?</think>\n{"Relevance": 4}',
        "Relevance: 4",
        "relevance = 4",
        "Relevance：4",
        "**Relevance:** 4",
        "**Relevance**: 4/5",
        "- Relevance: 4",
        "2. Relevance: 4",
        "## Relevance (1-5): 4",
        "Relevance: 4 (Mostly relevant)",
        "Relevance: 4. It is on topic.",
        "Relevance: 4 - on topic",
        "The reply has 3 parts.\nRelevance: 4\nIt answers 2 of them.",
        "Relevance: it answers the Tessok.\nRelevance: 4",
        '{"Relevance": 4}\nRelevance: it answers 3 of 5 claims.',
        '{"Relevance": 4}\nRelevance: 4',
        '{"Relevance": 4 "explanation": "A comma is missing."}',
        '{"Relevance": 4\n- It is on topic.',
        '1. "Relevance": 4\n2. "Coherence": 3',
        '<think>Or 2?</think> <think>No.</think>{"Relevance": 4}',
        '{"Relevance": 4}</think>{"Relevance": 4}',
        'Hm, {"Relevance": score}.</think>{"Relevance": 4}',
    ],
)
def test_the_field_is_read_whatever_stands_around_it(text: str) -> None:
    found = _keyed(text)
    assert (found.value, found.reason) == (4.0, None)


@pytest.mark.parametrize("key", ["Choose or Not", "choose_or_not", "CHOOSE-OR-NOT", " choose  or not "])
@pytest.mark.parametrize("field", ['{"Choose or Not": "2"}', '{"choose_or_not": 2}', "Choose or not: 2"])
def test_spaces_underscores_and_case_of_a_key_do_not_count(key: str, field: str) -> None:
    assert parse_rating(field, scale=(1, 3), key=key) == ParsedRating(2.0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("```json\n```", "empty"),
        ("<think>4</think>", "empty"),
        ('<think>{"Relevance": 4}', "truncated"),
        ('{"Coherence": 4}', "no_field"),
        ('{"Relevence": 4}', "no_field"),
        ('{"Relevance score": 4}', "no_field"),
        ('{"Irrelevance": 4}', "no_field"),
        ("The relevance is 4.", "no_field"),
        ("The relevance: 4", "no_field"),
        ('{"Coherence": "it says \\"Relevance\\": 4"}', "no_field"),
        ("I cannot rate a text about the 5 peoples of the coast.", "refusal"),
        ("1. **Read the reply**: it is short.", "no_field"),
        ('{"Relevance', "no_field"),
        ('{"Relevance": null}', "not_a_number"),
        ('{"Relevance": "N/A"}', "refusal"),
        ('{"Relevance": "Not relevant"}', "not_a_number"),
        ('{"Relevance": "four"}', "not_a_number"),
        ('{"Relevance": true}', "not_a_number"),
        ('{"Relevance": [4]}', "not_a_number"),
        ('{"Relevance": "3-4"}', "not_a_number"),
        ('{"Relevance": 3-4}', "not_a_number"),
        ('{"Relevance": "3 or 4"}', "not_a_number"),
        ('{"Relevance": "4 (not 3)"}', "not_a_number"),
        ('{"Relevance": "4 of 7 claims"}', "not_a_number"),
        ('{"Relevance": "3,5"}', "not_a_number"),
        ('{"Relevance": "3, 5"}', "not_a_number"),
        ('{"Relevance": "１，５"}', "not_a_number"),
        ('{"Relevance": NaN}', "not_a_number"),
        ('{"Relevance": Infinity}', "not_a_number"),
        ('{"Relevance": 1e0}', "not_a_number"),
        ('{"Relevance": "4%"}', "not_a_number"),
        ('{"Relevance": "4th"}', "not_a_number"),
        ('{"Relevance": "4½"}', "not_a_number"),
        ('{"Relevance": "4²"}', "not_a_number"),
        ('{"Relevance": "³"}', "not_a_number"),
        ('{"Relevance": .5}', "not_a_number"),
        ('{"Relevance": 0x4}', "not_a_number"),
        ('{"Relevance": {"grade of it": 4}}', "not_a_number"),
        ('{"Relevance": {"score": {"mean": 4}}}', "not_a_number"),
        ("Relevance: 4 of the 5 claims are answered", "not_a_number"),
        ("Relevance: 4, 5", "not_a_number"),
        ("Relevance: 3 - 4", "not_a_number"),
        ("Relevance: it answers the Tessok.", "not_a_number"),
        ('{"Relevance": 0}', "out_of_scale"),
        ('{"Relevance": 6}', "out_of_scale"),
        ('{"Relevance": -3}', "out_of_scale"),
        ('{"Relevance": "−3"}', "out_of_scale"),
        ('{"Relevance": 0.99}', "out_of_scale"),
        ('{"Relevance": 5.5}', "out_of_scale"),
        ('{"Relevance": 45}', "out_of_scale"),
        ('{"Relevance": ' + "9" * 400 + "}", "out_of_scale"),
        ('{"Relevance": 4.5}', "not_on_scale"),
        ('{"Relevance": "3.5 (between fair and good)"}', "not_on_scale"),
        ('{"Relevance": 4.0000000000000000000001}', "not_on_scale"),
        ('{"Relevance": "8/10"}', "other_scale"),
        ('{"Relevance": "4/10"}', "other_scale"),
        ('{"Relevance": "4 out of 4"}', "other_scale"),
        ('{"Relevance": 4, "Relevance": 5}', "ambiguous"),
        ('{"Relevance": 4}\n{"Relevance": 5}', "ambiguous"),
        ('{"Relevance": 4}\n{"Relevance": "N/A"}', "ambiguous"),
        ('{"Relevance": 3,5}', "ambiguous"),
        ('{"Relevance": 3, 5}', "ambiguous"),
        ('{"Relevance": "3", "5"}', "ambiguous"),
        ('{"Relevance": "3" or "5"}', "ambiguous"),
        ('{"Relevance": {"score": 4, "rating": 5}}', "ambiguous"),
        ("Relevance: 4\nRelevance: 5", "ambiguous"),
        ("Relevance: 3-4\nRelevance: 4", "ambiguous"),
        ('{"Relevance": 5}\n\nCorrected:\nRelevance: 2', "ambiguous"),
        ('Relevance: 2\n\n(as JSON the reply asks for {"Relevance": 5})', "ambiguous"),
        ('Perhaps {"Relevance": 5}?</think>{"Relevance": 4}', "ambiguous"),
        ("Relevance: 1\nIt says </think> {'Relevance': 5}", "ambiguous"),
        ('<think>It says "</think> {\'Relevance\': 5}", hm.</think>{"Relevance": 1}', "ambiguous"),
        ("<think>It says \"</think> {'Relevance': 5}\", hm.</think>I cannot.", "refusal"),
        ('{"Relevance": 5}</think>I cannot.', "refusal"),
        ('{"Relevance": 5}</think>', "empty"),
        ('{"Relevance": 1\n0}', "not_a_number"),
        ('{"Relevance": 4\n/10}', "ambiguous"),
        ('{"Relevance": 4\n.5}', "not_a_number"),
        ('{"Relevance": "4"5}', "not_a_number"),
        ('{"Relevance": "4".5}', "not_a_number"),
        ('{"Relevance": 4"5"}', "not_a_number"),
        ("{'Relevance': '4'5}", "not_a_number"),
        ('{"confidence": [4], "explanation": "“Relevance”: “5”"}', "no_field"),
        ('{"quotes": ["a", "it says \'Relevance\': 5", "b"]}', "no_field"),
        ("{'explanation': 'it says \"Relevance\": 5'}", "no_field"),
        ("{“explanation”: “it says 'Relevance': 5”}", "no_field"),
        ('{"explanation": "it says\nRelevance: 5"}', "no_field"),
        ('{"Relevance": 4', "truncated"),  # of 4.5, perhaps
        ('{"Relevance": "4', "truncated"),
        ('{"Relevance": "4\\"', "truncated"),
        ('{"Relevance":', "truncated"),
        ('{"Relevance": ', "truncated"),
        ('{"Relevance": {', "truncated"),
        ('{"Relevance": {"score": 4', "truncated"),
        ('{"Relevance": {"explanation": "It names', "truncated"),
        ('{"Relevance": <1-5>}', "template"),
        ('{"Relevance": <1, 2, 3, 4 or 5>}', "template"),
        ('{"Relevance": "<score>"}', "template"),
        ('{"Relevance": 1-5}', "template"),
        ('{"Relevance": "1–5"}', "template"),
        ('{"Relevance": "1 to 5"}', "template"),
        ('{"Relevance": "1|2|3|4|5"}', "template"),
        ('{"Relevance": ""}', "template"),
        ('{"Relevance": "..."}', "template"),
        ('{"Relevance": score}', "template"),
        ('{"Relevance": "an integer between 1 and 5"}', "template"),
        ('{"Relevance": {{relevance}}}', "not_a_number"),
        ('{"Relevance": "{{relevance}}"}', "template"),
        ("Relevance: <1-5>", "template"),
        ('{"Relevance": {"score": 1, "explanation": "..."}}', "template"),
        ('{"Relevance": 1.00, "explanation": "..."}', "template"),
    ],
)
def test_anything_else_is_missing_with_a_reason(text: str, reason: Reason) -> None:
    assert _keyed(text) == ParsedRating(None, reason)


@pytest.mark.parametrize(
    ("text", "decimals", "value", "reason"),
    [
        ("3.5", 0, None, "not_on_scale"),
        ("3.5", 1, 3.5, None),
        ("3.50", 1, 3.5, None),
        ("3.25", 1, None, "not_on_scale"),
        ("3.25", 2, 3.25, None),
        ("3.255", 2, None, "not_on_scale"),
        ("3.2550", 2, None, "not_on_scale"),
        ("٣.٥٠", 1, 3.5, None),
        ("5.00", 2, 5.0, None),
        ("5.01", 2, None, "out_of_scale"),
        ("3", 2, 3.0, None),
    ],
)
def test_decimals(text: str, decimals: int, value: float | None, reason: Reason | None) -> None:
    expected = ParsedRating(value, reason)
    assert _keyed(f'{{"Relevance": {text}}}', decimals) == expected
    assert _keyless(text, decimals) == expected


@pytest.mark.parametrize(
    ("text", "value"), [("-2", -2.0), ("−2", -2.0), ("0", 0.0), ("-0", 0.0), ("+2", 2.0), ("2", 2.0)]
)
def test_a_scale_may_have_negative_grades(text: str, value: float) -> None:
    found = parse_rating(f'{{"Stance": {text}}}', scale=(-2, 2), key="stance")
    assert str(found.value) == str(value)


@pytest.mark.parametrize(
    "text",
    [
        "4",
        " 4\n",
        "4.",
        "4.0",
        "**4**",
        '"4"',
        "`4`",
        "4/5",
        "4 out of 5",
        "4 (Mostly relevant)",
        "Score 4",
        "```\n4\n```",
        "```4```",
        "４",
        "<think>3 or 5</think>4",
        '{"score": 4}',
        '{"rating": "4"}',
        '{"Final score": 4, "explanation": "It answers 3 claims."}',
        '{"explanation": "3", "grade": 4}',
        '{"Relevance": {"score": 4, "explanation": "On topic."}}',
        '{"score": 4, "confidence": 5}',
        '{"score": 4}\nScore: 4',
        '{"score": 4, "explanation": "It says\n[RESULT] 5"}',
        'The 3 claims: {"score": 4} and 2 more',
        '{"score": <1-5>}\n{"score": 4}',
        "Score: 4",
        "The reply names 3 sources.\n\nFinal score: 4",
        "The reply names 3 sources.\n**Rating:** 4/5",
        "Overall rating (1-5): 4",
        "Feedback: it names 3 sources. [RESULT] 4",
        "[RESULT] 4",
    ],
)
def test_without_a_key_the_grade_stands_alone_or_is_anchored(text: str) -> None:
    found = _keyless(text)
    assert (found.value, found.reason) == (4.0, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The reply deserves a 4.", "no_answer"),
        ("I would say 4", "no_answer"),
        ("4 of the claims are answered", "no_answer"),
        ("1. Read the reply", "no_answer"),
        ("4 - mostly relevant", "no_answer"),
        ("4\n\nIt is on topic.", "no_answer"),
        ("4 5", "no_answer"),
        ("3-4", "no_answer"),
        ("3,5", "no_answer"),
        ("nan", "no_answer"),
        ("inf", "no_answer"),
        ("1e0", "no_answer"),
        ("I cannot rate this.", "refusal"),
        ("My score: 4", "no_answer"),
        ("{}", "no_answer"),
        ('{"explanation": "4"}', "no_answer"),
        ('{"ratings": {"Relevance": 4}}', "no_answer"),
        ("7", "out_of_scale"),
        ("8/10", "other_scale"),
        ("Score: 8/10", "other_scale"),
        ("Score: 3\nScore: 4", "ambiguous"),
        ('{"Relevance": 4, "Fluency": 4}', "no_answer"),  # names of no score
        ('{"confidence": 5}', "no_answer"),
        ('{"Relevance": {"score": 4}, "Fluency": {"score": 4}}', "ambiguous"),
        ('{"score": 4, "rating": 4}', "ambiguous"),
        ('{"score": 5}\nScore: 2', "ambiguous"),
        ("Score: 4</think>Score: 5", "ambiguous"),
        ("4</think>5", "ambiguous"),
        ('{"score": 4} {"score": 3}', "ambiguous"),
        ("1-5", "template"),
        ("<score>", "template"),
        ('{"score": 4', "truncated"),
        ("[RESULT] 4 [RESULT] 5", "not_a_number"),
        ("[RESULT] 4\n[RESULT] 5", "ambiguous"),
    ],
)
def test_without_a_key_digits_in_prose_are_no_grade(text: str, reason: Reason) -> None:
    assert _keyless(text) == ParsedRating(None, reason)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Feedback: It names 3 sources. [RESULT] 4", ParsedRating(4.0, None, "It names 3 sources.")),
        ("It names 3 sources.\n[RESULT] 4\n", ParsedRating(4.0, None, "It names 3 sources.")),
        ("Good. [result]: (4)", ParsedRating(4.0, None, "Good.")),
        ("Good. [RESULT]\n4", ParsedRating(4.0, None, "Good.")),
        ("[RESULT] 4", ParsedRating(4.0)),
        ("Good. [RESULT] 4/5", ParsedRating(4.0, None, "Good.")),
        ("Good. [RESULT] 4\nThe reply has 3 parts.", ParsedRating(4.0, None, "Good.")),
        ("Good. [RESULT] 4.5", ParsedRating(None, "not_on_scale")),
        ("Good. [RESULT] 7", ParsedRating(None, "out_of_scale")),
        ("Good. [RESULT] 4 since it names 3 sources", ParsedRating(None, "not_a_number")),
        ("Good. [RESULT]", ParsedRating(None, "template")),
        ("Feedback: (write it) [RESULT] (an integer number between 1 and 5)", ParsedRating(None, "template")),
        ("Good. 4", ParsedRating(None, "no_answer")),
        ("4", ParsedRating(None, "no_answer")),
        ("[RESULT] 3</think>[RESULT] 4", ParsedRating(None, "ambiguous")),
        ("", ParsedRating(None, "empty")),
    ],
)
def test_result_of_prometheus(text: str, expected: ParsedRating) -> None:
    assert parse_prometheus(text) == expected


@pytest.mark.parametrize(
    ("text", "explanation"),
    [
        ('{"Relevance": {"score": 4, "explanation": "It names {3} claims."}}', "It names {3} claims."),
        ('{"Relevance": {"reason": "Says \\"no\\".\\n", "score": 4}}', 'Says "no".'),
        ('{"Relevance": 4, "explanation": "On topic."}', "On topic."),
        ('{"explanation": "On topic.", "Relevance": 4}', "On topic."),
        ('{"Relevance": {"score": 4, "explanation": "It names', "It names"),
        ('"explanation": "Polite.", "Relevance": {"score": 4, "explanation": "On topic."}', "On topic."),
        ('{"Relevance": {"score": 4, "explanation": "..."}}', None),  # the grade is not the skeleton's
        ('{"Relevance": {"score": 4}, "Fluency": {"score": 3, "explanation": "Clear."}}', None),
        ('{"Relevance": {"score": 4, "explanation": "cut \\ud83d"}}', "cut �"),
        ('{"Relevance": {"score": 4, "explanation": "bad \\x escape"}}', "bad \\x escape"),
        ('{"Relevance": 4}', None),
    ],
)
def test_explanations(text: str, explanation: str | None) -> None:
    assert _keyed(text) == ParsedRating(4.0, None, explanation)


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize(
    "cited",
    [
        *("</think>", "</think> {'relevance': 5}", '</think>{"relevance": 5}', "} </think> relevance: 5", "{</think>"),
        *("'relevance': 5", "'relevance': '5'", '"relevance": 5', "“relevance”: “5”", "\nRelevance: 5\n", "[RESULT] 5"),
    ],
)
def test_what_an_explanation_cites_is_no_grade(cited: str, after: bool, indent: int | None, ascii_only: bool) -> None:
    grade, texts = {"relevance": 1}, {"quotes": [cited, cited], "note": cited, "explanation": f"It says {cited}"}
    fields = {**grade, "confidence": [4], **texts} if after else {**texts, **grade}
    text = json.dumps(fields, indent=indent, ensure_ascii=ascii_only)
    assert parse_rating(text, scale=(1, 5), key="relevance").value == 1
    assert parse_rating(text, scale=(1, 5), names=["relevance"]).value == 1
    del fields["relevance"]
    text = json.dumps(fields, indent=indent, ensure_ascii=ascii_only)
    assert parse_rating(text, scale=(1, 5), key="relevance").reason == "no_field"


def test_what_was_cut_is_read_from_json_only() -> None:
    aspects = {"relevance": AspectField(("relevance",), (1, 5))}
    thinking = "Okay.\nRelevance: 5 - at first sight, yes\nBut on reading it again, so"
    assert parse_multi(thinking, aspects=aspects)["relevance"].value == 5
    assert parse_multi(thinking, aspects=aspects, cut=True)["relevance"] == ParsedRating(None, "no_field")
    assert parse_multi('{"relevance": 2} But', aspects=aspects, cut=True)["relevance"].value == 2
    assert parse_label("Label: yes\nOr", ["yes", "no"]).value == "yes"
    assert parse_label("Label: yes\nOr", ["yes", "no"], cut=True).value is None
    assert parse_label("yes", ["yes", "no"], cut=True).value is None
    assert parse_label('{"label": "no"} Or', ["yes", "no"], cut=True).value == "no"


def test_what_is_no_text_is_bad_input() -> None:
    for parse in (parse_verdict, parse_prometheus, parse_comparison):
        with pytest.raises(InputError, match="the output of the judge is None, expected text"):
            parse(None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is 4, expected text"):
        parse_rating(4, scale=(1, 5))  # type: ignore[arg-type]


ASPECTS = {
    "relevance": AspectField(("Relevance",), (1, 5)),
    "choose": AspectField(("Choose or Not", "suitableness"), (1, 3)),
    "specificity": AspectField(("Specificity",), (1, 5), 2),
}


@pytest.mark.parametrize(
    "text",
    [
        '{"Relevance": 4, "Choose or Not": "2", "Specificity": 3.25}',
        '{"Relevance": {"score": 4}, "suitableness": {"score": "2 (Possibly)"}, "Specificity": {"score": 3.25}}',
        '```json\n{\n"relevance": 4,\n"choose_or_not": 2,\n"specificity": "3.25"\n}\n```\nIn 5 words: good.',
        '{"ratings": {"Relevance": 4, "Suitableness": 2, "Specificity": 3.25}}',
        '[{"Relevance": 4}, {"Suitableness": 2}, {"Specificity": 3.25}]',
        "Relevance: 4\nSuitableness: 2/3\n**Specificity**: 3.25",
        "1. Relevance: 4\n2. Choose or not: 2\n3. Specificity: 3.25 - names claims",
    ],
)
def test_several_aspects(text: str) -> None:
    expected = {"relevance": ParsedRating(4.0), "choose": ParsedRating(2.0), "specificity": ParsedRating(3.25)}
    assert parse_multi(text, aspects=ASPECTS) == expected


@pytest.mark.parametrize(
    ("text", "choose"),
    [
        ('{"Relevance": 4, "Specificity": 3.25}', "no_field"),
        ('{"Relevance": 4, "Suitableness": 9, "Specificity": 3.25}', "out_of_scale"),
        ('{"Relevance": 4, "Suitableness": null, "Specificity": 3.25}', "not_a_number"),
        ('{"Relevance": 4, "Suitableness": "", "Specificity": 3.25}', "template"),
        ('{"Relevance": 4, "Suitableness": 2, "Choose or not": 3, "Specificity": 3.25}', "ambiguous"),
        ('{"Relevance": 4, "Specificity": 3.25, "Suitableness": 2', "truncated"),
        ('{"Relevance": 4, "Suitableness": 2.5, "Specificity": 3.25}', "not_on_scale"),
    ],
)
def test_an_aspect_that_fails_fails_alone(text: str, choose: Reason) -> None:
    expected = {"relevance": ParsedRating(4.0), "choose": ParsedRating(None, choose), "specificity": ParsedRating(3.25)}
    assert parse_multi(text, aspects=ASPECTS) == expected


def test_several_aspects_with_explanations() -> None:
    text = """Here you are:
    {
      "Specificity": {"score": 3.50, "explanation": "It cites \\"7 harbours\\" and {nets}."},
      "Opposition": {"score": 5.00, "explanation": "It refuses, with \\"Fluency\\": 1 as a quotation."},
      "Fluency": {"score": 4.25, "explanation": "No faults."},
      "Toxicity": {"score": 4.7"""
    names = ("specificity", "opposition", "fluency", "toxicity", "relatedness")
    assert parse_multi(text, aspects={name: AspectField((name,), (1, 5), 2) for name in names}) == {
        "specificity": ParsedRating(3.5, None, 'It cites "7 harbours" and {nets}.'),
        "opposition": ParsedRating(5.0, None, 'It refuses, with "Fluency": 1 as a quotation.'),
        "fluency": ParsedRating(4.25, None, "No faults."),
        "toxicity": ParsedRating(None, "truncated"),
        "relatedness": ParsedRating(None, "no_field"),
    }


def test_a_skeleton_that_was_copied_holds_no_grade() -> None:
    names = ("Specificity", "Opposition", "Fluency")
    text = json.dumps({name: {"score": 1.0, "explanation": "..."} for name in names})
    aspects = {name: AspectField((name,), (1, 5), 2) for name in names}
    assert parse_multi(text, aspects=aspects) == {name: ParsedRating(None, "template") for name in names}
    answer = text.replace("...", "It names no harbour.")
    assert parse_multi(text + answer, aspects=aspects) == {
        name: ParsedRating(1.0, None, "It names no harbour.") for name in names
    }


@pytest.mark.parametrize(("text", "reason"), [("", "empty"), ("<think>", "truncated"), ("No.", "no_field")])
def test_nothing_at_all_leaves_every_aspect_missing(text: str, reason: Reason) -> None:
    assert parse_multi(text, aspects=ASPECTS) == dict.fromkeys(ASPECTS, ParsedRating(None, reason))


@pytest.mark.parametrize("scale", [(5, 1), (1, 1), (float("nan"), 5), (1, float("inf"))])
def test_a_scale_that_makes_no_sense(scale: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="lowest grade first"):
        parse_rating("4", scale=scale)
    with pytest.raises(InputError, match="lowest grade first"):
        parse_multi("4", aspects={"relevance": AspectField(("Relevance",), scale)})
    with pytest.raises(InputError, match="lowest grade first"):
        parse_prometheus("4", scale=scale)


@pytest.mark.parametrize("keys", [(), ("",), ("Relevance", " _")])
def test_a_key_that_is_blank(keys: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="with letters or digits"):
        parse_multi("4", aspects={"relevance": AspectField(keys, (1, 5))})
    if len(keys) == 1:
        with pytest.raises(InputError, match="with letters or digits"):
            parse_rating("4", scale=(1, 5), key=keys[0])


def test_grades_are_whole_unless_decimals_are_asked_for() -> None:
    assert parse_rating("3.5", scale=(1, 5)) == ParsedRating(None, "not_on_scale")
    assert parse_rating("3.5", scale=(1, 5), decimals=1) == ParsedRating(3.5)


def test_decimals_below_zero() -> None:
    with pytest.raises(InputError, match="give 0 or more"):
        parse_rating("4", scale=(1, 5), decimals=-1)


WORDS = st.text("abc xyz.,!?éß'()*#\n", max_size=60)
SCALES = st.tuples(st.integers(-3, 3), st.integers(1, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
TOKENS = r"""{ } [ ] " , : < > | - / \ . 0 1 2 3 4 5 9 "Relevance" Relevance: "score": "explanation": "label": "better":
{"Relevance": [RESULT] [[A]] Score: NaN ``` </think> ...""".split()
PIECES = st.lists(st.sampled_from([*TOKENS, " ", "\n", "\ud83d", "\x00"]), max_size=25).map("".join)


@given(st.one_of(st.text(), PIECES), SCALES, st.sampled_from([None, "Relevance"]), st.integers(0, 2))
def test_no_text_raises_or_gives_a_grade_off_the_scale(
    text: str, scale: tuple[int, int], key: str | None, decimals: int
) -> None:
    multi = parse_multi(text, aspects={"relevance": AspectField(("Relevance",), scale, decimals)})["relevance"]
    rating = parse_rating(text, scale=scale, key=key, decimals=decimals)
    for found in (rating, multi, parse_prometheus(text, scale=scale, decimals=decimals)):
        assert (found.value is None) == (found.reason in get_args(Reason))
        if found.value is not None:
            assert scale[0] <= found.value <= scale[1]
            assert round(found.value, decimals) == found.value
        if found.explanation is not None:
            assert found.explanation.encode()
    assert (parse_label(text, ["yes", "no"]).value is None) == (
        parse_label(text, ["yes", "no"]).reason in get_args(Reason)
    )
    assert (parse_verdict(text).value is None) == (parse_verdict(text).reason in get_args(Reason))


@given(SCALES, st.data(), WORDS, WORDS)
def test_words_and_fences_around_an_answer_do_not_change_it(
    scale: tuple[int, int], data: st.DataObject, before: str, after: str
) -> None:
    grade = data.draw(st.integers(*scale))
    form = data.draw(st.sampled_from(['{"Good Sense": %d}', '{"good_sense": "%d"}', '{"Good Sense": {"score": %d}}']))
    fence = data.draw(st.sampled_from(["%s", "```\n%s\n```", "```json\n%s\n```"]))
    text = f"{before}\n{fence % (form % grade)}\n{after}"
    assume(not re.search(r"\(\w[\w']{2,}", text))  # a word in brackets, such as (omitted), voids the answer
    for options in ({"key": "good sense"}, {"names": ("Good sense",)}):
        assert parse_rating(text, scale=scale, **options) == ParsedRating(float(grade))


@given(SCALES, st.integers(-20, 20))
def test_a_whole_number_is_read_if_and_only_if_it_is_on_the_scale(scale: tuple[int, int], number: int) -> None:
    on_it = scale[0] <= number <= scale[1]
    expected = ParsedRating(float(number)) if on_it else ParsedRating(None, "out_of_scale")
    assert parse_rating(str(number), scale=scale) == expected
    assert parse_rating(f"Sense: {number}", scale=scale, key="sense") == expected


@pytest.mark.long
@pytest.mark.parametrize(
    "unit",
    [
        *("{", '"', "'", "\\", " ", "\n", "-", "9", "(", "[", "4 ", '{"', '\\"', "<think>", "</think>", "```", "{\n"),
        *('{"Relevance": ', '"Relevance":{', "'Relevance':{\\\"", '{"Relevance": 4} ', '{"Relevance": {"score": '),
        *('"Relevance', "Relevance: ", "Relevance: 4\n", "Relevance \n", "Score: ", "[RESULT] ", "[RESULT] 4\n"),
        *(
            '{"a":',
            '"a": 4, ',
            '{\\"',
            '"\\"',
            '"explanation": "',
            '{"score": "',
            "[[A",
            '"label": "',
            "4 (",
            "4 out of ",
        ),
    ],
)
def test_a_long_loop_of_anything_takes_no_time(unit: str) -> None:
    text = unit * (30_000 // len(unit))
    began = time.process_time()
    for hostile in (text, '{"Relevance": ' + text, "4" + text + "x"):
        _keyed(hostile)
        _keyless(hostile, 2)
        parse_prometheus(hostile)
        parse_label(hostile, ["yes", "no"])
        parse_verdict(hostile)
    assert time.process_time() - began < 3  # 0.03 to 0.3 s; what is quadratic takes ten and more


@pytest.mark.parametrize("unit", ['{"Relevance": 4} ', "'Relevance':{\\\"", "Relevance: ", '"', "{", " "])
def test_a_megabyte_takes_no_time(unit: str) -> None:
    began = time.process_time()
    _keyed("4" + unit * (1_000_000 // len(unit)) + "x")
    assert time.process_time() - began < 10
