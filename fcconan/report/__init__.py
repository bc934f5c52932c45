"""Writes a benchmark's result for people: tables, plots, one self-contained page, and run files for other tools."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.leftovers import leftovers, mark
from fcconan.retrieve.trec import write_qrels, write_run

FOLDERS = ("runs", "qrels")
FILES = ("report.html", "report.md", "tables.tex", "results.csv")


def check_report(folder: Path) -> None:
    """Checks before long work that a report can be written to a folder.

    Raises:
        InputError: It is a file or holds files that no report holds; they would be lost.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is not a folder: choose another --report")
    if not folder.is_dir():
        return
    foreign = sorted(
        entry.name for entry in folder.iterdir() if entry.name not in (*FILES, *FOLDERS) and entry.suffix != ".svg"
    )
    if foreign:
        raise InputError(f"{folder} holds files but no report (such as {foreign[0]}): choose an empty or new --report")


def write_report(folder: Path, result: Mapping[str, Any], details: Mapping[str, Any], *, texts: bool = True) -> None:
    """Writes `report.html`, `report.md`, `tables.tex`, `results.csv`, the figures as SVG, and TREC runs and qrels.

    The folder is written under a temporary name and then takes the place of an earlier report.

    Args:
        folder: The folder.
        result: What `fcconan.retrieve.bench.bench` returned first.
        details: What it returned second.
        texts: Whether the page holds the texts of HS and CNs; without them it shows ids.
    """
    check_report(folder)
    from fcconan.report.page import render_page
    from fcconan.report.plots import figures
    from fcconan.report.tables import as_csv, as_latex, as_markdown

    folder.parent.mkdir(parents=True, exist_ok=True)
    for stale in leftovers(folder.parent, f".{folder.name}.report-"):
        shutil.rmtree(stale, ignore_errors=True)
    stage = Path(tempfile.mkdtemp(dir=folder.parent, prefix=mark(f".{folder.name}.report-")))
    try:
        stage.chmod(0o755)
        plots = figures(result)
        for name, (_, svg) in plots.items():
            (stage / f"{name}.svg").write_text(svg, encoding="utf-8")
        contents = (
            render_page(result, details, plots, texts=texts),
            as_markdown(result),
            as_latex(result),
            as_csv(result),
        )
        for name, content in zip(FILES, contents, strict=True):
            (stage / name).write_text(content, encoding="utf-8")
        (stage / "runs").mkdir()
        for system, run in details["scores"].items():
            write_run(stage / "runs" / f"{_file_name(system)}.trec", system, run)
        (stage / "qrels").mkdir()
        for partition, labels in details["labels"].items():
            write_qrels(stage / "qrels" / f"{_file_name(partition)}.trec", labels)
        if folder.exists():
            aside = stage.with_name(stage.name + "-old")
            folder.rename(aside)
            stage.rename(folder)
            shutil.rmtree(aside, ignore_errors=True)
        else:
            stage.rename(folder)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_.+" else "_" for letter in name)
