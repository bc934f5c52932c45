"""`annotate status`: the state of a campaign, and the next command."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from fcconan.annotation.campaigns import QUALIFICATION, RATERS, VALIDATION, Campaign
from fcconan.annotation.rounds import completed_assignments, recorded_options
from fcconan.annotation.votes import (
    BY_RULE,
    BY_VOTES,
    NOT_ASSIGNED,
    WAITING,
    decide,
    validation_targets,
    verdicts,
    vote_rows,
)
from fcconan.data import count_noun
from fcconan.result import Result
from fcconan.scoring import gold_and_time

if TYPE_CHECKING:
    from pandas import DataFrame

IMPORT = "import FILES"


def campaign_status(campaign: Path, *, round: tuple[str, ...] = ()) -> Result:
    """Show the returned and open units of each rater, and the next command.

    Args:
        campaign: Folder of the campaign.
        round: Rounds to show, or a pattern such as `queue-*`; default: all.

    Returns:
        `raters`: one row for each round and rater, with `state`, `assigned`, `returned`, `skipped` and `open` units.
        `units`: numbers of units by state: `all`, `assigned`, `answered`, `labelled` (with a final label or grades),
        `discarded`, and `confirmed` by all validators who answered. `answers`, if there are gold questions or times:
        `gold_accuracy` and `median_seconds` of each rater.

    Raises:
        InputError: The folder is not a campaign, or the round does not exist.

    Examples:
        >>> found = campaign_status(campaign)
        >>> found.to_frame()[["round", "rater", "returned", "open"]].values.tolist()
        [['main', 'ombrey-1', 0, 4], ['main', 'tessok-2', 0, 4]]
        >>> found.notes[0].partition("(")[2]
        '8 units of the round main need answers).'
    """
    from pandas import DataFrame

    opened = Campaign(campaign)
    work, units = _assigned(opened), _units(opened)
    names = opened.rounds_like(round) if round else opened.rounds()
    for name in names:
        opened.assignments(name)  # refuses a name that no round has
    counted = work[work["round"].isin(names)].assign(assigned=1).groupby(["round", "rater", "state"], sort=False)
    shares = counted[["assigned", "returned", "skipped", "open"]].sum().reset_index()
    tables = {"raters": shares, "units": DataFrame({"state": units.keys(), "units": units.values()})}
    if units["answered"]:
        rows = DataFrame(vote_rows(opened.folder))
        checks = gold_and_time(rows, rows["label" if "label" in rows else "value"])
        if checks["n_gold"].any() or checks["median_seconds"].notna().any():
            tables["answers"] = checks
    return Result("annotate status", tables, {"campaign": opened.settings.name}, [_note(opened, work, units)])


def next_step(campaign: Campaign) -> str:
    """Returns a note that names the next command and why, and its alternative if there is one."""
    return _note(campaign, _assigned(campaign), _units(campaign))


def _note(campaign: Campaign, work: "DataFrame", units: dict[str, int]) -> str:
    def command(step: str) -> str:
        verb, _, options = step.partition(" ")
        return f"fcconan annotate {verb} {shlex.quote(str(campaign.folder))} {options}".rstrip()

    step, reason = _next(campaign, work, units)
    note = f"Next: {command(step)} ({reason})."
    if step == IMPORT and units["answered"]:
        name = work["round"][work["open"]].iloc[0]
        if name != QUALIFICATION:  # which needs all answers
            other, _ = _next(campaign, work.assign(open=work["open"] & (work["round"] != name)), units)
            note += f" Or continue without open units: {command(other)}"
    return note


def _judged(campaign: Campaign) -> list[str]:
    """Returns the rounds whose answers are votes or grades."""
    return [name for name in campaign.rounds() if name not in (QUALIFICATION, VALIDATION)]


def _assigned(campaign: Campaign) -> "DataFrame":
    """Returns the assignments of all rounds, without withdrawn ones that have no answer, and whether they are open."""
    from pandas import DataFrame

    raters, rows = campaign.raters(), []
    for name in campaign.rounds():
        done = completed_assignments(campaign, name)
        rows += [
            (name, each.rater, raters[each.rater].state, each.unit_id, each.key in done, bool(done.get(each.key)))
            for each in campaign.assignments(name)
            if not each.withdrawn or each.key in done
        ]
    table = DataFrame(rows, columns=["round", "rater", "state", "unit_id", "returned", "skipped"])
    table[["returned", "skipped"]] = table[["returned", "skipped"]].astype(bool)
    return table.assign(open=~table["returned"])


def _units(campaign: Campaign) -> dict[str, int]:
    """Returns the numbers of units in each state."""
    judged, items = _judged(campaign), {each.unit_id for each in campaign.items()}
    answers = campaign.answers().values()
    assigned = {each.unit_id for name in judged for each in campaign.assignments(name) if not each.withdrawn}
    return {
        "all": len(items),
        "assigned": len(assigned & items),
        "answered": len({each.unit_id for each in answers if each.round in judged and each.value is not None} & items),
        "labelled": len(validation_targets(campaign, judged)) if judged else 0,
        "discarded": sum(each.label is None for each in campaign.decisions().values()),
        "confirmed": int(verdicts(campaign, judged)["state"].eq("agreed").sum()) if judged else 0,
    }


def _next(campaign: Campaign, work: "DataFrame", units: dict[str, int]) -> tuple[str, str]:
    """Returns the next step of a campaign, and its reason."""
    judged, open_units = _judged(campaign), work[work["open"]]
    invited = [name for name, each in campaign.raters().items() if each.state == "invited"]
    tested = work[work["round"] == QUALIFICATION]
    if invited and campaign.units_of("quiz") and not tested["open"][tested["rater"].isin(invited)].any():
        if {*invited} <= {*tested["rater"]}:
            return "assign --qualify", "invited raters have returned the qualification test"
        return f"assign --round {QUALIFICATION}", "invited raters need the qualification test"
    if len(open_units):
        return _collect(work[work["round"] == open_units["round"].iloc[0]])
    if not judged:
        active = campaign.active("annotator")
        return "assign", "nothing is assigned" if active else f"after adding annotators to its {RATERS}"
    if any(name.startswith("queue-") for name in judged) and units["assigned"] < units["all"]:
        return "queue", "all queues are answered, and further units can be chosen"
    if campaign.task.labels:
        decisions = campaign.decisions()
        ours = {unit: each.label for unit, each in decisions.items() if each.by in (BY_VOTES, BY_RULE)}
        for pending in (False,) if work["returned"].all() else (False, True):
            found = decide(campaign, campaign.rounds_like(), allow_pending=pending)
            rule = found["rule"][~found["reason"].isin([WAITING, NOT_ASSIGNED])].to_dict()
            step = "adjudicate" + " --allow-pending" * pending
            if missing := len(rule.keys() - decisions.keys()):
                return (
                    step,
                    f"{count_noun(missing, 'answered unit')} {'has' if missing == 1 else 'have'} no final label",
                )
            if changed := sum(unit in rule and rule[unit] != label for unit, label in ours.items()):
                return step, f"the votes on {count_noun(changed, 'label')} have changed"
    if campaign.active("validator") and units["labelled"] and VALIDATION not in campaign.rounds():
        number = units["labelled"]
        return "validate", f"{count_noun(number, 'unit')} {'is' if number == 1 else 'are'} not validated"
    if units["labelled"] and verdicts(campaign, judged)["state"].eq("outdated").any():
        return "validate --extend", "labels have changed since validators saw them"
    reason = "all steps are done" if units["confirmed"] else "all answers are in, and nothing is validated"
    if VALIDATION in campaign.rounds() and recorded_options(campaign, VALIDATION).get("sample_size") is None:
        late = int(verdicts(campaign, judged)["state"].eq("not_assigned").sum())
        reason = (
            f"validate --extend assigns some of {count_noun(late, 'label')} without a validator" if late else reason
        )
    return "release --out FOLDER", reason


def _collect(work: "DataFrame") -> tuple[str, str]:
    """Returns the step that collects the open units of a round, and its reason."""
    name, number = work["round"].iloc[0], int(work["open"].sum())
    pending = work[work["open"]]
    gone = pending["rater"][pending["state"].isin(["left", "failed"])].unique()
    if len(gone):
        step = "validate --extend" if name == VALIDATION else "assign" + f" --round {name}" * (name != "main")
        return step, f"{', '.join(gone)} left open units in the round {name}"
    units = f"{count_noun(number, 'unit')} of the round {name}"
    if not work["returned"].any():
        chosen = f"--round {name} " * (name != "main")
        return f"export {chosen}--out FOLDER", f"{units} {'needs an answer' if number == 1 else 'need answers'}"
    raters = ", ".join(f"{rater} ({count})" for rater, count in pending["rater"].value_counts(sort=False).items())
    return IMPORT, f"{units} {'is' if number == 1 else 'are'} open: {raters}"
