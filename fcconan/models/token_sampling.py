"""Token sampling, log-probabilities and stopping of a batch while a model of transformers generates."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.errors import InputError
from fcconan.models.requests import Request, Sampling

if TYPE_CHECKING:
    import torch


@dataclass
class RequestState:
    """State of one request in a batch.

    Attributes:
        request: The request.
        prompt: Tokens of the prompt.
        limit: Maximum number of tokens of the answer.
        temperature: Temperature; 0 selects the most likely token.
        top_p: Probability mass of nucleus sampling.
        sampling: Sampling settings of the request.
        seed: Seed of sampling.
        tokens: Tokens of the answer so far.
        alternatives: Id, log-probability and most likely alternatives of each token.
        text: Text of the answer.
        finish: Reason of the end, `stop` or `length`.
        draw: Random generator of this row.
    """

    request: Request
    prompt: list[int]
    limit: int
    temperature: float
    top_p: float
    sampling: Sampling
    seed: int
    tokens: list[int] = field(default_factory=list)
    alternatives: list[tuple[int, float, list[tuple[int, float]]]] = field(default_factory=list)
    text: str = ""
    finish: str | None = None
    draw: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng(self.seed)

    def restarted(self) -> "RequestState":
        """Returns the row in its initial state."""
        return RequestState(
            self.request, self.prompt, self.limit, self.temperature, self.top_p, self.sampling, self.seed
        )


class Batch:
    """Selects and records the next token of each row while `generate` runs the model.

    Args:
        rows: States of the requests.
        tokenizer: Tokenizer of the model.
        ends: Tokens that end an answer.
        name: Name of the model, for error messages.
    """

    def __init__(self, rows: list[RequestState], tokenizer: Any, ends: frozenset[int], name: str) -> None:
        self._rows, self._tokenizer, self._ends, self._name = rows, tokenizer, ends, name
        self._alternatives = max(row.sampling.top_logprobs for row in rows)
        self._logprobs: torch.Tensor | None = None

    def choose(self, tokens: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """A logits processor that masks all but the sampled token of rows with sampling; scores: (rows, tokens).

        Raises:
            InputError: A score is not finite.
        """
        import torch

        if not bool((scores < torch.inf).all()):  # minus infinity is a valid score of impossible tokens
            raise InputError(f"the scores of {self._name} are not finite: check its weights, or choose another dtype")
        if self._alternatives:
            self._logprobs = scores.log_softmax(-1)
        drawn = [place for place, row in enumerate(self._rows) if row.temperature > 0]
        if not drawn:
            return scores
        rows = [self._rows[place] for place in drawn]
        numbers = torch.tensor([row.draw.random() for row in rows], dtype=torch.float64)
        heat = torch.tensor([row.temperature for row in rows], dtype=torch.float64)
        mass = torch.tensor([row.top_p for row in rows], dtype=torch.float64)
        words = scores.shape[1]
        likeliest = torch.tensor([min(row.sampling.top_k or words, words) for row in rows])
        home = "cpu" if scores.device.type == "mps" else scores.device  # which has no 64-bit floats
        settings = (each.to(home)[:, None] for each in (numbers, heat, mass, likeliest))
        chosen = draw_tokens(scores[drawn].to(home), *settings)
        alone = torch.full_like(scores[drawn], -torch.inf).scatter_(1, chosen.to(scores.device), 0.0)
        scores[drawn] = alone
        return scores

    def note(self, tokens: "torch.Tensor", scores: object, **unused: object) -> "torch.Tensor":
        """A stopping criterion that records the last token of each row and returns which rows have ended."""
        import torch

        last = tokens[:, -1].tolist()
        if self._logprobs is not None:
            own = self._logprobs.gather(1, tokens[:, -1:])[:, 0].tolist()
            size = min(self._alternatives, self._logprobs.shape[1])
            values, others = (each.tolist() for each in self._logprobs.topk(size))
        for place, row in enumerate(self._rows):
            if row.finish is not None:
                continue
            row.tokens.append(last[place])
            if self._logprobs is not None:
                pairs = list(zip(others[place], values[place], strict=True))[: row.sampling.top_logprobs]
                row.alternatives.append((last[place], own[place], pairs))
            self._end(row)
        return torch.tensor([row.finish is not None for row in self._rows], device=tokens.device)

    def _end(self, row: RequestState) -> None:
        ended, full = row.tokens[-1] in self._ends, len(row.tokens) == row.limit
        if not (ended or full or row.sampling.stop):
            return
        text = _text(self._tokenizer, row.tokens[:-1] if ended else row.tokens)
        stop = stop_in(text, row.sampling.stop)
        if ended or stop is not None:
            row.text, row.finish = text[:stop], "stop"
        elif full:
            row.text, row.finish = text, "length"


def stop_in(text: str, stop: Iterable[str]) -> int | None:
    """Returns the position of the first stop string in a reply, or None.

    Leading white space is skipped, because many models begin an answer with a line break.
    """
    first = len(text) - len(text.lstrip())
    return min((place for each in stop if (place := text.find(each, first)) >= 0), default=None)


def draw_tokens(
    scores: "torch.Tensor",
    numbers: "torch.Tensor",
    temperature: "torch.Tensor",
    top_p: "torch.Tensor",
    top_k: "torch.Tensor | None" = None,
) -> "torch.Tensor":
    """Samples a token for each row by inverting the cumulative distribution.

    The cumulative distribution is in the order of token ids. In the order of probabilities, rounding errors could
    exchange tokens of nearly equal probability.

    Args:
        scores: Logits, of shape (rows, tokens).
        numbers: Uniform numbers in [0, 1), of shape (rows, 1).
        temperature: Temperatures above 0, of shape (rows, 1).
        top_p: Probability mass of nucleus sampling (Holtzman et al. 2020), of shape (rows, 1).
        top_k: Number of most likely tokens to sample from, of shape (rows, 1); ties with the last one are included. It
            is applied before `top_p`, and is at most the number of tokens. None for all tokens.

    Returns:
        Token ids, of shape (rows, 1).
    """
    import torch

    heated = scores.double() / temperature
    if top_k is not None and bool((top_k < heated.shape[1]).any()):
        least = heated.sort(dim=-1, descending=True).values.gather(1, top_k - 1)
        heated = heated.masked_fill(heated < least, -torch.inf)
    probabilities = heated.softmax(-1)
    if bool((top_p < 1).any()):
        ordered, order = probabilities.sort(dim=-1, descending=True, stable=True)
        beyond = ordered.cumsum(-1) - ordered >= top_p
        probabilities = probabilities.masked_fill(torch.zeros_like(beyond).scatter(1, order, beyond), 0.0)
    cumulated = probabilities.cumsum(-1)
    return torch.searchsorted(cumulated, numbers * cumulated[:, -1:], right=True)


def max_length(rows: Sequence[RequestState]) -> int:
    """Returns the length of the longest prompt plus the maximum length of answers, in tokens."""
    return max(len(row.prompt) for row in rows) + max(row.limit for row in rows)


def _text(tokenizer: Any, tokens: Sequence[int]) -> str:
    return str(tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def count_text_tokens(row: RequestState, tokenizer: Any) -> int:
    """Returns the number of tokens of a row's text, without the end token and the tokens of a stop string."""
    count = len(row.tokens)
    while count and len(_text(tokenizer, row.tokens[: count - 1])) >= len(row.text):
        count -= 1
    return count
