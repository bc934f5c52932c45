"""Files of shards become the file of one run, byte for byte."""

from pathlib import Path
from typing import Any

import pytest

from fcconan.data import RATED, SCORED
from fcconan.errors import InputError
from fcconan.services import MetricsOptions, RateOptions, merge_shards, metrics, rate
from fcconan.services.model_results import written
from tests.services.test_judgements import RELEVANCE, Words

REPLIES = [
    {
        "reply_id": f"r{who}{n}",
        "system": who,
        "item_id": f"i{n}",
        "hate_speech": f"The Ombrey hide {n} books.",
        "text": f"Count all {n} of them, with {who}." if n else "",
        "references": [f"They count {n} books."],
    }
    for n in range(8)
    for who in ("B", "A")
]
SHARDS = ("3/3", "1/3", "2/3")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_shards_of_metrics(tmp_path: Path, suffix: str) -> None:
    options = MetricsOptions(metric=("rouge-l", "bleu-2", "length-words"))
    whole, merged = tmp_path / f"whole{suffix}", tmp_path / f"merged{suffix}"
    metrics(REPLIES, options, out=whole)
    files = [tmp_path / f"{place}{suffix}" for place in range(3)]
    for shard, file in zip(SHARDS, files, strict=True):
        metrics(REPLIES, options.model_copy(update={"shard": shard}), out=file)
    merge_shards(files, REPLIES, merged)
    assert merged.read_bytes() == whole.read_bytes()


def test_shards_of_judges(tmp_path: Path) -> None:
    """Judges rate one after the other."""

    def made(shard: str | None, file: Path) -> None:
        each = [
            rate(
                REPLIES, RateOptions(model=("m",), **RELEVANCE, rater_name=name, shard=shard), client=Words()
            ).ratings()
            for name in ("second", "first")
        ]
        written([[*each[0], *each[1]]], RATED.kinds, file)

    made(None, tmp_path / "whole.csv")
    files = [tmp_path / f"{place}.csv" for place in range(3)]
    for shard, file in zip(SHARDS, files, strict=True):
        made(shard, file)
    merge_shards(files, REPLIES, tmp_path / "merged.csv")
    assert (tmp_path / "merged.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    for wrong, said in (
        (files[:2], "expected each of the 16 replies in one"),
        ([*files, files[0]], "of them in two files"),
    ):
        with pytest.raises(InputError, match=said):
            merge_shards(wrong, REPLIES, tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


def test_files_of_other_rows_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("pair_id,rater\np1,one\n", encoding="utf-8")
    with pytest.raises(InputError, match="found no ratings of replies"):
        merge_shards([tmp_path / "pairs.csv"], REPLIES, tmp_path / "other.csv")


def test_shards_of_other_runs_are_refused(tmp_path: Path) -> None:
    """A shard without items has no ratings, and goes with every run."""
    files = [tmp_path / name for name in ("one.csv", "two.csv", "empty.csv")]
    metrics(REPLIES[:8], MetricsOptions(metric=("rouge-l",)), out=files[0])
    metrics(REPLIES[8:], MetricsOptions(metric=("length-words",)), out=files[1])
    written([], SCORED.kinds, files[2])
    with pytest.raises(InputError) as caught:
        merge_shards(files[::-1], REPLIES, tmp_path / "merged.csv")
    assert str(caught.value) == (
        f"{files[0]}: found other raters or aspects than in {files[1]} (such as length-words/score), expected the "
        "same in all files: give the shards of one run"
    )
    metrics(REPLIES[8:], MetricsOptions(metric=("rouge-l",)), out=files[1])
    merge_shards(files, REPLIES, tmp_path / "merged.csv")


def test_files_that_are_there_are_left_alone(tmp_path: Path) -> None:
    path, other = tmp_path / "one.csv", tmp_path / "other.csv"
    metrics(REPLIES, MetricsOptions(metric=("rouge-l",)), out=path)
    other.write_text("notes", encoding="utf-8")
    before = path.read_bytes()
    for out, said in (
        (path, "found one of the files to merge, expected a new file: choose another file"),
        (other, "found a file, expected a new one: choose another file or remove it"),
    ):
        with pytest.raises(InputError) as caught:
            merge_shards([path], REPLIES, out)
        assert str(caught.value) == f"{out}: {said}"
    assert (path.read_bytes(), other.read_text(encoding="utf-8")) == (before, "notes")
    merge_shards(str(path), REPLIES, tmp_path / "new.csv")
    assert (tmp_path / "new.csv").read_bytes() == before


@pytest.mark.parametrize("files", [[], None, 5, [5], {"one.csv": 1}])
def test_anything_but_paths_is_refused(tmp_path: Path, files: Any) -> None:
    with pytest.raises(InputError) as caught:
        merge_shards(files, REPLIES, tmp_path / "new.csv")
    assert str(caught.value) == f"files is {files!r}, expected paths: give a list of the files of all shards"


@pytest.mark.parametrize("shard", ["a/b", "0/2", "2", "", "1/2/3"])
def test_a_shard_that_does_not_exist_is_refused(shard: str) -> None:
    with pytest.raises(InputError) as caught:
        metrics(REPLIES, MetricsOptions(metric=("rouge-l",), shard=shard))
    assert str(caught.value) == f"shard {shard} does not exist: give K/N with K from 1 to N"
