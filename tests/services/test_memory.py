"""Rows in memory where a dataset is read: data frames, datasets and mappings."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import Dataset, DatasetDict, load_dataset

import fcconan
from fcconan import BenchOptions, GenerateOptions
from fcconan.errors import InputError

PAIRS = [
    {"hate_speech": "The Ombrey keep our books.", "counter_narrative": text, "label": label}
    for text, label in (
        ("The Ombrey bring all books back.", "appropriate"),
        ("Sugar is sold at noon.", "not_appropriate"),
        ("Rain is likely.", "not_appropriate"),
    )
]
QUICK = BenchOptions(system=("tfidf",), resamples=100, cache=False, metric=("mrr",), cutoff=3)
FROM_PEOPLE = GenerateOptions(strategy="reference")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("demo") / "demo"
    fcconan.build("demo", folder, progress=False)
    return folder


@pytest.mark.parametrize("make", [pd.DataFrame, Dataset.from_list, list])
def test_judged_pairs_in_memory_are_a_benchmark(make: Any) -> None:
    found = fcconan.bench(make(PAIRS), QUICK).to_dict()
    assert found["systems"]["tfidf"]["partitions"]["test"]["mrr@3"] == 1.0  # the only CN that shares words is first
    assert found["partitions"] == {"test": {"n_judged": 3, "n_positive": 1, "n_queries": 1, "n_without_positive": 0}}
    assert found["dataset"]["n_corpus"] == 3


def test_a_loaded_tier_gives_the_figures_of_the_folder(demo: Path) -> None:
    # Bronze holds all CNs of the demo, so that the catalogue is the same; BM25 uses no training pairs.
    options = BenchOptions(system=("bm25",), resamples=100, cache=False, partition=("bronze",))
    whole = fcconan.bench(demo, options).to_dict()["systems"]["bm25"]["partitions"]["bronze"]
    options = options.model_copy(update={"partition": ()})
    given = fcconan.bench(load_dataset(str(demo), "bronze", split="test"), options).to_dict()
    assert given["systems"]["bm25"]["partitions"]["test"] == whole


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            None,
            "NoneType is not a source of rows: give a path, a name, a data frame, a dataset or an iterable of mappings",
        ),
        (pd.DataFrame(PAIRS[:0]), "data frame has no rows: check the file"),
        (
            pd.DataFrame(PAIRS).drop(columns="label"),
            "data frame, row 1: label missing: give pairs with hate_speech, counter_narrative, label",
        ),
        (
            pd.DataFrame([*PAIRS, {**PAIRS[0], "hate_speech": float("nan")}]),
            "data frame, row 4: hate_speech missing: give pairs with hate_speech, counter_narrative, label",
        ),
        (
            [{**PAIRS[0], "label": "yes"}],
            "rows, row 1: the label is 'yes', expected appropriate or not_appropriate",
        ),
        (
            [PAIRS[0], {**PAIRS[0], "label": "not_appropriate"}],
            "rows, row 2: the pair has another label in an earlier row: keep one of them",
        ),
        (
            [{**each, "cn_id": "1"} for each in PAIRS],
            "rows, row 2: 1 has another text in an earlier row: give each text a unique id",
        ),
    ],
)
def test_pairs_that_cannot_be_used_are_one_line(rows: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        fcconan.bench(rows, QUICK)
    assert str(refused.value) == message


def test_one_own_system_needs_no_list() -> None:
    class Backwards:
        name = "backwards"

        def rank(self, queries: dict[str, str], corpus: dict[str, str], k: int) -> dict[str, list[tuple[str, float]]]:
            return {query: [(key, float(place)) for place, key in enumerate(corpus)][::-1] for query in queries}

    found = fcconan.bench(PAIRS, QUICK.model_copy(update={"system": ()}), systems=Backwards())
    assert found.to_frame()["system"].tolist() == ["backwards"]
    assert found.to_dict()["systems"]["backwards"]["partitions"]["test"]["mrr@3"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("make", [pd.DataFrame, Dataset.from_list, list])
def test_messages_in_memory_get_the_replies_of_a_file(make: Any, tmp_path: Path) -> None:
    pd.DataFrame(PAIRS).to_csv(tmp_path / "pairs.csv", index=False)
    fcconan.generate(tmp_path / "pairs.csv", tmp_path / "from-file.jsonl", FROM_PEOPLE)
    found = fcconan.generate(make(PAIRS), tmp_path / "from-memory.jsonl", FROM_PEOPLE)
    assert (tmp_path / "from-memory.jsonl").read_text() == (tmp_path / "from-file.jsonl").read_text()
    assert found.to_dict()["dataset"]["items"] == 1


def test_the_split_of_a_dataset_dict_is_chosen(tmp_path: Path) -> None:
    splits = DatasetDict(one=Dataset.from_list(PAIRS), two=Dataset.from_list(PAIRS[:0]))
    options = FROM_PEOPLE.model_copy(update={"split": "one"})
    assert fcconan.generate(splits, tmp_path / "replies.jsonl", options).to_dict()["dataset"]["items"] == 1
    with pytest.raises(InputError, match=r"^the dataset has the splits one, two: choose one with split$"):
        fcconan.generate(splits, tmp_path / "replies.jsonl", FROM_PEOPLE)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (pd.DataFrame(PAIRS[:0]), "data frame has no rows: check the file"),
        (pd.DataFrame({"post": ["They never pay."]}), "data frame has no column 'hate_speech', but post: "),
        (pd.DataFrame({"hate_speech": [None]}), "data frame, row 1: hate_speech is empty; "),
        (5, "int is not a source of rows: "),
    ],
)
def test_messages_that_cannot_be_used_are_one_line(rows: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        fcconan.generate(rows, tmp_path / "replies.jsonl", FROM_PEOPLE)
    assert str(refused.value).startswith(message)
    assert not (tmp_path / "replies.jsonl").exists()
