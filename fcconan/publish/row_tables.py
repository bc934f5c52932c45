"""Files of rows, TREC runs and results as typed tables, text told from labels."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fcconan import rows
from fcconan.build.table import Table
from fcconan.errors import InputError
from fcconan.identity import cn_id, hs_id
from fcconan.publish.restricted import TEXT_COLUMNS, is_ours, is_sentence
from fcconan.row_files import SUFFIXES, read_rows
from fcconan.rows import LIST_TYPES, Columns

RUN_SUFFIXES = (".trec", ".run")
RESULT_SUFFIX = ".json"
SPLIT = "test"
Row = dict[str, Any]
# The columns by which a kind of row is known, the most telling kind first.
KNOWN_BY = {
    "comparisons": ("system_a", "system_b", "verdict"),
    "ratings": ("reply_id", "rater", "aspect", "value"),
    "votes": ("pair_id", "rater", "label"),
    "rankings": ("query_id", "corpus_id", "score", "system"),
    "results": ("system", "partition", "metric", "value"),
    "replies": ("system", "reply_id"),
    "tests": ("a", "b", "partition", "metric", "difference"),
}


def holds_rows(path: Path) -> bool:
    """Whether a file has the name of rows or a run, or holds a result with rows."""
    if path.suffix != RESULT_SUFFIX:
        return path.suffix in (*SUFFIXES, *RUN_SUFFIXES)
    try:
        _result(path)
    except InputError:
        return False
    return True


def read_tables(files: Iterable[Path]) -> tuple[list[Table], list[str]]:
    """Reads files; those of one kind become one table.

    Returns:
        The tables, and the signatures of results.

    Raises:
        InputError: A file cannot be read or holds rows of no known kind.
    """
    found: dict[str, list[Row]] = {}
    signatures: list[str] = []
    for path in files:
        if path.suffix in RUN_SUFFIXES:
            found.setdefault("rankings", []).extend(_run(path))
        elif path.suffix == RESULT_SUFFIX:
            config, more, signature = _result(path)
            found.setdefault(config, []).extend(more)
            signatures += [signature] if signature else []
        else:
            more = list(read_rows(path))
            found.setdefault(_kind(path, more), []).extend(more)
    return [_table(config, found[config]) for config in sorted(found)], signatures


def _kind(path: Path, found: list[Row]) -> str:
    if not found:
        raise InputError(f"{path} holds no row: there is nothing to publish")
    for kind, needed in KNOWN_BY.items():
        if all(name in found[0] for name in needed):
            return kind
    known = "; ".join(f"{kind} ({', '.join(needed)})" for kind, needed in KNOWN_BY.items())
    raise InputError(
        f"{path} holds rows of no known kind (columns {', '.join(list(found[0])[:8])}): expected the columns of {known}"
    )


def _run(path: Path) -> list[Row]:
    from fcconan.retrieve.trec import read_run

    system, run = read_run(path)
    return [
        {"query_id": query, "corpus_id": document, "rank": rank, "score": score, "system": system}
        for query, ranking in run.items()
        for rank, (document, score) in enumerate(sorted(ranking, key=lambda each: -each[1]), start=1)
    ]


def _result(path: Path) -> tuple[str, list[Row], str | None]:
    """Returns what kind of result a file holds, its rows, and its signature."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        json.dumps(result, ensure_ascii=False).encode()  # half a character cannot be written
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path} cannot be read ({reason}): give a file that --json wrote") from error
    listed = result if isinstance(result, list) else result.get("rows") if isinstance(result, dict) else None
    if isinstance(result, dict) and isinstance(result.get("systems"), dict) and "protocol" in result:
        from fcconan.report.tables import as_csv

        try:
            return "results", list(csv.DictReader(io.StringIO(as_csv(result)))), _signature(result)
        except (AttributeError, KeyError, TypeError) as error:
            raise InputError(f"{path} is no result of `fcconan bench` ({error!r}): give what --json wrote") from error
    config = "results"
    if listed is None and isinstance(result, dict) and isinstance(result.get("systems"), list):
        config, listed = "tournament", result["systems"]
    if not isinstance(listed, list) or not listed or not all(isinstance(row, dict) for row in listed):
        raise InputError(f"{path} holds no result with rows: give a file that --json wrote")
    names = set(listed[0])
    if config == "results" and {"published", "recomputed"} <= names:
        config = "reproduction"
    elif config == "results" and {"coefficient", "value"} <= names:
        config = "correlations" if "metric" in names else "agreement"
    elif config == "results" and {"system", "rater", "aspect", "value"} <= names:
        config = "leaderboard"
    return config, listed, _signature(result)


def _signature(result: Any) -> str | None:
    """Returns the signature of a result; what is none, but words, is not passed on."""
    signature = result.get("signature") if isinstance(result, dict) else None
    if not isinstance(signature, str) or any(map(is_sentence, signature.split("|"))):
        return None
    return " ".join(signature.replace("`", "'").split())


