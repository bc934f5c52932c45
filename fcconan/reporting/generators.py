"""The report of a suite of generators: one page from the files that its steps wrote."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fcconan.data import failed, normalise, read_typed_rows
from fcconan.errors import InputError
from fcconan.reporting.correlations import difference_tables
from fcconan.reporting.findings import ratings_finding, tournament_finding
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, texts_gate, texts_notice, texts_warning, write
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
from fcconan.reporting.sections import Section, interval, number, sections_page
from fcconan.reporting.tables import MISSING, Table

Results = Mapping[str, Any]
Row = Mapping[str, Any]
LEADING = (
    "Tournament",
    "Leaderboard",
    "Metrics",
    "Refusals and safety",
    "Judges",
    "Biases of the judges",
    "Metrics against judges",
)  # the order of the page; how replies were made follows
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


def results_of(folder: Path) -> dict[str, Any]:
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


def gist_of(folder: Path) -> list[Table]:
    """Returns how the systems stand, for a terminal: by metrics, ratings, and verdicts, as far as there are any.

    Raises:
        InputError: A file cannot be read.
    """
    about, metrics, board, ranking = (
        _read(folder / f"{name}.json") for name in ("suite", "metrics", "leaderboard", "rank")
    )
    tables = [] if metrics is None else [_in_order(metrics_table(metrics["rows"]), about)]
    tables += [] if board is None else _ratings(board)
    return tables if ranking is None else [*tables, tournament_tables(ranking)[0]]


def signatures_of(results: Results) -> list[str]:
    """Returns the signatures of all figures."""
    found = [
        results[name][key]
        for name in SCORED
        for key in ("signature", "tests_signature")
        if key in results.get(name, {})
    ]
    return [*found, *dict.fromkeys(row["signature"] for row in results.get("metrics", {}).get("rows", ()))]


def write_generator_report(path: Path, about: Row, results: Results, replies: Path) -> None:
    """Writes the page.

    Args:
        path: The page.
        about: The record of the suite: `suite`, `version`, `problems`, `missing`.
        results: What `results_of` read.
        replies: The file of all replies.

    Raises:
        InputError: It cannot be written.
    """
    rows = list(read_typed_rows(replies, _columns()))
    write(path, _page(about, results, rows, texts=True))


def generators_page(folder: Path, *, texts: bool = True) -> Page:
    """Returns the results of a suite as a page.

    Args:
        folder: What `fcconan evaluate-generators` wrote.
        texts: Whether the page may hold messages and replies.

    Raises:
        InputError: A file is missing or cannot be read.
    """
    about, replies = _read(folder / "suite.json"), folder / "replies.parquet"
    if about is None or not replies.is_file():
        raise InputError(f"{folder} has no suite.json with replies.parquet: give what `evaluate-generators` wrote")
    return _page(about, results_of(folder), list(read_typed_rows(replies, _columns())), texts=texts)


def sections_of(about: Row, results: Results, rows: Sequence[Row]) -> list[Section]:
    """Returns the parts of the page.

    Args:
        about: The record of the suite.
        results: What `results_of` read.
        rows: The replies of all systems.
    """
    parts = [_systems(about, results, rows)]
    if "safety" in results:
        from fcconan.reporting.safety import safety_table

        notes = [
            "A flag is told by rules and lists, and is no grade: look at what is flagged. The shares are of the "
            "replies with a text."
        ]
        table = _in_order(safety_table(results["safety"]), about)
        table, left_out = _narrow(table, ("0", MISSING), keep=("replies", "no text", "any flag"))
        notes += [f"No reply has one of the flags: {', '.join(left_out)}."] if left_out else []
        parts.append(Section("Refusals and safety", notes, [table]))
    if "metrics" in results:
        parts.append(
            Section(
                "Metrics", results["metrics"]["notes"], [_in_order(metrics_table(results["metrics"]["rows"]), about)]
            )
        )
    judged = _judged(results)
    if judged:
        parts.append(Section("Judges", list(_judge_notes(results)), judged))
    if "leaderboard" in results:
        section = leaderboard_section(results["leaderboard"])
        tables = [*_ratings(results["leaderboard"]), *difference_tables(results["leaderboard"], every=True)]
        parts.append(Section(section.title, section.notes, tables))
    if "rank" in results:
        section = tournament_section(results["rank"])
        notes = [*section.notes, *_silent(rows)]
        parts.append(replace(section, notes=notes))
    if "audit" in results and results["audit"]["rows"]:
        parts.append(Section("Biases of the judges", _AUDIT_NOTES, [_audit(results["audit"]["rows"])]))
    if "correlate" in results:
        section = correlation_section(results["correlate"], "Metrics against judges")
        notes = ["The judges stand where people would: where this page says people, it is they who are meant."]
        parts.append(replace(section, notes=[*notes, *section.notes]))
    return sorted(parts, key=lambda section: LEADING.index(section.title) if section.title in LEADING else len(LEADING))


_AUDIT_NOTES = (
    "length_wins: how often the longer reply wins, which may be the better one. refusal_wins: how often a refusal wins "
    "against a reply that is none. An unbiased judge has the value of the column unbiased, where that is known.",
    "The interval of modal_share holds for all grades of a judge (Bonferroni); every other interval holds by itself.",
)


def _page(about: Row, results: Results, rows: Sequence[Row], *, texts: bool) -> Page:
    suite = about["suite"]
    items = len({row["item_id"] for row in rows})
    systems = list(dict.fromkeys(row["system"] for row in rows))
    sections = sections_of(about, results, rows)
    by_title = {section.title: section for section in sections}
    best = next((by_title[title] for title in LEADING[:3] if title in by_title), sections[0])
    failed_steps = "".join(f" {step} failed: {why}." for step, why in about.get("problems", {}).items())
    rank, board = results.get("rank"), results.get("leaderboard")
    column = first_column(board["rows"]) if board else []
    if texts:
        # After everything else, and closed: who reads figures need not read hate speech.
        sections.append(_texts(about, rows))
    return sections_page(
        f"generators-{suite['name']}",
        suite.get("title") or f"Generators: {suite['name']}",
        f"{len(systems)} systems answered {items} messages of {suite['dataset']}; fcconan {about['version']}."
        f"{failed_steps}",
        sections,
        signatures=about.get("signatures", ()),
        label=f"Generators: {suite['name']}",
        headline=next(iter(best.own_tables()), None),
        notice=texts_notice(about["dataset"]) if texts else None,
        finding=tournament_finding(rank) if rank else ratings_finding(board, column) if board else "",
        plot=strengths_plot(rank) if rank else ratings_plot(column),
    )


def _systems(about: Row, results: Results, rows: Sequence[Row]) -> Section:
    by_system: dict[str, list[Row]] = {}
    for row in rows:
        by_system.setdefault(row["system"], []).append(row)
    titles = {name: config.get("title", "") for name, config in about["suite"]["systems"].items()}
    made = [
        [
            name,
            titles.get(name) or MISSING,
            *(_one(own, column) for column in MADE),
            _shown(results, name),
            _dates(results, name),
        ]
        for name, own in by_system.items()
    ]
    counts = []
    for name, own in by_system.items():
        written = [row["text"] for row in own if row["text"] is not None]
        reasons = Counter(str(row["reason"]) for row in own if row["text"] is None)
        words = sum(len(text.split()) for text in written) / len(written) if written else None
        why = ", ".join(f"{reason} {n}" for reason, n in sorted(reasons.items())) or MISSING
        counts.append([name, str(len(written)), str(reasons.total()), why, number(words, 1)])
    notes = [f"{step} failed: {why}" for step, why in about.get("problems", {}).items()]
    missing = {what: n for what, n in about.get("missing", {}).items() if n}
    if missing:
        notes.append("Without a value: " + ", ".join(f"{what} {n}" for what, n in missing.items()) + ".")
    for name, own in results.get("replies", {}).items():
        notes += [f"{name}: {note}" for note in own.get("notes", ())]
    columns = ["system", "title", *MADE.values(), "shown", "answers of"]
    tables = [
        _narrow(Table("How the replies were made", columns, made), (MISSING,))[0],
        Table("Replies", ["system", "replies", "missing", "why", "mean words"], counts),
    ]
    return Section("Systems", notes, tables)


def _in_order(table: Table, about: Row) -> Table:
    """Returns a table with its systems in the order of the suite."""
    order = list(about["suite"]["systems"])
    return table._replace(rows=sorted(table.rows, key=lambda row: order.index(row[0])))


def _narrow(table: Table, empty: Sequence[str], keep: Sequence[str] = ()) -> tuple[Table, list[str]]:
    """Returns a table without columns that are empty in all rows, and the names of these columns."""
    kept = [
        place
        for place, name in enumerate(table.columns)
        if name in keep or not all(row[place] in empty for row in table.rows)
    ]
    cells = [[row[place] for place in kept] for row in table.rows]
    left_out = [name for place, name in enumerate(table.columns) if place not in kept]
    return Table(table.title, [table.columns[place] for place in kept], cells), left_out


def _silent(rows: Iterable[Row]) -> list[str]:
    """Says which systems have no text at all, so that nothing of them was compared."""
    spoke: dict[str, bool] = {}
    for row in rows:
        spoke[row["system"]] = spoke.get(row["system"], False) or bool(normalise(row["text"] or ""))
    silent = [name for name, any_text in spoke.items() if not any_text]
    if not silent:
        return []
    return [f"Without any reply, and so never compared: {', '.join(silent)}. Pairs with such a system never met."]


def _ratings(board: Results) -> list[Table]:
    """Returns the tables of a leaderboard, all of whose raters are judges here, whatever their kind."""
    raters = dict.fromkeys(row["rater"] for row in board["rows"] if row["rater_kind"] == "metric")
    title = f"Mean ratings by {', '.join(raters)}"
    return [
        table if table.title.startswith("Mean ratings") else table._replace(title=title)
        for table in leaderboard_tables(board)
    ]


def _one(rows: Iterable[Row], column: str) -> str:
    values = dict.fromkeys(str(row[column]) for row in rows if row[column] not in (None, ""))
    return ", ".join(values) or MISSING


def _shown(results: Results, system: str) -> str:
    """What a system sees of other people's CNs: how many, found by what."""
    configuration = (results.get("replies", {}).get(system) or {}).get("configuration") or {}
    found = []
    for name in ("examples", "candidates"):
        source = configuration.get(name)
        if isinstance(source, dict):
            by = source.get("encoder") or source.get("retriever")
            found.append(f"{source.get('k')} {name} by {by if isinstance(by, str) else 'a system of its own'}")
    return "; ".join([*found, *(["background"] if configuration.get("background") else [])]) or MISSING


