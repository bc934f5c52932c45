"""A miniature of CSEval: six replies in `test`, the first four of which are the two agreement rounds."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fcconan.building import build_tables, load_recipe, unified_score
from fcconan.data import RATING, REPLY, make_cn_id, make_hs_id, make_item_id, make_reply_id
from tests import small
from tests.building.made import build_in, failure

Row = dict[str, str]
Files = dict[str, list[Row]]
ASPECTS = ("relevance", "coherence", "aggressiveness", "suitableness")
HS = ["The Ombrey never return a book.", "Every Tessok cheats at cards.", "Nobody needs Velmari bakers."]
SHARED = ("source_id", "hate_speech", "reference", "text", "strategy")
PANEL = tuple(f"{aspect}_{number}" for aspect in ASPECTS for number in (1, 2, 3))
ROUNDS = ("agreement_round1", "agreement_round2")


def _row(columns: tuple[str, ...], *cells: str) -> Row:
    return dict(zip(columns, cells, strict=True))


# The texts of the rounds. The test file spells the first and the fourth differently.
TEXTS = ["Ask a librarian: they come back early!", "Which cards?", "None", "Bread is for all, isn't it?"]
TEST = [
    ("u0", HS[0], "Lists differ.", "Ask a librarian they come back early", "Informative", "dialoGPT"),
    ("u1", HS[1], "Cards are banned.", "Which  cards? ", "Questioning", "GPS"),
    ("u2", HS[1], "Cards are banned.", "None", "Denouncing", "QUARC"),
    ("u3", HS[2], "We do.", "bread is for all isnt it", "Positive", "GPT3.5_ZS"),
    ("u4", HS[2], "We do.", "Who bakes at night?", "Positive", "GPT3.5_FS"),
    ("u5", HS[1], "Cards are banned.", "none.", "Denouncing", ""),
]
# Relevance, coherence, aggressiveness, suitableness: aggregated, as released.
SCORES = [
    ("4.0", "4", "2", "3"),
    ("", "3", "5", "1.3333333"),
    ("1", "2", "1", "2"),
    ("4.6666667", "4.3333333", "0", "2.6666667"),
    ("3", "3", "3", "2"),
    ("5", "5", "1", "4"),
]
# Each aspect's three annotators, in the order of `PANEL`.
VOTES = [
    ("5", "4", "3", "4", "4", "4", "1", "2", "3", "3", "3", "3"),
    ("2", "", "2", "3", "3", "3", "5", "5", "5", "1", "2", "1"),
    ("1", "1", "1", "2", "2", "2", "1", "1", "1", "2", "2", "2"),
    ("5", "5", "4", "4", "4", "5", "", "", "", "3", "2", "3"),
]
MEANS = [*SCORES[:3], ("4.6666667", "4.3333333", "", "2.6666667")]
# judge-a (two aspects, with the raw output), judge-b (all four, none), and a metric.
MODELS = (
    "a_relevance",
    "a_relevance_raw",
    "a_suitableness",
    "a_suitableness_raw",
    *(f"b_{aspect}" for aspect in ASPECTS),
    "tox",
)
MODEL_CELLS = [
    ("5", "5 (very)", "3", "3", "1", "2", "3", "1", "0.25"),
    ("-1", "no idea", "-1", "", "", "", "", "", "-1"),
    ("0", "0", "1", "1", "", "", "", "", ""),
    ("", "", "4", "4!", "", "", "", "", "7"),
    ("3.5", "3.5", "2", "2", "", "", "6", "", "0"),
    ("1", "1", "1", "1", "5", "5", "5", "3", "1e-3"),
]
DEV = [
    # The fifth reply of the test split again, without its question mark, and with other scores.
    ("u4", HS[2], "We do.", "Who bakes at night", "Positive", "1", "1", "1", "1"),
    ("d1", HS[1], "Cards are banned.", "Why?", "Questioning", "5", "5", "1", "3"),
    ("", "Quillish shops are dirty.", "Spotless.", "NA", "Informative", "", "", "", ""),
]
FULL = [
    ("u1", HS[1], "Cards are banned.", "Which cards?", "Questioning", "2", "3", "5", "1"),
    ("f1", "The Dravene shout at the moon.", "They sing.", "Listen.", "Informative", "5", "5", "1", "3"),
]
RANKED = ("source_id", "hate_speech", "reference", "text", "strategy", "system")
ANSWERS = ["They do.", "Who says?", "Stop it.", "Read on."]
# The first reply of the first group is the first one of the test split; upstream left the second group out.
RANKINGS = [
    ("u0", HS[0], "Lists differ.", "Ask a librarian they come back early", "Informative", "dialoGPT"),
    *(("", HS[0], "Lists differ.", text, "Positive", "GPS") for text in ANSWERS),
    *(("", HS[2], "We do.", text, "Denouncing", "QUARC") for text in [*ANSWERS, "None"]),
]
RANKS = {
    "ranks_1": ["1", "2", "3", "4", "5", "5", "4", "3", "2", "1"],
    "ranks_3": ["2", "1", "3", "4", "5", "1", "2", "3", "4", ""],
    "ranks_analysis": ["2", "1", "3", "4", "5"],
}
# judge-c: coherence of every ranked reply, with the raw output.
RANKED_CELLS = [("5", "five"), ("-1", "?"), ("", ""), ("6", "6"), *[("1", "1")] * 6]


def _files() -> Files:
    plain = (*SHARED, *ASPECTS)
    test = [
        _row((*SHARED, "system", *ASPECTS, *MODELS), *reply, *scores, *cells)
        for reply, scores, cells in zip(TEST, SCORES, MODEL_CELLS, strict=True)
    ]
    panel = [
        _row(("hate_speech", "text", "strategy", *PANEL, *ASPECTS), TEST[at][1], text, TEST[at][4], *votes, *means)
        for at, (text, votes, means) in enumerate(zip(TEXTS, VOTES, MEANS, strict=True))
    ]
    ranked = [_row(RANKED, *row) for row in RANKINGS]
    keys = [{name: row[name] for name in ("hate_speech", "text", "strategy")} for row in ranked]
    files: Files = {
        "test": test,
        "dev": [_row(plain, *row) for row in DEV],
        "agreement_round1": panel[:2],
        "agreement_round2": panel[2:],
        "agreement": panel,
        "rankings": ranked,
        "predicted": [key | {"c": c, "c_raw": raw} for key, (c, raw) in zip(keys, RANKED_CELLS, strict=True)],
    }
    for name, ranks in RANKS.items():
        files[name] = [key | {"Rank": rank} for key, rank in zip(keys, ranks, strict=False)]
    blank = dict.fromkeys(files["ranks_1"][0], "")
    for name in ("ranks_1", "ranks_3"):
        files[name].insert(5, blank)
    # A file that lists its replies in another order is read by text, not by position.
    files["predicted"].reverse()
    return {name: [dict(row) for row in rows] for name, rows in files.items()}


RATERS: list[dict[str, Any]] = [
    {
        "name": "judge-a",
        "kind": "model",
        "source": "test",
        "columns": {"relevance": "a_relevance", "suitableness": "a_suitableness"},
        "outputs": "a_<aspect>_raw",
    },
    {"name": "judge-b", "kind": "model", "source": "test", "pattern": "b_<aspect>"},
    {"name": "toxic", "kind": "metric", "source": "test", "columns": {"score": "tox"}, "higher_is_better": False},
    *(
        {
            "name": name,
            "kind": "human",
            "source": source,
            "split": "rankings",
            "columns": {aspect: "Rank"},
        }
        for name, source, aspect in (
            ("rank-rater-1", "ranks_1", "preference_rank"),
            ("rank-rater-3", "ranks_3", "preference_rank"),
            ("rank-analysis-file", "ranks_analysis", "rank_as_analysed"),
        )
    ),
    {
        "name": "judge-c",
        "kind": "model",
        "source": "predicted",
        "split": "rankings",
        "columns": {"coherence": "c"},
        "outputs": "c_raw",
    },
]
FACTS = {
    "replies_respelt": 2,
    "ranked_groups": 2,
    "ranked_groups_flagged": 1,
    "analysis_groups_as_rank-rater-1": 0,
    "analysis_groups_reversed_from_rank-rater-1": 0,
    "analysis_groups_as_rank-rater-3": 1,
    "analysis_groups_reversed_from_rank-rater-3": 0,
    "replies": 17,  # 6 of test, 2 more of dev, 9 more of the rankings
    "test_replies_in_dev": 1,
    "test_records_in_dev": 1,
    "hs_in_dev_and_test": 2,
    "test_replies_with_text_of_another": 1,  # the third and the sixth
}
EXPECTED_ROWS = {
    "replies": {"dev": 3, "test": 6, "agreement_round1": 2, "agreement_round2": 2, "rankings": 10},
    # test: 6 x 4 of the annotators, 11 of judge-a, 9 of judge-b, 5 of the metric.
    "ratings": {"dev": 12, "test": 49, "agreement_round1": 24, "agreement_round2": 24, "rankings": 40},
    "scores": {"dev": 3, "test": 6, "agreement_round1": 2, "agreement_round2": 2},
}


def _recipe(folder: Path, files: Files) -> dict[str, Any]:
    """Writes the files and returns the recipe as plain data, pinned to them."""
    read_by_raters = {"test": MODELS, "predicted": ("c", "c_raw"), **dict.fromkeys(RANKS, ("Rank",))}
    sources: dict[str, Any] = {}
    for name, rows in files.items():
        path = folder / f"{name}.csv"
        small.write_csv(path, rows)
        sources[name] = small.pinned(path, (column for column in rows[0] if column not in read_by_raters.get(name, ())))
        sources[name]["empty_texts"] = 2 if name in ("ranks_1", "ranks_3") else 0
    scale = {"low": 1, "high": 5}
    return small.recipe_data(folder / "nothing") | {
        "kind": "ratings",
        "expect_by_tier_rule": {},
        "aspects": {
            "relevance": scale,
            "coherence": scale,
            "aggressiveness": scale | {"higher_is_better": False},
            "suitableness": {"low": 1, "high": 3},
            "preference_rank": scale | {"higher_is_better": False},
            "rank_as_analysed": scale | {"higher_is_better": None},
            "score": {},
        },
        "raters": RATERS,
        "sources": sources,
        "expect": {"optional_splits": ["full"], "rows": EXPECTED_ROWS, "facts": FACTS},
    }


def _build(folder: Path, change: Callable[[Files], None] = lambda files: None) -> Any:
    files = _files()
    change(files)
    return build_in(folder, _recipe(folder, files))


_fails = partial(failure, _build)


def _reply_id(row: tuple[str, ...], text: str, system: str, source_id: str) -> str:
    item = make_item_id(make_hs_id(row[1]), [make_cn_id(row[2])])
    return make_reply_id(item, system, text, source_id)


SYSTEMS = ("dialogpt", "gps", "quarc", "gpt-3.5-zs", "gpt-3.5-fs", "unknown")
CANONICAL = [*TEXTS, "Who bakes at night?", "none."]
TEST_IDS = [_reply_id(row, text, system, row[0]) for row, text, system in zip(TEST, CANONICAL, SYSTEMS, strict=True)]


def _ratings(built: Any, split: str, rater: str) -> list[tuple[str, str, float | None, str | None]]:
    """Returns reply, aspect, value and reason of one rater's ratings."""
    return [
        (row["reply_id"], row["aspect"], row["value"], row["reason"])
        for row in built.table("ratings", split).rows()
        if row["rater"] == rater
    ]


