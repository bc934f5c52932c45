import json
import math
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats

from fcconan import Bootstrap, Rows, correlate
from tests.upstream import oracle
from tests.upstream.conftest import Release
from tests.upstream.oracle import Row

pytestmark = pytest.mark.upstream

ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")
HIGH = {"relevance": 5, "coherence": 5, "aggressiveness": 5, "suitableness": 3}
ROUNDS = {"agreement_round1": "annotations_first_pass_500", "agreement_round2": "annotations_second_pass_1500"}
TEST = "predictions/mistralai-Mistral-7B-Instruct-v0.3_remaining.csv"
DEV = "data/annotations/dev_set_500.csv"
RANKED = "data/annotations/human_eval_formatted.csv"
ANALYSED = "data/annotations/dataset_analysis_human_annotations.csv"
SPLITS = {"dev": 500, "test": 1901, "agreement_round1": 500, "agreement_round2": 1000, "rankings": 310}
SYSTEMS = {
    "": "unknown",
    "dialoGPT": "dialogpt",
    "GPS": "gps",
    "QUARC": "quarc",
    "GPT3.5_ZS": "gpt-3.5-zs",
    "GPT3.5_FS": "gpt-3.5-fs",
}
MISTRAL = "prediction_mistralai/Mistral-7B-Instruct-v0.3"
LLAMA = "prediction_meta-llama/Llama-3-8b-chat-hf"
MODELS = {
    "gpt-4": "gpt-4_{}_score",
    "gpt-4-zs": "gpt-4-zs_{}_score",
    "g-eval-gpt-4": "GEVAL-4_{}_score",
    "gptscore": "GPTScore_{}_score",
    "llama-3-8b": "Llama-3-8b-chat-hf_{}_score",
    "llama-3-8b-zs": "zs_Llama-3-8b-chat-hf_{}_score",
    "mistral-7b-zs": "zs_Mistral-7B-Instruct-v03_{}_score",
    "mistral-7b": MISTRAL + "_{}_score_cleaned",
}
METRICS = {
    "bleu-1": "bleu_1_(pred_cs, cs)",
    "bleu-2": "bleu_2_(pred_cs, cs)",
    "bleu-3": "bleu_3_(pred_cs, cs)",
    "bleu-4": "bleu_4_(pred_cs, cs)",
    "rouge-1": "rouge_1_(pred_cs, cs)",
    "rouge-2": "rouge_2_(pred_cs, cs)",
    "rouge-l": "rouge_l_(pred_cs, cs)",
    "meteor": "meteor_score_(pred_cs, cs)",
    "bertscore": "bert_score_(pred_cs, cs)",
    "bertscore-hs": "bert_score_(hs, pred_cs)",
    "bm25": "bm25_score_(pred_cs, cs)",
    "bm25-hs": "bm25_score_(hs, pred_cs)",
    "pro-con": "pc_score_(hs, pred_cs)",
    "counterargument-detection": "cd_score_(hs, pred_cs)",
    "argument-quality": "aq_score_(pred_cs)",
    "toxicity": "toxicity_(pred_cs)",
    "obscenity": "obscenity_(pred_cs)",
    "identity-attack": "identity_attack_(pred_cs)",
    "insult": "insult_(pred_cs)",
}
# The file of every rater of the ranked groups, and its column for an aspect.
RANKINGS = {
    "gpt-4o": ("gpt-4o", "prediction_gpt-4o_{}_score_cleaned"),
    "gpt-4o-zs": ("gpt-4o_zeroshot", "prediction_gpt-4o_{}_score_zeroshot_cleaned"),
    "llama-3-8b": ("meta-llama-Llama-3-8b-chat-hf", LLAMA + "_{}_score_cleaned"),
    "llama-3-8b-zs": ("meta-llama-Llama-3-8b-chat-hf_zeroshot", LLAMA + "_{}_score_cleaned"),
    "mistral-7b": ("mistralai-Mistral-7B-Instruct-v0.3", MISTRAL + "_{}_score_cleaned"),
    "mistral-7b-zs": ("mistralai-Mistral-7B-Instruct-v0.3_zeroshot", MISTRAL + "_{}_score_cleaned"),
}
RANKERS = {
    "rank-rater-1": "data/human_eval/Human Evaluation - EMNLP 2024 - annotations_amey.csv",
    "rank-rater-2": "data/human_eval/Human Evaluation - EMNLP 2024 - annotations_kanupriya.csv",
    "rank-rater-3": "data/annotations/Human Evaluation - EMNLP 2024 - annotations.csv",
}
RANKED_TOGETHER = {"rank-combined": "data/annotations/Human Evaluation - EMNLP 2024 - aswini amey kanupriya.csv"}
PEOPLE = re.compile("amey|(?<!zer)osho|apoorv|aswini|kanupriya", re.IGNORECASE)  # "zeroshot" names nobody


