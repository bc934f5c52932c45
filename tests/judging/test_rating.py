import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

import pytest

from fcconan.judging.answer_checks import cites_texts
from fcconan.judging.rating import LABELLED, RATED, Judge, ModelJudge, Row, strategy_label
from fcconan.judging.strategies import RatingPlan
from fcconan.judging.tasks import Task
from fcconan.models.requests import ChatRequest, ChatResponse, FailureReason, TokenAlternatives
from tests.judging.fake_model import FakeModel, aspect, labels_task, row, task

CALM = task(aspect("calm"))
TWO = task(aspect("calm"), aspect("depth", 0, 3, higher_is_better=False))


def judge(model: FakeModel, chosen: Task = CALM, strategy: Any = "rubric", **settings: Any) -> ModelJudge:
    return ModelJudge(model, RatingPlan(chosen, strategy, **settings))


def rated(
    *answers: ChatResponse | str, chosen: Task = CALM, strategy: Any = "rubric", text: str = "Hm.", **settings: Any
) -> Row:
    """The row of one reply and one question, whose samples get these answers."""
    given = iter(answers)
    [[found]] = judge(FakeModel(lambda _: next(given)), chosen, strategy, **settings).rate([row(text=text)])
    assert next(given, None) is None
    return found


def grade(value: int) -> str:
    return f'{{"calm": {value}}}'


def test_a_row_says_all_about_a_rating() -> None:
    model = FakeModel(lambda call: grade(4) if call.variables["aspect"] == "calm" else "no idea")
    mine = judge(model, TWO)
    [[calm, depth]] = mine.rate([row(7)])
    assert calm == {
        "reply_id": "re-7",
        "rater": "fake:rubric",
        "rater_kind": "model",
        "aspect": "calm",
        "value": 4.0,
        "low": 1.0,
        "high": 5.0,
        "higher_is_better": True,
        "reason": None,
        "explanation": None,
        "strategy": "rubric",
        "n_samples": 1,
        "n_read": 1,
        "retained_mass": None,
        "cited": None,
        "item_id": None,
        "hs_id": "hs-7",
        "system": None,
    }
    assert list(calm) == list(RATED) == list(mine.columns)
    told = {"aspect": "depth", "value": None, "low": 0.0, "high": 3.0, "higher_is_better": False, "n_read": 0}
    assert depth == calm | told | {"reason": "unreadable", "explanation": "no idea"}
    assert [call.variables for call in model.calls] == [
        {"hate_speech": "Tessok do nothing.", "counter_narrative": "The Tessok bake bread.", "aspect": name}
        for name in ("calm", "depth")
    ]


# Order, and replies about which nothing is asked.


@pytest.mark.parametrize(
    "empty", [set(), {0}, {0, 1}, {3}, {2, 3}, {7}, {6, 7}, {0, 3, 7}, set(range(8)), set(range(7)), set(range(1, 8))]
)
def test_rows_keep_their_order_around_replies_that_nobody_is_asked_about(empty: set[int]) -> None:
    texts = [" \n" if number in empty else f"grade {number % 5 + 1}" for number in range(8)]
    model = FakeModel(lambda call: grade(int(call.variables["counter_narrative"][-1])))
    found = list(judge(model).rate(row(number, text) for number, text in enumerate(texts)))
    assert [[each["reply_id"] for each in rows] for rows in found] == [[f"re-{number}"] for number in range(8)]
    assert [(rows[0]["value"], rows[0]["reason"]) for rows in found] == [
        (None, "empty_reply") if number in empty else (number % 5 + 1.0, None) for number in range(8)
    ]
    assert len(model.calls) == 8 - len(empty)


