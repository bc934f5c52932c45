"""Where the answers of a run came from: the store or the model, when, and which model said that it answered."""

import threading
from datetime import UTC, datetime
from typing import Any

from fcconan.models.answers.rows import Stored

_SHOWN = 3  # of the models that answered under one name


class Origins:
    """Counts answers by the name of the model that was asked for.

    An answer is a stored one if it came before this object was made.
    """

    def __init__(self) -> None:
        self._began = datetime.now(UTC).isoformat()
        self._lock = threading.Lock()
        # Model -> reported model and fingerprint -> numbers of new and of stored answers.
        self._numbers: dict[str, dict[tuple[str | None, str | None], list[int]]] = {}
        # Model and whether the answers were stored -> when the first and the last of them came.
        self._dates: dict[tuple[str, bool], tuple[str, str]] = {}

    def add(self, model: object, stored: Stored) -> None:
        """Counts an answer.

        Args:
            model: The model that was asked for.
            stored: The answer.
        """
        name, fingerprint = (stored.response.get(field) for field in ("model", "system_fingerprint"))
        by = (None if name is None else str(name), None if fingerprint is None else str(fingerprint))
        was_stored = stored.at is None or stored.at < self._began
        with self._lock:
            self._numbers.setdefault(str(model), {}).setdefault(by, [0, 0])[was_stored] += 1
            if stored.at is not None:
                first, last = self._dates.get((str(model), was_stored), (stored.at, stored.at))
                self._dates[str(model), was_stored] = min(first, stored.at), max(last, stored.at)

    def dates(self) -> tuple[str, str] | None:
        """Returns when the first and the last of the answers came (ISO 8601, UTC); None where no answer has a date."""
        dates = [date for dates in self._dates.values() for date in dates]
        return (min(dates), max(dates)) if dates else None

    @property
    def models(self) -> list[str]:
        """The models that were asked for."""
        return list(self._numbers)

    def summary(self, model: str) -> dict[str, Any]:
        """Returns how many answers of a model were stored ones, and who answered, as JSON-able values.

        Args:
            model: The model that was asked for.
        """
        numbers = self._numbers.get(model, {})
        first, last = self._dates.get((model, True), (None, None))
        return {
            "answers": sum(map(sum, numbers.values())),
            "from_store": sum(stored for _, stored in numbers.values()),
            "stored_first": first,
            "stored_last": last,
            "answered_by": [
                {"model": name, "system_fingerprint": fingerprint, "from_store": stored, "new": new}
                for (name, fingerprint), (new, stored) in numbers.items()
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


def origins_of(model: Any) -> Origins | None:
    """Returns the origins of a model's answers; None for one that has no store."""
    found = getattr(model, "origins", None) or getattr(getattr(model, "client", None), "origins", None)
    return found if isinstance(found, Origins) else None