@pytest.fixture
def folder(release: Release) -> Path:
    return release("cseval")


@pytest.fixture
def upstream(mirror: Path) -> Path:
    return mirror / oracle.CS_EVAL


@cache
def _rows(folder: Path, config: str, split: str) -> list[Row]:
    return oracle.rows(folder, config, split)


def _ratings(folder: Path, split: str, rater: str, aspect: str) -> dict[str, Row]:
    """By reply id."""
    found = [row for row in _rows(folder, "ratings", split) if (row["rater"], row["aspect"]) == (rater, aspect)]
    assert len({row["reply_id"] for row in found}) == len(found)
    return {row["reply_id"]: row for row in found}


def _by_uuid(folder: Path, split: str, ratings: dict[str, Row]) -> dict[str, Row]:
    return {
        reply["source_id"]: ratings[reply["reply_id"]]
        for reply in _rows(folder, "replies", split)
        if reply["reply_id"] in ratings
    }


def _expected(cell: str, aspect: str, kind: str) -> tuple[float | None, str | None]:
    """Value and reason that a cell stands for."""
    if not cell:
        return None, "not_rated"
    value = float(cell)
    if kind == "model" and value == -1:
        return None, "parse_failed"
    return (value, None) if 1 <= value <= HIGH[aspect] else (None, "out_of_scale")


def _unified(scores: Row) -> float:
    """Equation 2 of the paper: suitableness 1, 2, 3 counts as 1, 3, 5."""
    suitableness = 2 * scores["suitableness"] - 1
    return float((scores["relevance"] + 6 - scores["aggressiveness"] + scores["coherence"] + suitableness) / 4)


def _text_columns(manifest: Row) -> dict[str, list[str]]:
    found: dict[str, list[str]] = manifest["restricted_columns"]
    return found


def _manifest(folder: Path) -> Row:
    found: Row = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return found


def test_sizes_of_the_splits(folder: Path) -> None:
    assert {split: len(_rows(folder, "replies", split)) for split in SPLITS} == SPLITS
    assert _manifest(folder)["counts"]["replies"] == SPLITS
    for split in ("dev", "test", *ROUNDS):
        scores = [row["reply_id"] for row in _rows(folder, "scores", split)]
        assert scores == [row["reply_id"] for row in _rows(folder, "replies", split)]


def test_replies_equal_the_released_files(folder: Path, upstream: Path) -> None:
    rounds = [row for name in ROUNDS.values() for row in oracle.read_csv(upstream / f"data/annotations/{name}.csv")]
    released = oracle.read_csv(upstream / TEST)
    rows = _rows(folder, "replies", "test")
    for number, (ours, theirs) in enumerate(zip(rows, released, strict=True)):
        # The file of the test split lost part of the punctuation; the rounds have it.
        source = rounds[number] if number < len(rounds) else theirs
        assert (ours["source_id"], ours["hate_speech"], ours["text"], ours["references"]) == (
            theirs["uuid"],
            theirs["hatespeech"],
            source["predicted_counterspeech"],
            [theirs["counterspeech"]],
        )
        assert (ours["strategy"], ours["system"]) == (theirs["csType"].lower(), SYSTEMS[theirs["source"]])
        assert ours["hs_id"] == oracle.text_id("hs", theirs["hatespeech"])
    dev = oracle.read_csv(upstream / DEV)
    assert [(row["source_id"], row["hs_id"], row["strategy"]) for row in _rows(folder, "replies", "dev")] == [
        (row["uuid"], oracle.text_id("hs", row["hatespeech"]), row["csType"].lower()) for row in dev
    ]


