import math
from typing import Any

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from fcconan.data.schemas import RATING
from fcconan.errors import InputError
from fcconan.judging.lexical import LexicalJudge
from fcconan.judging.tasks import Aspect, Label, Task

MESSAGE = "The Ombrey steal bread."


def aspect(name: str, *, low: int = 1, high: int = 5, higher_is_better: bool = True) -> Aspect:
    grades = dict.fromkeys(range(low, high + 1), "what it means")
    return Aspect(
        name=name, title=name, question="?", low=low, high=high, higher_is_better=higher_is_better, grades=grades
    )


def task(*aspects: Aspect) -> Task:
    return Task(name="some", title="Some", unit="reply", question="?", aspects=list(aspects))


def reply(text: str | None, message: str | None = MESSAGE, name: str = "r-1") -> dict[str, Any]:
    return {"reply_id": name, "hate_speech": message, "text": text}


def rated(text: str | None, name: str, message: str | None = MESSAGE, **scale: Any) -> dict[str, Any]:
    [[row]] = LexicalJudge(task(aspect(name, **scale))).rate([reply(text, message)])
    return row


def test_a_row_has_the_columns_of_a_rating_and_says_that_it_is_a_baseline() -> None:
    row = rated("Tessok bake.", "fluency")
    assert list(row) == [*RATING.kinds, "item_id", "hs_id", "system"]
    assert row == {
        "reply_id": "r-1",
        "rater": "lexical-baseline",
        "rater_kind": "metric",
        "aspect": "fluency",
        "value": 5.0,
        "low": 1.0,
        "high": 5.0,
        "higher_is_better": True,
        "reason": None,
        "explanation": "baseline without a model: share 1.000",
        "item_id": None,
        "hs_id": None,
        "system": None,
    }


@pytest.mark.parametrize("name", ["relatedness", "relevance"])
def test_relatedness_is_the_cosine_of_tf_idf_vectors(name: str) -> None:
    texts = ["The Ombrey bake their own bread.", "Bread, bread and more bread!", "Nobody knows."]
    rows = [reply(text, name=str(number)) for number, text in enumerate(texts)]
    found = [row["value"] for [row] in LexicalJudge(task(aspect(name, low=0, high=1))).rate(rows)]
    vectors = TfidfVectorizer(token_pattern=r"\w+").fit_transform([*texts, MESSAGE]).toarray()
    assert found == pytest.approx([float(vectors[number] @ vectors[3]) for number in range(3)], abs=1e-12)
    assert found[2] == 0


def test_relatedness_by_hand() -> None:
    # Two texts; the word of both weighs 1, the word of one ln(3 / 2) + 1.
    row = rated("bread rises", "relatedness", message="bread")
    assert row["value"] == pytest.approx(1 + 4 / math.sqrt(1 + (math.log(1.5) + 1) ** 2))


def test_a_message_that_many_replies_answer_is_counted_once() -> None:
    # bread is in the message and one of two replies, that is 2 of 3 texts; rises in 1 of 3.
    rows = [reply("bread rises", "bread", "1"), reply("salt", "bread", "2")]
    bread, rises = math.log(4 / 3) + 1, math.log(4 / 2) + 1
    [[first], [second]] = LexicalJudge(task(aspect("relevance", low=0, high=1))).rate(rows)
    assert first["value"] == pytest.approx(bread / math.hypot(bread, rises))
    assert second["value"] == 0


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("They bake bread.", 1),
        ("they bake bread.", 3 / 4),
        ("They bake bread", 3 / 4),
        ("they bake bread", 2 / 4),
        ('"They bake bread."', 1),
        ("They bake breaaad.", (1 + 2 / 3 + 2) / 4),
        ("They bake br3ad.", (1 + 2 / 3 + 2) / 4),
        ("They bake 12 loaves.", 1),
        # Four triples, two different ones: "a b a", "b a b".
        ("A b a b a b.", (2 / 4 + 1 + 1 + 1) / 4),
    ],
)
def test_fluency_counts_repetitions_broken_words_capital_and_final_mark(text: str, share: float) -> None:
    assert rated(text, "fluency", low=0, high=1)["value"] == pytest.approx(share)
    assert rated(text, "grammaticality", low=0, high=5)["value"] == pytest.approx(5 * share)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("They bake bread!", 0),
        ("The NATO bakes.", 0),
        ("You idiot, they bake.", 1),
        ("They bake!!", 1),
        ("They bake!! And sell!!!", 2),
        ("THEY BAKE bread.", 2),
        ("Stupid liars! THEY BAKE!!", 3),
        ("STUPID LIARS!!", 3),
    ],
)
def test_toxicity_counts_insults_and_shouting(text: str, marks: int) -> None:
    assert rated(text, "toxicity", higher_is_better=False)["value"] == pytest.approx(1 + 4 * marks / 3)
    assert rated(text, "aggressiveness", higher_is_better=False)["value"] == pytest.approx(1 + 4 * marks / 3)
    assert rated(text, "toxicity", higher_is_better=True)["value"] == pytest.approx(5 - 4 * marks / 3)


