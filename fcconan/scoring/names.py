"""Checks of names that users give."""

from collections.abc import Collection, Iterable

from fcconan.data import did_you_mean
from fcconan.errors import InputError


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Checks that names are known, and returns each once.

    Args:
        kind: Kind of the names, for the message.
        names: Names to check.
        known: All known names.

    Raises:
        InputError: A name is unknown.
    """
    chosen = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
    for name in chosen:
        if name not in known:
            raise InputError(
                f"unknown {kind} {name!r}: {did_you_mean(name, known)}known are {', '.join(known) or 'none'}"
            )
    return chosen
