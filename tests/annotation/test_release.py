import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from fcconan.annotation import adjudicate, release_recipe, write_dataset
from fcconan.annotation.campaigns import LABEL, MAIN, Answer, Assignment, Campaign, Decision, Settings, Unit, create
from fcconan.annotation.release import published_rows, without_label
from fcconan.building import build, build_tables, load_recipe
from fcconan.errors import InputError
from fcconan.judging.tasks import Label, load_task
from tests.annotation import published as small
from tests.conftest import RunCli

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


def _csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_pairs_and_votes_of_a_campaign(campaign: Campaign) -> None:
    published = published_rows(campaign)
    assert [tuple(row.values()) for row in published.rows["pairs"]] == [
        (small.PAIR[0][0], YES, 1, 1, None, 0),
        (small.PAIR[0][1], NO, 1, 2, None, 1),
        (small.PAIR[0][2], NO, 1, 1, None, 2),
        (small.PAIR[1][0], YES, 1, 1, None, 3),
        (small.PAIR[1][1], NO, 0, 2, None, 4),
        (small.PAIR[1][2], None, 0, 0, "no_majority", 5),
    ]
    votes = [
        {"pair_id": small.PAIR[hs][cn], "label": small.VOTE[vote], "rater": rater, "role": "annotator", "round": MAIN}
        for hs, cn, given, *_ in small.JUDGED
        for rater, vote in sorted(given.items())
        if vote != "-"
    ]
    assert len(votes) == 12
    assert published.rows["votes"] == votes
    assert published.counts == {
        "not_judged": 0,
        "judged_in_other_rounds": 0,
        "controls": 1,
        "skipped": 1,
        "decided_without_votes": 0,
    }
    assert published.notes == []
    assert published.unpublished == ["nearest_of"]
    assert without_label(published) == {"no_majority": 1}


def test_units_that_everybody_skipped_are_decided_only_if_they_have_a_label(campaign: Campaign) -> None:
    skipped, labelled = small.PAIR[0][:2]
    decisions = campaign.decisions()
    decisions |= {skipped: Decision(skipped, None, "rule", "all_skipped")}
    decisions |= {labelled: Decision(labelled, NO, "boss", "person")}
    with campaign.changing():
        campaign.write("decisions.jsonl", decisions.values())
        said = [
            replace(each, value=None) if each.unit_id in (skipped, labelled) else each for each in campaign.history()
        ]
        campaign.write("answers.jsonl", said)
    assert published_rows(campaign).counts["decided_without_votes"] == 1


def test_texts_with_what_is_known_about_them(campaign: Campaign) -> None:
    rows = published_rows(campaign).rows
    assert rows["hs"][0] == {"hs_id": small.HS_ID[0], "text": small.HS[0], "hs_type": "sly", "hs_subtype": None}
    assert [row["text"] for row in rows["cn"]] == small.CN
    assert (rows["cn"][1]["age"], rows["cn"][1]["source_id"]) == (31, "a; b")


def test_without_decisions_only_votes_that_agree_have_a_label(tmp_path: Path) -> None:
    campaign = small.pairs_campaign(tmp_path / "campaign", decided=False)
    published = published_rows(campaign)
    assert [(row["label"], row["reason"], row["valid"]) for row in published.rows["pairs"]] == [
        (YES, None, 0),
        (None, "conflict", 0),
        (None, "conflict", 0),
        (YES, None, 0),
        (NO, None, 0),
        (None, "conflict", 0),
    ]
    _answer(campaign, Answer(MAIN, "p3", small.PAIR[1][0], LABEL, "not_sure"))
    assert without_label(published_rows(campaign)) == {"conflict": 3, "not_sure": 1}


def _answer(campaign: Campaign, *answers: Answer) -> None:
    with campaign.changing():
        campaign.write("answers.jsonl", [*campaign.history(), *answers])


def test_the_tiers_of_both_rules(campaign: Campaign, tmp_path: Path) -> None:
    written = write_dataset(campaign, tmp_path / "out")
    recipe = load_recipe(str(written.recipe))
    for position, rule in ((5, "released"), (6, "strict")):
        built, _ = build_tables(recipe, tier_rule=rule)
        best = {row["pair_id"]: row["tier"] for row in built.table("bronze", "test").rows()}
        assert best == {small.PAIR[judged[0]][judged[1]]: judged[position] for judged in small.JUDGED if judged[5]}
    assert written.tier_rule == recipe.tier_rule == "released"
    assert written.rows["diamond"] == {"test": 2}
    assert recipe.expect_by_tier_rule["strict"].rows["diamond"] == {"test": 1}
    assert written.rows["votes"] == {"test": 10, "left_out": 2}
    assert written.facts["left_out"] == 1


