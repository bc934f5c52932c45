"""Each step reads each file of a campaign once."""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from fcconan.annotation.tools import exchange

from fcconan.annotation import (
    adjudicate,
    plan_validation,
    reassign,
    sample_truth,
    simulate_answers,
    validation_summary,
    write_plan,
)
from fcconan.annotation.campaigns import LABEL, VALIDATION, Answer, Campaign
from fcconan.data import read_rows
from tests.annotation.answered import labelled


def everything(campaign: Campaign) -> list[str]:
    return [name for name in campaign.rounds() if name != VALIDATION]


STEPS: dict[str, Callable[[Campaign], Any]] = {
    "adjudicate": lambda it: adjudicate(it, rounds=everything(it)),
    "plan": lambda it: plan_validation(it, twice=1.0),
    "summary": lambda it: validation_summary(it, resamples=0),
    "reassign": lambda it: reassign(it, "main", relieve=True),
    "export": lambda it: exchange.export(it, "csv"),
    "simulate": lambda it: simulate_answers(it, "main", sample_truth(it), seed=0),
}


def validated(folder: Path, *, raters: int, units: int, rounds: int) -> Campaign:
    """All judge all units, once more in other rounds, and two validators agree with them."""
    campaign = labelled(folder, *["02" * (units // 2)] * raters, validators=["v-1", "v-2"])
    first = campaign.history()
    answers = [*first]
    for name in (f"again-{number}" for number in range(2, rounds + 1)):
        campaign.write(f"rounds/{name}.jsonl", campaign.assignments())
        answers += [Answer(name, each.rater, each.unit_id, LABEL, each.value) for each in first]
    campaign.write("answers.jsonl", answers)
    campaign.write("decisions.jsonl", adjudicate(campaign).decisions)
    plan = plan_validation(campaign, twice=1.0)
    write_plan(campaign, plan)
    said = [Answer(VALIDATION, each.rater, each.unit_id, LABEL, "agree") for each in plan.assignments]
    campaign.write("answers.jsonl", [*answers, *said])
    return campaign


@pytest.mark.parametrize("step", STEPS)
def test_each_file_is_read_once(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counter[str]()

    def counting(path: Path) -> Iterable[Any]:
        counts[path.name] += 1
        return read_rows(path)

    monkeypatch.setattr("fcconan.annotation.campaigns.read_rows", counting)
    folder = validated(tmp_path / "c", raters=3, units=6, rounds=3).folder
    counts.clear()
    STEPS[step](Campaign(folder))
    assert counts["units.jsonl"] == 1
    assert set(counts.values()) == {1}


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    campaign = labelled(tmp_path / "c", "02")
    assert len(campaign.history()) == 2
    Campaign(campaign.folder).write("answers.jsonl", campaign.history()[:1])  # as another process does
    assert len(campaign.history()) == 1
    campaign.history().clear()
    assert len(campaign.history()) == 1
