"""Systems that answer messages, and the rows of their replies."""

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from fcconan.data.ids import make_reply_id
from fcconan.data.tables import open_table
from fcconan.errors import InputError
from fcconan.generation.generators import ModelGenerator, ReferenceGenerator
from fcconan.generation.items import GENERATED, Generated, Item
from fcconan.generation.writing import ReplyCounts, find_flags, generate_rows
from fcconan.models import stop_in
from fcconan.models.requests import ChatRequest, ChatResponse
from tests.generation.said import (
    ITEMS,
    OMBREY,
    TESSOK,
    VELMARI,
    Fixed,
    drawing,
    example,
    in_batches,
    item,
    message_of,
    model,
    plan,
)
from tests.judging.fake_model import FakeModel

TOKENS = {"prompt_tokens": 10, "completion_tokens": 3}


class Said:
    """A system with fixed replies."""

    name, strategy = "one", "few-shot"

    def __init__(self, replies: list[Generated]) -> None:
        self.replies, self.configuration = replies, dict[str, object]()

    def answers(self, items: Iterable[Item]) -> Iterator[Generated]:
        for reply, _ in zip(self.replies, items, strict=True):
            yield reply


@pytest.mark.parametrize(
    ("reply", "text", "reason", "flags"),
    [
        (ChatResponse("  They do.\n"), "They do.", None, []),
        (ChatResponse("They do. STOP And more"), "They do.", None, []),
        (ChatResponse("One  line\n\nand another."), "One  line\n\nand another.", None, []),
        (ChatResponse(" STOP They do."), None, "empty", []),
        (ChatResponse("\n\n STOP They do."), None, "empty", []),
        (ChatResponse("<think>\nNobody STOP knows.\n</think>\n\nNo, that is untrue."), "No, that is untrue.", None, []),
        (ChatResponse("Nobody knows.\n</think>\n\nNo. STOP And"), "No.", None, []),
        (ChatResponse("<think>Who?</think> <think>They.</think>```\nNo.\n```"), "```\nNo.\n```", None, []),
        (ChatResponse("<think>Nobody knows.</think>\n"), None, "empty", []),
        (ChatResponse("<think>Nobody knows."), None, "empty", []),
        (ChatResponse(reason="truncated", cut="<think>Nobody knows"), None, "truncated", []),
        (ChatResponse(reason="truncated", cut="<think>Nobody knows.</think> They"), "They", None, ["truncated"]),
        (ChatResponse(reason="empty"), None, "empty", []),
        (ChatResponse(reason="truncated", cut=" They always"), "They always", None, ["truncated"]),
        (ChatResponse(reason="truncated", cut="They do. STOP and"), "They do.", None, []),
        (ChatResponse(reason="truncated", cut=" STOP and"), None, "empty", []),
        (ChatResponse(reason="truncated", cut="  "), None, "truncated", []),
        (ChatResponse(reason="truncated"), None, "truncated", []),
        (ChatResponse(reason="refused", detail="a key"), None, "refused", []),
        (ChatResponse(reason="server_error", detail="They do."), None, "server_error", []),
    ],
)
def test_a_reply_is_words_or_a_reason(
    reply: ChatResponse, text: str | None, reason: str | None, flags: list[str]
) -> None:
    decoding = drawing(1, None, stop=("STOP",))
    generator = ModelGenerator(model(lambda call: reply), plan(decoding=decoding))
    (found,) = generator.answers(ITEMS[:1])
    assert (found.text, found.reason, found.more["flags"]) == (text, reason, flags)
    assert generator.failed == (reason == "server_error")
    assert found.more["picked"] == (None if text is None else 0)