def test_replies_of_the_test_split_have_the_text_of_the_rounds(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("replies", "test")
    assert table.columns == REPLY.kinds | {"source_id": "string", "also_in": "strings", "independent": "bool"}
    assert table.data["text"] == CANONICAL
    assert table.data["system"] == list(SYSTEMS)
    assert table.data["strategy"] == [
        "informative",
        "questioning",
        "denouncing",
        "positive",
        "positive",
        "denouncing",
    ]
    assert table.data["reply_id"] == TEST_IDS
    assert table.data["source_id"] == ["u0", "u1", "u2", "u3", "u4", "u5"]
    assert table.data["references"] == [[row[2]] for row in TEST]
    # The second reply differs in white space only.
    assert built.facts["replies_respelt"] == 2
    assert built.notes[0] == (
        "The first 4 replies of `test` are those of the two agreement rounds. 2 of them lost punctuation in the "
        "upstream file of the test split; the text here is that of the rounds."
    )


def test_the_same_reply_is_one_id_in_every_split_and_says_where_else_it_is(tmp_path: Path) -> None:
    built = _build(tmp_path)
    replies = {split: built.table("replies", split) for split in ("test", "dev", *ROUNDS, "rankings")}
    assert {split: table.data["also_in"] for split, table in replies.items()} == {
        "test": [
            ["agreement_round1", "rankings"],
            ["agreement_round1"],
            ["agreement_round2"],
            ["agreement_round2"],
            ["dev"],
            ["agreement_round2"],  # the reply of the third row, under another record
        ],
        "dev": [["test"], [], []],
        "agreement_round1": [["rankings", "test"], ["test"]],
        "agreement_round2": [["test"], ["test"]],
        "rankings": [["agreement_round1", "test"], *[[]] * 9],
    }
    assert replies["agreement_round1"].data["reply_id"] == TEST_IDS[:2]
    assert replies["agreement_round2"].data["reply_id"] == TEST_IDS[2:4]
    assert replies["rankings"].data["reply_id"][0] == TEST_IDS[0]
    first = replies["dev"].rows()[0]
    assert (first["reply_id"], first["text"], first["system"]) == (TEST_IDS[4], "Who bakes at night?", "gpt-3.5-fs")
    assert built.facts == FACTS
    assert built.notes[-2:] == [
        "Upstream put 2 HS into both `dev` and `test`. Rows whose HS and reply are in another split too: 1 of `dev` in "
        "`test`, 1 of `rankings` in `test`, 1 of `test` in `dev`, 1 of `test` in `rankings`. Nothing was moved: "
        "`also_in` names the other splits. Leave the rows of `dev` out of `test` when something was tuned on `dev`.",
        "1 rows of `test` hold the HS and reply of another row under another upstream record, rated again; both are "
        "included.",
    ]


def test_every_annotator_of_a_round_is_a_rater(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("ratings", "agreement_round1")
    assert table.columns == RATING.kinds
    assert [row["value"] for row in table.rows()] == [
        *(float(vote) for vote in VOTES[0]),
        *(float(vote) if vote else None for vote in VOTES[1]),
    ]
    assert table.data["rater"] == ["rater-1", "rater-2", "rater-3"] * 8
    assert [row["aspect"] for row in table.rows()[::3]] == [*ASPECTS, *ASPECTS]
    assert table.rows()[13] == {
        "reply_id": TEST_IDS[1],
        "rater": "rater-2",
        "rater_kind": "human",
        "aspect": "relevance",
        "value": None,
        "low": 1,
        "high": 5,
        "higher_is_better": True,
        "reason": "not_rated",
        "explanation": None,
    }
    assert [row["reason"] for row in table.rows()].count("not_rated") == 1
    assert {row["aspect"]: (row["high"], row["higher_is_better"]) for row in table.rows()} == {
        "relevance": (5, True),
        "coherence": (5, True),
        "aggressiveness": (5, False),
        "suitableness": (3, True),
    }


def test_the_score_of_a_round_is_the_mean_of_a_complete_panel(tmp_path: Path) -> None:
    built = _build(tmp_path)
    built.table("scores", "agreement_round1")
    rows = [row for name in ROUNDS for row in built.table("scores", name).rows()]
    assert rows == [
        {
            "reply_id": TEST_IDS[0],
            "relevance": 4,
            "coherence": 4,
            "aggressiveness": 2,
            "suitableness": 3,
            "unified": 4.25,  # (4 + (6 - 2) + 4 + 5) / 4
            "n_raters": 3,
            "reason": None,
        },
        {
            "reply_id": TEST_IDS[1],
            "relevance": None,  # two of three
            "coherence": 3,
            "aggressiveness": 5,
            "suitableness": pytest.approx(4 / 3),
            "unified": None,
            "n_raters": 2,
            "reason": "incomplete_panel",
        },
        {
            "reply_id": TEST_IDS[2],
            "relevance": 1,
            "coherence": 2,
            "aggressiveness": 1,
            "suitableness": 2,
            "unified": 2.75,  # (1 + (6 - 1) + 2 + 3) / 4
            "n_raters": 3,
            "reason": None,
        },
        {
            "reply_id": TEST_IDS[3],
            "relevance": pytest.approx(14 / 3),
            "coherence": pytest.approx(13 / 3),
            "aggressiveness": None,
            "suitableness": pytest.approx(8 / 3),
            "unified": None,
            "n_raters": 0,
            "reason": "not_rated",
        },
    ]


def test_the_scores_of_the_other_splits_are_the_released_ones(tmp_path: Path) -> None:
    built = _build(tmp_path)
    columns = (*ASPECTS, "unified", "n_raters", "reason")
    assert [tuple(row[name] for name in columns) for row in built.table("scores", "test").rows()] == [
        (4, 4, 2, 3, 4.25, 3, None),
        (None, 3, 5, 1.3333333, None, 2, "not_rated"),
        (1, 2, 1, 2, 2.75, 3, None),
        (4.6666667, 4.3333333, None, 2.6666667, None, 0, "out_of_scale"),
        (3, 3, 3, 2, 3, None, None),  # all in the middle of their scales
        (5, 5, 1, None, None, None, "out_of_scale"),
    ]
    assert [tuple(row[name] for name in columns) for row in built.table("scores", "dev").rows()] == [
        (1, 1, 1, 1, 2, None, None),  # (1 + 5 + 1 + 1) / 4
        (5, 5, 1, 3, 5, None, None),
        (None, None, None, None, None, None, "not_rated"),
    ]
    assert _ratings(built, "test", "annotators")[12:16] == [
        (TEST_IDS[3], "relevance", 4.6666667, None),
        (TEST_IDS[3], "coherence", 4.3333333, None),
        (TEST_IDS[3], "aggressiveness", None, "out_of_scale"),
        (TEST_IDS[3], "suitableness", 2.6666667, None),
    ]


@pytest.mark.parametrize(
    ("relevance", "coherence", "aggressiveness", "suitableness", "unified"),
    [(5, 5, 1, 3, 5), (1, 1, 5, 1, 1), (3, 3, 3, 2, 3), (5, 1, 1, 1, 3), (4, 3, 2, 1.5, 3.25)],
)
def test_the_unified_score_maps_every_aspect_to_one_to_five_with_five_best(
    relevance: float, coherence: float, aggressiveness: float, suitableness: float, unified: float
) -> None:
    assert unified_score(relevance, coherence, aggressiveness, suitableness) == unified


def test_agreement_of_each_round_and_aspect_is_stated(tmp_path: Path) -> None:
    # Relevance of the first round, ordinal: values 2 2 | 3 4 5 lie at 1, 2.5, 3.5 and 4.5. Observed 6, expected 23.75.
    # Coherence: unanimous. Aggressiveness: observed 6, expected 37.2. Suitableness: observed 4.5, expected 36.
    assert _build(tmp_path).agreement[:4] == [
        "Krippendorff's alpha (ordinal), agreement_round1, relevance: 0.747 (2 replies)",
        "Krippendorff's alpha (ordinal), agreement_round1, coherence: 1.000 (2 replies)",
        "Krippendorff's alpha (ordinal), agreement_round1, aggressiveness: 0.839 (2 replies)",
        "Krippendorff's alpha (ordinal), agreement_round1, suitableness: 0.875 (2 replies)",
    ]


def test_what_a_model_did_not_give_is_missing_with_a_reason(tmp_path: Path) -> None:
    built = _build(tmp_path)
    assert _ratings(built, "test", "judge-a") == [
        (TEST_IDS[0], "relevance", 5, None),
        (TEST_IDS[0], "suitableness", 3, None),
        (TEST_IDS[1], "relevance", None, "parse_failed"),
        (TEST_IDS[1], "suitableness", None, "parse_failed"),
        (TEST_IDS[2], "relevance", None, "out_of_scale"),
        (TEST_IDS[2], "suitableness", 1, None),
        # An empty cell of the fourth reply: the model was not run on it.
        (TEST_IDS[3], "suitableness", None, "out_of_scale"),
        (TEST_IDS[4], "relevance", 3.5, None),
        (TEST_IDS[4], "suitableness", 2, None),
        (TEST_IDS[5], "relevance", 1, None),
        (TEST_IDS[5], "suitableness", 1, None),
    ]
    rows = [row for row in built.table("ratings", "test").rows() if row["rater"] == "judge-a"]
    assert [row["explanation"] for row in rows] == [
        "5 (very)",
        "3",
        "no idea",
        "",
        "0",
        "1",
        "4!",
        "3.5",
        "2",
        "1",
        "1",
    ]
    assert {row["rater_kind"] for row in rows} == {"model"}


def test_ranks_are_ratings_of_which_the_lowest_is_best(tmp_path: Path) -> None:
    built = _build(tmp_path)
    ids = built.table("replies", "rankings").data["reply_id"]
    assert [value for *_, value, _ in _ratings(built, "rankings", "rank-rater-1")] == [1, 2, 3, 4, 5, 5, 4, 3, 2, 1]
    assert _ratings(built, "rankings", "rank-rater-3")[8:] == [
        (ids[8], "preference_rank", 4, None),
        (ids[9], "preference_rank", None, "not_rated"),
    ]
    rows = [row for row in built.table("ratings", "rankings").rows() if row["aspect"] == "preference_rank"]
    assert {(row["low"], row["high"], row["higher_is_better"], row["rater_kind"]) for row in rows} == {
        (1, 5, False, "human")
    }
    assert len(rows) == 20


def test_the_rank_of_the_analysis_file_is_an_aspect_without_a_direction(tmp_path: Path) -> None:
    built = _build(tmp_path)
    rows = [row for row in built.table("ratings", "rankings").rows() if row["rater"] == "rank-analysis-file"]
    assert {(row["aspect"], row["low"], row["high"], row["higher_is_better"], row["rater_kind"]) for row in rows} == {
        ("rank_as_analysed", 1, 5, None, "human")
    }
    assert len(rows) == 10
    assert built.table("ratings", "rankings").arrow()["higher_is_better"].null_count == 10


def test_a_group_that_the_analysis_file_lacks_is_flagged_and_keeps_the_ranks_of_the_annotators(tmp_path: Path) -> None:
    built = _build(tmp_path)
    analysis = _ratings(built, "rankings", "rank-analysis-file")
    assert [(value, reason) for *_, value, reason in analysis] == [
        (2, None),
        (1, None),
        (3, None),
        (4, None),
        (5, None),
        *[(None, "not_rated")] * 5,
    ]
    assert (
        "Ranked groups that upstream flagged and left out of its analysis file: 1 of 2; the ranks by the "
        "annotators are included."
    ) in built.notes
    assert (
        "The human rank of the upstream analysis file (aspect `rank_as_analysed`) has no consistent direction: "
        "over 1 groups it is that of `rank-rater-1` in 0 and 6 minus it in 0, that of `rank-rater-3` in 1 and "
        "6 minus it in 0. Use the ranks of the annotators."
    ) in built.notes


@pytest.mark.parametrize(
    ("analysed", "as_1", "turned_1", "as_3", "turned_3"),
    [
        ("21345", 0, 0, 1, 0),
        ("45321", 0, 0, 0, 1),  # 6 minus each rank of the third annotator
        ("12345", 1, 0, 0, 0),
        ("54321", 0, 1, 0, 0),
        ("21344", 0, 0, 0, 0),
        ("45322", 0, 0, 0, 0),
    ],
)
def test_groups_of_the_analysis_file_have_an_annotators_rank_or_that_rank_turned_round(
    tmp_path: Path, analysed: str, as_1: int, turned_1: int, as_3: int, turned_3: int
) -> None:
    def change(files: Files) -> None:
        for row, rank in zip(files["ranks_analysis"], analysed, strict=True):
            row["Rank"] = rank

    built = _build(tmp_path, change)
    assert {name: count for name, count in built.facts.items() if name.startswith("analysis_groups")} == {
        "analysis_groups_as_rank-rater-1": as_1,
        "analysis_groups_reversed_from_rank-rater-1": turned_1,
        "analysis_groups_as_rank-rater-3": as_3,
        "analysis_groups_reversed_from_rank-rater-3": turned_3,
    }
    assert [value for *_, value, _ in _ratings(built, "rankings", "rank-analysis-file")][:5] == [
        float(rank) for rank in analysed
    ]


def test_a_models_ratings_of_ranked_replies_are_found_by_text(tmp_path: Path) -> None:
    built = _build(tmp_path)
    ids = built.table("replies", "rankings").data["reply_id"]
    assert _ratings(built, "rankings", "judge-c")[:5] == [
        (ids[0], "coherence", 5, None),
        (ids[1], "coherence", None, "parse_failed"),
        (ids[2], "coherence", None, "not_rated"),
        (ids[3], "coherence", None, "out_of_scale"),
        (ids[4], "coherence", 1, None),
    ]
    rows = [row for row in built.table("ratings", "rankings").rows() if row["rater"] == "judge-c"]
    assert [row["explanation"] for row in rows[:4]] == ["five", "?", "", "6"]


@pytest.mark.parametrize(
    ("file", "row", "column", "cell", "message"),
    [
        (
            "agreement_round1",
            0,
            "relevance",
            "4.5",
            "agreement_round1.csv, row 2: relevance is 4.5, the mean of the three",
        ),
        ("test", 4, "system", "GPT4", "test.csv, row 6: system is 'GPT4', expected one of '', 'dialoGPT', "),
        ("test", 5, "text", "", "test.csv, row 7: text is empty"),
        ("test", 5, "tox", "nan", "test.csv, row 7: toxic:score is 'nan', expected a number"),
        ("test", 1, "hate_speech", HS[2], "test.csv, row 3: is not the reply of row 3 of agreement_round1.csv"),
        (
            "dev",
            0,
            "text",
            "Who bakes by day?",
            "dev.csv, row 2: another HS, reference or reply than that of its record",
        ),
        ("predicted", 1, "text", "Read off.", "rankings.csv, row 10: this reply is not in the file predicted"),
    ],
)
def test_files_that_contradict_each_other_are_refused(
    tmp_path: Path, file: str, row: int, column: str, cell: str, message: str
) -> None:
    def change(files: Files) -> None:
        files[file][row][column] = cell

    assert _fails(tmp_path, change).startswith(message)


def test_the_optional_full_split_is_built_from_a_pinned_file(tmp_path: Path) -> None:
    files = _files()
    files["full"] = [_row((*SHARED, *ASPECTS), *row) for row in FULL]
    data = _recipe(tmp_path, files)
    data["sources"]["full"] |= {"optional": True, "note": "all rows"}
    data["expect"]["facts"]["replies"] = 18
    built, left_out = build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
    assert left_out == []
    replies = built.table("replies", "full")
    assert replies.data["reply_id"] == [TEST_IDS[1], _reply_id(FULL[1], "Listen.", "unknown", "f1")]
    assert replies.data["also_in"] == [["agreement_round1", "test"], []]
    assert built.table("replies", "test").data["also_in"][1] == ["agreement_round1", "full"]
    assert built.table("scores", "full").data["unified"] == [1.75, 5]  # (2 + (6 - 5) + 3 + 1) / 4
    assert len(built.table("ratings", "full")) == 8
    assert [table.split for table in built.tables if table.config == "replies"] == [
        "dev",
        "test",
        "full",
        *ROUNDS,
        "rankings",
    ]
