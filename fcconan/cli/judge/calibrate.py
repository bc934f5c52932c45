"""`fcconan judge calibrate`."""

from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.cli.command import Command
from fcconan.cli.model_output import figure, finish, interval, print_dry_run
from fcconan.cli.output import tell_progress

if TYPE_CHECKING:
    from fcconan.services import CalibrateResult


def _show(result: "CalibrateResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table
    from fcconan.data import failed

    found = result.calibration
    if found is None:
        for note in result.notes:
            print(note)
        print_dry_run(result.rows(), at_most=result.at_most)
        return
    rows = [
        (
            row["steps"],
            figure(row["value"]),
            interval(row["low"], row["high"]),
            row["n"],
            row["n_missing"],
            row["reason"] or ("" if row["worst"] is None else f"{figure(row['worst'])} in the worst case"),
        )
        for row in result.rows()
    ]
    print_table(
        f"{found.settings.metric} with people on the report part; steps in {result.data['out']}",
        ("", "value", "95% interval", "n", "missing", "note"),
        rows,
    )
    for number, step in enumerate(found.steps.steps, start=1):
        print(f"{number}. {step}")
    summary = found.parts["report"]
    if shared := summary["shared_texts"]:
        print(
            f"{shared} of {summary['examples']} replies of the report part have a text that another part holds, too: "
            "too many HS share their replies to be kept apart"
        )
    if number := result.data["failed_requests"]:
        print(f"{failed(number)}, which may have changed the result: run the command again")
    finish(result, verbose)


def _is_calibration(path: Path) -> bool:
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
    service="fcconan.services.calibrate",
    example=(
        "fcconan judge calibrate data/cseval --split dev --task cseval --aspect relevance --model gpt-4o "
        "--out relevance.yaml"
    ),
    show=_show,
    detailed=True,
    protected=True,
    resumes=_is_calibration,
    removed={"--published": "the algorithm of the paper; the switches repeated errors of its code"},
    companions=lambda out: {"--out (its log)": out.with_suffix(".log.jsonl")},
    keywords={"progress": tell_progress},
)
