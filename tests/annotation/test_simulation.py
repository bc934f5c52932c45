"""`annotate simulate`: exact shares, sheets that import, and one truth for all rounds."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fcconan import import_answers, simulate
from fcconan.annotation import VALIDATION, Assignment, Campaign
from tests.annotation.answered import NO, YES, campaign_of, comparison_units, pair_units, reply_units
from tests.conftest import RunCli


def asked(folder: Path, number: int, raters: int = 2, *, kind: str = "pair", **options: Any) -> Campaign:
    """A campaign in which all raters are to judge all units."""
    units = {"pair": pair_units, "comparison": comparison_units, "reply": reply_units}[kind](number)
    task = {"pair": "appropriateness", "comparison": "pairwise", "reply": "cseval"}[kind]
    said = {f"rater-{at}": [...] * number for at in range(1, raters + 1)}
    return campaign_of(folder, units, said, task=task, **options)


def simulated(campaign: Campaign, name: str = "out", **options: Any) -> tuple[pd.DataFrame, dict[str, dict[str, Any]]]:
    """The rows of all sheets, and the right answers by unit."""
    out = campaign.folder.with_name(name)
    files = simulate(campaign.folder, out=out, **options).to_frame()["file"]
    right: dict[str, dict[str, Any]] = {}
    for row in map(json.loads, (out / "truth.jsonl").read_text().splitlines()):
        right.setdefault(row["unit_id"], {})[row["aspect"]] = row["value"]
    return pd.concat([pd.read_csv(file) for file in files]), right


def test_answers_have_the_shares_that_were_asked_for(tmp_path: Path) -> None:
    rows, truth = simulated(asked(tmp_path / "c", 1000, 1), accuracy=0.8, skip_rate=0.05, seed=1)
    assert sum(given["label"] == YES for given in truth.values()) == 170
    judged = rows[rows["skip"].isna()]
    assert len(judged) / 1000 == pytest.approx(0.95, abs=0.02)
    assert rows[rows["skip"].notna()]["label"].isna().all()
    assert {*judged["label"]} == {NO, YES}
    right = judged["unit_id"].map(lambda unit: truth[unit]["label"])
    assert (judged["label"] == right).mean() == pytest.approx(0.8, abs=0.035)


def test_the_answer_of_a_rater_does_not_depend_on_other_assignments(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 40, 3)
    many, again = (simulated(campaign, name, accuracy=0.6, seed=1)[0] for name in ("many", "again"))
    campaign.write("rounds/main.jsonl", [each for each in campaign.assignments() if each.rater == "rater-1"][:30])
    few, _ = simulated(campaign, "few", accuracy=0.6, seed=1)
    assert few["label"].tolist() == many["label"][many["rater"] == "rater-1"][:30].tolist()
    assert many.equals(again)
    assert many.groupby("rater")["label"].agg(tuple).nunique() == 3


@pytest.mark.parametrize("kind", ["pair", "comparison", "reply"])
def test_sheets_import_and_faultless_raters_give_the_right_answers(kind: str, tmp_path: Path) -> None:
    swapped = {"rater-1": [False] * 6, "rater-2": [True] * 6}
    campaign = asked(tmp_path / "c", 6, 2, kind=kind, swapped=swapped if kind == "comparison" else None)
    _, right = simulated(campaign, accuracy=1)
    import_answers(campaign.folder, *sorted((tmp_path / "out").glob("*.csv")))
    answers = campaign.answers()
    assert len(answers) == 12 * len(campaign.aspects)
    assert all(answer.value == right[unit][aspect] for (_, _, unit, aspect), answer in answers.items())


def test_wrong_grades_are_on_the_scale(tmp_path: Path) -> None:
    rows, truth = simulated(asked(tmp_path / "c", 50, 1, kind="reply"), accuracy=0.0, seed=1)
    right = rows["unit_id"].map(lambda unit: truth[unit]["relevance"])
    assert not (rows["relevance"] == right).any()
    assert {*rows["suitableness"]} == {1, 2, 3}
    assert {*rows["relevance"]} == {1, 2, 3, 4, 5}


def shown_to_validators(campaign: Campaign, shown: dict[str, Any]) -> None:
    """Writes a validation round in which one validator sees labels, or grades, of all units."""
    units = list(campaign.units())
    with campaign.changing():
        campaign.write("rounds/validation.jsonl", [Assignment("v1", unit, at) for at, unit in enumerate(units, 1)])
        campaign.write("rounds/validation.shown.jsonl", [{"rater": "v1", "unit_id": unit} | shown for unit in units])


def test_validators_judge_the_label_that_is_shown(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 40, 1, validators=["v1"])
    shown_to_validators(campaign, {"label": YES})
    rows, truth = simulated(campaign, round=VALIDATION, accuracy=1.0)
    agreed = rows[rows["agree_or_disagree"] == "agree"]
    assert {*agreed["unit_id"]} == {unit for unit, right in truth.items() if right["label"] == YES}
    assert len(rows) == 40


def test_validators_of_grades_agree_within_one(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 60, 1, kind="reply", validators=["v1"])
    shown_to_validators(campaign, {"grades": dict.fromkeys(campaign.aspects, 3.0)})
    rows, truth = simulated(campaign, round=VALIDATION, accuracy=1.0)
    verdicts = rows.set_index("unit_id")["agree_or_disagree"]
    near = {unit: all(abs(grade - 3) <= 1 for grade in right.values()) for unit, right in truth.items()}
    assert {unit: verdict == "agree" for unit, verdict in verdicts.items()} == near
    assert {*near.values()} == {True, False}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--skip-rate", -1], "--skip-rate"),
        (["--round", "second"], "no round 'second'"),
        (["--accuracy", 2], "--accuracy"),
    ],
)
def test_bad_arguments(arguments: list[Any], message: str, tmp_path: Path, run_cli: RunCli) -> None:
    asked(tmp_path / "c", 4, 1)
    run = run_cli("annotate", "simulate", tmp_path / "c", "--out", tmp_path / "x", *arguments)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert message in run.stderr
    assert not (tmp_path / "x").exists()
