"""Decoding settings, with named presets that include those of the papers."""

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Literal, get_args

from fcconan.data import YamlFile, content_folder, did_you_mean
from fcconan.errors import InputError
from fcconan.models import Sampling

Selection = Literal["first", "random"]


@dataclass(frozen=True)
class Decoding:
    """Decoding settings. None leaves a setting to the model, as in `Sampling`.

    Attributes:
        name: Name of the preset, followed by the changed settings.
        temperature: Temperature; 0 selects the most likely token.
        top_p: Probability mass of nucleus sampling.
        top_k: Number of most likely tokens to sample from.
        max_tokens: Maximum length of a reply.
        stop: Strings before which a reply ends.
        candidates: Number of candidate replies for each message.
        pick: Selection among several candidates: the first one with a text, or a random one; None for a single
            candidate.

    Raises:
        InputError: The settings are inconsistent.
    """

    name: str
    temperature: float | None = 0.0
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = 512
    stop: tuple[str, ...] = ()
    candidates: int = 1
    pick: Selection | None = None

    def __post_init__(self) -> None:
        self.sampling(0)  # checks the stop strings
        if self.candidates > 1 and self.pick is None:
            raise InputError(
                f"there are {self.candidates} candidates: choose the selection (pick): {', '.join(get_args(Selection))}"
            )
        if self.candidates > 1 and self.temperature == 0:
            raise InputError(f"{self.candidates} candidates at temperature 0 are all the same: give a higher one, or 1")
        if self.candidates == 1 and self.pick is not None:
            raise InputError(f"a single candidate needs no selection ({self.pick}): request several candidates")

    @property
    def configuration(self) -> dict[str, Any]:
        """All settings, as JSON-able values."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"stop": list(self.stop)}

    def sampling(self, seed: int) -> Sampling:
        """Returns the sampling settings of a request.

        Args:
            seed: Seed of the request.
        """
        return Sampling(
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            top_p=self.top_p,
            stop=self.stop,
            seed=seed,
            top_k=self.top_k,
        )

    def override(self, **overrides: Any) -> "Decoding":
        """Returns a copy with some settings changed; the name lists them. A single candidate resets `pick`.

        Raises:
            InputError: The settings are inconsistent.
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
        InputError: The preset is unknown.
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
