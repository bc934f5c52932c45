"""Waiting for results: a signal at any step of it leaves them usable."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fcconan.models.begun import Begun


def is_interrupted(step: int, work: Callable[[], object]) -> bool:
    """Runs work, raising KeyboardInterrupt at a step of it; tells whether there were so many steps."""
    steps = 0

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal steps
        steps += 1
        if steps == step:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize(("wait", "finished"), [("done", False), ("done", True), ("result", True)])
def test_a_signal_at_any_step_of_a_wait_leaves_the_result(wait: str, finished: bool) -> None:
    step, goes_on = 0, True
    while goes_on:
        step += 1
        begun: Begun[str] = Begun()
        finishing = threading.Thread(target=begun.finish, args=("result",), daemon=True)
        if finished:
            finishing.start()
            finishing.join(10)
        goes_on = is_interrupted(step, getattr(begun, wait))
        if not finished:
            finishing.start()
            finishing.join(10)
        assert not finishing.is_alive()  # a lock that the signal left locked would stop it
        assert (begun.done(), begun.result(), begun.result()) == (True, "result", "result")
    assert step > 3


def test_the_error_of_another_thread_is_raised() -> None:
    begun: Begun[str] = Begun()
    threading.Timer(0.01, begun.finish, kwargs={"error": KeyError("gone")}).start()
    with pytest.raises(KeyError, match="gone"):
        begun.result()
