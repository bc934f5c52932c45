"""The ledger: every printed figure of a paper beside the figure computed anew, and what is to be said of the two."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import fcconan
from fcconan.errors import InputError
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import Figure, Without, figure, load_paper

Status = Literal["exact", "rounding", "differs", "needs_model", "not_released"]
STATUSES: tuple[Status, ...] = ("exact", "rounding", "differs", "needs_model", "not_released")
FROM_PRINT = "from printed figures"
BY_CHANCE = "near the printed figure by chance"
_TINY = 1e-9  # of one printed unit: what binary fractions lose


@dataclass(frozen=True)
class Value:
    """A figure computed anew.

    Attributes:
        value: The number; None where it is undefined.
        note: From which rows it comes, if not from those of the paper; and the reason, if one was found, why it
            differs.
        without: Given instead of a value where this machine cannot compute what another can.
        from_print: It follows from printed figures, not from data; the note says so.
        by_chance: It is of other rows or draws than the paper's, so that being equal proves nothing: it `differs`.
    """

    value: float | None
    note: str = ""
    without: Without | None = None
    from_print: bool = False
    by_chance: bool = False


Key = tuple[str, str, str]  # table, row, column
Recompute = Callable[[Datasets], Mapping[Key, Value]]


@dataclass(frozen=True)
class Cell:
    """A line of the ledger.

    Attributes:
        paper: Short name of the paper.
        table: What the paper calls it.
        row: Name of the row.
        column: Name of the column.
        published: As printed.
        recomputed: The figure computed anew, or None.
        status: `exact`: equal in all printed digits; `rounding`: the paper cut it off or rounded it twice;
            `differs`; `needs_model`: a model has to be run; `not_released`: the data were not published.
        note: Why, and from which rows.
    """

    paper: str
    table: str
    row: str
    column: str
    published: str
    recomputed: float | None
    status: Status
    note: str


def reproduce(paper: str, data: Datasets, recompute: Recompute | None = None) -> list[Cell]:
    """Computes the figures of a paper anew.

    Args:
        paper: Its short name.
        data: The datasets that it takes.
        recompute: Computes the figures; by default what this package knows of the paper.

    Returns:
        One cell for every printed figure, in the order of the paper.

    Raises:
        InputError: There is no such paper, or a dataset cannot be built.
        ValueError: A figure has neither a value nor a reason, or a value belongs to no printed figure.
    """
    published = load_paper(paper)
    values = dict((recompute or _known(paper))(data))
    cells = []
    for table, row, column, printed in published.cells():
        value = values.pop((table.id, row, column), None)
        reason = table.reason(row)
        where = (paper, table.id, row, column, printed)
        if value is not None and value.without is not None:
            cells.append(Cell(*where, None, value.without, value.note))
        elif value is not None:
            cells.append(_compared(where, value))
        elif reason is not None:
            cells.append(Cell(*where, None, reason.without, reason.why))
        else:
            raise ValueError(f"{paper}, {table.id}, {row}, {column}: no value and no reason why there is none")
    if values:
        raise ValueError(f"{paper}: values without a printed figure: {sorted(values)[:3]}")
    return cells


def _compared(where: tuple[str, str, str, str, str], value: Value) -> Cell:
    number = None if value.value is None or not math.isfinite(value.value) else value.value
    status = status_of(figure(where[-1]), number)
    notes = [value.note] if value.note else []
    if value.from_print:
        notes = [": ".join([FROM_PRINT, *notes])]
    if value.by_chance and status != "differs":
        status = "differs"
        notes.append(BY_CHANCE)
    return Cell(*where, number, status, "; ".join(notes))


def status_of(printed: Figure, value: float | None) -> Status:
    """Compares a printed figure with the one computed anew.

    `rounding` is what one of two slips gives: digits cut off, or the number rounded to one or two further digits and
    then once more. A whole number that is printed for another one is a count or a rank: off by one is no rounding.
    """
    if value is None or not math.isfinite(value):
        return "differs"
    if printed.bound:
        holds = {
            "<": value < printed.value,
            ">": value > printed.value,
            "≤": value <= printed.value,
            "≥": value >= printed.value,
        }
        return "exact" if holds[printed.bound] else "differs"
    if printed.unit == 1 and float(value).is_integer():
        return "exact" if value == printed.value else "differs"
    units, shown = value / printed.unit, printed.value / printed.unit
    if abs(units - shown) <= 0.5 + _TINY:
        return "exact"
    cut_off = math.trunc(units + math.copysign(_TINY, units))
    # A half goes either way.
    twice = any(abs(_half_up(units, digits) - shown) <= 0.5 + _TINY for digits in (1, 2))
    return "rounding" if twice or cut_off == round(shown) else "differs"


def _half_up(value: float, digits: int) -> float:
    return math.copysign(math.floor(abs(value) * 10**digits + 0.5 + _TINY) / 10**digits, value)


def counts(cells: list[Cell]) -> Iterator[tuple[str, str, dict[Status, int]]]:
    """Yields paper, table, and how many figures of it have each status."""
    tables: dict[tuple[str, str], dict[Status, int]] = {}
    for cell in cells:
        row = tables.setdefault((cell.paper, cell.table), dict.fromkeys(STATUSES, 0))
        row[cell.status] += 1
    for (paper, table), found in tables.items():
        yield paper, table, found


def from_print(cells: Sequence[Cell]) -> Counter[tuple[str, str]]:
    """Counts by paper and table the exact figures that follow from printed ones."""
    return Counter(
        (cell.paper, cell.table) for cell in cells if cell.status == "exact" and cell.note.startswith(FROM_PRINT)
    )


def ledger_signature(papers: Sequence[str], fingerprints: Mapping[str, str]) -> str:
    """Names what the ledger follows from: version, papers, and the datasets with their fingerprints."""
    used = [f"{name}@{fingerprint}" for name, fingerprint in sorted(fingerprints.items())]
    return f"fcconan:{fcconan.__version__}|reproduce:{'+'.join(papers)}|data:{'+'.join(used) or 'none'}"


def as_rows(cells: list[Cell]) -> list[dict[str, Any]]:
    """Returns the ledger for programs."""
    return [asdict(cell) for cell in cells]


def _known(paper: str) -> Recompute:
    from fcconan.reproduction import cseval, fc_conan, multi_aspect, pairwise_ranking

    known: dict[str, Recompute] = {
        "cseval": cseval.recompute,
        "fc-conan": fc_conan.recompute,
        "multi-aspect": multi_aspect.recompute,
        "pairwise-ranking": pairwise_ranking.recompute,
    }
    if paper not in known:
        raise InputError(f"nothing computes the figures of {paper}: choose among {', '.join(known)}")
    return known[paper]
