"""Where rows to score come from, and which of them are taken."""

import hashlib
import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.data import Table, list_configs, read_manifest
from fcconan.errors import InputError
from fcconan.services import RowSelection, cached_folder, dataset_folder
from fcconan.services.rows import open_rows
from tests.cli.scored import ratings, write_rows

VOTE = {"pair_id": "p1", "rater": "anna", "label": "appropriate"}
ROWS = [*ratings("anna", [1, 2, 3, 4, 5, 1]), *ratings("ben", [2, 2, 3, 4, 4, 1])]


def opened(kind: str, sources: list[Any], **options: Any) -> Table:
    return open_rows(kind, sources, RowSelection(**options))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "ratings.csv", ROWS)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def test_rows_of_files_of_every_kind(file: Path, tmp_path: Path) -> None:
    rows = list(opened("ratings", [str(file)]))
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    table = opened("ratings", [tmp_path / "rows.jsonl", tmp_path / "rows.parquet"])
    assert list(table) == list(table) == rows * 2
    assert table.population == (
        f"rows.jsonl@{_digest(tmp_path / 'rows.jsonl')}+rows.parquet@{_digest(tmp_path / 'rows.parquet')}"
    )


def test_rows_know_their_place(file: Path) -> None:
    rows: list[Any] = list(opened("ratings", [str(file)]))
    assert [row.place for row in rows[6:8]] == ["ratings.csv, row 7", "ratings.csv, row 8"]


def test_rows_are_chosen_and_the_population_says_so(file: Path) -> None:
    table = opened("ratings", [str(file)], filter={"rater": ("anna",), "value": ("1", "5")})
    assert [(row["reply_id"], row["value"]) for row in table] == [
        ("r1A", "1"),
        ("r3A", "5"),
        ("r3B", "1"),
    ]
    assert table.population == f"ratings.csv@{_digest(file)}+(rater=anna,value=1/5)"


def test_columns_are_renamed_also_over_one_of_that_name(tmp_path: Path) -> None:
    rating = {"reply_id": "r1", "who": "anna", "aspect": "tone", "value": "old", "new": "3"}
    file = write_rows(tmp_path / "x.csv", [rating])
    table = opened("ratings", [str(file)], rename={"rater": "who", "value": "new"})
    (row,) = table
    assert (row["rater"], row["value"]) == ("anna", "3")
    assert table.population == f"x.csv@{_digest(file)}+(rater=who,value=new)"


def test_one_file_may_have_the_columns_and_another_the_names(file: Path, tmp_path: Path) -> None:
    other = write_rows(tmp_path / "x.csv", [{**ROWS[0], "rater": "dora", "grade": "5"}])
    found = list(opened("ratings", [str(file), str(other)], rename={"value": "grade"}))
    assert (found[0]["value"], found[-1]["value"]) == ("1", "5")


def test_a_dataset_has_the_parts_it_was_built_with(demo: Path) -> None:
    table = opened("comparisons", [demo], filter={"rater_kind": ("human",)})
    rows = list(table)
    fingerprint = read_manifest(demo)["fingerprint"]
    assert table.population == f"demo@{fingerprint}+(rater_kind=human)"
    assert opened("comparisons", [demo]).fingerprint == fingerprint
    assert {row["rater_kind"] for row in rows} == {"human"}
    assert {"ratings", "comparisons", "votes"} <= list_configs(demo)
    assert len(list(table.replies() or [])) == 96


def test_a_dataset_is_built_into_the_cache_by_its_name_and_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(opened("comparisons", ["demo"])) == list(opened("comparisons", [demo]))
    folder = cached_folder("demo")
    assert capsys.readouterr().err == f"note: building demo into {folder}, for this and later commands\n"
    assert folder.is_relative_to(os.environ["FCCONAN_CACHE"])
    assert folder.parent.name.startswith(f"{version('fcconan')}-")
    built = (folder / "manifest.json").stat().st_mtime_ns
    assert opened("ratings", ["demo"]).population == opened("ratings", [demo]).population
    assert ((folder / "manifest.json").stat().st_mtime_ns, capsys.readouterr().err) == (built, "")
    assert list(tmp_path.iterdir()) == []


def test_a_path_comes_before_a_name_of_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    assert dataset_folder("demo") == Path("demo")
    with pytest.raises(InputError, match=r"^demo has no config 'replies': it has no parquet files; run"):
        opened("replies", ["demo"])


def test_a_dataset_in_the_cache_that_was_changed_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    folder = dataset_folder("demo")
    (folder / "README.md").write_text("changed", encoding="utf-8")
    with pytest.raises(InputError, match=rf"README\.md was changed after the build: remove {folder} to build it again"):
        dataset_folder("demo")


