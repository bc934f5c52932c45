"""What `datasets.load_dataset` makes of release folders, in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest

from fcconan.building import build
from fcconan.data import read_manifest, schemas
from tests import small

pytestmark = pytest.mark.slow

LOAD = """
import json, sys
from datasets import get_dataset_config_names, load_dataset
loaded = []
for folder, wanted in json.loads(sys.argv[1]):
    out = {"configs": get_dataset_config_names(folder)}
    loaded.append(out)
    for config in wanted or out["configs"]:
        try:
            splits = load_dataset(folder, config)
        except Exception as error:
            out[config] = type(error).__name__
            continue
        out[config] = {
            split: {"rows": part.to_list(), "features": part.features.to_dict()} for split, part in splits.items()
        }
print(json.dumps(loaded))
"""


def load_all(*wanted: tuple[Path, list[str]]) -> list[dict[str, Any]]:
    """Loads configs (by default all) of each folder in a fresh process, which shares its cache with the others of a
    test; in place of a config that `datasets` refuses stands the name of the error.
    """
    asked = json.dumps([(str(folder), configs) for folder, configs in wanted])
    done = subprocess.run([sys.executable, "-c", LOAD, asked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # A card that `datasets` finds malformed is ignored with a warning: that would hide every other mistake.
    assert "Ignoring" not in done.stderr, done.stderr
    result: list[dict[str, Any]] = json.loads(done.stdout)
    return result


def load(folder: Path, *configs: str) -> dict[str, Any]:
    return load_all((folder, list(configs)))[0]


@pytest.fixture(scope="module")
def three(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The demo, its labels only, and a folder one of whose files lost rows: importing `datasets` takes seconds."""
    folder = tmp_path_factory.mktemp("others")
    build("demo", folder / "labels", labels_only=True)
    build(str(small.write_small(folder / "upstream")), folder / "lost")
    (folder / "lost/gold/test-00000-of-00001.parquet").write_bytes(
        (folder / "lost/diamond/test-00000-of-00001.parquet").read_bytes()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HOME", str(folder / "huggingface"))
        return load_all((demo, []), (folder / "labels", ["gold", "replies"]), (folder / "lost", ["gold"]))


def test_every_config_loads_with_the_rows_and_features_it_was_built_with(
    demo: Path, three: list[dict[str, Any]]
) -> None:
    loaded = dict(three[0])
    manifest = read_manifest(demo)
    assert set(loaded.pop("configs")) == set(manifest["versions"])
    for config, splits in loaded.items():
        counts = manifest["counts"][manifest["aliases"].get(config, config)]
        assert {split: len(part["rows"]) for split, part in splits.items()} == counts
    expected = {
        "gold": schemas.PAIR.kinds,
        "votes": schemas.VOTE.kinds,
        "replies": schemas.REPLY.kinds,
        "ratings": schemas.RATING.kinds,
        "comparisons": schemas.COMPARISON.kinds,
        "corpus": schemas.TEXT_BY_ID.kinds,
        "silver-qrels": schemas.QRELS.kinds,
    }
    for config, columns in expected.items():
        assert (
            loaded[config]["test"]["features"]
            == datasets.Features.from_dict(schemas.feature_specification(columns)).to_dict()
        ), config


def test_labels_only_loads_without_the_text_columns(three: list[dict[str, Any]]) -> None:
    loaded = three[1]
    texts = schemas.feature_specification(schemas.without_text(schemas.PAIR.kinds))
    assert loaded["gold"]["test"]["features"] == datasets.Features.from_dict(texts).to_dict()
    assert "text" not in loaded["replies"]["test"]["rows"][0]


@pytest.mark.long
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


def test_a_parquet_file_that_lost_rows_is_noticed(three: list[dict[str, Any]]) -> None:
    assert three[2]["gold"] == "NonMatchingSplitsSizesError"
