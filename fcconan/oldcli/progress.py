"""Progress of long commands on standard error: a bar on a terminal, elsewhere a line now and then."""

import sys
import time
from typing import Any

PAUSE = 10.0  # seconds between lines


class CountProgress:
    """Shows how many units of long work are done, as a service reports them.

    Args:
        action: The work, such as `rating`.
    """

    def __init__(self, action: str) -> None:
        self.action = action
        self._bar: Any = None
        self._printed: float | None = None

    def __call__(self, done: int, total: int | None) -> None:
        """Shows numbers of finished units and of all units."""
        if sys.stderr.isatty():
            self._draw(done, total)
            return
        now = time.monotonic()
        if self._printed is None or done == 0:
            self._printed = now
        elif now - self._printed >= PAUSE:
            self._printed = now
            print(f"{self.action}: {done}" + ("" if total is None else f" of {total}"), file=sys.stderr, flush=True)

    def _draw(self, done: int, total: int | None) -> None:
        from tqdm import tqdm

        if self._bar is None:
            self._bar = tqdm(total=total, desc=self.action, leave=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()
        self._bar = self._printed = None
