"""FC-CONAN as a consumer sees it: built by the command line, loaded by `datasets` in another process."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.upstream import oracle
from tests.upstream.conftest import shared_folder
from tests.upstream.oracle import Row

pytestmark = pytest.mark.upstream

TIERS = ("diamond", "gold", "silver", "bronze")
# Upstream's column names are sentences; their beginnings tell them apart.
LABEL = "Appropriate "
VALID = "Valid "
VOTES = [f"annotation of annotator {n} " for n in (1, 2, 3)]
LABEL_NAMES = {"0": "not_appropriate", "1": "appropriate"}
VOTE_NAMES = {"0": "not_appropriate", "1": "not_sure", "2": "appropriate"}
PAIR_COLUMNS = [
    "pair_id",
    "hs_id",
    "cn_id",
    "hate_speech",
    "counter_narrative",
    "label",
    "valid",
    "n_votes",
    "agreement",
    "tier",
    "hs_type",
    "hs_subtype",
    "cn_type",
    "age",
    "gender",
    "education",
    "source_id",
    "original_index",
]
LOAD = """
import json, sys
from datasets import load_dataset
jobs = json.loads(sys.argv[1])
rows = [load_dataset(folder, config, split=split).to_list() for folder, config, split in jobs]
json.dump(rows, open(sys.argv[2], "w", encoding="utf-8"))
"""
PARTS = [
    *((tier, "test") for tier in TIERS),
    *((f"{tier}-qrels", "test") for tier in TIERS),
    *((name, "test") for name in ("corpus", "queries", "qrels", "votes", "gold-corpus", "gold-queries")),
    ("train", "train"),
    ("train", "shared_cn"),
]
STRICT_PARTS = [("diamond", "test"), ("gold", "test"), ("diamond-qrels", "test")]
Loaded = dict[tuple[str, str, str], list[Row]]

_loaded: Loaded = {}


@pytest.fixture
def loaded(mirror: Path, run_cli: RunCli, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """The rows by tier rule, config and split."""
    if not _loaded:
        keys = [("released", *part) for part in PARTS] + [("strict", *part) for part in STRICT_PARTS]
        with shared_folder(tmp_path_factory, "fc-conan-loaded") as folder:
            out = folder / "rows.json"
            if not out.exists():
                for rule in ("released", "strict"):
                    result = run_cli("build", "fc-conan", "--out", folder / rule, "--tier-rule", rule)
                    assert (result.returncode, result.stderr) == (0, "")
                jobs = json.dumps([[str(folder / rule), config, split] for rule, config, split in keys])
                command = [sys.executable, "-c", LOAD, jobs, str(out)]
                subprocess.run(command, check=True, capture_output=True, timeout=300)
        _loaded.update(zip(keys, json.loads(out.read_text(encoding="utf-8")), strict=True))
    return _loaded


def _upstream(mirror: Path, tier: str) -> dict[int, dict[str, str]]:
    path = mirror / oracle.FC_CONAN / f"fc_conan_partitions/{tier}_df/{tier}_partition_df.csv"
    rows = {int(row["original_index"]): row for row in oracle.read_csv(path)}
    assert len(rows) == len(oracle.read_csv(path))
    return rows


def _cell(row: dict[str, str], beginning: str) -> str:
    [cell] = [value for name, value in row.items() if name.startswith(beginning)]
    return cell


def _votes(row: dict[str, str]) -> list[str]:
    return [VOTE_NAMES[_cell(row, name)] for name in VOTES if _cell(row, name)]


def _agreement(row: dict[str, str]) -> str:
    votes, label = _votes(row), LABEL_NAMES[_cell(row, LABEL)]
    if not votes:
        return "single"
    if set(votes) == {label}:
        return "unanimous"
    return "majority" if votes.count(label) > len(votes) / 2 else "adjudicated"


def _pair(row: dict[str, str], best_tier: str) -> Row:
    hate_speech, counter_narrative = row["hate speech"], row["counternarrative"]
    return {
        **oracle.ids(hate_speech, counter_narrative),
        "hate_speech": hate_speech,
        "counter_narrative": counter_narrative,
        "label": LABEL_NAMES[_cell(row, LABEL)],
        "valid": _cell(row, VALID) == "1",
        "n_votes": max(1, len(_votes(row))),
        "agreement": _agreement(row),
        "tier": best_tier,
        **oracle.person_and_topic(row),
        "source_id": row["cn_id"],
        "original_index": int(row["original_index"]),
    }


def _strict(mirror: Path) -> set[int]:
    return {
        index
        for index, row in _upstream(mirror, "gold").items()
        if len(_votes(row)) > 1 and set(_votes(row)) == {LABEL_NAMES[_cell(row, LABEL)]}
    }


@pytest.mark.parametrize(
    ("tier", "pairs", "appropriate", "invalid", "annotators"),
    [
        ("diamond", 551, 35, 0, (195, 356, 0)),
        ("gold", 663, 54, 0, (195, 468, 0)),
        ("silver", 3580, 431, 0, (195, 468, 2917)),
        ("bronze", 3997, 702, 417, (199, 502, 3296)),
    ],
)
def test_tables_1_2_and_3_of_the_paper(
    loaded: Loaded, tier: str, pairs: int, appropriate: int, invalid: int, annotators: tuple[int, int, int]
) -> None:
    rows = loaded["released", tier, "test"]
    assert Counter(row["label"] for row in rows) == {"appropriate": appropriate, "not_appropriate": pairs - appropriate}
    assert sum(not row["valid"] for row in rows) == invalid
    votes = Counter(row["n_votes"] for row in rows)
    assert (votes[3], votes[2], votes[1]) == annotators


@pytest.mark.parametrize("tier", TIERS)
def test_every_pair_equals_the_released_one(loaded: Loaded, mirror: Path, tier: str) -> None:
    upstream = {name: _upstream(mirror, name) for name in TIERS}
    best = {index: name for name in reversed(TIERS) for index in upstream[name]}
    expected = [_pair(row, best[index]) for index, row in sorted(upstream[tier].items())]
    rows = loaded["released", tier, "test"]
    assert list(rows[0]) == PAIR_COLUMNS
    assert rows == expected
    assert len({row["pair_id"] for row in rows}) == len(rows)


def test_strict_is_the_papers_words(loaded: Loaded, mirror: Path) -> None:
    strict = _strict(mirror)
    rows = loaded["strict", "diamond", "test"]
    assert len(strict) == 530
    assert {row["original_index"] for row in rows} == strict
    assert {row["tier"] for row in rows} == {"diamond"}
    assert {row["agreement"] for row in rows} == {"unanimous"}
    assert len(loaded["strict", "diamond-qrels", "test"]) == 530
    gold = {row["original_index"]: row for row in loaded["strict", "gold", "test"]}
    assert gold.keys() == _upstream(mirror, "gold").keys()
    assert {index for index, row in gold.items() if row["tier"] == "diamond"} == strict
    moved = _upstream(mirror, "diamond").keys() - strict
    assert len(moved) == 21
    assert {(gold[index]["tier"], gold[index]["agreement"], gold[index]["n_votes"]) for index in moved} == {
        ("gold", "majority", 3)
    }


def test_votes_equal_the_released_columns(loaded: Loaded, mirror: Path) -> None:
    expected = []
    for _, row in sorted(_upstream(mirror, "bronze").items()):
        pair_id = oracle.ids(row["hate speech"], row["counternarrative"])["pair_id"]
        votes, inferred = (_votes(row), False) if _votes(row) else ([LABEL_NAMES[_cell(row, LABEL)]], True)
        expected += [
            {"pair_id": pair_id, "rater": f"annotator-{number}", "label": vote, "inferred": inferred}
            for number, vote in enumerate(votes, start=1)
        ]
    assert len(expected) == 4897
    assert loaded["released", "votes", "test"] == expected


def test_adjudicated_labels_are_those_of_the_only_decided_vote(loaded: Loaded) -> None:
    """Tutorial 1 states this of all 129 pairs."""
    votes: dict[str, list[str]] = {}
    for vote in loaded["released", "votes", "test"]:
        votes.setdefault(vote["pair_id"], []).append(vote["label"])
    found = [pair for pair in loaded["released", "bronze", "test"] if pair["agreement"] == "adjudicated"]
    assert len(found) == 129
    for pair in found:
        assert sorted(votes[pair["pair_id"]]) == sorted([pair["label"], "not_sure"])


@pytest.mark.parametrize("tier", TIERS)
def test_qrels_equal_the_labels(loaded: Loaded, tier: str) -> None:
    pairs = loaded["released", tier, "test"]
    expected = [
        {"query-id": pair["hs_id"], "corpus-id": pair["cn_id"], "score": int(pair["label"] == "appropriate")}
        for pair in pairs
    ]
    assert loaded["released", f"{tier}-qrels", "test"] == expected
    if tier == "bronze":
        assert loaded["released", "qrels", "test"] == expected


def test_corpus_and_queries_hold_every_text_once(loaded: Loaded, mirror: Path) -> None:
    bronze = _upstream(mirror, "bronze").values()
    for config, prefix, column, number in (
        ("corpus", "cn", "counternarrative", 130),
        ("queries", "hs", "hate speech", 45),
    ):
        rows = loaded["released", config, "test"]
        assert len(rows) == number
        assert {row["_id"]: oracle.normalised(row["text"]) for row in rows} == {
            oracle.text_id(prefix, row[column]): oracle.normalised(row[column]) for row in bronze
        }
        assert loaded["released", f"gold-{config}", "test"] == rows


def test_the_papers_pool_is_the_counter_narratives_with_a_positive(loaded: Loaded, mirror: Path) -> None:
    path = mirror / oracle.FC_CONAN / "recommender_experiment_data/fc_conan_bronze_cn.csv"
    pool = {oracle.text_id("cn", row["counterSpeech"]) for row in oracle.read_csv(path)}
    assert len(pool) == 100
    assert {row["corpus-id"] for row in loaded["released", "qrels", "test"] if row["score"] == 1} == pool


def test_train_is_the_released_file_and_shares_nothing_with_the_evaluation_part(loaded: Loaded, mirror: Path) -> None:
    path = mirror / oracle.FC_CONAN / "recommender_experiment_data/conan_not_in_bronze_train_df.csv"
    expected = [
        {
            **oracle.ids(row["hateSpeech"], row["counterSpeech"]),
            "hate_speech": row["hateSpeech"],
            "counter_narrative": row["counterSpeech"],
            "label": "appropriate",
            **dict.fromkeys(("valid", "n_votes", "agreement", "tier")),
            **oracle.person_and_topic(row),
            "source_id": row["cn_id"],
            "original_index": index,
        }
        for index, row in enumerate(oracle.read_csv(path))
    ]
    train, shared = loaded["released", "train", "train"], loaded["released", "train", "shared_cn"]
    assert (len(train), len(shared)) == (3029, 90)
    assert sorted(train + shared, key=lambda row: int(row["original_index"])) == expected
    queries = {row["_id"] for row in loaded["released", "queries", "test"]}
    corpus = {row["_id"] for row in loaded["released", "corpus", "test"]}
    assert not queries & {row["hs_id"] for row in train + shared}
    assert not corpus & {row["cn_id"] for row in train}
    assert {row["cn_id"] for row in shared} < corpus
    assert len({row["hs_id"] for row in train + shared}) == 363
    assert len({row["cn_id"] for row in train + shared}) == 1170