def test_systems_are_those_of_every_file_that_states_them(folder: Path, upstream: Path) -> None:
    test, ranked = oracle.read_csv(upstream / TEST), oracle.read_csv(upstream / RANKED)
    stated: dict[str, set[str]] = {}
    for row in test + ranked:
        if row["uuid"] and row["source"]:
            stated.setdefault(row["uuid"], set()).add(SYSTEMS[row["source"]])
    assert all(len(systems) == 1 for systems in stated.values())
    # The file of the dev split states no system.
    dev = [row["uuid"] for row in oracle.read_csv(upstream / DEV)]
    assert sum(uuid in stated for uuid in dev) == len(set(dev) & stated.keys()) > 0
    for split in ("dev", "test", "rankings"):
        replies = _rows(folder, "replies", split)
        assert [({row["system"]}, row["source_id"]) for row in replies if row["source_id"]] == [
            (stated.get(row["source_id"], {"unknown"}), row["source_id"]) for row in replies if row["source_id"]
        ]
    replies = _rows(folder, "replies", "rankings")
    assert [row["system"] for row in replies] == [SYSTEMS[row["source"]] for row in ranked]
    assert Counter(row["system"] for row in replies) == dict.fromkeys(set(SYSTEMS.values()) - {"unknown"}, 62)


@pytest.mark.parametrize("split", list(ROUNDS))
def test_ratings_of_the_rounds_equal_the_cells(folder: Path, upstream: Path, split: str) -> None:
    released = oracle.read_csv(upstream / f"data/annotations/{ROUNDS[split]}.csv")
    replies = _rows(folder, "replies", split)
    assert [(row["hate_speech"], row["text"]) for row in replies] == [
        (row["hatespeech"], row["predicted_counterspeech"]) for row in released
    ]
    for aspect in ASPECTS:
        for number in (1, 2, 3):
            ratings = _ratings(folder, split, f"rater-{number}", aspect)
            found = [(ratings[reply["reply_id"]]["value"], ratings[reply["reply_id"]]["reason"]) for reply in replies]
            assert found == [_expected(row[f"{aspect}_score_a{number}"], aspect, "human") for row in released]
    for scores, row in zip(_rows(folder, "scores", split), released, strict=True):
        for aspect in ASPECTS:
            cell = row[f"{aspect}_score"]
            assert scores[aspect] == (pytest.approx(float(cell), abs=1e-9) if cell else None)


def _reliability(folder: Path, split: str, aspect: str) -> Any:
    replies = _rows(folder, "replies", split)
    ratings = [_ratings(folder, split, f"rater-{number}", aspect) for number in (1, 2, 3)]
    values = [[given[reply["reply_id"]]["value"] for reply in replies] for given in ratings]
    return np.array(values, dtype=float)


@pytest.mark.parametrize("split", list(ROUNDS))
def test_krippendorffs_alpha(folder: Path, split: str) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    found = {}
    for aspect in ASPECTS:
        data = _reliability(folder, split, aspect)
        alpha = float(krippendorff.alpha(reliability_data=data, level_of_measurement="ordinal"))
        replies = int((np.isfinite(data).sum(axis=0) > 1).sum())
        found[aspect] = round(alpha, 3)
        assert f"- Krippendorff's alpha (ordinal), {split}, {aspect}: {alpha:.3f} ({replies} replies)\n" in card
    if split == "agreement_round2":
        assert found == {"relevance": 0.760, "coherence": 0.755, "aggressiveness": 0.534, "suitableness": 0.697}


