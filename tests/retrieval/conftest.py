"""A server of models for systems that send requests."""

from collections.abc import Iterator

import pytest

from tests.models.server import Server, use_key


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    use_key(monkeypatch)
    monkeypatch.setattr("fcconan.models.endpoint.PAUSES", (0.01,))
    with Server() as running:
        yield running
