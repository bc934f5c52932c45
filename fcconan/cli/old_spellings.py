"""Old spellings of options, which are accepted for one release."""

import sys
from collections.abc import Mapping

from fcconan.errors import InputError


def renewed(
    args: list[str],
    renamed: Mapping[str, tuple[str, str | None]],
    removed: Mapping[str, str],
    ignored: Mapping[str, str],
) -> list[str]:
    """Replaces old spellings of options on a command line, and prints a note for each.

    Args:
        args: The words after the name of the command.
        renamed: Old spelling -> new spelling, and a template of its value or None.
        removed: Old spelling -> the options that replace it.
        ignored: Old switch -> the reason for which it has no effect.

    Raises:
        InputError: A spelling was removed.
    """
    found: list[str] = []
    noted: set[str] = set()
    template = None
    for place, word in enumerate(args):
        if word == "--":
            return [*found, *args[place:]]
        if template is not None:
            found.append(template.format(word))
            template = None
            continue
        old, equals, value = word.partition("=")
        if old in removed:
            raise InputError(f"{old} was removed: use {removed[old]}")
        if old in ignored:
            print(f"fcconan: {old} has no effect now: {ignored[old]}", file=sys.stderr)
            continue
        if old in renamed:
            new, template = renamed[old]
            if old not in noted:
                noted.add(old)
                print(f"fcconan: {old} is now {new}: the old spelling will be removed in 0.3.0", file=sys.stderr)
            if template is not None and "{}" not in template:  # a switch that became a value
                found += [new, template]
                template = None
                continue
            found.append(new + (equals + (template or "{}").format(value) if equals else ""))
            template = None if equals else template
        else:
            found.append(word)
    return found
