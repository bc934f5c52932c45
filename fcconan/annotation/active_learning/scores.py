"""Scores of units, from files that retrievers and judges wrote."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fcconan.annotation.active_learning.target import Positive
from fcconan.annotation.campaigns import LABEL, Row, Unit
from fcconan.data import SUFFIXES, make_pair_id, read_rows
from fcconan.errors import InputError
from fcconan.retrieval import read_run

NOT_SURE, VERDICTS = 0.5, {"a": 1.0, "tie": 0.0, "b": -1.0}


@dataclass(frozen=True)
class Score:
    """What one scorer says.

    Attributes:
        name: The file, and the scorer where a file holds several.
        values: By unit; a unit that it does not score is not there.
        n_unknown: Scores of what is no unit of the campaign.
    """

    name: str
    values: Mapping[str, float]
    n_unknown: int


def read_scores(path: Path, units: Mapping[str, Unit], positive: Positive) -> list[Score]:
    """Reads a file of scores, a TREC run or rows, or the folder that `annotate score` wrote.

    A run ranks CNs (by their ids) for HS. Units that it leaves out get the lowest score that their HS has in it. Rows
    (.parquet, .jsonl, .csv) name what they score by `unit_id`, `pair_id`, `reply_id`, `query_id` and `corpus_id`, or
    `reply_a` and `reply_b`, and say `score`, `value`, `label`, `verdict`, or `score_a` and `score_b`. Every rater and
    aspect is a score of its own. A row whose value is missing gives none.

    Args:
        path: The file.
        units: Of the campaign.
        positive: What is looked for; labels and verdicts are turned into scores of it.

    Raises:
        InputError: The file cannot be read, a score is no finite number, a unit has two of one scorer, or no unit has
            any.
    """
    of_rows = path.is_dir() or path.suffix in SUFFIXES
    if of_rows:
        scorers = _rows(path, positive)
    else:
        _, run = read_run(path)
        scorers = {"": {make_pair_id(query, cn): value for query, ranking in run.items() for cn, value in ranking}}
    found = []
    for name, values in scorers.items():
        known = {unit_id: value for unit_id, value in values.items() if unit_id in units}
        n_unknown = len(values) - len(known)
        if not of_rows:
            lowest = {query: min(value for _, value in ranking) for query, ranking in run.items()}
            for unit_id, unit in units.items():
                if unit.hs_id in lowest:
                    known.setdefault(unit_id, lowest[unit.hs_id])
        if known:
            found.append(Score(":".join(filter(None, (path.name, name))), known, n_unknown))
    if not found:
        raise InputError(f"{path} scores no unit of the campaign: give scores of its pairs or replies, by their ids")
    return found


def _rows(path: Path, positive: Positive) -> dict[str, dict[str, float]]:
    scorers: dict[str, dict[str, float]] = {}
    for place, row in _read(path):
        unit_id = _unit(row)
        if unit_id is None:
            raise InputError(
                f"{place}: nothing says what is scored: expected unit_id, pair_id, reply_id, query_id and "
                "corpus_id, or reply_a and reply_b"
            )
        name = ":".join(str(row[key]) for key in ("system", "rater", "aspect") if row.get(key))
        values = scorers.setdefault(name, {})
        for value in _value(row, positive, place):
            if unit_id in values:
                raise InputError(f"{place}: {name or 'the file'} scores {unit_id} twice: keep one score")
            values[unit_id] = value
    return scorers


def _read(path: Path) -> Iterator[tuple[str, Row]]:
    """Yields rows, each with its place; of a folder, those of its shards."""
    files = sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} holds no part-*.parquet: give a file of scores, or a folder of `annotate score`")
    for file in files:
        for number, row in enumerate(read_rows(file), start=1):
            yield f"{file}, row {number}", row


def _unit(row: Row) -> str | None:
    for key in ("unit_id", "pair_id", "reply_id"):
        if row.get(key):
            return str(row[key])
    for first, second in (("query_id", "corpus_id"), ("reply_a", "reply_b")):
        if row.get(first) and row.get(second):
            return f"{row[first]}:{row[second]}"
    return None


def _value(row: Row, positive: Positive, place: str) -> Iterator[float]:
    """Yields the score of a row, or nothing if its value is missing."""
    if row.get("score_a") is not None and row.get("score_b") is not None:
        yield positive.of_difference(_number(row["score_a"], place) - _number(row["score_b"], place))
    elif row.get("verdict") in VERDICTS:
        yield positive.of_difference(VERDICTS[row["verdict"]])
    elif "score" in row or "value" in row:
        value = row.get("score") if row.get("score") is not None else row.get("value")
        if value is not None:
            # A high grade of a judge speaks against what is looked for where low grades are.
            same = row.get("aspect") in (None, LABEL) or positive.aspect != row.get("aspect") or positive.high
            yield _number(value, place) * (1 if same else -1)
    elif row.get(LABEL) is not None:
        yield NOT_SURE if row[LABEL] == "not_sure" else float(bool(positive.of(row[LABEL])))


def _number(value: object, place: str) -> float:
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{place}: the score is {value!r}, expected a finite number: mend that row")
    return number