def _table(config: str, found: list[Row]) -> Table:
    known = known_columns(config)
    names = list(dict.fromkeys(name for row in found for name in row))
    bad = next((name for name in names if not name.strip() or is_sentence(name)), None)
    if bad is not None:
        raise InputError(
            f"a column of the {config} is called {bad[:40]!r}, and names of columns are shown to everybody: give it a "
            "short name"
        )
    if "hate_speech" in names and "hs_id" not in names:
        # Without its text a row is found again by this id alone.
        names.append("hs_id")
        found = [row | {"hs_id": hs_id(str(row["hate_speech"])) if row.get("hate_speech") else None} for row in found]
    columns: Columns = {}
    data: dict[str, list[Any]] = {}
    for name in names:
        values = [_missing(row.get(name)) for row in found]
        columns[name], data[name] = _typed(
            name, values, known.get(name), strict=bool(known), ours=is_ours(config, name)
        )
        if columns[name] in rows.RESTRICTED_TYPES and not any(data[name]):
            del columns[name], data[name]  # a column of text without text
    table = Table(config, SPLIT, columns, data, ())
    if config == "comparisons":
        table.check()
    return table


def known_columns(config: str) -> Columns:
    """Returns the columns that the package writes for a kind of row."""
    from fcconan.generate.item import GENERATED
    from fcconan.judge.compare import COLUMNS
    from fcconan.judge.rate import LABELLED, RATED

    return {
        "replies": GENERATED,
        "ratings": RATED | dict.fromkeys(("item_id", "hs_id", "system"), "string"),
        "votes": LABELLED,
        "comparisons": COLUMNS,
        "rankings": rows.RANKING,
        "results": dict.fromkeys(("system", "partition", "metric"), "string"),
        "tests": dict.fromkeys(("partition", "metric", "a", "b", "family"), "string"),
    }.get(config, {})


def _missing(value: Any) -> Any:
    return None if value == "" else value


def _typed(name: str, values: list[Any], kind: str | None, *, strict: bool, ours: bool) -> tuple[str, list[Any]]:
    """Returns the type of a column and its values in that type.

    Args:
        name: The column.
        values: Its values.
        kind: Its type, if the package writes such columns.
        strict: Take strings of an unknown column for text, however short: nobody has said that they are labels.
        ours: The package fills this column with sentences of its own.
    """
    if kind in LIST_TYPES:
        return str(kind), [_list(name, value) for value in values]
    if kind in _CASTS:
        cast = _cast(kind, values)
        if cast is None:
            bad = next(value for value in values if _cast(kind, [value]) is None)
            raise InputError(f"column {name} holds {str(bad)[:40]!r}, expected {kind}: mend that cell")
        return kind, cast
    if kind is None and any(value is not None for value in values):
        for guessed in _CASTS:
            cast = _cast(guessed, values)
            if cast is not None:
                return guessed, cast
    strings = [value if value is None or isinstance(value, str) else _json(value) for value in values]
    is_text = kind == "text" or name in TEXT_COLUMNS or (kind is None and strict) or not _are_labels(strings)
    return "text" if is_text and not ours else "string", strings


def _are_labels(strings: list[str | None]) -> bool:
    return not any(text is not None and is_sentence(text) for text in strings)


def _cast(kind: str, values: list[Any]) -> list[Any] | None:
    """Returns values as numbers or truth values, or None where one of them is none."""
    try:
        return [None if value is None else _CASTS[kind](value) for value in values]
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    return {"True": True, "False": False, "true": True, "false": False}[value]


def _whole(value: Any) -> int:
    number = _float(value)
    if not number.is_integer() or abs(number) >= 2**31:
        raise ValueError(value)
    return int(number)


def _float(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError(value)
    return float(value)


_CASTS: dict[str, Callable[[Any], Any]] = {"bool": _truth, "int": _whole, "float": _float}


def _list(name: str, value: Any) -> list[str] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = 0
    if value is not None and not isinstance(value, list):
        raise InputError(f"column {name} holds a cell that is no list of strings: mend that cell")
    return None if value is None else [str(each) for each in value]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)  # Parquet has dates and the like


def foreign_texts(tables: Iterable[Table], known: Mapping[str, frozenset[str]]) -> list[str]:
    """Returns the columns that hold texts of which nothing says that they are about a dataset.

    These are messages and reference CNs that are not its own, replies to no message of its own and what is said about
    such replies, and sentences in columns that this package does not know.

    Args:
        tables: The tables.
        known: The ids of the HS, CNs, replies and pairs of that dataset, by the names of their columns.
    """
    found: set[str] = set()
    replies = set(known["reply_id"])
    for table in sorted(tables, key=lambda each: each.config != "replies"):
        texts = {name for name, kind in table.columns.items() if kind in rows.RESTRICTED_TYPES} - _UPSTREAM.keys()
        about = [
            (ids, table.data[name])
            for name, ids in (*known.items(), ("reply_id", replies))
            if name in _ABOUT and name in table.data
        ]
        if not all(any(column[row] in ids for ids, column in about) for row in range(len(table))):
            found.update(f"{table.config}: {name}" for name in texts)
        elif table.config == "replies":
            replies.update(table.data.get("reply_id", ()))
        for name in texts - known_columns(table.config).keys():
            if not _are_labels(table.data[name]):
                found.add(f"{table.config}: {name}")
        for name, (side, id_of) in _UPSTREAM.items():
            for value in table.data.get(name, ()):
                each = value if isinstance(value, list) else [value]
                if any(text and id_of(text) not in known[side] for text in each):
                    found.add(f"{table.config}: {name}")
    return sorted(found)


_UPSTREAM = {"hate_speech": ("hs_id", hs_id), "counter_narrative": ("cn_id", cn_id), "references": ("cn_id", cn_id)}
_ABOUT = ("hs_id", "reply_id", "pair_id")