def test_a_model_that_reads_ahead_gives_the_same_rows() -> None:
    class Hasty(FakeModel):
        def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
            return iter(list(super().replies(calls)))

    texts = ["", "grade 1", "", "", "grade 2", "grade 3", ""]
    found = list(
        judge(Hasty(lambda call: grade(int(call.variables["counter_narrative"][-1])))).rate(
            row(number, text) for number, text in enumerate(texts)
        )
    )
    assert [rows[0]["value"] for rows in found] == [None, 1.0, None, None, 2.0, 3.0, None]
    assert [rows[0]["reply_id"] for rows in found] == [f"re-{number}" for number in range(7)]


def test_replies_are_read_as_they_are_needed() -> None:
    read: list[int] = []

    def replies() -> Iterator[Row]:
        for number in range(1000):
            read.append(number)
            yield row(number)

    found = judge(FakeModel(lambda _: grade(3)), TWO).rate(replies())
    assert read == []
    assert next(found)[0]["reply_id"] == "re-0"
    assert next(found)[0]["reply_id"] == "re-1"
    assert read == [0, 1]


def test_no_replies_give_no_rows() -> None:
    assert list(judge(FakeModel(lambda _: grade(3))).rate([])) == []


@pytest.mark.parametrize(
    ("strategy", "further", "reason"),
    [
        ("rubric", {"text": None}, "empty_reply"),
        ("rubric", {"hate_speech": ""}, "no_hate_speech"),
        ("prometheus", {}, "no_reference"),
        ("prometheus", {"references": []}, "no_reference"),
        ("prometheus", {"references": [" ", None]}, "no_reference"),
        ("grounded", {}, "no_background"),
        ("grounded", {"background": "\t"}, "no_background"),
    ],
)
def test_what_a_row_lacks_is_the_reason(strategy: Any, further: Mapping[str, Any], reason: str) -> None:
    model = FakeModel(lambda _: grade(3))
    mine = judge(model, TWO, strategy)
    [rows] = mine.rate([row(**further)])
    assert [(each["aspect"], each["value"], each["reason"], each["n_samples"]) for each in rows] == [
        ("calm", None, reason, 0),
        ("depth", None, reason, 0),
    ]
    assert (model.calls, mine.failed, mine.calls(row(**further))) == ([], 0, [])


@pytest.mark.parametrize("text", ["\u200b", "\ufeff \u2060\n", "\x00"])
def test_a_reply_that_nobody_sees_is_empty(text: str) -> None:
    model = FakeModel(lambda _: grade(4))
    [[found]] = judge(model).rate([row(text=text)])
    assert (found["value"], found["reason"], model.calls) == (None, "empty_reply", [])
    assert rated(grade(4), text="🏳️\u200d🌈")["value"] == 4.0


def test_a_grade_under_the_name_of_the_aspect_is_read_where_only_a_grade_was_asked_for() -> None:
    assert rated('{"calm": 4}', strategy="g-eval", samples=1)["value"] == 4.0
    assert rated('{"confidence": 4}', strategy="g-eval", samples=1)["reason"] == "unreadable"


def test_judges_can_be_told_from_other_things() -> None:
    assert isinstance(judge(FakeModel(lambda _: "")), Judge)
    assert not isinstance(FakeModel(lambda _: ""), Judge)


def test_the_first_reference_with_words_is_shown() -> None:
    model = FakeModel(lambda _: "Fine. [RESULT] 2")
    [[found]] = judge(model, CALM, "prometheus").rate([row(references=["", "First.", "Second."])])
    assert model.calls[0].variables["reference"] == "First."
    assert (found["value"], found["explanation"]) == (2.0, "Fine.")


def test_background_is_looked_up_once_where_the_row_has_none() -> None:
    asked = []

    def background(given: Row) -> str | None:
        asked.append(given["reply_id"])
        return "Looked up." if given["reply_id"] != "re-3" else None

    model = FakeModel(lambda _: '{"calm": {"score": 3, "explanation": "It says \'looked up\'."}}')
    mine = ModelJudge(model, RatingPlan(CALM, "grounded"), background=background)
    found = [each for [each] in mine.rate([row(1, background="Own."), row(2), row(3)])]
    assert asked == ["re-2", "re-3"]
    assert [call.variables["background"] for call in model.calls] == ["Own.", "Looked up."]
    assert [each["reason"] for each in found] == [None, None, "no_background"]
    assert [each["cited"] for each in found] == [False, True, None]


