"""Examples for few-shot prompts, by hand on angles in the plane and on invented peoples."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from fcconan.data import ids
from fcconan.data.leakage import message_leakage_keys
from fcconan.errors import InputError
from fcconan.generation.examples import Examples
from fcconan.generation.items import Item
from fcconan.generation.training_pool import Pair, TrainingPool
from fcconan.retrieval.dense import Vectors


class Plane:
    """An encoder of texts such as `30 degrees`: the unit vector at 30 degrees. It counts the texts that it is given."""

    name = "plane"
    configuration: dict[str, Any] = {"model": "plane"}  # noqa: RUF012

    def __init__(self) -> None:
        self.calls: list[int] = []

    def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
        self.calls.append(len(texts))
        angles = np.radians([float(text.split()[0]) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def made(message: str, reply: str, code: str = "") -> Pair:
    hs, cn = ids.make_hs_id(message), ids.make_cn_id(reply)
    return Pair(
        ids.make_pair_id(hs, cn),
        cn,
        message,
        reply,
        message_leakage_keys(message, [reply], codes=[code] if code else []),
    )


def item(message: str, *references: str, code: str = "") -> Item:
    keys = message_leakage_keys(message, references, codes=[code] if code else [])
    return Item(f"it-{message}", ids.make_hs_id(message), message, references, leakage_keys=keys)


PAIRS = [
    made("0 asked", "own", code="a"),
    made("1 the same in other words", "own too", code="a"),
    made("10 near", "first CN", code="b"),
    made("10 near", "second CN", code="b"),
    made("12 near in other words", "third CN", code="b"),
    made("40 farther", "first CN", code="c"),
    made("40 farther", "fourth CN", code="c"),
    made("90 far", "fifth CN", code="d"),
]


def test_the_nearest_messages_without_kin_one_for_each_message_no_cn_twice() -> None:
    examples = Examples(TrainingPool(PAIRS), k=3, encoder=Plane())
    found = examples.find(item("0 asked", code="a"))
    assert [(each.hate_speech, each.counter_narrative) for each in found] == [
        ("10 near", "first CN"),
        ("40 farther", "fourth CN"),
        ("90 far", "fifth CN"),
    ]
    assert [each.score for each in found] == [round(math.cos(math.radians(angle)), 6) for angle in (10, 40, 90)]
    assert found[0].pair_id == PAIRS[2].pair_id
    assert found[0].cn_id == ids.make_cn_id("first CN")


def test_a_cn_of_the_item_is_not_shown_with_another_message() -> None:
    found = Examples(TrainingPool(PAIRS), k=2, encoder=Plane()).find(item("11.5 new", "FIRST cn!", code="z"))
    assert [each.counter_narrative for each in found] == ["third CN", "own too"]  # 12, then 1: both nearer than 40


def test_near_copies_are_not_shown() -> None:
    pool = TrainingPool([made("25 The Ombrey never return books", "a"), made("30 The Tessok cheat", "b")])
    examples = Examples(pool, k=2, encoder=Plane())
    assert [each.counter_narrative for each in examples.find(item("20 The Ombrey never return a book"))] == ["b"]
    assert [each.counter_narrative for each in examples.find(item("20 The Dravene sing"))] == ["a", "b"]


def test_equal_similarities_keep_the_order_of_the_pool() -> None:
    pool = TrainingPool(
        [made("350 left", "a", code="1"), made("10 right", "b", code="2"), made("20 right", "c", code="3")]
    )
    found = Examples(pool, k=2, encoder=Plane()).find(item("0 asked", code="z"))
    assert [each.counter_narrative for each in found] == ["a", "b"]
    turned = TrainingPool(pool.pairs[1::-1])
    assert [each.counter_narrative for each in Examples(turned, k=2, encoder=Plane()).find(item("0", code="z"))] == [
        "b",
        "a",
    ]


def test_too_few_pairs_are_counted() -> None:
    examples = Examples(TrainingPool(PAIRS), k=5, encoder=Plane())
    assert len(examples.find(item("0 asked", code="a"))) == 3
    assert len(examples.find(item("5 new", code="z"))) == 4
    only_kin = Examples(TrainingPool(PAIRS[:2]), k=1, encoder=Plane())
    assert only_kin.find(item("0 asked", code="a")) == ()


def test_every_text_is_encoded_once() -> None:
    encoder = Plane()
    examples = Examples(TrainingPool(PAIRS), k=1, encoder=encoder)
    assert encoder.calls == []
    asked = [item("0 asked"), item("7 new"), item("8 new"), item("7 new")]
    examples.prepare(asked)
    assert encoder.calls == [6, 2]  # six messages of the pool, then the two that it does not have
    prepared = [examples.find(each) for each in asked]
    assert encoder.calls == [6, 2]
    alone = Examples(TrainingPool(PAIRS), k=1, encoder=Plane())
    assert [alone.find(each) for each in asked] == prepared


def test_tfidf() -> None:
    pool = TrainingPool(
        [
            made("The Ombrey never return a book", "a", code="1"),
            made("Every Tessok cheats at cards", "b", code="2"),
            made("Nobody needs Velmari bakers", "c", code="3"),
        ]
    )
    examples = Examples(pool, k=1, encoder="tfidf")
    assert [each.counter_narrative for each in examples.find(item("All those Tessok at their cards"))] == ["b"]
    # No word in common with any: all are equal, and the order of the pool holds.
    assert [(each.counter_narrative, each.score) for each in examples.find(item("Quillish"))] == [("a", 0.0)]
    assert examples.configuration == {
        "pool": {"pairs": 3},
        "k": 1,
        "encoder": "tfidf",
        "order": "most similar first",
    }


def test_bad_input() -> None:
    with pytest.raises(InputError, match="have no messages: a catalogue alone gives no examples"):
        Examples(TrainingPool([made("", "a CN")]), encoder=Plane())
    with pytest.raises(InputError, match=r"no model folder at \./none"):
        Examples(TrainingPool(PAIRS), encoder="./none")
    with pytest.raises(InputError, match="TF-IDF cannot be fitted"):
        Examples(TrainingPool([made("?", "a CN")]), encoder="tfidf")
