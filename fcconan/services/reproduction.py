"""The published values of the papers next to recomputed ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fcconan.services.configuration import Configuration, argument, option
from fcconan.services.results import Result

if TYPE_CHECKING:
    from fcconan.reproduction import Cell


def paper_names() -> list[str]:
    """Returns the short names of the papers."""
    from fcconan.reproduction import paper_names

    return paper_names()


class ReproduceOptions(Configuration):
    """How published values are recomputed."""

    data_dir: Path | None = option(
        None,
        help="Folder of built datasets, which later runs use again; default: they are built for this run only.",
        metavar="FOLDER",
        role="folder",
    )


@dataclass(frozen=True, repr=False)
class ReproduceResult(Result):
    """Each published value with the recomputed one; its JSON is the list of rows.

    Attributes:
        cells: The rows as objects.
    """

    cells: "Sequence[Cell]"

    def json_value(self) -> Any:
        """Returns the list of rows."""
        return self.rows()


def reproduce(
    papers: Annotated[
        Sequence[str], argument("Short names of papers; default: all four.", many=True, complete=paper_names)
    ] = (),
    options: ReproduceOptions = ReproduceOptions(),
) -> ReproduceResult:
    """Recomputes the values that the papers print.

    Args:
        papers: Short names of papers; none for all.
        options: The options.

    Returns:
        The values. The main table has one row for each published value, with the columns `paper`, `table`, `row`,
        `column`, `published`, `recomputed`, `status` and `note`.

    Raises:
        InputError: The paper is unknown, or a dataset cannot be built.

    Examples:
        >>> found = reproduce(["multi-aspect"])
        >>> found.to_frame()["status"].value_counts().to_dict()
        {'not_released': 1051, 'exact': 1}
    """
    from fcconan.reproduction import Datasets, as_rows, load_paper, reproduce as recompute, reproduction_signature

    chosen = list(dict.fromkeys(papers or paper_names()))
    for name in chosen:
        load_paper(name)
    with Datasets(options.data_dir) as datasets:
        cells = [cell for name in chosen for cell in recompute(name, datasets)]
    signature = reproduction_signature(chosen, datasets.fingerprints)
    return ReproduceResult({"signature": signature, "rows": as_rows(cells)}, cells)
