"""Embeddings from an OpenAI-compatible endpoint."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.models import Client, EndpointError
from fcconan.retrieval.chat import endpoint_errors

Vectors = npt.NDArray[np.float32]
_PATH = "/embeddings"


class RefusedTextError(Exception):
    """The endpoint rejected a batch because of its texts; other texts may still be encoded."""


class OpenAIEncoder:
    """Encoder that requests embeddings from an endpoint.

    Args:
        model: Name of the model at the endpoint.
        client: Client that sends requests and stores responses.
        batch_size: Number of texts in a request, 1 or more.
        dimensions: Length of the vectors, for models that can shorten them; None for the model's default.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-large",
        *,
        client: Client,
        batch_size: int = 64,
        dimensions: int | None = None,
    ) -> None:
        self.name = model
        self.client, self.batch_size, self.dimensions = client, batch_size, dimensions
        self.configuration: dict[str, Any] = {
            "kind": "openai-embeddings",
            "endpoint": client.endpoint,
            "model": model,
            "dimensions": dimensions,
            # Vectors depend slightly on the batch.
            "batch_size": batch_size,
        }
        self._models: set[str] = set()

    def encode(self, texts: Sequence[str], *, role: str) -> Vectors:
        """Encodes texts as 32-bit vectors of length 1; queries and CNs are encoded in the same way.

        Args:
            texts: The texts.
            role: `query` or `document`.

        Returns:
            Vectors of shape (texts, dimensions).

        Raises:
            RefusedTextError: The endpoint rejected a batch of queries; the caller can then send single queries.
            EndpointError: The endpoint rejected a batch of CNs or returned invalid vectors, or no request can be sent.
        """
        batches = [list(texts[start : start + self.batch_size]) for start in range(0, len(texts), self.batch_size)]
        with endpoint_errors():
            answers = self.client.send_all(_PATH, [self._body(batch) for batch in batches], check=_find_error)
        parts = []
        for batch, answer in zip(batches, answers, strict=True):
            if answer.body is None:
                message = f"{self.name} at {self.client.endpoint}: a batch of {len(batch)} texts has no vectors"
                if answer.reason in ("bad_request", "too_long") and role == "query":
                    raise RefusedTextError(f"{message} ({answer.detail})")
                raise EndpointError(
                    f"{message} ({answer.reason}: {answer.detail}): check the endpoint and run again; stored responses "
                    "are reused"
                )
            parts.append(_vectors(answer.body))
            self._models.add(str(answer.body.get("model")))
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise EndpointError(
                f"{self.name} at {self.client.endpoint} returned vectors of {sorted(widths)} dimensions; expected "
                "one length: run again with --fresh"
            )
        if not parts:
            return np.zeros((0, self.dimensions or 0), dtype=np.float32)
        vectors = np.concatenate(parts)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def resolved(self) -> dict[str, Any]:
        """Returns the names of the models in the responses."""
        return {"answered_by": sorted(self._models)}

    def _body(self, batch: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.name, "input": batch, "encoding_format": "float"}
        return body if self.dimensions is None else {**body, "dimensions": self.dimensions}


def _find_error(request: Mapping[str, Any], response: Mapping[str, Any]) -> str | None:
    """Returns a description of the expected response if a response lacks a valid vector for each text."""
    n_texts, dimensions = len(request["input"]), request.get("dimensions")
    try:
        vectors = _vectors(response)
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1)  # infinite for very large finite numbers
        is_usable = (
            sorted(each["index"] for each in response["data"]) == list(range(n_texts))
            and vectors.shape[1] == (dimensions or vectors.shape[1])
            and bool((np.isfinite(lengths) & (lengths > 0)).all())
        )
    except (KeyError, TypeError, ValueError, OverflowError):
        is_usable = False
    size = f"{dimensions} finite numbers" if dimensions else "finite numbers, equally many"
    return None if is_usable else f"expected {n_texts} vectors, indexed from 0, of {size} that are not all 0"


def _vectors(response: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    data = sorted(response["data"], key=lambda each: each["index"])
    vectors = np.array([each["embedding"] for each in data])
    if vectors.dtype.kind not in "fi":  # NumPy would convert strings to numbers
        raise TypeError(f"numbers expected, found {vectors.dtype}")
    return vectors.astype(np.float64)
