"""Reading and writing of TREC runs and qrels, and reading of BEIR's tab-separated qrels."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from fcconan.data import read_text
from fcconan.errors import InputError
from fcconan.retrieval.systems import FinishedRun, Ranking


def read_run(path: Path) -> FinishedRun:
    """Reads a TREC run with lines `query Q0 document rank score name` as a system of that name.

    The rank column is ignored: scores determine the order, as in trec_eval.

    Args:
        path: Path of the run file.

    Raises:
        InputError: A line has another form, or the file holds no run or several.
    """
    run: dict[str, Ranking] = {}
    names = set()
    for (query, _, document, _, _, name), score in _lines(path, {6}, 4):
        run.setdefault(query, []).append((document, score))
        names.add(name)
    if len(names) != 1:
        found = " ".join([f"{len(names)} runs", *sorted(names)])
        raise InputError(f"{path} holds {found}, expected one in each file: give others")
    return FinishedRun(names.pop(), run)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Reads qrels with the four columns of TREC, or the three of BEIR (`query-id corpus-id score`, header optional).

    Args:
        path: Path of the qrels file.

    Returns:
        Query id -> corpus id -> relevance.

    Raises:
        InputError: A line has another form, a pair is judged twice, or the file has no judgement.
    """
    qrels: dict[str, dict[str, int]] = {}
    for (query, *_, document, _), relevance in _lines(path, {3, 4}, -1):
        if document in (judged := qrels.setdefault(query, {})) or relevance != int(relevance):
            raise InputError(f"{path}: {query} {document} is judged twice, or with {relevance:g}: keep a whole number")
        judged[document] = int(relevance)
    if not qrels:
        raise InputError(f"{path} holds no judgement: give qrels with a line for every judged pair")
    return qrels


def to_qrels(given: Any) -> Mapping[str, Mapping[str, int]]:
    """Returns judgements from a file, from `ranx.Qrels`, or from query id -> corpus id -> relevance.

    Raises:
        InputError: The file cannot be read, or a relevance is not a whole number.
    """
    if isinstance(given, str | PathLike):
        return read_qrels(Path(given))
    rows = given.to_dict() if hasattr(given, "to_dict") else given
    if wrong := [value for row in rows.values() for value in row.values() if value != int(value)]:
        raise InputError(f"found the relevance {wrong[0]}, expected whole numbers: round them")
    return {str(query): {str(key): int(value) for key, value in row.items()} for query, row in rows.items()}


def _lines(path: Path, widths: Collection[int], column: int) -> Iterator[tuple[list[str], float]]:
    """Yields the fields of each line that is not empty, and the number in a column.

    Raises:
        InputError: A line has another number of fields, or no finite number in the column.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        parts = line.split("\t") if line.count("\t") >= 2 else line.split()
        if not parts or (number == 1 and parts[-1].lower() in ("score", "relevance", "rel")):
            continue
        try:
            value = float(parts[column])
        except (IndexError, ValueError):
            value = math.nan
        if len(parts) not in widths or not math.isfinite(value):
            raise InputError(
                f"{path}, line {number}: found {line[:80]!r}, expected `query Q0 document rank score name` of a run or "
                "`query 0 document relevance` of qrels: correct the line"
            )
        yield parts, value


def run_text(name: str, run: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """Formats a run as a TREC run file, with scores in full precision.

    Args:
        name: Name of the run.
        run: Query id -> corpus ids with scores, best first.

    Raises:
        InputError: An id or the name is empty or has white space, which the format does not allow.
    """
    return "".join(
        f"{_checked(query)} Q0 {_checked(document)} {rank} {float(score)!r} {_checked(name)}\n"
        for query, ranking in run.items()
        for rank, (document, score) in enumerate(ranking, start=1)
    )


def _checked(text: str) -> str:
    if len(text.split()) != 1 or text.strip() != text:
        raise InputError(
            f"{text!r} is empty or has white space, which TREC files do not allow: use ids and names without"
        )
    return text
