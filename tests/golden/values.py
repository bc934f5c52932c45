"""The record of values: one table, which does not depend on the form in which commands print or write results."""

import csv
import gzip
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

RECORD = Path(__file__).with_name("values.csv.gz")
EXACT, RESAMPLED, REPLACED = CLASSES = ("exact", "resampled", "replaced")
# Sums in another order differ in the last digits of a double (2e-16); 1e-9 is far below any change of a method.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
WORDS = 6  # of a recorded string, so that no source text is one


class Value(NamedTuple):
    """One value of a call.

    Args:
        call: Short stable name of the call.
        quantity: What was measured, independent of the form of results.
        keys: What tells values of a quantity apart, as `name=value;name=value`, sorted.
        value: Number with 12 significant digits, short string, or empty for a missing value.
        kind: `exact`, `resampled` or `replaced`; the column `class`.
        row: Row of SCOPE.md.
        tolerance: Absolute tolerance; empty for the one of exact values.
    """

    call: str
    quantity: str
    keys: str
    value: str
    kind: str
    row: str
    tolerance: str


COLUMNS = tuple(name.replace("kind", "class") for name in Value._fields)
Table = dict[tuple[str, str, str], Value]


class Row(NamedTuple):
    """A value as readers of results give it; `keys` without a value are left out."""

    quantity: str
    keys: Mapping[str, Any]
    value: Any
    row: str
    kind: str = EXACT
    tolerance: float | None = None


def text_of(value: Any) -> str:
    """Returns a value as it is recorded."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, int | float) else str(value)


def named(call: str, rows: Iterable[Row]) -> Table:
    """Returns the values of a call.

    Raises:
        ValueError: Two values have the same quantity and keys, or a string is so long that it may be a source text.
    """
    found: Table = {}
    for quantity, keys, value, row, kind, tolerance in rows:
        given = sorted((name, text_of(each)) for name, each in keys.items() if each is not None)
        joined = ";".join(f"{name}={each}" for name, each in given)
        if (call, quantity, joined) in found:
            raise ValueError(f"{call}: {quantity} {joined} occurs twice")
        longest = max(len(text.split()) for text in (quantity, text_of(value), *(text for _, text in given)))
        if longest > WORDS:
            raise ValueError(f"{call}: {quantity} has a string of {longest} words: record ids, names or digests")
        limit = "" if tolerance is None else f"{tolerance:.3g}"
        found[call, quantity, joined] = Value(call, quantity, joined, text_of(value), kind, row, limit)
    return found


def interval(quantity: str, keys: Mapping[str, Any], ends: Sequence[Any], row: str, step: float = 0.0) -> Iterator[Row]:
    """Yields the ends of a bootstrap interval, with 15 % of its width as tolerance.

    Args:
        quantity: The quantity inside the interval.
        keys: Its keys.
        ends: Lower and upper end, or None.
        row: Row of SCOPE.md.
        step: Distance of the values that a quantile can take, where they are few.
    """
    low, high = ends
    if low is not None and high is not None:
        tolerance = max(0.15 * abs(high - low), 1.01 * step, 1e-9)
        yield Row(f"{quantity}.low", keys, low, row, RESAMPLED, tolerance)
        yield Row(f"{quantity}.high", keys, high, row, RESAMPLED, tolerance)


def equal(old: Value, new: Value) -> bool:
    """Returns whether two values are equal within the tolerance of the recorded one."""
    if old.value == new.value:
        return True
    try:
        one, other = float(old.value), float(new.value)
    except ValueError:
        return False
    if old.kind == RESAMPLED:
        return abs(one - other) <= float(old.tolerance)
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=max(ABSOLUTE, float(old.tolerance or 0)))


def differences(recorded: Table, found: Table) -> list[tuple[Value, str]]:
    """Returns each value that differs from the record, with a line that says how.

    A quantity that the record lacks altogether, such as a new column, counts as equal.
    """
    known = {(call, quantity) for call, quantity, _ in recorded}
    pairs = [(recorded.get(key), found.get(key)) for key in [*recorded, *(key for key in found if key not in recorded)]]
    lines = []
    for old, new in pairs:
        if (one := old or new) is None or (old is None and one[:2] not in known) or (old and new and equal(old, new)):
            continue
        before, after = (repr(each.value) if each else "absent" for each in (old, new))
        lines.append((one, f"{one.call} | {one.quantity} | {one.keys}: {before} -> {after}"))
    return lines


def read(path: Path = RECORD) -> Table:
    """Returns the recorded values; an empty table without a record."""
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return {row[:3]: row for row in map(Value._make, list(csv.reader(file))[1:])}


def write(values: Table, path: Path = RECORD) -> None:
    """Writes values, the same bytes for the same values."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *sorted(values.values())])
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
        file.write(text.getvalue().encode())