def test_files_have_no_splits() -> None:
    with pytest.raises(InputError, match=r"^x\.csv is a file and has no splits: leave --split out$"):
        opened("ratings", ["x.csv"], split="test")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"rename": {"rater": "annotator"}},
            "has no column 'annotator', but reply_id, item_id, system, rater, rater_kind",
        ),
        ({"filter": {"annotator": ("anna",)}}, "has no column 'annotator', but reply_id"),
        (
            {"filter": {"rater": ("dora",)}},
            "found no row with the rater dora: choose among anna, ben",
        ),
        ({"filter": {"rater": ("anna", "dora")}}, "found no row with the rater dora: choose among anna, ben"),
    ],
)
def test_rows_and_columns_that_are_not_there_are_refused(file: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        list(opened("ratings", [str(file)], **options))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("config", "row", "options", "message"),
    [
        (
            "ratings",
            {"id": "r1", "rater": "anna", "grade": 3},
            {"rename": {"reply_id": "id"}},
            "x.csv has no columns 'aspect', 'value', but id, rater, grade, reply_id: name the column with --rename "
            "aspect=COLUMN --rename value=COLUMN",
        ),
        (
            "ratings",
            {"text": "No.", "rater": "anna", "aspect": "tone", "value": 3},
            {},
            "x.csv has no column 'reply_id', but text, rater, aspect, value: name the column with --rename "
            "reply_id=COLUMN, or write the reply_id of the replies into it",
        ),
        (
            "comparisons",
            {"item_id": "i1", "left": "A", "right": "B", "verdict": "a"},
            {},
            "x.csv has no columns 'system_a', 'system_b', but item_id, left, right, verdict: name the column with "
            "--rename system_a=COLUMN --rename system_b=COLUMN",
        ),
        (
            "votes",
            {"pair_id": "p1", "label": "not_sure"},
            {},
            "x.csv has no column 'rater', but pair_id, label: name the column with --rename rater=COLUMN",
        ),
    ],
)
def test_columns_that_a_file_lacks_are_named_once(
    tmp_path: Path, config: str, row: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    file = write_rows(tmp_path / "x.csv", [row, row])
    with pytest.raises(InputError) as refused:
        list(opened(config, [str(file)], **options))
    assert str(refused.value) == f"{tmp_path}/{message}"


def test_a_row_of_jsonl_may_leave_out_what_is_empty(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    rows: list[dict[str, Any]] = [{"reply_id": f"r{n}", "rater": "anna", "aspect": "tone"} for n in (1, 2)]
    rows[1]["value"] = 3
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert [row.get("value") for row in opened("ratings", [str(file)])] == [None, 3]
    file.write_text(json.dumps(rows[0]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"x\.jsonl has no column 'value', but reply_id, rater, aspect: name the"):
        list(opened("ratings", [str(file)]))


def test_rows_that_nobody_asked_for_may_lack_columns(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(
        "".join(json.dumps(row) + "\n" for row in ({"kind": "note"}, {"kind": "vote", **VOTE})), encoding="utf-8"
    )
    assert list(opened("votes", [str(file)], filter={"kind": ("vote",)})) == [{"kind": "vote", **VOTE}]


def test_sources_that_are_not_there_are_refused(demo: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.csv"
    empty.write_text("", encoding="utf-8")
    half = tmp_path / "half.jsonl"
    half.write_text('{"rater": "\\ud800"}\n', encoding="utf-8")
    for source, message in (
        (str(empty), f"{empty} has no rows: check the file"),
        (str(half), f"{half}, line 1: '\\ud800' is half a character; correct the line"),
        ("none.csv", "there is no file none.csv: check the path"),
        ("none", "none is neither a dataset folder nor a file of rows: give a folder"),
        (str(demo / "manifest.json"), "is neither a dataset folder nor a file of rows"),
    ):
        with pytest.raises(InputError) as refused:
            list(opened("ratings", [source]))
        assert message in str(refused.value)
    with pytest.raises(
        InputError, match=r"dataset has no scores, only bronze, .*: give files or a dataset with scores$"
    ):
        list(opened("scores", [str(demo)]))


def test_a_split_has_to_be_chosen_and_is_part_of_the_population(demo: Path, tmp_path: Path) -> None:
    folder = tmp_path / "two" / "ratings"
    folder.mkdir(parents=True)
    for split in ("dev", "test"):
        pq.write_table(pa.Table.from_pylist(ROWS), folder / f"{split}-00000-of-00001.parquet")
    with pytest.raises(InputError, match=r"has the splits dev, test: choose one with --split$"):
        list(opened("ratings", [str(folder.parent)]))
    with pytest.raises(InputError, match=r"has no split 'train': it has dev, test$"):
        list(opened("ratings", [str(folder.parent)], split="train"))
    table = opened("ratings", [str(folder.parent)], split="dev")
    assert len(list(table)) == 12
    assert table.population == "two/dev"
