"""Suites: YAML files that list systems with their whole configuration, and the maker of these systems."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from fcconan.data import YamlFile, content_folder, did_you_mean
from fcconan.errors import InputError
from fcconan.retrieval.chat import RequestForm
from fcconan.retrieval.dense import Dense, Encoder, SentenceEncoder
from fcconan.retrieval.factories import load_system
from fcconan.retrieval.openai_embeddings import OpenAIEncoder
from fcconan.retrieval.system_configs import AnySystem, EncoderConfig, StrictModel
from fcconan.retrieval.systems import Retriever, TrainingPair


class Suite(StrictModel):
    """A suite of retrieval systems."""

    name: str = Field(description="Short name.")
    title: str = Field("", description="Name for people.")
    primary: str | None = Field(None, description="The primary comparison, as METRIC@PARTITION.")
    systems: dict[str, AnySystem] = Field(description="Name of a system: its configuration.")

    def needs_endpoint(self, name: str) -> bool:
        """Returns whether a system, or one that it is made of, calls models behind an endpoint."""
        return any(self.systems[each].calls_endpoint for each in {name, *self.parts(name)} & self.systems.keys())

    def parts(self, name: str) -> set[str]:
        """Returns the systems that a system is made of, and those that these are made of; itself in a circle."""
        found: set[str] = set()
        waiting = {name}
        while waiting:
            config = self.systems.get(waiting.pop())
            parts = set(config.parts) if config is not None else set()
            waiting |= parts - found
            found |= parts
        return found


def built_in_suite() -> Path:
    """Returns the file of the suite of this package."""
    return content_folder() / "benchmarks" / "retrieval.yaml"


def system_names() -> list[str]:
    """Returns the names of the systems of this package."""
    return list(YamlFile(built_in_suite()).data["systems"])


def suite_with(path: Path | None) -> tuple[Suite, list[str]]:
    """Adds the systems of a suite to those of this package; a system of the same name takes the place of ours.

    Args:
        path: The file of the suite; None for the systems of this package alone.

    Returns:
        The suite, and the names of the systems that the file adds.

    Raises:
        InputError: As `load_suite`.
    """
    ours = load_suite()
    if path is None:
        return ours, []
    own = load_suite(path)
    return own.model_copy(update={"systems": {**ours.systems, **own.systems}}), list(own.systems)


def load_suite(path: Path | None = None) -> Suite:
    """Reads a suite; by default `benchmarks/retrieval.yaml`.

    Raises:
        InputError: The file cannot be read, or something in it is not known; the message names the line.
    """
    path = path or built_in_suite()
    try:
        file = YamlFile(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error}): give a suite such as benchmarks/retrieval.yaml") from error
    try:
        return Suite.model_validate(file.data)
    except ValidationError as error:
        first = error.errors()[0]
        location = (*first["loc"][:2], *first["loc"][3:])  # without the kind, which pydantic adds
        where = ".".join(map(str, location))
        raise InputError(
            f"{file.path}, line {file.line(location)}: {where}: {first['msg']}: compare with benchmarks/retrieval.yaml"
        ) from error


class Maker:
    """Makes systems; encoders and clients are shared, so that texts are encoded once.

    Args:
        suite: The suite.
        train: The training pairs of the dataset.
        client: Makes the client of a model behind an endpoint, by its name, when a system first needs it.
        device: Device of local models.
        batch_size: Batch size of local models; by default the suite's.
        form: The form of chat requests; a suite may limit their answers further.
    """

    def __init__(
        self,
        suite: Suite,
        train: Sequence[TrainingPair],
        *,
        client: Callable[[str], Any] | None = None,
        device: str | None = None,
        batch_size: int | None = None,
        form: RequestForm | None = None,
    ) -> None:
        self.suite, self.train, self.device, self.batch_size = suite, tuple(train), device, batch_size
        self._make_client, self.form = client, form or RequestForm()
        self._clients: dict[str, Any] = {}
        self._encoders: dict[EncoderConfig, Encoder] = {}

    def make(self, name: str) -> Retriever:
        """Makes a system: one of the suite, or `module:factory`.

        Raises:
            InputError: There is no such system, or it cannot be made.
        """
        if name in self.suite.systems:
            return self.suite.systems[name].make(name, self)
        if ":" in name:
            return load_system(name, self.train)
        hint = did_you_mean(name, self.suite.systems)
        known = ", ".join(self.suite.systems)
        raise InputError(f"unknown system {name!r}: {hint}known are {known}; your own is module:factory")

    def dense(self, model: str, name: str | None = None) -> Retriever:
        """Makes a dense system from the name or folder of a sentence-transformers model, by default named like it."""
        name = name or "".join(letter for letter in Path(model).name if not letter.isspace()) or model
        return Dense(name, self.encoder(EncoderConfig(model=model)))

    def part(self, name: str, part: str) -> Retriever:
        """Makes a system that another one is made of.

        Raises:
            InputError: There is no such system, it cannot be made, or it is made of the other one.
        """
        if name in {part, *self.suite.parts(part)}:
            raise InputError(f"system {name!r} is made of {part!r}, which is made of it again: correct the suite")
        return self.make(part)

    def encoder(self, config: EncoderConfig) -> Encoder:
        """Returns an encoder; systems with the same configuration share it."""
        if config not in self._encoders:
            self._encoders[config] = self._make_encoder(config)
        return self._encoders[config]

    def _make_encoder(self, config: EncoderConfig) -> Encoder:
        if config.endpoint == "local":
            values = config.model_dump(exclude={"model", "endpoint", "dimensions"})
            values["batch_size"] = self.batch_size or config.batch_size
            return SentenceEncoder(config.model, device=self.device, **values)
        client, size = self.client(config.model), config.batch_size
        return OpenAIEncoder(config.model, client=client, batch_size=size, dimensions=config.dimensions)

    def client(self, model: str) -> Any:
        """Returns the client of a model behind an endpoint.

        Raises:
            InputError: No clients can be made.
        """
        if self._make_client is None:
            raise InputError("a system behind an endpoint was asked for and no client was given")
        if model not in self._clients:
            self._clients[model] = self._make_client(model)
        return self._clients[model]
