"""Suites: YAML files that list systems with their whole configuration, and how a system is made from one.

To add a kind of system, add a subclass of `SystemConfig` with a `kind` and a method `make`, and name it in `AnySystem`.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fcconan.data import YamlFile, content_folder, did_you_mean
from fcconan.errors import InputError
from fcconan.retrieval.chat import GPT, Chat, RequestForm
from fcconan.retrieval.dense import Dense, Encoder, SentenceEncoder
from fcconan.retrieval.factories import load_system
from fcconan.retrieval.fusion import Fusion, Method, Norm
from fcconan.retrieval.lexical import BM25, BM25Fast, Random, TfIdf
from fcconan.retrieval.openai_embeddings import OpenAIEncoder
from fcconan.retrieval.propagation import TEMPERATURES, PairPropagation
from fcconan.retrieval.reranking import Reranker, Strategy
from fcconan.retrieval.systems import Retriever, TrainingPair
from fcconan.retrieval.zero_shot import ZeroShot

Temperature = Annotated[float, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EncoderConfig(_Strict):
    """An encoder: a sentence-transformers model, or a model behind an OpenAI-compatible endpoint."""

    model: str = Field(
        description="minilm (packaged), a folder, a name on the Hub, or the endpoint's name of the model."
    )
    endpoint: Literal["local", "openai"] = "local"
    revision: str | None = Field(None, description="Tag, branch or commit of a model on the Hub.")
    batch_size: int = Field(64, ge=1, description="Number of texts in a batch or request.")
    query_prompt: str = Field("", description='Text before every HS, such as "query: ".')
    document_prompt: str = Field("", description='Text before every CN, such as "passage: ".')
    dimensions: int | None = Field(None, description="Length of the vectors, for endpoints that can shorten them.")


class SystemConfig(_Strict):
    """A system of a suite; every kind has its own options."""

    title: str = Field("", description="Name for people.")

    @abstractmethod
    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system.

        Args:
            name: Its name.
            maker: Has the training pairs, and makes encoders, clients and other systems.
        """

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the systems that the system is made of."""
        return ()

    @property
    def calls_endpoint(self) -> bool:
        """Whether the system itself calls a model behind an endpoint."""
        return False

    def _own_values(self) -> dict[str, Any]:
        """Returns the options of this kind, without the encoder, by name."""
        fields = type(self).model_fields.keys() - SystemConfig.model_fields.keys() - {"kind", "encoder"}
        return self.model_dump(include=fields)


class RandomConfig(SystemConfig):
    """Chance."""

    kind: Literal["random"]
    seed: int = 0
    seeds: int = Field(100, ge=1)

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        return Random(name, **self._own_values())


class TfIdfConfig(SystemConfig):
    """TF-IDF, fitted on the training CNs or on the catalogue."""

    kind: Literal["tfidf"]
    fit_on: Literal["training", "catalogue"] = "training"
    options: dict[str, Any] = Field(default_factory=dict)

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        return TfIdf(name, train=maker.train if self.fit_on == "training" else (), options=self.options)


class BM25Config(SystemConfig):
    """BM25 by rank-bm25."""

    kind: Literal["bm25"]
    k1: float = Field(1.5, gt=0)
    b: float = Field(0.75, ge=0, le=1)
    epsilon: float = 0.25
    lowercase: bool = False

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        return BM25(name, **self._own_values())


class BM25FastConfig(SystemConfig):
    """BM25 by bm25s."""

    kind: Literal["bm25-fast"]
    k1: float = Field(1.5, gt=0)
    b: float = Field(0.75, ge=0, le=1)
    method: Literal["lucene", "atire", "bm25+", "bm25l", "robertson"] = "lucene"
    idf_method: Literal["lucene", "atire", "bm25+", "bm25l", "robertson"] | None = None
    tokens: Literal["words", "white space"] = "words"
    stemmer: str | None = None
    stopwords: str | list[str] | None = None

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        return BM25Fast(name, **self._own_values())


class DenseConfig(SystemConfig):
    """Cosine of embeddings."""

    kind: Literal["dense"]
    encoder: EncoderConfig

    @property
    def calls_endpoint(self) -> bool:
        """Whether the encoder is behind an endpoint."""
        return self.encoder.endpoint != "local"

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        return Dense(name, maker.encoder(self.encoder))


class PropagationConfig(SystemConfig):
    """Our own system."""

    kind: Literal["pair-propagation"]
    encoder: EncoderConfig
    temperature: Temperature | None = None
    temperatures: list[Temperature] = Field(default_factory=lambda: list(TEMPERATURES), min_length=1)
    folds: int = Field(5, ge=2)
    repeats: int = Field(5, ge=1)
    seed: int = 0

    @property
    def calls_endpoint(self) -> bool:
        """Whether the encoder is behind an endpoint."""
        return self.encoder.endpoint != "local"

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        return PairPropagation(name, encoder=maker.encoder(self.encoder), train=maker.train, **self._own_values())


class _ChatSystem(SystemConfig):
    model: str = Field(GPT, description="The endpoint's name of the model.")
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int | None = Field(
        None, ge=1, description="Longest answer in tokens; default: no limit, and 4096 with --max-cost."
    )

    @property
    def calls_endpoint(self) -> bool:
        """Always."""
        return True

    def _chat(self, maker: "Maker") -> Chat:
        form = maker.form if self.max_tokens is None else replace(maker.form, max_tokens=self.max_tokens)
        client = maker.client(self.model)
        return Chat(client, model=self.model, temperature=self.temperature, seed=self.seed, form=form)


class ZeroShotConfig(_ChatSystem):
    """A model that picks CNs from the whole catalogue."""

    kind: Literal["zero-shot"]
    n: int = Field(10, ge=1, description="Number of CNs that are requested.")

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        return ZeroShot(name, self._chat(maker), n=self.n)


class RerankConfig(_ChatSystem):
    """A model that re-ranks the first CNs of another system."""

    kind: Literal["rerank"]
    first_stage: str = Field(description="Name of the system whose CNs are re-ranked.")
    top: int = Field(25, ge=2, description="Number of CNs that are re-ranked.")
    strategy: Strategy = "listwise"
    window: int = Field(20, ge=2, description="CNs in a listwise request.")
    step: int = Field(10, ge=1, description="Distance between listwise windows.")

    @property
    def parts(self) -> tuple[str, ...]:
        """The first stage."""
        return (self.first_stage,)

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        first_stage = maker.part(name, self.first_stage)
        windows = {"window": self.window, "step": self.step}
        return Reranker(name, first_stage, self._chat(maker), top=self.top, strategy=self.strategy, **windows)


class FusionConfig(SystemConfig):
    """Several systems fused by ranx."""

    kind: Literal["fusion"]
    systems: list[str] = Field(min_length=2)
    method: Method = "rrf"
    norm: Norm = "min-max"

    @property
    def parts(self) -> tuple[str, ...]:
        """The fused systems."""
        return tuple(self.systems)

    def make(self, name: str, maker: "Maker") -> Retriever:
        """Makes the system."""
        systems = [maker.part(name, part) for part in self.systems]
        return Fusion(name, systems, method=self.method, norm=self.norm)


AnySystem = Annotated[
    RandomConfig
    | TfIdfConfig
    | BM25Config
    | BM25FastConfig
    | DenseConfig
    | PropagationConfig
    | ZeroShotConfig
    | RerankConfig
    | FusionConfig,
    Field(discriminator="kind"),
]


class Suite(_Strict):
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
