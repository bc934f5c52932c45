"""Writes a benchmark's result for people: tables, plots, a page that loads nothing, and run files for other tools."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fcconan.building import check_replaceable
from fcconan.reporting.folders import replace_folder, safe_names

PAGE, RESULT, DETAILS = "report.html", "results.json", "rankings.json"
EARLIER = ("scores.html", "averages.svg", "differences.svg")  # files of earlier versions
FILES = (PAGE, "report.md", "tables.tex", "results.csv", "comparisons.csv", RESULT, DETAILS)


def write_report(
    folder: Path, result: Mapping[str, Any], details: Mapping[str, Any], *, texts: bool = True
) -> list[Path]:
    """Writes the page, tables as Markdown, LaTeX, CSV and JSON, plots as SVG, and TREC runs and qrels.

    An earlier report is replaced in one step. The same input gives the same bytes.

    Args:
        folder: The folder.
        result: First return value of `fcconan.retrieval.benchmark.bench`.
        details: Second return value; runs are written if it has `scores`.
        texts: Whether texts of HS and CNs are in it, in the page and in `rankings.json`; without them there are ids.

    Returns:
        The files, the page first.

    Raises:
        InputError: The folder holds files that no report wrote, or cannot be written.
    """
    from fcconan.reporting.page import render
    from fcconan.reporting.plots import figures
    from fcconan.reporting.retrieval import drill_down, retrieval_page

    check_report(folder)
    plots = figures(result)
    data = drill_down(result, details, texts=texts)
    files = {
        PAGE: render(retrieval_page(result, data, plots)),
        **make_csv_tables(result),
        RESULT: as_json(result),
        DETAILS: as_json(data),
        **{f"{name}.svg": svg for name, (_, svg) in plots.items()},
        **trec_files(details),
    }
    return replace_folder(folder, files)


def check_report(folder: Path) -> None:
    """Checks before long work that a report may be written: to a new or empty folder, or over an earlier report.

    Raises:
        InputError: It is not a folder, or holds files that no report wrote, which would be lost.
    """
    check_replaceable(folder, PAGE, _is_ours)


def make_csv_tables(result: Mapping[str, Any]) -> dict[str, str]:
    """Returns every table as Markdown, LaTeX and CSV: name of the file, content."""
    from fcconan.reporting.benchmark_tables import as_latex, as_markdown, comparisons_as_csv
    from fcconan.retrieval import all_rows_csv

    contents = (as_markdown(result), as_latex(result), all_rows_csv(result), comparisons_as_csv(result))
    return dict(zip(FILES[1:5], contents, strict=True))


def trec_files(details: Mapping[str, Any]) -> dict[str, str]:
    """Returns runs and qrels as TREC has them: path of the file, content.

    Raises:
        InputError: A name or an id has white space, which the format cannot hold.
    """
    from fcconan.retrieval import qrels_text, run_text

    runs, labels = details.get("scores", {}), details["labels"]
    files = {name: run_text(system, runs[system]) for system, name in safe_names(runs, "runs", ".trec").items()}
    return files | {name: qrels_text(labels[part]) for part, name in safe_names(labels, "qrels", ".trec").items()}


def as_json(data: Any) -> str:
    """Returns data as `--json` writes it."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _is_ours(path: Path) -> bool:
    from fcconan.reporting.plots import NAMES

    if len(path.parts) == 2:
        return path.parts[0] in ("runs", "qrels") and path.suffix == ".trec"
    return str(path) in {*FILES, *EARLIER, *(f"{name}.svg" for name in NAMES)}
