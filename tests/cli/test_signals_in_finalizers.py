"""Signals that come within a finalizer, where Python ignores the exception of their handler."""

import subprocess
import sys

import pytest

PROGRAM = """
import signal, sys, time, weakref
from fcconan import oldcli as cli

class Thing:
    pass

class Finalized:
    def __del__(self):
        signal.raise_signal({signal})

def run(**settings):
    if "{place}" == "finalizer":
        Finalized()
    else:
        thing = Thing()
        reference = weakref.ref(thing, lambda _: signal.raise_signal({signal}))
        del thing
    time.sleep({seconds})
    print("went on")

cli.app = run
cli.main()
"""


@pytest.mark.parametrize("place", ["finalizer", "weak reference"])
@pytest.mark.parametrize(("number", "status"), [("signal.SIGINT", 130), ("signal.SIGTERM", 143)])
def test_a_signal_within_a_finalizer_ends_the_command(number: str, status: int, place: str) -> None:
    program = PROGRAM.format(signal=number, place=place, seconds=600)  # a wait that the signal ends
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith("fcconan: ") and done.stderr.count("\n") == 1


def test_another_error_of_a_finalizer_is_printed_by_python() -> None:
    program = PROGRAM.format(signal="", place="finalizer", seconds=0).replace("signal.raise_signal()", "1 / 0")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "went on\n")
    assert done.stderr.startswith("Exception ignored in: ") and "ZeroDivisionError" in done.stderr
