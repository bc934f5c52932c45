"""The benchmark of judges as tables, a page, and a folder of these."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.building import check_replaceable
from fcconan.reporting.benchmark_reports import as_json
from fcconan.reporting.correlations import P_VALUES, family_text
from fcconan.reporting.folders import replace_folder
from fcconan.reporting.forest_plots import Dot, forest_plot
from fcconan.reporting.html_tables import View
from fcconan.reporting.page import Page, Section, render
from fcconan.reporting.plots import CHANCE, drawn, line_of, themed
from fcconan.reporting.tables import (
    MISSING,
    Columns,
    DisplayTable,
    Row,
    Rows,
    csv_text,
    format_number,
    format_row_interval,
    make_table,
    markdown,
    markdown_lines,
    reasoned,
    value_text,
)

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes

PAGE, MARKDOWN, CSV, RESULT, CURVE = "report.html", "report.md", "results.csv", "results.json", "label-curve.svg"
TRAINED = ", trained"  # end of the name of a released rater after training
NEARLY_ALL = 0.95  # share of the rows below which a rater is set apart: some models fail on a few rows
OF_ROWS = " of "  # in the number of rows of a rater that is set apart
LEVEL_TITLES = {
    "per_item": "Within the replies to an HS",
    "per_system": "Within the replies of a system",
    "system_means": "Between the means of systems",
}
CSV_COLUMNS = (
    "rater", "kind", "evaluated", "part", "aspect", "level", "coefficient",
    "value", "low", "high", "n", "n_groups", "n_missing", "ceiling", "reason",
)  # fmt: skip


def judge_tables(result: Row, *, details: bool = True) -> list[DisplayTable]:
    """Returns the leaderboard, and with details everything else.

    Args:
        result: Result of `fcconan judge benchmark`.
        details: Whether all tables are returned; otherwise the leaderboard, the controls, and the tests.
    """
    sections = _sections(result)
    if details:
        return [table for section in sections for table in section.own_tables()]
    return [_leaderboard(result), *_controls(result), *_tests(result)]


def judge_page(result: Row) -> Page:
    """Returns the benchmark of judges as a page: leaderboard, label curve, levels, controls, doubtful rows.

    Args:
        result: Result of `fcconan judge benchmark`.
    """
    board = _leaderboard(result)
    apart = _apart(board)
    metrics = {row["rater"] for row in result["rows"] if row["kind"] == "metric"}
    dots = [
        Dot(f"{row[0]} ({row[-1]} rows)" if place in apart else row[0], None if row[2] == MISSING else float(row[2]))
        for place, row in enumerate(board.rows)
        if row[0].removesuffix(TRAINED) not in metrics
    ]
    counts = result["counts"]
    return Page(
        "Benchmark of judges",
        f"{result['banner']} {counts['clean']} replies in {counts['leakage_groups']} leakage groups of HS.",
        _sections(result),
        signatures=[result["signature"]],
        plot=forest_plot("Mean Spearman correlation with people, over aspects; without metrics", dots),
    )


def write_judge_report(folder: Path, result: Row) -> list[Path]:
    """Writes the page, the same as Markdown, CSV and JSON, and the label curve as SVG.

    Args:
        folder: The folder; an earlier report there is replaced.
        result: Result of `fcconan judge benchmark`.

    Raises:
        InputError: The folder holds files that no report wrote, or cannot be written.
    """
    check_judge_report(folder)
    curve = _curve_plot(result)
    files = {
        PAGE: render(judge_page(result)),
        MARKDOWN: _markdown(result),
        CSV: csv_text(CSV_COLUMNS, [[row[key] for key in CSV_COLUMNS] for row in result["rows"]]),
        RESULT: as_json(result),
        **({CURVE: curve} if curve else {}),
    }
    return replace_folder(folder, files)


def check_judge_report(folder: Path) -> None:
    """Checks before long work that a report may be written: to a new or empty folder, or over an earlier report.

    Raises:
        InputError: It is not a folder, or holds files that no report wrote, which would be lost.
    """
    check_replaceable(folder, PAGE, lambda path: path.as_posix() in (PAGE, MARKDOWN, CSV, RESULT, CURVE))


def _sections(result: Row) -> list[Section]:
    board: list[DisplayTable | View] = [
        _shown(_leaderboard(result)),
        *_tests(result),
        *_trained(result),
        *_people(result),
    ]
    levels: list[DisplayTable | View] = [*map(_shown, _levels(result)), *_parts(result)]
    controls = _controls(result)
    found = [
        Section("Leaderboard", [result["banner"], *result["notes"], _ROWS_NOTE], board),
        Section("Label curve", [_CURVE_NOTE], _curve_tables(result), more=_curve(result)),
        Section("Controls", [_CONTROL_NOTE], controls),
        Section("By level, round and system", [_LEVEL_NOTE], levels),
        Section("Systems and rounds that a rater never saw", [_TRANSFER_NOTE], _transfer(result)),
        Section("Doubtful rows", [_DOUBTFUL_NOTE], _doubtful(result)),
    ]
    return [section for section in found if section.tables]


_CURVE_NOTE = (
    "Means over random subsets of the clean rows, evaluated out of fold on all clean rows. Smaller subsets are parts "
    "of larger ones, and raters share the subsets."
)
_CONTROL_NOTE = (
    "The name of a control lists its only inputs. With permuted labels, a rater is trained and evaluated on people's "
    "ratings of other rows: a value far from 0 would indicate leakage."
)
_ROWS_NOTE = (
    f"Raters of fewer than {NEARLY_ALL:.0%} of the rows are compared with people on other rows: they come last, in "
    "grey, with their number of rows. One person is compared with raters in the last table only, where both are held "
    "against the same people."
)
_LEVEL_NOTE = (
    "The levels are different quantities; never compare one with another. Raters without any value, and levels without "
    "any rater, are left out."
)
_TRANSFER_NOTE = (
    "Neither the system or round nor the leakage group of the message was trained on. In folds: the same rows, by the "
    "rater of the leaderboard."
)
_DOUBTFUL_NOTE = "These rows are in no other table, and no rater learned from them."


def _own(result: Row, **wanted: str) -> list[Row]:
    """Returns the rows with these values; by default Spearman on the clean rows, pooled."""
    keys = {"evaluated": "clean", "part": "all", "level": "pooled", "coefficient": "spearman"} | wanted
    return [row for row in result["rows"] if all(row[key] == value for key, value in keys.items())]


def _leaderboard(result: Row) -> DisplayTable:
    rows = [row for row in _own(result) if row["kind"] != "control"]
    return _by_rater("Raters by their mean Spearman correlation with people (clean rows, pooled)", rows)


def _controls(result: Row) -> list[DisplayTable]:
    rows = [row for row in _own(result) if row["kind"] == "control"]
    return [_by_rater("Controls (clean rows, pooled)", rows)] if rows else []


def _levels(result: Row) -> list[DisplayTable]:
    tables = []
    for level, title in LEVEL_TITLES.items():
        rows = _own(result, level=level)
        there = {row["rater"] for row in rows if row["value"] is not None}
        if there:
            tables.append(_by_rater(f"{title}: {level}", [row for row in rows if row["rater"] in there]))
    return tables


def _parts(result: Row) -> list[DisplayTable]:
    """Returns a table of rounds and one of systems: the mean over aspects for each rater."""
    tables = []
    for by in ("round", "system"):
        names = dict.fromkeys(row["part"] for row in result["rows"] if row["part"].startswith(f"{by} "))
        names = dict.fromkeys(name for name in names if _own(result, part=name))
        if names:
            columns = {name: {row[0]: row[2] for row in _by_rater("", _own(result, part=name)).rows} for name in names}
            raters = [row[0] for row in _leaderboard(result).rows]
            cells = [[rater, *(columns[name].get(rater, MISSING) for name in names)] for rater in raters]
            tables.append(DisplayTable(f"Mean over aspects by {by}, pooled", ["rater", *names], cells))
    return tables


def _doubtful(result: Row) -> list[DisplayTable]:
    rows = _own(result, evaluated="doubtful")
    return [_by_rater("Doubtful rows, pooled", rows)] if rows else []


def _by_rater(title: str, rows: Rows) -> DisplayTable:
    """Returns raters by their mean over aspects; one without a value for each aspect has no mean and comes last.

    Raters with few of the rows come after all others, and `rows` has both numbers.
    """
    aspects = list(dict.fromkeys(row["aspect"] for row in rows))
    own: dict[str, dict[str, Row]] = {}
    for row in rows:
        own.setdefault(row["rater"], {})[row["aspect"]] = row
    most = {aspect: max(row["n"] for row in rows if row["aspect"] == aspect) for aspect in aspects}
    lines = []
    for rater, by_aspect in own.items():
        values = [by_aspect[aspect]["value"] for aspect in aspects]
        there = [value for value in values if value is not None]
        mean = sum(there) / len(there) if len(there) == len(aspects) else None
        counts = sorted({by_aspect[aspect]["n"] for aspect in aspects})
        n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        is_apart = any(by_aspect[aspect]["n"] < NEARLY_ALL * most[aspect] for aspect in aspects)
        if is_apart:
            n += f"{OF_ROWS}{max(most.values())}"
        cells = [
            rater,
            by_aspect[aspects[0]]["kind"],
            format_number(mean),
            *(value_text(by_aspect[each]) for each in aspects),
        ]
        lines.append((is_apart, mean, [*cells, n]))
    lines.sort(key=lambda line: (line[0], line[1] is None, -(line[1] or 0.0)))
    table = DisplayTable(title, ["rater", "kind", "mean", *aspects, "rows"], [line for *_, line in lines])
    return table._replace(title=f"{title}; raters of few of the rows last") if _apart(table) else table


def _apart(table: DisplayTable) -> list[int]:
    """Returns the places of raters of few of the rows in a table of `_by_rater`."""
    return [place for place, row in enumerate(table.rows) if OF_ROWS in row[-1]]


def _shown(table: DisplayTable) -> View:
    return View(table, grey=_apart(table))


def _trained(result: Row) -> list[DisplayTable]:
    """Returns released raters, each next to itself after training, by the mean over aspects."""
    means = {row[0]: row for row in _leaderboard(result).rows}
    names = dict.fromkeys(row["rater"] for row in result["rows"] if row["kind"] in ("model", "metric"))
    both = [(means[name], means[f"{name}{TRAINED}"]) for name in names if f"{name}{TRAINED}" in means]
    cells = [[released[0], released[1], released[2], trained[2], trained[-1]] for released, trained in both]
    title = "Mean over aspects as released, and with surface features after training on the same folds"
    return [DisplayTable(title, ["rater", "kind", "released", "trained", "rows"], cells)] if cells else []


def _people(result: Row) -> list[DisplayTable]:
    """Returns raters and one person against the same mean of other people."""
    rows = result["people"]
    if not rows:
        return []
    aspects = list(dict.fromkeys(row["aspect"] for row in rows))
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row["rater"], {})[row["aspect"]] = row
    whole = [(rater, own) for rater, own in found.items() if len(own) == len(aspects)]
    whole.sort(key=lambda each: -sum(row["value"] for row in each[1].values()))
    cells = []
    for rater, own in whole:
        pairs = [f"{own[aspect]['value']:.3f} / {own[aspect]['one_person']:.3f}" for aspect in aspects]
        cells.append([rater, own[aspects[0]]["kind"], *pairs])
    title = "Rater / one person, each against the mean of the other people (pooled Spearman, clean rows)"
    return [DisplayTable(title, ["rater", "kind", *aspects], cells)]


def _tests(result: Row) -> list[DisplayTable]:
    if not result["tests"]:
        return []
    family = max(result["families"], key=lambda each: int(each["n_tests"]))
    about = family_text(family["n_tests"], family["floor"], family["correction"])
    columns: Columns = {
        "raters": lambda row: f"{row['a']} - {row['b']}",
        "aspect": "aspect",
        "difference": lambda row: reasoned(row["difference"], row["reason"]),
        "interval": format_row_interval,
        **P_VALUES,
        "rows": "n",
        "groups": "n_units",
    }
    title = f"Differences of pooled Spearman on the clean rows (a family for each aspect, {about})"
    return [make_table(title, result["tests"], columns)]


def _curve_tables(result: Row) -> list[DisplayTable]:
    rows = result["curve"]
    aspects = list(dict.fromkeys(row["aspect"] for row in rows))
    found: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        found.setdefault((row["rater"], row["labels"]), {})[row["aspect"]] = row
    cells = [
        [rater, str(labels), format_number(_mean(own)), *(format_number(own[aspect]["mean"]) for aspect in aspects)]
        for (rater, labels), own in found.items()
    ]
    title = "Mean pooled Spearman by number of rated replies"
    return [DisplayTable(title, ["rater", "labels", "mean", *aspects], cells)] if cells else []


def _mean(own: Mapping[str, Row]) -> float | None:
    values = [row["mean"] for row in own.values()]
    return None if None in values else sum(values) / len(values)


def _transfer(result: Row) -> list[DisplayTable]:
    columns: Columns = {
        "rater": "rater",
        "without": lambda row: f"{row['held_out']} {row['name']}",
        "aspect": "aspect",
        "Spearman": lambda row: format_number(row["value"]),
        "in folds": lambda row: format_number(row["value_in_folds"]),
        "rows": "n",
    }
    return (
        [make_table("Pooled Spearman on the held-out rows", result["transfer"], columns)] if result["transfer"] else []
    )


def _curve(result: Row) -> "Markup | None":
    from markupsafe import Markup

    svg = _curve_plot(result)
    if not svg:
        return None
    start = '<div class="plot scroll" tabindex="0" role="group" aria-label="Label curve">'
    return Markup(f"{start}{themed(svg)}</div>")


def _curve_plot(result: Row) -> str:
    """Returns the label curve as an SVG element; empty without one."""
    tables = _curve_tables(result)
    if not tables:
        return ""
    lines: dict[str, list[tuple[int, float]]] = {}
    for rater, labels, mean, *_ in tables[0].rows:
        if mean != MISSING:
            lines.setdefault(rater, []).append((int(labels), float(mean)))
    title = "Mean Spearman correlation with people by number of rated replies"

    def draw(axes: "Axes") -> None:
        for index, (rater, points) in enumerate(lines.items()):
            colour, dash, marker = line_of(index)
            across, values = zip(*points, strict=True)
            axes.plot(across, values, color=colour, linestyle=dash, marker=marker, markersize=4, linewidth=1.4,
                      label=rater, gid=f"curve-{index}")  # fmt: skip
        axes.axhline(0.0, color="#7F7F7F", **CHANCE)
        axes.set_xscale("log")
        ticks = sorted({labels for points in lines.values() for labels, _ in points})
        axes.set_xticks(ticks, list(map(str, ticks)))
        axes.minorticks_off()
        axes.set_xlabel("rated replies that the rater learned from")
        axes.set_ylabel("mean Spearman over aspects")

    return drawn("label-curve", (6.4, 3.8), title, _CURVE_NOTE, draw)


def _markdown(result: Row) -> str:
    parts = [
        "# Benchmark of judges",
        "",
        markdown(result["banner"]),
        "",
        *(f"- {markdown(n)}" for n in result["notes"]),
    ]
    for table in judge_tables(result):
        parts += ["", f"## {markdown(table.title)}", "", *markdown_lines(table)]
    return "\n".join([*parts, "", f"Signature: {markdown(result['signature'])}", ""])
