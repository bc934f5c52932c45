"""A message with all candidate replies to it."""

from dataclasses import dataclass, field

from fcconan.generation.item import Item, Shown
from fcconan.models import Call


@dataclass(frozen=True)
class Candidate:
    """One answer to a message.

    Attributes:
        text: Its words, without what the model thought before and white space around them; None where there are none.
        reason: Why there are none.
        cut: Whether it was cut at its longest.
        model: The name under which the model answered.
        prompt_tokens: As the model counts.
        completion_tokens: As the model counts.
    """

    text: str | None
    reason: str | None = None
    cut: bool = False
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass
class Drawn:
    """A message with all answers to it.

    Attributes:
        item: The message.
        shown: What the prompt showed besides.
        calls: What was asked.
        reason: Why nothing was asked.
        candidates: The answers, in the order of the calls.
    """

    item: Item
    shown: Shown
    calls: list[Call]
    reason: str | None = None
    candidates: list[Candidate] = field(default_factory=list)

    @property
    def texts(self) -> dict[int, str]:
        """The candidates that have words, by their place."""
        return {place: each.text for place, each in enumerate(self.candidates) if each.text is not None}
