"""Checkpoints: computed values on disk, from which an interrupted command resumes.

All commands resume from checkpoints. Paid answers have a separate store (`fcconan.models`).

A checkpoint is a file with one value and its inputs (everything that determines the value), as one line of JSON:

    {"checksum": "32 hex digits", "format": 1, "inputs": {...}, "value": ...}

The checksum is BLAKE2b with 128 bits (RFC 7693) over the bytes that follow it. It detects damage and edits; it does not
authenticate the author of a file. A value with another checksum or other inputs is computed again. Damage is reported
in one line on standard error.
"""

import sys
from contextlib import suppress

FORMAT = 1
_START, _MIDDLE, _END = b'{"checksum": "', b'", ', b"}\n"
_DIGITS = 32


def report(text: str) -> None:
    """Prints a note on standard error, on one line."""
    with suppress(OSError):
        print("note:", "".join(letter if letter.isprintable() else "?" for letter in text), file=sys.stderr)
