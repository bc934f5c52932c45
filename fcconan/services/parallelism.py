"""Options of services whose work is spread over processes, a Dask cluster or several machines."""

import re
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError
from fcconan.services.configuration import Configuration, option

if TYPE_CHECKING:
    from fcconan.parallel import Portion, Workers


class Sharding(Configuration):
    """Which portion of the work is done, where several machines share it."""

    shard: str | None = option(
        None,
        help="Do only shard K of N, such as 1/4; several machines share the work in this way.",
        rare=True,
        metavar="K/N",
    )

    @property
    def portion(self) -> "Portion":
        """The portion of the work; all of it by default.

        Raises:
            InputError: It is not K/N, or there are fewer shards than its number.
        """
        from fcconan.parallel import Portion

        if self.shard is None:
            return Portion(1, 1)
        if not re.fullmatch("[0-9]{1,6}/[0-9]{1,6}", self.shard):
            raise InputError(f"shard {self.shard} does not exist: give K/N with K from 1 to N")
        number, count = self.shard.split("/")
        return Portion(int(number), int(count))


class Parallel(Sharding):
    """Where the work is done."""

    jobs: int | None = option(None, help="Processes on this machine; default: 1.", short="-j", metavar="N", ge=1)
    scheduler: str | None = option(
        None, help="Address of a Dask scheduler whose workers do the work.", rare=True, metavar="URL"
    )

    def workers(self, executor: Any = None) -> "AbstractContextManager[Workers]":
        """Opens the workers; see `fcconan.parallel.open_workers`."""
        from fcconan.parallel import open_workers

        return open_workers(self.jobs or 1, scheduler=self.scheduler, executor=executor)
