from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from fcconan.building.builds import build, build_tables, load_recipe
from fcconan.building.kinds import demo
from fcconan.building.source_files import SourceFiles
from fcconan.building.tables import Built
from fcconan.data import LABELS, VERDICTS, VOTE_LABELS, content_folder, normalise, read_yaml

CORPUS = read_yaml(content_folder() / "builders" / "demo" / "texts.yaml")


@pytest.fixture(scope="module")
def built() -> Built:
    return build_tables(load_recipe("demo"))[0]


def test_every_combination_is_labelled_by_one_to_three_annotators(built: Built) -> None:
    pairs = built.table("bronze", "test").rows()
    assert {(p["hate_speech"], p["counter_narrative"]) for p in pairs} == set(
        product([hs["text"] for hs in CORPUS["hate_speech"]], [cn["text"] for cn in CORPUS["counter_narratives"]])
    )
    assert len(pairs) == 24 * 60
    votes = Counter(vote["pair_id"] for vote in built.table("votes", "test").rows())
    assert {p["pair_id"]: p["n_votes"] for p in pairs} == votes
    assert set(votes.values()) == {1, 2, 3}
    assert set(built.table("votes", "test").data["label"]) == set(VOTE_LABELS)
    assert set(built.table("bronze", "test").data["label"]) == set(LABELS)


@pytest.mark.parametrize(
    ("people", "topics", "tone", "expected"),
    [
        ("velmari", ("work",), "civil", ("appropriate", False)),
        ("velmari", ("crime",), "civil", ("not_appropriate", True)),
        ("ostrun", ("work",), "civil", ("not_appropriate", False)),
        ("velmari", ("work",), "hostile", ("not_appropriate", False)),
        ("any", ("work", "crime"), "civil", ("appropriate", False)),
        ("any", ("any",), "civil", ("appropriate", True)),
    ],
)
def test_the_rule(people: str, topics: tuple[str, ...], tone: str, expected: tuple[str, bool]) -> None:
    hs = demo.Message("", "velmari", ("work",))
    assert demo.true_label(hs, demo.Message("", people, topics, "facts", tone)) == expected


def test_labels_follow_the_rule_as_often_as_the_annotators_are_right(built: Built) -> None:
    hs = {m["text"]: demo.Message(m["text"], m["people"], (m["topic"],)) for m in CORPUS["hate_speech"]}
    cn = {
        m["text"]: demo.Message(m["text"], m["people"], tuple(m["topics"]), m["kind"], m["tone"])
        for m in CORPUS["counter_narratives"]
    }
    truth, borderline = {}, {}
    for pair in built.table("bronze", "test").rows():
        label = demo.true_label(hs[pair["hate_speech"]], cn[pair["counter_narrative"]])
        truth[pair["pair_id"]], borderline[pair["pair_id"]] = label
    right: Counter[str] = Counter()
    given: Counter[str] = Counter()
    for vote in built.table("votes", "test").rows():
        if not borderline[vote["pair_id"]]:
            given[vote["rater"]] += 1
            right[vote["rater"]] += vote["label"] == truth[vote["pair_id"]]
    for rater, accuracy in demo.ACCURACY.items():
        spread = (accuracy * (1 - accuracy) / given[rater]) ** 0.5
        assert abs(right[rater] / given[rater] - accuracy) < 4 * spread, rater


def test_training_pairs_share_no_text_with_the_evaluation_part(built: Built) -> None:
    train = built.table("train", "train").data
    assert not set(train["hs_id"]) & set(built.table("queries", "test").data["_id"])
    assert not set(train["cn_id"]) & set(built.table("corpus", "test").data["_id"])
    assert len(set(train["hs_id"])) == 18


def test_ratings_and_comparisons_have_failures_with_reasons(built: Built) -> None:
    ratings = built.table("ratings", "test").rows()
    assert Counter(rating["reason"] for rating in ratings).keys() == {None, "parse_failed"}
    for rating in ratings:
        assert (rating["value"] is None) == (rating["reason"] is not None)
        assert rating["value"] is None or rating["low"] <= rating["value"] <= rating["high"]
    comparisons = built.table("comparisons", "test").rows()
    assert {comparison["verdict"] for comparison in comparisons} == set(VERDICTS)
    for comparison in comparisons:
        assert (comparison["verdict"] == "invalid") == (comparison["reason"] is not None)
        if comparison["score_a"] is not None:
            difference = comparison["score_a"] - comparison["score_b"]
            assert comparison["verdict"] == ("a" if difference > 0 else "b" if difference < 0 else "tie")


def test_another_seed_gives_other_votes_and_the_same_seed_the_same(built: Built) -> None:
    recipe = load_recipe("demo")
    again = demo.build(SourceFiles(recipe, {}, "released"))
    assert [table.content_hash() for table in again.tables] == [table.content_hash() for table in built.tables]
    other = demo.build(SourceFiles(recipe.model_copy(update={"seed": 1}), {}, "released"))
    assert other.table("votes", "test").content_hash() != built.table("votes", "test").content_hash()
    assert other.table("corpus", "test").content_hash() == built.table("corpus", "test").content_hash()


def test_uniform_is_uniform() -> None:
    drawn = sorted(demo.uniform(3, "x", str(i)) for i in range(10_000))
    # Kolmogorov-Smirnov distance; 1.95 / sqrt(n) is passed by chance once in a thousand seeds.
    assert max(abs(value - i / 10_000) for i, value in enumerate(drawn)) < 1.95 / 100


def test_everything_is_marked_synthetic(built: Built, tmp_path: Path) -> None:
    build("demo", tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "pretty_name: fcconan demo (synthetic)" in card
    assert "- synthetic\n" in card
    assert all(value.startswith("demo-") for value in built.table("bronze", "test").data["source_id"])
    for config, column in (("votes", "rater"), ("ratings", "rater"), ("comparisons", "rater"), ("replies", "system")):
        assert all(value.startswith("simulated-") for value in built.table(config, "test").data[column])


def test_the_texts_are_distinct_and_speak_of_invented_peoples_only() -> None:
    texts = [m["text"] for m in CORPUS["hate_speech"] + CORPUS["counter_narratives"]]
    texts += [text for entry in CORPUS["train"] for text in (entry["hate_speech"], *entry["counter_narratives"])]
    assert len({normalise(text).lower() for text in texts}) == 24 + 60 + 18 + 44
    peoples = set(CORPUS["peoples"])
    assert len(peoples) == 6
    assert {m["people"] for m in CORPUS["hate_speech"]} == peoples
    assert {(m["people"], m["topic"]) for m in CORPUS["hate_speech"]} == set(product(peoples, CORPUS["topics"]))
