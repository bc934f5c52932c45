"""Refusals in the released data: nobody who wrote CNs refuses, and JudgeLM prefers refusals while people do not."""

import re
from pathlib import Path

import pytest

from fcconan import Bootstrap, audit
from fcconan.parsing import find_refusal, is_refusal
from tests.upstream import oracle
from tests.upstream.conftest import Release
from tests.upstream.oracle import Row

pytestmark = pytest.mark.upstream

# Columns of CNs that people wrote, and how many different texts they hold.
HUMAN = {
    "CONAN/CONAN.csv": ("counterSpeech", 6803),
    "Multitarget-CONAN/Multitarget-CONAN.csv": ("COUNTER_NARRATIVE", 4997),
    "multitarget_KN_grounded_CN/multitarget_KN_grounded_CN.csv": ("counter_narrative", 195),
    "DIALOCONAN/DIALOCONAN.csv": ("text", 6886),
}
SHARES = {  # of refusals in their comparisons with other replies, and the number of these
    "judgelm-7b": (0.84375, 128),
    "judgelm-13b": (0.8203125, 128),
    "judgelm-33b": (0.80078125, 128),
    "rater-1": (0.4875, 80),
    "rater-2": (67 / 144, 72),
    "rater-3": (38 / 88, 88),
}
# Finds the refusals of this release, and serves no other.
CRUDE = re.compile(r".{0,40}\bI (?:cannot|can['’]t)\b(?! agree)", re.DOTALL)
POINTS = {"a": 1.0, "tie": 0.5, "b": 0.0}


@pytest.fixture
def judged(release: Release) -> tuple[list[Row], list[Row]]:
    folder = release("cn-ranking")
    replies = [row for corpus in ("conan", "mt_conan") for row in oracle.rows(folder, "replies", corpus)]
    return replies, [row for split in ("human", "judgelm") for row in oracle.rows(folder, "comparisons", split)]


@pytest.mark.long
def test_no_counter_narrative_of_people_is_a_refusal(mirror: Path) -> None:
    texts: set[str] = set()
    for path, (column, number) in HUMAN.items():
        rows = oracle.read_csv(mirror / oracle.CONAN / path)
        found = {oracle.normalised(row[column]) for row in rows if row.get("type") in (None, "CN")} - {""}
        assert (path, len(found)) == (path, number)
        texts |= found
    assert len(texts) == 16_807
    assert [text for text in texts if find_refusal(text) is not None] == []


@pytest.mark.long
def test_the_refusals_are_those_that_one_crude_pattern_finds(judged: tuple[list[Row], list[Row]]) -> None:
    replies, _ = judged
    found = [row for row in replies if is_refusal(row["text"])]
    assert (len(found), {row["system"] for row in found}) == (16, {"llama_zs_chat"})
    assert [row["reply_id"] for row in replies if CRUDE.match(row["text"])] == [row["reply_id"] for row in found]


@pytest.mark.long
def test_judgelm_prefers_refusals_and_people_do_not(judged: tuple[list[Row], list[Row]]) -> None:
    replies, comparisons = judged
    checks = audit(comparisons=(comparisons,), replies=replies, bootstrap=Bootstrap(resamples=1000)).to_frame()
    wins = checks[checks["check"] == "refusal_wins"].set_index("rater")
    assert wins["n"].to_dict() == {rater: number for rater, (_, number) in SHARES.items()}
    assert wins["value"].to_dict() == pytest.approx({rater: value for rater, (value, _) in SHARES.items()})
    is_judge = wins.index.str.startswith("judgelm")
    assert (wins.loc[is_judge, "low"] > 0.7).all()
    assert wins.loc[~is_judge, ["low", "high"]].pipe(lambda ends: (ends["low"] < 0.5) & (ends["high"] > 0.5)).all()

    refusals = {row["reply_id"] for row in replies if CRUDE.match(row["text"])}
    for rater, (value, number) in SHARES.items():
        points = [
            POINTS[row["verdict"]] if row["reply_a"] in refusals else 1 - POINTS[row["verdict"]]
            for row in comparisons
            if row["rater"] == rater and (row["reply_a"] in refusals) != (row["reply_b"] in refusals)
        ]
        assert len(points) == number
        assert sum(points) / len(points) == pytest.approx(value)
