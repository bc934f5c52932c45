import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.building import build, hydrate
from fcconan.data import read_manifest
from fcconan.errors import InputError
from tests import small
from tests.building.test_build import contents
from tests.conftest import RunCli

GOLD = "gold/test-00000-of-00001.parquet"


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    return str(small.write_small(tmp_path / "upstream"))


@pytest.fixture
def labels(tmp_path: Path, recipe: str) -> Path:
    build(recipe, out=tmp_path / "labels", labels_only=True)
    return tmp_path / "labels"


def rewrite(path: Path, rows: list[dict[str, Any]]) -> None:
    """Writes other rows into a parquet file, with its schema."""
    pq.write_table(pa.Table.from_pylist(rows, schema=pq.read_schema(path)), path)


@pytest.mark.parametrize("rule", ["released", "strict"])
def test_hydrating_gives_the_full_build_byte_for_byte(tmp_path: Path, recipe: str, rule: str) -> None:
    build(recipe, out=tmp_path / "labels", labels_only=True, tier_rule=rule)
    build(recipe, out=tmp_path / "full", tier_rule=rule)
    result = hydrate(tmp_path / "labels", tmp_path / "hydrated", recipe=recipe)
    manifest = read_manifest(tmp_path / "full")
    rows = sum(sum(splits.values()) for splits in manifest["counts"].values())
    assert (result.matched, result.changed, result.missing, result.extra) == (rows, 0, 0, 0)
    assert result.complete
    assert contents(tmp_path / "hydrated") == contents(tmp_path / "full")


def test_the_order_of_the_labels_does_not_matter(tmp_path: Path, recipe: str, labels: Path) -> None:
    rewrite(labels / GOLD, pq.read_table(labels / GOLD).to_pylist()[::-1])
    build(recipe, out=tmp_path / "full")
    assert hydrate(labels, tmp_path / "hydrated", recipe=recipe).complete
    assert contents(tmp_path / "hydrated") == contents(tmp_path / "full")


def test_changed_missing_and_further_rows_are_counted_and_nothing_is_written(
    tmp_path: Path, recipe: str, labels: Path
) -> None:
    rows = pq.read_table(labels / GOLD).to_pylist()
    flipped = {**rows[0], "label": "not_appropriate"}
    unknown = {**rows[1], "pair_id": "hs-000000000000:cn-000000000000"}
    rewrite(labels / GOLD, [flipped, unknown, *rows[2:]])
    result = hydrate(labels, tmp_path / "hydrated", recipe=recipe)
    assert (result.changed, result.missing, result.extra) == (1, 1, 1)
    assert not result.complete
    assert result.folder is None
    assert not (tmp_path / "hydrated").exists()
    assert {(example["config"], example["matter"]) for example in result.examples} == {
        ("gold", "changed"),
        ("gold", "missing upstream"),
        ("gold", "not in the folder"),
    }


def test_keep_going_keeps_the_rows_and_labels_of_the_folder(tmp_path: Path, recipe: str, labels: Path) -> None:
    rows = pq.read_table(labels / GOLD).to_pylist()
    unknown = {**rows[1], "pair_id": "hs-000000000000:cn-000000000000"}
    rewrite(labels / GOLD, [{**rows[0], "label": "not_appropriate"}, unknown, *rows[2:]])
    result = hydrate(labels, tmp_path / "hydrated", recipe=recipe, keep_going=True)
    assert result.folder == tmp_path / "hydrated"
    written = pq.read_table(tmp_path / "hydrated" / GOLD).to_pylist()
    assert (written[0]["label"], written[0]["hate_speech"]) == ("not_appropriate", small.HS[0])
    assert (written[1]["pair_id"], written[1]["hate_speech"]) == (unknown["pair_id"], None)
    assert len(written) == 6
    card = (tmp_path / "hydrated" / "README.md").read_text(encoding="utf-8")
    assert "1 changed, 1 missing upstream" in card


def test_a_split_that_cannot_be_rebuilt_is_missing(tmp_path: Path, recipe: str, labels: Path) -> None:
    manifest = json.loads((labels / "manifest.json").read_text(encoding="utf-8"))
    manifest["counts"]["gold"]["extra"] = 7
    (labels / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    result = hydrate(labels, tmp_path / "hydrated", recipe=recipe)
    assert (result.missing, result.folder, result.unbuilt) == (7, None, ["gold/extra"])
    hydrate(labels, tmp_path / "hydrated", recipe=recipe, keep_going=True)
    card = (tmp_path / "hydrated" / "README.md").read_text(encoding="utf-8")
    assert "Left out because they cannot be built here: gold/extra." in card


def test_a_file_that_is_gone_counts_as_rows_not_in_the_folder(tmp_path: Path, recipe: str, labels: Path) -> None:
    (labels / GOLD).unlink()
    result = hydrate(labels, tmp_path / "hydrated", recipe=recipe)
    assert (result.extra, result.missing, result.folder) == (6, 0, None)


def test_a_parquet_file_that_cannot_be_read_is_named(tmp_path: Path, recipe: str, labels: Path) -> None:
    (labels / GOLD).write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"gold/test-00000-of-00001\.parquet cannot be read"):
        hydrate(labels, tmp_path / "hydrated", recipe=recipe)


def test_upstream_files_that_changed_are_an_error(tmp_path: Path, recipe: str, labels: Path) -> None:
    (tmp_path / "upstream" / "train.csv").write_text("changed", encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.csv has sha256 .*, expected"):
        hydrate(labels, tmp_path / "hydrated", recipe=recipe)


def test_the_command_line_reports_and_exits_with_2(tmp_path: Path, recipe: str, labels: Path, run_cli: RunCli) -> None:
    done = run_cli("hydrate", labels, "--out", tmp_path / "hydrated", "--recipe", recipe)
    assert done.returncode == 0, done.stderr
    assert "equals the full build" in done.stdout
    rewrite(labels / GOLD, pq.read_table(labels / GOLD).to_pylist()[1:])
    report = tmp_path / "report.json"
    done = run_cli("hydrate", labels, "--out", tmp_path / "again", "--recipe", recipe, "--json", report)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "nothing was written" in done.stderr
    counts = json.loads(report.read_text(encoding="utf-8"))
    assert (counts["complete"], counts["not in the folder"], counts["out"]) == (False, 1, None)
