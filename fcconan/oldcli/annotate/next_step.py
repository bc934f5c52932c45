"""The command that comes next in a campaign, and why."""

from collections.abc import Mapping
from typing import Any


def line_of(step: Mapping[str, str | None]) -> str:
    """Returns the line that names a step, and a second line with its alternative if there is one.

    Examples:
        >>> line_of({"command": "fcconan annotate assign oaks", "reason": "no unit is assigned"})
        'Next: fcconan annotate assign oaks (no unit is assigned)'
    """
    line = f"Next: {step['command']} ({step['reason']})"
    alternative = step.get("alternative")
    return line if alternative is None else f"{line}\nOr continue without open units: {alternative}"


def next_of(values: Mapping[str, Any]) -> str:
    """Returns that line for the campaign that a command was about."""
    from fcconan.services import campaign_status

    return line_of(campaign_status(values["campaign"]).data["next"])