def _dates(results: Results, system: str) -> str:
    answers = (results.get("replies", {}).get(system) or {}).get("answers")
    if not answers:
        return MISSING
    return answers["first"] if answers["first"] == answers["last"] else f"{answers['first']} to {answers['last']}"


def metrics_table(rows: Sequence[Row]) -> Table:
    """Returns what `fcconan metrics` found: the values of every system."""
    names = list(dict.fromkeys(row["metric"] for row in rows))
    values: dict[str, dict[str, Row]] = {}
    for row in rows:
        values.setdefault(row["system"], {})[row["metric"]] = row
    lower = {row["metric"] for row in rows if row["higher_is_better"] is False}
    columns = [f"{name} (low is better)" if name in lower else name for name in names]
    cells = [[system, *(_value(own.get(name)) for name in names)] for system, own in values.items()]
    return Table("Metrics: values of all replies of a system", ["system", *columns], cells)


def _value(row: Row | None) -> str:
    if row is None or row["value"] is None:
        return MISSING if row is None else f"{MISSING} ({row['reason']})"
    left_out = sum(n for reason, n in row["missing"].items() if reason != "corpus_only")
    return number(row["value"], 4) + (f" (without {left_out})" if left_out else "")


def _judged(results: Results) -> list[Table]:
    tables = []
    rated = [
        [
            row["rater"],
            row["aspect"],
            number(row["mean"]),
            str(row["n"]),
            str(row["n_missing"]),
            ", ".join(f"{reason} {n}" for reason, n in row["missing"].items()) or MISSING,
        ]
        for summary in results["ratings"].values()
        for row in summary["rows"]
    ]
    if rated:
        tables.append(Table("Ratings", ["rater", "aspect", "mean", "ratings", "missing", "why"], rated))
    compared = [
        [
            f"{place}: {summary['judge']['protocol'].get('protocol', '')}",
            str(summary["comparisons"]),
            *(str(summary["verdicts"].get(name, 0)) for name in ("a", "b", "tie", "invalid")),
            ", ".join(f"{reason} {n}" for reason, n in summary["invalid"].items()) or MISSING,
            number(summary["flip_rate"]),
            number(summary["first_preference"]),
            str(summary["identical"]),
        ]
        for place, summary in results["comparisons"].items()
    ]
    if compared:
        columns = ["judge", "comparisons", "a", "b", "ties", "invalid", "why", "flip rate", "first preferred", "alike"]
        tables.append(Table("Comparisons", columns, compared))
    return tables


