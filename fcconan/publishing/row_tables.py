"""Typed tables from files of rows, TREC runs and results, with texts in separate columns."""

import csv
import io
import json
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fcconan.building import Table
from fcconan.data import (
    PUBLISHED,
    RESTRICTED_TYPES,
    SUFFIXES,
    TEXT,
    Columns,
    is_name,
    make_hs_id,
    normalise,
    read_rows,
)
from fcconan.errors import InputError
from fcconan.publishing.forms import check_column_names, describe_string

RUN_SUFFIXES = (".trec", ".run")
RESULT_SUFFIX = ".json"
SPLIT = "test"
Row = dict[str, Any]
# Identifying columns of each kind of row, the most specific kind first.
IDENTIFYING_COLUMNS = {
    "comparisons": ("system_a", "system_b", "verdict"),
    "ratings": ("reply_id", "rater", "aspect", "value"),
    "votes": ("pair_id", "rater", "label"),
    "rankings": ("query_id", "corpus_id", "score", "system"),
    "results": ("system", "partition", "metric", "value"),
    "replies": ("system", "reply_id"),
    "tests": ("a", "b", "partition", "metric", "difference"),
}
# Identifying columns of the first row of results, the most specific kind first. Other rows are `results`.
RESULT_COLUMNS = {
    "reproduction": {"published", "recomputed"},
    "correlations": {"metric", "coefficient", "value"},
    "agreement": {"coefficient", "value"},
    "leaderboard": {"system", "rater", "aspect", "value"},
}
# Computed results, of which only numbers, names and ids are required.
RESULT_CONFIGS = frozenset(
    {"results", "tests", "tournament", "leaderboard", "correlations", "agreement", "reproduction"}
)


def has_rows(path: Path) -> bool:
    """Returns whether a file has the suffix of rows or a run, or contains a result with rows."""
    if path.suffix != RESULT_SUFFIX:
        return path.suffix in (*SUFFIXES, *RUN_SUFFIXES)
    try:
        _read_result(path)
    except InputError:
        return False
    return True


def read_tables(files: Iterable[Path], dropped: Collection[str] = ()) -> tuple[list[Table], list[str]]:
    """Reads files as tables, one for each kind of row.

    Args:
        files: The files.
        dropped: Columns to leave out.

    Returns:
        The tables, and the signatures of results.

    Raises:
        InputError: A file cannot be read or has an unknown kind of rows.
    """
    found: dict[str, list[Row]] = {}
    signatures: list[str] = []
    for path in files:
        if path.suffix in RUN_SUFFIXES:
            found.setdefault("rankings", []).extend(_read_run(path))
        elif path.suffix == RESULT_SUFFIX:
            config, more, stated = _read_result(path)
            found.setdefault(config, []).extend(more)
            signatures += stated
        else:
            more = list(read_rows(path))
            found.setdefault(_find_kind(path, more), []).extend(more)
    absent = set(dropped) - {name for rows in found.values() for row in rows for name in row}
    if absent:
        raise InputError(f"--drop-column {min(absent)}: found no column of this name")
    return [_make_table(config, found[config], dropped) for config in sorted(found)], list(dict.fromkeys(signatures))


def _find_kind(path: Path, found: list[Row]) -> str:
    if not found:
        raise InputError(f"{path} has no rows to publish: check the file")
    for kind, needed in IDENTIFYING_COLUMNS.items():
        if all(name in found[0] for name in needed):
            return kind
    known = "; ".join(f"{kind} ({', '.join(needed)})" for kind, needed in IDENTIFYING_COLUMNS.items())
    names = ", ".join(filter(is_name, list(found[0])[:8]))
    raise InputError(f"{path} has an unknown kind of rows (columns {names}): expected the columns of {known}")


def _read_run(path: Path) -> list[Row]:
    from fcconan.retrieval import read_run

    system, run = read_run(path)
    return [
        {"query_id": query, "corpus_id": document, "rank": rank, "score": score, "system": system}
        for query, ranking in run.items()
        for rank, (document, score) in enumerate(sorted(ranking, key=lambda each: -each[1]), start=1)
    ]


