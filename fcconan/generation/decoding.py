"""How replies are drawn: settings by name, among them those of the papers."""

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal, get_args

from fcconan.data import YamlFile, content_folder, did_you_mean
from fcconan.errors import InputError
from fcconan.models import Sampling

Pick = Literal["first", "random", "judge"]


@dataclass(frozen=True)
class Decoding:
    """How replies are drawn. None leaves a setting to the model, as in `Sampling`.

    Attributes:
        name: Of the preset, followed by what was changed in it.
        temperature: 0 takes the most likely token.
        top_p: The mass from which tokens are drawn.
        top_k: From how many of the likeliest tokens is drawn.
        max_tokens: The longest reply.
        stop: A reply ends before any of these.
        candidates: How many replies are drawn for a message.
        pick: Which of several becomes the reply: the first one with words, a random one, by the seed, or the one that a
            judge prefers; None for a single one.

    Raises:
        InputError: The settings do not go together.
    """

    name: str
    temperature: float | None = 0.0
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = 512
    stop: tuple[str, ...] = ()
    candidates: int = 1
    pick: Pick | None = None

    def __post_init__(self) -> None:
        self.sampling(0)  # which checks the texts at which a reply ends
        if self.candidates > 1 and self.pick is None:
            raise InputError(
                f"one of {self.candidates} candidates is the reply: say by pick which: {', '.join(get_args(Pick))}"
            )
        if self.candidates > 1 and self.temperature == 0:
            raise InputError(f"{self.candidates} candidates at temperature 0 are all the same: give a higher one, or 1")
        if self.candidates == 1 and self.pick is not None:
            raise InputError(f"a single candidate needs no pick ({self.pick}): ask for several candidates")

    @property
    def configuration(self) -> dict[str, Any]:
        """All settings, as plain values."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"stop": list(self.stop)}

    def sampling(self, seed: int) -> Sampling:
        """Returns how a model is asked to draw.

        Args:
            seed: Of the draw.
        """
        return Sampling(
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            top_p=self.top_p,
            stop=self.stop,
            seed=seed,
            top_k=self.top_k,
        )

    def with_(self, **overrides: Any) -> "Decoding":
        """Returns these settings with others in the place of some; the name says which. One candidate needs no pick.

        Raises:
            InputError: The settings do not go together.
        """
        if "stop" in overrides:
            overrides["stop"] = tuple(overrides["stop"])
        if overrides.get("candidates") == 1:
            overrides.setdefault("pick", None)
        changed = {name: value for name, value in overrides.items() if value != getattr(self, name)}
        said = (f"{name}={list(value) if name == 'stop' else value}" for name, value in changed.items())
        return replace(self, **changed, name=", ".join([self.name, *said]))


def decoding_names() -> list[str]:
    """Returns the names of the presets."""
    return list(_presets())


def load_decoding(name: str) -> Decoding:
    """Returns a preset.

    Raises:
        InputError: There is none of this name.
    """
    presets = _presets()
    if name not in presets:
        hint = did_you_mean(name.lower(), presets)
        raise InputError(f"unknown decoding {name!r}: {hint}known are {', '.join(presets)}")
    return presets[name]


@cache
def _presets() -> dict[str, Decoding]:
    file = YamlFile(content_folder() / "annotations" / "generation" / "decoding.yaml")
    return {
        name: Decoding(name, **{**settings, "stop": tuple(settings.get("stop") or ())})
        for name, settings in file.data.items()
    }
