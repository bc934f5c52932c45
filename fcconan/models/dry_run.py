"""Dry runs: requests are created and counted, but not sent."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fcconan.models.budget import (
    Price,
    estimated_tokens,
    load_price,
    longest_answer,
    longest_prompt,
    texts_of,
)
from fcconan.models.client import Client
from fcconan.models.endpoint import EndpointModel
from fcconan.models.jobs import Check, Job, KnownResult, Result
from fcconan.models.requests import ChatRequest, ChatResponse, Model, Request
from fcconan.models.responses import EndpointResponse

_WIDTH = 8  # dimension of placeholder embeddings if no stored embedding has another one


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


class DryClient(Client):
    """A client that sends no requests. Stored answers are used; all other requests are counted and fail.

    Requests for embeddings return random vectors, so that systems that need them can continue.

    Args:
        options: Options of `Client`.

    Attributes:
        unsent: Key -> body of the requests that a run would send.
        answered: Keys of requests with a stored answer.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.unsent: dict[str, Mapping[str, Any]] = {}
        self.answered: set[str] = set()
        self._width: int | None = None

    def known(self, request: Request, check: Check | None = None) -> EndpointResponse | None:
        """Returns the stored answer, or None, and counts it."""
        found = super().known(request, check)
        if found is not None:
            self.answered.add(request.key)
            if found.body is not None and "input" in request.body:
                self._width = len(found.body["data"][0]["embedding"])
        return found

    def summary(self, model: str, prices: Path | None) -> dict[str, Any]:
        """Returns the number of requests, their tokens, and their cost if there are prices.

        Args:
            model: Name of the model at the endpoint.
            prices: File of prices.

        Raises:
            InputError: The file has no price for the model.
        """
        counts, price = _Counts(len(self.answered)), None if prices is None else load_price(prices, model)
        for body in self.unsent.values():
            counts.add(body)
        return {"model": model} | counts.as_dict(price)

    def run(self, jobs: Iterable[KnownResult[Result] | Job[Result]]) -> Generator[Result, None, None]:
        """Yields the results of jobs, which never wait in a dry run."""
        for job in jobs:
            if isinstance(job, KnownResult):
                yield self._counted(job.result)
                continue
            try:
                job(self).send(None)
            except StopIteration as end:
                yield self._counted(end.value)
            else:
                raise RuntimeError("a job of a dry run has to wait")

    async def send(self, request: Request, check: Check | None = None) -> EndpointResponse:
        """Counts a request; returns a failure, or random vectors for a request for embeddings."""
        body = request.body
        self.unsent[request.key] = body
        if "input" not in body:
            return EndpointResponse(reason="connection", detail="a dry run sends nothing")
        drawn = np.random.default_rng(len(self.unsent))
        width = body.get("dimensions") or self._width or _WIDTH
        vectors = drawn.standard_normal((len(body["input"]), width)).tolist()
        return EndpointResponse({"data": [{"index": place, "embedding": each} for place, each in enumerate(vectors)]})


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
