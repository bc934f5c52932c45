"""Reading the answers of judges: the table of docs/judges.md and further forms; refusals."""

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from fcconan import AspectField, parse_comparison, parse_multi, parse_rating
from fcconan.errors import InputError
from fcconan.parsing import (
    find_refusal,
    is_refusal,
    parse_label,
    parse_prometheus,
    parse_verdict,
    split_thinking,
)

ASPECTS = ("relevance", "coherence", "aggressiveness")
FIELDS = {name: AspectField((name,), (1, 5)) for name in ASPECTS}
DEEP = '{"relevance": ' * 3000


# The table of docs/judges.md, then further answers. Three aspects are asked; the others are missing.
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Relevance (out of 10): 4", "contradicted"),
        ('{"relevance": {"score": 4, "max_score": 10}}', "contradicted"),
        ('{"relevance": {"score": 4, "final_score": 2}}', "contradicted"),
        ("Relevance (%): 4", "contradicted"),
        ("relevance: 4 of 5", 4),
        ("relevance: **4** – clearly on topic", 4),
        ("relevance: 4, coherence: 2, aggressiveness: 1", (4, 2, 1)),
        ('{"relevance": 4}\nIs there anything else I can do?', 4),
        ('Unable to process. {"relevance": 1}', "unreadable"),
        ('Sorry, I cannot rate this. The format would have been {"relevance": 5}.', "refusal"),
        ('{"relevance": 5}? No: {"relevance": 2}', "unreadable"),
        ('My rating is {"relevance": 4}', "unreadable"),
        # JSON
        ('```json\n{"Relevance": "4/5"}\n```', 4),
        ('json {"relevance": 4.0}', 4),
        ('The reply is on topic.\n{\n  "relevance": 4,\n  "coherence": "2 (Slightly)"\n}', (4, 2, "unreadable")),
        ('{"relevance": 4} The reply is on topic.', 4),
        ('{"relevance": 4}\n{"coherence": 2}', (4, 2, "unreadable")),
        ('{"relevance": 4}\n{"relevance": 2}', "contradicted"),
        ('{"relevance": 4} No: {"relevance": 2}', "unreadable"),
        ('{"relevance": 4, "relevance": 2}', "contradicted"),
        ('{"relevance": 4, "Relevance ": 4}', 4),
        ('{"relevance": "4/10"}', "contradicted"),
        ('{"relevance": "3-4"}', "contradicted"),
        ('{"relevance": 4, "scale": "1-10"}', "contradicted"),
        ('{"relevance": {"score": 4, "scale": "1-5"}}', 4),
        ('{"relevance": {"score": 4, "scale": {"max": 10}}}', "contradicted"),
        ('{"relevance": 9}', "out_of_range"),
        ('{"relevance": 2.5}', "out_of_range"),
        ('{"relevance": 4}\nRelevance: 2', 4),  # the first form that is present decides
        ('{"relevance": "high"}', "unreadable"),
        ('{"relevance": true}', "unreadable"),
        ('{"relevance": [4]}', "unreadable"),
        ('{"relevance": 4', "unreadable"),
        (DEEP, "unreadable"),
        # lines
        ("- **Relevance score**: 4/5", 4),
        ("2. Relevance (1-5) = 4 (mostly on topic)", 4),
        ("Relevance: 4. It names 3 sources.", 4),
        ("Relevance: 4 (was 2)", "contradicted"),
        ("Relevance: 4, or rather: 2", "contradicted"),
        ("Relevance: 3 or 4", "contradicted"),
        ("Relevance: 3,5", "contradicted"),
        ("Relevance: 4\nRelevance: 2", "contradicted"),
        ("Relevance: -4", "out_of_range"),
        ("Relevance: 40%", "unreadable"),
        ("All in all, relevance: 4", "unreadable"),
        ("The relevance is 4.", "unreadable"),
        # the whole message, which has no name of one of the three aspects
        ("4", "unreadable"),
        ('{"score": 4}', "unreadable"),
        ("", "unreadable"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        # thinking
        ("<think>Relevance: 2</think>Relevance: 4", 4),
        ("<think>Relevance: 2", "unreadable"),
    ],
)
def test_answers_about_three_aspects(answer: str, expected: float | str | tuple[float | str, ...]) -> None:
    found = [one.reason if one.value is None else one.value for one in parse_multi(answer, aspects=FIELDS).values()]
    missing = expected if expected == "refusal" else "unreadable"
    assert found == [*expected] if isinstance(expected, tuple) else found == [expected, missing, missing]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"score": 4, "explanation": "It asks."}', 4),
        ('{"score": 4, "max_score": 10}', "contradicted"),
        ("Rating: 4", 4),
        ("Choose or not - 4", 4),
        ("choose_or_not: 4\nScore: 2", "contradicted"),
        ("4 5", "unreadable"),
        ("4 bakers", "unreadable"),
        ("four", "unreadable"),
    ],
)
def test_answers_about_one_aspect(answer: str, expected: float | str) -> None:
    found = parse_rating(answer, scale=(1, 5), key="Choose or Not")
    assert (found.reason if found.value is None else found.value) == expected


