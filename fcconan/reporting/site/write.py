"""Writes the site: an overview, a page for every result, and downloads."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fcconan.building import check_replaceable
from fcconan.data import count_noun
from fcconan.errors import InputError
from fcconan.reporting.elements import markup
from fcconan.reporting.folders import free_name, replace_folder
from fcconan.reporting.page import Link, Page, day_of, render
from fcconan.reporting.tables import DisplayTable, csv_text

INDEX, DOWNLOADS, CONTENTS = "index.html", "downloads", "contents.json"
SHOWN, COLUMNS = 8, 3  # of a headline table in the overview
SLUG = 60
# Numbers in a title: a file keeps its name when they change.
_NUMBERS = re.compile(r" \([^()]*\d[^()]*\)|: \d.*| for all \d+")


def write_site(folder: Path, pages: Sequence[Page], *, title: str = "Report", texts: bool = True) -> list[Path]:
    """Writes a folder of pages that works from a disk: no page loads anything.

    An earlier site is replaced in one step. The same input gives the same bytes.

    Args:
        folder: The folder.
        pages: The pages, in the order of the navigation.
        title: Title of the site.
        texts: Whether the pages may contain texts, as stated in the overview.

    Returns:
        The files, the overview first.

    Raises:
        InputError: The folder holds files that no report wrote, or cannot be written.
    """
    check_site(folder)
    pages = _unique(pages)
    downloads = {page.name: _downloads(page) for page in pages}
    overview = _overview(pages, title, texts)
    files = {}
    for page in (overview, *pages):
        links = [Link(f"{other.name}.html", other.label or other.title, other is page) for other in (overview, *pages)]
        own = [Link(name, name.removeprefix(f"{DOWNLOADS}/{page.name}/")) for name in downloads.get(page.name, ())]
        files[f"{page.name}.html"] = render(page, links, site=title, downloads=own)
    for each in downloads.values():
        files |= each
    files[f"{DOWNLOADS}/{CONTENTS}"] = json.dumps([*files], indent=2) + "\n"
    return replace_folder(folder, files)


def check_site(folder: Path) -> None:
    """Checks before long work that a site may be written: to a new or empty folder, or over an earlier one.

    Raises:
        InputError: It is not a folder, or holds files that no report wrote, which would be lost.
    """
    known = {f"{DOWNLOADS}/{CONTENTS}", *_listed(folder / DOWNLOADS / CONTENTS)}
    check_replaceable(folder, f"{DOWNLOADS}/{CONTENTS}", lambda path: path.as_posix() in known)


def _listed(path: Path) -> list[str]:
    try:
        names = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): choose another folder for the report") from error
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _unique(pages: Sequence[Page]) -> list[Page]:
    """Returns the pages with unique file names and unique labels."""
    taken, labels = {INDEX.removesuffix(".html"), DOWNLOADS}, set[str]()
    named = []
    for page in pages:
        name = free_name(_slug(page.name), taken)
        label = free_name(page.label or page.title, labels, "{} ({})")
        named.append(replace(page, name=name, label=label))
    return named


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:SLUG].rstrip("-") or "page"


def _downloads(page: Page) -> dict[str, str]:
    root = f"{DOWNLOADS}/{page.name}"
    files = {f"{root}/{name}": content for name, content in page.files.items()}
    for place, table in enumerate(page.own_tables(), 1):
        name = _slug(_NUMBERS.sub("", table.title))
        files[f"{root}/tables/{place:02}-{name}.csv"] = csv_text(table.columns, table.rows)
    return files


def _overview(pages: Sequence[Page], title: str, texts: bool) -> Page:
    first = next((page for page in pages if page.plot is not None), None)
    cards = [(page, _about(page), *_headline(page)) for page in pages]
    return Page(
        name=INDEX.removesuffix(".html"),
        title=title,
        label="Overview",
        finding="" if first is None else f"{first.label}: {first.finding}" if first.finding else first.label,
        plot=None if first is None else first.plot,
        date=max((page.date or day_of() for page in pages), default=""),
        signatures=list(dict.fromkeys(signature for page in pages for signature in page.signatures)),
        lead=f"{count_noun(len(pages), 'page')} of results, written by fcconan.",
        body=markup("site/index.html.jinja", cards=cards, texts=texts),
    )


def _about(page: Page) -> str:
    """Returns the dataset of a page, as its signature has it, and its day."""
    found = re.search(r"\|data:([^|]*)", "".join(page.signatures[:1]))
    return (f"Dataset {found[1]} · " if found else "") + (page.date or day_of())


def _headline(page: Page) -> tuple[DisplayTable | None, str]:
    """Returns the part of the headline table that the overview shows, and the size of the rest."""
    table = page.headline
    if table is None:
        return None, ""
    more = (len(table.rows) - SHOWN, "row"), (len(table.columns) - COLUMNS, "column")
    left_out = " and ".join(count_noun(number, what) for number, what in more if number > 0)
    return table._replace(rows=table.rows[:SHOWN]).first_columns(COLUMNS), left_out