# Several samples.


def test_g_eval_gives_the_mean_of_the_samples() -> None:
    found = rated("3", "4", "4", "5", "5", strategy="g-eval", samples=5)
    assert (found["value"], found["n_samples"], found["n_read"], found["retained_mass"]) == (4.2, 5, 5, None)


def test_samples_are_different_requests_with_seeds_of_their_own() -> None:
    model = FakeModel(lambda _: "3")
    list(judge(model, CALM, "g-eval", samples=3, seed=7).rate([row()]))
    assert [(call.sample, call.sampling.seed) for call in model.calls] == [(0, 7), (1, 8), (2, 9)]
    assert len({str(call.messages) for call in model.calls}) == 1
    assert {call.sampling.temperature for call in model.calls} == {1.0}
    unseeded = FakeModel(lambda _: "3")
    list(judge(unseeded, CALM, "g-eval", samples=2, seed=None).rate([row()]))
    assert [call.sampling.seed for call in unseeded.calls] == [None, None]


def test_half_of_the_samples_are_enough_and_fewer_are_not() -> None:
    half = rated("2", "5", "perhaps", ChatResponse(reason="timeout"), strategy="g-eval", samples=4)
    assert (half["value"], half["reason"], half["n_samples"], half["n_read"]) == (3.5, None, 4, 2)
    fewer = rated("2", "perhaps", "perhaps 3", ChatResponse(reason="timeout"), strategy="g-eval", samples=4)
    assert (fewer["value"], fewer["reason"], fewer["n_read"]) == (None, "too_few_samples", 1)
    assert fewer["explanation"] == "perhaps"


def test_without_any_sample_the_reason_is_the_commonest() -> None:
    slow = ChatResponse(reason="timeout", detail="60 s")
    found = rated("perhaps", slow, slow, strategy="g-eval", samples=3)
    assert (found["value"], found["reason"], found["explanation"], found["n_read"]) == (None, "timeout", "60 s", 0)


LABELS = labels_task("good", "bad", "not_sure")


def label(name: str) -> str:
    return f'{{"label": "{name}", "explanation": "It is {name}."}}'


def test_a_label_row_has_the_columns_of_a_vote() -> None:
    model = FakeModel(lambda _: label("Not sure"))
    mine = judge(model, LABELS)
    [[found]] = mine.rate([row(pair_id="hs-1:cn-1")])
    assert list(found) == list(LABELLED) == list(mine.columns)
    assert (found["pair_id"], found["rater"], found["label"]) == ("hs-1:cn-1", "fake:rubric", "not_sure")
    assert (found["rater_kind"], found["reason"], found["explanation"]) == ("model", None, "It is Not sure.")
    [[without]] = mine.rate([row(3)])
    assert without["pair_id"] == "re-3"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("good", "bad", "good"), ("good", None, 3)),
        (("good", "bad", "not_sure"), (None, "no_majority", 3)),
        (("good", "good", "bad", "bad"), (None, "no_majority", 4)),
        (("good", "good", "maybe", "maybe"), (None, "no_majority", 2)),  # half of four is no majority
        (("good", "maybe", "maybe"), (None, "too_few_samples", 1)),
        (("maybe", "maybe", "maybe"), (None, "unreadable", 0)),
    ],
)
def test_a_label_needs_more_than_half_of_the_samples(answers: tuple[str, ...], expected: tuple[Any, ...]) -> None:
    found = rated(*map(label, answers), chosen=LABELS, samples=len(answers))
    assert (found["label"], found["reason"], found["n_read"]) == expected


def test_without_a_majority_the_counts_are_told() -> None:
    found = rated(*map(label, ("bad", "good", "bad", "not_sure")), chosen=LABELS, samples=4)
    assert found["explanation"] == "good 1, bad 2, not_sure 1"


