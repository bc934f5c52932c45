"""Where the answers of a run came from: the store or the model, when, and which model said that it answered."""

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from fcconan.models.answers.file import Stored

_SHOWN = 3  # of the models that answered under one name


@dataclass
class _Part:
    """Answers of one kind: their number, and when the first and the last of them came."""

    number: int = 0
    first: str | None = None
    last: str | None = None

    def add(self, at: str | None, number: int = 1) -> None:
        self.number += number
        if at is not None:
            self.first, self.last = min(self.first or at, at), max(self.last or at, at)


class Origins:
    """Counts answers by the name of the model that was asked for.

    An answer is a stored one if it came before this object was made.
    """

    def __init__(self) -> None:
        self._began = datetime.now(UTC).isoformat()
        self._lock = threading.Lock()
        # Model -> reported model and fingerprint -> whether they were stored -> the answers.
        self._found: dict[str, dict[tuple[str | None, str | None], dict[bool, _Part]]] = {}

    def add(self, model: object, stored: Stored) -> None:
        """Counts an answer.

        Args:
            model: The model that was asked for.
            stored: The answer.
        """
        by = (_text(stored.response.get("model")), _text(stored.response.get("system_fingerprint")))
        was_stored = stored.at is None or stored.at < self._began
        with self._lock:
            parts = self._found.setdefault(str(model), {}).setdefault(by, {True: _Part(), False: _Part()})
            parts[was_stored].add(stored.at)

    def dates(self) -> tuple[str, str] | None:
        """Returns when the first and the last of the answers came (ISO 8601, UTC); None where no answer has a date."""
        whole = _Part()
        for by in self._found.values():
            for parts in by.values():
                for part in parts.values():
                    whole.add(part.first)
                    whole.add(part.last)
        return None if whole.first is None or whole.last is None else (whole.first, whole.last)

    @property
    def models(self) -> list[str]:
        """The models that were asked for."""
        return list(self._found)

    def summary(self, model: str) -> dict[str, Any]:
        """Returns how many answers of a model were stored ones, and who answered, as JSON-able values.

        Args:
            model: The model that was asked for.
        """
        by = self._found.get(model, {})
        stored = _Part()
        for parts in by.values():
            for date in (parts[True].first, parts[True].last):
                stored.add(date, 0)
            stored.number += parts[True].number
        return {
            "answers": sum(part.number for parts in by.values() for part in parts.values()),
            "from_store": stored.number,
            "stored_first": stored.first,
            "stored_last": stored.last,
            "answered_by": [
                {
                    "model": name,
                    "system_fingerprint": fingerprint,
                    "from_store": parts[True].number,
                    "new": parts[False].number,
                }
                for (name, fingerprint), parts in by.items()
            ],
        }

    def stored(self, model: str, *, option: str = "--fresh") -> str | None:
        """Returns a sentence about the stored answers of a model; None where there are none.

        Args:
            model: The model that was asked for.
            option: The option of the command that asks again.
        """
        found = self.summary(model)
        if not found["from_store"]:
            return None
        dates = [date[:10] if date else "an unknown date" for date in (found["stored_first"], found["stored_last"])]
        period = dates[0] if dates[0] == dates[1] else f"{dates[0]} to {dates[1]}"
        return (
            f"{model}: {found['from_store']} of {found['answers']} answers were stored ones, of {period}; "
            f"{option} asks again"
        )

    def change(self, model: str, *, option: str = "--fresh") -> str | None:
        """Returns a sentence about several models or fingerprints that answered under one name; None for one.

        Args:
            model: The model that was asked for.
            option: The option of the command that asks again.
        """
        by = self.summary(model)["answered_by"]
        if len(by) < 2:
            return None
        shown = [
            f"{each['model']} ({each['system_fingerprint'] or 'no fingerprint'}): {each['from_store']} stored, "
            f"{each['new']} new"
            for each in by[:_SHOWN]
        ]
        more = [f"{len(by) - _SHOWN} more"] if len(by) > _SHOWN else []
        return (
            f"{model} did not always answer as the same model: {'; '.join(shown + more)}; they may be different "
            f"checkpoints, and {option} asks one of them everything"
        )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def origins_of(model: Any) -> Origins | None:
    """Returns the origins of a model's answers; None for one that has no store."""
    found = getattr(model, "origins", None) or getattr(getattr(model, "client", None), "origins", None)
    return found if isinstance(found, Origins) else None
