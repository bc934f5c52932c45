"""Pages of notes, plots and tables: one file that loads nothing."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fcconan.errors import InputError
from fcconan.report.tables import MISSING, Table
from fcconan.whole_files import write_whole

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes:
        title: Its heading.
        notes: Sentences before the rest.
        tables: Tables of text.
        plots: Titles and SVG.
    """

    title: str
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    plots: Sequence[tuple[str, str]] = field(default=())


def check_page(path: Path) -> None:
    """Checks before long work that a page can be written.

    Raises:
        InputError: It cannot.
    """
    if path.suffix not in (".html", ".htm") or path.is_dir():
        raise InputError(f"{path} is no page: give a file that ends in .html")
    if not os.access(path.absolute().parent, os.W_OK):
        raise InputError(f"{path} cannot be written: choose a file in a folder that is there")


def render_sections(
    title: str, lead: str, sections: Sequence[Section], *, signatures: Sequence[str] = (), back: str | None = None
) -> str:
    """Renders a page. It has no address to load from, and its policy forbids it to load anything.

    Args:
        title: Of the page.
        lead: A sentence below the title.
        sections: Its parts.
        signatures: What stands at the foot.
        back: A page beside it that it leads back to.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    shown = [
        Section(part.title, part.notes, part.tables, [(name, Markup(svg)) for name, svg in part.plots])
        for part in sections
    ]
    return environment.get_template("sections.html.jinja").render(
        title=title,
        lead=lead,
        sections=shown,
        signatures=signatures,
        back=back,
        script=Markup((HERE / "tables.js").read_text(encoding="utf-8")),
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
    )


def write_page(
    path: Path, title: str, lead: str, sections: Sequence[Section], *, signatures: Sequence[str] = ()
) -> None:
    """Writes a page that stands alone; see `render_sections`.

    Raises:
        InputError: It cannot be written.
    """
    try:
        page = render_sections(title, lead, sections, signatures=signatures)
        # The name of a file need not be Unicode, and stands in the signature.
        write_whole(path, page.encode(errors="backslashreplace").decode())
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another file") from error


def number(value: float | None, digits: int = 3) -> str:
    """Returns a figure as tables show it."""
    return MISSING if value is None else f"{value:.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Returns an interval as tables show it."""
    return MISSING if low is None or high is None else f"[{low:.{digits}f}, {high:.{digits}f}]"