# Log-probabilities.


def weighted(text: str, *tokens: TokenAlternatives | str) -> Row:
    given = tuple(TokenAlternatives(each, {each: 0.0}) if isinstance(each, str) else each for each in tokens)
    return rated(ChatResponse(text, logprobs=given), strategy="g-eval", logprobs=True)


def test_grades_are_weighted_by_their_probability() -> None:
    # (4 * 0.5 + 5 * 0.25) / 0.75; 9 is off the scale and "Four" is no grade.
    alternatives = {"4": math.log(0.5), "5": math.log(0.25), "9": math.log(0.15), "Four": math.log(0.1)}
    found = weighted("4", TokenAlternatives("4", alternatives))
    assert found["value"] == pytest.approx(13 / 3, abs=1e-12)
    assert found["retained_mass"] == pytest.approx(0.75, abs=1e-12)
    assert (found["n_samples"], found["n_read"], found["reason"]) == (1, 1, None)


def test_a_grade_with_and_without_a_space_is_one_grade() -> None:
    alternatives = {" 4": math.log(0.4), "4": math.log(0.2), " 2": math.log(0.2), "\n": math.log(0.2)}
    found = weighted("Score: 4", "Score", ":", TokenAlternatives(" 4", alternatives))
    assert found["value"] == pytest.approx((4 * 0.6 + 2 * 0.2) / 0.8, abs=1e-12)
    assert found["retained_mass"] == pytest.approx(0.8, abs=1e-12)


def test_probabilities_above_one_by_rounding_stay_one() -> None:
    found = weighted("3", TokenAlternatives("3", {"3": 1e-7, "2": -40.0}))
    assert found["retained_mass"] == 1.0
    assert found["value"] == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("4", ("4.",)),  # no token is the grade alone
        ("4", ("4", "?", "</think>", "4")),  # which of both?
        ("4/5", ("5", "/", "4")),  # tokens of another answer
    ],
)
def test_where_the_grade_was_written_must_be_certain(text: str, tokens: tuple[str, ...]) -> None:
    found = weighted(text, *tokens)
    assert (found["value"], found["reason"], found["explanation"]) == (None, "no_logprobs", text)


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("4 points.\nScore: 4", ("4", " points", ".\n", "Score", ": "), ()),
        ('{"calm": 4}', ('{"', "calm", '":', " "), ("}", "</s>")),
        ("4", ("Of", "4", " claims", "</think>", "\n\n"), ()),  # the endpoint leaves thinking out of the text
        ("4", (" ",), ("\n", "</s>")),
    ],
)
def test_the_weighted_token_is_the_one_that_is_read(text: str, before: tuple[str, ...], after: tuple[str, ...]) -> None:
    grade = TokenAlternatives("4", {"4": math.log(0.5), "2": math.log(0.25)})
    odd = [TokenAlternatives("4", {"4": 0.0, "1": 0.0}) if each == "4" else each for each in before]
    found = weighted(text, *odd, grade, *after)
    assert found["value"] == pytest.approx((4 * 0.5 + 2 * 0.25) / 0.75, abs=1e-12)
    assert found["retained_mass"] == pytest.approx(0.75, abs=1e-12)


def test_what_was_thought_is_not_weighted() -> None:
    text = "<think> 2 or 3 </think> 3"
    found = weighted(
        text, "<think>", " 2", " or", " 3", " </", "think>", TokenAlternatives(" 3", {" 3": math.log(0.5)})
    )
    assert (found["value"], found["retained_mass"]) == (3.0, 0.5)


def test_without_log_probabilities_or_a_grade_nothing_is_weighted() -> None:
    assert rated(ChatResponse("4"), strategy="g-eval", logprobs=True)["reason"] == "no_logprobs"
    assert weighted("7", "7")["reason"] == "out_of_range"
    lost = rated(ChatResponse(reason="server_error", detail="500"), strategy="g-eval", logprobs=True)
    assert (lost["reason"], lost["explanation"], lost["n_samples"], lost["n_read"]) == ("server_error", "500", 1, 0)