def _read_result(path: Path) -> tuple[str, list[Row], list[str]]:
    """Returns the kind of a result, its rows, and its signatures."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(result, ensure_ascii=False).encode()  # fails for unpaired surrogates
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path} cannot be read ({reason}): give an output of --json") from error
    document = result if isinstance(result, dict) else {"rows": result}
    systems, rows = document.get("systems"), document.get("rows")
    if isinstance(systems, dict) and "protocol" in document:
        from fcconan.retrieval import all_rows_csv

        try:
            return "results", list(csv.DictReader(io.StringIO(all_rows_csv(document)))), _list_signatures(document)
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} is not a result of `fcconan bench` ({error!r}): give an output of --json"
            ) from error
    is_tournament = rows is None and isinstance(systems, list)
    listed = systems if is_tournament else rows
    if not isinstance(listed, list) or not listed or not all(isinstance(row, dict) for row in listed):
        raise InputError(f"{path} has no result with rows: give an output of --json")
    known = (kind for kind, needed in RESULT_COLUMNS.items() if needed <= listed[0].keys())
    return "tournament" if is_tournament else next(known, "results"), listed, _list_signatures(document)


def _list_signatures(result: dict[str, Any]) -> list[str]:
    """Returns the signatures of a result; some kinds have several."""
    stated = result.get("signature")
    listed = [*stated.values()] if isinstance(stated, dict) else stated if isinstance(stated, list) else [stated]
    return list(dict.fromkeys(each for each in listed if isinstance(each, str)))


def _make_table(config: str, found: list[Row], dropped: Collection[str]) -> Table:
    schema = PUBLISHED[config]
    names = [name for name in dict.fromkeys(name for row in found for name in row) if name not in dropped]
    check_column_names(f"a file of {config}", config, names, None)
    if "hate_speech" in names and "hs_id" not in names:
        # Without texts, this id is the only link of a row to its reply.
        names.append("hs_id")
        found = [
            row | {"hs_id": make_hs_id(str(row["hate_speech"])) if row.get("hate_speech") else None} for row in found
        ]
    columns: Columns = {}
    data: dict[str, list[Any]] = {}
    for name in names:
        values = [None if row.get(name) == "" else row.get(name) for row in found]
        kind = schema[name].kind if name in schema else None
        if name in schema and schema[name].form is TEXT and kind not in RESTRICTED_TYPES:
            kind = "text"
        columns[name], data[name] = _convert_column(name, values, kind)
        if columns[name] in RESTRICTED_TYPES and (config in RESULT_CONFIGS or not any(data[name])):
            del columns[name], data[name]  # a note, or an empty column of texts
    table = Table(config, SPLIT, columns, data, ())
    if config == "comparisons":
        table.check()
    return table


def _convert_column(name: str, values: list[Any], kind: str | None) -> tuple[str, list[Any]]:
    """Returns the type of a column and its converted values.

    Args:
        name: Name of the column.
        values: Values of the column.
        kind: Type of the column; None for an unknown column, whose strings count as texts.
    """
    if kind is not None and kind in _PARSERS:
        return kind, [_convert_value(name, kind, value) for value in values]
    if kind is None and any(value is not None for value in values):
        for guess in GUESSED_TYPES:
            with suppress(InputError):
                return guess, [_convert_value(name, guess, value) for value in values]
    strings = [value if value is None or isinstance(value, str) else _to_json(value) for value in values]
    return ("text" if kind in (None, "text") else "string"), strings


def _convert_value(name: str, kind: str, value: Any) -> Any:
    try:
        return None if value is None else _PARSERS[kind](value)
    except (KeyError, ValueError, TypeError, OverflowError):
        raise InputError(
            f"column {name} holds {describe_string(str(value))}, expected {kind}: correct that cell"
        ) from None


def _parse_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    return {"True": True, "False": False, "true": True, "false": False}[value]


def _parse_int(value: Any) -> int:
    number = _parse_float(value)
    if not number.is_integer() or abs(number) >= 2**31:
        raise ValueError(value)
    return int(number)


def _parse_float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    return float(value)


def _parse_strings(value: Any) -> list[str]:
    listed = json.loads(value) if isinstance(value, str) else value
    if not isinstance(listed, list):
        raise TypeError(value)
    return [str(each) for each in listed]


_PARSERS: dict[str, Callable[[Any], Any]] = {
    "bool": _parse_bool,
    "int": _parse_int,
    "float": _parse_float,
    "strings": _parse_strings,
    "texts": _parse_strings,
}
GUESSED_TYPES = ("bool", "int", "float")  # possible types of unknown columns


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)  # dates and similar types of Parquet


def find_foreign_texts(tables: Iterable[Table], texts: Collection[str]) -> list[str]:
    """Returns the columns with a text that is not in a dataset, as `config: column`.

    Args:
        tables: The tables.
        texts: Normalised texts of the dataset.
    """
    return [
        f"{table.config}: {name}"
        for table in tables
        for name, kind in table.columns.items()
        if kind in RESTRICTED_TYPES
        for cells in [[value if isinstance(value, list) else [value] for value in table.data[name]]]
        if any(text and normalise(text) not in texts for cell in cells for text in cell)
    ]
