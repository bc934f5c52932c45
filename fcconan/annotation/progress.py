"""The state of a campaign: returned and open units of each rater and round, and the next step."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fcconan.annotation.assignment.rounds import completed_assignments, recorded_options
from fcconan.annotation.campaigns import QUALIFICATION, VALIDATION, Campaign, Rater, round_options
from fcconan.annotation.validation import validation_targets, verdicts
from fcconan.annotation.votes import NOT_ASSIGNED, WAITING, decide
from fcconan.building import group_values
from fcconan.data import count_noun

IMPORT = "import FILES"


@dataclass(frozen=True)
class Share:
    """The work of a rater in a round, in units.

    Attributes:
        round: Name of the round.
        rater: Pseudonym of the rater.
        state: State of the rater, such as `active` or `left`.
        assigned: Number of assigned units.
        returned: Number of units with all answers, skipped ones included.
        skipped: Number of skipped units.
        open: Number of units that still need an answer.
        imports: Number of imports with answers of this rater in this round.
    """

    round: str
    rater: str
    state: str
    assigned: int
    returned: int
    skipped: int
    open: int
    imports: int


@dataclass(frozen=True)
class Step:
    """The next step of a campaign.

    Attributes:
        command: Command of the step.
        reason: Reason, in one sentence.
        alternative: Command that continues without the open units of a round; None if nothing is open, or if the
            campaign cannot continue without them.
    """

    command: str
    reason: str
    alternative: str | None = None


@dataclass(frozen=True)
class Progress:
    """The state of a campaign.

    Attributes:
        shares: Work of each rater in each round.
        units: Numbers of units: `all`, `assigned`, `answered`, `labelled` (with a final label or grades), `discarded`
            and `confirmed` (by all validators who answered).
        next: Next step.
    """

    shares: Sequence[Share]
    units: Mapping[str, int]
    next: Step


def campaign_progress(campaign: Campaign) -> Progress:
    """Returns the state of a campaign.

    Args:
        campaign: The campaign.

    Raises:
        InputError: A file of the campaign cannot be read.
    """
    raters = campaign.raters()
    shares = [share for name in _in_order(campaign) for share in _shares(campaign, name, raters)]
    items = {each.unit_id for each in campaign.items()}
    judged = _judged(campaign)
    assigned = {each.unit_id for name in judged for each in campaign.assignments(name) if not each.withdrawn}
    answered = {each.unit_id for each in campaign.answers().values() if each.round in judged and each.value is not None}
    labelled = validation_targets(campaign, judged) if judged else {}
    confirmed = verdicts(campaign, judged)["state"].eq("agreed").sum() if labelled else 0
    units = {
        "all": len(items),
        "assigned": len(assigned & items),
        "answered": len(answered & items),
        "labelled": len(labelled),
        "discarded": sum(each.label is None for each in campaign.decisions().values()),
        "confirmed": int(confirmed),
    }
    step, reason = _next(campaign, shares, units, judged)
    following = _without_open(campaign, shares, units, judged) if step == IMPORT else None
    alternative = None if following is None else _command(campaign, following)
    return Progress(shares, units, Step(_command(campaign, step), reason, alternative))


def next_step(campaign: Campaign) -> str:
    """Returns a note that names the next command and why, and its alternative if there is one."""
    step = campaign_progress(campaign).next
    other = f" Or continue without open units: {step.alternative}" if step.alternative else ""
    return f"Next: {step.command} ({step.reason}).{other}"


def _in_order(campaign: Campaign) -> list[str]:
    """Returns the rounds in their usual order: qualification first, reviews after other rounds, validation last."""

    def place(name: str) -> tuple[bool, bool, bool, int, str]:
        is_review = recorded_options(campaign, name).get("review") is not None
        return name == VALIDATION, name != QUALIFICATION, is_review, len(name), name  # queue-10 follows queue-9

    return sorted(campaign.rounds(), key=place)


def _judged(campaign: Campaign) -> list[str]:
    """Returns the rounds whose answers are votes or grades."""
    return [name for name in _in_order(campaign) if name not in (QUALIFICATION, VALIDATION)]


def _shares(campaign: Campaign, name: str, raters: Mapping[str, Rater]) -> list[Share]:
    done = completed_assignments(campaign, name)
    there = [each for each in campaign.assignments(name) if not each.withdrawn or each.key in done]
    theirs = group_values((each.rater, each.key) for each in there)
    imports = [one for one in campaign.imports() if one.round == name]
    shares = []
    for rater, keys in theirs.items():
        returned = [key for key in keys if key in done]
        shares.append(
            Share(
                name,
                rater,
                raters[rater].state if rater in raters else "unknown",
                assigned=len(keys),
                returned=len(returned),
                skipped=sum(done[key] for key in returned),
                open=len(keys) - len(returned),
                imports=sum(rater in one.raters for one in imports),
            )
        )
    return shares


def _next(
    campaign: Campaign, shares: Sequence[Share], units: Mapping[str, int], judged: Sequence[str]
) -> tuple[str, str]:
    """Returns the next step of a campaign, and its reason."""
    people = campaign.raters().values()
    active = campaign.active("annotator")
    invited = [each for each in people if each.state == "invited"]
    if (
        invited
        and campaign.units_of("quiz")
        and not any(share.open for share in shares if share.round == QUALIFICATION and share.state == "invited")
    ):
        tested = {share.rater for share in shares if share.round == QUALIFICATION}
        if all(each.rater in tested for each in invited):
            return "assign --qualify", "invited raters have returned the qualification test"
        return f"assign --round {QUALIFICATION}", "invited raters need the qualification test"
    if not active and not invited and not judged:
        return "raters --add-annotators N", "no annotator has joined"
    if unfinished := [share.round for share in shares if share.open]:
        return _collect([share for share in shares if share.round == unfinished[0]])
    if not judged:
        return "assign", "nothing is assigned"
    if any(name.startswith("queue-") for name in judged) and units["assigned"] < units["all"]:
        return "queue", "all queues are answered, and further units can be chosen"
    rounds = "" if judged == ["main"] else f" {round_options(judged)}"
    if campaign.task.labels:
        decided = decide(campaign, judged)["reason"]
        undecided = decided[~decided.isin([WAITING, NOT_ASSIGNED])].index.difference([*campaign.decisions()])
        if len(undecided):
            units_have = "1 answered unit has" if len(undecided) == 1 else f"{len(undecided)} answered units have"
            return f"adjudicate{rounds}", f"{units_have} no final label"
    validators = campaign.active("validator")
    named = "" if campaign.task.labels else rounds
    if validators and units["labelled"] and VALIDATION not in campaign.rounds():
        labelled = units["labelled"]
        return f"validate{named}", f"{count_noun(labelled, 'unit')} {'is' if labelled == 1 else 'are'} not validated"
    if units["labelled"] and verdicts(campaign, judged)["state"].eq("outdated").any():
        return "validate --extend", "labels have changed since validators saw them"
    reason = "all steps are done" if units["confirmed"] else "all answers are in, and nothing is validated"
    return f"release{rounds} --out FOLDER", reason


def _without_open(
    campaign: Campaign, shares: Sequence[Share], units: Mapping[str, int], judged: Sequence[str]
) -> str | None:
    """Returns the step that follows if the first round with open units is taken as complete.

    The result is None for the qualification test, which needs all answers.
    """
    name = next(share.round for share in shares if share.open)
    if name == QUALIFICATION or not units["answered"]:
        return None
    complete = [replace(share, open=0) if share.round == name else share for share in shares]
    return _next(campaign, complete, units, judged)[0]


def _collect(shares: Sequence[Share]) -> tuple[str, str]:
    """Returns the step that collects the open units of a round, and its reason."""
    name, number = shares[0].round, sum(share.open for share in shares)
    units = count_noun(number, "unit")
    pending = [share for share in shares if share.open]
    if gone := [share.rater for share in pending if share.state in ("left", "failed")]:
        reason = f"{', '.join(gone)} left open units in the round {name}"
        if name == VALIDATION:
            return "validate --extend", reason
        return f"assign --reassign --round {name}", reason
    if not any(share.returned for share in shares):
        return f"export --round {name} --out FOLDER", (
            f"{units} of the round {name} {'needs an answer' if number == 1 else 'need answers'}"
        )
    raters = ", ".join(f"{share.rater} ({share.open})" for share in pending)
    return IMPORT, f"{units} of the round {name} {'is' if number == 1 else 'are'} open: {raters}"


def _command(campaign: Campaign, step: str) -> str:
    verb, _, options = step.partition(" ")
    return f"fcconan annotate {verb} {shlex.quote(str(campaign.folder))} {options}".rstrip()
