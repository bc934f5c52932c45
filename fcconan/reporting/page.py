"""A page of the report: its sections, and the layout that all pages share; no page loads anything."""

import base64
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data import is_writable, write_whole
from fcconan.errors import InputError
from fcconan.reporting.elements import asset, macro, markup, script_json
from fcconan.reporting.html_tables import View, table_script
from fcconan.reporting.tables import DisplayTable

if TYPE_CHECKING:
    from markupsafe import Markup

MARK, MARKED = b'<meta name="generator" content="fcconan">', 1_000  # in the first bytes of each page
TEXTS_WARNING = "The messages are hate speech, and replies may repeat it; reading them can be distressing."
INVENTED_WARNING = "The messages imitate hate speech against invented peoples, and replies may repeat it."


@dataclass(frozen=True)
class Section:
    """A part of a page.

    Attributes:
        title: Its heading.
        notes: Sentences after the first table.
        tables: Its tables; all but the first are closed.
        more: Elements before the tables.
        folded: Whether the first table is closed, too.
    """

    title: str
    notes: Sequence[str] = ()
    tables: Sequence[DisplayTable | View] = ()
    more: "Markup | None" = None
    folded: bool = False

    def own_tables(self) -> list[DisplayTable]:
        """Returns the tables without how a page shows them; those of texts are left out."""
        found = [view if isinstance(view, View) else View(view) for view in self.tables]
        return [view.table for view in found if not view.texts]


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        title: Its heading; plain text.
        lead: A sentence below the heading; plain text.
        sections: Its parts.
        body: Elements that replace the sections.
        parts: Id and title of every part of the body that the head of the page links to.
        data: JSON in the element `data`, which its scripts read.
        scripts: Names of files in `fcconan/reporting` that run after those of all pages.
        notice: A content notice below the heading.
        signatures: Signatures of its results, at its foot.
        plot: The plot that the page begins with.
    """

    title: str
    lead: str = ""
    sections: Sequence[Section] = ()
    body: "Markup | None" = None
    parts: Sequence[tuple[str, str]] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    scripts: Sequence[str] = ()
    notice: str | None = None
    signatures: Sequence[str] = ()
    plot: "Markup | None" = None


def today() -> str:
    """Returns the day as pages show it; with `SOURCE_DATE_EPOCH` in the environment always that one.

    Raises:
        InputError: `SOURCE_DATE_EPOCH` is not a whole number.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    if fixed and not fixed.isdecimal():
        raise InputError(f"SOURCE_DATE_EPOCH is {fixed!r}: give a whole number of seconds since 1970")
    return datetime.fromtimestamp(float(fixed) if fixed else time.time(), tz=UTC).date().isoformat()


def render(page: Page) -> str:
    """Renders a page. It has no address to load from, and its policy forbids it to load anything."""
    from markupsafe import Markup

    script = asset("page.js") + table_script() + "".join(map(asset, ("heat.js", *page.scripts)))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = page.parts or [(f"part-{place}", section.title) for place, section in enumerate(page.sections, 1)]
    return markup(
        "page.html.jinja",
        page=page,
        body=markup("sections.html.jinja", sections=page.sections) if page.body is None else page.body,
        parts=parts,
        date=today(),
        style=Markup(asset("page.css") + asset("heat.css")),
        data=Markup(script_json(page.data)) if page.data else None,
        script=Markup(script),
        policy=f"sha256-{digest}",  # no other script runs, even from a name or a text
    )


def check_page(path: Path) -> None:
    """Checks before long work that a page can be written, and that it replaces only an earlier page.

    Raises:
        InputError: It cannot, or another file is there.
    """
    if path.suffix not in (".html", ".htm") or path.is_dir():
        raise InputError(f"{path} is not a page: give a file that ends in .html")
    if not is_writable(path):
        raise InputError(f"{path} cannot be written: choose a file in a folder that is there")
    if path.is_file() and path.stat().st_size and MARK not in path.read_bytes()[:MARKED]:
        raise InputError(f"{path} exists and is not a page of fcconan: choose another file for the page, or remove it")


def write_page(path: Path, page: Page) -> None:
    """Writes a page.

    Raises:
        InputError: It cannot be written.
    """
    try:
        # The name of a file need not be Unicode, and may be part of a signature.
        write_whole(path, render(page), errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another file") from error


def texts_notice(dataset: Mapping[str, Any]) -> str | None:
    """Returns the notice at the head of a page that holds a dataset's texts; None where they are invented.

    Args:
        dataset: Mapping with `synthetic` and `redistributable`, as in manifests.
    """
    if dataset.get("synthetic"):
        return None
    said = "This page contains hate speech and replies to it, hidden until you show them."
    if not dataset.get("redistributable"):
        said += " The texts may not be redistributed: do not publish this page. --no-texts writes a page with ids only."
    return said


def texts_gate(dataset: Mapping[str, Any]) -> "Markup":
    """Returns the warning before the texts of a dataset, with a button that shows them.

    Scripts ask `report.textsShown()` and are called by `report.onTexts(callback)`; before that no text is on the page.

    Args:
        dataset: Mapping with `synthetic`, as in manifests.
    """
    return macro("gate", INVENTED_WARNING if dataset.get("synthetic") else TEXTS_WARNING)
