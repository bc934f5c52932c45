"""Costs of requests: prices from a file, estimates for dry runs, and a limit that is never exceeded."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import pydantic.dataclasses
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from fcconan.data import YamlFile
from fcconan.errors import InputError

PER = 1_000_000
# For languages with good support by tokenizers. Estimates are for planning; limits use the upper bound below.
BYTES_A_TOKEN = 4
# Upper bound of the tokens of a message in addition to its text, which has at most one token per byte.
TOKENS_A_MESSAGE = 16


class CostLimitError(InputError):
    """The next request may exceed the limit of cost; all answers are stored."""


Rate = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Price:
    """The prices of a model for a million tokens, in the currency of the file."""

    input: Rate
    output: Rate

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Returns the cost of the given numbers of tokens."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / PER


def load_price(path: Path, model: str) -> Price:
    """Reads the price of a model: `MODEL: {input: 2.5, output: 10}`, for a million tokens.

    Raises:
        InputError: The file is invalid or lacks a price for the model.
    """
    file = YamlFile(path)
    if model not in file.data:
        raise InputError(
            f"{path} has no price for {model}: add `{model}: {{input: ..., output: ...}}`, for a million tokens"
        )
    try:
        return TypeAdapter(Price).validate_python(file.data[model])
    except ValidationError as error:
        raise InputError(
            f"{path}, line {file.line((model,))}: the price of {model} is {file.data[model]!r}, expected "
            "{input: ..., output: ...} with numbers from 0, for a million tokens"
        ) from error


def estimated_tokens(texts: Iterable[str]) -> int:
    """Returns an estimate of the number of tokens: one for four bytes."""
    return sum(ceil(_length(text) / BYTES_A_TOKEN) for text in texts)


def token_bounds(body: Mapping[str, Any]) -> tuple[int, int]:
    """Returns upper bounds of the tokens of a request and of its answer.

    Raises:
        InputError: The request does not limit the length of its answer.
    """
    answer = longest_answer(body)
    if answer is None:
        raise InputError("a limit of cost needs a limit of the answers: set a maximum number of tokens")
    return longest_prompt(body), answer


def longest_prompt(body: Mapping[str, Any]) -> int:
    """Returns an upper bound of the tokens of a request: its bytes, and a constant per message and request."""
    schema = len(str(body.get("response_format", "")).encode())
    texts = sum(_length(text) + TOKENS_A_MESSAGE for text in texts_of(body))
    return texts + schema + TOKENS_A_MESSAGE


def texts_of(body: Mapping[str, Any]) -> list[str]:
    """Returns the texts of a request: its messages, or its inputs for embeddings."""
    return list(body["input"]) if "input" in body else [each["content"] for each in body["messages"]]


def _length(text: str) -> int:
    """Returns the number of bytes of a text, also with lone surrogates."""
    return len(text.encode(errors="surrogatepass"))


def longest_answer(body: Mapping[str, Any]) -> int | None:
    """Returns an upper bound of the tokens of an answer (0 for embeddings); None if the request sets none."""
    if "input" in body:
        return 0
    longest = body.get("max_completion_tokens", body.get("max_tokens"))
    return None if longest is None else int(longest) * int(body.get("n", 1))


class CostLimit:
    """Limit of the total cost of all models of a run.

    Args:
        limit: Maximum cost, in the currency of the prices.

    Attributes:
        limit: Maximum cost.
        spent: Cost of answered requests. A failed request that may have been charged counts with its reserved amount.
        reserved: Maximum cost of requests in flight.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = self.reserved = 0.0
        self._under_way = 0
        self._lock = threading.Lock()

    def reserve(self, amount: float) -> bool:
        """Reserves an amount if the limit allows it, and returns whether it does.

        Raises:
            CostLimitError: The limit does not allow it, and no request in flight can release a reserved amount.
        """
        with self._lock:
            if self.spent + self.reserved + amount <= self.limit:
                self.reserved += amount
                self._under_way += 1
                return True
            if self._under_way:
                return False
        raise CostLimitError(
            f"the limit of cost is reached: {self.spent:.4f} of {self.limit:g} is spent, and the next request may cost "
            f"{amount:.4f}; all answers are stored: raise --max-cost and run again to continue"
        )

    def commit(self, amount: float, cost: float) -> None:
        """Replaces the reserved amount of a request by its cost."""
        with self._lock:
            self._under_way -= 1
            self.reserved = max(self.reserved - amount, 0.0) if self._under_way else 0.0
            self.spent += cost


@dataclass
class Usage:
    """Requests and tokens of a model in this run, as counted by the endpoint.

    Attributes:
        requests: Number of sent requests, including repetitions.
        prompt_tokens: Prompt tokens of the requests with a count.
        completion_tokens: Generated tokens of the requests with a count.
        uncounted: Number of possibly charged requests without a count, such as timeouts and invalid bodies.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0


class Budget:
    """Counts the tokens of requests and enforces a limit of cost: the maximum cost is reserved before each request.

    Args:
        limit: Limit of all models of a run; None for no limit.
        price: Price of the model; None if it is unknown, which excludes a limit.

    Attributes:
        limit: Limit of all models of a run; None for no limit.
        price: Price of the model.
        used: Requests and tokens so far.
    """

    def __init__(self, limit: CostLimit | None, price: Price | None) -> None:
        if limit is not None and price is None:
            raise InputError("a limit of cost needs the price of the model")
        self.limit, self.price, self.used = limit, price, Usage()

    @property
    def cost(self) -> float | None:
        """Cost of the counted tokens of this model; None without a price."""
        used = self.used
        return None if self.price is None else self.price.cost(used.prompt_tokens, used.completion_tokens)

    def bound(self, body: Mapping[str, Any]) -> float:
        """Returns the maximum cost of a request; 0 without a limit."""
        return self.price.cost(*token_bounds(body)) if self.limit is not None and self.price is not None else 0.0

    def reserve(self, amount: float) -> bool:
        """Reserves an amount as `CostLimit.reserve` does; always True without a limit."""
        return self.limit is None or self.limit.reserve(amount)

    def commit(self, amount: float, usage: object, *, is_charged: bool = True) -> None:
        """Replaces the reserved amount of a request by its cost.

        Args:
            amount: The reserved amount.
            usage: Token counts of the endpoint, if there are any.
            is_charged: False for a request that the endpoint rejected.
        """
        counts = usage if isinstance(usage, Mapping) else {}
        prompt, completion = (counts.get(name) for name in ("prompt_tokens", "completion_tokens"))
        cost = amount if is_charged else 0.0
        self.used.requests += 1
        if type(prompt) is int and type(completion) is int and min(prompt, completion) >= 0:
            self.used.prompt_tokens += prompt
            self.used.completion_tokens += completion
            cost = 0.0 if self.price is None else self.price.cost(prompt, completion)
        elif is_charged:
            self.used.uncounted += 1
        if self.limit is not None:
            self.limit.commit(amount, cost)
