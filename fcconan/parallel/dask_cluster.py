"""Shards over the workers of a Dask cluster. Dask is optional: `pip install 'fcconan[cluster]'`.

Workers get the number of a shard and write its file themselves, so they must see the folder of the shards under the
same path, and run the same versions. What is sent over the network is a few hundred bytes a shard.
"""

from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

from fcconan.errors import InputError
from fcconan.parallel.shards import Counted, Progress, Shard, Work, finish, killed

_WAIT = 30.0


def run_on_cluster(
    work: Work, shards: Sequence[Shard], scheduler: str, *, progress: Progress | None = None, timeout: float = _WAIT
) -> None:
    """Finishes shards on a Dask cluster; the files are those that `fcconan.parallel.shards.run` writes.

    The shard of a worker that dies is done again by another one.

    Args:
        work: What is done.
        shards: Those that are wanted; finished ones are left as they are.
        scheduler: The address of the scheduler, such as `tcp://10.0.0.1:8786`.
        progress: As in `fcconan.parallel.shards.run`.
        timeout: Seconds in which the scheduler has to answer, and to have a worker.

    Raises:
        InputError: Dask is not installed, no scheduler or no worker is there, a shard cannot be made, or worker after
            worker was killed at one.
    """
    try:
        import distributed
    except ImportError as error:
        raise InputError("a Dask cluster needs the extra: `pip install 'fcconan[cluster]'`") from error
    dask: Any = distributed  # partly typed
    counted = Counted(work, shards, progress)
    if not counted.missing:
        return
    try:
        client = dask.Client(scheduler, timeout=timeout, set_as_default=False)
    except (OSError, ValueError) as error:  # ValueError for an address that is none
        reason = (" ".join(str(error).split()) or type(error).__name__)[:200]
        raise InputError(
            f"no Dask scheduler answers at {scheduler} ({reason}): start one with `dask scheduler` and give its address"
        ) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=timeout)
        except TimeoutError as error:
            raise InputError(
                f"the Dask scheduler at {scheduler} has no workers: start some with `dask worker {scheduler}`"
            ) from error
        # Not pure: a shard whose file was deleted since must not be taken for done.
        futures = {client.submit(finish, work, shard, pure=False): shard for shard in counted.missing}
        try:
            for future in dask.as_completed(list(futures), loop=client.loop):
                shard = futures.pop(future)
                future.result()
                future.release()  # or it would be done again if its worker dies later
                counted.add(shard)
        except dask.KilledWorker as error:
            raise InputError(killed(shard, f"the last one at {error.last_worker.address}")) from error
        except (ImportError, RuntimeError) as error:
            # A scheduler that cannot import what it sends on says no more than that environments differ.
            if isinstance(error, RuntimeError) and "different environments" not in str(error):
                raise
            reason = " ".join(str(error).split())[:100]
            raise InputError(
                f"the Dask scheduler at {scheduler} or a worker lacks what this process has ({reason}): install the "
                "same versions of everything there"
            ) from error
        except CancelledError as error:
            raise InputError(
                f"the Dask scheduler at {scheduler} went away: run the same command again to go on"
            ) from error
        finally:
            with suppress(OSError, CancelledError):  # of a scheduler that is gone
                client.cancel([future for future in futures if not future.done()])
