"""Items and models for tests of generators."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fcconan.data import ids
from fcconan.generation.decoding import Decoding, load_decoding
from fcconan.generation.items import Example, Item
from fcconan.generation.prompts import load_generation_prompt
from fcconan.generation.requests import GenerationPlan
from fcconan.models.requests import ChatRequest, ChatResponse
from tests.judging.fake_model import FakeModel

OMBREY = "The Ombrey never return a book."
TESSOK = "Every Tessok cheats at cards."
VELMARI = "Nobody needs Velmari bakers."


def item(hate_speech: str, *references: str, **more: Any) -> Item:
    """An item with ids as the package makes them."""
    hs = ids.make_hs_id(hate_speech)
    of = ids.make_item_id(hs, [ids.make_cn_id(text) for text in references])
    return Item(**{"item_id": of, "hs_id": hs, "hate_speech": hate_speech, "references": references, **more})


ITEMS = [
    item(OMBREY, "The library says otherwise.", "They do."),
    item(TESSOK, "Who has seen it?"),
    item(VELMARI),
]


def plan(task: str = "brief", **settings: Any) -> GenerationPlan:
    """A plan with a prompt of the catalogue; decoding is greedy unless given."""
    return GenerationPlan(load_generation_prompt(task), settings.pop("decoding", load_decoding("greedy")), **settings)


def drawing(number: int, pick: Any = "first", **settings: Any) -> Decoding:
    """Several candidates at temperature 1."""
    return Decoding("several", **{"temperature": 1.0, "candidates": number, "pick": pick, **settings})


def message_of(call: ChatRequest) -> str:
    """What the user says in a call."""
    return call.messages[-1]["content"]


def model(answer: Callable[[ChatRequest], ChatResponse | str]) -> FakeModel:
    """A model that says what a function says."""
    return FakeModel(answer)


class Fixed:
    """A source that finds the same pairs for everyone but those in `nothing`."""

    def __init__(self, *examples: Example, nothing: Iterable[str] = ()) -> None:
        self.configuration: dict[str, Any] = {"k": len(examples), "retriever": "fixed"}
        self.prepared: list[list[str]] = []
        self._examples, self._nothing = examples, set(nothing)

    def prepare(self, items: Iterable[Item]) -> None:
        self.prepared.append([each.item_id for each in items])

    def find(self, item: Item) -> tuple[Example, ...]:
        return () if item.item_id in self._nothing else self._examples


def example(number: int) -> Example:
    return Example(f"p{number}", f"cn-{number}", f"Message {number}.", f" Answer {number}. ")


def in_batches(size: int, read: list[int], answer: Callable[[ChatRequest], ChatResponse]) -> Any:
    """A model that answers so many calls at a time, and notes how many it has read."""

    class Batched:
        name = "batched"

        def __init__(self) -> None:
            self.configuration: dict[str, Any] = {"kind": "batched"}

        def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
            batch: list[ChatRequest] = []
            for number, call in enumerate(calls, start=1):
                read.append(number)
                batch.append(call)
                if len(batch) == size:
                    yield from map(answer, batch)
                    batch = []
            yield from map(answer, batch)

    return Batched()
