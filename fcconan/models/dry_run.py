"""Dry runs: requests are made and counted, and none is sent."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from fcconan.models.budget import (
    Price,
    estimated_tokens,
    estimated_tokens_of,
    load_price,
    longest_answer,
    longest_prompt,
    texts_of,
)
from fcconan.models.client import Client
from fcconan.models.endpoint import EndpointModel
from fcconan.models.requests import Call, Model, Reply, Request
from fcconan.models.responses import Answer, Check
from fcconan.models.session import Known, Session

_WIDTH = 8  # of stand-ins for embeddings, where no stored one tells the width


class DryClient(Client):
    """A client that sends nothing. Stored answers are used; all other requests are counted and fail.

    Where embeddings are requested, it returns random vectors, so that a system that needs them goes on.

    Args:
        options: Those of `Client`.

    Attributes:
        unsent: The requests that a run would send, by their key.
        answered: The keys of those that are answered already.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.unsent: dict[str, Mapping[str, Any]] = {}
        self.answered: set[str] = set()
        self._width: int | None = None

    def known(self, request: Request, check: Check | None = None) -> Answer | None:
        """Returns the stored answer, or None; counts it."""
        found = super().known(request, check)
        if found is not None:
            self.answered.add(request.key)
            if found.body is not None and "input" in request.body:
                self._width = len(found.body["data"][0]["embedding"])
        return found

    def count(self, request: Request) -> Answer:
        """Counts a request that would be sent; returns what a system gets in the place of its answer."""
        body = request.body
        self.unsent[request.key] = body
        if "input" not in body:
            return Answer(reason="connection", detail="a dry run sends nothing")
        drawn = np.random.default_rng(len(self.unsent))
        width = body.get("dimensions") or self._width or _WIDTH
        vectors = drawn.standard_normal((len(body["input"]), width)).tolist()
        return Answer({"data": [{"index": place, "embedding": each} for place, each in enumerate(vectors)]})

    def summary(self, model: str, prices: Path | None) -> dict[str, Any]:
        """Returns the number of requests, their tokens, and their cost if there are prices.

        Args:
            model: The endpoint's name of the model.
            prices: The file of prices.

        Raises:
            InputError: There is no price for the model.
        """
        bodies = list(self.unsent.values())
        prompt_tokens = sum(estimated_tokens_of(texts_of(body)) for body in bodies)
        answers = [longest_answer(body) for body in bodies]
        most = None if None in answers else sum(each or 0 for each in answers)
        found: dict[str, Any] = {
            "model": model,
            "calls": len(self.unsent) + len(self.answered),
            "answered_already": len(self.answered),
            "to_send": len(self.unsent),
            "prompt_tokens_about": prompt_tokens,
            "completion_tokens_at_most": most,
        }
        if prices is not None:
            price: Price = load_price(prices, model)
            for name, prompts in (
                ("cost_about", prompt_tokens),
                ("cost_at_most", sum(longest_prompt(body) for body in bodies)),
            ):
                found[name] = None if most is None else round(price.of(prompts, most), 6)
        return found

    def _session(self) -> Session:
        return cast("Session", _DrySession(self))


class _DrySession:
    """Stands in for a session: each job ends at once."""

    sent = 0

    def __init__(self, client: DryClient) -> None:
        self._client = client

    def begin(self, job: Callable[[Any], Awaitable[Any]]) -> Known[Any]:
        """Runs a job to its end, which waits for nothing."""
        steps = job(self).__await__()
        try:
            next(steps)
        except StopIteration as end:
            return Known(end.value)
        raise RuntimeError("a job of a dry run has to wait")

    async def send(self, request: Request, check: Check | None = None) -> Answer:
        """Counts a request."""
        return self._client.count(request)

    def close(self) -> None:
        """Closes nothing."""


class UnaskedModel:
    """Takes the place of a model where calls are made and none is sent."""

    def __init__(self) -> None:
        self.name, self.configuration = "nobody", dict[str, Any]()

    def replies(self, calls: Iterable[Call]) -> Iterator[Reply]:
        """Answers nothing.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError


class Rehearsal:
    """Takes the place of a model and counts what it would be sent.

    Args:
        model: The model.
        role: The purpose of the calls, where a command has several.
        answer: Returns the text of an answer, from the call and its number; by default there is no answer.

    Attributes:
        calls: Number of calls.
        kept: Number of calls whose answer is stored already.
        prompt_tokens: Estimate for the other calls.
        most_prompt_tokens: Upper bound for the other calls.
        most_completion_tokens: Upper bound; None if an answer may be of any length.
    """

    def __init__(
        self, model: Model, *, role: str | None = None, answer: Callable[[Call, int], str] | None = None
    ) -> None:
        self.model, self.name, self.configuration = model, model.name, model.configuration
        self._role, self._answer = role, answer
        self.calls = self.kept = self.prompt_tokens = self.most_prompt_tokens = 0
        self.most_completion_tokens: int | None = 0

    def replies(self, calls: Iterable[Call]) -> Iterator[Reply]:
        """Counts the calls."""
        known = getattr(self.model, "known", lambda call: None)
        for call in calls:
            self.calls += 1
            if known(call) is not None:
                self.kept += 1
            else:
                self.prompt_tokens += estimated_tokens(call.messages)
                body: dict[str, Any] = {"messages": call.messages, "max_tokens": call.sampling.max_tokens}
                if isinstance(self.model, EndpointModel):
                    body, _ = self.model.bodies(call)[-1]
                self.most_prompt_tokens += longest_prompt(body)
                answer = longest_answer(body)
                if answer is None or self.most_completion_tokens is None:
                    self.most_completion_tokens = None
                else:
                    self.most_completion_tokens += answer
            yield Reply(self._answer(call, self.calls)) if self._answer is not None else Reply(reason="not_recorded")

    def summary(self, prices: Path | None) -> dict[str, Any]:
        """Returns the counts, and the cost if there are prices; local and recorded models cost nothing.

        Raises:
            InputError: There is no price for the model.
        """
        found: dict[str, Any] = {
            "model": self.name,
            **({} if self._role is None else {"asked_for": self._role}),
            "calls": self.calls,
            "answered_already": self.kept,
            "to_send": self.calls - self.kept,
            "prompt_tokens_about": self.prompt_tokens,
            "completion_tokens_at_most": self.most_completion_tokens,
        }
        if prices is not None:
            price = load_price(prices, self.name) if isinstance(self.model, EndpointModel) else Price(0, 0)
            answers = self.most_completion_tokens
            for name, prompts in (("cost_about", self.prompt_tokens), ("cost_at_most", self.most_prompt_tokens)):
                found[name] = None if answers is None else round(price.of(prompts, answers), 6)
        return found
