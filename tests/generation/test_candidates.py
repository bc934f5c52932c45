"""Which of several candidates becomes the reply."""

from collections import Counter
from collections.abc import Sequence

from fcconan.generation.generators import ModelGenerator
from fcconan.generation.items import Item
from fcconan.models.requests import ChatRequest, ChatResponse
from tests.generation.said import drawing, item, model, plan


def picked(items: Sequence[Item], *texts: str | None, pick: str = "first", seed: int = 0) -> dict[str, int | None]:
    """The number of the chosen candidate for each item; the model gives all of them the same texts."""

    def answer(call: ChatRequest) -> ChatResponse:
        text = texts[call.sample]
        return ChatResponse(reason="empty") if text is None else ChatResponse(text)

    generator = ModelGenerator(model(answer), plan(decoding=drawing(len(texts), pick)), seed=seed)
    found = {}
    for each, got in zip(items, generator.answers(items), strict=True):
        place = got.more["picked"]
        assert got.text == (None if place is None else texts[place])
        found[each.item_id] = place
    return found


ONE = [item("Message 1.")]


def test_the_first_candidate_with_words() -> None:
    assert [*picked(ONE, "a", "b").values()] == [0]
    assert [*picked(ONE, None, "b").values()] == [1]
    assert [*picked(ONE, None, None).values()] == [None]


def test_a_draw_belongs_to_its_item_alone() -> None:
    items, texts = [item(f"Message {number}.") for number in range(300)], ("a", None, "c", "d")
    found = picked(items, *texts, pick="random", seed=7)
    assert picked(items[::-1], *texts, pick="random", seed=7) == found
    assert picked(items, *texts, pick="random", seed=8) != found
    counts = Counter(found.values())
    assert set(counts) == {0, 2, 3}
    assert min(counts.values()) > 70  # of 100 expected; 3.7 standard deviations
    assert [*picked(ONE, None, None, pick="random").values()] == [None]


def test_the_draw_of_a_seed() -> None:
    items = [item(f"Message {number}.") for number in range(8)]
    assert [*picked(items, "a", "b", "c", pick="random", seed=5).values()] == [0, 2, 2, 0, 0, 1, 2, 2]


def test_candidates_have_seeds_of_their_own() -> None:
    seen = []

    def answer(call: ChatRequest) -> ChatResponse:
        seen.append(call.sampling.seed)
        return ChatResponse("a")

    list(ModelGenerator(model(answer), plan(decoding=drawing(3), seed=4)).answers(ONE))
    assert seen == [4, 5, 6]
