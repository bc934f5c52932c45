"""Fields that a user adds to every request."""

import json
from collections.abc import Iterable
from typing import Any

from fcconan.errors import InputError

FIXED = ("model", "messages", "response_format", "n", "stream")  # the package itself decides these


def read_fields(given: Iterable[str], *, option: str = "--request-field") -> dict[str, Any]:
    """Reads NAME=VALUE; the value is JSON, or else text, and an empty value leaves the field out.

    Args:
        given: The texts.
        option: The option that gave them, for messages.

    Raises:
        InputError: One is not of this form, is repeated, or is a field that the package decides.

    Examples:
        >>> read_fields(["reasoning_effort=low", "top_p=0.9", "temperature="])
        {'reasoning_effort': 'low', 'top_p': 0.9, 'temperature': None}
    """
    found: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name or not equals or name in found or name in FIXED:
            raise InputError(
                f"{option} is {each!r}: give NAME=VALUE, each name once and none of {', '.join(FIXED)}, or NAME= to "
                "leave a field out"
            )
        try:
            found[name] = json.loads(value, parse_constant=_no_number) if value else None
        except ValueError:
            found[name] = value
    return found


def _no_number(name: str) -> None:
    raise ValueError(name)