def test_more_marks_than_the_worst_grade_needs_stay_on_the_scale() -> None:
    assert rated("idiot liar moron fool coward", "toxicity", higher_is_better=False)["value"] == 5


@pytest.mark.parametrize("name", ["specificity", "richness"])
def test_specificity_is_length_and_rare_words(name: str) -> None:
    # `the` and `bread` are in the message, too; `market` and `sells` in one text only.
    row = rated("the market sells bread", name, low=0, high=1)
    assert row["value"] == pytest.approx((4 / 50 + 2 / 4) / 2)
    assert rated("unseen " * 80, name, low=0, high=1)["value"] == 1


def test_a_word_is_rare_in_at_most_a_hundredth_of_the_texts() -> None:
    # 199 replies and one message: two of 200 texts are rare, three are not.
    rows = [reply(f"w{number}", "m", str(number)) for number in range(196)]
    rows += [reply(text, "m", text) for text in ("two three", "two three x", "three y")]
    values = [row["value"] for [row] in LexicalJudge(task(aspect("richness", low=0, high=1))).rate(rows)]
    assert values[196:] == pytest.approx([(2 / 50 + 1 / 2) / 2, (3 / 50 + 2 / 3) / 2, (2 / 50 + 1 / 2) / 2])


def test_coherence_is_what_neighbouring_sentences_share() -> None:
    # 2 of 4 words shared, then 0 of 5.
    row = rated("They bake bread. They sell bread!\nNobody steals.", "coherence", low=0, high=1)
    assert row["value"] == pytest.approx((2 / 4 + 0) / 2)


@pytest.mark.parametrize(
    ("name", "text", "message", "reason"),
    [
        ("opposition", "They bake.", MESSAGE, "not_measured"),
        ("overall", "They bake.", MESSAGE, "not_measured"),
        ("suitableness", "", MESSAGE, "not_measured"),
        ("fluency", "", MESSAGE, "empty_reply"),
        ("fluency", None, MESSAGE, "empty_reply"),
        ("toxicity", " ?! ", MESSAGE, "empty_reply"),
        ("relevance", "They bake.", None, "no_hate_speech"),
        ("relevance", "They bake.", " . ", "no_hate_speech"),
        ("coherence", "They bake.", MESSAGE, "one_sentence"),
        ("coherence", "They bake. ...", MESSAGE, "one_sentence"),
    ],
)
def test_what_cannot_be_measured_is_missing_with_a_reason(
    name: str, text: str | None, message: str | None, reason: str
) -> None:
    row = rated(text, name, message)
    assert (row["value"], row["reason"], row["explanation"]) == (None, reason, None)


def test_aspects_and_replies_keep_their_order_and_rows_are_made_as_they_are_asked_for() -> None:
    judge = LexicalJudge(task(aspect("toxicity"), aspect("opposition"), aspect("fluency")))
    rows = judge.rate([reply("Yes.", name="r-2"), reply("No.", name="r-1")])
    assert [(row["reply_id"], row["aspect"]) for row in next(rows)] == [
        ("r-2", "toxicity"),
        ("r-2", "opposition"),
        ("r-2", "fluency"),
    ]
    assert {row["reply_id"] for row in next(rows)} == {"r-1"}
    assert list(rows) == []


def test_replies_that_can_be_read_only_once_are_refused() -> None:
    judge = LexicalJudge(task(aspect("fluency")))
    with pytest.raises(InputError, match="which can be read only once: give a list"):
        next(judge.rate(iter([reply("Yes.")])))


def test_a_task_with_labels_is_refused() -> None:
    labels = [Label(name="a", meaning="one"), Label(name="b", meaning="other")]
    with pytest.raises(InputError, match="the task pick has labels, and the lexical baseline rates aspects"):
        LexicalJudge(Task(name="pick", title="Pick", unit="reply", question="?", labels=labels))