def test_human_zeros_are_missing(folder: Path, upstream: Path) -> None:
    zeros = {row["uuid"] for row in oracle.read_csv(upstream / TEST) if float(row["relevance_score"]) == 0}
    assert len(zeros) == 7
    for aspect in ASPECTS:
        ratings = _by_uuid(folder, "test", _ratings(folder, "test", "annotators", aspect))
        missing = {uuid: row for uuid, row in ratings.items() if row["value"] is None}
        assert missing.keys() == zeros
        assert {row["reason"] for row in missing.values()} == {"out_of_scale"}
    replies = {row["reply_id"]: row["source_id"] for row in _rows(folder, "replies", "test")}
    scores = [row for row in _rows(folder, "scores", "test") if replies[row["reply_id"]] in zeros]
    assert {(*(row[aspect] for aspect in ASPECTS), row["unified"], row["reason"]) for row in scores} == {
        (None, None, None, None, None, "out_of_scale")
    }


@pytest.mark.parametrize("split", ["dev", "test"])
def test_human_scores_equal_the_cells(folder: Path, upstream: Path, split: str) -> None:
    released = {row["uuid"]: row for row in oracle.read_csv(upstream / {"dev": DEV, "test": TEST}[split])}
    for aspect in ASPECTS:
        ratings = _by_uuid(folder, split, _ratings(folder, split, "annotators", aspect))
        assert {uuid: (row["value"], row["reason"]) for uuid, row in ratings.items()} == {
            uuid: _expected(row[f"{aspect}_score"], aspect, "human") for uuid, row in released.items()
        }


@pytest.mark.parametrize("rater", list(MODELS))
def test_scores_of_models_equal_the_cells(folder: Path, upstream: Path, rater: str) -> None:
    released = oracle.read_csv(upstream / TEST)
    for aspect in ASPECTS:
        column = MODELS[rater].format(aspect)
        ratings = _by_uuid(folder, "test", _ratings(folder, "test", rater, aspect))
        assert {uuid: (row["value"], row["reason"]) for uuid, row in ratings.items()} == {
            row["uuid"]: _expected(row[column], aspect, "model") for row in released if row[column]
        }
        assert {(row["rater_kind"], row["low"], row["high"], row["higher_is_better"]) for row in ratings.values()} == {
            ("model", 1, HIGH[aspect], aspect != "aggressiveness")
        }


def test_scores_of_unieval_are_on_a_scale_of_their_own(folder: Path, upstream: Path) -> None:
    """UniEval gives probabilities: on the scale of the people, all of them would be missing."""
    released = oracle.read_csv(upstream / TEST)
    for aspect in ASPECTS:
        ratings = _by_uuid(folder, "test", _ratings(folder, "test", "unieval", aspect))
        assert {uuid: (row["value"], row["reason"]) for uuid, row in ratings.items()} == {
            row["uuid"]: (float(row[f"{aspect}_UniEval"]), None) for row in released if row[f"{aspect}_UniEval"]
        }
        assert len(ratings) == 904


def test_metrics_equal_the_cells(folder: Path, upstream: Path) -> None:
    released = oracle.read_csv(upstream / TEST)
    for rater, column in METRICS.items():
        ratings = _by_uuid(folder, "test", _ratings(folder, "test", rater, "score"))
        assert {uuid: row["value"] for uuid, row in ratings.items()} == {
            row["uuid"]: float(row[column]) for row in released if row[column]
        }
        assert {(row["rater_kind"], row["low"], row["high"], row["reason"]) for row in ratings.values()} == {
            ("metric", None, None, None)
        }
    raters = {row["rater"] for row in _rows(folder, "ratings", "test")}
    assert raters == {*MODELS, *METRICS, "unieval", "annotators"}


