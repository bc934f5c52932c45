"""Jobs of a client: known results, and coroutines that send requests."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from fcconan.models.requests import Request
from fcconan.models.responses import EndpointResponse

Result = TypeVar("Result")
# Function of a request and its response that returns an error in the response's shape, or None.
Check = Callable[[Mapping[str, Any], Mapping[str, Any]], str | None]


@dataclass(frozen=True)
class KnownResult(Generic[Result]):
    """A result that needs no request."""

    result: Result


class Sender(Protocol):
    """Sends the requests of a job."""

    async def send(self, request: Request, check: Check | None = None) -> EndpointResponse:
        """Returns the answer to a request, from the store or the endpoint."""
        ...


Job = Callable[[Sender], Coroutine[Any, Any, Result]]
