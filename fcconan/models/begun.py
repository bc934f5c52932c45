"""Results of jobs: those that are there, and those that the thread of a session produces."""

from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

Result = TypeVar("Result")


@dataclass(frozen=True)
class Known(Generic[Result]):
    """A result for which nothing needs to be sent."""

    result: Result


class Begun(Generic[Result]):
    """A result that another thread produces and one thread waits for.

    A signal may come at any step of the waiting. The futures of `concurrent.futures` are no use here: a signal within
    their lock leaves it locked, and then the loop waits for it without end.
    """

    def __init__(self) -> None:
        self._is_done = False
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._gate: SimpleQueue[None] = SimpleQueue()

    def finish(self, result: Result | None = None, error: BaseException | None = None) -> None:
        """Sets the result, or the error, once."""
        self._result, self._error, self._is_done = result, error, True
        self._gate.put(None)

    def done(self) -> bool:
        """Tells whether there is a result or an error."""
        return self._is_done

    def result(self) -> Result:
        """Waits for the result and returns it, or raises the error; a wait that a signal ended may be repeated."""
        if not self._is_done:
            self._gate.get()
        if self._error is not None:
            raise self._error
        return cast("Result", self._result)


def is_done(begun: "Known[Any] | Begun[Any]") -> bool:
    """Tells whether a result is there, so that nobody has to wait for it."""
    return isinstance(begun, Known) or begun.done()
