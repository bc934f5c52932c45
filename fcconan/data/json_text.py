"""Parses JSON of any origin: whatever is wrong with it is a `ValueError`."""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Parses JSON.

    Args:
        text: The JSON text.

    Returns:
        The value.

    Raises:
        ValueError: The text is not JSON, or its arrays and objects are nested too deeply. Python's own parser raises
            `RecursionError` for the latter, which readers of files do not expect.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("its arrays and objects are nested too deeply") from error
