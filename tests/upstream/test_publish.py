"""The real FC-CONAN against a stand-in for the Hub: labels for everybody, texts behind a gate only."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fcconan.building import build
from fcconan.building.quotations import SHORTEST_INSIDE, Texts, squeezed, words
from fcconan.data import recipe_names
from fcconan.data.forms import CODE, ID, NAME, NAMES
from fcconan.errors import InputError
from fcconan.publishing import known_texts
from fcconan.publishing.forms import find_problem
from fcconan.publishing.known_texts import KnownTexts
from tests.publishing.hub import Hub, connect, publish
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream
CARD_SAYS = "This folder has ids, hashes, labels and numbers, but no texts"
TRICKS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "underscores": lambda text: text.replace(" ", "_"),
    "hyphens": lambda text: text.replace(" ", "-").rstrip("."),
    "joined": lambda text: text.replace(" ", ""),
    "camel": lambda text: text.title().replace(" ", ""),
    "upper": lambda text: text.upper().replace(" ", "_"),
    "dots": lambda text: text.replace(" ", "."),
    "slash": lambda text: text.replace(" ", "/"),
    "plus": lambda text: text.replace(" ", "+"),
    "percent": lambda text: text.replace(" ", "%20"),
    "percent-twice": lambda text: text.replace(" ", "%2520"),
    "entity": lambda text: text.replace(" ", "&nbsp;"),
    "escape": lambda text: text.replace(" ", "\\u0020"),
    "zero-width": lambda text: text.replace(" ", "\u200b"),
    "zero-width-inside": lambda text: "\u2060".join(text.replace(" ", "_")),
    "soft-hyphens": lambda text: "\u00ad".join(text),
    "no-break": lambda text: text.replace(" ", "\u00a0"),
    "full-width": lambda text: "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text),
    "number": lambda text: text.replace(" ", "_").rstrip(".") + "_17",
    "prefix": lambda text: "run-" + text.replace(" ", "-").rstrip("."),
    "inside": lambda text: "x" + text.replace(" ", "").rstrip(".").lower() + "-v2",
    "camel-inside": lambda text: "my" + text.title().replace(" ", "").rstrip("."),
    "digits-inside": lambda text: "1".join(text.replace(" ", "")[at : at + 3] for at in range(0, len(text), 3)),
    "commas": lambda text: ",".join(text.split()),
    "semicolons": lambda text: "; ".join(text.split()),
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as hub:
        connect(monkeypatch, hub)
        yield hub


@pytest.mark.long
def test_fc_conan_is_published_without_a_text_or_behind_a_gate(
    mirror: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcconan.publishing.checks.check_loading", lambda contents: None)
    labels, full = tmp_path / "labels", tmp_path / "full"
    build("fc-conan", out=labels, labels_only=True)
    build("fc-conan", out=full)
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
    with pytest.raises(InputError, match="fc-conan contains text that must not be redistributed"):
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


def test_no_message_is_a_name_however_short_and_however_written(mirror: Path) -> None:
    """Counts only: a failing test must not print upstream text."""
    known_texts.clear_known_texts()
    texts = known_texts.read_recipe_texts("mt-conan")
    assert texts is not None
    known = KnownTexts((Texts(texts),))
    short = sorted(text for text in texts if 2 <= len(words(text)) <= 8)
    assert len(short) > 900
    # Inside of a name, and between digits, texts are looked for from 12 letters on, and without digits of their own.
    long = [text for text in short if len(squeezed(text)) >= SHORTEST_INSIDE and not re.search(r"\d", text)]
    assert len(long) > 900
    passed = {
        f"{trick}/{form.meaning}": sum(
            find_problem(written(text), form, known) is None for text in (long if "inside" in trick else short)
        )
        for trick, written in TRICKS.items()
        for form in (ID, NAME, NAMES, CODE)
    }
    assert sum(passed.values()) == 0, {place: count for place, count in passed.items() if count}


@pytest.mark.parametrize("recipe", recipe_names())
@pytest.mark.long
def test_every_labels_only_release_is_published(
    mirror: Path, hub: Hub, release: Release, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcconan.publishing.checks.check_loading", lambda contents: None)
    known_texts.clear_known_texts()
    publication = publish(release(recipe, labels_only=True), "my-name/labels")
    assert publication.done is not None
    assert publication.plan.notes == []  # every dataset was searched
