"""Messages: on one line, without secrets, and without characters that act on a terminal."""

import os
import re
import sys
import traceback

MASK = "***"
_SHORTEST = 8  # characters; a shorter key is a word such as `none`, which may occur in any text
_VARIABLE = re.compile(r"(?:^|_)(?:API_?KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SECRET = re.compile(
    # User name and password of an address. A password may hold a slash; a port may not.
    r"(?<=//)(?:[^\s/?#'\"<>]+|[^\s/?#'\"<>]*:(?!\d+[/?#])[^\s'\"<>]*)(?=@)"
    r"|(?:(?<=key=)|(?<=token=)|(?<=secret=)|(?<=password=)|(?<=sig=)|(?<=signature=))[^\s&;#'\"<>]+"
    r"|(?:(?<=bearer )|(?<=basic ))[\w+/=.-]{8,}"
    r"|\b(?:sk|hf|gsk|xai|ghp|glpat)[-_][\w-]{16,}",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """Returns a text whose user names, passwords and keys are replaced by `***`, those of the environment, too."""
    found = {value.strip() for name, value in os.environ.items() if _VARIABLE.search(name)}
    for secret in sorted(found, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, MASK)
    return _SECRET.sub(MASK, text)


def one_line(error: object, most: int = 200) -> str:
    """Returns the text of an error on one line, short and without secrets; its type where it has no text."""
    return " ".join(without_secrets(str(error)).split())[:most] or type(error).__name__


def printable(text: str) -> str:
    r"""Returns a text for a terminal: without secrets, and with an escape for each character that is not printable.

    Examples:
        >>> print(printable("a\x1b[31m b from http://me:word@host"))
        a\x1b[31m b from http://***@host
    """
    kept = "\n\t\u00a0\u202f\u3000"  # and the spaces of French and Chinese
    text = without_secrets(text)
    return "".join(each if each.isprintable() or each in kept else ascii(each)[1:-1] for each in text)


def show_traceback(error: BaseException) -> None:
    """Prints the traceback of an error on standard error, with `fcconan --debug` or `FCCONAN_DEBUG=1` only."""
    if os.environ.get("FCCONAN_DEBUG", "0") != "0":
        print(printable("".join(traceback.format_exception(error))), end="", file=sys.stderr)
