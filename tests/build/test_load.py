"""What `datasets.load_dataset` makes of a release folder, each time in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fcconan import rows
from fcconan.build import build
from fcconan.build.release import read_manifest
from tests import small

LOAD = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
folder, wanted = sys.argv[1], json.loads(sys.argv[2])
out = {"configs": get_dataset_config_names(folder)}
for config in wanted or out["configs"]:
    splits = load_dataset(folder, config)
    out[config] = {
        split: {"rows": part.to_list(), "features": part.features.to_dict()} for split, part in splits.items()
    }
print(json.dumps(out))
"""


def load(folder: Path, *configs: str) -> dict[str, Any]:
    """Loads configs (by default all) in a fresh process, which shares its cache with the other calls of a test."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder), json.dumps(configs)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # A card that `datasets` finds malformed is ignored with a warning: that would hide every other mistake.
    assert "Ignoring" not in done.stderr, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("demo", tmp_path_factory.mktemp("demo") / "out").folder


def test_every_config_loads_with_the_rows_and_features_it_was_built_with(demo: Path) -> None:
    loaded = load(demo)
    manifest = read_manifest(demo)
    assert set(loaded.pop("configs")) == set(manifest["versions"])
    for config, splits in loaded.items():
        counts = manifest["counts"][manifest["aliases"].get(config, config)]
        assert {split: len(part["rows"]) for split, part in splits.items()} == counts
    expected = {
        "gold": rows.PAIR,
        "votes": rows.VOTE,
        "replies": rows.REPLY,
        "ratings": rows.RATING,
        "comparisons": rows.COMPARISON,
        "corpus": rows.TEXT_BY_ID,
        "silver-qrels": rows.QRELS,
    }
    for config, columns in expected.items():
        assert loaded[config]["test"]["features"] == rows.features(columns).to_dict(), config


def test_labels_only_loads_without_the_text_columns(tmp_path: Path) -> None:
    build("demo", tmp_path / "out", labels_only=True)
    loaded = load(tmp_path / "out", "gold", "replies")
    assert loaded["gold"]["test"]["features"] == rows.features(rows.without_text(rows.PAIR)).to_dict()
    assert "text" not in loaded["replies"]["test"]["rows"][0]


def test_a_rebuilt_folder_is_loaded_afresh(tmp_path: Path) -> None:
    recipe = str(small.write_small(tmp_path / "upstream"))
    build(recipe, tmp_path / "out")
    before = load(tmp_path / "out", "train", "gold")
    assert before["train"]["train"]["rows"][1]["counter_narrative"] == small.TRAIN[2][2]

    changed = [{"source_id": key, "hate_speech": hs, "counter_narrative": cn} for key, hs, cn in small.TRAIN]
    changed[2]["counter_narrative"] = "The inspector bakes, too."
    small.write_csv(tmp_path / "upstream" / "train.csv", changed)
    small.write_recipe(tmp_path / "upstream")
    build(recipe, tmp_path / "out")
    after = load(tmp_path / "out", "train", "gold")
    assert after["train"]["train"]["rows"][1]["counter_narrative"] == "The inspector bakes, too."
    assert after["gold"] == before["gold"]


def test_a_parquet_file_that_lost_rows_is_noticed(tmp_path: Path) -> None:
    build(str(small.write_small(tmp_path / "upstream")), tmp_path / "out")
    (tmp_path / "out/gold/test-00000-of-00001.parquet").write_bytes(
        (tmp_path / "out/diamond/test-00000-of-00001.parquet").read_bytes()
    )
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(tmp_path / "out"), '["gold"]'], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "NonMatchingSplitsSizesError" in done.stderr
