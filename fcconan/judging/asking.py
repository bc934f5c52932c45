"""Questions to judges, and the second question after an answer that cannot be read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fcconan.models import ChatResponse, EndpointModel, Model

UNREADABLE = "unreadable"


def ask(
    model: Model,
    calls: Sequence[Any],
    read: Callable[[Any, ChatResponse], Any],
    form: Callable[[Any], str],
    *,
    again: bool = True,
) -> tuple[list[Any], int]:
    """Asks a model, and asks once more, in the same conversation, where an answer cannot be read.

    Args:
        model: The model; only those of endpoints are asked again.
        calls: The requests.
        read: Reads an answer: something with a `reason`, which is `unreadable` if the answer cannot be read.
        form: Sentence that states the form of the answer to a request, and nothing else.
        again: Whether to ask again.

    Returns:
        The result of `read` for each request; and the number of further requests.
    """
    answers = list(model.replies(calls))
    found = [read(call, answer) for call, answer in zip(calls, answers, strict=True)]
    if not again or not isinstance(model, EndpointModel):
        return found, 0
    places = [place for place, each in enumerate(found) if each.reason == UNREADABLE]
    further = [
        replace(
            calls[place],
            messages=[
                *calls[place].messages,
                {"role": "assistant", "content": answers[place].text or ""},
                {"role": "user", "content": form(calls[place])},
            ],
        )
        for place in places
    ]
    for place, call, answer in zip(places, further, model.replies(further), strict=True):
        found[place] = read(call, answer)
    return found, len(places)
