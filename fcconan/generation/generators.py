"""Systems that answer messages: a model, and the people whose CNs are the references."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from fcconan.data import short_hash
from fcconan.generation.items import Candidate, Generated, Item, ItemCandidates
from fcconan.generation.requests import GenerationPlan, default_name
from fcconan.judging import match_answers
from fcconan.models import PASSING_REASONS, ChatResponse, Model, stop_in
from fcconan.parsing import split_thinking

TRUNCATED = "truncated"
NO_REFERENCE = "no_reference"
OWN_TEMPLATE = "chat template of the model"


class Generator(Protocol):
    """Anything that answers messages.

    Attributes:
        name: Name of the system, for the column `system`.
        strategy: Name of the strategy, such as `zero-shot`.
        configuration: All settings that change the replies, as JSON-able values.
    """

    name: str
    strategy: str
    configuration: dict[str, Any]

    def answers(self, items: Iterable[Item]) -> Iterator[Generated]:
        """Yields one reply, or the reason of a missing one, for each item in order; items are read lazily."""
        ...


class ModelGenerator:
    """A system that sends requests to a model.

    Two items with the same message have the same request and reply; it is sent once.

    Args:
        model: The model.
        plan: Prompt, decoding and sources of examples.
        seed: Seed of the choice among candidates, which depends on seed and item only.
        name: Name of the system; by default model, strategy and all settings that differ from the defaults (see
            `fcconan.generation.requests.default_name`).
        format: Name of the format that replaces the chat template of the tokenizer.
        own_template: Hash of the tokenizer's chat template, if it is used.

    Attributes:
        name: Name of the system.
        strategy: Strategy of the plan.
        configuration: All settings that change the replies.
        failed: Number of requests that failed for a temporary reason so far; another run sends them again.
    """

    def __init__(
        self,
        model: Model,
        plan: GenerationPlan,
        *,
        seed: int = 0,
        name: str | None = None,
        format: str | None = None,
        own_template: str | None = None,
    ) -> None:
        self.model, self.plan, self.strategy = model, plan, plan.strategy
        self.name = name or f"{model.name}:{default_name(plan, format)}"
        self.failed, self._seed = 0, seed
        self._is_random = plan.decoding.pick == "random"
        self._format = format or (OWN_TEMPLATE if own_template else None)
        self.configuration: dict[str, Any] = {
            "model": model.configuration,
            "format": self._format,
            "template": own_template,
            **plan.configuration,
            "pick": {"pick": "random", "seed": seed} if self._is_random else {"pick": "first"},
        }

    def answers(self, items: Iterable[Item]) -> Iterator[Generated]:
        """Yields one reply, or the reason of a missing one, for each item in order; later requests run meanwhile.

        Raises:
            InputError: The model cannot be used at all.
        """
        asked = (self._asked(item) for item in items)
        for drawn, replies in match_answers(
            self.model.name, self.model.replies, ((each, each.calls) for each in asked)
        ):
            drawn.candidates += map(self._candidate, replies)
            yield self._generated(drawn, self._picked(drawn))

    def _picked(self, drawn: ItemCandidates) -> int | None:
        """Returns the index of the first candidate with a text, or of a random one; None if all are missing."""
        order = range(len(drawn.candidates))
        if self._is_random:
            generator = np.random.default_rng([self._seed, _item_seed(drawn.item.item_id)])
            order = generator.permutation(len(drawn.candidates)).tolist()
        return next((place for place in order if drawn.candidates[place].text is not None), None)

    def _asked(self, item: Item) -> ItemCandidates:
        shown, reason = self.plan.shown(item)
        return ItemCandidates(item, shown, self.plan.calls(item, shown) if reason is None else [], reason)

    def _candidate(self, reply: ChatResponse) -> Candidate:
        self.failed += reply.text is None and reply.reason in PASSING_REASONS
        text, reason, cut = reply.text, reply.reason, False
        written = reply.cut if text is None else text
        if written is not None:
            _, whole = split_thinking(written) or ("", "")
            text = whole[: stop_in(whole, self.plan.decoding.stop)].strip()  # not every back end ends there
            cut = reply.text is None and text == whole.strip()
            reason = None if text else reason if cut else "empty"
        return Candidate(text or None, reason, cut, reply.model, reply.prompt_tokens, reply.completion_tokens)

    def _generated(self, drawn: ItemCandidates, picked: int | None) -> Generated:
        decoding, seed = self.plan.decoding, self.plan.seed
        asked = drawn.candidates
        chosen = None if picked is None else asked[picked]
        reason = drawn.reason if not asked else None if chosen else asked[0].reason
        of = self.model.configuration
        said = next((each.model for each in ([chosen] if chosen else asked) if each.model not in (None, "")), None)
        more = {
            "model": self.model.name,
            "revision": of.get("revision") or of.get("weights") or (said if said != self.model.name else None),
            "prompt_hash": self.plan.prompt.hash,
            "format": self._format,
            "decoding": decoding.name,
            "seed": seed,
            "examples": [each.pair_id for each in drawn.shown.examples],
            "sources": [f"passage-{short_hash(text)}" for text in drawn.shown.background],
            "candidates": len(asked),
            "picked": picked,
            "prompt_tokens": _sum(each.prompt_tokens for each in asked),
            "completion_tokens": _sum(each.completion_tokens for each in asked),
            "flags": [TRUNCATED] if chosen and chosen.cut else [],
        }
        return Generated(chosen.text if chosen else None, reason, more)


class ReferenceGenerator:
    """The human CNs as a system: one reference of each item, chosen by seed and item.

    The chosen reference is removed from the `references` of the row, so that the reply is not compared with itself. An
    item with one reference has none left.

    Args:
        seed: Seed of the choice, which depends on seed and item only.
        name: Name of the system.

    Attributes:
        name: Name of the system.
        strategy: `reference`.
        configuration: The seed.
    """

    strategy = "reference"

    def __init__(self, *, seed: int = 0, name: str = "gold") -> None:
        self.name, self._seed = name, seed
        self.configuration: dict[str, Any] = {"strategy": self.strategy, "seed": seed}

    def answers(self, items: Iterable[Item]) -> Iterator[Generated]:
        """Yields a reference of each item; the reason is `no_reference` if it has none with a text."""
        for item in items:
            there = [text for text in item.references if text.strip()]
            if not there:
                yield Generated(None, NO_REFERENCE, {"seed": self._seed})
                continue
            drawn = int(np.random.default_rng([self._seed, _item_seed(item.item_id)]).integers(len(there)))
            rest = [*there[:drawn], *there[drawn + 1 :]]
            yield Generated(there[drawn].strip(), None, {"seed": self._seed, "references": rest})


def _item_seed(item_id: str) -> int:
    """Returns an integer for seeds that depends on the id of an item only."""
    return int(short_hash(item_id), 16)


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