def test_a_row_says_how_the_reply_was_made() -> None:
    def answer(call: ChatRequest) -> ChatResponse:
        if call.sample == 0:
            return ChatResponse(reason="empty", model="stub-1", prompt_tokens=5, completion_tokens=1)
        return ChatResponse(f" {call.sample} ", model="stub-2", prompt_tokens=5, completion_tokens=2 + call.sample)

    asked = plan(examples=Fixed(example(2)), decoding=drawing(3), seed=4)
    generator = ModelGenerator(model(answer), asked, name="mine", format="zephyr")
    (row,) = generate_rows(generator, ITEMS[:1])
    assert row == {
        "reply_id": make_reply_id(ITEMS[0].item_id, "mine", "1"),
        "item_id": ITEMS[0].item_id,
        "hs_id": ITEMS[0].hs_id,
        "hate_speech": OMBREY,
        "text": "1",
        "system": "mine",
        "strategy": "few-shot",
        "references": ["The library says otherwise.", "They do."],
        "reason": None,
        "flags": [],
        "model": "fake",
        "revision": "stub-2",
        "prompt_hash": asked.prompt.hash,
        "format": "zephyr",
        "decoding": "several",
        "seed": 4,
        "examples": ["p2"],
        "sources": [],
        "candidates": 3,
        "picked": 1,
        "prompt_tokens": 15,
        "completion_tokens": 8,
    }
    assert set(row) == set(GENERATED)
    assert generator.configuration["format"] == "zephyr"
    assert generator.configuration["pick"] == {"pick": "first"}


def test_a_row_names_the_passages_that_were_shown_and_the_template_of_the_model() -> None:
    class Known:
        def __call__(self, row: object) -> str:
            return "Books come back.\n\nThe library lends to all."

    asked = plan("grounded", background=Known())
    generator = ModelGenerator(model(lambda call: ChatResponse("No.")), asked, own_template="0123456789ab")
    (found,) = generator.answers(ITEMS[:1])
    texts = ("Books come back.", "The library lends to all.")
    assert found.more["sources"] == [f"passage-{sha256(text.encode()).hexdigest()[:12]}" for text in texts]
    assert found.more["format"] == generator.configuration["format"] == "chat template of the model"
    assert generator.configuration["template"] == "0123456789ab"
    assert generator.name == "fake:grounded"


def test_what_cannot_be_asked_is_not_and_the_order_stays() -> None:
    class Known:
        def __call__(self, row: Mapping[str, Any]) -> str | None:
            return "Cards are banned." if row["hate_speech"] == TESSOK else None

    asked = model(message_of)
    generator = ModelGenerator(asked, plan("grounded", background=Known()))
    found = list(generator.answers(ITEMS))
    assert [(each.text, each.reason) for each in found] == [
        (None, "no_background"),
        (TESSOK, None),
        (None, "no_background"),
    ]
    assert found[0].more["candidates"] == 0
    assert [message_of(call) for call in asked.calls] == [TESSOK]


def test_items_are_read_when_they_are_needed() -> None:
    taken: list[str] = []

    def items() -> Iterator[Item]:
        for number in range(100):
            taken.append(str(number))
            yield item(f"Message {number}.")

    read: list[int] = []
    batched = in_batches(4, read, lambda call: ChatResponse(message_of(call)))
    rows = generate_rows(ModelGenerator(batched, plan(decoding=drawing(2))), items())
    assert next(rows)["text"] == "Message 0."
    assert (len(taken), len(read)) == (2, 4)
    assert [row["text"] for row in rows] == [f"Message {number}." for number in range(1, 100)]
    assert len(read) == 200


@pytest.mark.parametrize(
    ("number", "message"), [(0, "found fewer answers than questions"), (2, "found more answers than questions")]
)
def test_a_model_gives_one_reply_a_call(number: int, message: str) -> None:
    class Wrong(FakeModel):
        def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
            return iter([ChatResponse("x")] * (number * len(list(calls))))

    with pytest.raises(InputError, match=message):
        list(ModelGenerator(Wrong(message_of), plan()).answers(ITEMS[:1]))


@pytest.mark.parametrize(
    ("number", "message"), [(0, "found fewer answers than questions"), (2, "found more answers than questions")]
)
def test_a_generator_gives_one_answer_an_item(number: int, message: str) -> None:
    class Wrong(ReferenceGenerator):
        def answers(self, items: Iterable[Item]) -> Iterator[Generated]:
            return iter([Generated("x")] * (number * len(list(items))))

    with pytest.raises(InputError, match=message):
        list(generate_rows(Wrong(), ITEMS[:1]))


