"""Requests for replies to a message: the prompt with its context, and one request for each candidate."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError
from fcconan.generation.items import ExampleSource, Item, PromptContext
from fcconan.models import ChatRequest

if TYPE_CHECKING:
    from fcconan.generation.decoding import Decoding
    from fcconan.generation.prompts import GenerationPrompt

Background = Callable[[Mapping[str, Any]], str | None]
# Strategy with a model -> default prompt.
DEFAULT_PROMPTS = {
    "zero-shot": "brief",
    "few-shot": "brief",
    "grounded": "grounded",
}
USUAL_DECODING = "greedy"
NO_BACKGROUND = "no_background"
_USUAL = 3  # examples
_USUAL_ENCODER = "all-MiniLM-L6-v2"  # of examples


@dataclass(frozen=True)
class GenerationPlan:
    """Prompt, decoding and context of all requests of a system.

    Attributes:
        prompt: The prompt.
        decoding: Decoding settings with the number of candidates.
        examples: Source of few-shot examples.
        background: Function that finds passages for a message; its attribute `configuration` has its settings.
        seed: Seed of the requests; None for endpoints without seeds.

    Raises:
        InputError: Prompt and context do not match.
    """

    prompt: "GenerationPrompt"
    decoding: "Decoding"
    examples: ExampleSource | None = None
    background: Background | None = None
    seed: int | None = 0

    def __post_init__(self) -> None:
        check_prompt(self.prompt, background=self.background is not None)

    @property
    def strategy(self) -> str:
        """`grounded`, `few-shot` or `zero-shot`: the first that fits."""
        if self.background is not None:
            return "grounded"
        return "zero-shot" if self.examples is None else "few-shot"

    @property
    def configuration(self) -> dict[str, Any]:
        """All settings that change the requests, as JSON-able values."""
        return {
            "strategy": self.strategy,
            "prompt": {"name": self.prompt.name, "hash": self.prompt.hash, "messages": _messages(self.prompt)},
            "decoding": self.decoding.configuration,
            "seed": self.seed,
            **{name: getattr(getattr(self, name), "configuration", None) for name in ("examples", "background")},
        }

    def prepare(self, items: Iterable[Item]) -> None:
        """Finds examples for all items.

        Raises:
            InputError: An encoder cannot be used.
        """
        if self.examples is not None:
            self.examples.prepare(items)

    def shown(self, item: Item) -> tuple[PromptContext, str | None]:
        """Returns the context of the prompt for an item, and the reason if no request is possible."""
        found = self.background({"hs_id": item.hs_id, "hate_speech": item.hate_speech}) if self.background else None
        shown = PromptContext(
            () if self.examples is None else self.examples.find(item),
            tuple(found.split("\n\n")) if found else (),
        )
        if self.background is not None and not shown.background:
            return shown, NO_BACKGROUND
        return shown, None

    def calls(self, item: Item, shown: PromptContext) -> list[ChatRequest]:
        """Returns one request for each candidate, with different seeds."""
        messages, variables = self.prompt.messages(item, shown)
        sampling = self.decoding.sampling(self.seed or 0)
        return [
            ChatRequest(
                messages,
                # With equal seeds, endpoints would return the same reply for all candidates.
                replace(sampling, seed=None if self.seed is None else self.seed + sample),
                sample=sample,
                variables=variables,
            )
            for sample in range(self.decoding.candidates)
        ]


def check_prompt(prompt: "GenerationPrompt", *, background: bool) -> None:
    """Checks that a prompt has a variable for the background if and only if there is background.

    Raises:
        InputError: The variable or the background is missing.
    """
    shown = "background" in prompt.variables
    if background and not shown:
        raise InputError(
            f"the prompt {prompt.name} shows no background knowledge: choose one with {{{{background}}}}, or give none"
        )
    if shown and not background:
        raise InputError(
            f"the prompt {prompt.name} shows background knowledge, and there is none: give --background FOLDER, or "
            "choose another prompt"
        )


def _messages(prompt: "GenerationPrompt") -> list[dict[str, str]]:
    """Returns the messages with their variables, so that the settings are complete without the prompt file."""
    return [{"role": role, "content": content} for role, content in prompt.prompt.messages]


def default_name(plan: GenerationPlan, format: str | None = None) -> str:
    """Returns the strategy with all settings that differ from its defaults, such as `few-shot-5-examples`.

    The name does not contain the pool of examples.

    Args:
        plan: The plan.
        format: Format that replaces the chat template of the tokenizer; None if it is not replaced.
    """
    parts = [plan.strategy]
    if plan.examples is not None:
        k = plan.examples.configuration.get("k")
        if k != _USUAL or plan.strategy != "few-shot":
            parts.append(f"{k}-{'example' if k == 1 else 'examples'}")
    encoder = None if plan.examples is None else plan.examples.configuration.get("encoder")
    encoder = encoder.get("model") if isinstance(encoder, Mapping) else encoder
    if encoder not in (None, _USUAL_ENCODER):
        parts.append(PurePath(encoder).name)
    if plan.prompt.name != DEFAULT_PROMPTS[plan.strategy]:
        parts.append(plan.prompt.name)
    if format is not None:
        parts.append(PurePath(format).stem)
    if plan.decoding.name != USUAL_DECODING:
        changed = plan.decoding.name.removeprefix(f"{USUAL_DECODING}, ")
        parts.append(re.sub(r"[^\w.=-]+", "-", changed).strip("-"))
    if plan.seed != 0:
        parts.append("no-seed" if plan.seed is None else f"seed-{plan.seed}")
    return "-".join(parts)
