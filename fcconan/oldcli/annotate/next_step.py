"""The command that comes next in a campaign, and why."""

from collections.abc import Mapping
from typing import Any


def line_of(step: Mapping[str, str]) -> str:
    """Returns the line that names a step."""
    return f"Next: {step['command']} ({step['reason']})"


def next_of(values: Mapping[str, Any]) -> str:
    """Returns that line for the campaign that a command was about."""
    from fcconan.annotation import Campaign, next_step

    return next_step(Campaign(values["campaign"]))
