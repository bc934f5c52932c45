"""`fcconan annotate queue`."""

from collections.abc import Mapping
from typing import Any

import typer

from fcconan import services
from fcconan.oldcli.command import Command

_DECISIONS = {
    "go_on": "continue: by the random sample, the target is not reached",
    "probably_reached": "the target is probably reached, but the interval still includes lower values",
    "reached": "stop: the target is reached",
    "all_judged": "stop: every unit is judged",
}


def _show(result: "services.QueueResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_counts, print_tables

    data = result.data
    print_counts(f"Queue of {result.campaign}: {data['positive']}", ("what", "value"), _values(data))
    print_tables((), result.notes)
    if data["decision"] in _DECISIONS:
        typer.echo(f"{_DECISIONS[data['decision']]} ({data['target_recall']:.0%} of the positives).")


def _values(data: Mapping[str, Any]) -> dict[str, Any]:
    units, known = data["units"], data["estimate"]
    interval = f"{known['confidence']:.0%} interval"
    recall = f"{_percent(known['recall_low'])} to {_percent(known['recall_high'])}"
    values = {
        "units": units["all"],
        "judged": units["judged"],
        "waiting for answers": units["waiting"],
        "positives found": known["found"],
        "random units": known["n_draws"],
        "positives not found": "not known yet" if known["unseen"] is None else f"{known['unseen']:.0f}",
        f"positives not found, {interval}": f"{known['low']} to {known['high']}",
        "recall": _percent(known["recall"]),
        f"recall, {interval}": recall if known["n_draws"] else _percent(None),
    }
    further = {"assigned before the first queue": units["outside"], "skipped by all": units["skipped"]}
    return values | {meaning: number for meaning, number in further.items() if number}


def _percent(share: float | None) -> str:
    return "not known yet" if share is None else f"{share:.1%}"


COMMAND = Command(
    name="queue",
    help="Make the next queue of units: likely positives, ranked by a model of the labels so far, and a random sample.",
    service="queue_units",
    example="fcconan annotate queue my-campaign --scores minilm.trec --scores judge.parquet --queue-size 100",
    show=_show,
)