def test_strict_is_the_default_of_a_recipe_that_was_written_by_it(campaign: Campaign, tmp_path: Path) -> None:
    written = write_dataset(campaign, tmp_path / "out", rule="strict")
    built, _ = build_tables(load_recipe(str(written.recipe)))
    assert len(built.table("diamond", "test")) == written.rows["diamond"]["test"] == 1


def test_a_rule_of_ones_own_travels_in_the_recipe(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN, encoding="utf-8")
    written = write_dataset(campaign, tmp_path / "out", rule=str(tmp_path / "mine.yaml"))
    (tmp_path / "mine.yaml").unlink()
    recipe = load_recipe(str(written.recipe))
    built, _ = build_tables(recipe)
    assert built.table("gold", "test").data["pair_id"] == [small.PAIR[0][0], small.PAIR[1][1]]
    assert len(built.table("silver", "test")) == 4
    assert written.rows["votes"] == {"test": 9, "left_out": 3}
    assert built.facts["left_out_no_tier"] == 1
    assert built.notes[-1] == (
        "Tiers, each a subset of the next: `gold`: 2 or more votes, agreement unanimous; `silver`: 2 or more votes. "
        "Two or more votes."
    )
    with pytest.raises(InputError, match="recipe 'small-pairs' has a tier rule of its own: leave --tier-rule out"):
        build_tables(recipe, tier_rule="strict")


