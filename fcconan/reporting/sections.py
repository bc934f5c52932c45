"""Pages of notes, plots and tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.data import may_be_written
from fcconan.errors import InputError
from fcconan.reporting.elements import markup
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, write
from fcconan.reporting.plots import themed
from fcconan.reporting.tables import MISSING, Table

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes:
        title: Its heading.
        notes: Sentences before the rest.
        tables: Tables of text.
        plots: Titles and SVG.
        more: Elements that stand before the tables.
        folded: Whether the first table is closed, too.
    """

    title: str
    notes: Sequence[str] = ()
    tables: Sequence[Table | View] = ()
    plots: Sequence[tuple[str, str]] = field(default=())
    more: "Markup | None" = None
    folded: bool = False

    def own_tables(self) -> list[Table]:
        """Returns the tables without how a page shows them; those of texts are left out."""
        found = [view if isinstance(view, View) else View(view) for view in self.tables]
        return [view.table for view in found if not view.texts]


def check_page(path: Path) -> None:
    """Checks before long work that a page can be written.

    Raises:
        InputError: It cannot.
    """
    if path.suffix not in (".html", ".htm") or path.is_dir():
        raise InputError(f"{path} is no page: give a file that ends in .html")
    if not may_be_written(path):
        raise InputError(f"{path} cannot be written: choose a file in a folder that is there")


def sections_page(
    name: str,
    title: str,
    lead: str,
    sections: Sequence[Section],
    *,
    signatures: Sequence[str] = (),
    label: str = "",
    headline: Table | None = None,
    notice: str | None = None,
    downloads: Sequence[Table] | None = None,
    finding: str = "",
    plot: "Markup | None" = None,
) -> Page:
    """Returns a page of sections.

    Args:
        name: The stem of its file in a site.
        title: Its heading.
        lead: A sentence below the heading.
        sections: Its parts.
        signatures: What stands at the foot.
        label: What links to it say; default: the title.
        headline: The table that the overview of a site shows of it.
        notice: A content notice.
        downloads: The tables that can be downloaded; default: all without texts.
        finding: Who leads, by how much, and whether that is significant.
        plot: The plot that the page begins with.
    """
    if downloads is None:
        downloads = [table for section in sections for table in section.own_tables()]
    return Page(
        name=name,
        title=title,
        label=label,
        lead=lead,
        body=sections_markup(sections),
        parts=[(f"part-{place}", section.title) for place, section in enumerate(sections, 1)],
        headline=headline,
        notice=notice,
        tables=downloads,
        signatures=signatures,
        finding=finding,
        plot=plot,
    )


def sections_markup(sections: Sequence[Section]) -> "Markup":
    """Returns sections as elements, whose ids are `part-1`, `part-2`, ..."""
    from markupsafe import Markup

    shown = [replace(part, plots=[(name, Markup(themed(svg))) for name, svg in part.plots]) for part in sections]
    return markup("sections.html.jinja", sections=shown)


def write_page(
    path: Path, title: str, lead: str, sections: Sequence[Section], *, signatures: Sequence[str] = ()
) -> None:
    """Writes a page of sections that stands alone.

    Args:
        path: The file.
        title: Its heading.
        lead: What stands below that.
        sections: The sections.
        signatures: Of the figures.

    Raises:
        InputError: It cannot be written.
    """
    write(path, sections_page(path.stem, title, lead, sections, signatures=signatures))


def number(value: float | None, digits: int = 3) -> str:
    """Returns a figure as tables show it."""
    return MISSING if value is None else f"{value:.{digits}f}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Returns an interval as tables show it."""
    return MISSING if low is None or high is None else f"[{low:.{digits}f}, {high:.{digits}f}]"
