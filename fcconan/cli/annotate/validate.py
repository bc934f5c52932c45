"""`fcconan annotate validate`."""

from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli import row_options
from fcconan.cli.options import seed_option

NAME = "validate"
EXAMPLE = "Example: fcconan annotate validate my-campaign --sample 4000 --twice 0.1"


def run(
    folder: Annotated[Path, typer.Argument(metavar="CAMPAIGN", help="The campaign's folder.")],
    sample: Annotated[int | None, typer.Option("--sample", min=1, help="Validate so many units. Default: all.")] = None,
    twice: Annotated[
        float | None, typer.Option("--twice", help="The share of units that two validators judge. Default: 0.")
    ] = None,
    session_size: Annotated[
        int | None, typer.Option("--session-size", min=1, help="Units in one sitting. Default: no sittings.")
    ] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Extend the round: units decided since, labels changed, validators left. What is not given is as it "
            "was when the round was made.",
        ),
    ] = False,
    rounds: Annotated[
        list[str] | None,
        typer.Option(
            "--round", help="Where grades were given; repeat it, or give a pattern such as 'queue-*'. Default: main."
        ),
    ] = None,
    resamples: row_options.Resamples = 10_000,
    seed: Annotated[int | None, seed_option("Default: follows from the campaign's.")] = None,
    json_file: row_options.Json = None,
) -> None:
    """Assign final labels to validators who had no part in them, and sum up how many they agree with."""
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
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.reporting import agreement_tables

    check_files({"--json": json_file}, folders=[folder])
    check_json_target(json_file, folder)
    campaign = Campaign(folder)
    given = {"sample": sample, "twice": twice, "session_size": session_size, "rounds": rounds or None, "seed": seed}
    notes = []
    with campaign.changing():
        there = VALIDATION in campaign.rounds()
        how = options_of(campaign, given, again=again)
        rounds = campaign.rounds_like(how.rounds)
        drawn = derived_seed(campaign.settings.seed, "validate", how.seed)
        if again or not there:
            size = how.sample
            if sample is None and size is not None:  # fewer units than it drew then may have a label now
                size = min(size, len(validated_things(campaign, rounds)))
            plan = plan_validation(
                campaign,
                sample=size,
                twice=how.twice,
                session_size=how.session_size,
                rounds=rounds,
                seed=drawn,
            )
            if there or plan.n_new:
                write_plan(campaign, plan, how)
            notes.append(f"{plan.n_new} assignments are new, {plan.n_withdrawn} are withdrawn.")
            if plan.short:
                notes.append(f"{len(plan.short)} units lack a validator: all who are active had a part in them.")
        else:
            notes.append(f"The round {VALIDATION} is there already: --again extends it.")
        result = {"notes": notes} | validation_summary(campaign, rounds=rounds, resamples=resamples, seed=drawn)
    total = len(validated_things(campaign, rounds))
    rows = [("all", state, n, f"{n / max(total, 1):.3f}") for state, n in result["units"].items() if n]
    for label, states in result["labels"].items():
        size = max(sum(states.values()), 1)
        rows += [(label, state, n, f"{n / size:.3f}") for state, n in states.items() if n]
    print_table(f"Validation of {campaign.settings.name}", ("label", "state", "units", "share"), rows)
    columns = ("rater", "agreed", "disagreed", "skipped", "missing", "outdated")
    print_table("Validators", columns, [[row[name] for name in columns] for row in result["validators"]])
    for shown in agreement_tables(result["agreement"], pairs=len(result["validators"]) > 2):
        print_table(shown.title, shown.columns, shown.rows)
    for state in ("split", "outdated"):
        if result["units"][state]:
            typer.echo(f"{state}: {STATES[state]}.")
    for note in notes:
        typer.echo(note)
    if json_file is not None:
        write_json(json_file, result)
