"""Pages of results: one folder that opens from a disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import fcconan
from fcconan.errors import InputError
from fcconan.services.configuration import Configuration, argument, option, output
from fcconan.services.locations import built_folder
from fcconan.services.results import Result


class ReportOptions(Configuration):
    """How pages are written."""

    title: str = option("Counter-narratives: results", help="Title above the overview.", rare=True)
    texts: bool = option(
        True, help="Show the texts of inputs that have them, behind a warning.", rare=True, flag="--texts"
    )


@dataclass(frozen=True, repr=False)
class ReportResult(Result):
    """The pages that were written; its main table has one row for each page.

    Attributes:
        index: The overview, from which all pages can be reached.
    """

    index: Path
    table: ClassVar[str] = "pages"
    signatures: ClassVar[tuple[str, ...]] = ()


def report(
    inputs: Annotated[
        Sequence[Path | str],
        argument(
            "Folders of bench --report-folder or build, JSON results, folders of these, or names.",
            many=True,
            path=True,
            role="read",
        ),
    ],
    out: Annotated[Path | str, output("Folder to write; an earlier report there is replaced.")] = "report-site",
    options: ReportOptions = ReportOptions(),
) -> ReportResult:
    """Writes results as one folder of pages that needs no server and loads nothing.

    Args:
        inputs: Folders that commands wrote, JSON results, or folders of these.
        out: The folder to write. It must be new, empty, or an earlier report.
        options: The options.

    Returns:
        The pages. The main table has the columns `page`, `shows` and `from`; `index` is the overview.

    Raises:
        InputError: An input cannot be shown, or the folder would replace something else.

    Examples:
        >>> import tempfile
        >>> from fcconan.services import build
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     demo = build("demo", f"{folder}/demo", progress=False).folder
        ...     report([demo], f"{folder}/site").to_frame()["page"].tolist()
        ['Dataset: fcconan demo']
    """
    from fcconan.reporting import check_site, find_inputs, make_pages, write_site

    folder = Path(out)
    paths = [built_folder(each) for each in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    left_out: list[str] = []
    found = find_inputs(paths, on_skip=left_out.append)
    target = folder.resolve()
    for path in (*paths, *(each.path for each in found)):
        if path.resolve().is_relative_to(target) or (path.is_dir() and target.is_relative_to(path.resolve())):
            raise InputError(f"{folder} would replace the input {path} or be inside it: choose another --out")
    check_site(folder)
    pages = make_pages(found, texts=options.texts)
    written = write_site(folder, pages, title=options.title, texts=options.texts)
    index = written[0] if folder.is_absolute() else folder / written[0].name
    data = {
        "signature": f"fcconan:{fcconan.__version__}|report:{len(pages)}|texts:{'yes' if options.texts else 'no'}",
        "out": str(folder),
        "pages": [
            {"page": page.title, "shows": page.lead, "from": str(each.path)}
            for page, each in zip(pages, found, strict=True)
        ],
        "left_out": left_out,
    }
    return ReportResult(data, index)
