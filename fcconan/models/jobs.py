"""Jobs of a client: results that are known, and work that sends requests."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from fcconan.models.requests import Request
from fcconan.models.responses import Answer

Result = TypeVar("Result")
# Called with a request and its response; returns the fault of the response's shape, or None.
Check = Callable[[Mapping[str, Any], Mapping[str, Any]], str | None]


@dataclass(frozen=True)
class Known(Generic[Result]):
    """A result for which nothing needs to be sent."""

    result: Result


class Sender(Protocol):
    """Sends the requests of a job."""

    async def send(self, request: Request, check: Check | None = None) -> Answer:
        """Returns the answer to a request, from the store or the endpoint."""
        ...


Job = Callable[[Sender], Coroutine[Any, Any, Result]]
