"""A dry run: requests are made and counted, and none is sent."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from fcconan.models.budget import Price, estimated_tokens_of, load_price, longest_answer, longest_prompt, texts_of
from fcconan.models.client import Client
from fcconan.models.requests import Request
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
