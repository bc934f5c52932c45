"""`fcconan judge compare`."""

from typing import TYPE_CHECKING

from fcconan.cli.command import Command
from fcconan.cli.judge.targets import holds
from fcconan.cli.model_output import figure, finish, print_dry_run, print_failed
from fcconan.cli.progress import CountProgress

if TYPE_CHECKING:
    from fcconan.services import CompareResult


def _show(result: "CompareResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table

    if result.is_dry_run:
        print_dry_run(result.rows(), at_most=result.at_most)
        return
    counts = result.data
    print_table(
        f"Comparisons in {counts['out']}",
        ("", "value"),
        [
            *((f"verdict {name}", number) for name, number in counts["verdicts"].items()),
            *((f"invalid: {name}", number) for name, number in counts["invalid"].items()),
            ("flip rate", figure(counts["flip_rate"])),
            ("share of preferences for the reply shown first", figure(counts["first_preference"])),
            ("identical replies", counts["identical"]),
            ("shortened", counts["shortened"]),
            ("suspicious", counts["suspicious"]),
        ],
    )
    print_failed(counts["failed_requests"])
    finish(result, verbose)


COMMAND = Command(
    name="compare",
    help="Compare the replies of systems in pairs; an unreadable verdict is invalid, with a reason.",
    service="fcconan.services.compare",
    example="fcconan judge compare demo-dataset --model gpt-4o-mini --pairs 60 --out comparisons.parquet",
    show=_show,
    detailed=True,
    protected=True,
    resumes=holds("COMPARED"),
    keywords={"progress": CountProgress("comparing")},
    renamed={"--fast": "--no-explain"},
)
