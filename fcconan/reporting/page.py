"""A page of the report, and the layout that all pages share; no page loads anything."""

import base64
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fcconan.data import write_whole
from fcconan.errors import InputError
from fcconan.reporting.elements import asset, environment, script_json
from fcconan.reporting.html_tables import table_script
from fcconan.reporting.tables import Table

if TYPE_CHECKING:
    from markupsafe import Markup

TEXTS_WARNING = "The messages are hate speech, and replies may repeat it; reading them can be distressing."
INVENTED_WARNING = "The messages speak of invented peoples, but as hate speech does, and replies may repeat it."


@dataclass(frozen=True)
class Page:
    """A page, alone or in a site.

    Attributes:
        name: The stem of its file in a site, such as `retrieval`; the site makes it unique.
        title: Its heading; plain text.
        body: What stands in its main part: elements that begin with headings of the second level.
        label: What links to it say; default: the title.
        lead: A sentence below the heading; plain text.
        parts: Id and title of every section that the page leads to from its head.
        data: What its scripts read: JSON in the element `data`.
        scripts: Names of files in `fcconan/reporting` that run after those of all pages.
        headline: The table that the overview of a site shows of it.
        notice: A content notice below the heading.
        tables: What the downloads hold as CSV.
        signatures: What stands at its foot.
        finding: Who leads, by how much, and whether that is significant; plain text.
        plot: The plot that the page, and the overview of a site, begin with.
        date: The day of its results; default: today.
        files: Further downloads: name, content.
    """

    name: str
    title: str
    body: "Markup"
    label: str = ""
    lead: str = ""
    parts: Sequence[tuple[str, str]] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    scripts: Sequence[str] = ()
    headline: Table | None = None
    notice: str | None = None
    tables: Sequence[Table] = ()
    signatures: Sequence[str] = ()
    finding: str = ""
    plot: "Markup | None" = None
    date: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def day_of(moment: float | None = None) -> str:
    """Returns a day as pages show it; with `SOURCE_DATE_EPOCH` in the environment always that one.

    Args:
        moment: Seconds since 1970; default: now.

    Raises:
        InputError: `SOURCE_DATE_EPOCH` is not a whole number.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    if fixed and not fixed.isdecimal():
        raise InputError(f"SOURCE_DATE_EPOCH is {fixed!r}: give a whole number of seconds since 1970")
    moment = float(fixed) if fixed else time.time() if moment is None else moment
    return datetime.fromtimestamp(moment, tz=UTC).date().isoformat()


class Link(NamedTuple):
    """A page or another file of the same site."""

    address: str
    label: str
    current: bool = False


def render(page: Page, links: Sequence[Link] = (), *, site: str = "", downloads: Sequence[Link] = ()) -> str:
    """Renders a page. It has no address to load from, and its policy forbids it to load anything.

    Args:
        page: The page.
        links: All pages of its site; none where it stands alone.
        site: The title of the site.
        downloads: Files beside it that hold what it shows.
    """
    from markupsafe import Markup

    script = asset("site/common.js") + table_script() + "".join(map(asset, ("heat.js", *page.scripts)))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        environment()
        .get_template("site/layout.html.jinja")
        .render(
            page=page,
            date=page.date or day_of(),
            links=links,
            site=site,
            downloads=downloads,
            style=Markup(asset("site/site.css") + asset("heat.css")),
            data=Markup(script_json(page.data)) if page.data else None,
            script=Markup(script),
            policy=f"sha256-{digest}",  # no other script runs, whatever a name or a text holds
        )
    )


def write(path: Path, page: Page) -> None:
    """Writes a page that stands alone.

    Raises:
        InputError: It cannot be written.
    """
    try:
        # The name of a file need not be Unicode, and may stand in a signature.
        write_whole(path, render(page), errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): choose another file") from error


def texts_warning(dataset: Mapping[str, Any]) -> str:
    """Returns what is said before texts are shown.

    Args:
        dataset: With `synthetic`, as manifests have it.
    """
    return INVENTED_WARNING if dataset.get("synthetic") else TEXTS_WARNING


def texts_notice(dataset: Mapping[str, Any]) -> str | None:
    """Returns the notice at the head of a page that holds a dataset's texts; None where they are invented.

    Args:
        dataset: With `synthetic` and `redistributable`, as manifests have them.
    """
    if dataset.get("synthetic"):
        return None
    said = "This page holds hate speech and replies to it, hidden until you ask for them."
    if not dataset.get("redistributable"):
        said += (
            " They may not be passed on: do not publish this page. fcconan report --no-texts writes one with ids only."
        )
    return said


def texts_gate(warning: str) -> "Markup":
    """Returns a content warning with a button.

    Scripts ask `report.textsShown()` and are told by `report.onTexts(callback)`; before that no text is on the page.
    """
    from markupsafe import Markup

    module: Any = environment().get_template("site/parts.html.jinja").module
    return Markup(module.gate(warning))
