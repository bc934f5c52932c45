"""Suites: YAML files with the configurations of systems, and the construction of these systems."""

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

    name: str = Field(description="Short name of the suite.")
    title: str = Field("", description="Title of the suite, for display.")
    primary: str | None = Field(None, description="The primary comparison, as METRIC@PARTITION.")
    systems: dict[str, AnySystem] = Field(description="Configurations of systems by name.")

    def needs_endpoint(self, name: str) -> bool:
        """Returns whether a system calls models behind an endpoint."""
        return name in self.systems and self.systems[name].calls_endpoint


def built_in_suite() -> Path:
    """Returns the path of the built-in suite."""
    return content_folder() / "benchmarks" / "retrieval.yaml"


def system_names() -> list[str]:
    """Returns the names of the built-in systems."""
    return list(YamlFile(built_in_suite()).data["systems"])


def extend_suite(path: Path | None) -> tuple[Suite, list[str]]:
    """Adds the systems of a suite file to the built-in suite; systems of the same name are replaced.

    Args:
        path: Path of the suite file; None for the built-in suite alone.

    Returns:
        The suite, and the names of the systems in the file.

    Raises:
        InputError: The file cannot be read, or a key or value in it is invalid.
    """
    ours = load_suite()
    if path is None:
        return ours, []
    own = load_suite(path)
    return own.model_copy(update={"systems": {**ours.systems, **own.systems}}), list(own.systems)


def load_suite(path: Path | None = None) -> Suite:
    """Reads a suite.

    Args:
        path: Path of the suite file; default: `benchmarks/retrieval.yaml`, the built-in suite.

    Raises:
        InputError: The file cannot be read, or a key or value in it is invalid; the message gives the line.
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
        location = (*first["loc"][:2], *first["loc"][3:])  # pydantic adds the kind of a system to the location
        where = ".".join(map(str, location))
        raise InputError(
            f"{file.path}, line {file.line(location)}: {where}: {first['msg']}: compare with benchmarks/retrieval.yaml"
        ) from error


class SystemFactory:
    """Creates systems from their configurations; systems share encoders and clients, so that texts are encoded once.

    Args:
        suite: Suite with the configurations.
        train: Training pairs of the dataset.
        client: Function that returns the client for the name of a model; called when a system first needs the model.
        device: Device of local models.
        batch_size: Batch size of local models; default: that of the suite.
        form: Form of chat requests; the suite may set a lower limit for the length of responses.
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
        """Creates a system of the suite, or from `module:factory`.

        Raises:
            InputError: The system is unknown or cannot be created.
        """
        if name in self.suite.systems:
            return self.suite.systems[name].make(name, self)
        if ":" in name:
            return load_system(name, self.train)
        hint = did_you_mean(name, self.suite.systems)
        known = ", ".join(self.suite.systems)
        raise InputError(f"unknown system {name!r}: {hint}known are {known}; give your own as module:factory")

    def dense(self, model: str, name: str | None = None) -> Retriever:
        """Creates a dense system from a sentence-transformers model.

        Args:
            model: Folder or Hub name of the model, or `minilm`.
            name: Name of the system; default: the last component of `model`.
        """
        name = name or "".join(letter for letter in Path(model).name if not letter.isspace()) or model
        return Dense(name, self.encoder(EncoderConfig(model=model)))

    def first_stage(self, name: str, stage: str) -> Retriever:
        """Creates the system whose CNs another system re-ranks.

        Args:
            name: Name of the other system.
            stage: Name of the system.

        Raises:
            InputError: The system is unknown, cannot be created, or re-ranks the other system.
        """
        seen: set[str | None] = {name, None}
        found: str | None = stage
        while found not in seen:
            seen.add(found)
            found = getattr(self.suite.systems.get(str(found)), "first_stage", None)
        if found == name:
            raise InputError(f"system {name!r} contains itself through {stage!r}: correct the suite")
        return self.make(stage)

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
            InputError: The maker has no clients.
        """
        if self._make_client is None:
            raise InputError("a system behind an endpoint needs a client: give SystemFactory(client=...)")
        if model not in self._clients:
            self._clients[model] = self._make_client(model)
        return self._clients[model]
