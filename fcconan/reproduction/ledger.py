"""The ledger: every printed figure of a paper beside the figure recomputed, and what is to be said of the two."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import fcconan
from fcconan.errors import InputError
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import figure, load_paper
from fcconan.reproduction.values import STATUSES, Recompute, Status, Value, status_of

FROM_PRINT = "from printed figures"
BY_CHANCE = "near the printed figure by chance"


@dataclass(frozen=True)
class Cell:
    """A line of the ledger.

    Attributes:
        paper: Short name of the paper.
        table: What the paper calls it.
        row: Name of the row.
        column: Name of the column.
        published: As printed.
        recomputed: The figure recomputed, or None.
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
    """Recomputes the figures of a paper.

    Args:
        paper: Its short name.
        data: The datasets that it takes.
        recompute: Computes the figures; by default what this package knows of the paper.

    Returns:
        One cell for every printed figure, in the order of the paper.

    Raises:
        InputError: The paper is unknown, or a dataset cannot be built.
        ValueError: A figure has neither a value nor a reason, or a value belongs to no printed figure.
    """
    published = load_paper(paper)
    values = dict((recompute or _known(paper))(data))
    cells = []
    for table, row, column, printed in published.cells():
        value = values.pop((table.id, row, column), None)
        reason = table.reason(row)
        if value is None and reason is not None:
            value = Value(None, reason.why, reason.without)
        if value is None:
            raise ValueError(f"{paper}, {table.id}, {row}, {column}: no value and no reason why there is none")
        cells.append(_compared((paper, table.id, row, column, printed), value, table.notes(row, column)))
    if values:
        raise ValueError(f"{paper}: values without a printed figure: {sorted(values)[:3]}")
    return cells


def _compared(where: tuple[str, str, str, str, str], value: Value, remarks: Sequence[str]) -> Cell:
    number = None if value.value is None or not math.isfinite(value.value) else value.value
    status = value.without or status_of(figure(where[-1]), number)
    by_chance = value.by_chance and status != "differs"
    source = ": ".join(filter(None, [FROM_PRINT if value.from_print else "", value.note]))
    notes = [source, *remarks, BY_CHANCE if by_chance else ""]
    return Cell(*where, number, "differs" if by_chance else status, "; ".join(filter(None, notes)))


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
