"""Takes out of outputs what may differ between machines and releases: versions, dates, digits that no result needs."""

import re
from typing import Any

DIGITS = 12  # written; the comparison looks at nine
MASK = "*"

# `fcconan:0.1.0` and `nltk:3.10.4` in a signature. The content versions of a manifest (`1.4104733075.3319285542`) stay.
_IN_SIGNATURE = re.compile(r"(?<=[a-z]:)v?\d+\.\d+(?:\.\w+)+")
# The hash of a parquet file's bytes, which name the library that wrote them: `replies.parquet@0123456789ab`.
_BYTES = re.compile(r"(?<=\.parquet[@-])[0-9a-f]{12}")
_VERSION = re.compile(r"v?\d{1,4}(?:\.\d{1,4})+(?:[a-z+.-].*)?")
_DATE = re.compile(r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:\d\d)?)?")
_VERSION_KEYS = {"version", "package_version", "library_version", "pyarrow"}
_TIME_KEYS = {"seconds", "duration", "elapsed", "started", "finished", "created", "date"}


def masked(value: Any, key: str = "") -> Any:
    """Returns a JSON value without versions, bytes, dates and times, and with floats of 12 significant digits."""
    if isinstance(value, dict):
        return {name: masked(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [masked(each, key) for each in value]
    if key in _TIME_KEYS and isinstance(value, int | float | str):
        return MASK
    if isinstance(value, str):
        return MASK if key in _VERSION_KEYS and _VERSION.fullmatch(value) else masked_text(value)
    return rounded(value)


def masked_text(text: str) -> str:
    """Returns a text with its versions, hashes of bytes and dates masked."""
    for pattern in (_IN_SIGNATURE, _BYTES, _DATE):
        text = pattern.sub(MASK, text)
    return text


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Returns a float with fewer digits, and any other value as it is."""
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
