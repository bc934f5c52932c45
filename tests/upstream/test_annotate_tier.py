"""FC-CONAN as a campaign: its released votes, labels and validity give its released partitions."""

from pathlib import Path

import pytest

from fcconan import build, release as release_campaign
from fcconan.annotation import Answer, Campaign, Decision, Rater, Settings, Unit, create
from fcconan.data import read_table
from fcconan.judging import load_task
from tests.annotation.published import LABEL, MAIN, fill, validate
from tests.upstream import oracle
from tests.upstream.conftest import Release
from tests.upstream.oracle import Row

pytestmark = pytest.mark.upstream

TIERS = ("diamond", "gold", "silver", "bronze")
COLUMNS = ("pair_id", "hate_speech", "counter_narrative", "label", "valid", "n_votes", "agreement", "tier")


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
    raters = [*(Rater(f"annotator-{number}") for number in (1, 2, 3)), Rater("validator-1", "validator")]
    fill(made, raters, answers)
    made.write("decisions.jsonl", [Decision(pair["pair_id"], pair["label"], "rule", "majority") for pair in pairs])
    words = {True: "agree", False: "disagree"}
    seen = [pair for pair in pairs if pair["valid"] is not None]
    validate(made, [("validator-1", pair["pair_id"], {LABEL: pair["label"]}, words[pair["valid"]]) for pair in seen])
    return made


def test_the_release_of_the_campaign_is_that_of_fc_conan(
    campaign: Campaign, release: Release, mirror: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "out" / "recipe.yaml"
    found = release_campaign(campaign.folder, out=recipe.parent)
    assert not found.to_frame("left_out")["reason"].str.startswith("pairs without a label").any()
    built, strict, folder = tmp_path / "built", tmp_path / "strict", release("fc-conan")
    build(str(recipe), out=built)
    for config in ("corpus", "queries", "qrels", "diamond-qrels", "gold-qrels", "silver-qrels"):
        assert _rows(built, config) == _rows(folder, config), config
    members = {name: _members(mirror, name) for name in TIERS}
    assert [len(members[name]) for name in TIERS] == [551, 663, 3580, 3997]
    for name in TIERS:
        assert {row["pair_id"] for row in _rows(built, name)} == members[name]
        ours, theirs = ([[row[column] for column in COLUMNS] for row in _rows(at, name)] for at in (built, folder))
        assert ours == theirs
    assert len(_rows(built, "votes")) == 4897
    build(str(recipe), out=strict, tier_rule="strict")
    diamond = {row["pair_id"] for row in _rows(strict, "diamond")}
    assert (len(diamond), diamond < members["diamond"]) == (530, True)
    assert {row["pair_id"] for row in _rows(strict, "gold")} == members["gold"]
