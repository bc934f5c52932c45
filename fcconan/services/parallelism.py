"""Options of services whose work is spread over several machines."""

import re
from typing import TYPE_CHECKING

from fcconan.errors import InputError
from fcconan.services.configuration import Configuration, option

if TYPE_CHECKING:
    from fcconan.parallel import Portion


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
