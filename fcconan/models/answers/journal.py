"""Journals of earlier versions, in JSONL.

Each line is `{"key": "...", "crc32": "...", "at": ..., "seconds": ..., "usage": ..., "request": ..., "response": ...}`.
The CRC-32 covers the rest of the line, including the line feed. Lines with CRLF, and a last line without line feed, are
valid.
"""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fcconan.models.requests import Finished, Request, from_json

_LINE = b'{"key": "'
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # editors on Windows put it in front
_SUM = b'", "crc32": "'
_DIGITS, _SUM_DIGITS = 64, 8


def is_journal_beginning(beginning: bytes) -> bool:
    """Returns whether a file with this beginning is a journal; if its first line is torn, the second one decides."""
    first, *others = beginning.removeprefix(_BYTE_ORDER_MARK).split(b"\n")
    torn = bool(first) and all(_LINE.startswith(each[: len(_LINE)]) for each in (first, *others[:1]))
    return first.startswith(_LINE) or torn


def lines_of(path: Path) -> Iterator[Finished | None]:
    """Yields the answers of a journal in their order; None for a damaged line.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        for line in file:
            text = line.removeprefix(_BYTE_ORDER_MARK).rstrip(b"\r\n")
            if text:
                yield _answer(text + b"\n")


def _answer(line: bytes) -> Finished | None:
    begin = len(_LINE) + _DIGITS
    end = begin + len(_SUM) + _SUM_DIGITS
    if not line.startswith(_SUM, begin) or line[end - _SUM_DIGITS : end] != b"%08x" % zlib.crc32(line[end:]):
        return None
    try:
        found: Any = from_json(line)
    except (ValueError, RecursionError):
        return None
    request, response, at, seconds = (found.get(name) for name in ("request", "response", "at", "seconds"))
    whole = isinstance(request, dict) and isinstance(response, dict) and type(request.get("sample") or 0) is int
    if not whole or not isinstance(at, str | None) or not isinstance(seconds, float | int | None):
        return None
    return Finished(Request(request), response, at, seconds)
