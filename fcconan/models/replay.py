"""Recorded outputs as a model, so that a judge can be run again without its model."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fcconan.data import read_rows, short_hash
from fcconan.errors import InputError
from fcconan.models.requests import ChatRequest, ChatResponse

OUTPUT = "output"


class ReplayModel:
    """A model that returns the recorded outputs of a file.

    The file (CSV, JSONL or parquet) has a column `output`, and columns with the names of prompt variables, such as
    `hate_speech`, `counter_narrative` or `aspect`. The row with the same values is the answer to a request; repeated
    requests use further such rows. Different outputs for the same values are samples, and need as many requests.

    Args:
        path: File of recorded outputs.
        name: Name of the model; by default `replay:` and the name of the file.

    Raises:
        InputError: The file cannot be read or lacks these columns.
    """

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self.name = name or f"replay:{path.stem}"
        self.path = path
        rows = list(read_rows(path))
        if not rows:
            raise InputError(f"{path} has no rows: give recorded outputs")
        if OUTPUT not in rows[0] or len(rows[0]) < 2:
            raise InputError(
                f"{path} has the columns {', '.join(rows[0])}, expected `{OUTPUT}` and columns such as `hate_speech`"
            )
        self._columns = [name for name in rows[0] if name != OUTPUT]
        self._outputs: dict[tuple[str, ...], list[str]] = {}
        for number, row in enumerate(rows, start=1):
            if row.keys() != rows[0].keys():
                raise InputError(
                    f"{path}, row {number} has the columns {', '.join(row)}, expected those of the first row: "
                    f"{', '.join(rows[0])}"
                )
            self._outputs.setdefault(self._key(row), []).append(_text(row[OUTPUT]))
        content = short_hash(*(json.dumps(row, sort_keys=True, default=str) for row in rows))
        self.configuration: dict[str, Any] = {"replay": path.name, "content": content}

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        """Yields one reply for each call, in order.

        Raises:
            InputError: A column of the file is not a prompt variable of these calls; or, at the end, the file has
                different outputs for the same values, but only one sample was requested.
        """
        repeated, several = False, None
        for call in calls:
            unknown = [name for name in self._columns if name not in call.variables]
            if unknown:
                raise InputError(
                    f"{self.path} has the column {unknown[0]!r}, but prompts are filled with "
                    f"{', '.join(sorted(call.variables))}: rename or remove it"
                )
            outputs = self._outputs.get(self._key(call.variables), [])
            repeated = repeated or call.sample > 0
            if len(set(outputs)) > 1:
                several = several or outputs
            if call.sample >= len(outputs):
                yield ChatResponse(
                    reason="not_recorded", detail=f"{self.path.name} has no output for this", model=self.name
                )
            elif not outputs[call.sample].strip():
                yield ChatResponse(reason="empty", model=self.name)
            else:
                yield ChatResponse(outputs[call.sample], model=self.name)
        if several is not None and not repeated:
            raise InputError(
                f"{self.path} has {len(several)} outputs for the same {', '.join(self._columns)}, and one is "
                "requested: remove the others, add a column that distinguishes them, or use them as "
                "samples with --samples"
            )

    def _key(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        return tuple(" ".join(_text(values[name]).split()) for name in self._columns)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
