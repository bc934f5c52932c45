"""Signals and event loops: an exception in the middle of a library's step would leave that library in a bad state."""

import signal
import threading
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PATIENCE = 3  # signals; whoever sends as many does not want to wait for what hangs

_Handler = Callable[[int, FrameType | None], object]


@contextmanager
def signals_held(loop: AbstractEventLoop | None = None) -> Iterator[None]:
    """Holds back Ctrl-C and requests to stop; a loop that runs is stopped between two steps.

    At the end the handlers that were there are called as if the signals came then; at the third, at once. A loop that
    was about to end may be stopped in its next run instead, so whoever runs it must go on. Only the main thread gets
    signals; in others nothing is held.

    Args:
        loop: The loop that runs, or does not, in this thread; None stops nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = {int(each): handler for each in _SIGNALS if callable(handler := signal.getsignal(each))}

    def hold(number: int, frame: FrameType | None) -> None:
        held.append(number)
        if len(held) >= _PATIENCE:
            before[number](number, frame)
        if loop is not None and loop.is_running():
            loop.call_soon_threadsafe(loop.stop)

    try:
        for each in before:
            signal.signal(each, hold)
        yield
    finally:
        _put_back(before)
        for number in dict.fromkeys(held):
            signal.raise_signal(number)


def _put_back(handlers: Mapping[int, _Handler]) -> None:
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    except BaseException:  # one that was back already was called
        _put_back(handlers)
        raise