# Failures.


@pytest.mark.parametrize("reason", get_args(FailureReason))
def test_a_failed_call_keeps_its_reason_and_counts_if_another_try_may_mend_it(reason: FailureReason) -> None:
    mine = judge(FakeModel(lambda _: ChatResponse(reason=reason, detail="said so")))
    [[found]] = mine.rate([row()])
    assert (found["value"], found["reason"], found["explanation"]) == (None, reason, "said so")
    passing = {"rate_limited", "server_error", "timeout", "connection", "bad_body"}
    assert mine.failed == (1 if reason in passing else 0)


def test_every_failed_sample_counts() -> None:
    answers = iter(
        [
            ChatResponse(reason="timeout"),
            ChatResponse("3"),
            ChatResponse(reason="connection"),
            ChatResponse(reason="filtered"),
        ]
    )
    mine = judge(FakeModel(lambda _: next(answers)), CALM, "g-eval", samples=4)
    list(mine.rate([row()]))
    assert mine.failed == 2


def test_an_unreadable_answer_is_kept_for_people_to_see() -> None:
    found = rated("  I'd rather not say. " + "x" * 600)
    assert (found["value"], found["reason"]) == (None, "unreadable")
    assert found["explanation"] == "I'd rather not say. " + "x" * 480
    assert rated('{"calm": 9}')["explanation"] == '{"calm": 9}'
    assert rated("Maybe", chosen=LABELS)["explanation"] == "Maybe"


@pytest.mark.parametrize(
    ("cut", "value", "explanation"),
    [
        ('{"calm": 4}\n\nBecause the', 4.0, None),
        ('{"calm": {"score": 2', None, '{"calm": {"score": 2'),
        ("Calm: 4\nSince it", 4.0, None),
        ('{"calm": 4', None, '{"calm": 4'),
        ('{"calm": "4', None, '{"calm": "4'),
        ("{calm: 4", None, "{calm: 4"),
        ("Calm: 4", None, "Calm: 4"),
        ("Calm: 4.", None, "Calm: 4."),
        ("4", None, "4"),
        ("", None, None),
    ],
)
def test_of_an_answer_that_was_cut_only_what_is_whole_is_read(
    cut: str, value: float | None, explanation: str | None
) -> None:
    found = rated(ChatResponse(reason="truncated", cut=cut))
    assert (found["value"], found["explanation"]) == (value, explanation)
    assert found["reason"] == (None if value is not None else "truncated")


@pytest.mark.parametrize(
    ("strategy", "cut"), [("g-eval", "4"), ("g-eval", '{"score": 4}'), ("prometheus", "[RESULT] 4")]
)
def test_a_bare_grade_that_was_cut_is_never_read(strategy: str, cut: str) -> None:
    given = FakeModel(lambda _: ChatResponse(reason="truncated", cut=cut))
    settings = {"samples": 1} if strategy == "g-eval" else {}
    [[found]] = judge(given, CALM, strategy, **settings).rate([row(references=["R."])])
    assert (found["value"], found["reason"], found["explanation"]) == (None, "truncated", cut)


@pytest.mark.parametrize(
    ("cut", "value"),
    [
        (label("bad") + " And", "bad"),
        ("bad", None),
        ('{"label": "bad', None),
        ("Label: not", None),
        ("Label: bad", None),
        ("Label: bad\nIt", "bad"),
    ],
)
def test_a_label_that_was_cut_is_read_if_it_is_whole(cut: str, value: str | None) -> None:
    found = rated(ChatResponse(reason="truncated", cut=cut), chosen=LABELS)
    assert (found["label"], found["reason"]) == (value, None if value else "truncated")


def test_one_missing_aspect_leaves_the_others() -> None:
    said = '{"Depth": {"score": 2, "explanation": "So \\"bake bread\\"."}, "calmness": 3}'
    [rows] = judge(FakeModel(lambda _: said), TWO, "grounded").rate([row(background="B.")])
    assert [(each["value"], each["reason"], each["cited"]) for each in rows] == [
        (None, "unreadable", None),
        (2.0, None, True),
    ]
    assert [each["explanation"] for each in rows] == [said, 'So "bake bread".']


