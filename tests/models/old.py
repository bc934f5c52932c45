"""Journals of answers as version 0.1.0 wrote them."""

import json
import zlib
from collections.abc import Mapping
from typing import Any

from fcconan.models.requests import request_key


def old_line(request: Mapping[str, Any], response: Mapping[str, Any], at: str | None, seconds: float | None) -> bytes:
    """One line, with its checksum."""
    record = {"at": at, "seconds": seconds, "usage": response.get("usage"), "request": request, "response": response}
    rest = b'", ' + json.dumps(record, separators=(",", ":")).encode()[1:] + b"\n"
    return b'{"key": "%s", "crc32": "%08x' % (request_key(request).encode(), zlib.crc32(rest)) + rest
