"""How the tokens of a batch are chosen, drawn and ended while a model of transformers runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.errors import InputError
from fcconan.models.requests import Request, Sampling

if TYPE_CHECKING:
    import torch


@dataclass
class Row:
    """One call on its way through a batch.

    Attributes:
        request: The whole request.
        prompt: Its tokens.
        limit: The most tokens of the answer.
        temperature: 0 takes the likeliest token.
        top_p: The share of probability that is drawn from.
        sampling: All that was asked for.
        seed: Of the draws.
        tokens: Those of the answer so far.
        alternatives: Of every token, itself and the likeliest ones, each with its log-probability.
        text: The answer.
        finish: Why it ended.
        draw: Draws the tokens of this row alone.
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

    def restarted(self) -> "Row":
        """Returns the row as it was before its first token."""
        return Row(self.request, self.prompt, self.limit, self.temperature, self.top_p, self.sampling, self.seed)


class Batch:
    """Chooses and notes the next token of every row while `generate` runs the model.

    Args:
        rows: The calls.
        tokenizer: The model's.
        ends: Tokens that end an answer.
        name: Of the model, for complaints.
    """

    def __init__(self, rows: list[Row], tokenizer: Any, ends: frozenset[int], name: str) -> None:
        self._rows, self._tokenizer, self._ends, self._name = rows, tokenizer, ends, name
        self._alternatives = max(row.sampling.top_logprobs for row in rows)
        self._logprobs: torch.Tensor | None = None

    def choose(self, tokens: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """A logits processor: leaves to a row that is drawn the drawn token alone; scores of shape (rows, words).

        Raises:
            InputError: A score is not finite.
        """
        import torch

        if not bool((scores < torch.inf).all()):  # minus infinity is a word that is never said
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
        home = "cpu" if scores.device.type == "mps" else scores.device  # the one that knows no 64-bit floats
        settings = (each.to(home)[:, None] for each in (numbers, heat, mass, likeliest))
        chosen = draw_tokens(scores[drawn].to(home), *settings)
        alone = torch.full_like(scores[drawn], -torch.inf).scatter_(1, chosen.to(scores.device), 0.0)
        scores[drawn] = alone
        return scores

    def note(self, tokens: "torch.Tensor", scores: object, **unused: object) -> "torch.Tensor":
        """A stopping criterion: notes the last token of every row and returns which rows have ended."""
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

    def _end(self, row: Row) -> None:
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
    """Returns where the first of some strings begins that end a reply; None where none of them is there.

    White space before the first word ends nothing: many models begin an answer with a line break.
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
    """Draws a token for every row by inverting the cumulative distribution.

    Tokens are cumulated in the order of their ids: in that of their probabilities, two of nearly equal ones would
    change places with the last bits.

    Args:
        scores: Logits, of shape (rows, words).
        numbers: Where in [0, 1) the distribution is inverted; this and the others of shape (rows, 1).
        temperature: Divides the logits; above 0.
        top_p: The mass from which is drawn: the fewest of the likeliest tokens that have it (Holtzman et al. 2020).
        top_k: From how many of the likeliest tokens is drawn, and those as likely as the last of them; what they have
            together is the mass of which `top_p` is a part. At most as many as there are words; None for all.

    Returns:
        Ids of tokens, of shape (rows, 1).
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


def longest(rows: Sequence[Row]) -> int:
    """Returns how many tokens the longest prompt and the longest answer have together."""
    return max(len(row.prompt) for row in rows) + max(row.limit for row in rows)


def _text(tokenizer: Any, tokens: Sequence[int]) -> str:
    return str(tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))


def kept_tokens(row: Row, tokenizer: Any) -> int:
    """How many tokens of a row its text is made of: not the one that ended it, nor those of a stop string."""
    count = len(row.tokens)
    while count and len(_text(tokenizer, row.tokens[: count - 1])) >= len(row.text):
        count -= 1
    return count
