"""The reproduction table: every printed value of a paper with its recomputed value, status and note."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import fcconan
from fcconan.errors import InputError
from fcconan.reproduction.datasets import Datasets
from fcconan.reproduction.published import load_paper, parse_printed
from fcconan.reproduction.values import Recompute, RecomputedValue, Status, status_of

FROM_PRINT = "from printed values"
BY_CHANCE = "close to the printed value by chance"


@dataclass(frozen=True)
class Cell:
    """A printed value and its recomputed value: one row of the reproduction table.

    Attributes:
        paper: Short name of the paper.
        table: Name of the table in the paper.
        row: Name of the row.
        column: Name of the column.
        published: The value as printed.
        recomputed: The recomputed value, or None.
        status: `exact`: equal in all printed digits; `rounding`: the paper truncated the value or rounded it twice;
            `differs`; `needs_model`: the value needs a model; `not_released`: the data were not published.
        note: Reason of the status, and rows of the value.
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
    """Recomputes the printed values of a paper.

    Args:
        paper: Short name of the paper.
        data: Datasets of the paper; they are built when they are first read.
        recompute: Function that computes the values; default: the function of this package for the paper.

    Returns:
        One cell for each printed value, in the order of the paper.

    Raises:
        InputError: The paper is unknown, or a dataset cannot be built.
        ValueError: A printed value has neither a recomputed value nor a reason, or a recomputed value belongs to no
            printed one.
    """
    published = load_paper(paper)
    values = dict((recompute or _load_recompute(paper))(data))
    cells = []
    for table, row, column, printed in published.cells():
        value = values.pop((table.id, row, column), None)
        reason = table.reason(row)
        if value is None and reason is not None:
            value = RecomputedValue(None, reason.why, reason.without)
        if value is None:
            raise ValueError(f"{paper}, {table.id}, {row}, {column}: no value and no reason for its absence")
        cells.append(_compare((paper, table.id, row, column, printed), value, table.notes(row, column)))
    if values:
        raise ValueError(f"{paper}: recomputed values without a printed value: {sorted(values)[:3]}")
    return cells


def _compare(where: tuple[str, str, str, str, str], value: RecomputedValue, remarks: Sequence[str]) -> Cell:
    number = None if value.value is None or not math.isfinite(value.value) else value.value
    status = value.without or status_of(parse_printed(where[-1]), number)
    by_chance = value.by_chance and status != "differs"
    source = ": ".join(filter(None, [FROM_PRINT if value.from_print else "", value.note]))
    notes = [source, *remarks, BY_CHANCE if by_chance else ""]
    return Cell(*where, number, "differs" if by_chance else status, "; ".join(filter(None, notes)))


def reproduction_signature(papers: Sequence[str], fingerprints: Mapping[str, str]) -> str:
    """Returns the signature of a reproduction: version, papers, and datasets with their fingerprints."""
    used = [f"{name}@{fingerprint}" for name, fingerprint in sorted(fingerprints.items())]
    return f"fcconan:{fcconan.__version__}|reproduce:{'+'.join(papers)}|data:{'+'.join(used) or 'none'}"


def as_rows(cells: list[Cell]) -> list[dict[str, Any]]:
    """Returns the cells as dictionaries, for JSON."""
    return [asdict(cell) for cell in cells]


def _load_recompute(paper: str) -> Recompute:
    from fcconan.reproduction import cseval, fc_conan, multi_aspect, pairwise_ranking

    known: dict[str, Recompute] = {
        "cseval": cseval.recompute,
        "fc-conan": fc_conan.recompute,
        "multi-aspect": multi_aspect.recompute,
        "pairwise-ranking": pairwise_ranking.recompute,
    }
    if paper not in known:
        raise InputError(f"{paper} cannot be recomputed: choose among {', '.join(known)}")
    return known[paper]
