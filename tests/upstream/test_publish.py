"""The real FC-CONAN against a stand-in for the Hub: labels for everybody, texts behind a gate only."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fcconan.build import build
from fcconan.errors import InputError
from fcconan.publish import publish
from tests.publish.hub import Hub, connect

pytestmark = pytest.mark.upstream
CARD_SAYS = "This folder holds ids, hashes, labels and figures, and no text"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as hub:
        connect(monkeypatch, hub)
        yield hub


def test_fc_conan_is_published_without_a_text_or_behind_a_gate(
    mirror: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcconan.publish.loading.check_loading", lambda contents: None)
    labels = build("fc-conan", tmp_path / "labels", labels_only=True).folder
    full = build("fc-conan", tmp_path / "full").folder
    texts = {
        text
        for config in ("corpus", "queries")
        for text in pq.read_table(full / config / "test-00000-of-00001.parquet")["text"].to_pylist()
    }
    assert len(texts) > 100

    publish(labels, "my-name/fc-conan")
    received = b"\n".join(hub.received())
    assert not [text for text in texts if text.encode() in received or json.dumps(text)[1:-1].encode() in received]
    assert CARD_SAYS in hub.repos["my-name/fc-conan"].files["README.md"].decode()

    hub.log.clear()
    with pytest.raises(InputError, match="fc-conan holds text that may not be passed on"):
        publish(full, "my-name/fc-conan")
    with pytest.raises(InputError, match="is public and not gated"):
        publish(full, "my-name/fc-conan", may_redistribute=True)
    assert hub.lines(writing=True) == []
    # The card, which everybody may read, quotes none of the texts; the tables hold them.
    publish(full, "my-name/full", may_redistribute=True, gated="manual")
    files = hub.repos["my-name/full"].files
    assert not [text for text in texts if len(text) > 20 and text in files["README.md"].decode()]
    assert files["gold/test-00000-of-00001.parquet"] == (full / "gold/test-00000-of-00001.parquet").read_bytes()
    assert hub.repos["my-name/full"].gated == "manual"
