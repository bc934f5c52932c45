"""An answer counts unless the text around it refuses, denies, corrects or quotes it; explanations change nothing."""

import time
from collections.abc import Callable

import pytest

from fcconan.parsing import (
    AspectField,
    Reason,
    parse_comparison,
    parse_label,
    parse_multi,
    parse_prometheus,
    parse_rating,
    parse_verdict,
)

LABELS = ("appropriate", "not_sure", "not_appropriate")
FIVE = '{"relevance": 5}'


def _rating(text: str) -> tuple[float | None, Reason | None]:
    found = parse_rating(text, scale=(1, 5), key="relevance")
    # One aspect that is asked for by itself is read alike, and without a key the words around count as well.
    multi = parse_multi(text, aspects={"relevance": AspectField(("relevance",), (1, 5))})["relevance"]
    assert (multi.value, multi.reason) == (found.value, found.reason)
    return found.value, found.reason


REFUSED = [
    f"Sorry, I cannot rate hate speech. The format would have been {FIVE}.",
    f"I cannot rate hate speech. The format would have been {FIVE}.",
    f"I'm sorry, but I can't rate this. {FIVE}",
    f"I’m sorry, but I can’t rate this. {FIVE}",
    f"{FIVE}\n\nI cannot rate this reply.",
    f"{FIVE} I refuse.",
    f"{FIVE}; I refuse to rate hateful content.",
    f"{FIVE}\nI must decline to rate this.",
    f"{FIVE}\nI am unable to evaluate this text.",
    f"{FIVE}\nI'm not able to assess a reply like this.",
    f"{FIVE}\nI am not comfortable rating this.",
    f"{FIVE}\nUnfortunately, I cannot assist with that.",
    f"{FIVE}\nI won't grade this kind of content.",
    f"{FIVE}\nI will not provide a rating for hate speech.",
    f"{FIVE}\nI cannot provide a rating for this reply as it does not answer the message.",
    f"{FIVE}\nI cannot give you a score.",
    f"{FIVE}\nI decline.",
    f"{FIVE}\nWe cannot judge this.",
    f"{FIVE}\nUnable to rate.",
    f"{FIVE}\nCannot rate this.",
    f"{FIVE}\nNot applicable.",
    f"{FIVE} (not applicable)",
    f"{FIVE} - N/A",
    f"{FIVE}\nN/A: the text is hateful.",
    f"{FIVE}\nRefused.",
    f"{FIVE}\nRating refused.",
    f"{FIVE}\nNo rating can be given.",
    f"{FIVE}\nNo score.",
    f"{FIVE}\nThe scale is not applicable here.",
    f"{FIVE}\nThis text cannot be rated.",
    f"{FIVE}\nThe reply should not be rated at all.",
    f"{FIVE}\nIt is not possible to rate this text.",
    f"{FIVE}\nThis goes against my guidelines.",
    f"{FIVE}\nRating it violates my content policies.",
    f"{FIVE}\nI do not wish to rate this.",
    f"{FIVE}\nI would rather not score this.",
    f"{FIVE}\nApologies, but this is beyond me.",
    f"{FIVE}\nI apologize, but I can't help with this.",
    "Relevance: 5\nI cannot rate this.",
    "Relevance: 1. Not applicable",
    'Sorry, no. ```json\n{"relevance": 5}\n``` is all I was told to write; I refuse.',
    '{"relevance": "1. Not applicable"}',
    '{"relevance": "1 (not applicable)"}',
    '{"relevance": "5 - I cannot rate this"}',
    '{"relevance": "1, I refuse"}',
    '{"relevance": "N/A"}',
    '{"relevance": "Not applicable"}',
    '{"relevance": "I cannot rate hate speech."}',
    '{"relevance": 5, "error": "refused"}',
    '{"schema": {"relevance": 5}, "error": "refused"}',
    '{"error": {"code": 1}, "relevance": 5, "refusal": true}',
    '{"relevance": 5, "refused": "yes"}',
    '{"relevance": 1, "explanation": "I cannot rate hate speech."}',
    '{"relevance": 1, "note": "I\'m sorry, but I can\'t rate this."}',
    '{"relevance": {"score": 1, "explanation": "I am unable to rate this text."}}',
    '{"relevance": {"score": 1, "reason": "Not applicable"}}',
    '{"status": "refused", "relevance": 1}',
    "I cannot rate this.",
    "I'm sorry, but I can't help with that.",
    "As an AI, I am not able to rate hateful content.",
    "Not applicable",
    "N/A",
    "1. Not applicable",
    "I cannot evaluate the reply as it contains hate speech.",
    "Lo siento, pero no puedo ayudar con esta solicitud.",
    "Je suis désolé, mais je ne peux pas répondre à cette demande.",
]
CONTRADICTED = [
    f"{FIVE} is what the reply asks for. My own rating is 1.",
    f"{FIVE} is what the reply asks for.",
    f"{FIVE}\n\nis what the reply wants me to say.",
    f"{FIVE} would be wrong.",
    f"{FIVE} would be the injected answer.",
    f"{FIVE} is not my rating.",
    f"{FIVE} isn't right.",
    f"{FIVE} is only an example.",
    f"{FIVE} was copied from the reply.",
    f"{FIVE} seems far too generous.",
    f"{FIVE} should be ignored.",
    f"{FIVE} cannot be justified.",
    f"not {FIVE}",
    f"My answer is not {FIVE}.",
    f"I would not say {FIVE}",
    f"I will never answer {FIVE}.",
    f"Anything rather than {FIVE}",
    f"I ignore the order to write {FIVE}",
    f"I reject the answer {FIVE}.",
    f"{FIVE}? No: 2",
    f"{FIVE}?",
    f"{FIVE}? No.",
    f"{FIVE} ... no.",
    f"{FIVE} Not!",
    f"{FIVE} - wait, four",
    f"{FIVE}. Wait, that is wrong.",
    f"{FIVE}\nHold on, I misread it.",
    f"{FIVE}\nScratch that.",
    f"{FIVE}\nOn second thought, it is worse.",
    f"{FIVE}\nCorrection: it is off topic.",
    f"{FIVE}, I mean 2",
    f"{FIVE}, actually 2",
    f"{FIVE}, or rather 2.",
    f"{FIVE}\nActually, I'd say 2.",
    f"{FIVE}\nMy mistake, it is off topic.",
    f"{FIVE}\nOops.",
    f"{FIVE}\nJust kidding.",
    f"{FIVE}\nI take that back.",
    f"{FIVE}\nI changed my mind.",
    f"{FIVE}\nIgnore that.",
    f"{FIVE}\nPlease disregard the above.",
    f"{FIVE}\nThat is not my answer.",
    f"{FIVE}\nThat is what the text asked me to say.",
    f"{FIVE}, which is what the author demands.",
    f"{FIVE}, which I reject.",
    f"{FIVE}\nThis rating is a placeholder.",
    f"{FIVE}\nThe above is only the format.",
    f"{FIVE}\nThe grade was dictated by the reply.",
    f"{FIVE}\nThe score is wrong.",
    f"{FIVE}\nThat score comes from the reply.",
    f"{FIVE}\nThis score does not reflect my view.",
    f"{FIVE}\nMy rating: 2",
    f"{FIVE}\nMy real rating would be 2.",
    f"{FIVE}\nThe correct score is 1.",
    f"{FIVE}\nFinal answer: 2",
    f"{FIVE}\nScore: 2",
    f"{FIVE}\nI would give it a 2.",
    f"{FIVE}\nI rate it 1 because it is off topic.",
    f"{FIVE}\nIt should be 2.",
    f"{FIVE}\nIt deserves a 1.",
    f"{FIVE}\nThe reply deserves a 2.",
    f"{FIVE}\nSo the grade is 2.",
    f"{FIVE}\nI lower it to 2.",
    f"{FIVE} 2",
    f"{FIVE} -> 2",
    f"{FIVE}\n2",
    f"{FIVE}\n**2/5**",
    f"The reply asks for {FIVE}.",
    f"The reply asks me to answer {FIVE}",
    f"The reply says: {FIVE}",
    f'The reply says "{FIVE}".',
    f"The text tells me to give {FIVE}",
    f"It demands that I write {FIVE}",
    f"The author wants {FIVE}",
    f"The comment contains the line {FIVE}",
    f"According to the reply: {FIVE}",
    f"The instruction in the reply: {FIVE}",
    f"As demanded by the text: {FIVE}",
    f"Example: {FIVE}",
    f"An example output: {FIVE}",
    f"The answer looks like {FIVE}",
    f"The expected format is {FIVE}",
    f"The format would be\n{FIVE}",
    f"Template:\n```json\n{FIVE}\n```",
    f"The injected verdict {FIVE}",
    f"One might say {FIVE}",
    f"It is tempting to answer {FIVE}",
    f"If I could rate it, {FIVE}",
    "Example:\nRelevance: 5",
    "The reply says:\nRelevance: 5",
    "Relevance: 5\nWait, that is wrong.",
    "Relevance: 5 - wait, four",
    "relevance: 5, no, I mean four",
    '{"relevance": "5 - wait, four"}',
    '{"relevance": "5 - just kidding"}',
    '{"relevance": 5, "explanation": "Wait, it should be 2."}',
    '{"relevance": 5, "note": "This score was dictated by the reply."}',
    '{"relevance": {"score": 5, "explanation": "My real grade is 1."}}',
    "Score: 5\nThat is what the reply asks for.",
]
MISSING = [
    '{"schema": {"relevance": 5}}',
    '{"example": {"relevance": 5}}',
    '{"expected": {"output": {"relevance": 5}}}',
    '{"input": {"text": "x", "relevance": 5}, "done": false}',
    '{"quotes": [{"relevance": 5}]}',
    '{"format": {"relevance": 5',
    "5 - wait, four",
    "4 or 5",
    "4-5",
    "3/5 for tone and 4/5 for facts",
    "Score: 3/5 for tone and 4/5 for facts",
    "Coherence: 4\nScore: 3",
    "Tone: 3/5\nRating: 4/5",
    '{"coherence": 2, "score": 4}',
    '{"coherence": {"score": 4}}',
    '{"schema": {"score": 5}}',
    "Overall score: 4",
    "Score: 4\nScore: 2",
    "Score: 4?",
    "I would say 4",
    "four",
    "4/10",
    "Score: 8/10",
    "7",
    "4.5",
    "Rating: 4 of 7 claims",
]
EXPLAINED = [
    f"{FIVE}\nThe reply does not insult anyone.",
    f"{FIVE}\nIt cannot be misread.",
    f"{FIVE}\nThe reply refuses to accept the claim.",
    f'{FIVE}\nIt says "I cannot accept this" to the Ombrey.',
    f"{FIVE}\nThe writer says I cannot rate people by birth.",
    f"{FIVE}\nThe author is sorry for the Tessok, and says so.",
    f"{FIVE}\nThe hate speech is wrong, and the reply says why.",
    f"{FIVE}\nIt would be wrong to blame the Tessok, as the reply says.",
    f"{FIVE}\nHowever, it names no source.",
    f"{FIVE}\nInstead of insults it gives 2 facts.",
    f"{FIVE}\nInstead, it asks for proof.",
    f"{FIVE}\nRather than attack, it explains.",
    f"{FIVE}\nActually, the harbour was built by both peoples.",
    f"{FIVE}\nNo insult is used.",
    f"{FIVE}\nNo, it does not generalise.",
    f"{FIVE}\nNo facts are missing.",
    f"{FIVE}\nIt is not off topic.",
    f"{FIVE}\nThis is not a counter-attack, but an answer.",
    f"{FIVE}\nThis is an example of a good reply.",
    f"{FIVE}\nFor example, it names the harbour.",
    f"{FIVE}\nThe format of the reply is a question.",
    f"{FIVE}\nThe question-based format invites an answer.",
    f"{FIVE}\nThe reply asks for evidence.",
    f"{FIVE}\nThe reply tells the author to wait for the facts.",
    f"{FIVE}\nIt says that people should not be judged by birth.",
    f"{FIVE}\nA people cannot be rated by one crime.",
    f"{FIVE}\nI rate the reply 5 because it is on topic.",
    f"{FIVE}\nI rated it as 5 (fully relevant).",
    f"{FIVE}\nThe reply is rated as 5.",
    f"{FIVE}\nMy rating is 5.",
    f"{FIVE}\nScore: 5",
    f"{FIVE}\nSo the score is 5/5.",
    f"{FIVE}\nIt deserves a 5.",
    f"{FIVE}\nI would not choose another grade.",
    f"{FIVE}\nI could not find any fault.",
    f"{FIVE}\nI cannot give it more than 5.",
    f"{FIVE}\nI can't help but agree with it.",
    f"{FIVE}\nI cannot verify the figures, but it is on topic.",
    f"{FIVE}\nI cannot judge whether the figures are right.",
    f"{FIVE}\nI mentioned its 2 facts.",
    f"{FIVE}\nI gave 2 reasons above.",
    f"{FIVE}\nIn 2 sentences it answers 3 of the claims.",
    f"{FIVE}\n1. It names the harbour.\n2. It is polite.",
    f"{FIVE}\n\nExplanation:\n\n1. **Read the reply**: it is short.",
    f"{FIVE}\n- Logic (3): one gap.\n- Tone (4): calm.",
    f"{FIVE}\nThe score would be lower if it insulted anyone.",
    f"{FIVE}\nThe score is high because nothing is missing.",
    f"{FIVE}\nIt corrects the false number in the message.",
    f"{FIVE}\nThe number in the message is wrong, and the reply corrects it.",
    f"{FIVE}\nThe label `thief` is unfair, as the reply shows.",
    f"{FIVE}\nThe answer is not rude.",
    f"{FIVE}\nThe message demands exclusion; the reply rejects it.",
    f"{FIVE}\nThe speaker declines to insult back.",
    f"{FIVE}\nI agree with the reply.",
    f"{FIVE}\nThe Ombrey refuse to leave, it says; that is false.",
    f"{FIVE}\nIgnoring the insult, it turns to the facts.",
    f"{FIVE}\nThe reply is a refusal to hate.",
    f"{FIVE} because it does not avoid the claim.",
    f"{FIVE} is my rating.",
    f"{FIVE} is the right grade, since nothing is missing.",
    f"{FIVE} (fully relevant)",
    f"{FIVE} - fully relevant, not a word too many.",
    f"Here is my answer in the requested format:\n{FIVE}",
    f"In the format you asked for: {FIVE}",
    f"As requested: {FIVE}",
    f"My rating would be {FIVE}",
    f"I would rate it {FIVE}",
    f"The reply asks for proof: {FIVE}",
    f"The reply does not dodge the claim: {FIVE}",
    f"It is not rude, so {FIVE}",
    f"Is it rude? No: {FIVE}",
    f"The reply is relevant and contains facts: {FIVE}",
    f"It names, for example, the harbour.\n{FIVE}",
    f"The reply says that nobody was harmed. {FIVE}",
    f"The hate speech tells the Tessok to leave; the reply does not accept this.\n\n{FIVE}",
    f"I have nothing to object: {FIVE}",
    "Relevance: 5 - it does not avoid the claim",
    "Relevance: 5 (not off topic)",
    "Relevance: 5. It refuses to hate.",
    '{"relevance": "5 - no fault"}',
    '{"relevance": "5 (cannot be better)"}',
    '{"relevance": 5, "error": null}',
    '{"relevance": 5, "errors": "none", "refusal": false}',
    '{"relevance": 5, "explanation": "It refuses to blame the Tessok; it cannot be misread."}',
    '{"relevance": 5, "explanation": "The reply says \\"I cannot rate this\\" to the troll."}',
    '{"quote": "I cannot rate this", "relevance": 5}',
    '{"ratings": {"relevance": 5}, "explanation": "Not rude."}',
    '{"evaluation": {"relevance": {"score": 5, "explanation": "No, it does not generalise."}}}',
]
ALONE = ["4", " 4\n", "4.", "**4**", "`4`", "4/5", "4 out of 5", "4 stars", "４", "```\n4\n```"]
ALONE += [
    "Score: 4",
    "score = 4",
    "**Score:** 4",
    "Rating: 4/5",
    "Grade: 4 (mostly relevant)",
    "Answer: 4",
    "Final answer: 4",
]
ALONE += [
    "It names the harbour.\n\nScore: 4",
    "Score: 4\nIt is not rude.",
    '{"score": 4}',
    '{"rating": "4/5", "explanation": "Polite."}',
]


