"""Dry runs: requests are created and counted, but not sent."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.models.budget import (
    Price,
    estimated_tokens,
    load_price,
    longest_answer,
    longest_prompt,
    texts_of,
)
from fcconan.models.endpoint import EndpointModel
from fcconan.models.requests import ChatRequest, ChatResponse, Model


@dataclass
class _Counts:
    """Numbers of requests and tokens.

    Attributes:
        stored: Number of requests with a stored answer.
        sent: Number of other requests.
        prompt_tokens: Estimated prompt tokens of the other requests.
        most_prompt_tokens: Upper bound of their prompt tokens.
        most_completion_tokens: Upper bound of their generated tokens; None if the length of answers is not limited.
    """

    stored: int = 0
    sent: int = 0
    prompt_tokens: int = 0
    most_prompt_tokens: int = 0
    most_completion_tokens: int | None = 0

    def add(self, body: Mapping[str, Any]) -> None:
        """Counts a request that would be sent."""
        self.sent += 1
        self.prompt_tokens += estimated_tokens(texts_of(body))
        self.most_prompt_tokens += longest_prompt(body)
        answer, most = longest_answer(body), self.most_completion_tokens
        self.most_completion_tokens = None if answer is None or most is None else most + answer

    def as_dict(self, price: Price | None) -> dict[str, Any]:
        """Returns the counts, and the cost if there is a price."""
        answers = self.most_completion_tokens
        found: dict[str, Any] = {
            "calls": self.stored + self.sent,
            "answered_already": self.stored,
            "to_send": self.sent,
            "prompt_tokens_about": self.prompt_tokens,
            "completion_tokens_at_most": answers,
        }
        if price is not None:
            for name, prompts in (("cost_about", self.prompt_tokens), ("cost_at_most", self.most_prompt_tokens)):
                found[name] = None if answers is None else round(price.cost(prompts, answers), 6)
        return found


class UnaskedModel:
    """A placeholder for a model whose requests are created but not sent."""

    def __init__(self) -> None:
        self.name, self.configuration = "unasked", dict[str, Any]()

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Refuses all requests.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError


class DryRun:
    """A dry run of a model, which counts requests.

    Args:
        model: The model.
        role: Purpose of the requests, if a command has several.
        answer: Function of a request and its number that returns the text of an answer; by default none.

    Attributes:
        calls: Number of requests.
    """

    def __init__(
        self, model: Model, *, role: str | None = None, answer: Callable[[ChatRequest, int], str] | None = None
    ) -> None:
        self.model, self.name, self.configuration = model, model.name, model.configuration
        self._role, self._answer, self._counts, self.calls = role, answer, _Counts(), 0

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Counts requests."""
        known = getattr(self.model, "known", lambda call: None)
        for call in calls:
            self.calls += 1
            if known(call) is not None:
                self._counts.stored += 1
            else:
                body: dict[str, Any] = {"messages": call.messages, "max_tokens": call.sampling.max_tokens}
                self._counts.add(self.model.body(call) if isinstance(self.model, EndpointModel) else body)
            yield (
                ChatResponse(self._answer(call, self.calls))
                if self._answer is not None
                else ChatResponse(reason="not_recorded")
            )

    def summary(self, prices: Path | None) -> dict[str, Any]:
        """Returns the counts, and the cost if there are prices; local and recorded models cost nothing.

        Raises:
            InputError: The file has no price for the model.
        """
        price = None if prices is None else Price(0, 0)
        if prices is not None and isinstance(self.model, EndpointModel):
            price = load_price(prices, self.name)
        role = {} if self._role is None else {"asked_for": self._role}
        return {"model": self.name} | role | self._counts.as_dict(price)
