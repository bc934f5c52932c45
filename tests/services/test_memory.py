"""Rows in memory where a dataset is read: data frames, datasets and mappings."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import Dataset, DatasetDict

import fcconan
from fcconan import GenerateOptions
from fcconan.errors import InputError

PAIRS = [
    {"hate_speech": "The Ombrey keep our books.", "counter_narrative": text, "label": label}
    for text, label in (
        ("The Ombrey bring all books back.", "appropriate"),
        ("Sugar is sold at noon.", "not_appropriate"),
        ("Rain is likely.", "not_appropriate"),
    )
]
FROM_PEOPLE = GenerateOptions(strategy="reference")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("demo") / "demo"
    fcconan.build("demo", folder, progress=False)
    return folder


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
