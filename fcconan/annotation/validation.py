"""Validation of final labels: the labels that validators were shown, their answers, and the state of each unit.

    rounds/validation.jsonl         assignments
    rounds/validation.json          options of the round, and the units with two validators
    rounds/validation.shown.jsonl   labels (pairs and comparisons) or median grades (replies), as shown to each
    validator

An answer counts only for the label that was shown. If the label has changed since, the answer is outdated, and the unit
needs another validator.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fcconan.annotation.campaigns import LABEL, VALIDATION, Campaign, Row
from fcconan.annotation.votes import answer_table

if TYPE_CHECKING:
    from pandas import DataFrame

# States of a validator's answer.
ANSWERS = ("agreed", "disagreed", "skipped", "missing", "outdated")
SAID: dict[Any, str] = {"agree": "agreed", "disagree": "disagreed", None: "skipped", "missing": "missing"}
# States of a unit.
STATES = {
    "agreed": "every validator who answered agrees",
    "disagreed": "every validator who answered disagrees",
    "split": "validators disagree with each other, so the label is not confirmed",
    "skipped": "every validator skipped it",
    "missing": "no validator has answered yet",
    "outdated": "the label has changed since validators saw it",
    "not_assigned": "no validator is assigned",
}


def validation_targets(campaign: Campaign, rounds: Sequence[str]) -> dict[str, Row]:
    """Returns the labels or grades to validate, by unit, in the order of the units.

    Args:
        campaign: The campaign.
        rounds: Rounds in which replies were graded.

    Returns:
        Rows with `label` for units with a final label; for tasks with aspects, `grades` with the median of each aspect,
        for units with a grade in all of them.
    """
    if campaign.task.labels:
        decisions = campaign.decisions()
        return {
            unit: {LABEL: decisions[unit].label}
            for unit in campaign.units()
            if unit in decisions and decisions[unit].label is not None
        }
    given = answer_table(campaign, rounds).query("role == 'item'").dropna(subset="value").astype({"value": float})
    medians = given.groupby(["unit_id", "aspect"], sort=False)["value"].median().unstack("aspect")
    medians = medians.reindex(given["unit_id"].unique()).reindex(columns=campaign.aspects).dropna()
    return {str(unit): {"grades": grades} for unit, grades in medians.to_dict("index").items()}


def shown_labels(campaign: Campaign, targets: Mapping[str, Row]) -> "DataFrame":
    """Returns the assignments of validators that are open or were answered.

    Args:
        campaign: The campaign.
        targets: Result of `validation_targets`.

    Returns:
        Columns `rater`, `unit_id`, `state` (one of `ANSWERS`) and `withdrawn`.
    """
    from pandas import DataFrame

    rows = []
    if VALIDATION in campaign.rounds():
        shown = campaign.shown(VALIDATION) or {}
        said = {each.key: each.value for each in campaign.answers(VALIDATION).values()}
        for each in campaign.assignments(VALIDATION):
            state = SAID[said.get(each.key, "missing")]
            if each.key not in shown or shown[each.key] != targets.get(each.unit_id):
                state = "outdated"
            if not each.withdrawn or each.key in said:
                rows.append((each.rater, each.unit_id, state, each.withdrawn))
    return DataFrame(rows, columns=["rater", "unit_id", "state", "withdrawn"])


def verdicts(campaign: Campaign, rounds: Sequence[str]) -> "DataFrame":
    """Returns the validation of every unit with a label or grades, in the order of the units.

    Args:
        campaign: The campaign.
        rounds: Rounds in which replies were graded.

    Returns:
        Units by id: `label` (None for grades), `state` (a key of `STATES`) and `n_validators`, the number of validators
        who agree or disagree with the current label.
    """
    from pandas import DataFrame, crosstab

    targets = validation_targets(campaign, rounds)
    rows = shown_labels(campaign, targets)
    counts = crosstab(rows["unit_id"], rows["state"]).reindex(index=[*targets], columns=[*ANSWERS], fill_value=0)
    has, names = counts > 0, ["agreed", "disagreed", "missing", "skipped", "outdated"]
    both = has["agreed"] & has["disagreed"]
    state = np.select([both, *(has[name] for name in names)], ["split", *names], "not_assigned")
    labels = [target.get(LABEL) for target in targets.values()]
    answered = counts["agreed"] + counts["disagreed"]
    return DataFrame({"label": labels, "state": state, "n_validators": answered}, index=[*targets])
