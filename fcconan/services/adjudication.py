"""Final labels of units, and their validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from fcconan.errors import InputError
from fcconan.services.campaign_folders import (
    CampaignFolder,
    CampaignResult,
    Rounds,
    RoundSize,
    file_option,
)
from fcconan.services.configuration import option
from fcconan.services.options import MOST_RESAMPLES

if TYPE_CHECKING:
    from fcconan.annotation import Campaign, Decision, Outcome

NO_GRADES = "The task has grades, which are not adjudicated: the grades of each rater are published."


class AdjudicateOptions(Rounds):
    """Options of `adjudicate`: the rule that turns votes into labels, and decisions of a person."""

    allow_pending: bool = option(False, help="Also decide units with pending answers.")
    export_conflicts: Path | None = file_option(
        "Write disagreements to this CSV file for a person to decide.", role="write"
    )
    all_conflicts: bool = option(False, help="Also export disagreements that the rule resolves.", rare=True)
    import_decisions: Path | None = file_option("Read decisions of a person from this CSV file.")
    decided_by: str | None = option(None, help="Pseudonym of the person who decided.", metavar="NAME")
    allow_changes: bool = option(False, help="Accept decisions that replace earlier ones.")


@dataclass(frozen=True, repr=False)
class AdjudicateResult(CampaignResult):
    """The number of units by label. The main table has one row for each label and each reason.

    Attributes:
        outcome: The decisions; None for a task with grades.
        notes: Sentences about decisions of persons and about exported disagreements.
    """

    outcome: "Outcome | None"
    notes: Sequence[str]

    def rows(self) -> list[dict[str, Any]]:
        """Returns the number of units by label, by decision and by reason of discard."""
        data = self.data
        kinds = {"label": data["labels"], "decided": data["decided"], "discarded": data["discarded"]}
        kinds["no decision yet"] = {name: data[name] for name in ("waiting", "not_assigned")}
        return [
            {"what": kind, "which": name, "units": number}
            for kind, counts in kinds.items()
            for name, number in counts.items()
        ]


def adjudicate(campaign: CampaignFolder, options: AdjudicateOptions = AdjudicateOptions()) -> AdjudicateResult:
    """Determines the final label of each unit from its votes, by rule or by a person, and discards the others.

    Args:
        campaign: The folder of the campaign.
        options: The options.

    Returns:
        The number of units by label (`data["labels"]`), by kind of decision (`data["decided"]`) and by reason of
        discard (`data["discarded"]`). The main table has one row for each of these counts.

    Raises:
        InputError: The round does not exist or has no answers, or the file of decisions cannot be used.

    Examples:
        >>> adjudicate(answered).to_dict()["labels"]
        {'appropriate': 2, 'not_appropriate': 3}
    """
    from fcconan.annotation import (
        Campaign,
        adjudicate as decide,
        answers_of,
        conflict_rows,
        count_outcomes,
        human_decisions,
        merge_decisions,
        read_conflicts,
        write_conflicts,
    )

    file, person = options.import_decisions, options.decided_by
    if (file is None) != (person is None):
        raise InputError(
            "--import-decisions needs --decided-by, and the other way round: give the file and the pseudonym of the "
            "person who filled it in"
        )
    opened = Campaign(Path(campaign))
    if opened.task.aspects and options.export_conflicts is None and file is None:
        return AdjudicateResult(count_outcomes(None), opened.settings.name, None, [NO_GRADES])
    rounds = opened.rounds_like(options.round)
    how: dict[str, Any] = {
        "rounds": rounds,
        "now": options.allow_pending,
    }
    with opened.changing():
        outcome = decide(opened, **how)
        if not answers_of(opened, rounds):
            raise InputError(
                f"{opened.folder} has no answers in {', '.join(rounds)}: import some with `fcconan annotate import`, "
                "or name other rounds with --round"
            )
        before = human_decisions(opened)
        imported: list[Decision] = []
        if file is not None and person is not None:
            imported = read_conflicts(file, opened, outcome, person)
            outcome = decide(opened, **how, persons=merge_decisions(before, imported, changes=options.allow_changes))
        unchanged = [*opened.decisions().values()] == outcome.decisions
        opened.write("decisions.jsonl", outcome.decisions)
    notes = [] if file is None else _imported(file, str(person), imported, outcome)
    notes += _about_persons(outcome)
    if options.export_conflicts is not None:
        listed = outcome.conflicts if options.all_conflicts else outcome.open_conflicts
        again = [unit for unit in outcome.other_votes if unit in outcome.by_rule and unit not in listed]
        write_conflicts(options.export_conflicts, conflict_rows(opened, outcome, [*listed, *again]))
        notes.append(_exported(options.export_conflicts, len(listed) + len(again), opened))
    if unchanged:
        notes.append("decisions.jsonl is the same as before.")
    return AdjudicateResult(count_outcomes(outcome), opened.settings.name, outcome, notes)


def _imported(file: Path, person: str, imported: "list[Decision]", outcome: "Outcome") -> list[str]:
    """Returns sentences about the decisions of a person."""
    notes = [f"{file}: {len(imported)} decisions of {person}."]
    units = {each.unit_id for each in imported}
    if others := sorted({each.by for each in outcome.decisions if each.unit_id in units} - {person}):
        notes.append(
            f"Earlier decisions of {', '.join(others)} are unchanged: --allow-changes replaces them by those of "
            f"{person}."
        )
    return notes


def _about_persons(outcome: "Outcome") -> list[str]:
    """Returns sentences about unusual decisions of persons."""
    notes = []
    if outcome.needless:
        notes.append(
            f"{len(outcome.needless)} units with a decision of a person have no disagreement now; the decision applies."
        )
    if outcome.other_votes:
        notes.append(
            f"The votes have changed since {len(outcome.other_votes)} decisions of persons, the first on "
            f"{outcome.other_votes[0]}. The decisions still apply: --export-conflicts lists them for confirmation."
        )
    if outcome.own_raters:
        notes.append(f"{len(outcome.own_raters)} units were decided by one of their own raters.")
    return notes


def _exported(file: Path, listed: int, campaign: "Campaign") -> str:
    """Returns a sentence about a file of disagreements."""
    from fcconan.annotation import DISCARD, final_labels

    allowed = ", ".join([*final_labels(campaign), DISCARD])
    return (
        f"{file}: {listed} units to decide. Write one of {allowed} into the column `decision`, or leave it empty for "
        f"the rule; then give --import-decisions {file} --decided-by PSEUDONYM."
    )


class ValidateOptions(RoundSize):
    """Options of `validate`: the round of validators. Omitted options are those of an existing round."""

    overlap: dict[Annotated[int, Field(ge=2, le=2)], Annotated[float, Field(ge=0, le=1)]] = option(
        {},
        help="Share of units that two validators judge, such as 2=0.1.",
        metavar="2=SHARE",
    )
    extend: bool = option(False, help="Add units with new or changed labels and those of validators who left.")
    round: tuple[str, ...] = option(
        (),
        help="Rounds with the grades of replies, or a pattern such as 'queue-*'; default: main.",
        metavar="NAME",
    )
    resamples: int = option(10_000, help="Resamples of the bootstrap; 0 gives no intervals.", ge=0, le=MOST_RESAMPLES)


@dataclass(frozen=True, repr=False)
class ValidateResult(CampaignResult):
    """The number of labels that validators confirmed. The main table has one row for each label and state.

    Attributes:
        total: Number of units with a label or grades.
        meanings: Explanations of the states that occur.
    """

    total: int
    meanings: Sequence[str]

    def rows(self) -> list[dict[str, Any]]:
        """Returns the number and share of units by label and state."""
        groups = {"all": (self.data["units"], self.total)}
        groups |= {label: (states, sum(states.values())) for label, states in self.data["labels"].items()}
        return [
            {"label": label, "state": state, "units": number, "share": number / max(size, 1)}
            for label, (states, size) in groups.items()
            for state, number in states.items()
            if number
        ]


def validate(campaign: CampaignFolder, options: ValidateOptions = ValidateOptions()) -> ValidateResult:
    """Assigns final labels to independent validators, and counts the labels that they confirm.

    The first call makes the round `validation`. Later calls count its answers; with `extend` they also add units.

    Args:
        campaign: The folder of the campaign.
        options: The options.

    Returns:
        The number of units by state (`data["units"]`), by label (`data["labels"]`) and by validator
        (`data["validators"]`), and the agreement of the validators. The main table has the columns `label`, `state`,
        `units` and `share`.

    Raises:
        InputError: There is nothing to validate, there is no validator, or the round was made with other options.

    Examples:
        >>> found = validate(answered, ValidateOptions(resamples=0)).to_frame()
        >>> found[found["label"] == "all"][["state", "units"]].values.tolist()
        [['agreed', 4], ['split', 1]]
    """
    from fcconan.annotation import (
        STATES,
        VALIDATION,
        Campaign,
        derived_seed,
        plan_validation,
        validation_options,
        validation_summary,
        validation_targets,
        write_plan,
    )

    opened = Campaign(Path(campaign))
    given = {
        "sample": options.sample_size,
        "twice": options.overlap.get(2),
        "session_size": options.session_size,
        "rounds": list(options.round) or None,
        "seed": options.seed,
    }
    notes = []
    with opened.changing():
        exists = VALIDATION in opened.rounds()
        how = validation_options(opened, given, again=options.extend)
        rounds = opened.rounds_like(how.rounds)
        seed = derived_seed(opened.settings.seed, "validate", how.seed)
        labelled = validation_targets(opened, rounds)
        if options.extend or not exists:
            size = how.sample
            if options.sample_size is None and size is not None:  # fewer units than the round drew may have a label now
                size = min(size, len(labelled))
            plan = plan_validation(
                opened, sample=size, twice=how.twice, session_size=how.session_size, rounds=rounds, seed=seed
            )
            if exists or plan.n_new:
                write_plan(opened, plan, how)
            notes.append(f"{plan.n_new} new assignments, {plan.n_withdrawn} withdrawn.")
            if plan.short:
                notes.append(f"{len(plan.short)} units lack an independent validator: add validators.")
        else:
            notes.append(f"The round {VALIDATION} exists: --extend adds units to it.")
        summary = validation_summary(opened, rounds=rounds, resamples=options.resamples, seed=seed)
    meanings = [f"{state}: {STATES[state]}." for state in ("split", "outdated") if summary["units"][state]]
    return ValidateResult({"notes": notes} | summary, opened.settings.name, len(labelled), meanings)
