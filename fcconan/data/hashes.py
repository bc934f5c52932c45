"""Hashes of files."""

import hashlib
from pathlib import Path


def sha256_of(path: Path) -> str:
    """Returns the sha256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_with_hash(path: Path) -> str:
    """Returns a file's name with the first 12 digits of its sha256, such as `rows.csv@1f2e3d4c5b6a`, for signatures."""
    return f"{path.name}@{sha256_of(path)[:12]}"