def test_other_names_of_an_aspect_are_read() -> None:
    chosen = task(aspect("calm", title="Inner Calm", also=["Serenity"]))
    assert [rated(f'{{"{name}": 3}}', chosen=chosen)["value"] for name in ("inner_calm", "serenity", "CALM")] == [
        3.0
    ] * 3


# Citations and copied verdicts.

SHOWN = {"counter_narrative": "The Tessok don’t steal;  they BAKE bread.", "hate_speech": "Lazy Tessok!"}


@pytest.mark.parametrize(
    ("explanation", "expected"),
    [
        ('It says "they bake".', True),
        ("It says “They bake bread.”", True),
        ("It says „they bake“.", True),
        ("It says «they bake».", True),
        ("It says »they bake«.", True),
        ("It says ‹they bake›.", True),
        ("It says 「they bake」.", True),
        ("It says 'the Tessok don't steal'.", True),
        ("It says ‘the Tessok don’t steal’.", True),
        ('The message has "lazy Tessok".', True),
        ('The words "The Tessok ... bake bread" answer it.', True),
        ('The words "The Tessok [...] bake cakes" answer it.', False),
        ('The words "lazy … bread" stand in two texts.', False),
        ('Only "steal" is quoted.', True),
        ('Only "they" is quoted.', False),
        ('Only "bake" is quoted.', False),
        ('First "a" and then "they bake" is quoted.', True),
        ('The "a" that they bake is "b".', False),
        ('It says "they cook".', False),
        ("It says that they bake bread.", False),
        ("The reply's tone and the message's claim.", False),
        ('It says "".', False),
        ('It says "...".', False),
        ("", False),
        (None, False),
    ],
)
def test_an_explanation_cites_what_it_quotes(explanation: str | None, expected: bool) -> None:
    assert cites_texts(explanation, SHOWN) is expected


# What changes ratings.


def test_the_configuration_names_all_that_changes_ratings() -> None:
    class Known:
        configuration: Mapping[str, Any] = {"k": 3}

        def __call__(self, _: Row) -> str | None:
            return "B."

    plan = RatingPlan(TWO, "grounded", seed=5)
    found = ModelJudge(FakeModel(lambda _: ""), plan, background=Known()).configuration
    assert {name: found[name] for name in ("model", "task", "strategy", "samples", "background")} == {
        "model": {"kind": "fake"},
        "task": "some",
        "strategy": "grounded",
        "samples": [1],
        "background": {"k": 3},
    }
    assert (found["sampling"][0]["seed"], found["sampling"][0]["max_tokens"]) == (5, 1024)
    other = task(aspect("calm"), aspect("depth", 0, 3, title="Deepness"))
    assert (
        found["prompts"] != ModelJudge(FakeModel(lambda _: ""), RatingPlan(other, "grounded")).configuration["prompts"]
    )


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "rubric"),
        ({"samples": 1, "temperature": 0.0, "max_tokens": 64}, "rubric"),
        ({"samples": 5}, "rubric-5-samples"),
        ({"temperature": 0.5, "seed": None}, "rubric-temperature-0.5-no-seed"),
        ({"max_tokens": 99, "seed": 7}, "rubric-99-tokens-seed-7"),
        ({"strategy": "g-eval", "samples": 20, "temperature": 1.0}, "g-eval"),
        ({"strategy": "g-eval", "samples": 1}, "g-eval-1-samples"),
        ({"strategy": "g-eval", "logprobs": True}, "g-eval-logprobs"),
    ],
)
def test_a_name_says_what_differs_from_the_strategy(settings: dict[str, Any], name: str) -> None:
    assert strategy_label(RatingPlan(task(aspect("calm", steps=["Read it."])), **settings)) == name
