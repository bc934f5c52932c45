"""FC-CONAN as a campaign: its released votes, labels and validity give its released partitions."""

import csv
from pathlib import Path

import pytest

from fcconan.annotation import write_dataset
from fcconan.annotation.campaigns import (
    LABEL,
    MAIN,
    VALIDATION,
    Answer,
    Assignment,
    Campaign,
    Decision,
    Rater,
    Settings,
    Unit,
    create,
)
from fcconan.building import build_tables, load_recipe
from fcconan.data import read_table
from fcconan.judging import load_task
from tests.upstream import oracle
from tests.upstream.conftest import Release
from tests.upstream.oracle import Row

pytestmark = pytest.mark.upstream

TIERS = ("diamond", "gold", "silver", "bronze")


def _rows(folder: Path, config: str) -> list[Row]:
    rows: list[Row] = read_table(folder / config / "test-00000-of-00001.parquet").to_pylist()
    return rows


def _members(mirror: Path, tier: str) -> set[str]:
    path = mirror / oracle.FC_CONAN / f"fc_conan_partitions/{tier}_df/{tier}_partition_df.csv"
    return {oracle.ids(row["hate speech"], row["counternarrative"])["pair_id"] for row in oracle.read_csv(path)}


@pytest.fixture
def campaign(release: Release, tmp_path: Path) -> Campaign:
    """What the release says people did: votes by position, final labels, and one validator's answers."""
    folder = release("fc-conan")
    pairs, votes = _rows(folder, "bronze"), _rows(folder, "votes")
    texts = {
        "hs.jsonl": [{"hs_id": row["_id"], "text": row["text"]} for row in _rows(folder, "queries")],
        "cn.jsonl": [{"cn_id": row["_id"], "text": row["text"]} for row in _rows(folder, "corpus")],
    }
    units = [Unit(pair["pair_id"], hs_id=pair["hs_id"], cn_id=pair["cn_id"]) for pair in pairs]
    made = create(tmp_path / "campaign", Settings(name="replay"), load_task("appropriateness"), units, texts)
    answers = [Answer(MAIN, vote["rater"], vote["pair_id"], LABEL, vote["label"]) for vote in votes]
    confirmed = [
        Answer(VALIDATION, "validator-1", pair["pair_id"], LABEL, "agree" if pair["valid"] else "disagree")
        for pair in pairs
    ]
    with made.changing():
        made.write(
            "raters.jsonl",
            [*(Rater(f"annotator-{number}") for number in (1, 2, 3)), Rater("validator-1", "validator")],
        )
        for name, given in ((MAIN, answers), (VALIDATION, confirmed)):
            rows = [Assignment(answer.rater, answer.unit_id, place) for place, answer in enumerate(given, start=1)]
            made.write(f"rounds/{name}.jsonl", rows)
        made.write("answers.jsonl", [*answers, *confirmed])
        made.write("decisions.jsonl", [Decision(pair["pair_id"], pair["label"], "rule", "majority") for pair in pairs])
    return made


def test_the_released_rule_gives_the_released_partitions_and_strict_530(
    campaign: Campaign, mirror: Path, tmp_path: Path
) -> None:
    written = write_dataset(campaign, tmp_path / "out", rule="released")
    assert written.facts["left_out"] == 0
    recipe = load_recipe(str(written.recipe))
    released = {name: _members(mirror, name) for name in TIERS}
    assert [len(released[name]) for name in TIERS] == [551, 663, 3580, 3997]
    built, _ = build_tables(recipe)
    for name in TIERS:
        assert set(built.table(name, "test").data["pair_id"]) == released[name]
    assert len(built.table("votes", "test")) == 4897
    strict, _ = build_tables(recipe, tier_rule="strict")
    diamond = set(strict.table("diamond", "test").data["pair_id"])
    assert (len(diamond), diamond < released["diamond"]) == (530, True)
    assert set(strict.table("gold", "test").data["pair_id"]) == released["gold"]


def test_labels_and_benchmark_equal_those_of_the_recipe_of_fc_conan(
    campaign: Campaign, release: Release, tmp_path: Path
) -> None:
    written = write_dataset(campaign, tmp_path / "out")
    built, _ = build_tables(load_recipe(str(written.recipe)))
    folder = release("fc-conan")
    for config in ("corpus", "queries", "qrels", "diamond-qrels", "gold-qrels", "silver-qrels"):
        assert built.table(config, "test").rows() == _rows(folder, config), config
    columns = ("pair_id", "hate_speech", "counter_narrative", "label", "valid", "n_votes", "agreement", "tier")
    for name in TIERS:
        ours = [[row[column] for column in columns] for row in built.table(name, "test").rows()]
        assert ours == [[row[column] for column in columns] for row in _rows(folder, name)]
    with (tmp_path / "out" / "pairs.csv").open(encoding="utf-8", newline="") as file:
        assert sum(row["valid"] == "1" for row in csv.DictReader(file)) == 3580
