"""Comparison of the output that a page shows with the output that a block printed."""

COLUMNS = "100"  # width of the terminal
ENVIRONMENT = {"COLUMNS": COLUMNS, "NO_COLOR": "1", "TERM": "dumb"}
OMITTED = "..."  # a line that stands for any number of lines


def find_difference(shown: str, printed: str) -> str | None:
    """Returns the first shown line that was not printed, or None.

    The shown lines must be consecutive lines of the output. A line `...` stands for omitted lines, and nothing need
    stand for those before the first and after the last line shown. Blanks at the end of a line do not matter.
    """
    actual = [line.rstrip() for line in printed.splitlines()]
    position = 0
    for part in _parts(shown):
        starts = range(position, len(actual) - len(part) + 1)
        start = next((start for start in starts if actual[start : start + len(part)] == part), None)
        if start is None:
            longest = max((_count_equal(part, actual[begin:]) for begin in range(position, len(actual))), default=0)
            return part[longest]
        position = start + len(part)
    return None


def _parts(shown: str) -> list[list[str]]:
    """Returns the groups of lines between omissions."""
    parts: list[list[str]] = [[]]
    for line in shown.splitlines():
        if line.strip() == OMITTED:
            parts.append([])
        else:
            parts[-1].append(line.rstrip())
    return [part for part in parts if part]


def _count_equal(expected: list[str], actual: list[str]) -> int:
    """Returns how many lines are equal from the beginning."""
    equal = [left == right for left, right in zip(expected, actual, strict=False)]
    return equal.index(False) if False in equal else len(equal)
