"""The same rows give the same results from CSV, JSONL and parquet, also where ids are numbers and the first is 0."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fcconan.errors import InputError
from fcconan.services import RowSelection
from fcconan.services.rows import open_rows
from tests.cli.judging import fcconan
from tests.cli.scored import write_rows

Rows = list[dict[str, Any]]
Number = Callable[[int], int | float]
HS = "The Ombrey never return a book."
WORDS = "They return every single book early and in order".split()


def _ratings(number: Number) -> Rows:
    return [
        {"reply_id": number(2 * item + system), "item_id": number(item), "system": number(system),
         "rater": number(rater), "rater_kind": "model" if rater == 2 else "human", "aspect": "tone",
         "value": 1 + (3 * item + system + rater * item) % 5, "low": 1, "high": 5}
        for item in range(4) for system in range(2) for rater in range(3)
    ]  # fmt: skip


def _comparisons(number: Number) -> Rows:
    verdicts = ("a", "b", "tie")
    return [
        {"item_id": number(item), "system_a": number(a), "system_b": number(a + 1), "reply_a": number(3 * item + a),
         "reply_b": number(3 * item + a + 1), "rater": number(rater), "verdict": verdicts[(item + a * rater) % 3]}
        for item in range(4) for a in range(2) for rater in range(2)
    ]  # fmt: skip


def _votes(number: Number) -> Rows:
    return [
        {"pair_id": number(pair), "rater": number(rater), "label": number((pair + rater * pair) % 2)}
        for pair in range(5) for rater in range(2)
    ]  # fmt: skip


def _replies(number: Number) -> Rows:
    return [
        {"reply_id": number(2 * item + system), "item_id": number(item), "system": number(system), "hate_speech": HS,
         "text": " ".join(WORDS[: 1 + item + 3 * system])}
        for item in range(4) for system in range(2)
    ]  # fmt: skip


VERBS = {
    "agree": (_ratings, ("--rater", "0", "--rater", "2", "--force")),
    "agree comparisons": (_comparisons, ("--rater", "0", "--rater", "1", "--force")),
    "agree votes": (_votes, ("--rater", "0", "--rater", "1", "--force")),
    "metrics": (
        _replies,
        ("--out", "scores.csv", "--metric", "length-words", "--metric", "repetition-rate", "--force"),
    ),
}


def _result(verb: str, rows: Callable[[Number], Rows], options: tuple[str, ...], suffix: str, number: Number) -> str:
    file = Path(f"rows.{suffix}")
    if suffix == "csv":
        write_rows(file, rows(number))
    elif suffix == "tsv":
        write_rows(file.with_suffix(".csv"), rows(number))
        file.write_text(file.with_suffix(".csv").read_text(encoding="utf-8").replace(",", "\t"), encoding="utf-8")
    elif suffix == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in rows(number)), encoding="utf-8")
    else:
        pq.write_table(pa.Table.from_pylist(rows(number)), file)
    drawn = () if verb == "metrics" else ("--resamples", "20")
    done = fcconan(verb.split()[0], file, *options, *drawn, "--json", "result.json")
    assert (done.status, done.stderr) == (0, ""), done
    written = Path("scores.csv").read_text(encoding="utf-8") if verb == "metrics" else ""
    return re.sub(rf"rows\.{suffix}@[0-9a-f]+", "rows", Path("result.json").read_text(encoding="utf-8") + written)


@pytest.mark.parametrize("verb", list(VERBS))
def test_results_do_not_depend_on_the_kind_of_file(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = {
        _result(verb, *VERBS[verb], suffix, number)
        for suffix in ("csv", "tsv", "jsonl", "parquet")
        for number in (int, float)  # as pandas writes ids beside an empty cell
    }
    assert len(found) == 1  # which is that of CSV, where numbers are text


def test_rows_are_chosen_by_numbers(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in _ratings(float)), encoding="utf-8")
    rows = list(
        open_rows("ratings", [file], RowSelection(filter={"rater": ("0",), "item_id": ("3.0",), "low": ("1",)}))
    )
    assert [(row["reply_id"], row["rater"], row["item_id"]) for row in rows] == [("6", "0", "3"), ("7", "0", "3")]


def test_an_id_that_is_none_is_refused_with_its_row(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = _ratings(int)
    rows[4]["system"] = 0.5
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(InputError, match=r"^rows\.jsonl, row 5: system is 0\.5, expected a name or an id; correct"):
        list(open_rows("ratings", [file], RowSelection()))
