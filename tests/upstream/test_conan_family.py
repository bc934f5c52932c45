import json
from collections import Counter
from pathlib import Path

import pytest

from tests.upstream import oracle
from tests.upstream.conftest import Release
from tests.upstream.oracle import Row

pytestmark = pytest.mark.upstream

LANGUAGES = ("en", "fr", "it")
AUGMENTATION = {"": "original", "P1": "paraphrase-1", "P2": "paraphrase-2", "T1": "translation-1"}


def _pair(hate_speech: str, counter_narrative: str, source_id: str, original_index: int) -> Row:
    """The columns that every table of written pairs has."""
    return {
        **oracle.ids(hate_speech, counter_narrative),
        "hate_speech": hate_speech,
        "counter_narrative": counter_narrative,
        "label": "appropriate",
        **dict.fromkeys(("valid", "n_votes", "agreement", "tier")),
        **dict.fromkeys(("hs_type", "hs_subtype", "cn_type", "age", "gender", "education")),
        "source_id": source_id,
        "original_index": original_index,
    }


def _decoded(source_id: str) -> Row:
    language = source_id[:2].lower()
    return {
        "language": language,
        "text_language": "en" if source_id[24:] == "T1" else language,
        "type_code": source_id[2:4],
        "subtopic_code": source_id[4:10],
        "hs_code": source_id[10:16],
        "cn_code": source_id[16:24],
        "augmentation": AUGMENTATION[source_id[24:]],
    }


def test_conan_equals_the_released_file(release: Release, mirror: Path) -> None:
    folder = release("conan")
    expected: dict[str, list[Row]] = {language: [] for language in LANGUAGES}
    for index, row in enumerate(oracle.read_csv(mirror / oracle.CONAN / "CONAN/CONAN.csv")):
        decoded = _decoded(row["cn_id"])
        pair = _pair(row["hateSpeech"], row["counterSpeech"], row["cn_id"], index)
        expected[decoded["language"]].append({**pair, **oracle.person_and_topic(row), **decoded})
    assert {language: len(found) for language, found in expected.items()} == {"en": 3864, "fr": 6840, "it": 4284}
    for language in LANGUAGES:
        assert oracle.rows(folder, language, "train") == expected[language]


def test_conan_counts(release: Release) -> None:
    found = {language: oracle.rows(release("conan"), language, "train") for language in LANGUAGES}
    english = found["en"]
    assert Counter(row["augmentation"] for row in english) == dict.fromkeys(
        ("original", "paraphrase-1", "paraphrase-2"), 1288
    )
    assert len({row["hs_id"] for row in english}) == 408
    assert len({row["cn_id"] for row in english}) == 1270
    in_english = {language: sum(row["text_language"] == "en" for row in rows_of) for language, rows_of in found.items()}
    assert in_english == {"en": 3864, "fr": 1710, "it": 1071}
    assert sum(in_english.values()) == 6645


def test_mt_conan(release: Release, mirror: Path) -> None:
    upstream = oracle.read_csv(mirror / oracle.CONAN / "Multitarget-CONAN/Multitarget-CONAN.csv")
    rows = oracle.rows(release("mt-conan"), "pairs", "train")
    assert rows == [
        {
            **_pair(row["HATE_SPEECH"], row["COUNTER_NARRATIVE"], row["INDEX"], index),
            "target": row["TARGET"],
            "collection_version": row["VERSION"],
        }
        for index, row in enumerate(upstream)
    ]
    assert len(rows) == 5003
    assert len({row["hs_id"] for row in rows}) == 3718
    assert len({row["cn_id"] for row in rows}) == 4997
    assert len({row["target"] for row in rows}) == 8


def test_kn_conan(release: Release, mirror: Path) -> None:
    upstream = oracle.read_csv(mirror / oracle.CONAN / "multitarget_KN_grounded_CN/multitarget_KN_grounded_CN.csv")
    rows = oracle.rows(release("kn-conan"), "pairs", "train")
    assert rows == [
        {
            **_pair(row["hate_speech"], row["counter_narrative"], str(index), index),
            "knowledge": row["knowledge_sentence"],
            "target": row["target"],
        }
        for index, row in enumerate(upstream)
    ]
    assert len(rows) == 195
    assert all(row["knowledge"].strip() for row in rows)


