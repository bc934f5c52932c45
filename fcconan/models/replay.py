"""Recorded outputs as a model, so that a judge can be run again without its model."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fcconan.data import name_with_hash, read_rows
from fcconan.errors import InputError
from fcconan.models.requests import ChatRequest, ChatResponse

OUTPUT = "output"


class ReplayModel:
    """A model that returns the recorded outputs of a file.

    The file (CSV, JSONL or parquet) has a column `output`, and columns with the names of prompt variables, such as
    `hate_speech`, `counter_narrative` or `aspect`. The row with the same values is the answer to a request; repeated
    requests use further such rows.

    Args:
        path: File of recorded outputs.

    Attributes:
        name: `replay:` and the name of the file.
        identity: Name and hash of the file.

    Raises:
        InputError: The file cannot be read or lacks these columns.
    """

    def __init__(self, path: Path) -> None:
        self.name, self.identity, self.path = f"replay:{path.stem}", {"replay": name_with_hash(path)}, path
        rows = list(read_rows(path))
        self._columns = [name for name in (rows[0] if rows else ()) if name != OUTPUT]
        if not self._columns or OUTPUT not in rows[0]:
            raise InputError(
                f"{path} has the columns {', '.join(rows[0]) if rows else 'none'}, expected `{OUTPUT}` and columns "
                "such as `hate_speech`: add them"
            )
        self._outputs: dict[tuple[str, ...], list[str]] = {}
        for row in rows:
            self._outputs.setdefault(self._key(row), []).append(str(row[OUTPUT] or ""))

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Yields one answer for each request, in order.

        Raises:
            InputError: A column of the file is not a prompt variable of the requests.
        """
        for call in calls:
            unknown = [name for name in self._columns if name not in call.variables]
            if unknown:
                raise InputError(
                    f"{self.path} has the column {unknown[0]!r}, expected some of {', '.join(sorted(call.variables))}: "
                    "rename or remove it"
                )
            outputs = self._outputs.get(self._key(call.variables), [])
            if call.sample >= len(outputs):
                yield ChatResponse(
                    reason="not_recorded", detail=f"{self.path.name} has no output for this", model=self.name
                )
            elif not outputs[call.sample].strip():
                yield ChatResponse(reason="empty", model=self.name)
            else:
                yield ChatResponse(outputs[call.sample], model=self.name)

    def _key(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(" ".join(str(values[name] or "").split()) for name in self._columns)
