"""Retrieval as a way to answer, with a scripted retriever and those of the suite."""

from collections.abc import Mapping

import pytest

from fcconan.errors import InputError
from fcconan.generation.items import Item
from fcconan.generation.retrieval_baseline import RetrievalGenerator
from fcconan.generation.training_pool import TrainingPool
from fcconan.retrieval import Rankings
from tests.generation.test_examples import item, made

OMBREY, TESSOK, VELMARI = (
    "The Ombrey never return a book",
    "Every Tessok cheats at cards",
    "Nobody needs Velmari bakers",
)
PAIRS = [
    made(OMBREY, "They return every book early", code="1"),
    made(OMBREY, "Which book, and when", code="1"),
    made(TESSOK, "Nobody cheats at cards where there are none", code="2"),
    made("Tessok and their cards", "Which book, and when", code="2"),
    made(VELMARI, "Everybody eats their bread", code="3"),
]
TEXTS = [pair.counter_narrative for pair in PAIRS]


class Scripted:
    """Ranks the catalogue in its order, for every query alike, and remembers what it was asked."""

    name = "scripted"

    def __init__(self, left_out: str = "") -> None:
        self.asked: list[tuple[dict[str, str], list[str], int]] = []
        self._left_out = left_out

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        self.asked.append((dict(queries), list(corpus.values()), k))
        ranking = [(key, float(-place)) for place, key in enumerate(corpus)][:k]
        failures = {key: "no answer" for key, text in queries.items() if text == self._left_out}
        return Rankings({key: ranking for key in queries if key not in failures}, failures=failures)


def texts(generator: RetrievalGenerator, *items: Item) -> list[str | None]:
    return [reply.text for reply in generator.answers(items)]


def test_all_items_are_ranked_at_once_and_deep_enough() -> None:
    system = Scripted()
    generator = RetrievalGenerator(TrainingPool(PAIRS), system)
    assert (generator.name, generator.strategy) == ("scripted:retrieval", "retrieval")
    # Four distinct CNs. Excluded for the Ombrey are their two CNs and, with these, the third pair of the Tessok: two
    # CNs. For the Tessok they are two as well. So the depth is one and two.
    asked = [item(OMBREY, code="1"), item(TESSOK, code="2"), item("The Dravene sing", code="9")]
    found = list(generator.answers(iter(asked)))
    assert [reply.text for reply in found] == [TEXTS[2], TEXTS[0], TEXTS[0]]
    assert [reply.more for reply in found] == [{"sources": [PAIRS[place].cn_id]} for place in (2, 0, 0)]
    ((queries, corpus, depth),) = system.asked
    assert list(queries.values()) == [OMBREY, TESSOK, "The Dravene sing"]
    assert (corpus, depth) == ([TEXTS[place] for place in (0, 1, 2, 4)], 3)


def test_references_are_left_out_in_whatever_spelling() -> None:
    generator = RetrievalGenerator(TrainingPool(PAIRS), Scripted())
    assert texts(generator, item("The Dravene sing", "they return EVERY book, early!", code="9")) == [TEXTS[1]]


def test_the_catalogue_of_a_benchmark_without_what_fits_is_refused() -> None:
    """Of what is left, people found that it does not fit."""
    asked = [item(OMBREY, TEXTS[0], code="1"), item(TESSOK, "Another CN", code="2")]
    for pairs in (PAIRS, [made("", text) for text in TEXTS]):
        generator = RetrievalGenerator(TrainingPool(pairs, judged=True), Scripted())
        with pytest.raises(InputError, match=r"^the pool has CNs labelled for 1 of the 2 .*: give other pairs with"):
            texts(generator, *asked)
        assert len(texts(generator, asked[1])) == 1
        assert len(texts(RetrievalGenerator(TrainingPool(pairs), Scripted()), *asked)) == 2
    # A CN that is there for other messages only.
    generator = RetrievalGenerator(TrainingPool(PAIRS, judged=True), Scripted())
    assert texts(generator, item("The Dravene sing", TEXTS[0])) == [TEXTS[2]]


def test_near_copies_are_left_out_with_their_cns() -> None:
    pool = TrainingPool([*PAIRS, made("Tessok sing", TEXTS[0])])
    assert texts(RetrievalGenerator(pool, Scripted()), item("The Ombrey never return any book", code="9")) == [TEXTS[2]]


def test_nothing_left_and_failures_have_reasons() -> None:
    alone = RetrievalGenerator(TrainingPool(PAIRS[:2]), Scripted(left_out=TESSOK), name="mine")
    found = list(alone.answers([item(OMBREY, code="1"), item(TESSOK, code="2"), item("The Dravene sing", code="9")]))
    assert [(reply.text, reply.reason) for reply in found] == [
        (None, "no_candidates"),
        (None, "no answer"),
        (TEXTS[0], None),
    ]
    assert (alone.name, found[0].more) == ("mine", {"sources": []})


@pytest.mark.parametrize("name", ["random", "tfidf", "bm25", "bm25-fast"])
def test_systems_of_the_suite(name: str) -> None:
    asked = [item(OMBREY, code="1"), item("Nobody needs the bread of Velmari", code="9")]
    generators = [RetrievalGenerator(TrainingPool(PAIRS), name) for _ in range(2)]
    assert generators[0].configuration["candidates"]["retriever"] == name
    found = texts(generators[0], *asked)
    assert texts(generators[1], *asked) == found
    assert found[0] not in TEXTS[:2]


def test_systems_that_learn_learn_from_pairs_that_are_kin_of_no_item() -> None:
    seen: list[list[str]] = []

    class Learns(Scripted):
        def __init__(self, train: list[tuple[str, str]]) -> None:
            super().__init__()
            seen.append([message for message, _ in train])

    generator = RetrievalGenerator(TrainingPool(PAIRS), Learns)
    texts(generator, item(OMBREY, code="1"), item("The Dravene sing", code="9"))
    # When made, to see that it can be; then without the Ombrey's pairs and the one that shares a CN with them.
    assert seen == [[pair.hate_speech for pair in PAIRS], [TESSOK, VELMARI]]


def test_an_unknown_retriever_is_refused() -> None:
    with pytest.raises(InputError, match="unknown system 'tf-idf': did you mean 'tfidf'"):
        RetrievalGenerator(TrainingPool(PAIRS), "tf-idf")
