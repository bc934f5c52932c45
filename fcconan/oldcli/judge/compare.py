"""`fcconan judge compare`."""

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.model_output import print_failed, with_dry_run
from fcconan.oldcli.progress import CountProgress


@with_dry_run
def _show(result: "services.CompareResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_counts

    counts = result.data
    values = {
        **{f"verdict {name}": number for name, number in counts["verdicts"].items()},
        **{f"invalid: {name}": number for name, number in counts["invalid"].items()},
        "flip rate": counts["flip_rate"],
        "share of preferences for the reply shown first": counts["first_preference"],
        "identical replies": counts["identical"],
    }
    print_counts(f"Comparisons in {counts['out']}", ("", "value"), values)
    print_failed(counts["failed_requests"])


COMMAND = Command(
    name="compare",
    help="Compare the replies of systems in pairs; an unreadable verdict is invalid, with a reason.",
    example="fcconan judge compare demo-dataset --model gpt-4o-mini --pairs 60 --out comparisons.parquet",
    show=_show,
    detailed=True,
    protected=True,
    keywords={"progress": CountProgress("comparing")},
)
