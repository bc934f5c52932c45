"""Stand-ins for models: they send nothing, and count what a model would be sent."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from fcconan.models.budget import Price, estimated_tokens, load_price, longest_answer, longest_prompt
from fcconan.models.calls import Call, Model, Reply
from fcconan.models.endpoint import EndpointModel


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
