"""Sentences that stand in several places."""


def counted(number: int, what: str) -> str:
    """Returns a number with a noun, such as `1 rater` and `2 raters`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def failed(requests: int) -> str:
    """Says how many requests failed in a way that may be over when they are sent again."""
    return f"{counted(requests, 'request')} failed for a passing reason"
