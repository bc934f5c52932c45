import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.errors import InputError
from fcconan.models.replay import ReplayModel
from fcconan.models.requests import ChatRequest, ChatResponse

ROWS: list[dict[str, Any]] = [
    {"hate_speech": "The Ombrey  shout.", "counter_narrative": "Do they?", "output": "4"},
    {"hate_speech": "The Ombrey shout.", "counter_narrative": "Do\nthey? ", "output": "5"},
    {"hate_speech": "The Tessok, too.", "counter_narrative": "No.", "output": "  "},
    {"hate_speech": "The Tessok, too.", "counter_narrative": None, "output": "2\n\n3"},
]


def write(folder: Path, suffix: str, rows: list[dict[str, Any]]) -> Path:
    path = folder / f"recorded{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


def call(hate_speech: str, counter_narrative: str, sample: int = 0) -> ChatRequest:
    variables = {"hate_speech": hate_speech, "counter_narrative": counter_narrative, "task": "not recorded"}
    return ChatRequest([], sample=sample, variables=variables)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_call_is_answered_by_the_row_with_its_texts(tmp_path: Path, suffix: str) -> None:
    model = ReplayModel(write(tmp_path, suffix, ROWS))
    asked = [
        call("The Ombrey shout.", "Do they?"),
        call(" The Ombrey shout. ", "Do they?", sample=1),
        call("The Ombrey shout.", "Do they?", sample=2),
        call("The Tessok, too.", "No."),
        call("The Tessok, too.", ""),
        call("The Velmari.", "No."),
    ]
    name = "replay:recorded"
    missing = ChatResponse(reason="not_recorded", detail=f"recorded{suffix} has no output for this", model=name)
    assert list(model.replies(asked)) == [
        ChatResponse("4", model=name),
        ChatResponse("5", model=name),
        missing,
        ChatResponse(reason="empty", model=name),
        ChatResponse("2\n\n3", model=name),
        missing,
    ]
    assert (model.name, model.configuration["replay"]) == (name, f"recorded{suffix}")


def test_different_outputs_for_one_text_are_samples_or_refused(tmp_path: Path) -> None:
    model = ReplayModel(write(tmp_path, ".csv", ROWS))
    twice = [call("The Ombrey shout.", "Do they?")] * 2
    with pytest.raises(InputError) as caught:
        list(model.replies(twice))
    assert str(caught.value) == (
        f"{tmp_path / 'recorded.csv'} has 2 outputs for the same hate_speech, counter_narrative, and one is requested: "
        "remove the others, add a column that distinguishes them, or use them as samples with --samples"
    )
    assert [each.text for each in model.replies([*twice, call("The Ombrey shout.", "Do they?", 1)])] == ["4", "4", "5"]
    same = ReplayModel(write(tmp_path, ".csv", [ROWS[0], ROWS[0]]))
    assert [each.text for each in same.replies(twice)] == ["4", "4"]


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_numbers_are_outputs_and_keys_too(tmp_path: Path, suffix: str) -> None:
    rows: list[dict[str, Any]] = [{"item": 0, "output": 0}, {"item": 1, "output": None}]
    model = ReplayModel(write(tmp_path, suffix, rows), name="m")
    replies = model.replies(ChatRequest([], variables={"item": item}) for item in ("0", "1"))
    assert [(each.text, each.reason) for each in replies] == [("0", None), (None, "empty")]


def test_what_a_file_holds_changes_the_configuration_and_its_folder_does_not(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    one, two = (ReplayModel(write(folder, ".jsonl", ROWS)) for folder in (tmp_path, tmp_path / "a"))
    other = ReplayModel(write(tmp_path / "a", ".jsonl", [*ROWS[:-1], {**ROWS[-1], "output": "3"}]))
    assert one.configuration == two.configuration
    assert one.configuration["content"] != other.configuration["content"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no rows: give recorded outputs"),
        ('{"hate_speech": "a", "answer": "3"}\n', "has the columns hate_speech, answer, expected `output` and columns"),
        ('{"output": "3"}\n', "has the columns output, expected `output` and columns such as `hate_speech`"),
        (
            '{"hate_speech": "a", "output": "3"}\n{"hate_speech": "b"}\n',
            "row 2 has the columns hate_speech, expected those of the first row: hate_speech, output",
        ),
        (
            '{"hate_speech": "a", "output": "3"}\n{"output": "b", "hate_speech": "a", "aspect": "x"}\n',
            "row 2 has the columns output, hate_speech, aspect, expected those of the first row: hate_speech, output",
        ),
    ],
)
def test_files_without_the_columns_are_bad_input(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        ReplayModel(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_that_prompts_do_not_have_is_bad_input(tmp_path: Path) -> None:
    model = ReplayModel(write(tmp_path, ".csv", [{"hate_speech": "a", "model_id": "m", "output": "3"}]))
    with pytest.raises(InputError, match="has the column 'model_id', but prompts are filled with counter_narrative, "):
        list(model.replies([call("a", "b")]))


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv cannot be read \(No such file or directory\)"):
        ReplayModel(tmp_path / "nowhere.csv")
