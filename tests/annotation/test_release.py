"""Releases of campaigns: data files and a recipe, and the dataset that `build` makes of them."""

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from fcconan import InputError, Result, adjudicate, build, release
from fcconan.annotation import VALIDATION, Answer, Assignment, Campaign, Decision
from tests.annotation import published as small

YES, NO = "appropriate", "not_appropriate"
OWN = """\
meaning: Two or more votes.
tiers:
  - name: gold
    agreement: [unanimous]
  - name: silver
    min_votes: 2
"""


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return small.pairs_campaign(tmp_path / "campaign")


def rows_of(path: Path) -> list[dict[str, str]]:
    """A data file of a release."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def written(campaign: Campaign, **options: Any) -> Path:
    """Releases a campaign into the folder `out` next to it."""
    out = campaign.folder.parent / "out"
    release(campaign.folder, out=out, **options)
    return out


def built(out: Path, config: str, split: str = "test", **options: Any) -> list[dict[str, Any]]:
    """The rows of a config of the dataset that `build` makes of a release."""
    folder = out.parent / f"built-{len([*out.parent.iterdir()])}"
    build(str(out / "recipe.yaml"), out=folder, **options)
    rows: list[dict[str, Any]] = pq.read_table(folder / config / f"{split}-00000-of-00001.parquet").to_pylist()
    return rows


def counts(found: Result, table: str = "rows") -> dict[str, int]:
    """The numbers of a table of a result."""
    rows = found.to_frame(table)
    keys = rows["config"] + "/" + rows["split"] if table == "rows" else rows["reason"]
    return dict(zip(keys, rows[rows.columns[-1]], strict=True))


def test_pairs_votes_and_texts(campaign: Campaign) -> None:
    found = release(campaign.folder, out=campaign.folder.parent / "out")
    out = campaign.folder.parent / "out"
    assert sorted(path.name for path in out.iterdir()) == ["cn.csv", "hs.csv", "pairs.csv", "recipe.yaml", "votes.csv"]
    assert [tuple(row.values()) for row in rows_of(out / "pairs.csv")] == [
        (small.PAIR[0][0], YES, "1", "1", "", "0"),
        (small.PAIR[0][1], NO, "1", "2", "", "1"),
        (small.PAIR[0][2], NO, "1", "1", "", "2"),
        (small.PAIR[1][0], YES, "1", "1", "", "3"),
        (small.PAIR[1][1], NO, "0", "2", "", "4"),
        (small.PAIR[1][2], "", "", "0", "no_majority", "5"),
    ]
    votes = [
        {"pair_id": small.PAIR[hs][cn], "rater": rater, "role": "annotator", "round": "main", "label": small.VOTE[vote]}
        for hs, cn, given, *_ in small.JUDGED
        for rater, vote in sorted(given.items())
        if vote != "-"
    ]
    assert (len(votes), rows_of(out / "votes.csv")) == (12, votes)
    hs, cn = rows_of(out / "hs.csv"), rows_of(out / "cn.csv")
    assert hs[0] == {"hs_id": small.HS_ID[0], "text": small.HS[0], "hs_type": "sly", "hs_subtype": ""}
    assert [row["text"] for row in cn] == small.CN
    assert (cn[1]["age"], cn[1]["source_id"]) == ("31", "a; b")
    assert counts(found, "left_out") == {
        "gold questions and qualification tests": 1,
        "skipped answers": 1,
        "pairs without a label: no_majority": 1,
    }
    assert found.notes == [f"Next: edit {out / 'recipe.yaml'}; then fcconan build {out / 'recipe.yaml'} --out FOLDER."]
    assert all(b"Ann" not in path.read_bytes() for path in out.iterdir())  # comments may name people


@pytest.mark.parametrize(("place", "rule"), [(5, "released"), (6, "strict")])
def test_tiers_of_both_rules(campaign: Campaign, place: int, rule: str) -> None:
    for chosen in ("released", "strict"):  # the rule of the release, or of the build
        out = written(campaign, tier_rule=chosen)
        best = {row["pair_id"]: row["tier"] for row in built(out, "bronze", tier_rule=rule)}
        assert best == {small.PAIR[judged[0]][judged[1]]: judged[place] for judged in small.JUDGED if judged[5]}
    assert len(built(out, "diamond")) == 1  # strict is the rule of the recipe


def test_valid_is_missing_where_no_validator_judged_the_label(campaign: Campaign) -> None:
    unseen, skipped, changed = small.PAIR[0]
    answers = [each for each in campaign.history() if (each.round, each.unit_id) != (VALIDATION, unseen)]
    answers = [
        replace(each, value=None) if (each.round, each.unit_id) == (VALIDATION, skipped) else each for each in answers
    ]
    campaign.write("answers.jsonl", answers)
    new = campaign.decisions() | {changed: Decision(changed, YES, "boss", "person")}
    campaign.write("decisions.jsonl", new.values())
    out = written(campaign)
    found = {row["pair_id"]: (row["valid"], row["n_validators"]) for row in rows_of(out / "pairs.csv")}
    assert [found[unit] for unit in (*small.PAIR[0], *small.PAIR[1])] == [
        *[("", "0")] * 3,
        ("1", "1"),
        ("0", "2"),
        ("", "0"),
    ]
    valid = {row["pair_id"]: (row["valid"], row["tier"]) for row in built(out, "bronze")}
    assert valid[unseen] == valid[skipped] == valid[changed] == (None, "bronze")
    assert [valid[unit] for unit in small.PAIR[1][:2]] == [(True, "silver"), (False, "bronze")]


def test_an_own_rule_is_in_the_recipe(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN, encoding="utf-8")
    found = release(campaign.folder, out=tmp_path / "out", tier_rule=str(tmp_path / "mine.yaml"))
    (tmp_path / "mine.yaml").unlink()
    assert [row["pair_id"] for row in built(tmp_path / "out", "gold")] == [small.PAIR[0][0], small.PAIR[1][1]]
    assert counts(found)["silver/test"] == 4
    assert (counts(found)["votes/test"], counts(found)["votes/left_out"]) == (9, 3)
    (tmp_path / "none.yaml").write_text(OWN.replace("2", "9"), encoding="utf-8")
    with pytest.raises(InputError, match="none of the 6 judged pairs of small-pairs is in a tier"):
        release(campaign.folder, out=tmp_path / "none", tier_rule=str(tmp_path / "none.yaml"))
    assert not (tmp_path / "none").exists()


def test_a_second_release_keeps_what_people_wrote_into_the_recipe(campaign: Campaign) -> None:
    out = written(campaign, synthetic=True)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert {path.name: path.read_bytes() for path in written(campaign).iterdir()} == before
    data = yaml.safe_load(before["recipe.yaml"])
    assert (data["synthetic"], data["annotations_creators"]) == (True, ["machine-generated"])
    data["card"]["motivation"] = "We wanted to know."
    (out / "recipe.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    campaign.write("answers.jsonl", [*campaign.history(), Answer("main", "p2", small.PAIR[1][0], "label", YES)])
    written(campaign)
    data = yaml.safe_load((out / "recipe.yaml").read_text(encoding="utf-8"))
    assert (data["card"]["motivation"], data["synthetic"]) == ("We wanted to know.", True)
    assert [row["n_votes"] for row in built(out, "gold")] == [2, 3, 2, 2]


def test_votes_that_changed_are_noticed_and_persons_decide(campaign: Campaign) -> None:
    campaign.write("answers.jsonl", [*campaign.history(), Answer("main", "p2", small.PAIR[0][0], "label", NO)])
    with pytest.raises(InputError, match=f"votes on 1 units, such as {small.PAIR[0][0]}, do not give their final la"):
        written(campaign)
    adjudicate(campaign.folder)
    assert rows_of(written(campaign) / "pairs.csv")[0]["reason"] == "no_majority"
    decisions = [*campaign.decisions().values()]
    campaign.write("decisions.jsonl", [Decision(small.PAIR[1][2], YES, "boss", "person"), *decisions[1:4]])
    pairs = rows_of(written(campaign) / "pairs.csv")
    assert (pairs[5]["label"], pairs[4]["reason"]) == (YES, "undecided")


def test_ratings_and_rounds(tmp_path: Path) -> None:
    campaign = small.ratings_campaign(tmp_path / "campaign")
    unit = next(iter(campaign.units()))
    campaign.write("rounds/review-1.jsonl", [Assignment("p1", unit, 1)])
    campaign.write("answers.jsonl", [*campaign.history(), Answer("review-1", "p1", unit, "relevance", 5.0)])
    first = ["rater", "aspect", "value", "round"]
    rows = rows_of(written(campaign, round=("main",)) / "ratings.csv")
    assert [tuple(row[name] for name in first) for row in rows[:5]] == [
        ("p1", "relevance", "1.0", "main"),
        ("p1", "coherence", "1.0", "main"),
        ("p1", "aggressiveness", "1.0", "main"),
        ("p1", "suitableness", "1.0", "main"),
        ("p2", "relevance", "2.0", "main"),
    ]
    out = written(campaign)  # all rounds with answers, of which the last one counts
    assert {row["explanation"] for row in rows_of(out / "ratings.csv")} == {""}
    ratings = built(out, "ratings")
    assert (len(ratings), ratings[0]["value"], ratings[0]["round"]) == (32, 5.0, "review-1")
    assert [row["reason"] for row in ratings if row["value"] is None] == ["not_rated"]
    assert built(out, "replies")[0]["references"] == ['Yes, "they" do.']


def test_validated_grades(tmp_path: Path) -> None:
    campaign = small.validated_ratings(tmp_path / "campaign")
    out = written(campaign)
    said = [("1", "1"), ("0", "1"), ("", "0"), ("", "0")]
    assert [tuple(row.values()) for row in rows_of(out / "grades.csv")] == [
        (unit, *states) for unit, states in zip(campaign.units(), said, strict=True)
    ]
    grades = built(out, "grades")  # four aspects of each reply
    assert [row["valid"] for row in grades] == [True] * 4 + [False] * 4 + [None] * 8


def test_comparisons_and_final_verdicts(tmp_path: Path) -> None:
    campaign = small.decided_comparisons(tmp_path / "campaign")
    campaign.write("rounds/main.jsonl", [replace(each, swapped=each.rater == "p2") for each in campaign.assignments()])
    out = written(campaign)
    rows = rows_of(out / "comparisons.csv")
    assert [(row["rater"], row["verdict"], row["reason"], row["shown_first"]) for row in rows] == [
        ("p1", "a", "", "a"),
        ("p2", "a", "", "b"),
        ("p1", "tie", "", "a"),
        ("p2", "invalid", "not_rated", "b"),
    ]
    ids = [unit.split(":") for unit in campaign.units()]
    assert [tuple(row.values()) for row in rows_of(out / "labels.csv")] == [
        (*ids[0], "a", "", "unanimous", "1", "1"),
        (*ids[1], "invalid", "person_discarded", "", "", "0"),
    ]
    assert [(row["verdict"], row["valid"]) for row in built(out, "labels")] == [("a", True), ("invalid", None)]
    assert "boss" not in (out / "labels.csv").read_text(encoding="utf-8")
    (campaign.folder / "decisions.jsonl").unlink()
    found = release(campaign.folder, out=tmp_path / "undecided")
    assert counts(found) == {"replies/test": 4, "comparisons/test": 4}


def test_tiers_without_validators_are_noted(campaign: Campaign, tmp_path: Path) -> None:
    campaign.write("answers.jsonl", [each for each in campaign.history() if each.round == "main"])
    note = "No label was validated: tiers that need validated labels are empty."
    assert note in release(campaign.folder, out=tmp_path / "out").notes
    (tmp_path / "own.yaml").write_text(OWN, encoding="utf-8")  # no tier needs confirmation
    assert note not in release(campaign.folder, out=tmp_path / "own", tier_rule=str(tmp_path / "own.yaml")).notes


def without_answers(campaign: Campaign) -> None:
    """Removes the answers."""
    (campaign.folder / "answers.jsonl").unlink()


def without_decisions(campaign: Campaign) -> None:
    """Removes the final labels."""
    (campaign.folder / "decisions.jsonl").unlink()


def with_a_label(campaign: Campaign) -> None:
    """Adds a label of its own to the task."""
    path = campaign.folder / "task.yaml"
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    data["labels"].append({"name": "off_topic", "meaning": "It is about something else."})
    path.write_text(yaml.safe_dump(data), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (without_answers, {}, "has no answers in main: import answers first"),
        (without_decisions, {}, "has no final labels: run `fcconan annotate adjudicate` first"),
        (with_a_label, {}, "has the labels .*off_topic for a pair, expected"),
        (None, {"tier_rule": "loose"}, "loose"),
        (None, {"round": ("other",)}, "no round 'other'"),
    ],
)
def test_mistakes(
    campaign: Campaign, change: Callable[[Campaign], None] | None, options: dict[str, Any], said: str
) -> None:
    if change is not None:
        change(campaign)
    with pytest.raises(InputError, match=said):
        written(campaign, **options)
    assert not (campaign.folder.parent / "out").exists()


def test_a_tier_rule_needs_pairs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has a task on a comparison, expected pairs: leave --tier-rule out"):
        written(small.comparisons_campaign(tmp_path / "campaign"), tier_rule="strict")


def test_the_result_as_json(campaign: Campaign, tmp_path: Path) -> None:
    found = json.loads(release(campaign.folder, out=tmp_path / "out", tier_rule="strict").to_json())
    assert found["identity"] == {"campaign": "small-pairs", "rounds": "main", "tier_rule": "strict"}
    assert {"config": "diamond", "split": "test", "rows": 1} in found["tables"]["rows"]
