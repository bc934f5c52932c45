"""Simulated raters: exact shares, sheets that import, and one truth for all rounds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.annotation import adjudicate, plan_validation, sample_truth, simulate_answers, write_plan
from fcconan.annotation.campaigns import LABEL, VALIDATION, Answer, Campaign
from tests.annotation.answered import NO, YES, add_answers, campaign_of, comparison_units, pair_units, reply_units
from tests.conftest import RunCli


def asked(folder: Path, number: int, raters: int = 2, *, kind: str = "pair", **options: Any) -> Campaign:
    """A campaign in which all raters are to judge all units."""
    units = {"pair": pair_units, "comparison": comparison_units, "reply": reply_units}[kind](number)
    task = {"pair": "appropriateness", "comparison": "pairwise", "reply": "cseval"}[kind]
    said = {f"rater-{at}": [...] * number for at in range(1, raters + 1)}
    return campaign_of(folder, units, said, task=task, **options)


def test_answers_have_the_shares_that_were_asked_for(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 1000, 1)
    truth = sample_truth(campaign)
    assert sum(given[LABEL] == YES for given in truth.values()) == 170
    (rows,) = simulate_answers(campaign, "main", truth, accuracy=0.8, skip_rate=0.05, seed=1).values()
    judged = [row for row in rows if not row["skip"]]
    assert len(judged) / 1000 == pytest.approx(0.95, abs=0.02)
    assert {row[LABEL] for row in rows if row["skip"]} == {None}
    assert {row[LABEL] for row in judged} == {NO, YES}
    assert np.mean([row[LABEL] == truth[row["unit_id"]][LABEL] for row in judged]) == pytest.approx(0.8, abs=0.035)


def test_what_a_rater_says_does_not_depend_on_who_else_is_asked(tmp_path: Path) -> None:
    few, many = asked(tmp_path / "few", 30, 1), asked(tmp_path / "many", 40, 3)
    truth = sample_truth(many)
    found = [simulate_answers(each, "main", truth, accuracy=0.6, seed=1) for each in (few, many, many)]
    by_unit = [{row["unit_id"]: row[LABEL] for row in each["rater-1"]} for each in found]
    assert by_unit[0].items() <= by_unit[1].items()
    assert found[1] == found[2]
    assert len({tuple(row[LABEL] for row in rows) for rows in found[1].values()}) == 3


@pytest.mark.parametrize("kind", ["pair", "comparison", "reply"])
def test_sheets_import_and_faultless_raters_say_what_is_right(kind: str, tmp_path: Path, run_cli: RunCli) -> None:
    swapped = {"rater-1": [False] * 6, "rater-2": [True] * 6}
    campaign = asked(tmp_path / "c", 6, 2, kind=kind, swapped=swapped if kind == "comparison" else None)
    run = run_cli("annotate", "simulate", tmp_path / "c", "--out", tmp_path / "out", "--accuracy", 1)
    assert (run.returncode, run.stderr) == (0, "")
    run = run_cli("annotate", "import", tmp_path / "c", *sorted((tmp_path / "out").glob("*.csv")))
    assert (run.returncode, run.stderr) == (0, "")
    rows = map(json.loads, (tmp_path / "out" / "truth.jsonl").read_text().splitlines())
    right = {(row["unit_id"], row["aspect"]): row["value"] for row in rows}
    answers = campaign.answers()
    assert len(answers) == 12 * len(campaign.aspects)
    assert all(answer.value == right[unit, aspect] for (_, _, unit, aspect), answer in answers.items())


def test_wrong_grades_are_on_the_scale(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 50, 1, kind="reply")
    (rows,) = simulate_answers(campaign, "main", sample_truth(campaign), accuracy=0.0, seed=1).values()
    assert {row["suitableness"] for row in rows} == {1, 2, 3}
    assert {row["relevance"] for row in rows} == {1, 2, 3, 4, 5}


def test_validators_judge_the_label_that_is_shown(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 40, 1, validators=["v1", "v2"])
    truth = sample_truth(campaign)
    add_answers(campaign, *(Answer("main", "rater-1", unit, LABEL, YES) for unit in campaign.units()))
    campaign.write("decisions.jsonl", adjudicate(campaign).decisions)
    write_plan(campaign, plan_validation(campaign))
    found = simulate_answers(campaign, VALIDATION, truth, accuracy=1.0, seed=1)
    verdicts = {row["unit_id"]: row["agree_or_disagree"] for rows in found.values() for row in rows}
    assert len(verdicts) == 40
    assert {unit for unit, verdict in verdicts.items() if verdict == "agree"} == {
        unit for unit, right in truth.items() if right[LABEL] == YES
    }


def test_validators_of_grades_agree_within_one(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 3, 1, kind="reply", validators=["v1"])
    units = list(campaign.units())
    right = {unit: dict.fromkeys(campaign.aspects, 3) for unit in units}
    said = dict(zip(units, (3.0, 4.0, 5.0), strict=True))
    add_answers(
        campaign,
        *(Answer("main", "rater-1", unit, name, grade) for unit, grade in said.items() for name in campaign.aspects),
    )
    write_plan(campaign, plan_validation(campaign))
    rows = simulate_answers(campaign, VALIDATION, right, accuracy=1.0, seed=1)["v1"]
    verdicts = {row["unit_id"]: row["agree_or_disagree"] for row in rows}
    assert [verdicts[unit] for unit in units] == ["agree", "agree", "disagree"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--out'"),
        (["--out", "x", "--skip-rate", -1], "Invalid value for '--skip-rate'"),
        (["--out", "x", "--round", "second"], "no round 'second'"),
        (["--out", "x", "--accuracy", 2], "Invalid value for '--accuracy'"),
        (["--out", "c/sheets"], "is in the folder of the campaign"),
    ],
)
def test_bad_arguments(arguments: list[Any], message: str, tmp_path: Path, run_cli: RunCli) -> None:
    asked(tmp_path / "c", 4, 1)
    placed = [tmp_path / each if each in ("x", "c/sheets") else each for each in arguments]
    run = run_cli("annotate", "simulate", tmp_path / "c", *placed)
    assert run.returncode != 0
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert not (tmp_path / "x").exists()
