"""The recipe of kind `campaign`: what `fcconan annotate tier` wrote becomes a release folder."""

import hashlib
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from fcconan.annotation import Campaign, write_dataset
from fcconan.building import hydrate
from fcconan.building.builds import build, build_tables, load_recipe
from fcconan.data import read_manifest
from fcconan.errors import InputError
from tests.annotation import published as small
from tests.building.test_releases import contents

Make = Callable[[Path], Campaign]
RecipeOf = Callable[..., Path]
KINDS: list[Make] = [
    small.pairs_campaign,
    small.ratings_campaign,
    small.comparisons_campaign,
    small.decided_comparisons,
    small.validated_ratings,
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three recipes with their data; tests change copies."""
    folder = tmp_path_factory.mktemp("made")
    for make in KINDS:
        write_dataset(make(folder / "campaigns" / make.__name__), folder / make.__name__)
    return folder


@pytest.fixture
def recipe_of(made: Path, tmp_path: Path) -> RecipeOf:
    """Returns the recipe of one kind of campaign, in a folder of its own."""

    def copied(make: Make = small.pairs_campaign) -> Path:
        return shutil.copytree(made / make.__name__, tmp_path / "data") / "recipe.yaml"

    return copied


@pytest.fixture(scope="module")
def built(made: Path) -> Callable[..., Path]:
    """Returns the folder built from one kind of campaign, with texts or without; tests only read it."""

    @cache
    def folder(make: Make = small.pairs_campaign, labels_only: bool = False) -> Path:
        out = made / "built" / f"{make.__name__}-{labels_only}"
        return build(str(made / make.__name__ / "recipe.yaml"), out, labels_only=labels_only).folder

    return folder


def test_every_config_is_declared_with_its_files_and_columns(built: Callable[..., Path]) -> None:
    # That `datasets` loads what a card of this kind declares is tested with the demo.
    folder = built()
    card = yaml.safe_load((folder / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    features = {each["config_name"]: each for each in card["dataset_info"]}
    loaded: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for config in card["configs"]:
        parts = {each["split"]: list(folder.glob(each["path"])) for each in config["data_files"]}
        name = config["config_name"]
        tables = {split: pq.read_table(files[0]) for split, files in parts.items() if len(files) == 1}
        assert tables.keys() == parts.keys()
        for split, table in tables.items():
            about = features[name]
            assert [each["name"] for each in about["features"]] == table.column_names
            assert {each["name"]: each["num_examples"] for each in about["splits"]}[split] == len(table)
        loaded[name] = {split: table.to_pylist() for split, table in tables.items()}
    assert loaded["gold"]["test"][0] == {
        "pair_id": small.PAIR[0][0],
        "hs_id": small.HS_ID[0],
        "cn_id": small.CN_ID[0],
        "hate_speech": small.HS[0],
        "counter_narrative": small.CN[0],
        "label": "appropriate",
        "valid": True,
        "n_votes": 2,
        "agreement": "unanimous",
        "tier": "diamond",
        "hs_type": "sly",
        "hs_subtype": None,
        "cn_type": None,
        "age": 31,
        "gender": None,
        "education": None,
        "source_id": "a; b",
        "original_index": 0,
        "n_validators": 1,
    }
    assert [row["tier"] for row in loaded["gold"]["test"]] == ["diamond", "diamond", "gold"]
    assert {split: len(rows) for split, rows in loaded["votes"].items()} == {"test": 10, "left_out": 2}
    assert loaded["votes"]["left_out"][1] == {
        "pair_id": small.PAIR[1][2],
        "rater": "p3",
        "label": "not_appropriate",
        "role": "annotator",
        "round": "main",
    }


def test_corpus_and_qrels(recipe_of: RecipeOf) -> None:
    built, _ = build_tables(load_recipe(str(recipe_of())))
    assert sorted(built.table("corpus", "test").data["text"]) == sorted(small.CN)
    assert built.aliases["bronze-qrels"] == "qrels"
    assert built.table("qrels", "test").data["score"] == [1, 0, 0, 1, 0]


@pytest.mark.parametrize("make", KINDS)
def test_labels_only_and_back(made: Path, built: Callable[..., Path], tmp_path: Path, make: Make) -> None:
    labels = built(make, labels_only=True)
    text = small.HS[0].encode()
    assert not any(text in content for content in contents(labels).values())
    recipe = str(made / make.__name__ / "recipe.yaml")
    hydrate(str(labels), out=tmp_path / "hydrated", recipe=Path(recipe))
    assert contents(tmp_path / "hydrated") == contents(built(make))
    assert read_manifest(labels)["kind"] == "campaign"


def test_hydrating_needs_the_texts_next_to_the_recipe(
    recipe_of: RecipeOf, built: Callable[..., Path], tmp_path: Path
) -> None:
    recipe = str(recipe_of())
    (tmp_path / "data" / "cn.csv").unlink()
    with pytest.raises(InputError, match=r"data/cn\.csv is missing: put the file there"):
        hydrate(str(built(labels_only=True)), out=tmp_path / "hydrated", recipe=Path(recipe))


def test_manifest_and_card_of_pairs(recipe_of: RecipeOf, tmp_path: Path) -> None:
    folder = build(str(recipe_of()), tmp_path / "out", tier_rule="strict").folder
    manifest = read_manifest(folder)
    assert (manifest["tier_rule"], manifest["counts"]["diamond"]) == ("strict", {"test": 1})
    assert manifest["facts"]["left_out_no_majority"] == 1
    assert manifest["notes"] == [
        "6 of 6 combinations of HS and CN are judged.",
        "Validators were shown 5 of the 5 labels, and confirmed 4.",
        "1 judged pairs are left out (1 `no_majority`); the votes on them are the split `left_out` of `votes` and "
        "count in the agreement.",
    ]
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "dataset follows the rule `strict`" in card
    # Of 11 votes 6 are no, 4 yes, 1 not sure: 1 - (6 / 11) / (1 - (6 * 5 + 4 * 3) / (11 * 10)) = 1 - 60 / 68.
    assert "alpha (nominal) of the votes: 0.118 (5 pairs with two or more votes)" in card


def test_empty_tiers_have_no_config(tmp_path: Path) -> None:
    def undecided(folder: Path) -> Campaign:
        return small.pairs_campaign(folder, decided=False)

    built, _ = build_tables(load_recipe(str(write_dataset(undecided(tmp_path / "campaign"), tmp_path / "data").recipe)))
    assert [table.config for table in built.tables] == ["bronze", "corpus", "queries", "qrels", "votes", "votes"]
    assert built.facts["diamond_appropriate"] == 0
    assert "No pair is in these tiers, which have no config: diamond, gold, silver." in built.notes


def test_a_query_has_a_pair_in_a_tier(tmp_path: Path) -> None:
    def one_hs(folder: Path) -> Campaign:
        campaign = small.pairs_campaign(folder, decided=False)
        with campaign.changing():
            kept = [each for each in campaign.history() if each.unit_id in small.PAIR[0]]
            campaign.write("answers.jsonl", kept)
        return campaign

    built, _ = build_tables(load_recipe(str(write_dataset(one_hs(tmp_path / "campaign"), tmp_path / "data").recipe)))
    assert built.table("queries", "test").data["_id"] == [small.HS_ID[0]]
    assert len(built.table("corpus", "test")) == 3
    assert built.notes[0] == "3 of 6 combinations of HS and CN are judged; the others are unjudged, not negative."
    assert built.notes[3] == "HS without a pair in any tier, left out of the queries: 1. The corpus holds every CN."


def test_ratings(recipe_of: RecipeOf) -> None:
    built, _ = build_tables(load_recipe(str(recipe_of(small.ratings_campaign))))
    rows = built.table("ratings", "test").rows()
    assert rows[0] == {
        "reply_id": built.table("replies", "test").data["reply_id"][0],
        "rater": "p1",
        "rater_kind": "human",
        "aspect": "relevance",
        "value": 1.0,
        "low": 1.0,
        "high": 5.0,
        "higher_is_better": True,
        "reason": None,
        "explanation": None,
        "role": "annotator",
        "round": "main",
    }
    assert [row["aspect"] for row in rows if row["reason"] == "not_rated"] == ["coherence"]
    assert {row["higher_is_better"] for row in rows if row["aspect"] == "aggressiveness"} == {False}
    assert built.table("replies", "test").data["references"][0] == ['Yes, "they" do.']
    assert [line.partition(":")[0] for line in built.agreement] == [
        f"Krippendorff's alpha (ordinal, {aspect})"
        for aspect in ("relevance", "coherence", "aggressiveness", "suitableness")
    ]
    assert built.agreement[1].endswith("(3 replies judged by two or more raters)")


def test_comparisons(recipe_of: RecipeOf) -> None:
    built, _ = build_tables(load_recipe(str(recipe_of(small.comparisons_campaign))))
    rows = built.table("comparisons", "test").rows()
    assert [(row["system_a"], row["system_b"], row["rater"], row["verdict"], row["reason"]) for row in rows] == [
        ("one", "two", "p1", "a", None),
        ("one", "two", "p2", "a", None),
        ("one", "two", "p1", "tie", None),
        ("one", "two", "p2", "invalid", "not_rated"),
    ]
    assert built.agreement == ["Krippendorff's alpha (nominal): undefined (1 comparisons judged by two or more raters)"]


def test_final_verdicts(recipe_of: RecipeOf) -> None:
    built, _ = build_tables(load_recipe(str(recipe_of(small.decided_comparisons))))
    one, two = built.table("labels", "test").rows()
    replies = built.table("replies", "test").rows()
    assert one == {
        "item_id": replies[0]["item_id"],
        "system_a": "one",
        "system_b": "two",
        "reply_a": replies[0]["reply_id"],
        "reply_b": replies[1]["reply_id"],
        "verdict": "a",
        "reason": None,
        "decided": "unanimous",
        "agreement": "unanimous",
        "n_votes": 2,
        "valid": True,
        "n_validators": 1,
    }
    assert [two[name] for name in ("verdict", "reason", "decided", "agreement", "n_votes", "valid")] == [
        "invalid", "person_discarded", None, None, 1, False
    ]  # fmt: skip
    assert built.notes == ["Validators judged 1 of the 1 final verdicts, and confirmed 1."]


def test_final_grades(recipe_of: RecipeOf) -> None:
    built, _ = build_tables(load_recipe(str(recipe_of(small.validated_ratings))))
    rows = built.table("grades", "test").rows()
    # The first reply's grades are 1 and 2; of the last one's, one rater skipped the coherence.
    reply = built.table("replies", "test").data["reply_id"][0]
    assert rows[0] == {
        "reply_id": reply, "aspect": "relevance", "value": 1.5, "n_votes": 2, "valid": True, "n_validators": 1
    }  # fmt: skip
    assert (rows[4]["valid"], rows[4]["n_validators"]) == (False, 1)
    assert [(row["aspect"], row["value"]) for row in rows if row["n_votes"] == 1] == [("coherence", 1.0)]
    assert built.notes == ["Validators judged 2 of the 4 final grades, and confirmed 1."]


@pytest.mark.parametrize(
    ("make", "file", "old", "new", "message"),
    [
        (0, "hs", "Ombrey", "Tessok", r"hs\.csv, line 2: the text has the id hs-\w+, not hs-\w+; it was changed"),
        (0, "cn", small.CN_ID[0], small.CN_ID[1], r"cn\.csv, line 3: the text has the id"),
        (
            0,
            "pairs",
            f"{small.PAIR[0][0]},appropriate",
            f"{small.PAIR[0][0]},",
            "needs a label, or a reason why it has n",
        ),
        (
            0,
            "pairs",
            small.PAIR[0][0],
            "hs-0:cn-0",
            r"votes\.csv, line 2: pair_id hs-\S+ is not in the file that it refers to",
        ),
        (0, "pairs", ",1,2,", ",2,2,", r"pairs\.csv, line 3: valid is '2', expected one of '0', '1'"),
        (0, "votes", "not_sure", "perhaps", r"votes\.csv, line 7: label is 'perhaps', expected one of"),
        (0, "votes", "p2", "p1", r"votes/test: two rows share pair_id \S+, rater p1"),
        (1, "ratings", "relevance", "elegance", r"ratings\.csv, line 2: aspect is 'elegance', expected one of"),
        (1, "ratings", "\nre-", "\nre-0", r"ratings\.csv, line 2: reply_id re-0\w+ is not in the file"),
        (1, "replies", "Ombrey", "Tessok", r"replies\.csv, line 2: the HS does not have the id hs-"),
        (1, "replies", '"[""Yes', '"[Yes', r"replies\.csv, line 2: references are not a JSON list"),
        (2, "comparisons", "tie", "draw", r"comparisons\.csv, line 4: verdict is 'draw', expected one of"),
        (2, "comparisons", "\nre-", "\nre-0", r"line 2: reply_a re-0\w+ is not in the file"),
        (3, "labels", "\nre-", "\nre-0", r"labels\.csv, line 2: reply_a re-0\w+ is not in the file"),
        (3, "labels", ",unanimous", ",", r"labels\.csv, line 2: a needs `decided`, or `reason` if it is invalid"),
        (4, "grades", "\nre-", "\nre-0", r"grades\.csv, line 2: re-0\w+ has no rating of \w+"),
    ],
)
def test_bad_files_are_named_with_their_line(
    recipe_of: RecipeOf, make: int, file: str, old: str, new: str, message: str
) -> None:
    recipe = recipe_of(KINDS[make])
    path = recipe.parent / f"{file}.csv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    data = yaml.safe_load(recipe.read_text(encoding="utf-8"))
    data["sources"][file]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    recipe.write_text(yaml.safe_dump(data), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        build_tables(load_recipe(str(recipe)))


def _changed(recipe: Path, **changes: object) -> str:
    data = yaml.safe_load(recipe.read_text(encoding="utf-8")) | changes
    recipe.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return str(recipe)


def test_counts_that_differ_are_named(recipe_of: RecipeOf) -> None:
    recipe = _changed(recipe_of(), expect_by_tier_rule={})
    with pytest.raises(
        InputError, match=r"diamond/test rows: found 1, expected 2.*correct `expect_by_tier_rule\.strict`"
    ):
        build_tables(load_recipe(recipe), tier_rule="strict")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"own_tier_rule": {"meaning": "x", "tiers": [{"name": "gold", "min_vote": 2}]}},
            r"line \d+: unknown key 'own_tier_rule\.tiers\.0\.min_vote'; did you mean 'min_votes'\?",
        ),
        (
            {"own_tier_rule": {"meaning": "x", "tier": [], "tiers": [{"name": "gold"}]}},
            r"line \d+: unknown key 'own_tier_rule\.tier'; did you mean 'tiers'\?",
        ),
        ({"tier_rule": "loose"}, "tier_rule: unknown tier rule; the catalogue has released, strict"),
        (
            {"kind": "exhaustive", "own_tier_rule": {"meaning": "x", "tiers": [{"name": "gold"}]}},
            "own_tier_rule: only kind 'campaign' may have its own tier rule",
        ),
    ],
)
def test_tier_rules_in_a_recipe_are_checked(recipe_of: RecipeOf, changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_recipe(_changed(recipe_of(), **changes))


def test_campaigns_without_pairs_have_no_tiers(recipe_of: RecipeOf) -> None:
    with pytest.raises(InputError, match="recipe 'small-ratings' has no tiers: leave --tier-rule out"):
        build_tables(load_recipe(str(recipe_of(small.ratings_campaign))), tier_rule="strict")
