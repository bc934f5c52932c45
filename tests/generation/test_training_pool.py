"""Training pairs, and which of them a message may be shown."""

from pathlib import Path

import pytest

from fcconan.data import ids
from fcconan.errors import InputError
from fcconan.generation.items import Item, load_items
from fcconan.generation.training_pool import load_pool
from fcconan.retrieval.systems import TrainingPair
from tests.generation.folders import pair, write_lines, write_manifest, write_part

OMBREY, TESSOK, DRAVENE = "The Ombrey never return a book.", "Every Tessok cheats at cards.", "The Dravene shout."
EARLY, BANNED, SING = "The library's list says they do.", "Cards were banned there.", "They sing, and well."


def test_the_training_part_each_pair_once_and_only_cns_that_fit(tmp_path: Path) -> None:
    rows = [
        pair(OMBREY, EARLY, label="appropriate", pair_id="p1"),
        pair(TESSOK, BANNED, label=None, pair_id="p2"),
        pair(OMBREY, EARLY, label="appropriate", pair_id="p1"),
        pair(TESSOK, EARLY, label="not_appropriate", pair_id="p3"),
    ]
    write_part(tmp_path, "train", "train", rows)
    write_part(tmp_path, "train", "shared_cn", [pair(DRAVENE, SING)])
    write_part(tmp_path, "bronze", "test", [pair(DRAVENE, SING, tier="bronze")])
    write_manifest(tmp_path, "zoo")
    pool = load_pool(tmp_path)
    assert [(each.pair_id, each.hate_speech, each.counter_narrative) for each in pool.pairs] == [
        ("p1", OMBREY, EARLY),
        ("p2", TESSOK, BANNED),
    ]
    assert pool.pairs[0].cn_id == ids.make_cn_id(EARLY)
    assert pool.training() == [TrainingPair(OMBREY, EARLY), TrainingPair(TESSOK, BANNED)]
    assert pool.training(without=frozenset({0})) == [TrainingPair(TESSOK, BANNED)]
    expected = {"dataset": "zoo", "fingerprint": "0123456789ab", "config": "train", "split": "train", "pairs": 2}
    assert pool.configuration == expected
    assert pool.judged
    assert [each.hate_speech for each in load_pool(tmp_path, config="bronze").pairs] == [DRAVENE]
    assert load_pool(tmp_path, config="bronze").judged


def test_own_kin_is_left_out_and_nothing_else(tmp_path: Path) -> None:
    code = "ENT1ST0001HS{}CN00000{}"
    rows = [
        pair(OMBREY, EARLY, source_id=code.format("9001", "1")),
        pair("Ombrey keep their books.", EARLY, source_id=code.format("9001", "1P1")),
        pair("Books? Not with Ombrey!", "Ask them.", source_id=code.format("9001", "2P2")),
        pair(TESSOK, BANNED, source_id=code.format("9002", "3")),
        pair(DRAVENE, SING, source_id=code.format("9003", "4")),
        pair(DRAVENE, BANNED, source_id=code.format("9003", "5")),
    ]
    file = write_lines(tmp_path / "pairs.jsonl", rows)
    pool, items = load_pool(file), load_items(file)
    assert not pool.judged
    excluded = {item.hate_speech: pool.excluded_pairs(item) for item in items}
    assert excluded[OMBREY] == excluded[items[1].hate_speech] == excluded[items[2].hate_speech] == {0, 1, 2}
    assert excluded[TESSOK] == {3, 5}
    assert excluded[DRAVENE] == {3, 4, 5}
    assert pool.groups == (0, 0, 0, 1, 2, 2)
    assert pool.configuration["config"] is None


def test_an_item_that_says_nothing_of_its_kin_is_known_by_its_texts(tmp_path: Path) -> None:
    pool = load_pool(write_lines(tmp_path / "pairs.jsonl", [pair(OMBREY, EARLY), pair(TESSOK, BANNED)]))
    assert pool.excluded_pairs(Item("i", "h", "the ombrey never return a book")) == {0}
    assert pool.excluded_pairs(Item("i", "h", "The Quillish sweep.", ("cards were BANNED there",))) == {1}
    assert pool.excluded_pairs(Item("i", "h", "The Quillish sweep.")) == set()


def test_a_near_copy_of_a_message_is_kin(tmp_path: Path) -> None:
    pool = load_pool(write_lines(tmp_path / "pairs.jsonl", [pair(OMBREY, EARLY), pair(TESSOK, BANNED)]))
    assert pool.excluded_pairs(Item("i", "h", "The Ombrey never return books.")) == {0}
    assert pool.excluded_pairs(Item("i", "h", "Velmari cheat at cards.")) == set()


def test_a_catalogue_without_messages(tmp_path: Path) -> None:
    write_part(tmp_path, "corpus", "test", [{"_id": "cn-1", "text": EARLY}, {"_id": "cn-2", "text": BANNED}])
    pool = load_pool(tmp_path, config="corpus")
    assert pool.judged
    assert [(each.pair_id, each.hate_speech, each.counter_narrative) for each in pool.pairs] == [
        ("cn-1", "", EARLY),
        ("cn-2", "", BANNED),
    ]
    assert pool.training() == []
    assert pool.excluded_pairs(Item("i", "h", OMBREY, (BANNED,))) == {1}


def test_the_training_split_and_several_configs(tmp_path: Path) -> None:
    write_part(tmp_path, "pairs", "train", [pair(OMBREY, EARLY)])
    write_part(tmp_path, "pairs", "test", [pair(TESSOK, BANNED)])
    assert [each.hate_speech for each in load_pool(tmp_path).pairs] == [OMBREY]
    assert [each.hate_speech for each in load_pool(tmp_path, split="test").pairs] == [TESSOK]
    write_part(tmp_path, "more", "train", [pair(DRAVENE, SING)])
    with pytest.raises(InputError, match="has training pairs in more, pairs: choose one of these configs"):
        load_pool(tmp_path)
    write_part(tmp_path, "train", "train", [pair(TESSOK, SING)])
    assert [each.hate_speech for each in load_pool(tmp_path).pairs] == [TESSOK]


def test_bad_input(tmp_path: Path) -> None:
    def told(*rows: object) -> str:
        with pytest.raises(InputError, match=r"^[^\n]*$") as caught:
            load_pool(write_lines(tmp_path / "pairs.jsonl", rows))  # type: ignore[arg-type]
        return str(caught.value)

    assert "row 1 has no column 'counter_narrative', but hate_speech, references" in told({"hate_speech": OMBREY})
    assert "has 1 pairs without a message or without a CN" in told(pair(OMBREY, EARLY), pair(TESSOK, " "))
    assert "has 1 pairs without a message or without a CN" in told(pair("", EARLY))
    assert "has 1 pairs, none of them appropriate" in told(pair(OMBREY, EARLY, label="not_appropriate"))
    assert "has no rows" in told()
    write_part(tmp_path / "queries", "queries", "test", [{"_id": "q1", "text": OMBREY}])
    with pytest.raises(InputError, match="has the configs queries, and no pairs: choose another dataset"):
        load_pool(tmp_path / "queries")