def _judge_notes(results: Results) -> Iterator[str]:
    for kind in ("ratings", "comparisons"):
        for place, summary in results[kind].items():
            if summary.get("failed_requests"):
                yield f"{kind} {place}: {failed(summary['failed_requests'])}; run the suite again."


def _audit(rows: Sequence[Row]) -> Table:
    cells = [
        [
            row.get("rater") or MISSING,
            row["check"] if row["failure"] is None else f"{row['check']}: {row['failure']}",
            row.get("aspect") or MISSING,
            number(row["value"]) if row["reason"] is None else f"{MISSING} ({row['reason']})",
            interval(row["low"], row["high"]),
            number(row["baseline"]),
            str(row["n"]),
        ]
        for row in rows
    ]
    return Table("What judges are swayed by", ["rater", "check", "aspect", "value", "interval", "unbiased", "n"], cells)


def _texts(about: Row, rows: Sequence[Row]) -> Section:
    cells = [
        [
            str(row["item_id"]),
            row["system"],
            str(row["hate_speech"]),
            f"{MISSING} ({row['reason']})" if row["text"] is None else row["text"],
            ", ".join(row.get("flags") or []) or MISSING,
        ]
        for row in sorted(rows, key=lambda row: str(row["item_id"]))
    ]
    columns = ["item", "system", "message", "reply", "flags"]
    table = View(Table("Messages and replies", columns, cells), ("system", "flags"), ("message", "reply"))
    return Section(
        "Messages and replies", tables=[table], more=texts_gate(texts_warning(about["dataset"])), folded=True
    )


def _columns() -> dict[str, str]:
    from fcconan.generation import GENERATED

    return GENERATED


def _read(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}): remove it, and run the suite again") from error
