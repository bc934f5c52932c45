"""Checkpoints: computed values on disk, from which an interrupted command resumes.

All commands resume from checkpoints. Paid answers have a separate store (`fcconan.models`).

A checkpoint is a file with one value and its inputs (everything that determines the value), as one line of JSON:

    {"checksum": "32 hex digits", "format": 1, "inputs": {...}, "value": ...}

The checksum is BLAKE2b with 128 bits (RFC 7693) over the bytes that follow it. It detects damage and edits; it does not
authenticate the author of a file. A value with another checksum or other inputs is computed again. Damage is reported
in one line on standard error.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fcconan.data.atomic import write_whole
from fcconan.errors import InputError

FORMAT = 1
_CLAIM = "what.json"
_START, _MIDDLE, _END = b'{"checksum": "', b'", ', b"}\n"
_DIGITS = 32


class Checkpoint:
    """A file with one computed value.

    Args:
        path: The file.
        inputs: Everything that determines the value, as values that JSON can hold.

    Raises:
        TypeError: JSON cannot hold an input. Text does not replace an input: long arrays are abbreviated.
    """

    def __init__(self, path: Path, inputs: Mapping[str, Any]) -> None:
        self.path = path
        self._head = f'"format": {FORMAT}, "inputs": {json.dumps(inputs, sort_keys=True)}, "value": '.encode()

    def load(self) -> Any:
        """Returns the value; None if there is none for these inputs.

        A damaged file is reported on standard error. A file that cannot be read counts as missing.
        """
        try:
            line = self.path.read_bytes()
        except OSError:
            return None
        body = line[len(_START) + _DIGITS + len(_MIDDLE) : -len(_END)]
        if line != _sealed(body):
            report(f"{self.path} is damaged or of an older version: its content is computed again")
            return None
        return json.loads(body.removeprefix(self._head)) if body.startswith(self._head) else None

    def save(self, value: Any) -> None:
        """Writes the value, whole or not at all.

        Args:
            value: Anything but None that JSON can hold.

        Raises:
            OSError: The file cannot be written.
            TypeError: JSON cannot hold the value.
        """
        line = _sealed(self._head + json.dumps(value).encode())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.path, line.decode())


def _sealed(body: bytes) -> bytes:
    """Returns a line of JSON with a checksum and the members in `body`."""
    checksum = hashlib.blake2b(body, digest_size=_DIGITS // 2).hexdigest().encode()
    return _START + checksum + _MIDDLE + body + _END


def claim_folder(folder: Path, inputs: Mapping[str, Any], task: str) -> None:
    """Makes the folder of an unfinished task, or checks that it belongs to the same task.

    Args:
        folder: The folder, which gets a file with the inputs.
        inputs: Everything that determines the result, as values that JSON can hold.
        task: Name of the task, such as `training`.

    Raises:
        InputError: The folder belongs to another task, or cannot be used.
    """
    path, inputs = folder / _CLAIM, json.loads(json.dumps(inputs))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.is_file():
            write_whole(path, json.dumps(inputs, indent=2) + "\n")
            return
        before = json.loads(path.read_text(encoding="utf-8"))
        other = sorted(key for key in {*inputs, *before} if inputs.get(key) != before.get(key))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{folder} cannot be used ({error}): remove it or choose another --out") from error
    if other:
        raise InputError(
            f"{folder} holds an unfinished {task} with another {', '.join(other)}: finish it with the original "
            "options, or remove it"
        )


def report(text: str) -> None:
    """Prints a note on standard error, on one line."""
    with suppress(OSError):
        print("note:", "".join(letter if letter.isprintable() else "?" for letter in text), file=sys.stderr)
