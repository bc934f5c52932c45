"""Services of scores: they read whatever is in memory, and give what the command writes."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fcconan
from fcconan import (
    InputError,
    MetricsOptions,
)
from fcconan.data import open_table
from tests.cli.judging import fcconan as run
from tests.cli.scored import ratings, write_rows

PEOPLE = [*ratings("anna", [1, 2, 3, 4, 5, 1]), *ratings("ben", [3, 2, 3, 4, 4, 2])]
RATED = [*PEOPLE, *ratings("judge", [2, 1, 3, 5, 4, 1], "model")]
FEW = {"resamples": 20}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _sources(kind: str, rows: list[dict[str, Any]]) -> list[Any]:
    from datasets import Dataset

    frame = pd.DataFrame(rows)
    return [rows, frame, Dataset.from_pandas(frame), open_table(kind, [rows]), [rows[:2], pd.DataFrame(rows[2:])]]


def _without_data(result: Any) -> Any:
    """The result without its signatures, which name the source."""
    return {name: value for name, value in result.to_dict().items() if "signature" not in name}


@pytest.mark.parametrize(
    ("service", "kind", "rows", "options"),
    [
    ],
)
def test_all_kinds_of_sources_give_one_result(
    service: Any, kind: str, rows: list[dict[str, Any]], options: Any
) -> None:
    file = write_rows(Path("rows.csv"), rows)
    written = service(file, options)
    assert written.to_dict() == service(str(file), options).to_dict() == service([file], options).to_dict()
    for source in _sources(kind, rows):
        assert _without_data(service(source, options)) == _without_data(written)
    done = run("agree", file, "--resamples", 20, "--json", "result.json")
    done = run("correlate", file, "--resamples", 20, "--json", "result.json")
    assert (done.status, done.stderr) == (0, "")
    assert json.loads(Path("result.json").read_text(encoding="utf-8")) == json.loads(written.to_json())
    assert done.stdout.rstrip().split("\n")[-len(written.signature_lines()) :] == written.signature_lines()
    assert len(written.to_frame()) == len(written.rows()) > 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rename": {"grade": "x"}}, "CorrelateOptions: rename: rows have no column 'grade': "),
        ({"wide_column": {":tone": "x"}}, "CorrelateOptions: wide_column: name a rater for each column, and"),
        (
            {"wide_column": {"a": "x", "a:score": "y"}},
            "CorrelateOptions: wide_column: name a rater for each column, and",
        ),
    ],
)
def test_selections_of_rows_are_checked(values: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        CorrelateOptions(**values)
    assert str(refused.value).startswith(message)


def test_a_list_without_sources_is_refused() -> None:
    with pytest.raises(InputError, match="found no source of rows"):
        fcconan.correlate([])


def test_metrics_of_rows_in_memory_are_ratings() -> None:
    texts = {"A": "The library says they return books.", "B": "No."}
    rows = [
        {"reply_id": f"r{item}{name}", "item_id": f"i{item}", "system": name, "hate_speech": "They do.", "text": text}
        for item in (1, 2, 3)
        for name, text in texts.items()
    ]
    result = fcconan.metrics(pd.DataFrame(rows), MetricsOptions(metric=("length-words",)))
    assert [(row["system"], row["value"], row["n"]) for row in result.rows()] == [("A", 6.0, 3), ("B", 1.0, 3)]
    assert result.to_dict()["out"] is None
    fcconan.metrics(rows, MetricsOptions(metric=("length-words",)), out="scores.parquet")
    written = [{name: row[name] for name in result.ratings[0]} for row in open_table("ratings", ["scores.parquet"])]
    assert written == result.ratings
    novel = fcconan.metrics(rows, MetricsOptions(metric=("novelty",)), novelty_against=[{"text": "Not the library."}])
    # "the" and "library" are two of six words here and of three there: 1 - 2/7.
    assert novel.rows()[0]["value"] == pytest.approx(1 - 2 / 7)
