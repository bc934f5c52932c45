"""Clients of the models that a benchmark calls, one for each model, and the summary of their requests."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fcconan.services.connections import Connection, Notices, notices_of, usage_of

if TYPE_CHECKING:
    from fcconan.models import Client, EndpointModel

_PAUSE = 2.0  # seconds between lines of progress


class EndpointClients:
    """The clients of a run, one for each model.

    Args:
        connection: Makes the clients.
        progress: Receives the number of responses of a model from time to time.
    """

    def __init__(self, connection: Connection, progress: Callable[[str], None]) -> None:
        self._connection, self._progress = connection, progress
        self._models: dict[str, EndpointModel] = {}

    def client(self, model: str) -> "Client":
        """Returns the client of a model.

        Args:
            model: The endpoint's name of the model.

        Raises:
            InputError: The options do not go together, or there is no price for the model.
        """
        from fcconan.models import Client, DryClient, EndpointModel

        if model not in self._models:
            kind = DryClient if self._connection.options.dry_run else Client
            client = self._connection.client_of(model, kind, progress=_Paced(model, self._progress))
            self._models[model] = EndpointModel(client, model)
        return self._models[model].client

    def dry_run(self) -> list[dict[str, Any]]:
        """Returns the requests of each model, with their cost if there are prices; nothing is sent."""
        clients: dict[str, Any] = {name: model.client for name, model in self._models.items()}
        return [
            client.summary(name, self._connection.options.prices)
            for name, client in clients.items()
            if client.unsent or client.answered
        ]

    def used(self) -> list[dict[str, Any]]:
        """Returns the sent requests of each model in this run; see `usage_of`."""
        return usage_of(self._models.values())

    def notices(self) -> Notices:
        """Returns sentences about stored responses."""
        return notices_of(self._models.values())


class _Paced:
    """Passes on the number of responses, at most once in a while."""

    def __init__(self, model: str, progress: Callable[[str], None]) -> None:
        self._model, self._progress, self._last = model, progress, time.monotonic()

    def __call__(self, number: int) -> None:
        now = time.monotonic()
        if now - self._last >= _PAUSE:
            self._last = now
            self._progress(f"{self._model}: {number} responses")
