"""Features of the active learning model: target, scores of units, and similarities of texts."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fcconan.annotation.active_learning.model import Floats, Problem, likeness, standardised
from fcconan.annotation.campaigns import LABEL, VALIDATION, Campaign, Row, Unit
from fcconan.annotation.questions import to_number
from fcconan.annotation.sampling import TFIDF
from fcconan.annotation.votes import unit_named
from fcconan.data import SUFFIXES, make_pair_id, open_table
from fcconan.errors import InputError
from fcconan.judging import Task
from fcconan.retrieval import read_run

USUAL = "appropriate"
_GRADES = re.compile(r"([a-z][a-z0-9_]*)(>=|<=)(-?\d+(?:\.\d+)?)")


@dataclass(frozen=True)
class Positive:
    """The target of the search: positive labels or grades.

    Attributes:
        aspect: Aspect, or `label`.
        label: Positive label; None for grades.
        bound: Bound of positive grades; None for labels.
        high: Whether grades at or above the bound are positive; otherwise those at or below it.
    """

    aspect: str
    label: str | None = None
    bound: float | None = None
    high: bool = True

    def __str__(self) -> str:
        """Returns the target as `--positive` takes it."""
        return self.label or f"{self.aspect}{'>=' if self.high else '<='}{self.bound:g}"

    def of(self, value: str | float) -> bool:
        """Returns whether an answer is positive."""
        if self.bound is None:
            return value == self.label
        return float(value) >= self.bound if self.high else float(value) <= self.bound

    def of_difference(self, difference: float) -> float:
        """Returns the score of a comparison, from the difference between its replies (first minus second)."""
        return {"a": difference, "b": -difference}.get(self.label or "", -abs(difference))


def read_positive(text: str | None, task: Task) -> Positive:
    """Parses the target of the search.

    Args:
        text: A label of the task, or an aspect with a bound such as `relevance>=4`; None for `appropriate`.
        task: Task of the campaign.

    Raises:
        InputError: The task lacks the label or aspect, or all grades or none meet the bound.
    """
    labels = [label.name for label in task.labels]
    if labels:
        if (label := text or USUAL) in labels:
            return Positive(LABEL, label=label)
        raise InputError(f"the task {task.name} has no label {label!r}: give --positive {'|'.join(labels)}")
    example = f"{task.aspects[0].name}>={task.aspects[0].high}"
    parts = _GRADES.fullmatch((text or "").replace(" ", ""))
    if parts is None:
        raise InputError(f"--positive is {text!r}: give an aspect with a bound, such as '{example}'")
    aspect, high, bound = task.aspect(parts[1]), parts[2] == ">=", float(parts[3])
    if not (aspect.low < bound <= aspect.high if high else aspect.low <= bound < aspect.high):
        raise InputError(f"--positive {text} is met by all grades or none: change the bound")
    return Positive(aspect.name, bound=bound, high=high)


def labels_of(campaign: Campaign, positive: Positive) -> dict[str, float | None]:
    """Returns the share of positive answers of every answered unit.

    A final label replaces the answers of the raters. Answers of validators are left out.

    Returns:
        Shares by unit; None for a unit that all raters skipped, or that is discarded.
    """
    said: dict[str, list[bool]] = {}
    for answer in campaign.answers().values():
        if answer.round != VALIDATION and answer.aspect == positive.aspect:
            shares = said.setdefault(answer.unit_id, [])
            if answer.value is not None:
                shares.append(positive.of(answer.value))
    found: dict[str, float | None] = {
        unit_id: sum(shares) / len(shares) if shares else None for unit_id, shares in said.items()
    }
    if positive.aspect == LABEL:
        for decision in campaign.decisions().values():
            found[decision.unit_id] = None if decision.label is None else float(positive.of(decision.label))
    return found


NOT_SURE, VERDICTS = 0.5, {"a": 1.0, "tie": 0.0, "b": -1.0}


@dataclass(frozen=True)
class Score:
    """The scores of one scorer.

    Attributes:
        name: Name of the file, with the name of the scorer if the file has several.
        values: Scores by unit; units without a score have no entry.
        n_unknown: Number of scores of units that are not in the campaign.
    """

    name: str
    values: Mapping[str, float]
    n_unknown: int


def read_scores(path: Path, units: Mapping[str, Unit], positive: Positive) -> list[Score]:
    """Reads a file of scores: a TREC run, or rows.

    A run ranks CN ids for HS ids; units that it lacks get the lowest score of their HS in the run. Rows (.parquet,
    .jsonl, .csv) have the unit in `unit_id`, `pair_id`, `reply_id`, `query_id` and `corpus_id`, or `reply_a` and
    `reply_b`. Their score is in `score`, `value`, `label`, `verdict`, or `score_a` and `score_b`. Every rater and
    aspect is a scorer of its own. Rows without a value are ignored.

    Args:
        path: The file.
        units: Units of the campaign.
        positive: Target of the search; labels and verdicts are converted to scores of it.

    Raises:
        InputError: The file cannot be read, a score is not a finite number, a unit has two scores of one scorer, or no
            unit has a score.
    """
    of_rows = path.suffix in SUFFIXES
    if of_rows:
        scorers = _rows(path, positive)
    else:
        run = read_run(path).run
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
        raise InputError(f"{path} has no score of a unit of the campaign: give scores of its pairs or replies, by id")
    return found


def _rows(path: Path, positive: Positive) -> dict[str, dict[str, float]]:
    scorers: dict[str, dict[str, float]] = {}
    for row in open_table("rows", [path]):
        place, unit_id = row.place, unit_named(row)
        if unit_id is None:
            raise InputError(f"{place}: no unit_id, pair_id, reply_id, or pair of ids: add the id of the scored unit")
        name = ":".join(str(row[key]) for key in ("system", "rater", "aspect") if row.get(key))
        values = scorers.setdefault(name, {})
        for value in _value(row, positive, place):
            if unit_id in values:
                raise InputError(f"{place}: {name or 'the file'} has two scores of {unit_id}: remove one")
            values[unit_id] = value
    return scorers


def _value(row: Row, positive: Positive, place: str) -> Iterator[float]:
    """Yields the score of a row, unless its value is missing."""
    if row.get("score_a") is not None and row.get("score_b") is not None:
        yield positive.of_difference(to_number(str(row["score_a"])) - to_number(str(row["score_b"])))
    elif row.get("verdict") in VERDICTS:
        yield positive.of_difference(VERDICTS[row["verdict"]])
    elif "score" in row or "value" in row:
        value = row.get("score") if row.get("score") is not None else row.get("value")
        if value is not None:
            # If low grades are positive, a judge's grade of the same aspect changes its sign.
            same = row.get("aspect") in (None, LABEL) or positive.aspect != row.get("aspect") or positive.high
            if not math.isfinite(score := to_number(str(value))):
                raise InputError(f"{place}: the score is {value!r}, expected a finite number: correct the row")
            yield score * (1 if same else -1)
    elif row.get(LABEL) is not None:
        yield NOT_SURE if row[LABEL] == "not_sure" else float(bool(positive.of(row[LABEL])))


WORDS = 5_000  # vocabulary of TF-IDF


def build_problem(campaign: Campaign, scores: Sequence[Score], encoder: str) -> Problem:
    """Returns the features of a campaign's units.

    The row of a unit is its HS, or its item if no HS is known. The column of a pair is its CN, that of a reply its
    system,
    and that of a comparison its two systems. HS and CNs have similarities of texts; different systems have none.

    Args:
        campaign: The campaign; units of the role `item`, in their order.
        scores: Results of `read_scores`.
        encoder: `tfidf`, `minilm`, the folder of a sentence-transformers model, or its name on the Hub.

    Raises:
        InputError: The model is not found.
    """
    units = campaign.items()
    texts = campaign.texts()
    spoken = _texts(texts)
    places = [_place(unit, texts) for unit in units]
    rows, columns = (list(dict.fromkeys(place[side] for place in places)) for side in (0, 1))
    number = [{name: at for at, name in enumerate(names)} for names in (rows, columns)]
    values = [np.array([score.values.get(unit.unit_id, np.nan) for unit in units]) for score in scores]
    return Problem(
        rows=np.array([number[0][row] for row, _ in places], dtype=np.int64),
        columns=np.array([number[1][column] for _, column in places], dtype=np.int64),
        row_likeness=_likeness([spoken.get(row, "") for row in rows], encoder),
        column_likeness=(
            _likeness([spoken.get(column, "") for column in columns], encoder)
            if campaign.task.unit == "pair"
            else np.eye(len(columns))
        ),
        scores=standardised(values, len(units)),
    )


def _place(unit: Unit, texts: dict[str, Row]) -> tuple[str, str]:
    replies = [texts.get(reply or "", {}) for reply in (unit.reply_a, unit.reply_b)]
    row = unit.hs_id or replies[0].get("hs_id") or unit.item_id or replies[0].get("item_id") or unit.unit_id
    if unit.cn_id:
        return str(row), unit.cn_id
    return str(row), "\n".join(str(reply.get("system") or "") for reply in replies)


def _texts(texts: dict[str, Row]) -> dict[str, str]:
    """Returns the texts of HS, items and CNs by id; the HS of replies are part of the replies' rows."""
    found = {}
    for name, row in texts.items():
        for key in ("hs_id", "item_id"):
            if row.get(key) and row.get("hate_speech"):
                found[str(row[key])] = str(row["hate_speech"])
        found[name] = str(row.get("text") or "")
    return found


def _likeness(texts: Sequence[str], encoder: str) -> Floats:
    """Returns similarities of texts; an empty text is similar only to itself."""
    found = np.eye(len(texts))
    there = [place for place, text in enumerate(texts) if text.strip()]
    if len(there) < 2:
        return found
    spoken = [texts[place] for place in there]
    if encoder == TFIDF:
        from sklearn.feature_extraction.text import TfidfVectorizer

        try:
            vectors = TfidfVectorizer(sublinear_tf=True, max_features=WORDS).fit_transform(spoken).toarray()
        except ValueError:  # no text has a word
            return found
    else:
        from fcconan.retrieval import DOCUMENT, SentenceEncoder

        vectors = SentenceEncoder(encoder).encode(spoken, role=DOCUMENT)
    found[np.ix_(there, there)] = likeness(vectors)
    return found