def test_a_reference_is_the_reply_and_the_others_its_references() -> None:
    texts = [f"CN {number}." for number in range(4)]
    items = [item(f"Message {number}.", *texts) for number in range(40)]
    found = {each.item_id: got for each, got in zip(items, ReferenceGenerator().answers(items), strict=True)}
    assert {got.text for got in found.values()} == set(texts)
    for got in found.values():
        assert got.more["references"] == [text for text in texts if text != got.text]
    again = dict(zip((each.item_id for each in items[::-1]), ReferenceGenerator().answers(items[::-1]), strict=True))
    assert again == found
    other = [got.text for got in ReferenceGenerator(seed=1).answers(items)]
    assert other != [got.text for got in found.values()]
    one, none = ReferenceGenerator(name="people").answers([item(TESSOK, " Who saw? "), item(VELMARI, " ")])
    assert (one.text, one.more["references"]) == ("Who saw?", [])
    assert (none.text, none.reason) == (None, "no_reference")


def test_judges_compute_the_same_ids(tmp_path: Path) -> None:
    def answer(call: ChatRequest) -> ChatResponse:
        return ChatResponse(reason="refused") if message_of(call) == TESSOK else ChatResponse(f"No: {message_of(call)}")

    rows = list(generate_rows(ModelGenerator(model(answer), plan()), ITEMS))
    bare = [{key: row[key] for key in ("hate_speech", "text", "system", "references")} for row in rows]
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in bare))
    ids = ("reply_id", "item_id", "hs_id")
    assert [[each[name] for name in ids] for each in open_table("replies", [path])] == [
        [row[name] for name in ids] for row in rows
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ()),
        ("The Ombrey bake most of the bread in this valley.", ()),
        ("", ("empty",)),
        (" \n\t ", ("empty",)),
        ("?!… --- ___ \N{WAVING HAND SIGN}\N{HEAVY BLACK HEART}", ("empty",)),
        ("I'm sorry, but I cannot fulfil your request.", ("refusal:request",)),
        ("As an AI language model, I cannot take sides between peoples.", ("refusal:assistant",)),
        ("I cannot endorse or promote hateful speech about the Ombrey.", ("refusal:endorsement",)),
        ("I am sorry, but that is simply not true.", ()),
    ],
)
def test_flags_of_replies(text: str | None, expected: tuple[str, ...]) -> None:
    assert find_flags(text) == expected


def test_counts_are_those_of_the_rows() -> None:
    generator = Said(
        [
            Generated("I cannot fulfil your request.", more={"examples": ["a", "b"], **TOKENS}),
            Generated("x y z w", more={"examples": ["a"], "flags": ["truncated"], **TOKENS}),
            Generated(None, "timeout", {"examples": ["a", "b"]}),
        ]
    )
    tally = ReplyCounts(generator)
    for row in generate_rows(generator, ITEMS):
        tally.add(row)
    assert tally.result() == {
        "system": "one",
        "strategy": "few-shot",
        "n": 2,
        "n_missing": 1,
        "missing": {"timeout": 1},
        "refusals": 1,
        "flags": {"refusal:request": 1, "truncated": 1},
        "mean_words": 4.5,
        "examples_shown": {"1": 1, "2": 2},
        "tokens": {"prompt": 20, "completion": 6},
    }


def test_nothing_written_has_no_mean() -> None:
    generator = Said([Generated(None, "no_reference")])
    tally = ReplyCounts(generator)
    for row in generate_rows(generator, ITEMS[:1]):
        tally.add(row)
    assert tally.result() == {
        "system": "one",
        "strategy": "few-shot",
        "n": 0,
        "n_missing": 1,
        "missing": {"no_reference": 1},
        "refusals": 0,
        "flags": {},
        "mean_words": None,
        "examples_shown": {"0": 1},
        "tokens": {"prompt": 0, "completion": 0},
    }


def test_what_stands_before_the_first_stop_string() -> None:
    assert stop_in("a\nb. c", (". ", "\n")) == 1
    assert stop_in("abc", ("x", "\n")) is None
    assert stop_in("abc", ()) is None
    assert stop_in(" \n\nA word.\nMore.", ("\n",)) == 10  # white space before the first word ends nothing
    assert stop_in("\n \n", ("\n",)) is None
    assert stop_in("\nSTOP", ("STOP",)) == 1
