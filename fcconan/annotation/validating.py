"""`annotate validate`: final labels go to validators who had no part in them, and their answers are counted."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from fcconan.annotation.assigning import deal, numbers_of_raters, permissions
from fcconan.annotation.campaigns import VALIDATION, Campaign, Row
from fcconan.annotation.ordering import derived_seed, in_order, last_places
from fcconan.annotation.progress import next_step
from fcconan.annotation.rounds import recorded_options, write_round
from fcconan.annotation.votes import ANSWERS, STATES, item_of, shown_labels, validation_targets, verdicts
from fcconan.errors import InputError
from fcconan.groups import AtLeastOne, Bootstrap
from fcconan.result import Pivot, Result
from fcconan.scoring import measure_agreement

COEFFICIENTS = ("raw", "cohen", "krippendorff_nominal")


def validate(
    campaign: Path,
    *,
    round: tuple[str, ...] = (),
    sample_size: AtLeastOne | None = None,
    session_size: AtLeastOne | None = None,
    overlap: dict[str, float] = {},  # noqa: B006 - it is not changed
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
        extend: Add units with new or changed labels, and those of validators who left, to the round.
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
    overlap = {str(number): share for number, share in overlap.items()}
    share = overlap.get("2", 0.0)
    if {*overlap} - {"2"} or not 0 <= share <= 1:
        raise InputError(f"found the overlap {overlap}, expected a share from 0 to 1 for 2: give --overlap.2 SHARE")
    given = {"sample_size": sample_size, "session_size": session_size, "overlap": share}
    given = {name: value for name, value in given.items() if value}
    notes = []
    with opened.changing():
        targets = validation_targets(opened, rounds)
        made: Row = {"sample_size": None, "session_size": None, "overlap": 0.0, "two": []}
        made |= recorded_options(opened, VALIDATION)
        exists = VALIDATION in opened.rounds()
        if exists and not extend and any(made[name] != value for name, value in given.items()):
            raise InputError(
                f"the round {VALIDATION} has other options: leave these out, or give --extend to change it"
            )
        if extend or not exists:
            notes = _assign(opened, targets, made | given)
    rows, found, units = shown_labels(opened, targets), verdicts(opened, rounds), opened.units()
    of_label = concat([found.assign(label="all"), found]).groupby(["label", "state"]).size()
    counts = of_label.unstack(fill_value=0).reindex(columns=[*STATES], fill_value=0).stack()
    tables = {"validation": counts.rename("units").reset_index()}
    tables["validators"] = (
        crosstab(rows["rater"], rows["state"]).reindex(columns=[*ANSWERS], fill_value=0).reset_index()
    )
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
    """Adds assignments to the round, and returns notes.

    The sample depends only on the seed and the ids, so that a larger one keeps the units of a smaller one. Assignments
    keep their positions; those of changed labels, and open ones of validators who left, are withdrawn. A unit that lost
    a validator gets another one.

    Raises:
        InputError: There is nothing to validate, no validator, or too few units or validators for the options.
    """
    names = campaign.active("validator")
    if not targets or not names:
        lacking = "has no active validator: add one to raters.csv" if targets else "has nothing to validate: adjudicate"
        raise InputError(f"{campaign.folder} {lacking} first")
    before = campaign.assignments(VALIDATION) if VALIDATION in campaign.rounds() else []
    if not before and (how["sample_size"] or 0) > len(targets):
        raise InputError(f"found a sample of {how['sample_size']} units, expected at most {len(targets)}: use fewer")
    seed = derived_seed(campaign.settings.seed, "validate")
    ranked = sorted(targets, key=lambda unit: sha256(f"{seed}:{unit}".encode()).digest())
    rows = shown_labels(campaign, targets)
    rows = rows[rows["state"].ne("outdated") & (rows["state"].ne("missing") | rows["rater"].isin(names))]
    valid = {*zip(rows["rater"], rows["unit_id"], strict=True)}
    kept = [replace(each, withdrawn=each.withdrawn or each.key not in valid) for each in before]
    known = {each.unit_id for each in before}
    decided = {(each.by, each.unit_id) for each in campaign.decisions().values()}
    had = {each.key for name in campaign.rounds() for each in campaign.assignments(name)}
    permitted = permissions(ranked, names, decided | had | {each.key for each in campaign.history()})
    new = [unit for unit in ranked[: how["sample_size"]] if unit not in known]
    generator = np.random.default_rng(seed)
    drawn = numbers_of_raters(
        {unit: permitted[unit] for unit in new if permitted[unit]}, {2: how["overlap"]}, generator
    )
    two = {*how["two"], *(unit for unit, number in drawn.items() if number > 1)}
    having, load = Counter(rows["unit_id"]), Counter(rows[rows["state"] == "missing"]["rater"])
    wanted = {unit: max(0, 1 + (unit in two) - having[unit]) for unit in ranked if unit in known or unit in new}
    dealt = deal(wanted, permitted, generator, load)
    ordered = in_order(
        {name: [unit for unit, chosen in dealt.items() if name in chosen] for name in names},
        seed=seed,
        session_size=how["session_size"],
        swap=campaign.task.unit == "comparison",
        ends=last_places(kept),
    )
    added = [each for theirs in ordered.values() for each in theirs]
    shown = {each.key: targets[each.unit_id] for each in added} | (campaign.shown(VALIDATION) or {})
    labels = [{"rater": rater, "unit_id": unit} | row for (rater, unit), row in shown.items()]
    if before or added:
        write_round(campaign, VALIDATION, kept + added, how | {"two": sorted(two)}, labels)
    withdrawn = sum(now.withdrawn and not each.withdrawn for now, each in zip(kept, before, strict=True))
    short = sum(len(dealt[unit]) < number for unit, number in wanted.items())
    notes = [f"{len(added)} new assignments, {withdrawn} withdrawn."]
    return notes + [f"{short} units lack an independent validator: add validators to raters.csv."] * (short > 0)
