"""Services of scores: they read whatever is in memory, and give what the command writes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fcconan
from fcconan import (
    AgreeOptions,
    CorrelateOptions,
    InputError,
    ScoreTable,
)
from fcconan.data import open_table
from fcconan.scoring import correlate as correlate_table
from tests.cli.judging import fcconan as run
from tests.cli.scored import ratings, verdicts, write_rows

PEOPLE = [*ratings("anna", [1, 2, 3, 4, 5, 1]), *ratings("ben", [3, 2, 3, 4, 4, 2])]
RATED = [*PEOPLE, *ratings("judge", [2, 1, 3, 5, 4, 1], "model")]
COMPARED = verdicts("anna", [("i1", "A", "B", "a"), ("i2", "B", "A", "b"), ("i1", "A", "C", "a")])
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
        (fcconan.agree, "ratings", RATED, AgreeOptions(**FEW)),
        (fcconan.agree, "comparisons", COMPARED + verdicts("ben", [("i1", "A", "B", "a")]), AgreeOptions(**FEW)),
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
    done = run("agree" if service is fcconan.agree else "correlate", file, "--resamples", 20, "--json", "result.json")
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
        ({"rename": {"grade": "x"}}, "AgreeOptions: rename: rows have no column 'grade': "),
        ({"wide_column": {":tone": "x"}}, "AgreeOptions: wide_column: name a rater for each column, and"),
        ({"wide_column": {"a": "x", "a:score": "y"}}, "AgreeOptions: wide_column: name a rater for each column, and"),
    ],
)
def test_selections_of_rows_are_checked(values: Any, message: str) -> None:
    with pytest.raises(InputError) as refused:
        AgreeOptions(**values)
    assert str(refused.value).startswith(message)


def test_a_list_without_sources_is_refused() -> None:
    with pytest.raises(InputError, match="found no source of rows"):
        fcconan.agree([])
