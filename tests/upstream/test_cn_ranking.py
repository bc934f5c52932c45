import json
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from tests.upstream import oracle
from tests.upstream.conftest import Release
from tests.upstream.oracle import Row

pytestmark = pytest.mark.upstream

CORPORA = {"conan": "CONAN", "mt-conan": "CONAN-MT"}
JUDGES = {"7b": "7", "13b": "13", "33b": "33"}
VERDICTS = {"A": "a", "B": "b", "T": "tie"}
SYSTEMS = {
    "gold_truth",
    "llama_chat",
    "llama_zs_chat",
    "mistral",
    "mistral_instruct",
    "mistral_zs",
    "mistral_zs_instruct",
    "zephyr",
    "zephyr_zs",
}
ASPECTS = ("relatedness", "specificity", "richness", "coherence", "grammaticality", "overall")


@pytest.fixture
def folder(release: Release) -> Path:
    return release("cn-ranking")


@pytest.fixture
def ranked(mirror: Path) -> Path:
    return mirror / oracle.CN_EVAL / "evaluation/manual_evaluation/rank"


def _comparisons(folder: Path, split: str, corpus: str, rater: str | None = None) -> list[Row]:
    return [
        row
        for row in oracle.rows(folder, "comparisons", split)
        if row["corpus"] == corpus and rater in (None, row["rater"])
    ]


def _replies(folder: Path) -> dict[str, Row]:
    return {row["reply_id"]: row for corpus in ("conan", "mt_conan") for row in oracle.rows(folder, "replies", corpus)}


def _texts(row: Row, replies: dict[str, Row]) -> tuple[str, str, str]:
    """HS and both texts of a comparison, through the reply ids."""
    a, b = replies[row["reply_a"]], replies[row["reply_b"]]
    assert (a["hs_id"], a["item_id"], a["system"]) == (b["hs_id"], row["item_id"], row["system_a"])
    assert (b["item_id"], b["system"]) == (row["item_id"], row["system_b"])
    return oracle.normalised(a["hate_speech"]), oracle.normalised(a["text"]), oracle.normalised(b["text"])


def _upstream_texts(row: dict[str, str]) -> tuple[str, str, str]:
    return oracle.normalised(row["HS"]), oracle.normalised(row["ModelA"]), oracle.normalised(row["ModelB"])


def _human_file(ranked: Path, corpus: str, rater: int) -> list[dict[str, str]]:
    name = CORPORA[corpus]
    return oracle.read_csv(ranked / name / f"manual_rank/ann{rater}_{name.lower()}_rank.csv")


def _common_file(ranked: Path, corpus: str) -> list[dict[str, str]]:
    name = CORPORA[corpus]
    return oracle.read_csv(ranked / name / f"manual_rank/{name.lower()}_common_instances_rank.csv")


def _judged_file(ranked: Path, corpus: str, judge: str) -> list[Row]:
    path = ranked / CORPORA[corpus] / f"judgelm/judged_{JUDGES[judge]}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("judge", list(JUDGES))
@pytest.mark.parametrize("corpus", list(CORPORA))
def test_tournament_equals_the_released_outcomes(folder: Path, mirror: Path, corpus: str, judge: str) -> None:
    path = f"evaluation/judgements/{CORPORA[corpus]}/{judge.upper()}/{JUDGES[judge]}_ilv_results.csv"
    expected = [
        (
            int(row["question_id"]),
            row["model_1"],
            row["model_2"],
            {row["model_1"]: "a", row["model_2"]: "b", "tie": "tie"}[row["wins"]],
        )
        for row in oracle.read_csv(mirror / oracle.CN_EVAL / path)
    ]
    names = ("corpus", "rater", "question_id", "system_a", "system_b", "verdict", "item_id", "rater_kind")
    items = {row["question_id"]: row["item_id"] for row in oracle.rows(folder, "items", corpus.replace("-", "_"))}
    found = [
        row[2:]
        for row in zip(*oracle.columns(folder, "comparisons", "tournament", *names), strict=True)
        if row[:2] == (corpus, f"judgelm-{judge}")
    ]
    assert [row[:4] for row in found] == expected
    assert all(row[4:] == (items[row[0]], "model") for row in found)


