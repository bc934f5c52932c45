"""`fcconan judge rate`."""

from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.cli.command import Command
from fcconan.cli.judge.targets import holds
from fcconan.cli.model_output import finish, print_dry_run
from fcconan.cli.progress import CountProgress

if TYPE_CHECKING:
    from fcconan.services import RateResult


def _show(result: "RateResult", verbose: bool) -> None:
    from fcconan.cli.judge.ratings_table import print_ratings

    if result.is_dry_run:
        for note in result.notes:
            print(note)
        print_dry_run(result.rows(), at_most=result.at_most)
        return
    print_ratings(result.to_dict(), Path(result.data["out"]))
    finish(result, verbose)


COMMAND = Command(
    name="rate",
    help="Rate each reply on each aspect of a task; a failed rating is missing, with a reason.",
    service="fcconan.services.rate",
    example="fcconan judge rate demo-dataset --task cseval --model lexical --out ratings.parquet",
    show=_show,
    detailed=True,
    protected=True,
    resumes=holds("RATED", "LABELLED"),
    keywords={"progress": CountProgress("rating")},
)
