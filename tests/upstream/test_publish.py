"""The real FC-CONAN against a stand-in for the Hub: labels for everybody, texts behind a gate only."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fcconan.building.builds import build
from fcconan.building.quotations import SHORTEST_INSIDE, Texts, squeezed, words
from fcconan.data.content import recipe_names
from fcconan.data.forms import CODE, ID, NAME, NAMES
from fcconan.errors import InputError
from fcconan.publishing import known_texts
from fcconan.publishing.forms import find_problem
from fcconan.publishing.known_texts import KnownTexts
from tests.publishing.attempts import TRICKS, honest_row, leaks, write
from tests.publishing.hub import Hub, connect, publish
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream
CARD_SAYS = "This folder has ids, hashes, labels and numbers, but no texts"


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
        if trick != "list"
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


@pytest.mark.long
def test_real_texts_of_every_length_stay_here(
    mirror: Path, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text of two words, one of five, and the longest of every dataset."""
    monkeypatch.setattr("fcconan.publishing.checks.check_loading", lambda contents: None)
    known_texts.clear_known_texts()
    failed = []
    for recipe in recipe_names():
        texts = sorted((len(words(text)), text) for text in known_texts.read_recipe_texts(recipe) or ())
        chosen = {next((text for length, text in texts if length >= least), texts[-1][1]) for least in (2, 5)}
        for number, text in enumerate(sorted(chosen | {texts[-1][1]})):
            for config, column in (("ratings", "system"), ("replies", "reply_id"), ("leaderboard", "note")):
                for trick in ("underscores", "zero-width"):
                    at = tmp_path / recipe / str(number) / config / trick
                    row = honest_row(config) | {column: TRICKS[trick](text)}
                    hub.reset()
                    with contextlib.suppress(InputError):
                        publish(write(at, config, [row]), "my-name/data", labels_only=True)
                    if leaks(hub, text):
                        failed.append(str(at.relative_to(tmp_path)))
    assert failed == []
