"""Tasks over workers: processes of this machine, a Dask cluster, or any other executor of `concurrent.futures`.

The number of tasks in flight is bounded, so memory does not grow with the number of tasks. If a worker process is
killed, its task is repeated; the other tasks continue. Dask is optional: `pip install 'fcconan[cluster]'`.
"""

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from fcconan.errors import InputError

MOST_DEATHS = 3  # killed workers at one task, after which the task is assumed to be the cause
_WAIT = 30.0  # seconds until a scheduler must have answered, and until it must have a worker
IN_FLIGHT = 64  # tasks of an executor whose number of workers is unknown
_PER_THREAD = 2  # tasks in flight per thread of a cluster: one runs while the other is sent
_EXECUTOR = "give a concurrent.futures.Executor, such as ProcessPoolExecutor(2), or a Dask client"
_SHUT_DOWN = f"executor is shut down: {_EXECUTOR}"
_NOT_BEGUN = (
    f"{MOST_DEATHS} worker processes ended before their first task: put the calls of a script under "
    '`if __name__ == "__main__":`, as each worker imports the script; otherwise check the free memory'
)
Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


class _Process(Executor):
    """One worker process, which starts with its first task.

    A pool of several processes ends all of them when one is killed; so each slot has a pool of its own.

    Args:
        threads: Number of threads of numerical libraries in the process.
    """

    def __init__(self, threads: int) -> None:
        # Spawned: libraries run threads in this process, and a fork would copy their locks, some of them locked.
        context = multiprocessing.get_context("spawn")
        # The worker sends one value when it starts. This process sends nothing; closing the pipe ends the worker.
        watched, self._lifeline = context.Pipe()
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=(watched, threads))

    def submit(self, function: Callable[..., Outcome], /, *args: Any, **options: Any) -> "Future[Outcome]":
        """Starts a task."""
        return self._pool.submit(function, *args, **options)

    @property
    def has_begun(self) -> bool:
        """Whether the process has started its first task."""
        return self._lifeline.poll()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the process, also in the middle of a task."""
        self._lifeline.close()
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def _begin(lifeline: Connection, threads: int) -> None:
    """Prepares a worker process, which ends when the parent process closes the other end of the pipe, or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent handles it
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # for libraries that are imported later, such as torch
    with suppress(OSError):  # the other end may be closed already
        lifeline.send(True)

    def end() -> None:
        lifeline.poll(None)  # returns only when the other end is closed
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


class Workers:
    """Runs tasks over executors; created by `open_workers`.

    Args:
        slots: Executors, each of which gets one task at a time. If the list is empty, tasks run in this process.
    """

    def __init__(self, slots: list[Executor]) -> None:
        self._slots = slots

    def map(self, function: Callable[[Task], Outcome], tasks: Iterable[Task]) -> Iterator[tuple[int, Outcome]]:
        """Runs a function on each task.

        Args:
            function: A picklable function, such as a function of a module or a `functools.partial` of one.
            tasks: Arguments of the function, one for each task; read when they are needed.

        Yields:
            Number (from 0) and result of each task, in the order in which tasks end.

        Raises:
            InputError: Several workers were killed at one task or before their first task, or the executor is shut
                down. Errors of tasks are raised unchanged.
        """
        waiting: Iterator[tuple[int, Task]] = iter(enumerate(tasks))
        if not self._slots:
            yield from ((number, function(task)) for number, task in waiting)
            return
        free = list(range(len(self._slots)))
        running: dict[Future[Outcome], tuple[int, int, Task]] = {}
        deaths: Counter[int] = Counter()
        try:
            while True:
                while free and (entry := next(waiting, None)) is not None:
                    place = free.pop()
                    running[_submitted(self._slots[place], function, entry[1])] = (place, *entry)
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    place, number, task = running.pop(future)
                    try:
                        outcome = future.result()
                    except BrokenProcessPool as error:
                        deaths[number] += 1
                        slot = self._slots[place]
                        has_begun = not isinstance(slot, _Process) or slot.has_begun
                        if deaths[number] == MOST_DEATHS or not self._renewed(place):
                            raise InputError(_killed(number) if has_begun else _NOT_BEGUN) from error
                        waiting = chain([(number, task)], waiting)
                    except Exception as error:
                        if type(error).__name__ == "KilledWorker":  # an error of Dask, which has retried the task
                            raise InputError(_killed(number)) from error
                        raise
                    else:
                        yield number, outcome
                    free.append(place)
        finally:
            for future in running:
                future.cancel()

    def _renewed(self, place: int) -> bool:
        """Replaces a killed process; returns False if the executor belongs to the caller."""
        if not isinstance(self._slots[place], _Process):
            return False
        self._slots[place].shutdown()
        self._slots[place] = _Process(_threads(len(self._slots)))
        return True

    def close(self) -> None:
        """Ends the processes that this object started."""
        for slot in self._slots:
            if isinstance(slot, _Process):
                slot.shutdown(cancel_futures=True)


