"""A model whose answers the test chooses, and a task to ask it about."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fcconan.judging.tasks import Aspect, Label, Task
from fcconan.models import ChatRequest, ChatResponse


class FakeModel:
    """Answers each call with what `answer` says, and remembers the calls."""

    name = "fake"

    def __init__(self, answer: Callable[[ChatRequest], ChatResponse | str]) -> None:
        self.configuration: dict[str, Any] = {"kind": "fake"}
        self.calls: list[ChatRequest] = []
        self._answer = answer

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        for call in calls:
            self.calls.append(call)
            said = self._answer(call)
            yield ChatResponse(said) if isinstance(said, str) else said


def aspect(name: str, low: int = 1, high: int = 5, **further: Any) -> Aspect:
    grades = {grade: f"{name} of degree {grade}" for grade in range(low, high + 1)}
    settings: dict[str, Any] = {
        "title": name.capitalize(),
        "question": f"How much {name}?",
        "steps": [f"Look, {name}."],
    }
    return Aspect(name=name, low=low, high=high, grades=grades, **{**settings, **further})


def task(*aspects: Aspect, **further: Any) -> Task:
    return Task(
        **{
            "name": "some",
            "title": "Some",
            "unit": "reply",
            "question": "How good?",
            "aspects": list(aspects),
            **further,
        }
    )


def labels_task(*names: str) -> Task:
    return task(unit="pair", labels=[Label(name=name, meaning=f"It is {name}.") for name in names])


def row(number: int = 1, text: str | None = "The Tessok bake bread.", **further: Any) -> dict[str, Any]:
    return {
        "reply_id": f"re-{number}",
        "hs_id": f"hs-{number}",
        "hate_speech": "Tessok do nothing.",
        "text": text,
    } | further
