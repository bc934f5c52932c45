"""What calls cost: prices from a file, an estimate before the first call, and a limit that is never passed."""

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
# Of the languages that tokenizers know well. An estimate is for planning; limits are kept by the bound below.
BYTES_A_TOKEN = 4
# A message costs a few tokens besides its text. No tokenizer makes more tokens than there are bytes.
TOKENS_A_MESSAGE = 16


class CostLimitError(InputError):
    """The next call might cost more than was allowed; what was answered is kept."""


Rate = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Price:
    """The price of a model, in the unit of the file, for a million tokens."""

    input: Rate
    output: Rate

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Returns the cost of so many tokens."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / PER


def load_price(path: Path, model: str) -> Price:
    """Reads the price of a model: `MODEL: {input: 2.5, output: 10}`, for a million tokens.

    Raises:
        InputError: The file has other content, or no price for the model.
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
    """Returns roughly how many tokens texts have: a token for four bytes."""
    return sum(ceil(_length(text) / BYTES_A_TOKEN) for text in texts)


def most_tokens(body: Mapping[str, Any]) -> tuple[int, int]:
    """Returns bounds for the tokens of a request and of its answer.

    Raises:
        InputError: The request does not limit its answer.
    """
    answer = longest_answer(body)
    if answer is None:
        raise InputError("a limit of cost needs a limit of the answers: give the longest answer, in tokens")
    return longest_prompt(body), answer


def longest_prompt(body: Mapping[str, Any]) -> int:
    """Returns a bound for the tokens of a request: its bytes, and some for every message and for the whole."""
    schema = len(str(body.get("response_format", "")).encode())
    texts = sum(_length(text) + TOKENS_A_MESSAGE for text in texts_of(body))
    return texts + schema + TOKENS_A_MESSAGE


def texts_of(body: Mapping[str, Any]) -> list[str]:
    """Returns the texts of a request: its messages, or those that become embeddings."""
    return list(body["input"]) if "input" in body else [each["content"] for each in body["messages"]]


def _length(text: str) -> int:
    """Returns the bytes of a text, also of one with half characters."""
    return len(text.encode(errors="surrogatepass"))


def longest_answer(body: Mapping[str, Any]) -> int | None:
    """Returns a bound for the tokens of an answer, or None if the request sets none; embeddings have no tokens."""
    if "input" in body:
        return 0
    longest = body.get("max_completion_tokens", body.get("max_tokens"))
    return None if longest is None else int(longest) * int(body.get("n", 1))


class CostLimit:
    """The amount that all models of a run may cost together.

    Args:
        limit: In the unit of the prices.

    Attributes:
        limit: The given one.
        spent: Cost of answered calls. A call that failed without an answer may have been charged: it counts with the
            amount that was reserved for it.
        reserved: The most that calls under way may cost.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.spent = self.reserved = 0.0
        self._under_way = 0
        self._lock = threading.Lock()

    def reserve(self, amount: float) -> bool:
        """Reserves an amount, if that keeps within the limit; returns whether it did.

        Raises:
            CostLimitError: It does not, and no call under way can free anything.
        """
        with self._lock:
            if self.spent + self.reserved + amount <= self.limit:
                self.reserved += amount
                self._under_way += 1
                return True
            if self._under_way:
                return False
        raise CostLimitError(
            f"the limit of cost is reached: {self.spent:.4f} of {self.limit:g} is spent, and the next call may cost "
            f"{amount:.4f}; what was answered is kept, raise --max-cost and run again to go on"
        )

    def commit(self, amount: float, cost: float) -> None:
        """Replaces an amount that was reserved for a call by its cost."""
        with self._lock:
            self._under_way -= 1
            self.reserved = max(self.reserved - amount, 0.0) if self._under_way else 0.0
            self.spent += cost


@dataclass
class Used:
    """Requests and tokens of a model in this run, as the endpoint counts.

    Attributes:
        requests: Those that were sent, repetitions among them.
        prompt_tokens: Of those with a count.
        completion_tokens: Of those with a count.
        uncounted: Requests that may have been charged, without a count: cut answers, timeouts, unusable bodies.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0


class Budget:
    """Counts the tokens of calls, and keeps their cost within a limit: the most they may cost is reserved beforehand.

    Args:
        limit: The limit of all models of a run; None for no limit.
        price: Price of the model; None where it is unknown, which goes without a limit only.

    Attributes:
        limit: The limit; None for none.
        price: Price of the model.
        used: Requests and tokens so far.
    """

    def __init__(self, limit: CostLimit | None, price: Price | None) -> None:
        if limit is not None and price is None:
            raise InputError("a limit of cost needs the price of the model")
        self.limit, self.price, self.used = limit, price, Used()

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self.limit is not None

    @property
    def cost(self) -> float | None:
        """Cost of the counted tokens of this model; None without a price."""
        used = self.used
        return None if self.price is None else self.price.of(used.prompt_tokens, used.completion_tokens)

    def bound(self, body: Mapping[str, Any]) -> float:
        """Returns the most that a request can cost; 0 where there is no limit."""
        return self.price.of(*most_tokens(body)) if self.limit is not None and self.price is not None else 0.0

    def reserve(self, amount: float) -> bool:
        """As `CostLimit.reserve`; always possible without a limit."""
        return self.limit is None or self.limit.reserve(amount)

    def commit(self, amount: float, usage: object, *, is_charged: bool = True) -> None:
        """Books a call for which an amount was reserved.

        Args:
            amount: The reserved amount.
            usage: The endpoint's count of tokens, if there is one.
            is_charged: False for a call that the endpoint turned away.
        """
        counts = usage if isinstance(usage, Mapping) else {}
        prompt, completion = (counts.get(name) for name in ("prompt_tokens", "completion_tokens"))
        cost = amount if is_charged else 0.0
        self.used.requests += 1
        if type(prompt) is int and type(completion) is int and min(prompt, completion) >= 0:
            self.used.prompt_tokens += prompt
            self.used.completion_tokens += completion
            cost = 0.0 if self.price is None else self.price.of(prompt, completion)
        elif is_charged:
            self.used.uncounted += 1
        if self.limit is not None:
            self.limit.commit(amount, cost)
