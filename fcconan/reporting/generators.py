"""The report of a suite of generators: one page from the files that its steps wrote."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fcconan.building import group_values
from fcconan.data import describe_failures, normalise, read_typed_rows
from fcconan.errors import InputError
from fcconan.reporting.correlations import difference_tables
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, Section, texts_gate, texts_notice, write_page
from fcconan.reporting.safety import safety_table
from fcconan.reporting.scores import (
    correlation_section,
    first_column,
    leaderboard_section,
    leaderboard_tables,
    ratings_plot,
    strengths_plot,
    tournament_section,
    tournament_tables,
)
from fcconan.reporting.tables import (
    MISSING,
    Columns,
    DisplayTable,
    Row,
    Rows,
    format_counts,
    format_number,
    format_row_interval,
    make_table,
    reasoned,
)
from fcconan.reporting.text_metrics import metrics_table

SCORED = ("safety", "metrics", "leaderboard", "rank", "audit", "correlate")
MADE = {
    "strategy": "strategy",
    "model": "model",
    "revision": "revision",
    "format": "format",
    "decoding": "decoding",
    "seed": "seed",
    "prompt_hash": "prompt",
}
COUNTED = ["system", "replies", "missing", "why", "mean words"]
RATED: Columns = {
    "rater": "rater",
    "aspect": "aspect",
    "mean": "mean",
    "ratings": "n",
    "missing": "n_missing",
    "why": lambda row: format_counts(row["missing"]),
}
COMPARED: Columns = {
    "judge": lambda row: f"{row['place']}: {row['judge']['protocol'].get('protocol', '')}",
    "comparisons": "comparisons",
    "a": lambda row: row["verdicts"].get("a", 0),
    "b": lambda row: row["verdicts"].get("b", 0),
    "ties": lambda row: row["verdicts"].get("tie", 0),
    "invalid": lambda row: row["verdicts"].get("invalid", 0),
    "why": lambda row: format_counts(row["invalid"]),
    "flip rate": "flip_rate",
    "first preferred": "first_preference",
    "identical": "identical",
}
AUDIT_COLUMNS: Columns = {
    "rater": lambda row: row.get("rater") or None,
    "check": lambda row: row["check"] if row["failure"] is None else f"{row['check']}: {row['failure']}",
    "aspect": lambda row: row.get("aspect") or None,
    "value": lambda row: reasoned(row["value"], row["reason"]),
    "interval": format_row_interval,
    "unbiased": "baseline",
    "n": "n",
}
AUDIT_NOTES = (
    "length_wins: how often the longer reply wins, which may be the better one. refusal_wins: how often a refusal wins "
    "against a reply that is none. An unbiased judge has the value of the column unbiased, where that is known.",
    "The interval of modal_share holds for all grades of a judge (Bonferroni); every other interval holds by itself.",
)


def read_results(folder: Path) -> dict[str, Any]:
    """Reads the results of a suite: `safety`, `metrics` and so on, as far as they are there, and `ratings` and
    `comparisons`, the summaries of all judges.

    Raises:
        InputError: A file cannot be read.
    """
    found = {name: data for name in SCORED if (data := _read(folder / f"{name}.json")) is not None}
    for kind in ("replies", "ratings", "comparisons"):
        files = sorted((folder / kind).glob("*.json"), key=lambda file: (len(file.stem), file.stem))
        found[kind] = {file.stem: _read(file) for file in files}
    return found


def headline_tables(folder: Path) -> list[DisplayTable]:
    """Returns the order of the systems, for a terminal: by metrics, ratings and verdicts, as far as there are any.

    Raises:
        InputError: A file cannot be read.
    """
    about, metrics, board, ranking = (
        _read(folder / f"{name}.json") for name in ("suite", "metrics", "leaderboard", "rank")
    )
    tables = [] if metrics is None else [_in_order(metrics_table(metrics["rows"]), about)]
    tables += [] if board is None else _ratings(board)
    return tables if ranking is None else [*tables, tournament_tables(ranking)[0]]


def collect_signatures(results: Row) -> list[str]:
    """Returns the signatures of all results."""
    found = (results.get(name, {}).get(key) for name in SCORED for key in ("signature", "tests_signature"))
    return [
        *filter(None, found),
        *dict.fromkeys(row["signature"] for row in results.get("metrics", {}).get("rows", ())),
    ]


def write_generator_report(path: Path, about: Row, results: Row, replies: Path) -> None:
    """Writes the page.

    Args:
        path: The page.
        about: The record of the suite: `suite`, `version`, `problems`, `missing`.
        results: Return value of `read_results`.
        replies: The file of all replies.

    Raises:
        InputError: It cannot be written.
    """
    from fcconan.generation import GENERATED

    write_page(path, _page(about, results, list(read_typed_rows(replies, GENERATED))))


def sections_of(about: Row, results: Row, rows: Rows) -> list[Section]:
    """Returns the parts of the page.

    Args:
        about: The record of the suite.
        results: Return value of `read_results`.
        rows: The replies of all systems.
    """
    parts = []
    if "rank" in results:
        section = tournament_section(results["rank"])
        parts.append(replace(section, notes=[*section.notes, *_silent(rows)]))
    if "leaderboard" in results:
        board = results["leaderboard"]
        tables = [*_ratings(board), *difference_tables(board, every=True)]
        parts.append(replace(leaderboard_section(board), tables=tables))
    if "metrics" in results:
        metrics = results["metrics"]
        parts.append(Section("Metrics", metrics["notes"], [_in_order(metrics_table(metrics["rows"]), about)]))
    if "safety" in results:
        parts.append(_safety(about, results["safety"]))
    if judged := _judged(results):
        parts.append(Section("Judges", _judge_notes(results), judged))
    if "audit" in results and results["audit"]["rows"]:
        table = make_table("Biases of the judges", results["audit"]["rows"], AUDIT_COLUMNS)
        parts.append(Section("Biases of the judges", AUDIT_NOTES, [table]))
    if "correlate" in results:
        section = correlation_section(results["correlate"], "Metrics against judges")
        note = "On this page, judges replace people: people means the judges."
        parts.append(replace(section, notes=[note, *section.notes]))
    return [*parts, _systems(about, results, rows)]


def _page(about: Row, results: Row, rows: Rows) -> Page:
    suite = about["suite"]
    items = len({row["item_id"] for row in rows})
    systems = {row["system"] for row in rows}
    sections = sections_of(about, results, rows)
    failed_steps = "".join(f" {step} failed: {why}." for step, why in about.get("problems", {}).items())
    rank, board = results.get("rank"), results.get("leaderboard")
    column = first_column(board["rows"]) if board else []
    sections.append(_texts(about, rows))  # after everything else, and closed: readers need not read hate speech
    return Page(
        suite.get("title") or f"Generators: {suite['name']}",
        f"{len(systems)} systems answered {items} messages of {suite['dataset']}; fcconan {about['version']}."
        f"{failed_steps}",
        sections,
        signatures=about.get("signatures", ()),
        notice=texts_notice(about["dataset"]),
        plot=strengths_plot(rank) if rank else ratings_plot(column),
    )


def _systems(about: Row, results: Row, rows: Rows) -> Section:
    titles = {name: config.get("title", "") for name, config in about["suite"]["systems"].items()}
    made = []
    counts = []
    for name, own in group_values((row["system"], row) for row in rows).items():
        settings = [_distinct(own, column) for column in MADE]
        made.append([name, titles.get(name) or MISSING, *settings, _shown(results, name), _dates(results, name)])
        written = [row["text"] for row in own if row["text"] is not None]
        reasons = sorted(str(row["reason"]) for row in own if row["text"] is None)
        words = sum(len(text.split()) for text in written) / len(written) if written else None
        counts.append(
            [name, str(len(written)), str(len(reasons)), format_counts(Counter(reasons)), format_number(words, 1)]
        )
    notes = [f"{step} failed: {why}" for step, why in about.get("problems", {}).items()]
    if missing := {what: n for what, n in about.get("missing", {}).items() if n}:
        notes.append(f"Without a value: {format_counts(missing)}.")
    for name, own in results.get("replies", {}).items():
        notes += [f"{name}: {note}" for note in own.get("notes", ())]
    columns = ["system", "title", *MADE.values(), "shown", "answers of"]
    how = DisplayTable("How the replies were made", columns, made)
    tables = [how.without(_empty_columns(how, (MISSING,))), DisplayTable("Replies", COUNTED, counts)]
    return Section("Systems", notes, tables)


def _safety(about: Row, safety: Row) -> Section:
    table = _in_order(safety_table(safety), about)
    left_out = [name for name in _empty_columns(table, ("0", MISSING)) if name not in ("no text", "any flag")]
    notes = [
        "Flags are set by rules and word lists, not by a grade: read the flagged replies. Shares are of replies with "
        "text."
    ]
    notes += [f"No reply has one of the flags: {', '.join(left_out)}."] if left_out else []
    return Section("Refusals and safety", notes, [table.without(left_out)])


def _in_order(table: DisplayTable, about: Row) -> DisplayTable:
    """Returns a table with its systems in the order of the suite."""
    order = list(about["suite"]["systems"])
    return table._replace(rows=sorted(table.rows, key=lambda row: order.index(row[0])))


def _empty_columns(table: DisplayTable, empty: Sequence[str]) -> list[str]:
    """Returns the columns that hold nothing else in any row."""
    return [name for place, name in enumerate(table.columns) if all(row[place] in empty for row in table.rows)]


def _silent(rows: Rows) -> list[str]:
    """Returns a note about systems without any text, which are never compared."""
    spoke = {row["system"] for row in rows if normalise(row["text"] or "")}
    silent = [name for name in dict.fromkeys(row["system"] for row in rows) if name not in spoke]
    if not silent:
        return []
    return [f"Systems without any reply, which are not compared: {', '.join(silent)}."]


def _ratings(board: Row) -> list[DisplayTable]:
    """Returns the tables of a leaderboard; raters of any kind are judges here."""
    raters = dict.fromkeys(row["rater"] for row in board["rows"] if row["rater_kind"] == "metric")
    title = f"Mean ratings by {', '.join(raters)}"
    return [
        table if table.title.startswith("Mean ratings") else table._replace(title=title)
        for table in leaderboard_tables(board)
    ]


def _distinct(rows: Rows, column: str) -> str:
    return ", ".join(dict.fromkeys(str(row[column]) for row in rows if row[column] not in (None, ""))) or MISSING


def _shown(results: Row, system: str) -> str:
    """Returns the CNs in the prompt of a system: their number, and the retriever or encoder that finds them."""
    configuration = (results.get("replies", {}).get(system) or {}).get("configuration") or {}
    found = []
    for name in ("examples", "candidates"):
        source = configuration.get(name)
        if isinstance(source, dict):
            by = source.get("encoder") or source.get("retriever")
            found.append(f"{source.get('k')} {name} by {by if isinstance(by, str) else 'a system of its own'}")
    return "; ".join([*found, *(["background"] if configuration.get("background") else [])]) or MISSING


def _dates(results: Row, system: str) -> str:
    answers = (results.get("replies", {}).get(system) or {}).get("answers")
    return " to ".join(dict.fromkeys((answers["first"], answers["last"]))) if answers else MISSING


def _judged(results: Row) -> list[DisplayTable]:
    rated = [row for summary in results["ratings"].values() for row in summary["rows"]]
    compared = [{"place": place, **summary} for place, summary in results["comparisons"].items()]
    tables = [make_table("Ratings", rated, RATED), make_table("Comparisons", compared, COMPARED)]
    return [table for table in tables if table.rows]


def _judge_notes(results: Row) -> list[str]:
    return [
        f"{kind} {place}: {describe_failures(summary['failed_requests'])}; run the suite again."
        for kind in ("ratings", "comparisons")
        for place, summary in results[kind].items()
        if summary.get("failed_requests")
    ]


def _texts(about: Row, rows: Rows) -> Section:
    columns: Columns = {
        "item": "item_id",
        "system": "system",
        "message": "hate_speech",
        "reply": lambda row: f"{MISSING} ({row['reason']})" if row["text"] is None else row["text"],
        "flags": lambda row: ", ".join(row.get("flags") or []) or None,
    }
    title = "Messages and replies"
    table = make_table(title, sorted(rows, key=lambda row: str(row["item_id"])), columns)
    view = View(table, ("system", "flags"), ("message", "reply"))
    return Section(title, tables=[view], more=texts_gate(about["dataset"]), folded=True)


def _read(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): remove it, and run the suite again") from error
