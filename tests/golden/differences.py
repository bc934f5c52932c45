"""What differs between a recorded and a new value: which output, where in it, the old and the new value."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

# Sums in another order, as other processors and library versions take them, differ in the last digits of a double
# (2e-16). After thousands of terms and a few divisions 1e-9 is far above that, and far below any change of a method.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
WIDTH = 100
# The names that tell the rows of an output apart, where they do.
IDENTITY = (
    "paper", "table", "row", "column", "config", "split", "name", "system", "a", "b", "rater", "raters", "judge",
    "metric", "check", "aspect", "level", "coefficient", "partition", "group", "item_id", "reply_id", "reply_a",
    "reply_b", "text",
)  # fmt: skip


class Difference(NamedTuple):
    """One place in an output, and what was and is there."""

    path: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.path}: {self.old} -> {self.new}"


def differences(old: Any, new: Any, path: str = "") -> Iterator[Difference]:
    """Yields every difference between two JSON values; floats count as equal within a relative tolerance of 1e-9."""
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _of_objects(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(old, new, path)
    elif not _equal(old, new):
        yield Difference(path, _shown(old), _shown(new))


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return math.isclose(old, new, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (math.isnan(old) and math.isnan(new))
    return type(old) is type(new) and bool(old == new)


def _of_objects(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Difference]:
    for name in [*old, *(name for name in new if name not in old)]:
        place = f"{path}.{name}" if path else name
        if name not in new:
            yield Difference(place, _shown(old[name]), "absent")
        elif name not in old:
            yield Difference(place, "absent", _shown(new[name]))
        else:
            yield from differences(old[name], new[name], place)


def _of_lists(old: list[Any], new: list[Any], path: str) -> Iterator[Difference]:
    """Rows are matched by what names them, so that one new row is one difference and not a shift of all others."""
    names = _identity(old, new)
    if names:
        before, after = ({_key(row, names): row for row in rows} for rows in (old, new))
        if [key for key in before if key in after] != [key for key in after if key in before]:
            yield Difference(path, "rows in the recorded order", "rows in another order")
        for key in [*before, *(key for key in after if key not in before)]:
            place = f"{path}[{key}]"
            if key not in after or key not in before:
                yield Difference(place, *(_shown(rows[key]) if key in rows else "absent" for rows in (before, after)))
            else:
                yield from differences(before[key], after[key], place)
        return
    if len(old) != len(new):
        yield Difference(path, f"{len(old)} entries", f"{len(new)} entries")
        lost, more = Counter(map(_text, old)), Counter(map(_text, new))
        for entry in [*(lost - more).elements()]:
            yield Difference(f"{path}[]", _cut(entry), "absent")
        for entry in [*(more - lost).elements()]:
            yield Difference(f"{path}[]", "absent", _cut(entry))
        return
    for number, (one, other) in enumerate(zip(old, new, strict=True)):
        yield from differences(one, other, f"{path}[{number}]")


def _identity(old: list[Any], new: list[Any]) -> list[str]:
    """The names whose values tell the rows of both lists apart; none if there is no such set."""
    if not old or not new or not all(isinstance(row, dict) for row in [*old, *new]):
        return []
    names = [name for name in IDENTITY if all(name in row for row in [*old, *new])]
    unique = all(len({_key(row, names) for row in rows}) == len(rows) for rows in (old, new))
    return names if unique else []


def _key(row: dict[str, Any], names: list[str]) -> str:
    return " ".join(f"{name}={row[name] if isinstance(row[name], str) else _text(row[name])}" for name in names)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _shown(value: Any) -> str:
    return _cut(_text(value))


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}... ({len(text)} characters)"
