"""`fcconan judge rate`."""

from pathlib import Path

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.judge.targets import holds
from fcconan.oldcli.model_output import with_dry_run
from fcconan.oldcli.progress import CountProgress


@with_dry_run
def _show(result: "services.RateResult", verbose: bool) -> None:
    from fcconan.oldcli.judge.ratings_table import print_ratings

    print_ratings(result.to_dict(), Path(result.data["out"]))


COMMAND = Command(
    name="rate",
    help="Rate each reply on each aspect of a task; a failed rating is missing, with a reason.",
    example="fcconan judge rate demo-dataset --task cseval --model replay:answers.csv --out ratings.parquet",
    show=_show,
    detailed=True,
    protected=True,
    resumes=holds("RATED", "LABELLED", "LEARNED"),
    keywords={"progress": CountProgress("rating")},
)