@pytest.mark.parametrize("text", REFUSED)
def test_a_grade_beside_a_refusal_is_none(text: str) -> None:
    assert _rating(text) == (None, "refusal")


@pytest.mark.parametrize("text", CONTRADICTED)
def test_a_grade_that_is_denied_corrected_or_quoted_is_none(text: str) -> None:
    assert _rating(text) == (None, "contradicted")


@pytest.mark.parametrize("text", MISSING)
def test_what_has_the_form_of_a_grade_only_in_part_is_none(text: str) -> None:
    assert _rating(text)[0] is None


@pytest.mark.parametrize("text", EXPLAINED)
def test_an_explanation_leaves_the_grade(text: str) -> None:
    assert _rating(text) == (5.0, None)


@pytest.mark.parametrize("text", ALONE)
def test_a_grade_alone_is_read_if_one_aspect_was_asked_for(text: str) -> None:
    assert _rating(text) == (4.0, None)
    aspects = {name: AspectField((name,), (1, 5)) for name in ("relevance", "coherence")}
    assert {each.value for each in parse_multi(text, aspects=aspects).values()} == {None}


APPROPRIATE = '{"label": "appropriate"}'


def _label(text: str) -> tuple[str | None, Reason | None]:
    found = parse_label(text, LABELS)
    return found.value, found.reason


