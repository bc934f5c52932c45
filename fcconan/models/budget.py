"""What calls cost: prices from a file, an estimate before the first call, and a limit that is never passed."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from fcconan.data import YamlFile
from fcconan.errors import InputError

PER = 1_000_000
# Of the languages that tokenizers know well. An estimate is for planning; limits are kept by the bound below.
BYTES_A_TOKEN = 4
# A message costs a few tokens besides its text. No tokenizer makes more tokens than there are bytes.
TOKENS_A_MESSAGE = 16


class CostLimitError(InputError):
    """The next call might cost more than was allowed; what was answered is kept."""


@dataclass(frozen=True)
class Price:
    """What a model costs, in the unit of the file, for a million tokens."""

    input: float
    output: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Returns what so many tokens cost."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / PER


def load_price(path: Path, model: str) -> Price:
    """Reads the price of a model: `MODEL: {input: 2.5, output: 10}`, for a million tokens.

    Raises:
        InputError: The file is no list of prices, or has none for the model.
    """
    file = YamlFile(path)
    if model not in file.data:
        raise InputError(
            f"{path} has no price for {model}: add `{model}: {{input: ..., output: ...}}`, for a million tokens"
        )
    entry = file.data[model]
    numbers = entry if isinstance(entry, dict) else {}
    if set(numbers) != {"input", "output"} or not all(
        isinstance(each, int | float) and not isinstance(each, bool) and 0 <= each < float("inf")
        for each in numbers.values()
    ):
        raise InputError(
            f"{path}, line {file.line((model,))}: the price of {model} is {entry!r}, expected "
            "{input: ..., output: ...} with numbers from 0, for a million tokens"
        )
    return Price(float(numbers["input"]), float(numbers["output"]))


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


class Purse:
    """What all models of a run may spend together.

    Args:
        limit: In the unit of the prices.

    Attributes:
        spent: What answered calls cost. A call that failed without an answer may have been charged: it counts with
            what was set aside for it.
        aside: What calls in flight may cost.
        waiting: Called, from any thread, whenever a call was booked.

    Raises:
        InputError: The limit is no number from 0.
    """

    def __init__(self, limit: float) -> None:
        if not 0 <= limit < float("inf"):
            raise InputError(f"the limit of cost is {limit}: give a number from 0")
        self.limit = limit
        self.spent = self.aside = 0.0
        self.waiting: list[Callable[[], object]] = []
        self._flying = 0
        self._lock = threading.Lock()

    def set_aside(self, amount: float) -> bool:
        """Sets an amount aside, if that keeps within the limit; returns whether it did.

        Raises:
            CostLimitError: It does not, and no call in flight can free anything.
        """
        with self._lock:
            if self.spent + self.aside + amount <= self.limit:
                self.aside += amount
                self._flying += 1
                return True
            if self._flying:
                return False
        raise CostLimitError(
            f"the limit of cost is reached: {self.spent:.4f} of {self.limit:g} is spent, and the next call may cost "
            f"{amount:.4f}; what was answered is kept, raise --max-cost and run again to go on"
        )

    def settle(self, amount: float, cost: float) -> None:
        """Books the cost of a call for which an amount was set aside."""
        with self._lock:
            self._flying -= 1
            self.aside = max(self.aside - amount, 0.0) if self._flying else 0.0
            self.spent += cost
        for wake in list(self.waiting):
            wake()


@dataclass
class Used:
    """What a model was sent and has answered in this run, as the endpoint counts.

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
    """Counts what calls use, and keeps their cost at or below a limit: what they may cost is set aside beforehand.

    Args:
        purse: The limit, with what is spent; a number is a purse of its own, None sets no limit.
        price: Of the model; None where nobody knows it, which goes without a limit only.

    Attributes:
        purse: The limit.
        price: Of the model.
        used: What was sent so far.
    """

    def __init__(self, purse: Purse | float | None, price: Price | None) -> None:
        self._limited = purse is not None
        if self._limited and price is None:
            raise InputError("a limit of cost needs the price of the model")
        self.purse = purse if isinstance(purse, Purse) else Purse(purse or 0.0)
        self.price = price
        self.used = Used()

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self._limited

    @property
    def spent(self) -> float:
        """What answered calls cost, those of other models with the same purse among them."""
        return self.purse.spent

    @property
    def cost(self) -> float | None:
        """What the counted tokens of this model cost; None without a price."""
        used = self.used
        return None if self.price is None else self.price.of(used.prompt_tokens, used.completion_tokens)

    def bound(self, body: Mapping[str, Any]) -> float:
        """Returns the most that a request can cost; 0 where there is no limit."""
        return self.price.of(*most_tokens(body)) if self._limited and self.price is not None else 0.0

    def set_aside(self, amount: float) -> bool:
        """As `Purse.set_aside`."""
        return self.purse.set_aside(amount) if self._limited else True

    def settle(self, amount: float, usage: Mapping[str, Any] | None, *, charged: bool = True) -> None:
        """Books a call for which an amount was set aside.

        Args:
            amount: What was set aside.
            usage: The endpoint's count of tokens, if there is one.
            charged: False for a call that the endpoint turned away.
        """
        counts = [(usage or {}).get(name) for name in ("prompt_tokens", "completion_tokens")]
        prompt, completion = (each if type(each) is int and each >= 0 else None for each in counts)
        cost = amount if charged else 0.0
        self.used.requests += 1
        if prompt is not None and completion is not None:
            self.used.prompt_tokens += prompt
            self.used.completion_tokens += completion
            cost = 0.0 if self.price is None else self.price.of(prompt, completion)
        elif charged:
            self.used.uncounted += 1
        if self._limited:
            self.purse.settle(amount, cost)