def test_twice_the_same_is_the_same_bytes_and_keeps_what_people_wrote(campaign: Campaign, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = write_dataset(campaign, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert sorted(before) == ["cn.csv", "hs.csv", "pairs.csv", "recipe.yaml", "votes.csv"]
    again = write_dataset(campaign, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert (first.kept, again.kept) == (False, True)
    data = yaml.safe_load(before["recipe.yaml"])
    data["card"]["motivation"] = "We wanted to know."
    data["synthetic"] = True
    (out / "recipe.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    _answer(campaign, Answer(MAIN, "p2", small.PAIR[1][0], LABEL, YES))
    assert write_dataset(campaign, out).rows["votes"] == {"test": 11, "left_out": 2}
    recipe = load_recipe(str(out / "recipe.yaml"))
    assert (recipe.card.motivation, recipe.synthetic) == ("We wanted to know.", True)
    assert build_tables(recipe)[0].table("gold", "test").data["n_votes"] == [2, 3, 2, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["campaign", "out"]


def test_simulated_answers_are_marked(campaign: Campaign, tmp_path: Path) -> None:
    recipe = load_recipe(str(write_dataset(campaign, tmp_path / "out", synthetic=True).recipe))
    assert (recipe.synthetic, recipe.annotations_creators) == (True, ["machine-generated"])


def test_remarks_stay_behind(campaign: Campaign, tmp_path: Path) -> None:
    write_dataset(campaign, tmp_path / "out")
    assert all(b"Ann" not in path.read_bytes() for path in (tmp_path / "out").iterdir())
    ratings = small.ratings_campaign(tmp_path / "ratings")
    assert {row["explanation"] for row in published_rows(ratings).rows["ratings"]} == {None}
    ratings.task = ratings.task.model_copy(update={"explain": True})
    assert published_rows(ratings).rows["ratings"][0]["explanation"] == "because"


def test_ratings(tmp_path: Path) -> None:
    written = write_dataset(small.ratings_campaign(tmp_path / "campaign"), tmp_path / "out")
    assert written.rows == {"replies": {"test": 4}, "ratings": {"test": 32}}
    assert written.facts == {"items": 2, "systems": 2, "not_rated": 1}
    assert (written.tier_rule, written.without_label) == (None, {})
    rows = _csv(tmp_path / "out" / "ratings.csv")
    assert [(row["rater"], row["aspect"], row["value"]) for row in rows[:5]] == [
        ("p1", "relevance", "1.0"),
        ("p1", "coherence", "1.0"),
        ("p1", "aggressiveness", "1.0"),
        ("p1", "suitableness", "1.0"),
        ("p2", "relevance", "2.0"),
    ]


def test_comparisons(tmp_path: Path) -> None:
    campaign = small.comparisons_campaign(tmp_path / "campaign")
    written = write_dataset(campaign, tmp_path / "out")
    assert written.rows == {"replies": {"test": 4}, "comparisons": {"test": 4}}
    assert written.facts == {"items": 2, "systems": 2, "invalid": 1}
    rows = _csv(tmp_path / "out" / "comparisons.csv")
    assert [(row["rater"], row["verdict"], row["reason"]) for row in rows] == [
        ("p1", "a", ""),
        ("p2", "a", ""),
        ("p1", "tie", ""),
        ("p2", "invalid", "not_rated"),
    ]
    with pytest.raises(InputError, match=r"has a task on a comparison, expected pairs: leave --tier-rule out"):
        write_dataset(campaign, tmp_path / "out", rule="strict")


def test_a_later_round_goes_first(tmp_path: Path) -> None:
    campaign = small.ratings_campaign(tmp_path / "campaign")
    unit = next(iter(campaign.units()))
    _answer(campaign, Answer("review-1", "p1", unit, "relevance", 5.0))
    with campaign.changing():
        campaign.write("rounds/review-1.jsonl", [replace(campaign.assignments()[0], position=1)])
    rows = published_rows(campaign, ["main", "review-1"]).rows["ratings"]
    assert [(row["round"], row["value"]) for row in rows[:2]] == [("review-1", 5.0), ("main", 1.0)]
    assert published_rows(campaign).rows["ratings"][0]["value"] == 1.0


def _rounds_of_cseval(folder: Path) -> Campaign:
    """Of four replies one is judged in shared-1 and reviewed, one in shared-2, one in main, and one nowhere."""
    campaign = small.ratings_campaign(folder)
    rounds = [("shared-1", 0), ("review-1", 0), ("shared-2", 1), (MAIN, 2)]
    units = list(campaign.units())
    with campaign.changing():
        for name, at in rounds:
            campaign.write(f"rounds/{name}.jsonl", [Assignment("p1", units[at], 1)])
        campaign.write("answers.jsonl", [Answer(name, "p1", units[at], "relevance", 2.0 + at) for name, at in rounds])
    return campaign


def test_units_that_were_judged_in_other_rounds_are_not_called_unjudged(tmp_path: Path, run_cli: RunCli) -> None:
    campaign = _rounds_of_cseval(tmp_path / "campaign")
    published = published_rows(campaign)
    assert (published.counts["not_judged"], published.counts["judged_in_other_rounds"]) == (1, 2)
    options = "--round shared-1 --round review-1 --round shared-2 --round main"
    note = f"2 units were judged only in shared-1, review-1, shared-2 and are not published: give {options} to publish"
    assert published.notes == [f"{note} them."]
    done = run_cli("annotate", "tier", campaign.folder, "--out", tmp_path / "out", "--json", tmp_path / "tier.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert published.notes[0] in done.stdout
    said = json.loads((tmp_path / "tier.json").read_text(encoding="utf-8"))
    assert (said["not_judged"], said["judged_in_other_rounds"], said["notes"]) == (1, 2, published.notes)
    # With the options that it names, nothing is left behind, and the review goes before what it reviewed.
    whole = published_rows(campaign, options.replace("--round ", "").split())
    assert (whole.counts["not_judged"], whole.counts["judged_in_other_rounds"], whole.notes) == (1, 0, [])
    assert [row["round"] for row in whole.rows["ratings"]] == ["review-1", "shared-2", MAIN]


def test_the_rounds_that_there_are_are_named_where_main_has_no_answers_or_is_not_there(tmp_path: Path) -> None:
    campaign = _rounds_of_cseval(tmp_path / "campaign")
    with campaign.changing():
        campaign.write("answers.jsonl", [each for each in campaign.history() if each.round == "shared-2"])
    with pytest.raises(InputError, match=r"no answers in main: choose rounds with answers, with --round shared-2$"):
        published_rows(campaign)
    rounds = campaign.folder / "rounds"
    (rounds / "main.jsonl").unlink()
    with pytest.raises(InputError, match=r"only review-1, shared-1, shared-2: choose .* --round review-1 --round shar"):
        published_rows(campaign)
    for name in ("review-1", "shared-1", "shared-2"):
        (rounds / f"{name}.jsonl").unlink()
    with campaign.changing():
        campaign.write("rounds/validation.jsonl", [])
    with pytest.raises(InputError, match="no round 'main', only validation: create it with `fcconan annotate assign`"):
        published_rows(campaign)
    with campaign.changing():
        for name in ("queue-1", "queue-2"):
            campaign.write(f"rounds/{name}.jsonl", [])
    with pytest.raises(
        InputError, match=r"only queue-1, queue-2, validation: choose existing rounds, with --round 'queue-\*'$"
    ):
        published_rows(campaign)


def test_final_verdicts_of_comparisons_stand_beside_the_single_ones(tmp_path: Path) -> None:
    campaign = small.decided_comparisons(tmp_path / "campaign")
    written = write_dataset(campaign, tmp_path / "out")
    assert written.rows == {"replies": {"test": 4}, "comparisons": {"test": 4}, "labels": {"test": 2}}
    assert written.facts == {"items": 2, "systems": 2, "invalid": 1, "labelled": 1, "confirmed": 1}
    ids = [unit.split(":") for unit in campaign.units()]
    assert [tuple(row.values()) for row in _csv(tmp_path / "out" / "labels.csv")] == [
        (*ids[0], "a", "", "unanimous", "1", "1"),
        (*ids[1], "invalid", "person_discarded", "", "0", "0"),
    ]
    assert "boss" not in (tmp_path / "out" / "labels.csv").read_text(encoding="utf-8")
    _answer(campaign, Answer(MAIN, "p2", campaign.assignments()[0].unit_id, LABEL, "b"))
    with pytest.raises(InputError, match=r"the votes on 1 units, such as .* do not give their final labels"):
        published_rows(campaign)


def test_verdicts_on_comparisons_that_other_rounds_judged_are_counted(tmp_path: Path) -> None:
    campaign = small.decided_comparisons(tmp_path / "campaign")
    one, two = campaign.units()
    with campaign.changing():
        campaign.write("rounds/later.jsonl", [Assignment("p1", two, 1)])
        campaign.write("answers.jsonl", [replace(each, round="later") for each in campaign.history()][2:3])
    published = published_rows(campaign, ["later"])
    assert [row["reason"] for row in published.rows["labels"]] == ["person_discarded"]
    assert published.counts["decided_without_votes"] == 1
    assert one not in {f"{row['reply_a']}:{row['reply_b']}" for row in published.rows["labels"]}
    with campaign.changing():
        campaign.write("decisions.jsonl", [Decision(one, None, "rule", "all_skipped")])
    assert published_rows(campaign, ["later"]).counts["decided_without_votes"] == 0


def test_comparisons_that_were_not_adjudicated_have_no_final_verdicts(tmp_path: Path) -> None:
    campaign = small.decided_comparisons(tmp_path / "campaign")
    (campaign.folder / "decisions.jsonl").unlink()
    with pytest.raises(InputError, match="has validators but no final labels: run `fcconan annotate adjudi"):
        published_rows(campaign)
    assert "labels" not in published_rows(small.comparisons_campaign(tmp_path / "other")).rows


def test_what_validators_say_of_grades_is_published(tmp_path: Path) -> None:
    campaign = small.validated_ratings(tmp_path / "campaign")
    written = write_dataset(campaign, tmp_path / "out")
    assert written.rows["grades"] == {"test": 16}  # four replies, four aspects
    assert written.facts["confirmed"] == 1
    said = [("1", "1"), ("0", "1"), ("0", "0"), ("0", "0")]
    assert [tuple(row.values()) for row in _csv(tmp_path / "out" / "grades.csv")] == [
        (unit, *states) for unit, states in zip(campaign.units(), said, strict=True)
    ]


def test_votes_that_changed_are_noticed(campaign: Campaign) -> None:
    outcome = adjudicate(campaign)
    decided = {each.unit_id: each.label for each in outcome.decisions}
    with campaign.changing():
        campaign.write("decisions.jsonl", outcome.decisions)
    assert {row["pair_id"]: row["label"] for row in published_rows(campaign).rows["pairs"]} == decided
    changed = [replace(each, value=YES) for each in campaign.history() if each.round == MAIN]
    _answer(campaign, *changed)
    with pytest.raises(InputError, match=r"the votes on 4 units, such as .* do not give their final labels"):
        published_rows(campaign)


def test_what_was_shown_first_goes_with_every_verdict(tmp_path: Path) -> None:
    campaign = small.comparisons_campaign(tmp_path / "campaign")
    with campaign.changing():
        turned = [replace(each, swapped=each.rater == "p2") for each in campaign.assignments()]
        campaign.write("rounds/main.jsonl", turned)
    rows = published_rows(campaign).rows["comparisons"]
    assert [(row["rater"], row["verdict"], row["shown_first"]) for row in rows] == [
        ("p1", "a", "a"),
        ("p2", "a", "b"),
        ("p1", "tie", "a"),
        ("p2", "invalid", "b"),
    ]


def test_votes_that_changed_after_adjudication_are_noticed(campaign: Campaign) -> None:
    _answer(campaign, Answer(MAIN, "p2", small.PAIR[0][0], LABEL, NO))
    with pytest.raises(InputError, match=f"the votes on 1 units, such as {small.PAIR[0][0]}, do not give their final"):
        published_rows(campaign)


def test_what_a_person_decided_holds_against_the_votes_and_new_units_wait(campaign: Campaign) -> None:
    decisions = list(campaign.decisions().values())
    with campaign.changing():
        campaign.write("decisions.jsonl", [Decision(small.PAIR[1][2], YES, "boss", "person"), *decisions[1:5]])
    published = published_rows(campaign)
    assert published.rows["pairs"][5]["label"] == YES
    assert without_label(published) == {"undecided": 1}


def test_answers_of_validators_need_final_labels(campaign: Campaign) -> None:
    (campaign.folder / "decisions.jsonl").unlink()
    with pytest.raises(InputError, match="has validators but no final labels: run `fcconan annotate adjudi"):
        published_rows(campaign)


def test_a_changed_text_is_refused(campaign: Campaign) -> None:
    path = campaign.folder / "cn.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("banned", "allowed"), encoding="utf-8")
    with pytest.raises(
        InputError, match=f"cn.jsonl: the text of {small.CN_ID[2]} has the id cn-.*: restore the text that was judged"
    ):
        published_rows(campaign)


def test_a_label_that_datasets_do_not_know_is_refused(campaign: Campaign) -> None:
    with campaign.changing():
        campaign.write("decisions.jsonl", [Decision(small.PAIR[0][0], "not_sure", "boss", "person")])
    with pytest.raises(InputError, match="label"):
        write_dataset(campaign, campaign.folder.parent / "refused")
    assert not (campaign.folder.parent / "refused").exists()


def test_tasks_that_datasets_have_no_rows_for_are_refused(tmp_path: Path) -> None:
    task = load_task("appropriateness")
    labels = [*task.labels, Label(name="off_topic", meaning="It is about something else.")]
    unit = Unit(small.PAIR[0][0], hs_id=small.HS_ID[0], cn_id=small.CN_ID[0])
    other = create(tmp_path / "other", Settings(name="other"), task.model_copy(update={"labels": labels}), [unit], {})
    with pytest.raises(InputError, match="has the labels appropriate, not_appropriate, not_sure, off_topic for a pair"):
        published_rows(other)


def test_a_campaign_without_answers_is_refused(tmp_path: Path) -> None:
    campaign = small.ratings_campaign(tmp_path / "campaign")
    (campaign.folder / "answers.jsonl").unlink()
    with pytest.raises(InputError, match="has no answers in main: import answers with `fcconan annotate import`"):
        published_rows(campaign)


def test_foreign_folders_are_left_alone(campaign: Campaign, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"campaign has files but no recipe\.yaml of a campaign: choose an empty"):
        write_dataset(campaign, campaign.folder)
    write_dataset(small.ratings_campaign(tmp_path / "ratings"), tmp_path / "out")
    with pytest.raises(InputError, match="does not belong to the campaign 's"):
        write_dataset(campaign, tmp_path / "out")
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="file is not a folder: choose another --out"):
        write_dataset(campaign, tmp_path / "file")


def test_a_rule_that_takes_no_pair_writes_nothing(campaign: Campaign, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(OWN.replace("2", "9"), encoding="utf-8")
    with pytest.raises(InputError, match=r"pairs\.csv: none of its 6 judged pairs is in a tier; adjudicate more, or l"):
        write_dataset(campaign, tmp_path / "out", rule=str(tmp_path / "mine.yaml"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["campaign", "mine.yaml"]


def test_command_line(campaign: Campaign, run_cli: RunCli, tmp_path: Path) -> None:
    out, report = tmp_path / "out", tmp_path / "tier.json"
    result = run_cli("annotate", "tier", campaign.folder, "--tier-rule", "strict", "--out", out, "--json", report)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(r"judged, without a label: no_majority +│ +1 ", result.stdout)
    assert f"fcconan build {out / 'recipe.yaml'} --out DIR" in result.stdout
    said = json.loads(report.read_text(encoding="utf-8"))
    assert (said["tier_rule"], said["rows"]["diamond"], said["without_label"]) == (
        "strict",
        {"test": 1},
        {"no_majority": 1},
    )
    again = run_cli("build", out / "recipe.yaml", "--out", tmp_path / "dataset")
    assert (again.returncode, again.stderr) == (0, "")
    refused = run_cli("annotate", "tier", campaign.folder, "--tier-rule", "loose", "--out", out)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "unknown tier rule 'loose'" in refused.stderr


def test_the_card_of_a_campaign_follows_its_licence(campaign: Campaign, tmp_path: Path) -> None:
    path = write_dataset(campaign, tmp_path / "out").recipe
    head = path.read_text(encoding="utf-8").split("name:")[0]
    for key in ("card_licence", "redistributable: true if", "annotations_creators", "language_creators"):
        assert key in head
    recipe = str(path)

    def card(*, labels_only: bool = False) -> str:
        build(recipe, out=tmp_path / "data", labels_only=labels_only)
        return (tmp_path / "data" / "README.md").read_text(encoding="utf-8")

    remedy = "If everyone may have the texts, set `redistributable: true` in the recipe and build the folder again."
    terms = (
        "\n## Terms\n\nThe licence of this dataset applies to the annotations. Texts from another corpus remain under "
        "the terms of that corpus.\n"
    )
    closed, labels = card(), card(labels_only=True)
    assert f"share a folder built with `--labels-only`.\n{remedy}\n" in closed
    assert "hydrate" not in closed
    assert (
        "\nfcconan hydrate PATH_OR_REPOSITORY --out FULL_FOLDER --recipe PATH/recipe.yaml\n```\n\n"
        "The command needs the recipe and its source files, which are not in this folder.\n"
    ) in labels
    data = yaml.safe_load(path.read_text(encoding="utf-8")) | {"redistributable": True, "card_licence": "cc-by-4.0"}
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    free = card()
    assert "redistribut" not in free
    assert all(terms in each for each in (closed, labels, free))


@pytest.mark.parametrize("task", ["pair", "reply", "comparison"])
def test_texts_of_the_card_hold_for_simulated_annotators_too(task: str) -> None:
    template = release_recipe._template()
    assert "annotators" in template["summary"][task]
    assert not re.search("people|person", f"{template['summary']} {template['card']['collection']}", re.IGNORECASE)


def test_a_comparison_that_all_skipped_has_its_rows(tmp_path: Path) -> None:
    campaign = small.comparisons_campaign(tmp_path / "c", decided=True)
    two = list(campaign.units())[1]
    with campaign.changing():
        skipped = [replace(each, value=None) if each.unit_id == two else each for each in campaign.history()]
        campaign.write("answers.jsonl", skipped)
        first = next(iter(campaign.decisions().values()))
        campaign.write("decisions.jsonl", [first, Decision(two, "b", "boss", "person")])
    found = published_rows(campaign)
    assert [row["verdict"] for row in found.rows["labels"]] == ["a", "b"]
    assert found.counts["decided_without_votes"] == 0


def test_tiers_without_validators_are_noted(campaign: Campaign, run_cli: RunCli, tmp_path: Path) -> None:
    assert not write_dataset(campaign, tmp_path / "validated").unvalidated
    with campaign.changing():
        campaign.write("answers.jsonl", [each for each in campaign.history() if each.round == MAIN])
    assert write_dataset(campaign, tmp_path / "released").unvalidated
    (tmp_path / "own.yaml").write_text(OWN + "  - name: bronze\n", encoding="utf-8")  # no tier asks for confirmation
    assert not write_dataset(campaign, tmp_path / "own", rule=str(tmp_path / "own.yaml")).unvalidated
    (tmp_path / "any.yaml").write_text(OWN + "  - {name: bronze, valid: any}\n", encoding="utf-8")
    assert not write_dataset(campaign, tmp_path / "any", rule=str(tmp_path / "any.yaml")).unvalidated
    report = tmp_path / "tier.json"
    done = run_cli("annotate", "tier", campaign.folder, "--out", tmp_path / "released", "--json", report)
    note = (
        "No label was validated, so tiers that require it are empty: run "
        f"`fcconan annotate validate {campaign.folder}`."
    )
    assert (note in done.stdout.splitlines(), json.loads(report.read_text())["notes"]) == (True, [note])
