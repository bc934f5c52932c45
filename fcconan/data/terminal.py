"""Safe text for terminals: without control characters, invisible characters and changes of the text direction."""

import os
import re
import sys
import traceback
from collections.abc import Iterable
from typing import Any, TextIO, cast

from fcconan.data.addresses import environment_secrets, without_secrets

DEBUG_VARIABLE = "FCCONAN_DEBUG"
TRACEBACK = "`fcconan --debug COMMAND` shows the traceback"

# Controls (C0 without tab and line feed, DEL, C1), line and paragraph separators, halves of characters, annotation
# marks, and all that Unicode 16 calls default-ignorable, except the variation selectors of emoji and the two joiners.
_HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    r"\u2060-\u206f\u2800\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# The joiners are letters of Persian and Indic words and parts of emoji; next to anything else they only hide.
_VISIBLE = rf"[^\x00-\x7f\u200c\u200d{_HIDDEN}]"
_UNSAFE = re.compile(rf"[{_HIDDEN}]|(?<!{_VISIBLE})[\u200c\u200d]|[\u200c\u200d](?!{_VISIBLE})")
# The cursor movements of several tqdm bars, each of which is written alone.
_MOVEMENTS = re.compile(r"(?:\n|\x1b\[A)+")


def printable(text: str) -> str:
    r"""Returns a text with an escape such as `\x1b` or `\u202e` for each unsafe character.

    Line feeds and tabs are unchanged; CRLF becomes a line feed.
    """
    text = text.replace("\r\n", "\n")
    return text if text.isascii() and text.isprintable() else _UNSAFE.sub(_written_out, text)


def printable_name(name: str) -> str:
    """Returns an external name like `printable`, on one line."""
    return printable(name).replace("\n", "\\x0a").replace("\t", "\\x09")


def _written_out(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


class Terminal:
    """A stream that escapes unsafe characters and masks secrets in its output.

    Args:
        stream: Standard output or standard error.
        secrets: Strings to mask.

    Attributes:
        trusted: The stream itself, for libraries that write escape sequences. Their texts must be `cleaned`.
    """

    def __init__(self, stream: TextIO, secrets: Iterable[str]) -> None:
        self.trusted = stream
        self._secrets = tuple(secrets)

    def cleaned(self, text: str) -> str:
        """Returns the output of `write` for a text."""
        return printable(without_secrets(text, self._secrets))

    def write(self, text: str) -> int:
        """Writes a text; a bar on a terminal may begin with a carriage return."""
        if self.trusted.isatty():
            bar = text.lstrip("\r")
            start = text[: len(text) - len(bar)]
            self.trusted.write(text if _MOVEMENTS.fullmatch(text) else start + self.cleaned(bar))
        else:
            self.trusted.write(self.cleaned(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Writes several texts."""
        for line in lines:
            self.write(line)

    def __iter__(self) -> Any:
        return iter(self.trusted)

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "detach", "reconfigure"):  # ways around `write`
            raise AttributeError(name)
        return getattr(self.trusted, name)


def protect_streams() -> None:
    """Replaces standard output and standard error of this process with a `Terminal`."""
    secrets = environment_secrets()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, Terminal):
            setattr(sys, name, cast(TextIO, Terminal(stream, secrets)))


def trusted(stream: Any) -> Any:
    """Returns the stream to which a library may write escape sequences."""
    return stream.trusted if isinstance(stream, Terminal) else stream


def cleaned(text: str) -> str:
    """Returns a text that may be written to a trusted stream."""
    return sys.stdout.cleaned(text) if isinstance(sys.stdout, Terminal) else printable(text)


def is_debugging() -> bool:
    """Returns whether `fcconan --debug`, or `FCCONAN_DEBUG=1`, asks for tracebacks."""
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


def show_traceback(error: BaseException) -> None:
    """Prints the traceback of an error on standard error, in debug mode only."""
    if is_debugging() and sys.stderr is not None:
        text = "".join(traceback.format_exception(error))
        # A worker process has no `Terminal`.
        print(printable(without_secrets(text, environment_secrets())), end="", file=sys.stderr, flush=True)