@given(
    grade=st.integers(1, 5),
    form=st.sampled_from(("{}", "{}.", "**{}**", "`{}`", '"{}"', "{}/5", "{} / 5", "{} of 5", "{} out of 5", "{}.0")),
    around=st.sampled_from(("{}", " {}\n", "```\n{}\n```", "<think>Is it 3?</think>\n{}")),
)
def test_a_grade_alone_is_read_in_each_spelling(grade: int, form: str, around: str) -> None:
    answer = form.format(grade)
    assert parse_rating(around.format(answer), scale=(1, 5)).value == grade
    if '"' not in form:
        assert parse_rating(f"Score: {answer}", scale=(1, 5)).value == grade


def test_decimals_count_where_the_scale_has_them() -> None:
    assert parse_rating("3.75", scale=(1, 5), decimals=2).value == 3.75
    assert parse_rating("3.755", scale=(1, 5), decimals=2).reason == "out_of_range"


@pytest.mark.parametrize(
    ("answer", "value", "explanation"),
    [
        ("Feedback: It asks 2 bakers. [RESULT] 4", 4, "It asks 2 bakers."),
        ("It asks.\n[RESULT]: (4)\n", 4, "It asks."),
        ("[RESULT] 4\n[RESULT] 2", "contradicted", None),
        ("[RESULT] 7", "out_of_range", None),
        ("[RESULT] (an integer number between 1 and 5)", "unreadable", None),
        ('{"score": 4, "feedback": "It asks."}', 4, "It asks."),
    ],
)
def test_answers_in_the_form_of_prometheus(answer: str, value: float | str, explanation: str | None) -> None:
    found = parse_prometheus(answer)
    assert (found.value or found.reason, found.explanation) == (value, explanation)


def test_explanations_of_json_are_kept() -> None:
    answer = '{"relevance": {"score": 4, "explanation": "It asks."}, "coherence": {"score": 2, "reason": " \\ud83d"}}'
    found = parse_multi(answer, aspects=FIELDS)
    assert [one.explanation for one in found.values()] == ["It asks.", "\N{REPLACEMENT CHARACTER}", None]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("8 3\nThe first names 2 sources.", ("a", None, 8, 3)),
        ("7.5, 9", ("b", None, 7.5, 9)),
        ("\n6 6", ("tie", None, 6, 6)),
        ("0 11", (None, "out_of_range", None, None)),
        ("8 3 1", (None, "unreadable", None, None)),
        ("Scores: 8 3", (None, "unreadable", None, None)),
        ("I will not compare these replies.", (None, "refusal", None, None)),
    ],
)
def test_answers_in_the_form_of_judgelm(answer: str, expected: tuple[object, ...]) -> None:
    assert tuple(parse_comparison(answer)) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Both name sources. [[B]]", "b"),
        ("[[C]]", "tie"),
        ("[[A]] or [[B]]", "contradicted"),
        ('{"better": "A"}', "a"),
        ("better: tie", "tie"),
        ("**B**", "b"),
        ('{"better": "neither"}', "unreadable"),
        ("Reply A is better.", "unreadable"),
    ],
)
def test_verdicts(answer: str, expected: str) -> None:
    found = parse_verdict(answer)
    assert (found.value or found.reason) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"label": "not suitable"}', ("Not_suitable", None, None)),
        ('{"label": "suitable", "reason": "It asks."}', ("suitable", None, "It asks.")),
        ("Label: Not-suitable", ("Not_suitable", None, None)),
        ("Suitable.", ("suitable", None, None)),
        ('{"label": "perfect"}', (None, "unreadable", None)),
        ("It is suitable.", (None, "unreadable", None)),
        ("Label: suitable\nLabel: not suitable", (None, "contradicted", None)),
    ],
)
def test_labels(answer: str, expected: tuple[str | None, ...]) -> None:
    assert tuple(parse_label(answer, ["suitable", "Not_suitable"])) == expected