@pytest.mark.parametrize("split", list(SPLITS))
def test_no_rating_is_off_its_scale_and_every_missing_one_has_a_reason(folder: Path, split: str) -> None:
    for row in _rows(folder, "ratings", split):
        assert (row["value"] is None) == (row["reason"] is not None)
        assert row["reason"] in (None, "not_rated", "parse_failed", "out_of_scale")
        if row["value"] is not None:
            assert math.isfinite(row["value"])
            assert row["low"] is None or row["low"] <= row["value"]
            assert row["high"] is None or row["value"] <= row["high"]
        assert row["reason"] != "parse_failed" or row["rater_kind"] == "model"


def test_pooled_correlations_as_released(folder: Path, upstream: Path) -> None:
    """The zeros of people and the -1 of models are put back where our value is missing."""
    released = oracle.read_csv(upstream / TEST)
    pooled = []
    for rater, column in (("annotators", "relevance_score"), ("gpt-4", "gpt-4_relevance_score")):
        ratings = _by_uuid(folder, "test", _ratings(folder, "test", rater, "relevance"))
        assert len(ratings) == 1901
        values = [ratings[row["uuid"]]["value"] for row in released]
        pooled.append(
            [float(row[column]) if value is None else value for row, value in zip(released, values, strict=True)]
        )
    assert round(float(stats.spearmanr(*pooled).statistic), 3) == 0.581
    assert round(float(stats.kendalltau(*pooled).statistic), 3) == 0.494


@pytest.mark.parametrize("split", ["dev", "test", *ROUNDS])
def test_unified_score(folder: Path, split: str) -> None:
    scores = _rows(folder, "scores", split)
    complete = [row for row in scores if all(row[aspect] is not None for aspect in ASPECTS)]
    assert len(scores) - len(complete) == {"dev": 0, "test": 7, "agreement_round1": 7, "agreement_round2": 0}[split]
    for row in complete:
        assert row["unified"] == pytest.approx(_unified(row), abs=1e-12)
        assert 1 <= row["unified"] <= 5
    assert all(row["unified"] is None and row["reason"] for row in scores if row not in complete)


def test_the_number_of_raters_is_that_of_the_rounds(folder: Path, upstream: Path) -> None:
    """Seven replies of round 1 lack annotators: upstream wrote 0 for them into the file of the test split."""
    expected = [
        sum(bool(row[f"relevance_score_a{number}"]) for number in (1, 2, 3))
        for split in ROUNDS
        for row in oracle.read_csv(upstream / f"data/annotations/{ROUNDS[split]}.csv")
    ]
    assert Counter(expected) == {3: 1493, 1: 5, 0: 2}
    assert [row["n_raters"] for split in ROUNDS for row in _rows(folder, "scores", split)] == expected
    assert [row["n_raters"] for row in _rows(folder, "scores", "test")] == expected + [None] * 401


def test_unified_score_by_hand(folder: Path) -> None:
    # relevance 10/3, aggressiveness 5/3, coherence 7/3, suitableness 5/3 (7/3 of 5): (10/3 + 13/3 + 7/3 + 7/3) / 4
    first = _rows(folder, "scores", "agreement_round1")[0]
    assert [round(3 * first[aspect]) for aspect in ASPECTS] == [10, 7, 5, 5]
    assert first["unified"] == pytest.approx(37 / 12, abs=1e-12)
    # 4, aggressiveness 1, 5, 3: (4 + 5 + 5 + 5) / 4
    first = _rows(folder, "scores", "dev")[0]
    assert [first[aspect] for aspect in ASPECTS] == [4, 5, 1, 3]
    assert first["unified"] == 4.75


