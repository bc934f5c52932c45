import json
from collections import Counter
from pathlib import Path

import pytest

from tests.upstream import oracle
from tests.upstream.conftest import Release

pytestmark = pytest.mark.upstream

SYSTEMS = {"chatgpt": "chatGPT", "dialogpt": "dialoGPT", "vicuna": "vicuna"}
CANDIDATES = ("pk1", "pk2", "pk3", "pk4", "pk5")
PLACEHOLDER = "src/correlation/amt_scores_example.csv"


def _answered(mirror: Path) -> list[dict[str, str]]:
    return oracle.read_csv(mirror / oracle.LLM_CN_EVAL / "src/evaluation/all_candidateCNs.csv")


def test_replies_equal_the_released_file(release: Release, mirror: Path) -> None:
    rows = oracle.rows(release("multi-aspect"), "replies", "test")
    found = [
        (row["hs_id"], row["hate_speech"], row["references"], row["target"], row["system"], row["text"]) for row in rows
    ]
    assert found == [
        (
            oracle.text_id("hs", row["HATE_SPEECH"]),
            row["HATE_SPEECH"],
            [row["COUNTER_NARRATIVE"]],
            row["TARGET"],
            system,
            row[column],
        )
        for row in _answered(mirror)
        for system, column in SYSTEMS.items()
    ]
    assert Counter(row["system"] for row in rows) == dict.fromkeys(SYSTEMS, 500)
    assert len({row["reply_id"] for row in rows}) == 1500
    assert Counter(Counter(row["item_id"] for row in rows).values()) == {3: 500}


def test_the_card_states_the_figures(release: Release) -> None:
    card = (release("multi-aspect") / "README.md").read_text(encoding="utf-8")
    assert "| `replies` | `test` | 1500 | 3 | 500 | 320 |" in card
    assert "| `candidates` | `test` | 2500 | 1 | 500 | 320 |" in card
    assert "object at 0x" not in card


def test_candidates_and_the_chosen_ones(release: Release, mirror: Path) -> None:
    folder = release("multi-aspect")
    upstream = oracle.read_csv(mirror / oracle.LLM_CN_EVAL / "src/generation/DialoGPT/dialoGPT_candidateCNs.csv")
    rows = oracle.rows(folder, "candidates", "test")
    chosen = [row["dialoGPT"] for row in _answered(mirror)]
    assert [(row["references"], row["text"], row["chosen"]) for row in rows] == [
        ([row["COUNTER_NARRATIVE"]], row[name], row[name] == reply)
        for row, reply in zip(upstream, chosen, strict=True)
        for name in CANDIDATES
    ]
    assert {row["system"] for row in rows} == {"dialogpt"}
    assert len({row["reply_id"] for row in rows}) == 2500
    items = [row["item_id"] for row in oracle.rows(folder, "replies", "test")[::3]]
    assert {row["item_id"] for row in rows if row["chosen"]} == set(items)


def test_six_rubrics(release: Release, mirror: Path) -> None:
    (upstream,) = oracle.read_csv(mirror / oracle.LLM_CN_EVAL / "src/evaluation/prompts.csv")
    rows = oracle.rows(release("multi-aspect"), "rubrics", "test")
    assert rows == [{"aspect": name.lower(), "prompt": prompt} for name, prompt in upstream.items()]
    assert {row["aspect"] for row in rows} == {
        "opposition",
        "relatedness",
        "specificity",
        "toxicity",
        "fluency",
        "overall",
    }


def test_pairs_are_the_authors_splits(release: Release, mirror: Path) -> None:
    for split, name, number in (("train", "train", 4003), ("validation", "val", 500), ("test", "test", 500)):
        upstream = oracle.read_csv(mirror / oracle.LLM_CN_EVAL / f"src/data/multitargetCONAN_{name}.csv")
        rows = oracle.rows(release("multi-aspect"), "pairs", split)
        assert len(rows) == number
        assert [(row["hate_speech"], row["counter_narrative"], row["target"]) for row in rows] == [
            (row["HATE_SPEECH"], row["COUNTER_NARRATIVE"], row["TARGET"]) for row in upstream
        ]


def test_placeholder_scores_are_nowhere(release: Release) -> None:
    folder = release("multi-aspect")
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["counts"]) == {"replies", "candidates", "rubrics", "pairs"}
    assert {path.parent.name for path in folder.glob("*/*.parquet")} == set(manifest["counts"])
    assert not any("amt" in str(source["path"]) for source in manifest["sources"])
    assert len(manifest["sources"]) == 6
    assert manifest["excluded"] == [PLACEHOLDER]
    for config, splits in manifest["counts"].items():
        for split in splits:
            names = oracle.rows(folder, config, split)[0].keys()
            assert not {"value", "score", "rating", "amt_avg", "amt_ovr"} & names
