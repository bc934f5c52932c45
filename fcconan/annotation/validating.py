"""`annotate validate`: assignment of final labels to validators who had no part in them, and counts of their answers."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from cyclopts import Parameter, validators

from fcconan.annotation.assignment.rounds import recorded_options, write_round
from fcconan.annotation.campaigns import VALIDATION, Assignment, Campaign, Row
from fcconan.annotation.progress import next_step
from fcconan.annotation.validation import ANSWERS, STATES, shown_labels, validation_targets, verdicts
from fcconan.annotation.votes import item_of
from fcconan.errors import InputError
from fcconan.groups import Bootstrap
from fcconan.result import Pivot, Result
from fcconan.scoring import measure_agreement

if TYPE_CHECKING:
    from pandas import DataFrame

Positive = Annotated[int, Parameter(validator=validators.Number(gte=1))]
COEFFICIENTS = ("raw", "cohen", "krippendorff_nominal")


def validate(
    campaign: Path,
    *,
    round: tuple[str, ...] = (),
    sample_size: Positive | None = None,
    session_size: Positive | None = None,
    overlap: dict[str, float] = {},
    extend: bool = False,
    bootstrap: Bootstrap = Bootstrap(),
) -> Result:
    """Assign final labels to independent validators, and count the labels that they confirm.

    The first call makes the round `validation`: each unit goes to a validator who neither labelled nor decided it, with
    equal loads. Later calls count the answers. A label that has changed needs another validator.

    Args:
        campaign: Folder of the campaign.
        round: Rounds with the grades of replies, or patterns such as 'queue-*'; default: all with answers.
        sample_size: Number of units to draw; default: all.
        session_size: Largest number of units in a session; default: one session.
        overlap: Share of units that two validators judge, as in `--overlap.2 0.1`.
        extend: Add units with new or changed labels and those of validators who left; omitted options are those of the
            round.
        bootstrap: Resamples of the agreement of validators.

    Returns:
        `validation`: numbers of units by `label` (or `all`) and `state`: agreed, disagreed, split, skipped, missing,
        outdated or not_assigned. `validators`: numbers of answers of each `rater`. `agreement` of the validators of the
        same units, of all and of each two (`a` and `b`).

    Raises:
        InputError: There is nothing to validate, there is no validator, or the round was made with other options.

    Examples:
        >>> found = validate(answered, bootstrap=Bootstrap(resamples=0)).to_frame()
        >>> found[(found["label"] == "all") & (found["units"] > 0)][["state", "units"]].values.tolist()
        [['agreed', 4], ['split', 1]]
    """
    from pandas import concat, crosstab

    opened = Campaign(Path(campaign))
    rounds = opened.rounds_like(round)
    share = overlap.get("2", 0.0)
    if {*overlap} - {"2"} or not 0 <= share <= 1:
        raise InputError(f"found the overlap {overlap}, expected a share from 0 to 1 for 2: give --overlap.2 SHARE")
    given = {"sample_size": sample_size, "session_size": session_size, "overlap": share}
    given = {name: value for name, value in given.items() if value}
    notes = []
    with opened.changing():
        targets = validation_targets(opened, rounds)
        made = {"sample_size": None, "session_size": None, "overlap": 0.0, "two": []}
        made |= recorded_options(opened, VALIDATION)
        exists = VALIDATION in opened.rounds()
        if exists and not extend and any(made[name] != value for name, value in given.items()):
            raise InputError(f"the round {VALIDATION} has other options: leave these out, or give --extend to change it")
        if extend or not exists:
            notes = _assign(opened, targets, made | given)
    rows, found, units = shown_labels(opened, targets), verdicts(opened, rounds), opened.units()
    of_label = concat([found.assign(label="all"), found]).groupby(["label", "state"]).size()
    counts = of_label.unstack(fill_value=0).reindex(columns=[*STATES], fill_value=0).stack()
    tables = {"validation": counts.rename("units").reset_index()}
    tables["validators"] = crosstab(rows["rater"], rows["state"]).reindex(columns=[*ANSWERS], fill_value=0).reset_index()
    values = rows.assign(value=rows["state"].map({"agreed": 1.0, "disagreed": 0.0})).dropna(subset="value")
    if values["rater"].nunique() > 1:
        matrix = values.pivot(index="rater", columns="unit_id", values="value")
        items = [item_of(units[unit]) for unit in matrix]
        agreement = measure_agreement(
            matrix, items=items, raters=matrix.index, coefficients=COEFFICIENTS, bootstrap=bootstrap
        )
        tables["agreement"] = agreement[agreement["n"] > 0]
    notes += [f"{state}: {STATES[state]}." for state in ("split", "outdated") if found["state"].eq(state).any()]
    return Result(
        "annotate validate",
        tables,
        {"campaign": opened.settings.name, "rounds": ",".join(rounds), **vars(bootstrap)},
        [*notes, next_step(opened)],
        intervals={"agreement": "value"},
        pivots={"validation": Pivot(("state",), ("label",), "units")},
    )


def _assign(campaign: Campaign, targets: Mapping[str, Row], how: dict[str, Any]) -> list[str]:
    """Writes the round, and returns notes.

    The sample depends only on the seed and the ids, so that a larger one keeps the units of a smaller one. Assignments
    keep their positions; those of changed labels, and open ones of validators who left, are withdrawn. A unit that lost
    a validator gets another one. Units go round the validators who had no part in them: to those with the smallest load,
    in random order, and first the units with the fewest such validators.

    Raises:
        InputError: There is nothing to validate, no validator, or too few units or validators for the options.
    """
    names, shown = campaign.active("validator"), campaign.shown(VALIDATION) or {}
    if not targets or not names:
        lacking = "has no active validator: add one to raters.csv" if targets else "has nothing to validate: adjudicate"
        raise InputError(f"{campaign.folder} {lacking} first")
    if (how["sample_size"] or 0) > len(targets) and not shown:
        raise InputError(
            f"found a sample of {how['sample_size']} units, expected at most {len(targets)}, the number of units with a "
            "label: give a smaller one"
        )
    ranked = sorted(targets, key=lambda unit: sha256(f"{campaign.settings.seed}:{unit}".encode()).digest())
    before = campaign.assignments(VALIDATION) if VALIDATION in campaign.rounds() else []
    rows = shown_labels(campaign, targets)
    rows = rows[rows["state"].ne("outdated") & (rows["state"].ne("missing") | rows["rater"].isin(names))]
    valid = {*zip(rows["rater"], rows["unit_id"], strict=True)}
    known = {each.unit_id for each in before}
    # Raters and units that must not come together: assigned, answered or decided before.
    barred = {each.key for name in campaign.rounds() for each in campaign.assignments(name)}
    barred |= {each.key for each in campaign.history()}
    barred |= {(each.by, each.unit_id) for each in campaign.decisions().values()}
    free = {unit: [name for name in names if (name, unit) not in barred] for unit in ranked}
    new = [unit for unit in ranked[: how["sample_size"]] if unit not in known]
    able = [unit for unit in new if len(free[unit]) > 1]
    number = math.floor(how["overlap"] * len(new) + 0.5)
    if len(able) < number:
        raise InputError(
            f"{number} units need two validators who had no part in them, found {len(able)}: add validators to "
            "raters.csv, or give a smaller overlap"
        )
    two = {*how["two"], *able[:number]}
    having, load = rows["unit_id"].value_counts(), Counter(rows[rows["state"] == "missing"]["rater"])
    generator, judged, short = np.random.default_rng(campaign.settings.seed), {name: [] for name in names}, 0
    for unit in sorted([unit for unit in ranked if unit in known] + new, key=lambda unit: len(free[unit])):
        wanted = 1 + (unit in two) - having.get(unit, 0)
        takers = sorted(generator.permutation(free[unit]).tolist(), key=load.__getitem__)[: max(wanted, 0)]
        short += len(takers) < wanted
        load.update(takers)
        for name in takers:
            judged[name].append(unit)
    kept = [replace(each, withdrawn=each.withdrawn or each.key not in valid) for each in before]
    added = []
    for name, theirs in judged.items():
        own = [each for each in before if each.rater == name]
        place, session = (max((getattr(each, of) for each in own), default=0) for of in ("position", "session"))
        sessions = math.ceil(len(theirs) / (how["session_size"] or len(theirs) or 1))
        for at, unit in enumerate(generator.permutation(theirs).tolist()):
            swapped = campaign.task.unit == "comparison" and at % 2 == 1
            added.append(Assignment(name, unit, place + at + 1, session + 1 + at * sessions // len(theirs), swapped))
    labels = [{"rater": rater, "unit_id": unit} | row for (rater, unit), row in shown.items()]
    labels += [{"rater": each.rater, "unit_id": each.unit_id} | targets[each.unit_id] for each in added]
    write_round(campaign, VALIDATION, kept + added, how | {"two": [unit for unit in campaign.units() if unit in two]}, labels)
    withdrawn = sum(now.withdrawn and not each.withdrawn for now, each in zip(kept, before, strict=True))
    short = int(short)
    notes = [f"{len(added)} new assignments, {withdrawn} withdrawn."]
    return notes + [f"{short} units lack an independent validator: add validators to raters.csv."] * (short > 0)
