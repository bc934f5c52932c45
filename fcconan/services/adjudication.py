"""Final labels of units: by the votes, by rule, or by a person; and their validation."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from fcconan.errors import InputError
from fcconan.services.campaign_folders import (
    CampaignFolder,
    CampaignResult,
    Rounds,
    RoundSize,
    file_option,
    share_option,
)
from fcconan.services.configuration import option
from fcconan.services.options import MOST_RESAMPLES

if TYPE_CHECKING:
    from fcconan.annotation import Campaign, Decision, Outcome

NO_GRADES = "Grades are not adjudicated: every rater's stay as they are."


class AdjudicateOptions(Rounds):
    """How votes become labels, and what a person decides."""

    allow_pending: bool = option(False, help="Decide also units that raters still have to answer.", renamed=("--now",))
    aggregation: Literal["rule", "dawid-skene"] = option(
        "rule", help="Aggregation of votes: the rule of the task, or Dawid and Skene's model.", renamed=("--method",)
    )
    min_probability: float = share_option(
        "Smallest probability of a label under dawid-skene.", 0.5, rare=True, renamed=("--at-least",)
    )
    export_conflicts: Path | None = file_option(
        "Write disagreements to this CSV file for a person to decide.", role="write", renamed=("--export",)
    )
    all_conflicts: bool = option(
        False, help="Export also disagreements that the rule resolves.", rare=True, renamed=("--all",)
    )
    import_decisions: Path | None = file_option("Read decisions of a person from this CSV file.", renamed=("--import",))
    decided_by: str | None = option(
        None, help="Pseudonym of the person who decided.", metavar="NAME", renamed=("--by",)
    )
    allow_changes: bool = option(False, help="Accept decisions that replace earlier ones.", renamed=("--changes",))


@dataclass(frozen=True, repr=False)
class AdjudicateResult(CampaignResult):
    """How many units have which label; its main table has one row for each label and reason.

    Attributes:
        outcome: The decisions; None for a task with grades.
        notes: Sentences about decisions of persons and about exported conflicts.
    """

    outcome: "Outcome | None"
    notes: Sequence[str]

    def rows(self) -> list[dict[str, Any]]:
        """Returns the number of units by label, by reason of their label or discard, and without a decision."""
        data = self.data
        kinds = {"label": data["labels"], "decided": data["decided"], "discarded": data["discarded"]}
        kinds["no decision yet"] = {name: data[name] for name in ("waiting", "not_assigned")}
        return [
            {"what": kind, "which": name, "units": number}
            for kind, counts in kinds.items()
            for name, number in counts.items()
        ]


def adjudicate(campaign: CampaignFolder, options: AdjudicateOptions = AdjudicateOptions()) -> AdjudicateResult:
    """Decides the final label of each unit by its votes, by rule or by a person, and discards units without a label.

    Args:
        campaign: The folder of the campaign.
        options: The configuration.

    Raises:
        InputError: There is no such round or it has no answers, or the file of decisions cannot be used.

    Examples:
        >>> adjudicate(answered).to_dict()["labels"]
        {'appropriate': 2, 'not_appropriate': 3}
    """
    from fcconan.annotation import (
        Campaign,
        adjudicate as decide,
        answers_of,
        conflict_rows,
        counts_of,
        decisions_of_persons,
        merged,
        read_conflicts,
        write_conflicts,
    )

    file, person = options.import_decisions, options.decided_by
    if (file is None) != (person is None):
        raise InputError(
            "--import-decisions and --decided-by go together: give the file and the pseudonym of the person who "
            "filled it in"
        )
    opened = Campaign(Path(campaign))
    if opened.task.aspects and options.export_conflicts is None and file is None:
        return AdjudicateResult(counts_of(None), opened.settings.name, None, [NO_GRADES])
    rounds = opened.rounds_like(options.round)
    how: dict[str, Any] = {
        "rounds": rounds,
        "now": options.allow_pending,
        "method": options.aggregation,
        "at_least": options.min_probability,
    }
    with opened.changing():
        outcome = decide(opened, **how)
        if not answers_of(opened, rounds):
            raise InputError(
                f"{opened.folder} has no answers in {', '.join(rounds)}: import some with `fcconan annotate import`, "
                "or name other rounds with --round"
            )
        before = decisions_of_persons(opened)
        imported: list[Decision] = []
        if file is not None and person is not None:
            imported = read_conflicts(file, opened, outcome, person)
            outcome = decide(opened, **how, persons=merged(before, imported, changes=options.allow_changes))
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
    return AdjudicateResult(counts_of(outcome), opened.settings.name, outcome, notes)


def _imported(file: Path, person: str, imported: "list[Decision]", outcome: "Outcome") -> list[str]:
    """Returns sentences about the decisions of a person."""
    notes = [f"{file}: {len(imported)} decisions of {person}."]
    units = {each.unit_id for each in imported}
    if others := sorted({each.by for each in outcome.decisions if each.unit_id in units} - {person}):
        notes.append(
            f"Those that {', '.join(others)} had made before remain theirs: --allow-changes makes them {person}'s."
        )
    return notes


def _about_persons(outcome: "Outcome") -> list[str]:
    """Returns sentences about unusual decisions of persons."""
    notes = []
    if outcome.needless:
        notes.append(f"{len(outcome.needless)} units that a person decided are no conflict now; their decision stays.")
    if outcome.other_votes:
        notes.append(
            f"{len(outcome.other_votes)} decisions of persons were made on other votes, the first on "
            f"{outcome.other_votes[0]}; they stay: --export-conflicts lists them, and importing it confirms or "
            "changes them."
        )
    if outcome.own_raters:
        notes.append(f"{len(outcome.own_raters)} units were decided by a person who had rated them.")
    return notes


def _exported(file: Path, listed: int, campaign: "Campaign") -> str:
    """Returns a sentence about a file of conflicts."""
    from fcconan.annotation import DISCARD, final_labels

    allowed = ", ".join([*final_labels(campaign), DISCARD])
    return (
        f"{file}: {listed} units to decide. Write one of {allowed} under `decision`, or leave it empty for the rule; "
        f"then give --import-decisions {file} --decided-by PSEUDONYM."
    )


class ValidateOptions(RoundSize):
    """How the round of validators is made; omitted options are those of an existing round."""

    overlap: dict[Annotated[int, Field(ge=2, le=2)], Annotated[float, Field(ge=0, le=1)]] = option(
        {},
        help="Share of units that two validators judge, such as 2=0.1.",
        metavar="2=SHARE",
        renamed=(("--twice", "2={}"),),
    )
    extend: bool = option(
        False, help="Add units with new or changed labels and those of validators who left.", renamed=("--again",)
    )
    round: tuple[str, ...] = option(
        (),
        help="Round in which replies were graded, or a pattern such as 'queue-*'; repeat it. Default: main.",
        metavar="NAME",
    )
    resamples: int = option(10_000, help="Resamples of the bootstrap; 0 gives no intervals.", ge=0, le=MOST_RESAMPLES)


@dataclass(frozen=True, repr=False)
class ValidateResult(CampaignResult):
    """How many labels validators confirmed; its main table has one row for each label and state.

    Attributes:
        total: The number of units with a label or grades.
        meanings: Sentences that explain states that occur.
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
    """Assigns final labels to validators who had no part in them, and counts those that validators confirmed.

    The first call makes the round `validation`; later calls count its answers, and extend it on request.

    Args:
        campaign: The folder of the campaign.
        options: The configuration.

    Raises:
        InputError: There is nothing to validate or no validator, or the round exists and was made with other options.

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
        options_of,
        plan_validation,
        validated_things,
        validation_summary,
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
        how = options_of(opened, given, again=options.extend)
        rounds = opened.rounds_like(how.rounds)
        seed = derived_seed(opened.settings.seed, "validate", how.seed)
        labelled = validated_things(opened, rounds)
        if options.extend or not exists:
            size = how.sample
            if options.sample_size is None and size is not None:  # fewer units than the round drew may have a label now
                size = min(size, len(labelled))
            plan = plan_validation(
                opened, sample=size, twice=how.twice, session_size=how.session_size, rounds=rounds, seed=seed
            )
            if exists or plan.n_new:
                write_plan(opened, plan, how)
            notes.append(f"{plan.n_new} assignments are new, {plan.n_withdrawn} are withdrawn.")
            if plan.short:
                notes.append(f"{len(plan.short)} units lack a validator: all who are active had a part in them.")
        else:
            notes.append(f"The round {VALIDATION} exists already: --extend adds to it.")
        summary = validation_summary(opened, rounds=rounds, resamples=options.resamples, seed=seed)
    meanings = [f"{state}: {STATES[state]}." for state in ("split", "outdated") if summary["units"][state]]
    return ValidateResult({"notes": notes} | summary, opened.settings.name, len(labelled), meanings)
