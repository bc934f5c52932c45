"""Validation of final labels by raters who had no part in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fcconan.services.campaign_folders import MOST_UNITS, CampaignFolder, CampaignResult, CampaignSeed
from fcconan.services.configuration import option
from fcconan.services.options import MOST_RESAMPLES


class ValidateOptions(CampaignSeed):
    """How the round of validators is made; omitted options are those of an existing round."""

    sample_size: int | None = option(
        None,
        help="Number of units to draw; default: all.",
        metavar="N",
        renamed=("--sample",),
        ge=1,
        le=MOST_UNITS,
    )
    overlap: dict[Annotated[int, Field(ge=2, le=2)], Annotated[float, Field(ge=0, le=1)]] = option(
        {},
        help="Share of units that two validators judge, such as 2=0.1.",
        metavar="2=SHARE",
        renamed=(("--twice", "2={}"),),
    )
    session_size: int | None = option(
        None,
        help="Largest number of units in a session; default: one session.",
        metavar="N",
        ge=1,
        le=MOST_UNITS,
    )
    extend: bool = option(
        False,
        help="Add units with new or changed labels and those of validators who left.",
        renamed=("--again",),
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