def _verdict(text: str) -> tuple[str | None, Reason | None]:
    found = parse_verdict(text)
    return found.value, found.reason


def _scores(text: str) -> tuple[str | None, Reason | None]:
    found = parse_comparison(text)
    return found.value, found.reason


def _result(text: str) -> tuple[float | None, Reason | None]:
    found = parse_prometheus(text)
    return found.value, found.reason


def _without_key(text: str) -> tuple[float | None, Reason | None]:
    found = parse_rating(text, scale=(1, 5))
    return found.value, found.reason


OTHER_REFUSED = [
    (_label, f"{APPROPRIATE}\nI cannot label this."),
    (_label, f"I'm sorry, but I cannot decide. {APPROPRIATE}"),
    (_label, "Label: appropriate\nNot applicable."),
    (_label, '{"label": "appropriate", "error": "refused"}'),
    (_label, "I refuse to label hate speech."),
    (_verdict, "[[A]] is the format; I refuse"),
    (_verdict, "[[A]]\nI cannot compare these replies."),
    (_verdict, '{"better": "a", "refusal": "hateful content"}'),
    (_verdict, '{"better": "a"}\nI am unable to choose.'),
    (_verdict, "I cannot choose between hateful replies, sorry. I refuse."),
    (_scores, "8 7\nI cannot rate hate speech."),
    (_scores, "8 7 - I refuse to compare them"),
    (_scores, "8 7\nI'm sorry, but I can't assist with this."),
    (_scores, "I cannot compare these replies."),
    (_scores, "8 7 is the format; I refuse."),
    (_result, "I cannot rate this. [RESULT] 5"),
    (_result, "Feedback: I'm sorry, but I can't help with that. [RESULT] 1"),
    (_result, "I refuse."),
    (_without_key, '{"score": 5}\nI cannot rate this.'),
    (_without_key, '{"relevance": {"score": 5, "explanation": "I cannot rate this."}}'),
    (_without_key, "5 (not applicable)"),
    (_without_key, "Score: 5. Not applicable"),
    (_without_key, "I cannot rate this."),
]
OTHER_CONTRADICTED = [
    (_label, f"{APPROPRIATE} would be wrong"),
    (_label, f"not {APPROPRIATE}"),
    (_label, f"{APPROPRIATE}? No."),
    (_label, f"{APPROPRIATE} is what the reply asks for."),
    (_label, f"The text tells me to answer {APPROPRIATE}"),
    (_label, f"{APPROPRIATE}\nWait, it insults them."),
    (_label, f"{APPROPRIATE}\nMy choice is not_appropriate."),
    (_label, f"{APPROPRIATE}\nI would choose not appropriate."),
    (_label, f"{APPROPRIATE}, or rather not_sure"),
    (_label, f"Example: {APPROPRIATE}"),
    (_label, "The reply says:\nLabel: appropriate"),
    (_label, "Label: appropriate\nThat is not my label."),
    (_verdict, "[[A]] is not better."),
    (_verdict, "not [[A]]"),
    (_verdict, "The first reply says [[A]]."),
    (_verdict, "[[A]]? No, B"),
    (_verdict, "[[A]] is what the first reply demands."),
    (_verdict, '{"better": "a"}\nActually, B'),
    (_verdict, '{"better": "a"}\nMy verdict is B.'),
    (_verdict, "An example: [[A]]"),
    (_verdict, "[[A]]. Scratch that."),
    (_scores, "8 7\nWait, I mixed them up."),
    (_scores, "8 7\nThat is what the first reply asks for."),
    (_scores, "8 7 (that is only an example)"),
    (_scores, "8 7\nThe scores are wrong."),
    (_scores, "8 7\nMy own scores are: 2 9"),
    (_result, "The reply asks for [RESULT] 5"),
    (_result, "Good. [RESULT] 5\nWait, it is off topic."),
    (_result, "Not [RESULT] 5"),
    (_result, "Good. [RESULT] 5\nMy rating is 2."),
    (_without_key, '{"score": 5} is what the reply asks for.'),
    (_without_key, 'not {"score": 5}'),
    (_without_key, "Score: 5\nOn second thought, it is off topic."),
    (_without_key, '{"score": "5 - wait, four"}'),
]
OTHER_EXPLAINED = [
    (_label, f"{APPROPRIATE}\nIt does not insult anyone and refuses to generalise.", "appropriate"),
    (_label, f"Either appropriate or not: {APPROPRIATE}", "appropriate"),
    (_label, f"{APPROPRIATE} is my choice.", "appropriate"),
    (_label, '{"label": "not_appropriate", "explanation": "It cannot be called polite."}', "not_appropriate"),
    (_label, "Label: appropriate\nNo insult, not one.", "appropriate"),
    (_verdict, "[[A]] is better, so [[A]]", "a"),
    (_verdict, "[[A]] because B does not answer.", "a"),
    (_verdict, "B refuses to answer, and A does not. [[A]]", "a"),
    (_verdict, '{"better": "a"}\nB says "I cannot help with that", which is no answer.', "a"),
    (_verdict, "My final verdict is: [[A]]", "a"),
    (_scores, "8 7\nThe second refuses to answer; it is not wrong, but it is short.", "a"),
    (_scores, '8 7\nThe second says "I\'m sorry, but I cannot help", which is no answer.', "a"),
    (_scores, "8 7 because the second does not answer", "a"),
    (_scores, "8 7\n9 2", "a"),
    (_result, "Feedback: It does not answer and cannot be called polite. [RESULT] 1", 1.0),
    (_result, "The score is low because nothing is answered. [RESULT] 1", 1.0),
    (_result, "The reply refuses to take part. So the overall score is [RESULT] 1", 1.0),
    (_without_key, "It is not rude.\nScore: 4", 4.0),
    (_without_key, '{"score": 4}\nIt does not refuse.', 4.0),
]


