"""Writes a benchmark's result for people: tables, plots, one self-contained page, and run files for other tools."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.leftovers import leftovers, mark
from fcconan.retrieve.trec import write_qrels, write_run

FURTHER = "scores.html"
FILES = ("report.html", "report.md", "tables.tex", "results.csv", "comparisons.csv")


def write_report(
    folder: Path,
    result: Mapping[str, Any],
    details: Mapping[str, Any],
    *,
    texts: bool = True,
    further: str | None = None,
) -> list[Path]:
    """Writes `report.html`, `report.md`, `tables.tex`, `results.csv`, `comparisons.csv`, the figures as SVG, and TREC
    runs and qrels.

    The folder is written under a temporary name and then takes the place of an earlier report. The same input gives
    the same bytes.

    Args:
        folder: The folder.
        result: What `fcconan.retrieve.bench.bench` returned first.
        details: What it returned second; runs are written if it has `scores`.
        texts: Whether the page holds the texts of HS and CNs; without them it shows ids.
        further: A second page, `scores.html`, which the first one leads to: what `render_sections` returned.

    Returns:
        The files, the page first.

    Raises:
        InputError: The folder holds files that no report wrote, or cannot be written.
    """
    from fcconan.report.page import render_page
    from fcconan.report.plots import figures
    from fcconan.report.tables import as_csv, as_latex, as_markdown, comparisons_as_csv

    folder = folder.absolute()
    check_report(folder)
    plots = figures(result)
    contents = (
        render_page(result, details, plots, texts=texts, further=None if further is None else FURTHER),
        as_markdown(result),
        as_latex(result),
        as_csv(result),
        comparisons_as_csv(result),
    )
    files = dict(zip(FILES, contents, strict=True)) | {f"{name}.svg": svg for name, (_, svg) in plots.items()}
    if further is not None:
        files[FURTHER] = further
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for stale in leftovers(folder.parent, f".{folder.name}.report-"):
            shutil.rmtree(stale, ignore_errors=True)
        stage = Path(tempfile.mkdtemp(dir=folder.parent, prefix=mark(f".{folder.name}.report-")))
        try:
            stage.chmod(0o755)
            for name, content in files.items():
                # A name that is not Unicode holds lone surrogates, which no file can.
                (stage / name).write_text(content, encoding="utf-8", errors="backslashreplace", newline="\n")
            written = [*files, *_write_trec(stage, details)]
            _put_in_place(stage, folder)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{folder} cannot be written ({reason}): choose another folder for the report") from error
    return [folder / name for name in written]


def check_report(folder: Path) -> None:
    """Checks before long work that a report may be written: to a new or empty folder, or over an earlier report.

    Raises:
        InputError: It is not a folder, or holds files that no report wrote, which would be lost.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{folder} is not a folder: choose another one for the report")
    present = sorted(path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    if not present:
        return
    if Path(FILES[0]) not in present:
        raise InputError(f"{folder} holds files but no report (such as {present[0]}): choose an empty or new folder")
    foreign = [path for path in present if not _is_ours(path)]
    if foreign:
        raise InputError(
            f"{folder} holds files that no report wrote (such as {foreign[0]}): move them away, or choose another one"
        )


def _is_ours(path: Path) -> bool:
    from fcconan.report.plots import NAMES

    if len(path.parts) == 2:
        return path.parts[0] in ("runs", "qrels") and path.suffix == ".trec"
    return str(path) in {*FILES, FURTHER, *(f"{name}.svg" for name in NAMES)}


def _write_trec(stage: Path, details: Mapping[str, Any]) -> list[str]:
    written = []
    runs = details.get("scores", {})
    for folder in ("runs", "qrels"):
        (stage / folder).mkdir()
    for system, name in _file_names("runs", runs).items():
        write_run(stage / name, system, runs[system])
        written.append(name)
    for partition, name in _file_names("qrels", details["labels"]).items():
        write_qrels(stage / name, details["labels"][partition])
        written.append(name)
    return written


def _file_names(folder: str, names: Iterable[str]) -> dict[str, str]:
    """Returns a file for every name; no two share one, also where the file system ignores case."""
    taken: set[str] = set()
    files = {}
    for name in names:
        safe = "".join(letter if letter.isalnum() or letter in "-_.+" else "_" for letter in name)
        count = 1
        file = safe
        while file.lower() in taken:
            count += 1
            file = f"{safe}-{count}"
        taken.add(file.lower())
        files[name] = f"{folder}/{file}.trec"
    return files


def _put_in_place(stage: Path, folder: Path) -> None:
    if not folder.exists():
        stage.rename(folder)
        return
    aside = stage.with_name(stage.name + "-old")
    folder.rename(aside)
    try:
        stage.rename(folder)
    except OSError:
        aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)
