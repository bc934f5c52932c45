"""Work divided over processes or a Dask cluster."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from fcconan.errors import InputError


@contextmanager
def open_workers(jobs: int = 1, *, scheduler: str | None = None) -> Iterator[Callable[..., Iterator[Any]]]:
    """Opens workers and yields a function like `map`, whose results are in the order of the tasks.

    Args:
        jobs: Number of processes on this machine; with 1, tasks run in this process.
        scheduler: Address of a Dask scheduler, such as `tcp://10.0.0.1:8786`, whose workers run the tasks.

    Raises:
        InputError: A worker was killed, or Dask is not installed.
    """
    if scheduler is not None:
        try:
            from distributed import Client
        except ImportError as error:
            raise InputError("a Dask cluster needs the extra: `pip install -e '.[cluster]'` in the clone") from error
        with Client(scheduler, set_as_default=False) as client:
            yield client.get_executor(pure=False).map
    elif jobs == 1:
        yield map
    else:
        # Spawned: libraries run threads in this process, and a fork would copy their locks, some of them locked.
        how: dict[str, Any] = {"mp_context": multiprocessing.get_context("spawn"), "initializer": prepare_worker}
        pool = ProcessPoolExecutor(jobs, initargs=(max(1, (os.cpu_count() or 1) // jobs),), **how)
        try:
            yield pool.map
        except BrokenProcessPool as error:
            raise InputError(
                "a worker process was killed: give fewer --jobs, or free memory; in a script, put the call under "
                '`if __name__ == "__main__":`, as each worker imports the script'
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def prepare_worker(threads: int) -> None:
    """Prepares a worker process, which ends with its parent process, also if that is killed.

    Args:
        threads: Number of threads of numerical libraries in the process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent handles it
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # for libraries that are imported later, such as torch
    parent: Any = multiprocessing.parent_process()
    threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
