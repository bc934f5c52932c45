"""Configurations of the kinds of retrieval systems in suites.

To add a kind of system, add a subclass of `SystemConfig` with a `kind` and a method `make`, and add it to `AnySystem`.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from fcconan.retrieval.chat import GPT, Chat, RequestForm
from fcconan.retrieval.dense import Dense, Encoder
from fcconan.retrieval.label_systems import LongestFirst, Popularity, Supervised
from fcconan.retrieval.lexical import BM25, BM25Fast, Random, TfIdf
from fcconan.retrieval.reranking import Reranker
from fcconan.retrieval.systems import Retriever, TrainingPair
from fcconan.retrieval.zero_shot import ZeroShot


class StrictModel(BaseModel):
    """Base class of the parts of a suite; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class EncoderConfig(StrictModel):
    """An encoder: a sentence-transformers model, or a model behind an OpenAI-compatible endpoint."""

    model: str = Field(
        description="minilm (packaged), a folder, a name on the Hub, or the name of the model at the endpoint."
    )
    endpoint: Literal["local", "openai"] = "local"
    revision: str | None = Field(None, description="Tag, branch or commit of a model on the Hub.")
    batch_size: int = Field(64, ge=1, description="Number of texts in a batch or request.")
    query_prompt: str = Field("", description='Text before every HS, such as "query: ".')
    document_prompt: str = Field("", description='Text before every CN, such as "passage: ".')
    dimensions: int | None = Field(None, description="Length of the vectors, for endpoints that can shorten them.")


class SystemMaker(Protocol):
    """Interface of `fcconan.retrieval.suites.SystemFactory`, which creates systems."""

    train: tuple[TrainingPair, ...]
    form: RequestForm

    def first_stage(self, name: str, stage: str) -> Retriever:
        """Creates the system whose CNs another system re-ranks."""

    def encoder(self, config: EncoderConfig) -> Encoder:
        """Returns an encoder, which systems with the same configuration share."""

    def client(self, model: str) -> Any:
        """Returns the client of a model behind an endpoint."""


class SystemConfig(StrictModel):
    """Configuration of a system in a suite."""

    title: str = Field("", description="Title of the system, for display.")

    @abstractmethod
    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system.

        Args:
            name: Name of the system.
            maker: Source of training pairs, encoders, clients and other systems.
        """

    @property
    def calls_endpoint(self) -> bool:
        """Whether the system calls a model behind an endpoint."""
        return False

    def _own_values(self) -> dict[str, Any]:
        """Returns the options of this kind, without the encoder, by name."""
        fields = type(self).model_fields.keys() - SystemConfig.model_fields.keys() - {"kind", "encoder"}
        return self.model_dump(include=fields)


class RandomConfig(SystemConfig):
    """Random rankings."""

    kind: Literal["random"]
    seed: int = 0
    seeds: int = Field(100, ge=1)

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        return Random(name, **self._own_values())


class TfIdfConfig(SystemConfig):
    """TF-IDF, fitted on the training CNs or on the catalogue."""

    kind: Literal["tfidf"]
    fit_on: Literal["training", "catalogue"] = "training"
    options: dict[str, Any] = Field(default_factory=dict)

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        return TfIdf(name, train=maker.train if self.fit_on == "training" else (), options=self.options)


class BM25Config(SystemConfig):
    """BM25 by rank-bm25."""

    kind: Literal["bm25"]
    k1: float = Field(1.5, gt=0)
    b: float = Field(0.75, ge=0, le=1)
    epsilon: float = 0.25
    lowercase: bool = False

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
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

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        return BM25Fast(name, **self._own_values())


class LongestConfig(SystemConfig):
    """CNs by length, longest first; identical for all HS."""

    kind: Literal["longest"]

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        return LongestFirst(name)


class PopularityConfig(SystemConfig):
    """CNs by their share of positives for other HS; identical for all HS."""

    kind: Literal["popularity"]
    positives: float = Field(1.0, gt=0, description="Positives added to every CN.")
    judged: float = Field(6.0, gt=0, description="Labels added to every CN.")

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        return Popularity(name, **self._own_values())


class SupervisedConfig(SystemConfig):
    """Logistic regression on similarity, popularity and labels of similar HS."""

    kind: Literal["supervised"]
    encoder: EncoderConfig
    temperature: float = Field(0.1, gt=0)
    prior: float = Field(3.0, gt=0, description="Number of added labels, with the overall share of positives.")
    C: float = Field(1.0, gt=0, description="Inverse strength of the L2 penalty.")

    @property
    def calls_endpoint(self) -> bool:
        """Whether the encoder is behind an endpoint."""
        return self.encoder.endpoint != "local"

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        return Supervised(name, encoder=maker.encoder(self.encoder), **self._own_values())


class DenseConfig(SystemConfig):
    """Cosine of embeddings."""

    kind: Literal["dense"]
    encoder: EncoderConfig

    @property
    def calls_endpoint(self) -> bool:
        """Whether the encoder is behind an endpoint."""
        return self.encoder.endpoint != "local"

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        return Dense(name, maker.encoder(self.encoder))


class _ChatSystem(SystemConfig):
    model: str = Field(GPT, description="Name of the model at the endpoint.")
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int | None = Field(
        None, ge=1, description="Maximum length of a response in tokens; default: no limit, or 4096 with --max-cost."
    )

    @property
    def calls_endpoint(self) -> bool:
        """Always true."""
        return True

    def _chat(self, maker: SystemMaker) -> Chat:
        form = maker.form if self.max_tokens is None else replace(maker.form, max_tokens=self.max_tokens)
        client = maker.client(self.model)
        return Chat(client, model=self.model, temperature=self.temperature, seed=self.seed, form=form)


class ZeroShotConfig(_ChatSystem):
    """Chat model that chooses CNs from the whole catalogue."""

    kind: Literal["zero-shot"]
    n: int = Field(10, ge=1, description="Number of requested CNs.")

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        return ZeroShot(name, self._chat(maker), n=self.n)


class RerankConfig(_ChatSystem):
    """Chat model that re-ranks the first CNs of another system."""

    kind: Literal["rerank"]
    first_stage: str = Field(description="Name of the system whose CNs are re-ranked.")
    top: int = Field(25, ge=2, description="Number of CNs that are re-ranked.")
    window: int = Field(20, ge=2, description="Number of CNs in a request.")
    step: int = Field(10, ge=1, description="Distance between windows.")

    def make(self, name: str, maker: SystemMaker) -> Retriever:
        """Creates the system."""
        first_stage = maker.first_stage(name, self.first_stage)
        return Reranker(name, first_stage, self._chat(maker), top=self.top, window=self.window, step=self.step)


AnySystem = Annotated[
    RandomConfig
    | TfIdfConfig
    | BM25Config
    | BM25FastConfig
    | LongestConfig
    | PopularityConfig
    | SupervisedConfig
    | DenseConfig
    | ZeroShotConfig
    | RerankConfig,
    Field(discriminator="kind"),
]