def _submitted(slot: Executor, function: Callable[[Task], Outcome], task: Task) -> "Future[Outcome]":
    """Submits a task to an executor.

    Raises:
        InputError: The executor is shut down.
    """
    try:
        return slot.submit(function, task)
    except RuntimeError as error:
        if "after shutdown" not in str(error):
            raise
        raise InputError(_SHUT_DOWN) from error


def _threads(processes: int) -> int:
    return max(1, (os.cpu_count() or 1) // processes)


def _killed(number: int) -> str:
    return (
        f"part {number + 1}: {MOST_DEATHS} workers were killed at it: check the free memory, and run the same command "
        "again with fewer workers"
    )


@contextmanager
def open_workers(jobs: int = 1, *, scheduler: str | None = None, executor: Any = None) -> Iterator[Workers]:
    """Opens workers; at the end of the context, ends the processes that it started.

    Args:
        jobs: Number of processes on this machine; with 1, tasks run in this process.
        scheduler: Address of a Dask scheduler, such as `tcp://10.0.0.1:8786`, whose workers run the tasks.
        executor: A `concurrent.futures.Executor` or a Dask client that runs the tasks; it is not closed.

    Raises:
        InputError: More than one of these is given; the executor has another type or is shut down; the scheduler does
            not answer or has no workers; or the connection to it is lost.
    """
    given = {"--jobs": jobs > 1, "--scheduler": scheduler is not None, "executor": executor is not None}
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise InputError(f"{' and '.join(names)} exclude each other: give one of them")
    is_client = hasattr(executor, "get_executor") and not isinstance(executor, type)
    if executor is not None and not (is_client or isinstance(executor, Executor)):
        raise InputError(f"executor is of the type {type(executor).__name__}: {_EXECUTOR}")
    if is_client and executor.status == "closed":
        raise InputError(_SHUT_DOWN)
    with ExitStack() as stack:
        if scheduler is not None:
            executor = stack.enter_context(_connected(scheduler))
        slots: list[Executor] = []
        if hasattr(executor, "get_executor"):
            # Not pure: Dask would skip a repeated task, although its file may have been deleted.
            slots = [executor.get_executor(pure=False)] * (_PER_THREAD * sum(executor.nthreads().values()))
        elif executor is not None:
            slots = [executor] * IN_FLIGHT
        elif jobs > 1:
            slots = [_Process(_threads(jobs)) for _ in range(jobs)]
        workers = Workers(slots)
        stack.callback(workers.close)
        yield workers


@contextmanager
def _connected(scheduler: str) -> Iterator[Any]:
    """Connects to a Dask cluster.

    Raises:
        InputError: Dask is not installed, the scheduler does not answer or has no workers, or the connection is lost.
    """
    try:
        import distributed
    except ImportError as error:
        raise InputError("a Dask cluster needs the extra: `pip install 'fcconan[cluster]'`") from error
    dask: Any = distributed  # partly typed
    try:
        client = dask.Client(scheduler, timeout=_WAIT, set_as_default=False)
    except (OSError, ValueError) as error:  # ValueError: the text is not an address
        reason = (" ".join(str(error).split()) or type(error).__name__)[:200]
        raise InputError(
            f"no Dask scheduler answers at {scheduler} ({reason}): start one with `dask scheduler` and give its address"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_WAIT)
            yield client
        except TimeoutError as error:
            raise InputError(
                f"the Dask scheduler at {scheduler} has no workers: start some with `dask worker {scheduler}`"
            ) from error
        except (ImportError, RuntimeError) as error:
            # A scheduler that cannot import a function reports only that environments differ.
            if isinstance(error, RuntimeError) and "different environments" not in str(error):
                raise
            reason = " ".join(str(error).split())[:100]
            raise InputError(
                f"the Dask scheduler at {scheduler} or a worker lacks a module of this process ({reason}): install the "
                "same versions of everything there"
            ) from error
        except CancelledError as error:
            raise InputError(
                f"the connection to the Dask scheduler at {scheduler} is lost: run the same command again to continue"
            ) from error
