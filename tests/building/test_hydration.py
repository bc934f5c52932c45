import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fcconan import hydrate
from fcconan.building import build
from fcconan.errors import InputError
from tests import small
from tests.conftest import RunCli

GOLD = "gold/test-00000-of-00001.parquet"


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    return small.write_small(tmp_path / "upstream")


@pytest.fixture
def labels(tmp_path: Path, recipe: Path) -> Path:
    build(str(recipe), out=tmp_path / "labels", labels_only=True, tier_rule="strict")
    return tmp_path / "labels"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_hydrating_gives_the_full_build_byte_for_byte(
    tmp_path: Path, recipe: Path, labels: Path, run_cli: RunCli
) -> None:
    build(str(recipe), out=tmp_path / "full", tier_rule="strict")
    options = ("--recipe", recipe, "--json", tmp_path / "rows.json")
    done = run_cli("hydrate", labels, "--out", tmp_path / "hydrated", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(tmp_path / "hydrated") == contents(tmp_path / "full")
    rows = json.loads((tmp_path / "rows.json").read_text())["tables"]["rows"]
    manifest = json.loads((labels / "manifest.json").read_text())
    assert [[row["config"], row["split"], row["rows"]] for row in rows] == [
        [config, split, number] for config, splits in manifest["counts"].items() for split, number in splits.items()
    ]
    # The rows and labels are those of the folder.
    table = pq.read_table(labels / GOLD)
    pq.write_table(table.take([2, 0]), labels / GOLD)
    hydrate(str(labels), out=tmp_path / "two", recipe=recipe)
    two = pq.read_table(tmp_path / "two" / GOLD)
    assert two.drop_columns(["hate_speech", "counter_narrative"]).to_pylist() == table.take([2, 0]).to_pylist()
    assert two["hate_speech"][1].as_py() == small.HS[0]


def test_rows_that_are_not_in_the_sources_are_refused(tmp_path: Path, recipe: Path, labels: Path) -> None:
    table = pq.read_table(labels / GOLD)
    rows = [{**table.to_pylist()[0], "pair_id": "hs-000000000000:cn-000000000000"}]
    pq.write_table(table.from_pylist(rows, schema=table.schema), labels / GOLD)
    with pytest.raises(
        InputError, match=r"found the row hs-000000000000:cn-000000000000 in gold/test of .*, but not in"
    ):
        hydrate(str(labels), out=tmp_path / "out", recipe=recipe)
    manifest = json.loads((labels / "manifest.json").read_text())
    manifest["counts"]["gold"] = {"extra": 7}
    (labels / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=r"found gold/extra in .*, but not in the sources of small"):
        hydrate(str(labels), out=tmp_path / "out", recipe=recipe)
    assert not (tmp_path / "out").exists()


def test_mistakes(tmp_path: Path, recipe: Path, labels: Path) -> None:
    with pytest.raises(InputError, match="is of the recipe small, which is not in the catalogue: give its file as"):
        hydrate(str(labels), out=tmp_path / "out")
    demo = shutil.copy("builders/demo.yaml", tmp_path / "demo.yaml")
    with pytest.raises(InputError, match="is of the recipe small, not of demo: give its file as --recipe"):
        hydrate(str(labels), out=tmp_path / "out", recipe=Path(demo))
    build(str(recipe), out=tmp_path / "full")
    with pytest.raises(InputError, match="full has its texts already"):
        hydrate(str(tmp_path / "full"), out=tmp_path / "out", recipe=recipe)
    (tmp_path / "upstream" / "train.csv").write_text("changed", encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.csv has sha256 .*, expected"):
        hydrate(str(labels), out=tmp_path / "out", recipe=recipe)