@pytest.mark.parametrize("rater", [*RANKERS, *RANKED_TOGETHER])
def test_ranks_equal_the_cells(folder: Path, upstream: Path, rater: str) -> None:
    replies = _rows(folder, "replies", "rankings")
    file = (RANKERS | RANKED_TOGETHER)[rater]
    released = [row for row in oracle.read_csv(upstream / file) if row["predicted_counterspeech"].strip()]
    assert [(row["hate_speech"], row["strategy"]) for row in replies] == [
        (row["hatespeech"], row["csType"].lower()) for row in released
    ]
    ratings = _ratings(folder, "rankings" if rater in RANKERS else "rankings_combined", rater, "preference_rank")
    assert [ratings[row["reply_id"]]["value"] for row in replies] == [float(row["Rank"]) for row in released]
    assert {(row["low"], row["high"], row["higher_is_better"]) for row in ratings.values()} == {(1, 5, False)}


def test_who_ranked_are_three_people_and_a_ranking_of_them_all_stands_apart(folder: Path) -> None:
    for split, raters in (("rankings", RANKERS), ("rankings_combined", RANKED_TOGETHER)):
        rows = [row for row in _rows(folder, "ratings", split) if row["aspect"] == "preference_rank"]
        assert Counter(row["rater"] for row in rows) == dict.fromkeys(raters, 310)


def _analysed(upstream: Path) -> dict[tuple[str, str, str], float]:
    """The human rank of the analysis file by HS, reply and strategy."""
    rows = oracle.read_csv(upstream / ANALYSED)
    found = {
        (row["hatespeech"], row["predicted_counterspeech"], row["csType"].lower()): float(row["rank_human_annotation"])
        for row in rows
    }
    assert len(found) == len(rows) == 305
    return found


def _compared(upstream: Path, rater: str) -> Counter[str]:
    """How the analysis file's ranks of the groups relate to those of an annotation file, on the raw cells."""
    analysed = _analysed(upstream)
    file = (RANKERS | RANKED_TOGETHER)[rater]
    rows = [row for row in oracle.read_csv(upstream / file) if row["predicted_counterspeech"].strip()]
    assert len(rows) == 310
    found: Counter[str] = Counter()
    for group in (rows[start : start + 5] for start in range(0, 310, 5)):
        keys = [(row["hatespeech"], row["predicted_counterspeech"], row["csType"].lower()) for row in group]
        there = [key in analysed for key in keys]
        if not any(there):
            found["absent"] += 1
            continue
        assert all(there)
        pairs = [(float(row["Rank"]), analysed[key]) for row, key in zip(group, keys, strict=True)]
        assert sorted(rank for _, rank in pairs) == [1, 2, 3, 4, 5]
        same = all(ours == theirs for ours, theirs in pairs)
        turned = all(ours == 6 - theirs for ours, theirs in pairs)
        found["same" if same else "reversed" if turned else "other"] += 1
    return found


def test_the_analysis_file_turns_the_rank_round_in_37_of_61_groups(folder: Path, upstream: Path) -> None:
    assert _compared(upstream, "rank-rater-3") == {"same": 24, "reversed": 37, "absent": 1}
    facts, shown = _manifest(folder)["facts"], []
    for rater in [*RANKERS, *RANKED_TOGETHER]:
        found = _compared(upstream, rater)
        assert facts[f"analysis_groups_as_{rater}"] == found["same"]
        assert facts[f"analysis_groups_reversed_from_{rater}"] == found["reversed"]
        shown.append(f"that of `{rater}` in {found['same']} and 6 minus it in {found['reversed']}")
    assert (
        "The human rank of the upstream analysis file (aspect `rank_as_analysed`) has no consistent direction: "
        f"over 61 groups it is {', '.join(shown)}. Use the ranks of the annotators.\n"
    ) in (folder / "README.md").read_text(encoding="utf-8")


