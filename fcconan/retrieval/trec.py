"""Reading and writing of TREC runs and qrels, and reading of BEIR's tab-separated qrels."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fcconan.data import read_text
from fcconan.errors import InputError
from fcconan.retrieval.systems import FinishedRun
from fcconan.scoring import Ranking


def read_run(path: Path) -> tuple[str, dict[str, Ranking]]:
    """Reads a TREC run with lines `query Q0 document rank score name`.

    The rank column is ignored: scores determine the order, as in trec_eval.

    Args:
        path: Path of the run file.

    Returns:
        The name of the run, and query id -> ranking.

    Raises:
        InputError: A line has another form, or the file contains several runs.
    """
    run: dict[str, Ranking] = {}
    names: set[str] = set()
    for location, (query, _, document, _, score, name) in _lines(path, {6: "query Q0 document rank score name"}):
        try:
            value = float(score)
        except ValueError as error:
            raise InputError(f"{location}: the score {score!r} is not a number: correct the line") from error
        if not math.isfinite(value):
            raise InputError(f"{location}: the score is {score}; expected a finite number: correct the line")
        names.add(name)
        run.setdefault(query, []).append((document, value))
    if not run:
        raise InputError(f"{path} holds no ranking: give a TREC run with a line for every ranked CN")
    if len(names) > 1:
        raise InputError(f"{path} holds the runs {', '.join(sorted(names))}: give one file for each")
    return names.pop(), run


def run_from_file(path: Path) -> FinishedRun:
    """Returns the run of a file as a system with the name of the run; see `read_run`."""
    name, run = read_run(path)
    return FinishedRun(name, run, file=path.name)


def run_text(name: str, run: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    """Formats a run as a TREC run file, with scores in full precision.

    Args:
        name: Name of the run.
        run: Query id -> corpus ids with scores, best first.

    Raises:
        InputError: An id or the name is empty or has white space, which the format does not allow.
    """
    lines = []
    for query, ranking in run.items():
        for rank, (document, score) in enumerate(ranking, start=1):
            lines.append(
                f"{_check_field(query)} Q0 {_check_field(document)} {rank} {float(score)!r} {_check_field(name)}\n"
            )
    return "".join(lines)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Reads qrels with the four columns of TREC, or the three of BEIR (`query-id corpus-id score`, header optional).

    Args:
        path: Path of the qrels file.

    Returns:
        Query id -> corpus id -> relevance.

    Raises:
        InputError: A line has another form, a relevance is not a whole number, or a pair is judged twice.
    """
    qrels: dict[str, dict[str, int]] = {}
    forms = {3: "query document relevance", 4: "query 0 document relevance"}
    for location, (query, *_, document, relevance) in _lines(path, forms):
        if location == f"{path}, line 1" and relevance.lower() in ("score", "relevance", "rel"):
            continue
        try:
            value = int(relevance)
        except ValueError as error:
            raise InputError(
                f"{location}: the relevance {relevance!r} is not a whole number: correct the line"
            ) from error
        judged = qrels.setdefault(query, {})
        if document in judged:
            raise InputError(f"{location}: {query} {document} is judged twice: keep one of the lines")
        judged[document] = value
    if not qrels:
        raise InputError(f"{path} holds no judgement: give qrels with a line for every judged pair")
    return qrels


def qrels_text(qrels: Mapping[str, Mapping[str, int]]) -> str:
    """Formats judgements as a TREC qrels file.

    Args:
        qrels: Query id -> corpus id -> relevance.

    Raises:
        InputError: An id is empty or has white space, which the format does not allow.
    """
    lines = [
        f"{_check_field(query)} 0 {_check_field(document)} {relevance}\n"
        for query, judged in qrels.items()
        for document, relevance in judged.items()
    ]
    return "".join(lines)


def _lines(path: Path, forms: Mapping[int, str]) -> Iterator[tuple[str, list[str]]]:
    """Yields location and fields of each line that is not empty.

    Args:
        path: Path of the file.
        forms: Permitted number of fields -> names of the fields.

    Raises:
        InputError: The file cannot be read, or a line has another number of fields.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            line = line.removesuffix("\r")
            parts = line.split("\t") if line.count("\t") >= 2 else line.split()
            if len(parts) not in forms:
                expected = " or ".join(f"{n_fields} ({names})" for n_fields, names in forms.items())
                raise InputError(f"{path}, line {number}: {len(parts)} fields, expected {expected}: correct the line")
            yield f"{path}, line {number}", parts


def _check_field(text: str) -> str:
    if not text or any(character.isspace() for character in text):
        raise InputError(
            f"{text!r} is empty or has white space, which TREC files do not allow: use ids and names without"
        )
    return text


def check_qrels(
    partition: str,
    qrels: Mapping[str, Mapping[str, int]],
    queries: Mapping[str, str],
    corpus: Mapping[str, str],
    *,
    whole: bool,
) -> None:
    """Checks that qrels contain known ids only.

    Args:
        partition: Name of the partition, for messages.
        qrels: Query id -> corpus id -> relevance.
        queries: Query id -> text.
        corpus: Corpus id -> text.
        whole: Whether the catalogue is complete; otherwise unknown corpus ids are allowed.

    Raises:
        InputError: A query or corpus id is unknown.
    """
    for query, judged in qrels.items():
        if query not in queries:
            raise InputError(
                f"the qrels of {partition} judge query {query!r}, which the dataset does not have: correct them"
            )
        unknown = next((key for key in judged if key not in corpus), None) if whole else None
        if unknown is not None:
            raise InputError(
                f"the qrels of {partition} judge {unknown!r}, which the catalogue does not have (query "
                f"{query!r}): correct them"
            )