def test_thinking_that_ends_is_split_from_the_answer() -> None:
    assert split_thinking("Hm.</think> 4") == ("Hm.", " 4")
    assert split_thinking("4") == ("", "4")
    assert split_thinking(" <think>Hm.") is None


def test_a_missing_answer_is_refused() -> None:
    with pytest.raises(InputError, match="found nan, expected the text of an answer"):
        parse_rating(float("nan"), scale=(1, 5))  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", ["relevance" + " " * 30000, "{" * 30000, "\n" * 30000, ", " * 15000, "4" * 30000])
def test_a_hostile_answer_takes_no_long_time(answer: str) -> None:
    start = time.perf_counter()
    assert parse_rating(answer, scale=(1, 5), key="relevance").value is None
    assert parse_comparison(answer).value is None
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I’m sorry, but I can’t assist with that.", "request"),
        ("Let me see. This is about the Ombrey.\nI cannot create such content.", "request"),
        ("As an AI language model, I cannot take part in this.", "assistant"),
        ("I cannot encourage or endorse hateful talk about the Ombrey.", "endorsement"),
        ("Lo siento, pero no puedo ayudarte con eso.", "request"),
        ("Je ne peux pas cautionner des propos haineux.", "endorsement"),
        ("Sono solo un assistente virtuale.", "assistant"),
        ("Leider kann ich dir damit nicht weiterhelfen.", "request"),
        ("Não posso atender ao seu pedido.", "request"),
        ("Adimen artifizial bat naiz.", "assistant"),
        ("I can't believe you say this about the Ombrey.", None),
        ("I'm sorry that you feel this way about the Tessok.", None),
        ("The Ombrey bake. They sell. They sing. I cannot help with that.", None),  # the fourth sentence
        ("Als Lehrerin kenne ich keine solchen Tessok.", None),
        ("", None),
    ],
)
def test_refusals_of_replies(text: str, kind: str | None) -> None:
    assert find_refusal(text) == kind


@pytest.mark.parametrize("text", ["as an ai " * 400, "while given since " * 300, "a-" * 9000, "!" * 20000])
def test_a_hostile_reply_takes_no_long_time(text: str) -> None:
    find_refusal("")  # compiles the patterns
    start = time.perf_counter()
    assert not is_refusal(text)
    assert time.perf_counter() - start < 5


def test_recall_and_false_alarms_on_phrases_written_before_the_patterns() -> None:
    """120 made-up refusals and 120 counters, 60 of each in English, by an author who had not seen the patterns."""
    languages = yaml.safe_load(Path(__file__).with_name("refusal_phrases.yaml").read_text(encoding="utf-8"))
    found, alarms = (
        {language: sum(map(is_refusal, of[label])) for language, of in languages.items()}
        for label in ("refusals", "counters")
    )
    assert found == {"en": 51, "es": 10, "fr": 10, "it": 10, "de": 10, "pt": 10, "eu": 9}
    assert alarms == {"en": 1, "es": 0, "fr": 0, "it": 0, "de": 0, "pt": 0, "eu": 0}