def test_ranked_groups(folder: Path, upstream: Path) -> None:
    replies = _rows(folder, "replies", "rankings")
    groups = [{row["hs_id"] for row in replies[start : start + 5]} for start in range(0, 310, 5)]
    assert [len(messages) for messages in groups] == [1] * 62
    ratings = _ratings(folder, "rankings", "rank-analysis-file", "rank_as_analysed")
    released = _analysed(upstream)
    assert {(row["low"], row["high"], row["higher_is_better"], row["rater_kind"]) for row in ratings.values()} == {
        (1, 5, None, "human")
    }
    assert _ratings(folder, "rankings", "rank-analysis-file", "preference_rank") == {}
    formatted = oracle.read_csv(upstream / RANKED)
    assert [ratings[row["reply_id"]]["value"] for row in replies] == [
        released.get((row["hatespeech"], row["predicted_counterspeech"], row["csType"].lower())) for row in formatted
    ]
    flagged = [position for position, row in enumerate(replies) if ratings[row["reply_id"]]["reason"] == "not_rated"]
    assert len(flagged) == 5
    assert flagged == list(range(flagged[0], flagged[0] + 5))
    assert flagged[0] % 5 == 0


@pytest.mark.parametrize("rater", list(RANKINGS))
def test_predictions_on_the_ranked_groups_equal_the_cells(folder: Path, upstream: Path, rater: str) -> None:
    file, pattern = RANKINGS[rater]
    released = oracle.read_csv(upstream / f"predictions/human_eval/{file}.csv")
    replies = _rows(folder, "replies", "rankings")
    for aspect in ASPECTS:
        column = pattern.format(aspect)
        if (rater, aspect) == ("mistral-7b-zs", "aggressiveness"):
            column += "_zeroshot"
        ratings = _ratings(folder, "rankings", rater, aspect)
        found = [(ratings[row["reply_id"]]["value"], ratings[row["reply_id"]]["reason"]) for row in replies]
        assert found == [_expected(row[column], aspect, "model") for row in released]


def _key(row: dict[str, str]) -> tuple[str, str]:
    """HS, and the letters and digits of the reply."""
    return oracle.normalised(row["hatespeech"]), re.sub(r"[\W_]", "", row["predicted_counterspeech"].lower())


def test_overlaps_are_reported(folder: Path, upstream: Path) -> None:
    released = {"dev": DEV, "test": TEST, "rankings": RANKED} | {
        split: f"data/annotations/{name}.csv" for split, name in ROUNDS.items()
    }
    keys = {split: [_key(row) for row in oracle.read_csv(upstream / path)] for split, path in released.items()}
    assert all(text for split in keys.values() for _, text in split)
    also_in = {
        split: [sorted(other for other in keys if other != split and key in keys[other]) for key in found]
        for split, found in keys.items()
    }
    for split, expected in also_in.items():
        assert [row["also_in"] for row in _rows(folder, "replies", split)] == expected

    dev, test = oracle.read_csv(upstream / DEV), oracle.read_csv(upstream / TEST)
    records = {row["uuid"] for row in dev} & {row["uuid"] for row in test}
    messages = {hs for hs, _ in keys["dev"]} & {hs for hs, _ in keys["test"]}
    facts = _manifest(folder)["facts"]
    assert facts["test_replies_in_dev"] == sum("dev" in others for others in also_in["test"]) == 144
    assert facts["test_records_in_dev"] == len(records) == 136
    assert facts["hs_in_dev_and_test"] == len(messages) == 328
    assert facts["test_replies_with_text_of_another"] == len(keys["test"]) - len(set(keys["test"])) == 20
    # A record that both files hold is the same reply in both.
    for split, other in (("dev", "test"), ("test", "dev")):
        replies = _rows(folder, "replies", split)
        assert records < {row["source_id"] for row in replies if other in row["also_in"]}

    shared = {
        (split, other): sum(other in others for others in also_in[split])
        for split in ("dev", "rankings", "test")
        for other in ("dev", "rankings", "test")
        if other != split
    }
    assert list(shared.values()) == [17, 142, 17, 58, 144, 60]
    counted = ", ".join(f"{number} of `{split}` in `{other}`" for (split, other), number in shared.items())
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert (
        "Upstream put 328 HS into both `dev` and `test`. Rows whose HS and reply are in another split too: "
        f"{counted}. Nothing was moved: `also_in` names the other splits. Leave the rows of `dev` out of `test` when "
        "something was tuned on `dev`.\n"
    ) in card
    assert (
        "20 rows of `test` hold the HS and reply of another row under another upstream record, rated again; both are "
        "included.\n"
    ) in card
    rated_again = [row["source_id"] for split in ROUNDS for row in _rows(folder, "replies", split)]
    assert rated_again == [row["uuid"] for row in test[:1500]]


