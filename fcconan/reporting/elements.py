"""The material of pages: templates, which escape all values, scripts, styles and data."""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data import printable
from fcconan.reporting.tables import format_number

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

REPORT = Path(__file__).parent
FILTERS: dict[str, Callable[..., "Markup"]] = {}  # filters of templates; higher modules add more
# JSON writes these as well, and none of them can then end the script element or a line of it.
ESCAPED = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
# Characters that change the order of the letters around them are written out, as on a terminal.
DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
ESCAPED |= {number: f"\\\\u{number:04x}" for number in DIRECTIONS}


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
        finalize=_visible,
    )
    found.filters |= {"prose": _prose, "number": format_number, **FILTERS}
    return found


def _visible(value: Any) -> Any:
    """Returns a value with every control character of its text written out; elements are as they are."""
    return printable(value) if type(value) is str else value


def _prose(text: str) -> "Markup":
    """Escapes a sentence; text between backticks is code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(printable(text)))))


def markup(template: str, **values: Any) -> "Markup":
    """Renders a template to elements that a page can hold.

    Args:
        template: Its name in `fcconan/reporting`.
        values: Variables of the template; text is escaped.
    """
    from markupsafe import Markup

    return Markup(environment().get_template(template).render(**values))


def macro(name: str, *values: Any) -> "Markup":
    """Renders a macro of `parts.html.jinja`."""
    from markupsafe import Markup

    return Markup(getattr(environment().get_template("parts.html.jinja").module, name)(*values))


def asset(name: str) -> str:
    """Returns a script or a style sheet."""
    return (REPORT / name).read_text(encoding="utf-8")


def script_json(data: Any) -> str:
    """Returns JSON that cannot end the script element that holds it."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(ESCAPED)