@pytest.mark.parametrize(
    ("corpus", "judge", "rows", "missing"),
    [
        ("conan", "7b", 45972, 0),
        ("conan", "13b", 45972, 0),
        ("conan", "33b", 45972, 0),
        ("mt-conan", "7b", 31000, 5),
        ("mt-conan", "13b", 31000, 5),
        ("mt-conan", "33b", 32000, 4),
    ],
)
def test_missing_pairs_of_systems_are_stated(
    folder: Path, mirror: Path, corpus: str, judge: str, rows: int, missing: int
) -> None:
    path = f"evaluation/judgements/{CORPORA[corpus]}/{judge.upper()}/{JUDGES[judge]}_ilv_results.csv"
    upstream = oracle.read_csv(mirror / oracle.CN_EVAL / path)
    assert len(upstream) == rows
    assert 36 - len({frozenset((row["model_1"], row["model_2"])) for row in upstream}) == missing
    facts = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["facts"]
    assert facts[f"{corpus.replace('-', '_')}_{judge}_missing_pairs"] == missing


@pytest.mark.parametrize("corpus", list(CORPORA))
def test_items_are_the_test_set(folder: Path, mirror: Path, corpus: str) -> None:
    name = {"conan": "CONAN", "mt-conan": "MT-CONAN"}[corpus]
    upstream = oracle.read_csv(mirror / oracle.CN_EVAL / f"data/{name}/{name}_test.csv")
    rows = oracle.rows(folder, "items", corpus.replace("-", "_"))
    assert [(row["question_id"], row["hate_speech"], row["reference"]) for row in rows] == [
        (number, row["HS"], row["CN"]) for number, row in enumerate(upstream)
    ]
    assert [(row["hs_id"], row["cn_id"]) for row in rows] == [
        (oracle.text_id("hs", row["HS"]), oracle.text_id("cn", row["CN"])) for row in upstream
    ]
    compared = {row["item_id"] for row in _comparisons(folder, "judgelm", corpus)}
    assert {row["item_id"] for row in rows if row["compared_by_humans"]} == compared
    assert len(compared) == 10


@pytest.mark.parametrize("corpus", list(CORPORA))
def test_people_compared_36_pairs_of_ten_instances(folder: Path, corpus: str) -> None:
    rows = _comparisons(folder, "human", corpus)
    assert Counter(row["rater"] for row in rows) == {"rater-1": 216, "rater-2": 216, "rater-3": 216}
    times = Counter((row["item_id"], frozenset((row["system_a"], row["system_b"]))) for row in rows)
    assert Counter(times.values()) == {3: 144, 1: 216}  # 72 of each annotator alone
    assert Counter(Counter(item for item, _ in times).values()) == {36: 10}
    alone = Counter(
        row["rater"] for row in rows if times[row["item_id"], frozenset((row["system_a"], row["system_b"]))] == 1
    )
    assert alone == {"rater-1": 72, "rater-2": 72, "rater-3": 72}
    assert {system for _, pair in times for system in pair} == SYSTEMS


@pytest.mark.parametrize("rater", [1, 2, 3])
@pytest.mark.parametrize("corpus", list(CORPORA))
def test_human_verdicts_equal_the_released_files(folder: Path, ranked: Path, corpus: str, rater: int) -> None:
    upstream = _human_file(ranked, corpus, rater)
    replies = _replies(folder)
    found = [(*_texts(row, replies), row["verdict"]) for row in _comparisons(folder, "human", corpus, f"rater-{rater}")]
    assert found == [(*_upstream_texts(row), VERDICTS[row["Winner"].upper()]) for row in upstream]
    if corpus == "conan":
        rows = _comparisons(folder, "human", corpus, f"rater-{rater}")
        assert [(row["system_a"], row["system_b"]) for row in rows] == [
            (row["model_a"], row["model_b"]) for row in upstream
        ]


