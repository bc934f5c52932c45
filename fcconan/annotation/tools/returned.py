"""Answers of raters as a tool returned them, before any check."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Given:
    """What a file says about one unit of one rater, not checked yet.

    Attributes:
        where: Its place in the file: `row 3`, `task 17`.
        ids: By the names in `shown.IDS`.
        texts: What the file says was shown, by name.
        values: Answers by question; what has none is left out.
        skipped: Whether the rater skipped the unit.
        comment: What the rater remarked.
        seconds: How long the unit took.
        users: Whom the tool names as the one who answered; several names of one person.
    """

    where: str
    ids: dict[str, str]
    texts: dict[str, str]
    values: dict[str, Any]
    skipped: bool = False
    comment: str | None = None
    seconds: Any = None
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class GivenFile:
    """A file as read.

    Attributes:
        path: The file.
        sha256: Of its content.
        tool: Which format it has.
        units: What it says.
    """

    path: Path
    sha256: str
    tool: str
    units: list[Given]
