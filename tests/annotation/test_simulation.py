"""Simulated raters: exact shares, sheets that import, and one truth for all rounds."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fcconan.annotation.adjudication import adjudicate
from fcconan.annotation.assignment.validators import plan_validation, write_plan
from fcconan.annotation.campaigns import LABEL, VALIDATION, Answer, Campaign
from fcconan.annotation.simulation.raters import (
    AnnotatorModel,
    annotator_models,
    grades,
    label_shares,
    read_annotator_models,
    verdict_shares,
)
from fcconan.annotation.simulation.sheets import GroundTruth, read_ground_truth, sample_ground_truth, simulate_answers
from fcconan.errors import InputError
from fcconan.judging.tasks import load_task
from fcconan.services.simulation import SimulateOptions, simulate
from tests.annotation.answered import NO, SURE, YES, add_answers, campaign_of, comparison_units, pair_units, reply_units
from tests.conftest import RunCli

PAIRS, DUELS, GRADES = load_task("appropriateness"), load_task("pairwise"), load_task("cseval")


def asked(folder: Path, number: int, raters: int = 2, *, kind: str = "pair", **options: Any) -> Campaign:
    """A campaign in which all raters are to judge all units."""
    units = {"pair": pair_units, "comparison": comparison_units, "reply": reply_units}[kind](number)
    task = {"pair": "appropriateness", "comparison": "pairwise", "reply": "cseval"}[kind]
    said = {f"rater-{at}": [...] * number for at in range(1, raters + 1)}
    return campaign_of(folder, units, said, task=task, **options)


def filled(
    campaign: Campaign, behaviour: AnnotatorModel, truth: GroundTruth, round_name: str = "main"
) -> dict[str, Any]:
    """Simulates everybody alike."""
    return simulate_answers(campaign, round_name, dict.fromkeys(campaign.raters(), behaviour), truth, seed=1)


def test_the_shares_of_labels_by_hand() -> None:
    plain = label_shares(AnnotatorModel(accuracy=0.8, not_sure=0.1), PAIRS)
    # Said: not_appropriate, appropriate, not_sure.
    assert plain == pytest.approx(np.array([[0.72, 0.18, 0.1], [0.18, 0.72, 0.1]]))
    # A quarter of the labels are appropriate whatever is right.
    biased = label_shares(AnnotatorModel(accuracy=0.8, bias={YES: 0.25}), PAIRS)
    assert biased == pytest.approx(np.array([[0.6, 0.4, 0.0], [0.15, 0.85, 0.0]]))
    both = label_shares(AnnotatorModel(accuracy=1.0, not_sure=0.5, bias={YES: 0.2}), PAIRS)
    assert both == pytest.approx(np.array([[0.4, 0.1, 0.5], [0.0, 0.5, 0.5]]))
    # What is right in a comparison is one of three.
    assert label_shares(AnnotatorModel(accuracy=0.6), DUELS)[2] == pytest.approx([0.2, 0.2, 0.6])
    given = AnnotatorModel(confusion={NO: {NO: 0.7, SURE: 0.3}, YES: {YES: 1.0}}, not_sure=0.9)
    assert label_shares(given, PAIRS) == pytest.approx(np.array([[0.7, 0, 0.3], [0, 1, 0]]))


def test_verdicts_follow_bradley_terry_and_davidson() -> None:
    # d = 2 ln 3: a, b and tie are as 3, 1/3 and 2.
    shares = verdict_shares(AnnotatorModel(sharpness=2.0, ties=2.0), np.array([np.log(3), 0.0]), DUELS)
    assert shares == pytest.approx(np.array([[3, 1 / 3, 2], [1, 1, 2]]) / [[16 / 3], [4]])
    # Without ties it is the logistic function.
    sure = verdict_shares(AnnotatorModel(sharpness=1.0, ties=0.0), np.array([np.log(4)]), DUELS)
    assert sure[0] == pytest.approx([0.8, 0.2, 0.0])
    # Half of the verdicts are for the first reply shown.
    leaning = verdict_shares(AnnotatorModel(sharpness=1.0, ties=0.0, bias={"a": 0.5}), np.array([np.log(4)]), DUELS)
    assert leaning[0] == pytest.approx([0.9, 0.1, 0.0])
    assert np.isfinite(verdict_shares(AnnotatorModel(sharpness=1e6), np.array([9.0]), DUELS)).all()


def test_grades_are_shifted_rounded_and_clipped() -> None:
    aspect, generator = GRADES.aspects[0], np.random.default_rng(0)
    quiet = AnnotatorModel(noise=0.0, bias={aspect.name: 0.7})
    assert grades(quiet, aspect, np.array([1.0, 2.4, 4.9]), generator).tolist() == [2.0, 3.0, 5.0]
    low = AnnotatorModel(noise=0.0, bias={aspect.name: -3.0})
    assert grades(low, aspect, np.array([1.0, 4.4]), generator).tolist() == [1.0, 1.0]
    noisy = grades(AnnotatorModel(noise=0.5), aspect, np.full(4000, 3.0), generator)
    assert set(noisy) <= {1.0, 2.0, 3.0, 4.0, 5.0}
    # Half a grade away is one standard deviation: a normal variable stays within it 68.3 % of the time.
    assert np.mean(noisy == 3) == pytest.approx(0.683, abs=0.02)


def test_votes_have_the_shares_that_were_asked_for(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 1000, 1)
    truth = sample_ground_truth(campaign, positive_rate=0.2)
    assert sum(given[LABEL] == YES for given in truth.values.values()) == 200
    rows = filled(campaign, AnnotatorModel(accuracy=0.8, not_sure=0.1, skip=0.05), truth)["rater-1"]
    judged = [row for row in rows if not row["skip"]]
    assert len(judged) / 1000 == pytest.approx(0.95, abs=0.02)
    assert {row[LABEL] for row in rows if row["skip"]} == {None}
    assert np.mean([row[LABEL] == SURE for row in judged]) == pytest.approx(0.1, abs=0.025)
    assert np.mean([row[LABEL] == truth.values[row["unit_id"]][LABEL] for row in judged]) == pytest.approx(
        0.72, abs=0.035
    )
    assert np.median([row["seconds"] for row in rows]) == pytest.approx(30, abs=2)


def test_what_a_rater_says_does_not_depend_on_who_else_is_asked(tmp_path: Path) -> None:
    few, many = asked(tmp_path / "few", 30, 1), asked(tmp_path / "many", 40, 3)
    truth = sample_ground_truth(many)
    behaviour = AnnotatorModel(accuracy=0.6)
    by_unit = [
        {row["unit_id"]: row[LABEL] for row in filled(campaign, behaviour, truth)["rater-1"]}
        for campaign in (few, many)
    ]
    assert by_unit[0].items() <= by_unit[1].items()
    assert filled(many, behaviour, truth) == filled(many, behaviour, truth)
    assert len({tuple(row[LABEL] for row in rows) for rows in filled(many, behaviour, truth).values()}) == 3


@pytest.mark.parametrize("kind", ["pair", "comparison", "reply"])
def test_sheets_import_and_faultless_raters_say_what_is_right(kind: str, tmp_path: Path, run_cli: RunCli) -> None:
    swapped = {"rater-1": [False] * 6, "rater-2": [True] * 6}
    campaign = asked(tmp_path / "c", 6, 2, kind=kind, swapped=swapped if kind == "comparison" else None)
    (tmp_path / "a.yaml").write_text(
        "default: {accuracy: 1.0, noise: 0, sharpness: 1.0e+6, ties: 0}\nraters: {rater-2: {seconds: 5}}\n"
    )
    truth = [{"unit_id": unit, "label": YES} for unit in campaign.units()]
    given: list[object] = []
    if kind == "pair":
        (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in truth))
        given = ["--truth", tmp_path / "t.jsonl"]
    run = run_cli(
        *("annotate", "simulate", tmp_path / "c", "--out", tmp_path / "out", "--json", tmp_path / "s.json"),
        *("--annotator-model", tmp_path / "a.yaml", *given),
    )
    assert (run.returncode, run.stderr) == (0, "")
    run = run_cli("annotate", "import", tmp_path / "c", *sorted((tmp_path / "out").glob("*.csv")))
    assert (run.returncode, run.stderr) == (0, "")
    planted = read_ground_truth(tmp_path / "out" / "truth.jsonl", campaign)
    answers = campaign.answers()
    assert len(answers) == 12 * len(campaign.aspects)
    for (_, _, unit, aspect), answer in answers.items():
        right = planted.values[unit][aspect]
        assert answer.value == (round(float(right)) if kind == "reply" else right)
    rows = json.loads((tmp_path / "s.json").read_text())["raters"]
    assert [row["units"] for row in rows] == [6, 6]
    if kind != "reply":
        assert [row["right"] for row in rows] == [1.0, 1.0]
    if kind == "pair":
        assert {answer.value for answer in answers.values()} == {YES}
    if kind == "comparison":
        assert {right[LABEL] for right in planted.values.values()} == {"a", "b"}


def test_leaning_to_the_first_reply_is_about_what_is_shown(tmp_path: Path) -> None:
    swapped = {"rater-1": [False, True, False, True]}
    campaign = asked(tmp_path / "c", 4, 1, kind="comparison", swapped=swapped)
    rows = filled(campaign, AnnotatorModel(bias={"a": 1.0}), sample_ground_truth(campaign))["rater-1"]
    assert [row[LABEL] for row in rows] == ["a"] * 4


def test_validators_judge_the_label_that_is_shown(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 40, 1, validators=["v1", "v2"])
    truth = sample_ground_truth(campaign, positive_rate=0.5)
    said = dict.fromkeys(campaign.units(), YES)
    campaign.write("answers.jsonl", [])

    add_answers(campaign, *(Answer("main", "rater-1", unit, LABEL, label) for unit, label in said.items()))
    campaign.write("decisions.jsonl", adjudicate(campaign).decisions)
    write_plan(campaign, plan_validation(campaign))
    found = filled(campaign, AnnotatorModel(accuracy=1.0), truth, VALIDATION)
    verdicts = {row["unit_id"]: row["agree_or_disagree"] for rows in found.values() for row in rows}
    assert len(verdicts) == 40
    assert {unit for unit, verdict in verdicts.items() if verdict == "agree"} == {
        unit for unit, right in truth.values.items() if right[LABEL] == YES
    }
    doubting = filled(campaign, AnnotatorModel(not_sure=1.0), truth, VALIDATION)
    assert all(row["skip"] == 1 and row["agree_or_disagree"] is None for rows in doubting.values() for row in rows)
    trusting = filled(campaign, AnnotatorModel(accuracy=0.0, trusting=1.0), truth, VALIDATION)
    assert {row["agree_or_disagree"] for rows in trusting.values() for row in rows} == {"agree"}


def test_validators_of_grades_agree_within_a_distance(tmp_path: Path) -> None:
    campaign = asked(tmp_path / "c", 3, 1, kind="reply", validators=["v1"])

    units = list(campaign.units())
    right: dict[str, dict[str, str | float]] = {unit: dict.fromkeys(campaign.aspects, 3.0) for unit in units}
    said = dict(zip(units, (3.0, 4.0, 5.0), strict=True))
    add_answers(
        campaign,
        *(Answer("main", "rater-1", unit, name, grade) for unit, grade in said.items() for name in campaign.aspects),
    )
    write_plan(campaign, plan_validation(campaign))
    rows = filled(campaign, AnnotatorModel(noise=0.0), GroundTruth(right), VALIDATION)["v1"]
    verdicts = {row["unit_id"]: row["agree_or_disagree"] for row in rows}
    assert [verdicts[unit] for unit in units] == ["agree", "agree", "disagree"]


def test_behaviours_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "annotators.yaml"
    path.write_text(
        "default: {accuracy: 0.8, skip: 0.1}\nvalidators: {accuracy: 0.95}\nraters:\n  v2: {skip: 0.0}\n"
        "  rater-1:\n    bias: {appropriate: 0.2}\n"
    )
    campaign = asked(tmp_path / "c", 1, 2, validators=["v1", "v2"])
    found = annotator_models(campaign, read_annotator_models(path))
    assert {name: (each.accuracy, each.skip, each.bias) for name, each in found.items()} == {
        "rater-1": (0.8, 0.1, {YES: 0.2}),
        "rater-2": (0.8, 0.1, {}),
        "v1": (0.95, 0.1, {}),
        "v2": (0.95, 0.0, {}),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("default: {acuracy: 0.8}", "line 1: unknown key 'default.acuracy'; did you mean 'accuracy'"),
        ("raters:\n  rater-1: {accuracy: 1.2}", "line 2: .*raters.rater-1.accuracy.*less than or equal to 1"),
        ("everybody: {}", "line 1: unknown key 'everybody'"),
        ("default: {confusion: {appropriate: {appropriate: 0.4}}}", "shares with the sum 1"),
        ("raters: {somebody: {accuracy: 0.9}}", "somebody is not a rater"),
        ("default: {bias: {good: 0.1}}", "has no good, expected one of not_appropriate, appropriate, not_sure"),
        ("default: {bias: {appropriate: 0.7, not_sure: 0.4}}", "give shares from 0 with a sum of at most 1"),
        ("default: {confusion: {appropriate: {appropriate: 1}}}", "a row of confusion for each of not_appropriate"),
    ],
)
def test_bad_behaviours(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "annotators.yaml"
    path.write_text(content)
    campaign = asked(tmp_path / "c", 1, 1)
    with pytest.raises(InputError, match=message):
        annotator_models(campaign, read_annotator_models(path))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"unit_id": "hs-1:cn-1", "label": YES}], "has no ground truth for hs-2:cn-2"),
        ([{"unit_id": "hs-1:cn-1", "label": SURE}], "row 1: found 'not_sure', expected one"),
    ],
)
def test_bad_truth(rows: list[dict[str, str]], message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match=message):
        read_ground_truth(path, asked(tmp_path / "c", 2, 1))


def test_truth_of_comparisons_from_strengths_of_replies(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("reply_id,strength\nre-1a,0.5\nre-1b,-1\nre-2a,1\nre-2b,1\nother,3\n")
    found = read_ground_truth(path, asked(tmp_path / "c", 2, 1, kind="comparison"))
    assert found.values == {"re-1a:re-1b": {LABEL: "a"}, "re-2a:re-2b": {LABEL: "tie"}}
    assert found.strengths == {"re-1a": 0.5, "re-1b": -1.0, "re-2a": 1.0, "re-2b": 1.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '--out'"),
        (["--out", "x", "--positive-rate", -1], "Invalid value for '--positive-rate'"),
        (["--out", "x", "--round", "second"], "no round 'second'"),
        (["--out", "x", "--bias", "appropriate"], "expected LABEL=SHARE|ASPECT=SHIFT"),
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


def test_options_describe_all_raters_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "annotators.yaml"
    path.write_text("default: {accuracy: 0.1}\n")
    campaign = asked(tmp_path / "c", 20, 2)
    options = SimulateOptions(annotator_model=path, accuracy=1.0)
    assert simulate(campaign.folder, tmp_path / "out", options).to_frame()["right"].tolist() == [1.0, 1.0]
