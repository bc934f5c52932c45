"""What pages are made of: templates, which escape all they are given, scripts, styles and data."""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

REPORT = Path(__file__).parent
FILTERS: dict[str, Callable[..., "Markup"]] = {}  # of templates; modules above this one add theirs
# JSON writes these as well, and none of them can then end the script element or a line of it.
ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


@lru_cache(maxsize=1)
def environment() -> "Environment":
    """Returns where templates of pages come from: names are those of files in `fcconan/reporting`; all is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(REPORT),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"prose": _prose, **FILTERS}
    return found


def _prose(text: str) -> "Markup":
    """Escapes a sentence; what stands between backticks is code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def markup(template: str, **values: Any) -> "Markup":
    """Renders a template to elements that a page can hold.

    Args:
        template: Its name in `fcconan/reporting`.
        values: What it shows; text is escaped.
    """
    from markupsafe import Markup

    return Markup(environment().get_template(template).render(**values))


def asset(name: str) -> str:
    """Returns a script or a style sheet."""
    return (REPORT / name).read_text(encoding="utf-8")


def script_json(data: Any) -> str:
    """Returns JSON that cannot end the script element that it stands in."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(ESCAPED)
