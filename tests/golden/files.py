"""Record files: JSON with one row a line, and the names of the columns once."""

import json
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parent / "records"
TABLE = "$columns"
SHORT = 110


def path_of(part: str) -> Path:
    """Returns the file of a part."""
    return RECORDS / f"{part}.json"


def read(part: str) -> Any:
    """Returns what is recorded for a part.

    Raises:
        FileNotFoundError: Nothing is recorded.
    """
    return _decoded(json.loads(path_of(part).read_text(encoding="utf-8")))


def write(part: str, value: Any) -> None:
    """Writes the record of a part."""
    RECORDS.mkdir(exist_ok=True)
    path_of(part).write_text(as_text(value), encoding="utf-8")


def as_text(value: Any) -> str:
    """Returns a JSON value as text for a repository: small, and a changed number changes one line."""
    return f"{_lines(_encoded(value), '')}\n"


def _encoded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _encoded(each) for name, each in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > 2 and isinstance(value[0], dict):
        names = list(value[0])
        if all(isinstance(row, dict) and list(row) == names for row in value):
            return {TABLE: names, "rows": [[_encoded(each) for each in row.values()] for row in value]}
    return [_encoded(each) for each in value]


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        if TABLE in value:
            return [dict(zip(value[TABLE], map(_decoded, row), strict=True)) for row in value["rows"]]
        return {name: _decoded(each) for name, each in value.items()}
    return [_decoded(each) for each in value] if isinstance(value, list) else value


def _lines(value: Any, indent: str) -> str:
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    deeper = indent + " "
    if not isinstance(value, dict | list) or not value or len(compact) <= SHORT:
        return compact
    if isinstance(value, dict):
        inner = [f"{deeper}{json.dumps(name)}:{_lines(each, deeper)}" for name, each in value.items()]
        return "{\n" + ",\n".join(inner) + f"\n{indent}}}"
    flat = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in value]
    inner = [each if isinstance(row, list) else _lines(row, deeper) for each, row in zip(flat, value, strict=True)]
    return "[\n" + ",\n".join(deeper + each for each in inner) + f"\n{indent}]"
