"""`fcconan agree`."""

from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.cli.command import Command

if TYPE_CHECKING:
    from fcconan.services import AgreeResult


def _show(result: "AgreeResult", verbose: bool) -> None:
    from fcconan.cli.output import print_tables
    from fcconan.reporting import agreement_tables

    print_tables(agreement_tables(result.rows(), pairs=verbose), result.data["notes"])


def _write_page(result: "AgreeResult", path: Path) -> None:
    from fcconan.reporting import write_agreement

    write_agreement(path, result.data)


COMMAND = Command(
    name="agree",
    help="Measure how far raters agree: on ratings, on verdicts between replies, or on labels of pairs.",
    service="fcconan.services.agree",
    example="fcconan agree ratings.csv --json agreement.json",
    show=_show,
    page=_write_page,
    detailed=True,
    ignored={"--overall": "the table has no pairs of raters; --verbose prints them"},
)
