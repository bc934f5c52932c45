"""Rows of a benchmark's result, with scores on judged pairs only, intervals over HS and CNs, and the message AUC."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from fcconan.retrieval.benchmark_statistics import COLUMNS, ranked_systems, score_rows

MESSAGE_AUC = "message_auc"
CHANCE_AUC = 0.5  # chance level of the message AUC
LABEL_KEYS = ("judged_only", "two_way_intervals", MESSAGE_AUC)  # keys of a system in results that have them
FLAGS = ("uses_labels", "ignores_message")
Row = dict[str, Any]


def all_rows(result: Mapping[str, Any]) -> Iterator[Row]:
    """Yields the rows of `score_rows` with further columns, and rows of the message AUC, if the result has them.

    The further columns are:

    - `two_way_low`, `two_way_high`: interval over HS and CNs;
    - `judged_only`, `judged_only_low`, `judged_only_high`, `judged_only_chance`: score on judged pairs only, with
      interval and chance level;
    - `uses_labels`, `ignores_message`: 1 or 0.
    """
    systems = result["systems"]
    rows = score_rows(result)
    if not any(key in system for system in systems.values() for key in LABEL_KEYS):
        yield from rows
        return
    columns: list[str] = []
    for row in rows:
        columns = columns or [*row]
        yield row | _label_columns(result, row)
    for name in ranked_systems(result):
        for partition, found in systems[name].get(MESSAGE_AUC, {}).items():
            row = dict.fromkeys(columns) | {"system": name, "partition": partition, "metric": MESSAGE_AUC}
            row |= {"value": found["value"], "chance": CHANCE_AUC}
            yield row | _label_columns(result, row) | {"two_way_low": found["low"], "two_way_high": found["high"]}


def _label_columns(result: Mapping[str, Any], row: Mapping[str, Any]) -> Row:
    system, chance = result["systems"][row["system"]], result["chance"]

    def found(part: Mapping[str, Any], key: str) -> Any:
        return part.get(key, {}).get(row["partition"], {}).get(row["metric"])

    two_way = found(system, "two_way_intervals") or (None, None)
    judged = found(system, "judged_only_intervals") or (None, None)
    values: Row = dict(zip(("two_way_low", "two_way_high"), two_way, strict=True))
    values["judged_only"] = found(system, "judged_only")
    values |= dict(zip(("judged_only_low", "judged_only_high"), judged, strict=True))
    values["judged_only_chance"] = found(chance, "judged_only")
    return values | {flag: int(bool(system.get(flag))) for flag in FLAGS}


def all_rows_csv(result: Mapping[str, Any]) -> str:
    """Returns the rows of `all_rows` as CSV; missing values are empty."""
    rows = list(all_rows(result))
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(rows[0] if rows else ["system", "partition", "metric", *COLUMNS, "n_queries", "n_failed"])
    writer.writerows([["" if value is None else value for value in row.values()] for row in rows])
    return file.getvalue()
