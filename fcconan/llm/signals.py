"""Signals and event loops: an exception in the middle of a library's step would leave that library in a bad state."""

import signal
import threading
from asyncio import AbstractEventLoop
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_held(loop: AbstractEventLoop) -> Iterator[None]:
    """Holds back Ctrl-C and requests to stop; a loop that runs is stopped between two steps.

    At the end the handlers that were there are called as if the first of the signals came then. A loop that was about
    to end may be stopped in its next run instead, so whoever runs it must go on. Only the main thread gets signals; in
    others nothing is held.

    Args:
        loop: The loop that runs, or does not, in this thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)
        if loop.is_running():
            loop.call_soon_threadsafe(loop.stop)

    before = {each: handler for each in _SIGNALS if callable(handler := signal.getsignal(each))}
    try:
        for each in before:
            signal.signal(each, hold)
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        if held:
            signal.raise_signal(held[0])