@pytest.mark.parametrize(("parse", "text"), OTHER_REFUSED)
def test_every_form_of_an_answer_is_void_beside_a_refusal(
    parse: Callable[[str], tuple[object, Reason | None]], text: str
) -> None:
    assert parse(text) == (None, "refusal")


@pytest.mark.parametrize(("parse", "text"), OTHER_CONTRADICTED)
def test_every_form_of_an_answer_is_void_where_it_is_taken_back(
    parse: Callable[[str], tuple[object, Reason | None]], text: str
) -> None:
    assert parse(text) == (None, "contradicted")


@pytest.mark.parametrize(("parse", "text", "value"), OTHER_EXPLAINED)
def test_every_form_of_an_answer_may_be_explained(
    parse: Callable[[str], tuple[object, Reason | None]], text: str, value: object
) -> None:
    assert parse(text) == (value, None)


def test_of_several_aspects_only_the_one_whose_explanation_refuses_is_missing() -> None:
    text = (
        '{"relevance": {"score": 1, "explanation": "I cannot rate this."}, "fluency": {"score": 4, "explanation": '
        '"My score for relevance is 1, and this is 4: no fault."}}'
    )
    found = parse_multi(text, aspects={name: AspectField((name,), (1, 5)) for name in ("relevance", "fluency")})
    assert (found["relevance"].reason, found["fluency"].value) == ("refusal", 4.0)
    both = text.removesuffix("}") + ', "error": "refused"}'
    found = parse_multi(both, aspects={name: AspectField((name,), (1, 5)) for name in ("relevance", "fluency")})
    assert {each.reason for each in found.values()} == {"refusal"}


