"""Embeddings from an OpenAI-compatible endpoint."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fcconan.models import EndpointError, EndpointModel
from fcconan.retrieval.dense import QUERY, CachedEncoder

EMBEDDINGS = "text-embedding-3-large"


class OpenAIEncoder(CachedEncoder):
    """Encoder that requests embeddings from an endpoint; queries and CNs are encoded in the same way.

    Args:
        model: Model of an endpoint.
        batch_size: Number of texts in a request, 1 or more.
        dimensions: Length of the vectors, for models that can shorten them; None for the model's default.
    """

    def __init__(
        self,
        model: EndpointModel,
        *,
        batch_size: int = 64,
        dimensions: int | None = None,
    ) -> None:
        super().__init__()
        self.name, self.model, self.batch_size = model.name, model, batch_size
        self.configuration = {"model": model.name} | ({} if dimensions is None else {"dimensions": dimensions})

    def encode_new(self, texts: list[str], role: str) -> npt.ArrayLike:
        """Returns vectors of length 1.

        Raises:
            ValueError: The endpoint rejected a batch of queries; the caller can then send single queries.
            EndpointError: The endpoint rejected a batch of CNs, or no request can be sent.
        """
        batches = [texts[start : start + self.batch_size] for start in range(0, len(texts), self.batch_size)]
        bodies = [{**self.configuration, "input": each, "encoding_format": "float"} for each in batches]
        answers = self.model.embeddings(bodies, _check)
        for answer in answers:
            if answer.body is None:
                message = f"{self.name} gives no vectors ({answer.reason}: {answer.detail})"
                if role == QUERY and answer.reason in ("bad_request", "too_long"):
                    raise ValueError(message)
                raise EndpointError(f"{message}: check the endpoint and run again; stored responses are reused")
        vectors = np.concatenate([_vectors(answer.body) for answer in answers if answer.body is not None])
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _check(request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
    """Checks that a response has a vector for each text.

    Raises:
        ValueError: It has not, or a vector is not finite or all 0.
    """
    n = len(request["input"])
    try:
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(_vectors(response), axis=1)  # infinite for very large finite numbers
    except (KeyError, TypeError, ValueError, OverflowError):
        lengths = np.empty(0)
    if len(lengths) != n or not (np.isfinite(lengths) & (lengths > 0)).all():
        raise ValueError(f"expected {n} vectors of finite numbers that are not all 0")


def _vectors(response: Mapping[str, Any]) -> npt.NDArray[np.float64]:
    data = sorted(response["data"], key=lambda each: each["index"])
    return np.array([each["embedding"] for each in data], dtype=np.float64)
