"""The real datasets against a stub of the Hub: labels for everyone, texts behind a gate only."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fcconan import publish
from fcconan.building import find_quotation
from fcconan.data import recipe_names
from fcconan.errors import InputError
from tests.publishing.hub import Hub, connect
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream
WRITTEN: dict[str, Callable[[str], str]] = {
    "underscores": lambda text: text.replace(" ", "_"),
    "hyphens": lambda text: text.replace(" ", "-").rstrip("."),
    "joined": lambda text: text.replace(" ", ""),
    "camel": lambda text: text.title().replace(" ", ""),
    "upper": lambda text: text.upper().replace(" ", "_"),
    "slash": lambda text: text.replace(" ", "/"),
    "commas": lambda text: ",".join(text.split()),
    "semicolons": lambda text: "; ".join(text.split()),
    "no-break": lambda text: text.replace(" ", "\u00a0"),
    "line": lambda text: f"They say:\n> {text}\n",
    "quoted": lambda text: f"They say “{text}” here.",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as hub:
        connect(monkeypatch, hub)
        yield hub


@pytest.mark.long
def test_fc_conan_is_published_without_a_text_or_behind_a_gate(mirror: Path, hub: Hub, release: Release) -> None:
    labels, full = (str(release("fc-conan", labels_only=each)) for each in (True, False))
    tables = [Path(full) / config / "test-00000-of-00001.parquet" for config in ("corpus", "queries")]
    texts = {text for table in tables for text in pq.read_table(table)["text"].to_pylist()}
    assert len(texts) > 100
    publish(labels, "my-name/fc-conan")
    received = b"\n".join(hub.received())
    assert not [text for text in texts if text.encode() in received or json.dumps(text)[1:-1].encode() in received]
    hub.log.clear()
    with pytest.raises(InputError, match="fc-conan contains text that must not be redistributed"):
        publish(full, "my-name/fc-conan")
    with pytest.raises(InputError, match="is public and not gated"):
        publish(full, "my-name/fc-conan", may_redistribute=True)
    assert hub.lines(writing=True) == []
    publish(full, "my-name/full", may_redistribute=True, gated="manual")
    files = hub.repos["my-name/full"].files
    assert not [text for text in texts if len(text) > 20 and text in files["README.md"].decode()]
    assert files["corpus/test-00000-of-00001.parquet"] == tables[0].read_bytes()
    assert hub.repos["my-name/full"].gated == "manual"


@pytest.mark.parametrize("writing", WRITTEN)
def test_every_message_is_found_however_short(mirror: Path, release: Release, writing: str) -> None:
    """Counts only: a failing test must not print texts of the source files."""
    table = pq.read_table(release("mt-conan") / "pairs" / "train-00000-of-00001.parquet")
    texts = {text for name in ("hate_speech", "counter_narrative") for text in table[name].to_pylist()}
    short = [text for text in sorted(texts) if 2 <= len(re.findall(r"[^\W_]+", text)) <= 8]
    assert len(short) > 900
    assert sum(find_quotation([WRITTEN[writing](text)], [text]) is None for text in short) == 0


@pytest.mark.parametrize("recipe", recipe_names())
@pytest.mark.long
def test_every_labels_only_folder_is_published(mirror: Path, hub: Hub, release: Release, recipe: str) -> None:
    found = publish(str(release(recipe, labels_only=True)), "my-name/labels")
    assert hub.repos["my-name/labels"].tags == {found.identity["tag"]: found.identity["commit"]}