@pytest.mark.parametrize("corpus", list(CORPORA))
def test_the_720_human_comparisons_name_the_systems_of_the_verdict_files(
    folder: Path, ranked: Path, corpus: str
) -> None:
    asked: dict[tuple[str, str], set[tuple[str, str, str]]] = {}
    for record in _judged_file(ranked, corpus, "33b"):
        question = oracle.normalised(record["question_body"])
        a, b = oracle.normalised(record["answer1_body"]), oracle.normalised(record["answer2_body"])
        asked.setdefault((a, b), set()).add((question, record["answer1_model_id"], record["answer2_model_id"]))
    replies = _replies(folder)
    rows = {_texts(row, replies): row for row in _comparisons(folder, "human", corpus)}
    assert len(rows) == 360
    for (hate_speech, a, b), row in rows.items():
        named = {tuple(systems) for question, *systems in asked[a, b] if hate_speech in question}
        assert named == {(row["system_a"], row["system_b"])}


@pytest.mark.parametrize(
    ("corpus", "kappa"),
    [("conan", 0.4222), ("mt-conan", 0.5834)],  # the paper prints .42 for CONAN
)
def test_agreement_of_the_common_comparisons(folder: Path, ranked: Path, corpus: str, kappa: float) -> None:
    rows = _comparisons(folder, "human", corpus)
    verdicts: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        verdicts.setdefault((row["reply_a"], row["reply_b"]), {})[row["rater"]] = row["verdict"]
    common = [given for given in verdicts.values() if len(given) == 3]
    assert len(common) == 144
    raters = [[given[f"rater-{number}"] for given in common] for number in (1, 2, 3)]
    mean = sum(oracle.cohen_kappa(one, two) for one, two in combinations(raters, 2)) / 3
    released = [[row[f"ann{number}"].upper() for row in _common_file(ranked, corpus)] for number in (1, 2, 3)]
    assert mean == pytest.approx(sum(oracle.cohen_kappa(a, b) for a, b in combinations(released, 2)) / 3, abs=1e-12)
    assert round(mean, 4) == kappa
    line = f"- Mean pairwise Cohen's kappa, {corpus}: {kappa:.3f} (144 comparisons judged by all three annotators)\n"
    assert line in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("corpus", "unresolved"), [("conan", 6), ("mt-conan", 3)])
def test_majorities(folder: Path, ranked: Path, corpus: str, unresolved: int) -> None:
    replies = _replies(folder)
    found = {
        name: {_texts(row, replies): row for row in _comparisons(folder, "human_majority", corpus, name)}
        for name in ("majority", "majority-released")
    }
    upstream = _common_file(ranked, corpus)
    assert len(upstream) == len(found["majority"]) == len(found["majority-released"]) == 144
    split = 0
    for row in upstream:
        given = Counter(VERDICTS[row[f"ann{number}"].upper()] for number in (1, 2, 3))
        winner, votes = given.most_common(1)[0]
        split += votes == 1
        ours = found["majority"][_upstream_texts(row)]
        assert (ours["verdict"], ours["reason"]) == ((winner, None) if votes > 1 else ("invalid", "unresolved"))
        released = found["majority-released"][_upstream_texts(row)]
        assert (released["verdict"], released["reason"]) == (VERDICTS[row["maj_vote"].upper()], None)
        if votes > 1:
            assert released["verdict"] == winner
    assert split == unresolved


