"""Clients of the models that a run calls: one response cache, one limit of cost, and what is reported at the end."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fcconan.errors import InputError
from fcconan.services.connections import Notices, cache_path, calling, notices_of, run_of, usage_of
from fcconan.services.options import Requests

if TYPE_CHECKING:
    from fcconan.models import Answers, Client, DryClient

_PAUSE = 2.0  # seconds between lines of progress


class EndpointClients:
    """The clients of a run, one for each model.

    Args:
        options: The configuration.
        cache: The default file of the response cache.
        run: Values that tell this run from others: an interrupted run with `--fresh` of the same values goes on.
        progress: Receives the number of responses of a model from time to time.

    Raises:
        InputError: There is a limit of cost and there are no prices.
    """

    def __init__(
        self,
        options: Requests,
        *,
        cache: Path,
        run: Mapping[str, Any],
        progress: Callable[[str], None] = lambda line: None,
    ) -> None:
        from fcconan.models import CostLimit

        if options.max_cost is not None and options.prices is None:
            raise InputError("--max-cost needs --prices FILE, with the price of the model")
        self._options, self._path, self._progress = options, cache_path(options.response_cache or cache), progress
        self._run = run_of("bench", run, options.fresh)
        self._cost_limit = None if options.max_cost is None else CostLimit(options.max_cost)
        self._made: dict[str, Client] = {}

    def answers(self) -> "Answers":
        """Returns the response cache.

        Raises:
            InputError: The file cannot be used.
        """
        return self._run.answers(self._path)

    def client(self, model: str) -> "Client":
        """Returns the client of a model.

        Args:
            model: The endpoint's name of the model.

        Raises:
            InputError: The options do not go together, or there is no price for the model.
        """
        from fcconan.models import Budget, Client, DryClient, load_price

        if model not in self._made:
            options = self._options
            price = None if options.prices is None else load_price(options.prices, model)
            self._made[model] = (DryClient if options.dry_run else Client)(
                **calling(options, self.answers()),
                budget=Budget(self._cost_limit, price),
                progress=_Paced(model, self._progress),
            )
        return self._made[model]

    def dry_run(self) -> list[dict[str, Any]]:
        """Returns what each model would be sent, with its cost if there are prices."""
        made: Mapping[str, DryClient] = self._made  # type: ignore[assignment]
        return [
            client.summary(model, self._options.prices)
            for model, client in made.items()
            if client.unsent or client.answered
        ]

    def used(self) -> list[dict[str, Any]]:
        """Returns what each model was sent in this run; see `usage_of`."""
        return usage_of(self._asked())

    def notices(self) -> Notices:
        """Returns sentences about stored responses."""
        return notices_of(self._asked())

    def _asked(self) -> "list[_Asked]":
        return [_Asked(model, client) for model, client in self._made.items()]

    def finish(self) -> None:
        """Ends the run: the next one with `--fresh` requests everything again."""
        if not self._options.dry_run:
            self._run.finish()

    def close(self) -> None:
        """Closes the response cache."""
        self._run.close()


class _Asked(NamedTuple):
    """A model and its client, as `usage_of` reads them."""

    name: str
    client: "Client"


class _Paced:
    """Passes on the number of responses, at most once in a while."""

    def __init__(self, model: str, progress: Callable[[str], None]) -> None:
        self._model, self._progress, self._last = model, progress, time.monotonic()

    def __call__(self, number: int) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            self._progress(f"{self._model}: {number} responses")
