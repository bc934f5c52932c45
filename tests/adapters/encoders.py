"""Encoders in mteb's sense, whose vectors follow from the texts."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float64]


class VectorEncoder:
    """Asks a subclass for the vector of a text; similarities are products."""

    name = ""

    def __init__(self, model_name: str = "", revision: str | None = None, device: str | None = None) -> None:
        pass

    def vector(self, text: str) -> Vectors:
        raise NotImplementedError

    def encode(self, inputs: Iterable[Any], **arguments: Any) -> Vectors:
        return np.stack([self.vector(text) for batch in inputs for text in batch["text"]])

    def similarity(self, embeddings1: Vectors, embeddings2: Vectors) -> Vectors:
        return np.asarray(np.asarray(embeddings1) @ np.asarray(embeddings2).T)

    def similarity_pairwise(self, embeddings1: Vectors, embeddings2: Vectors) -> Vectors:
        return np.asarray((np.asarray(embeddings1) * np.asarray(embeddings2)).sum(axis=1))

    @property
    def mteb_model_meta(self) -> Any:
        from mteb.models.model_meta import ModelMeta

        return ModelMeta.create_empty(overwrites={"name": f"fcconan-tests/{self.name}", "revision": "1"})