def test_dialoconan(release: Release, mirror: Path) -> None:
    upstream = oracle.read_csv(mirror / oracle.CONAN / "DIALOCONAN/DIALOCONAN.csv")
    rows = oracle.rows(release("dialoconan"), "turns", "train")
    assert rows == [
        {
            "dialogue_id": row["dialogue_id"],
            "turn_id": int(row["turn_id"]),
            "role": row["type"].lower(),
            "text_id": oracle.text_id(row["type"].lower(), row["text"]) if row["text"].strip() else None,
            "text": row["text"],
            "target": row["TARGET"],
            "collection": row["source"],
        }
        for row in upstream
    ]
    turns: dict[str, list[int]] = {}
    for row in rows:
        turns.setdefault(row["dialogue_id"], []).append(row["turn_id"])
    assert (len(rows), len(turns)) == (16625, 3059)
    assert all(numbers == list(range(len(numbers))) for numbers in turns.values())
    assert Counter(row["text_id"] is None for row in rows)[True] == 2


@pytest.mark.parametrize(
    ("config", "pairs", "hate_speech", "counter_narratives", "per_hs", "words"),
    [
        # The paper prints 6648 pairs, counting the header line of each split, and 4040 CNs, one less than there are.
        ("conan-pairs", 6645, 523, 4041, 12.71, 19.48),
        ("mt-conan-pairs", 5003, 3718, 4997, 1.35, 24.77),
    ],
)
def test_table_2_of_the_pairwise_ranking_paper(
    release: Release,
    config: str,
    pairs: int,
    hate_speech: int,
    counter_narratives: int,
    per_hs: float,
    words: float,
) -> None:
    folder = release("cn-ranking")
    rows = [row for split in ("train", "validation", "test") for row in oracle.rows(folder, config, split)]
    assert len(rows) == pairs
    assert len({row["hs_id"] for row in rows}) == hate_speech
    assert len({row["cn_id"] for row in rows}) == counter_narratives
    assert round(pairs / hate_speech, 2) == per_hs
    assert round(sum(len(row["counter_narrative"].split()) for row in rows) / pairs, 2) == words


def test_the_manifest_and_the_card_state_the_figures_of_table_2(release: Release) -> None:
    folder = release("mt-conan")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["statistics"]["pairs"] == [
        {
            "config": "pairs",
            "split": "train",
            "pairs": 5003,
            "appropriate": 5003,
            **{"confirmed": 0, "not_confirmed": 0, "not_seen": 5003},
            "hate_speech": 3718,
            "counter_narratives": 4997,
            "cns_per_hs": 1.35,
            "words_per_cn": 24.77,
        }
    ]
    assert "| 5003 | 5003 | 0 | 0 | 5003 | 3718 | 4997 | 1.35 | 24.77 |" in (folder / "README.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(("corpus", "config"), [("CONAN", "conan-pairs"), ("MT-CONAN", "mt-conan-pairs")])
def test_splits_of_the_pairwise_ranking_paper(release: Release, mirror: Path, corpus: str, config: str) -> None:
    folder = release("cn-ranking")
    statistics = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["statistics"]["pairs"]
    for split, name in (("train", "train"), ("validation", "val"), ("test", "test")):
        upstream = oracle.read_csv(mirror / oracle.CN_EVAL / f"data/{corpus}/{corpus}_{name}.csv")
        rows = oracle.rows(folder, config, split)
        expected = []
        for index, row in enumerate(upstream):
            more = {"target": row["TARGET"], "collection_version": row["VERSION"]} if "TARGET" in row else {}
            expected.append({**_pair(row["HS"], row["CN"], row.get("INDEX", str(index)), index), **more})
        assert rows == expected
        stated = next(figures for figures in statistics if (figures["config"], figures["split"]) == (config, split))
        assert stated["pairs"] == len(upstream)
        assert stated["hate_speech"] == len({oracle.normalised(row["HS"]) for row in upstream})
        assert stated["counter_narratives"] == len({oracle.normalised(row["CN"]) for row in upstream})
        assert stated["words_per_cn"] == round(sum(len(row["CN"].split()) for row in upstream) / len(upstream), 2)
