"""The rule of adjudication on FC-CONAN's release, and agreement as published for CSEval."""

from collections import Counter
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from fcconan import Bootstrap, adjudicate, agree, validate
from fcconan.annotation import VALIDATION, Answer, Assignment, Campaign, Rater, Settings, Unit, create
from fcconan.data import read_rows
from fcconan.judging import load_task
from tests.upstream.conftest import Release

LABEL, MAIN = "label", "main"

pytestmark = pytest.mark.upstream


@pytest.fixture(scope="module")
def made() -> dict[str, tuple[Campaign, dict[str, str]]]:
    """What `fc_conan` made, once."""
    return {}


@pytest.fixture
def fc_conan(
    release: Release, made: dict[str, tuple[Campaign, dict[str, str]]], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Campaign, dict[str, str]]:
    """FC-CONAN's campaign and labels; tests add decisions to it at most."""
    if not made:
        made["fc-conan"] = released(release, tmp_path_factory.mktemp("fc-conan") / "c")
    return made["fc-conan"]


def released(release: Release, folder: Path) -> tuple[Campaign, dict[str, str]]:
    """FC-CONAN's pairs and votes as a campaign without texts, and the released labels."""
    built = release("fc-conan")
    (bronze,), (votes,) = (list((built / name).glob("*.parquet")) for name in ("bronze", "votes"))
    pairs = list(read_rows(bronze))
    units = [Unit(row["pair_id"], hs_id=row["hs_id"], cn_id=row["cn_id"]) for row in pairs]
    campaign = create(folder, Settings(name="fc-conan"), load_task("appropriateness"), units, {})
    given = [(row["rater"], row["pair_id"], row["label"]) for row in read_rows(votes)]
    raters = sorted({rater for rater, _, _ in given})
    validators = [Rater(f"validator-{number}", "validator") for number in range(1, 5)]
    campaign.write("raters.csv", [*map(Rater, raters), *validators])
    campaign.write("rounds/main.jsonl", (Assignment(rater, unit, at) for at, (rater, unit, _) in enumerate(given, 1)))
    campaign.write("answers.jsonl", (Answer(MAIN, rater, unit, LABEL, label) for rater, unit, label in given))
    return campaign, {row["pair_id"]: row["label"] for row in pairs}


def test_the_rule_gives_every_label_of_fc_conan(fc_conan: tuple[Campaign, dict[str, str]]) -> None:
    campaign, labels = fc_conan
    units = adjudicate(campaign.folder).to_frame().query("units > 0").set_index("name")["units"]
    assert {unit: each.label for unit, each in campaign.decisions().items()} == labels
    counts = {"single": 3296, "unanimous": 547, "majority": 25, "other_not_sure": 129}
    assert units[[*counts]].to_dict() == counts
    assert units.sum() == 2 * len(labels) + 25 + 129  # labels, reasons, and conflicts that the rule resolves
    votes: dict[str, list[str]] = {}
    for each in campaign.history():
        votes.setdefault(each.unit_id, []).append(str(each.value))
    # What the rule discards is not in the release, so that it shows less than it seems to: of the 19 kinds of votes
    # that one to three raters can give, order aside, the seven that have no label never occur ...
    code = {"not_appropriate": "0", "not_sure": "1", "appropriate": "2"}
    kinds = Counter("".join(sorted(code[label] for label in given)) for given in votes.values())
    every = {"".join(kind) for size in (1, 2, 3) for kind in combinations_with_replacement("012", size)}
    assert every - kinds.keys() == {"1", "11", "02", "011", "012", "111", "112"}
    # ... and a rule for which raters who are not sure do not vote gives the same labels.
    for unit, given in votes.items():
        sure = Counter(label for label in given if label != "not_sure")
        assert max(sure, key=lambda label: sure[label]) == labels[unit]


def test_four_validators_share_four_thousand_pairs_of_fc_conan(fc_conan: tuple[Campaign, dict[str, str]]) -> None:
    campaign, labels = fc_conan
    adjudicate(campaign.folder)
    validate(campaign.folder, sample_size=3996, bootstrap=Bootstrap(resamples=0))
    given = campaign.assignments(VALIDATION)
    assert Counter(each.rater for each in given) == {f"validator-{number}": 999 for number in range(1, 5)}
    assert all(row[LABEL] == labels[unit] for (_, unit), row in (campaign.shown(VALIDATION) or {}).items())


@pytest.mark.long
def test_agreement_of_cseval_is_the_published_one(release: Release, tmp_path: Path) -> None:
    (file,) = (release("cseval") / "ratings").glob("agreement_round2-*.parquet")
    rows = [row for row in read_rows(file) if row["rater_kind"] == "human"]
    replies = dict.fromkeys(row["reply_id"] for row in rows)
    units = [Unit(reply, item_id=reply, reply_a=reply) for reply in replies]
    campaign = create(tmp_path / "c", Settings(name="cseval"), load_task("cseval"), units, {})
    raters = sorted({row["rater"] for row in rows})
    campaign.write("raters.csv", map(Rater, raters))
    campaign.write(
        "rounds/main.jsonl", (Assignment(rater, reply, at) for rater in raters for at, reply in enumerate(replies, 1))
    )
    campaign.write(
        "answers.jsonl", (Answer(MAIN, row["rater"], row["reply_id"], row["aspect"], row["value"]) for row in rows)
    )
    found = agree(str(tmp_path / "c"), coefficient=("krippendorff_ordinal",), bootstrap=Bootstrap(resamples=0))
    alpha = found.to_frame().set_index("aspect")["value"].round(3).to_dict()
    assert alpha == {"relevance": 0.760, "aggressiveness": 0.534, "coherence": 0.755, "suitableness": 0.697}
