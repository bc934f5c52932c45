"""`fcconan judge calibrate`."""

from pathlib import Path

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.model_output import with_dry_run
from fcconan.oldcli.output import tell_progress


@with_dry_run
def _show(result: "services.CalibrateResult", verbose: bool) -> None:
    from fcconan.data import describe_failures
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import format_row_interval, make_table

    found = result.calibration
    if found is None:
        return
    columns = {
        "": "steps",
        "value": "value",
        "95% interval": format_row_interval,
        "n": "n",
        "missing": "n_missing",
        "note": lambda row: (
            row["reason"] or (f"{row['worst']:.3f} in the worst case" if row["worst"] is not None else "")
        ),
    }
    title = f"{found.settings.metric} with people on the report part; steps in {result.data['out']}"
    print_table(make_table(title, result.rows(), columns))
    for number, step in enumerate(found.steps.steps, start=1):
        print(f"{number}. {step}")
    summary = found.parts["report"]
    if shared := summary["shared_texts"]:
        print(
            f"{shared} of {summary['examples']} replies of the report part have the same text as a reply of another "
            "part: too many HS share replies for disjoint parts"
        )
    if number := result.data["failed_requests"]:
        print(f"{describe_failures(number)}, which may have changed the result: run the command again")


def _is_calibration(path: Path, options: object) -> bool:
    from fcconan.errors import InputError
    from fcconan.judging import load_steps

    try:
        load_steps(path)
    except InputError:
        return False
    return True


COMMAND = Command(
    name="calibrate",
    help="Find evaluation steps with which a judge agrees with people's ratings (Auto-CSEval).",
    example=(
        "fcconan judge calibrate data/cseval --split dev --task cseval --aspect relevance --model gpt-4o "
        "--out relevance.yaml"
    ),
    show=_show,
    detailed=True,
    protected=True,
    resumes=_is_calibration,
    companions=lambda out: {"--out (its log)": out.with_suffix(".log.jsonl")},
    keywords={"progress": tell_progress},
)
