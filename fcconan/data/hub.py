"""Helpers for the client of the Hugging Face Hub: one-line errors, silence on the terminal, a limit on waiting."""

import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fcconan.data.addresses import MASK, without_secrets

LONGEST_SILENCE = 120.0  # seconds without a response of the Hub; its client has no limit


def hub_error(error: object, token: str | None) -> str:
    """Returns what an error says, short, in one line, without the token, and without secrets in addresses."""
    text = without_secrets(str(error), (token,) if token else ())
    text = " ".join(text.split()) or type(error).__name__
    text = re.sub(r"(?i)\b(bearer )[^\s'\"]+", rf"\1{MASK}", text)
    text = re.sub(r"(https?://[^\s?'\"]+)\?[^\s'\"]*", r"\1", text)
    return text if len(text) <= 300 else text[:297] + "..."


def limit_hub_wait() -> None:
    """Lets the Hub's client give up on a Hub that accepts requests and says nothing, in the whole process."""
    from huggingface_hub.utils import get_session

    session: Any = get_session()
    if hasattr(session, "timeout"):  # versions before 1.0 have no such setting
        session.timeout = LONGEST_SILENCE


@contextmanager
def quiet_hub() -> Iterator[None]:
    """Keeps the Hub's client from writing addresses, and bars to where nobody watches."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    client = logging.getLogger("huggingface_hub")
    level = client.level
    showing = not are_progress_bars_disabled() and sys.stderr.isatty()
    was_showing = not are_progress_bars_disabled()
    client.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not showing:
            disable_progress_bars()
        try:
            yield
        finally:
            client.setLevel(level)
            if was_showing:
                enable_progress_bars()
