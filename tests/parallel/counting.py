"""Functions of tasks, which worker processes import."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fcconan.errors import InputError


def squared(number: int) -> int:
    """The square; 13 is refused, and 14 has a fault."""
    if number == 13:
        raise InputError("the number 13 is odd: make it even")
    if number == 14:
        raise ZeroDivisionError("a fault")
    return number * number


@dataclass(frozen=True)
class Killed:
    """Squares numbers; its worker is killed at one of them: once, or every time.

    Attributes:
        folder: Folder of a mark and of the log of all calls.
        at: The number.
        always: Whether every worker is killed.
    """

    folder: Path
    at: int
    always: bool = False

    def __call__(self, number: int) -> int:
        with (self.folder / "log").open("a") as file:
            file.write(f"{number}\n")
        mark = self.folder / "killed"
        if number == self.at and (self.always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number


class Unknown:
    """A function of a module that only the first process has."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return import_module, ("a_module_of_the_first_process",)

    def __call__(self, number: int) -> int:
        raise AssertionError("it cannot come this far")


def pid_of(number: int) -> int:
    """The process, after enough time for others to take a task."""
    time.sleep(0.2)
    return os.getpid()


def pid_then_sleep(note: str) -> None:
    """Notes the process and works for longer than any test; without a note, it does nothing."""
    if not note:
        return
    Path(note).write_text(str(os.getpid()))
    time.sleep(600)
