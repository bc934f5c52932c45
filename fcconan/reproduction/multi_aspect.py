"""The figures of the multi-aspect paper: the scores behind them are not released, so they check each other."""

from collections.abc import Iterator
from itertools import combinations

from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import figure, load_paper
from fcconan.reproduction.values import Key, Value

PAPER = "multi-aspect"
SYSTEMS = ("dialogpt", "chatgpt", "vicuna")
ASPECTS = ("opposition", "relatedness", "specificity", "toxicity", "fluency")
WORKERS = 13
ROUNDED = 0.0101  # what two roundings to two decimals may put between a figure and the one that it follows from
INFERRED = ", if the labels are right, which are inferred from the order of Table G.1"
Tables = dict[str, dict[str, dict[str, str]]]
Note = tuple[Key, str]


def recompute(data: Datasets) -> dict[Key, Value]:
    """Counts the training pairs, and says of the other figures how they fit together.

    Args:
        data: The datasets; it takes `multi-aspect`.

    Raises:
        InputError: The dataset cannot be built.
    """
    paper = load_paper(PAPER)
    printed = {table.id: paper.printed(table.id) for table in paper.tables}
    checks: dict[Key, list[str]] = {}
    for key, note in _checks(printed):
        checks.setdefault(key, []).append(note)
    values = {("text 3", "training-pairs", "count"): Value(len(data.rows("multi-aspect", "pairs", "train")))}
    for table, row, column, _ in paper.cells():
        key, reason = (table.id, row, column), table.reason(row)
        if reason is not None and key in checks:
            values[key] = Value(None, "; ".join([reason.why, *checks[key]]), without=reason.without)
    return values


def _checks(printed: Tables) -> Iterator[Note]:
    yield from _same(printed)
    yield from _means(printed)
    yield from _differences(printed["Table I.1"])
    yield from _shares(printed["Table E.1"])
    for name in ("Table G.1", "Table G.2", "Table G.3", "Table G.4"):
        yield from _copies(name, printed[name])
    for name in ("Table I.1", "Table I.2"):
        yield from _near_copies(name, printed[name])
    pay = {row: _number(cells["value"]) for row, cells in printed["text E"].items()}
    hourly = pay["pay-per-task"] * 60 / pay["minutes-per-task"]
    note = _follows(printed["text E"]["pay-per-hour"]["value"], hourly, "the pay and the minutes of a task")
    yield ("text E", "pay-per-hour", "value"), note


def _number(printed: str) -> float:
    return figure(printed).value


def _same(printed: Tables) -> Iterator[Note]:
    """Compares what is printed in two places."""
    for row, cells in printed["Table 2"].items():
        for column, value in cells.items():
            yield ("Table 2", row, column), _against(value, printed["Table G.1"][row][column], "Table G.1")
    for system, cells in printed["Table A.1"].items():
        for column, value in cells.items():
            key = ("Table A.1", system, column)
            yield key, _against(value, printed["Table I.3"][system][f"{column}/mean"], "Table I.3")
            if column != "aspect-average":
                yield key, _against(value, printed["Table I.1"][f"{system}/human"][column], "Table I.1")


def _against(value: str, other: str, where: str) -> str:
    return f"{where} prints {'the same' if _number(value) == _number(other) else other}"


def _means(printed: Tables) -> Iterator[Note]:
    """Compares averages with what they are averages of."""
    for system, cells in printed["Table A.1"].items():
        mean = sum(_number(cells[aspect]) for aspect in ASPECTS) / len(ASPECTS)
        yield ("Table A.1", system, "aspect-average"), _follows(cells["aspect-average"], mean, "the five aspects")
    for row, cells in printed["Table I.2"].items():
        part, judge = row.split("/")
        for column, value in cells.items():
            mean = sum(_number(printed["Table I.2"][f"{system}/{judge}"][column]) for system in SYSTEMS) / len(SYSTEMS)
            if part == "all":
                yield ("Table I.2", row, column), _follows(value, mean, "the three systems")
    parts = printed["Table I.3"]
    for column in parts["all"]:
        name, kind = column.split("/")
        means = [_number(parts[system][f"{name}/mean"]) for system in SYSTEMS]
        expected = mean = sum(means) / len(means)
        if kind == "std":
            squares = [_number(parts[system][column]) ** 2 + own**2 for system, own in zip(SYSTEMS, means, strict=True)]
            expected = (sum(squares) / len(squares) - mean**2) ** 0.5
        yield ("Table I.3", "all", column), _follows(parts["all"][column], expected, "the three systems")


def _follows(value: str, expected: float, source: str) -> str:
    if abs(_number(value) - expected) <= ROUNDED:
        return f"follows from {source}"
    return f"does not follow from {source}: {expected:.2f}"


def _differences(rows: dict[str, dict[str, str]]) -> Iterator[Note]:
    """Compares the printed differences from people with the printed means."""
    for row, cells in rows.items():
        people = rows[f"{row.split('/')[0]}/human"]
        for column, value in cells.items():
            aspect, _, difference = column.partition("/")
            if not difference:
                continue
            expected = _number(cells[aspect]) - _number(people[aspect])
            note = _follows(value, expected, "the means")
            if abs(_number(value) + expected) <= ROUNDED < abs(_number(value) - expected):
                note = f"wrong sign: the means give {expected:+.2f}"
            yield ("Table I.1", row, column), note


def _shares(rows: dict[str, dict[str, str]]) -> Iterator[Note]:
    """Looks for the number of workers behind each percentage, and adds the percentages up."""
    totals: dict[str, float] = {}
    for row, cells in rows.items():
        totals[row.split("/")[0]] = totals.get(row.split("/")[0], 0.0) + _number(cells["percent"])
    for row, cells in rows.items():
        value = _number(cells["percent"])
        workers = round(value * WORKERS / 100)
        share, question = 100 * workers / WORKERS, row.split("/")[0]
        if abs(share - value) <= 0.05:
            note = f"{workers} of {WORKERS}"
        elif 0 <= share - value < 0.1:
            note = f"{workers} of {WORKERS}, cut off"
        else:
            others = [other for other in rows if other.startswith(f"{question}/") and other != row]
            rest = WORKERS - sum(round(_number(rows[other]["percent"]) * WORKERS / 100) for other in others)
            note = f"the share of no number of {WORKERS}; the question adds up to {totals[question]:.1f}, "
            note += f"the other answers leave {rest} of {WORKERS}, {100 * rest / WORKERS:.1f}"
        yield ("Table E.1", row, "percent"), note


def _copies(table: str, rows: dict[str, dict[str, str]]) -> Iterator[Note]:
    for first, second in combinations(rows, 2):
        if rows[first] == rows[second]:
            for row, other in ((first, second), (second, first)):
                for column in rows[row]:
                    note = f"the whole row equals {other}: one of the two is likely a copy"
                    yield (table, row, column), note + (INFERRED if table == "Table G.4" else "")


def _near_copies(table: str, rows: dict[str, dict[str, str]]) -> Iterator[Note]:
    """Finds judges whose figures for the replies of a system are nearly the same throughout."""
    for first, second in combinations(rows, 2):
        if first.split("/")[0] != second.split("/")[0] or rows[first].keys() != rows[second].keys():
            continue
        gaps = [abs(_number(rows[first][column]) - _number(rows[second][column])) for column in rows[first]]
        if max(gaps) <= 0.02 + 1e-9:
            for row, other in ((first, second), (second, first)):
                for column in rows[row]:
                    yield (table, row, column), f"the whole row is within {max(gaps):.2f} of {other}"