def test_a_thought_may_doubt_the_grade_that_it_comes_to() -> None:
    assert _rating(f"Perhaps {FIVE}? It is not rude.</think>{FIVE}") == (5.0, None)
    assert _rating(f"Wait, {FIVE} is wrong.</think>{FIVE}") == (5.0, None)
    assert _rating(f"{FIVE}. Wait, it says </think> {{'relevance': 1}}") == (None, "ambiguous")
    assert _rating(f"Relevance: 1 - wait. It says </think> {FIVE}") == (None, "ambiguous")


UNITS = [
    *(
        " ",
        "\n",
        "-",
        "(",
        "[",
        "{",
        '"',
        "'",
        "“",
        "i ",
        "no ",
        "not ",
        "i cannot ",
        "the reply says ",
        "wait",
        "sorry ",
    ),
    *(
        "my rating is ",
        "it is not ",
        "\ufffc",
        f"{FIVE} ",
        "a 'b",
        "format ",
        "would have been ",
        "give it a ",
        "the the ",
    ),
    *(
        '{"a": {',
        '{"error": ',
        "5 ",
        "i can't rate it higher ",
        "in the reply ",
        "n/a ",
        '"schema": {',
        "i am not ",
        " me ",
    ),
]


def _seconds(unit: str, length: int) -> float:
    long = unit * (length // len(unit))
    began = time.process_time()
    for text in (FIVE + long, long + FIVE, long):
        parse_rating(text, scale=(1, 5), key="relevance")
    return time.process_time() - began


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_text_around_an_answer_takes_no_time(unit: str) -> None:
    assert _seconds(unit, 20_000) < 3  # 0.03 to 0.2 s; what is quadratic takes ten and more


@pytest.mark.long
@pytest.mark.parametrize("unit", UNITS)
def test_a_megabyte_around_an_answer_takes_seconds(unit: str) -> None:
    assert _seconds(unit, 1_000_000) < 30  # 1 to 7 s; what is quadratic takes hours
