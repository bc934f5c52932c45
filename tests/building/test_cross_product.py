import itertools
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from fcconan.building import cross_product
from fcconan.building.cross_product import PLAN_NAME, write_exhaustive_pairs
from fcconan.errors import InputError
from fcconan.parallel import Shard, write_shard

HS = [f"hs-{number:012x}" for number in range(7)]
CN = [f"cn-{number:012x}" for number in range(11)]
UNEQUAL_HS = ["h", "", "Ünïcode-ø", "仇恨言论", "h" * 300]
UNEQUAL_CN = ["réponse", "c", "🕊️", "", "c:c", " "]


def expected(hs_ids: list[str], cn_ids: list[str]) -> list[tuple[str, str, str]]:
    return [(f"{hs}:{cn}", hs, cn) for hs, cn in itertools.product(hs_ids, cn_ids)]


def content(shards: list[Path]) -> list[tuple[str, str, str]]:
    table = pa.concat_tables(pq.read_table(shard) for shard in shards)
    return list(zip(*(table[name].to_pylist() for name in ("pair_id", "hs_id", "cn_id")), strict=True))


def file_bytes(shards: list[Path]) -> list[tuple[str, bytes]]:
    return [(shard.name, shard.read_bytes()) for shard in shards]


@pytest.mark.parametrize("rows_per_shard", [1, 4, 11, 20, 76, 77, 78, 1000])
def test_content_for_any_shard_size(tmp_path: Path, rows_per_shard: int) -> None:
    shards = write_exhaustive_pairs(HS, CN, tmp_path, rows_per_shard=rows_per_shard)
    count = -(-77 // rows_per_shard)
    assert [shard.name for shard in shards] == [f"part-{n:05d}-of-{count:05d}.parquet" for n in range(count)]
    rows = [pq.read_metadata(shard).num_rows for shard in shards]
    assert rows[:-1] == [rows_per_shard] * (count - 1)
    assert content(shards) == expected(HS, CN)
    assert {path.name for path in tmp_path.iterdir()} == {PLAN_NAME, "_checkpoints", *(shard.name for shard in shards)}


@pytest.mark.parametrize("rows_per_group", [1, 3, 7, 1000])
def test_content_for_any_row_group_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_per_group: int) -> None:
    monkeypatch.setattr(cross_product, "_ROWS_PER_GROUP", rows_per_group)
    shards = write_exhaustive_pairs(UNEQUAL_HS, UNEQUAL_CN, tmp_path, rows_per_shard=8)
    assert content(shards) == expected(UNEQUAL_HS, UNEQUAL_CN)
    assert pq.read_metadata(shards[0]).num_row_groups == -(-8 // rows_per_group)


def test_content_over_several_row_groups_with_a_dictionary_too_large_for_one_page(tmp_path: Path) -> None:
    cn_ids = [f"cn-{number:012x}" for number in range(90_000)]
    shards = write_exhaustive_pairs(HS[:2], cn_ids, tmp_path)
    assert pq.read_metadata(shards[0]).num_row_groups == 2
    assert content(shards) == expected(HS[:2], cn_ids)


@settings(max_examples=60, deadline=None)
@given(
    hs_ids=st.lists(st.text(max_size=6), min_size=1, max_size=9, unique=True),
    cn_ids=st.lists(st.text(max_size=6), min_size=1, max_size=9, unique=True),
    rows_per_shard=st.integers(4, 100),
    jobs=st.integers(1, 3),
)
def test_content_for_any_ids(
    tmp_path_factory: pytest.TempPathFactory,
    hs_ids: list[str],
    cn_ids: list[str],
    rows_per_shard: int,
    jobs: int,
) -> None:
    folder = tmp_path_factory.mktemp("pairs")
    shards = write_exhaustive_pairs(hs_ids, cn_ids, folder, rows_per_shard=rows_per_shard, jobs=jobs)
    assert content(shards) == expected(hs_ids, cn_ids)


def test_columns_are_plain_strings(tmp_path: Path) -> None:
    shards = write_exhaustive_pairs(HS, CN, tmp_path / "pairs")
    assert pq.read_table(shards[0]).schema.equals(
        pa.schema({"pair_id": pa.string(), "hs_id": pa.string(), "cn_id": pa.string()})
    )


def test_columns_are_plain_strings_for_datasets(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    shards = write_exhaustive_pairs(HS, CN, tmp_path / "pairs", rows_per_shard=30)
    loaded = datasets.load_dataset(
        "parquet",
        data_files=[str(shard) for shard in shards],
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    assert {name: feature.dtype for name, feature in loaded.features.items()} == {
        "pair_id": "string",
        "hs_id": "string",
        "cn_id": "string",
    }
    assert loaded.num_rows == len(HS) * len(CN)
    assert loaded[76] == {"pair_id": f"{HS[6]}:{CN[10]}", "hs_id": HS[6], "cn_id": CN[10]}


def test_bytes_do_not_depend_on_jobs(tmp_path: Path) -> None:
    one = write_exhaustive_pairs(HS, CN, tmp_path / "one", rows_per_shard=6, jobs=1)
    two = write_exhaustive_pairs(HS, CN, tmp_path / "two", rows_per_shard=6, jobs=2)
    default = write_exhaustive_pairs(HS, CN, tmp_path / "default", rows_per_shard=6)
    assert file_bytes(one) == file_bytes(two) == file_bytes(default)
    assert (tmp_path / "one" / PLAN_NAME).read_bytes() == (tmp_path / "two" / PLAN_NAME).read_bytes()


@pytest.mark.parametrize("damage", ["deleted", "cut short", "empty"])
def test_resume_writes_only_what_is_missing(tmp_path: Path, damage: str) -> None:
    shards = write_exhaustive_pairs(HS, CN, tmp_path, rows_per_shard=20)
    before = file_bytes(shards)
    times = [shard.stat().st_mtime_ns for shard in shards]
    if damage == "deleted":
        shards[1].unlink()
    else:
        shards[1].write_bytes(before[1][1][:-9] if damage == "cut short" else b"")

    assert write_exhaustive_pairs(HS, CN, tmp_path, rows_per_shard=20) == shards

    assert file_bytes(shards) == before
    now = [shard.stat().st_mtime_ns for shard in shards]
    assert [now[0], *now[2:]] == [times[0], *times[2:]]


@pytest.mark.parametrize("jobs", [1, 2])
def test_interruption_leaves_complete_shards_only_and_cancels_the_others(
    tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_at_the_fifth(folder: Path, shard: Shard, *arguments: Any) -> None:
        if shard.start == 5:
            raise KeyboardInterrupt
        write_shard(folder, shard, *arguments)
        time.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr(cross_product, "write_shard", stop_at_the_fifth)
        with pytest.raises(KeyboardInterrupt):
            write_exhaustive_pairs(HS, CN, tmp_path / "pairs", rows_per_shard=1, jobs=jobs)

    left = [path for path in (tmp_path / "pairs").iterdir() if path.name not in (PLAN_NAME, "_checkpoints")]
    assert 5 <= len(left) <= 20
    assert all(path.name.startswith("part-") and path.suffix == ".parquet" for path in left)
    assert all(pq.read_table(path).num_rows == 1 for path in left)
    assert content(write_exhaustive_pairs(HS, CN, tmp_path / "pairs", rows_per_shard=1, jobs=jobs)) == expected(HS, CN)


def test_failure_within_a_shard_leaves_no_half_written_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = file_bytes(write_exhaustive_pairs(HS, CN, tmp_path / "whole", rows_per_shard=30))

    class FullDisk(pq.ParquetWriter):  # type: ignore[misc]
        def write_table(self, *arguments: Any, **options: Any) -> None:
            super().write_table(*arguments, **options)
            raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pq, "ParquetWriter", FullDisk)
        with pytest.raises(OSError, match="no space left"):
            write_exhaustive_pairs(HS, CN, tmp_path / "pairs", rows_per_shard=30, jobs=1)
    assert {path.name for path in (tmp_path / "pairs").iterdir()} == {PLAN_NAME, "_checkpoints"}

    assert file_bytes(write_exhaustive_pairs(HS, CN, tmp_path / "pairs", rows_per_shard=30)) == whole


@pytest.mark.parametrize(
    ("hs_ids", "cn_ids", "rows_per_shard", "named"),
    [
        (HS[:-1], CN, 20, "hs_count 7 instead of 6"),
        (HS, [*CN, "cn-more"], 20, "cn_count 11 instead of 12"),
        (HS[::-1], CN, 20, "hs_digest"),
        (HS, CN, 21, "rows_per_shard 20 instead of 21"),
    ],
)
def test_folder_of_other_inputs_is_refused(
    tmp_path: Path, hs_ids: list[str], cn_ids: list[str], rows_per_shard: int, named: str
) -> None:
    shards = write_exhaustive_pairs(HS, CN, tmp_path, rows_per_shard=20)
    before = file_bytes(shards)
    with pytest.raises(InputError, match=named) as caught:
        write_exhaustive_pairs(hs_ids, cn_ids, tmp_path, rows_per_shard=rows_per_shard)
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in ("found", "expected", "delete"))
    assert file_bytes(shards) == before


@pytest.mark.parametrize("plan", ["", "[]", "{}", "not json"])
def test_folder_with_an_unreadable_plan_is_refused(tmp_path: Path, plan: str) -> None:
    (tmp_path / PLAN_NAME).write_text(plan, encoding="utf-8")
    with pytest.raises(InputError, match="expected the plan of this"):
        write_exhaustive_pairs(HS, CN, tmp_path)


def test_folder_with_shards_but_no_plan_is_refused(tmp_path: Path) -> None:
    write_exhaustive_pairs(HS, CN, tmp_path)
    (tmp_path / PLAN_NAME).unlink()
    with pytest.raises(InputError, match=PLAN_NAME):
        write_exhaustive_pairs(HS, CN, tmp_path)


def test_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs").touch()
    with pytest.raises(InputError, match="expected a folder"):
        write_exhaustive_pairs(HS, CN, tmp_path / "pairs")


@pytest.mark.parametrize(
    ("hs_ids", "cn_ids", "message"),
    [
        ([*HS, HS[2]], CN, f"HS id '{HS[2]}'"),
        (HS, [CN[0], *CN], f"CN id '{CN[0]}'"),
        ([], CN, "no HS ids"),
        (HS, [], "no CN ids"),
    ],
)
def test_repeated_and_missing_ids_are_refused(
    tmp_path: Path, hs_ids: list[str], cn_ids: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write_exhaustive_pairs(hs_ids, cn_ids, tmp_path / "pairs")
    assert not (tmp_path / "pairs").exists()
