"""Origins of the answers of a run: from the store or new, their dates, and the models that endpoints report."""

import threading
from datetime import UTC, datetime
from typing import Any

from fcconan.models.answers.rows import StoredAnswer

_SHOWN = 3  # maximum number of reported models in a message


class Origins:
    """Counts answers by requested model.

    An answer counts as stored if it is older than this object.
    """

    def __init__(self) -> None:
        self._began = datetime.now(UTC).isoformat()
        self._lock = threading.Lock()
        # Requested model -> reported model and fingerprint -> numbers of new and of stored answers.
        self._numbers: dict[str, dict[tuple[str | None, str | None], list[int]]] = {}
        # Requested model and whether the answers were stored -> dates of the first and the last answer.
        self._dates: dict[tuple[str, bool], tuple[str, str]] = {}

    def add(self, model: object, stored: StoredAnswer) -> None:
        """Counts an answer.

        Args:
            model: Requested model.
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
        """Returns the dates of the first and the last answer (ISO 8601, UTC); None if no answer has a date."""
        dates = [date for dates in self._dates.values() for date in dates]
        return (min(dates), max(dates)) if dates else None

    @property
    def models(self) -> list[str]:
        """The requested models."""
        return list(self._numbers)

    def summary(self, model: str) -> dict[str, Any]:
        """Returns the number of stored answers of a model, and the models that endpoints report, as JSON-able values.

        Args:
            model: Requested model.
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
        """Returns a note on the stored answers of a model; None if there are none.

        Args:
            model: Requested model.
            option: Option of the command that repeats all requests.
        """
        found = self.summary(model)
        if not found["from_store"]:
            return None
        dates = [date[:10] if date else "an unknown date" for date in (found["stored_first"], found["stored_last"])]
        period = dates[0] if dates[0] == dates[1] else f"{dates[0]} to {dates[1]}"
        return (
            f"{model}: {found['from_store']} of {found['answers']} answers are from the store, of {period}; "
            f"{option} repeats the requests"
        )

    def change(self, model: str, *, option: str = "--fresh") -> str | None:
        """Returns a note if the endpoint reports several models or fingerprints for one requested model, else None.

        Args:
            model: Requested model.
            option: Option of the command that repeats all requests.
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
            f"the endpoint reports several models for {model}: {'; '.join(shown + more)}; they may be different "
            f"checkpoints; {option} repeats all requests with the current one"
        )


def find_origins(model: Any) -> Origins | None:
    """Returns the origins of a model's answers; None for a model without a store."""
    found = getattr(model, "origins", None) or getattr(getattr(model, "client", None), "origins", None)
    return found if isinstance(found, Origins) else None
