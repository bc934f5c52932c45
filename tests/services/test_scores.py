"""Services of scores: they read whatever is in memory, and give what the command writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fcconan
from fcconan import (
    CorrelateOptions,
    InputError,
    MetricsOptions,
    ScoreTable,
)
from fcconan.data import open_table
from fcconan.scoring import correlate as correlate_table
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
        (fcconan.correlate, "ratings", RATED, CorrelateOptions(**FEW)),
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
    done = run("correlate", file, "--resamples", 20, "--json", "result.json")
    assert (done.status, done.stderr) == (0, "")
    assert json.loads(Path("result.json").read_text(encoding="utf-8")) == json.loads(written.to_json())
    assert done.stdout.rstrip().split("\n")[-len(written.signature_lines()) :] == written.signature_lines()
    assert len(written.to_frame()) == len(written.rows()) > 0


def test_a_score_table_is_correlated_as_before() -> None:
    values = np.array([[1.0, 2, 2, 4]])
    table = ScoreTable(("m",), ("tone",), values, values[:, ::-1].copy(), ["a", "b", "c", "d"], ["x"] * 4)
    found = fcconan.correlate(table, levels=("pooled",), coefficients=("pearson",), resamples=0)
    assert found == correlate_table(table, levels=("pooled",), coefficients=("pearson",), resamples=0)
    # The deviations are -1.25, -.25, -.25, 1.75 and the same backwards: -4.25 over 4.75.
    assert found[0].value == pytest.approx(-4.25 / 4.75)


def test_the_two_forms_of_correlate_do_not_mix() -> None:
    table = ScoreTable(("m",), ("tone",), np.ones((1, 2)), np.ones((1, 2)), ["a", "b"], ["x", "y"])
    with pytest.raises(TypeError, match="a ScoreTable takes keyword arguments"):
        fcconan.correlate(table, CorrelateOptions(resamples=3))  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^levels: give CorrelateOptions"):
        fcconan.correlate(RATED, levels=("pooled",))  # type: ignore[call-overload]


def test_replies_may_be_in_memory() -> None:
    rows = [{name: row[name] for name in row if name not in ("item_id", "system")} for row in RATED]
    replies = pd.DataFrame(PEOPLE[:6])[["reply_id", "item_id", "system"]]
    known = fcconan.correlate(rows, CorrelateOptions(**FEW), replies=replies).to_dict()
    assert known["rows"] == fcconan.correlate(RATED, CorrelateOptions(**FEW)).to_dict()["rows"]


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
    options = CorrelateOptions(level=("pooled",), coefficient=("pearson",), resamples=0)
    (found,) = fcconan.correlate([PEOPLE, result.ratings], options).rows()
    # People's means are 2, 2, 3, 4, 4.5 and 1.5; replies have six words and one in turn.
    expected = np.corrcoef([2, 2, 3, 4, 4.5, 1.5], [6, 1] * 3)[0, 1]
    assert (found["metric"], found["value"]) == ("length-words", pytest.approx(expected, abs=1e-12))
    novel = fcconan.metrics(rows, MetricsOptions(metric=("novelty",)), novelty_against=[{"text": "Not the library."}])
    # "the" and "library" are two of six words here and of three there: 1 - 2/7.
    assert novel.rows()[0]["value"] == pytest.approx(1 - 2 / 7)