@pytest.mark.parametrize("judge", list(JUDGES))
@pytest.mark.parametrize("corpus", list(CORPORA))
def test_verdicts_of_the_judges_equal_their_raw_output(folder: Path, ranked: Path, corpus: str, judge: str) -> None:
    replies = _replies(folder)
    rows = _comparisons(folder, "judgelm", corpus, f"judgelm-{judge}")
    upstream = _judged_file(ranked, corpus, judge)
    assert len(rows) == len(upstream) == 360
    for row, record in zip(rows, upstream, strict=True):
        assert _texts(row, replies)[1:] == (
            oracle.normalised(record["answer1_body"]),
            oracle.normalised(record["answer2_body"]),
        )
        assert (row["system_a"], row["system_b"]) == (record["answer1_model_id"], record["answer2_model_id"])
        head = record["pred_text"].split("\n")[0].split()[:2]
        if row["verdict"] == "invalid":
            assert row["reason"] in ("empty", "no_scores")  # the judges gave no score off their scale, 1 to 10
            assert row["score_a"] is row["score_b"] is None
            continue
        a, b = (float(score) for score in head)
        assert (row["score_a"], row["score_b"], row["reason"]) == (a, b, None)
        assert 1 <= min(a, b) <= max(a, b) <= 10
        assert row["verdict"] == ("a" if a > b else "b" if b > a else "tie")


def test_outputs_without_scores_are_invalid_and_no_others(folder: Path) -> None:
    rows = [row for row in oracle.rows(folder, "comparisons", "judgelm") if row["verdict"] == "invalid"]
    assert Counter((row["corpus"], row["rater"]) for row in rows) == {
        ("mt-conan", f"judgelm-{judge}"): 2 for judge in JUDGES
    }
    assert len({(row["reply_a"], row["reply_b"]) for row in rows}) == 2
    for split in ("human", "tournament"):
        (verdicts,) = oracle.columns(folder, "comparisons", split, "verdict")
        assert set(verdicts) == {"a", "b", "tie"}


@pytest.mark.parametrize("corpus", list(CORPORA))
def test_nine_replies_of_every_instance(folder: Path, corpus: str) -> None:
    rows = oracle.rows(folder, "replies", corpus.replace("-", "_"))
    assert len({row["reply_id"] for row in rows}) == len(rows)
    compared = {row["item_id"] for row in _comparisons(folder, "human", corpus)}
    systems: dict[str, list[str]] = {}
    for row in rows:
        systems.setdefault(row["item_id"], []).append(row["system"])
    assert len(compared) == 10
    assert all(sorted(systems[item]) == sorted(SYSTEMS) for item in compared)
    # The others were rated for features only: references of other instances.
    others = [names for item, names in systems.items() if item not in compared]
    assert others == [["gold_truth"]] * (9 if corpus == "conan" else 0)
    # One HS of CONAN is two instances.
    assert len({row["hs_id"] for row in rows if row["item_id"] in compared}) == (9 if corpus == "conan" else 10)


@pytest.mark.parametrize(("rater", "file"), [("rater-1", "ann1"), ("rater-3", "ann3")])
def test_feature_ratings_equal_the_released_cells(folder: Path, mirror: Path, rater: str, file: str) -> None:
    path = f"evaluation/manual_evaluation/features/{file}_feature_evaluation_data.csv"
    upstream = oracle.read_csv(mirror / oracle.CN_EVAL / path)
    ratings = [row for row in oracle.rows(folder, "ratings", "features") if row["rater"] == rater]
    replies = _replies(folder)
    found = [
        (
            oracle.normalised(replies[row["reply_id"]]["hate_speech"]),
            oracle.normalised(replies[row["reply_id"]]["text"]),
            replies[row["reply_id"]]["system"],
            row["aspect"],
            row["value"],
        )
        for row in ratings
    ]
    assert found == [
        (
            oracle.normalised(row["HS"]),
            oracle.normalised(row["CN"]),
            row["model"],
            aspect,
            float(row[aspect.capitalize()]),
        )
        for row in upstream
        for aspect in ASPECTS
    ]
    assert len(found) == 540
    assert {(row["rater_kind"], row["reason"], row["higher_is_better"]) for row in ratings} == {("human", None, True)}
    assert all(row["low"] <= row["value"] <= row["high"] for row in ratings)