EQUAL = (
    "Ratings of relevance by people (`annotators`) and by `gpt-4` are equal for all 401 replies of `test` after the "
    "first 1500, but only for 282 of the first 1500. The last 401 are not independent "
    "(column `independent` of `replies`), and `fcconan correlate` leaves them out."
)


def test_equal_ratings_of_gpt_4_and_people_are_noted_on_card_and_by_correlate(folder: Path) -> None:
    def notes(*raters: str) -> list[str]:
        options: Any = {"rows": Rows(split="test"), "bootstrap": Bootstrap(resamples=0)}
        found = correlate(folder, rater=raters, level=("pooled",), include_dependent=True, **options)
        return [note for note in found.notes if "are equal for all" in note]

    assert [note for note in _manifest(folder)["notes"] if "are equal for all" in note] == [EQUAL]
    assert EQUAL in (folder / "README.md").read_text(encoding="utf-8")
    assert notes() == notes("gpt-4", "unieval") == [EQUAL]
    assert notes("gpt-4-zs", "unieval") == []


def test_correlate_leaves_out_the_401_dependent_replies(folder: Path) -> None:
    replies = oracle.rows(folder, "replies", "test")
    assert [row["independent"] for row in replies] == [True] * 1500 + [False] * 401
    options: Any = {"rows": Rows(split="test"), "bootstrap": Bootstrap(resamples=0), "level": ("pooled",)}
    found = correlate(folder, rater=("gpt-4-zs",), coefficient=("spearman",), **options)
    first = {row["reply_id"] for row in replies[:1500]}
    given: dict[str, dict[str, float]] = {"annotators": {}, "gpt-4-zs": {}}
    for row in oracle.rows(folder, "ratings", "test"):
        if row["aspect"] == "relevance" and row["rater"] in given and row["reply_id"] in first:
            given[row["rater"]][row["reply_id"]] = row["value"]
    rated = [
        pair for key, value in given["gpt-4-zs"].items() if None not in (pair := (given["annotators"][key], value))
    ]
    expected = stats.spearmanr(*zip(*rated, strict=True)).statistic
    values = found.to_frame().set_index("aspect")["value"]
    assert values["relevance"] == pytest.approx(expected, abs=1e-9)
    assert any(note.startswith("401 replies are left out") for note in found.notes)


def test_no_person_is_named(folder: Path) -> None:
    """The paper's authors in the citation and the owner's name in the address of the repository are meant."""
    manifest = _manifest(folder)
    card = (folder / "README.md").read_text(encoding="utf-8")
    card, citations = re.subn(r"```bibtex\n.*?\n```", "", card, flags=re.DOTALL)
    assert citations == 2
    for text in (card, (folder / "manifest.json").read_text(encoding="utf-8")):
        assert PEOPLE.search(text.replace(oracle.CS_EVAL, "")) is None
    hidden = [source["name"] for source in manifest["sources"] if source["path"] is None]
    assert hidden == ["ranks_1", "ranks_2", "ranks_consensus"]
    for config, splits in manifest["counts"].items():
        for split in splits:
            for row in _rows(folder, config, split):
                labels = [value for name, value in row.items() if name not in _text_columns(manifest).get(config, [])]
                assert PEOPLE.search(repr(labels)) is None
