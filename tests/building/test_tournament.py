"""A miniature of cn-eval: three systems, and two corpora, of which the second one's human files name no systems."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fcconan.building import build_tables, load_recipe
from fcconan.data import COMPARISON, RATING, REPLY, make_cn_id, make_hs_id, make_item_id, make_reply_id
from tests import small
from tests.building.made import build_in, failure

Row = dict[str, Any]
Files = dict[str, list[Row]]
SYSTEMS = ("gold_truth", "kite", "lark")
HEAD = "Provide a brief counter-narrative in response to the following hate speech: "
TAIL = " It is very important for the counter-narrative to be relevant to the hate speech."
WHERE = {"corpus": "string", "question_id": "int"}
HS = ["The Ombrey never return a book.", "Every Tessok cheats at cards.", "Nobody needs Velmari bakers."]
# The replies of every instance by system. The first two answer one HS.
A = {"gold_truth": "The list says otherwise.", "kite": "None", "lark": "Ask a librarian."}
B = {"gold_truth": "Have you counted?", "kite": "Books come back.", "lark": "Who says so?"}
C = {"gold_truth": "Cards are banned there.", "kite": "With which cards?", "lark": "NA"}
D = {"gold_truth": "We do.", "kite": "I like bread.", "lark": "Bakers bake."}
# The test sets. The last item of the first one was compared by nobody.
TESTS = {
    "ombrey": [(HS[0], A["gold_truth"]), (HS[0], B["gold_truth"]), (HS[2], "Bread is for all.")],
    "dravene_two": [(HS[2], D["gold_truth"]), (HS[1], C["gold_truth"])],
}
Duel = tuple[str, dict[str, str], str, str]
A_GK, A_GL, A_KL = ((HS[0], A, a, b) for a, b in (("gold_truth", "kite"), ("gold_truth", "lark"), ("kite", "lark")))
B_GK, B_GL, B_KL = ((HS[0], B, a, b) for a, b in (("gold_truth", "kite"), ("gold_truth", "lark"), ("kite", "lark")))
C_GK, C_GL, C_KL = ((HS[1], C, a, b) for a, b in (("gold_truth", "kite"), ("gold_truth", "lark"), ("kite", "lark")))
D_GK, D_GL, D_KL = ((HS[2], D, a, b) for a, b in (("gold_truth", "kite"), ("gold_truth", "lark"), ("kite", "lark")))
# What JudgeLM 33b wrote, in the order of its files: the instances of one HS are mixed.
JUDGED: dict[str, list[tuple[Duel, str]]] = {
    "ombrey": [
        (B_KL, "8 7\nThe first names 3 reasons."),
        (A_GK, "7 9"),
        (B_GL, "6, 6"),
        (A_KL, ""),
        (A_GL, "10 8"),
        (B_GK, "The statement is 1. rude 2. wrong"),
    ],
    "dravene_two": [(C_GK, "5 5"), (D_GK, "11 3"), (C_KL, "2 7.5"), (D_KL, "1 2"), (C_GL, "4 3"), (D_GL, "0 0")],
}
# Verdicts of the three annotators on what all of them judged, and the released majority.
COMMON: dict[str, list[tuple[Duel, str, str, str, str]]] = {
    "ombrey": [(A_GK, "A", "a", "B", "A"), (A_GL, "T", "t", "B", "T"), (A_KL, "A", "b", "T", "T")],
    "dravene_two": [(C_GK, "B", "B", "B", "B")],
}
ALONE: dict[str, list[tuple[str, Duel, str]]] = {
    "ombrey": [("1", B_GK, "B"), ("2", B_GL, "a"), ("3", B_KL, "T")],
    "dravene_two": [("2", D_GL, "A")],
}
# Question, two systems, winner; nothing of the pair kite and lark by 13b, nothing at all in the second corpus by 33b.
OUTCOMES: dict[str, list[tuple[str, str, str, str]]] = {
    "ombrey_outcomes_7b": [
        ("0", "gold_truth", "kite", "kite"),
        ("1", "lark", "gold_truth", "lark"),
        ("2", "kite", "lark", "tie"),
    ],
    "ombrey_outcomes_13b": [("0", "kite", "gold_truth", "gold_truth"), ("2", "gold_truth", "lark", "tie")],
    "ombrey_outcomes_33b": [
        ("0", "gold_truth", "kite", "tie"),
        ("0", "gold_truth", "lark", "tie"),
        ("0", "lark", "kite", "kite"),
    ],
    "dravene_two_outcomes_7b": [("1", "kite", "lark", "lark")],
    "dravene_two_outcomes_13b": [("0", "kite", "lark", "lark"), ("1", "lark", "kite", "tie")],
    "dravene_two_outcomes_33b": [],
}
# HS, text, system, relatedness, overall. Both raters saw the same rows.
FEATURES = [
    (HS[0], A["gold_truth"], "gold_truth", "5", "4"),
    (HS[0], "Books  come back.", "kite", "0", "0"),
    (HS[2], "Bread is for all.", "gold_truth", "3.5", ""),
]
HEADERS: dict[str, tuple[str, ...]] = {
    "test": ("hate_speech", "counter_narrative"),
    "evaluation": ("hate_speech", *SYSTEMS),
    "human": ("hate_speech", "text_a", "text_b", "verdict", "system_a", "system_b"),
    "common": ("hate_speech", "text_a", "text_b", "rater_1", "rater_2", "rater_3", "majority", "system_a", "system_b"),
    "outcomes": ("question_id", "system_a", "system_b", "winner"),
    "features": ("hate_speech", "text", "system", "relatedness", "overall"),
}


def _header(name: str) -> tuple[str, ...]:
    """Returns the columns of a file; those of people name no systems in the second corpus."""
    (kind,) = (kind for kind in HEADERS if kind in name)
    anonymous = name.startswith("dravene_two") and kind in ("human", "common")
    return HEADERS[kind][:-2] if anonymous else HEADERS[kind]


def _duel(name: str, duel: Duel, *cells: str) -> Row:
    hate_speech, texts, a, b = duel
    return dict(zip(_header(name), (hate_speech, texts[a], texts[b], *cells, a, b), strict=False))


def _verdict_of_judge(duel: Duel, output: str) -> Row:
    hate_speech, texts, a, b = duel
    return {
        "question_body": HEAD + hate_speech + TAIL,
        "answer1_body": texts[a],
        "answer2_body": texts[b],
        "answer1_model_id": a,
        "answer2_model_id": b,
        "pred_text": output,
    }


def _files() -> Files:
    files: Files = {}
    for corpus, test in TESTS.items():
        files[f"{corpus}_test"] = [dict(zip(HEADERS["test"], row, strict=True)) for row in test]
        for start, judge in enumerate(("33b", "13b", "7b")):
            records = [_verdict_of_judge(duel, output if judge == "33b" else "5 4") for duel, output in JUDGED[corpus]]
            files[f"{corpus}_judged_{judge}"] = records[start:] + records[:start]
            name = f"{corpus}_outcomes_{judge}"
            files[name] = [dict(zip(HEADERS["outcomes"], row, strict=True)) for row in OUTCOMES[name]]
        for number, rater in enumerate(("1", "2", "3")):
            name = f"{corpus}_human_{rater}"
            shared = [_duel(name, duel, cells[number]) for duel, *cells in COMMON[corpus]]
            files[name] = shared + [_duel(name, duel, verdict) for who, duel, verdict in ALONE[corpus] if who == rater]
        files[f"{corpus}_common"] = [_duel(f"{corpus}_common", duel, *cells) for duel, *cells in COMMON[corpus]]
    files["ombrey_evaluation"] = [{"hate_speech": HS[0]} | A, {"hate_speech": HS[0]} | B]
    files["dravene_two_evaluation"] = [{"hate_speech": HS[2]} | D]  # it lacks one of two
    for rater in ("1", "3"):
        files[f"features_{rater}"] = [dict(zip(HEADERS["features"], row, strict=True)) for row in FEATURES]
    return files


FACTS = {
    "ombrey_7b_missing_pairs": 0,
    "ombrey_13b_missing_pairs": 1,
    "ombrey_33b_missing_pairs": 0,
    "ombrey_unresolved_majorities": 1,
    "ombrey_instances": 2,
    "dravene_two_7b_missing_pairs": 2,
    "dravene_two_13b_missing_pairs": 2,
    "dravene_two_33b_missing_pairs": 3,
    "dravene_two_unresolved_majorities": 0,
    "dravene_two_instances": 2,
    "human_invalid": 0,
    "human_majority_invalid": 1,
    "judgelm_invalid": 4,
    "tournament_invalid": 0,
}
EXPECTED_ROWS = {
    "items": {"ombrey": 3, "dravene_two": 2},
    "replies": {"ombrey": 7, "dravene_two": 6},
    "comparisons": {"human": 16, "human_majority": 8, "judgelm": 36, "tournament": 11},
    "ratings": {"features": 12},
    "ombrey-pairs": {"test": 3},
}


def _recipe(folder: Path, files: Files) -> Row:
    """Writes the files and returns the recipe as plain data, pinned to them."""
    sources: Row = {}
    for name, rows in files.items():
        if "judged" in name:
            path = folder / f"{name}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
            columns: tuple[str, ...] = ()
        else:
            path, columns = folder / f"{name}.csv", _header(name)
            small.write_csv(path, rows, columns)
        sources[name] = small.pinned(path, columns)
    return small.recipe_data(folder / "nothing") | {
        "kind": "tournament",
        "expect_by_tier_rule": {},
        "corpora": ["ombrey", "dravene-two"],
        "systems": list(SYSTEMS),
        "aspects": {"relatedness": {"low": 0, "high": 5}, "overall": {"low": 1, "high": 5}},
        "raters": [{"name": f"rater-{n}", "kind": "human", "source": f"features_{n}"} for n in ("1", "3")],
        "sources": sources,
        "pairs": [{"config": "ombrey-pairs", "split": "test", "source": "ombrey_test"}],
        "expect": {"rows": EXPECTED_ROWS, "facts": FACTS},
    }


def _build(folder: Path, change: Callable[[Files], None] = lambda files: None) -> Any:
    files = _files()
    change(files)
    return build_in(folder, _recipe(folder, files))


_fails = partial(failure, _build)


def _item(hate_speech: str, reference: str) -> str:
    return make_item_id(make_hs_id(hate_speech), [make_cn_id(reference)])


def _reply_id(hate_speech: str, texts: dict[str, str], system: str) -> str:
    return make_reply_id(_item(hate_speech, texts["gold_truth"]), system, texts[system])


def _outcomes(built: Any, split: str, rater: str) -> list[tuple[str, str, str, str | None]]:
    """Returns the ids of the two replies, the verdict and the reason of one rater's comparisons."""
    return [
        (row["reply_a"], row["reply_b"], row["verdict"], row["reason"])
        for row in built.table("comparisons", split).rows()
        if row["rater"] == rater
    ]


def _between(duel: Duel) -> tuple[str, str]:
    hate_speech, texts, a, b = duel
    return _reply_id(hate_speech, texts, a), _reply_id(hate_speech, texts, b)


def test_items_are_the_test_set_and_say_which_were_compared(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("items", "ombrey")
    assert table.rows() == [
        {
            "item_id": _item(hate_speech, reference),
            "hs_id": make_hs_id(hate_speech),
            "cn_id": make_cn_id(reference),
            "hate_speech": hate_speech,
            "reference": reference,
            "question_id": row,
            "compared_by_humans": row < 2,
        }
        for row, (hate_speech, reference) in enumerate(TESTS["ombrey"])
    ]
    assert built.table("items", "dravene_two").data["compared_by_humans"] == [True, True]


def test_one_hs_is_as_many_instances_as_it_has_references(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("replies", "ombrey")
    assert table.columns == REPLY.kinds | WHERE
    # The instances in the order in which the judge's file first names them; the last reply was rated for features only.
    assert [(row["question_id"], row["system"], row["text"]) for row in table.rows()] == [
        *((1, system, B[system]) for system in SYSTEMS),
        *((0, system, A[system]) for system in SYSTEMS),
        (2, "gold_truth", "Bread is for all."),
    ]
    assert table.data["references"] == [
        *[[B["gold_truth"]]] * 3,
        *[[A["gold_truth"]]] * 3,
        ["Bread is for all."],
    ]
    assert table.data["reply_id"][:6] == [_reply_id(HS[0], texts, system) for texts in (B, A) for system in SYSTEMS]
    assert set(table.data["hs_id"][:6]) == {make_hs_id(HS[0])}
    assert set(table.data["corpus"]) == {"ombrey"}
    other = built.table("replies", "dravene_two")
    assert [(row["corpus"], row["question_id"], row["text"]) for row in other.rows()] == [
        *(("dravene-two", 1, C[system]) for system in SYSTEMS),
        *(("dravene-two", 0, D[system]) for system in SYSTEMS),
    ]


def test_the_judges_scores_are_read_from_its_output(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("comparisons", "judgelm")
    assert table.columns == COMPARISON.kinds | WHERE
    rows = [row for row in table.rows() if row["rater"] == "judgelm-33b"]
    found = [(row["verdict"], row["reason"]) for row in rows]
    assert found == [
        ("a", None),
        ("b", None),
        ("tie", None),
        ("invalid", "empty"),
        ("a", None),
        ("invalid", "no_scores"),
        ("tie", None),
        ("invalid", "out_of_scale"),
        ("b", None),
        ("b", None),
        ("a", None),
        ("invalid", "out_of_scale"),
    ]
    assert [(row["reply_a"], row["reply_b"]) for row in rows] == [
        _between(duel) for corpus in TESTS for duel, _ in JUDGED[corpus]
    ]
    assert [(row["score_a"], row["score_b"]) for row in rows] == [
        (8, 7),
        (7, 9),
        (6, 6),
        (None, None),
        (10, 8),
        (None, None),
        (5, 5),
        (None, None),  # 11 is above the scale
        (2, 7.5),
        (1, 2),
        (4, 3),
        (None, None),  # 0 is below it
    ]
    assert rows[0] == {
        "item_id": _item(HS[0], B["gold_truth"]),
        "system_a": "kite",
        "system_b": "lark",
        "reply_a": _reply_id(HS[0], B, "kite"),
        "reply_b": _reply_id(HS[0], B, "lark"),
        "rater": "judgelm-33b",
        "rater_kind": "model",
        "verdict": "a",
        "score_a": 8,
        "score_b": 7,
        "reason": None,
        "corpus": "ombrey",
        "question_id": 1,
    }


def test_the_other_judges_saw_the_same_replies_in_another_order(tmp_path: Path) -> None:
    built = _build(tmp_path)
    for judge in ("judgelm-7b", "judgelm-13b"):
        rows = _outcomes(built, "judgelm", judge)
        assert {(a, b) for a, b, *_ in rows} == {_between(duel) for c in TESTS for duel, _ in JUDGED[c]}
        assert [(verdict, reason) for *_, verdict, reason in rows] == [("a", None)] * 12


def test_human_verdicts_are_read_in_either_case_and_belong_to_the_right_instance(tmp_path: Path) -> None:
    built = _build(tmp_path)
    assert _outcomes(built, "human", "rater-2") == [
        (*_between(A_GK), "a", None),
        (*_between(A_GL), "tie", None),
        (*_between(A_KL), "b", None),
        (*_between(B_GL), "a", None),
        (*_between(C_GK), "b", None),
        (*_between(D_GL), "a", None),
    ]
    assert [len(_outcomes(built, "human", f"rater-{number}")) for number in (1, 2, 3)] == [5, 6, 5]
    rows = built.table("comparisons", "human").rows()
    assert {row["rater_kind"] for row in rows} == {"human"}
    assert {row["score_a"] for row in rows} == {None}


def test_the_systems_of_a_corpus_that_names_none_are_found_by_the_texts(tmp_path: Path) -> None:
    rows = [row for row in _build(tmp_path).table("comparisons", "human").rows() if row["corpus"] == "dravene-two"]
    assert [(row["rater"], row["question_id"], row["system_a"], row["system_b"]) for row in rows] == [
        ("rater-1", 1, "gold_truth", "kite"),
        ("rater-2", 1, "gold_truth", "kite"),
        ("rater-2", 0, "gold_truth", "lark"),
        ("rater-3", 1, "gold_truth", "kite"),
    ]


def test_three_different_verdicts_have_no_majority(tmp_path: Path) -> None:
    built = _build(tmp_path)
    assert _outcomes(built, "human_majority", "majority") == [
        (*_between(A_GK), "a", None),
        (*_between(A_GL), "tie", None),
        (*_between(A_KL), "invalid", "unresolved"),
        (*_between(C_GK), "b", None),
    ]
    # What upstream made of them is kept beside.
    assert [verdict for *_, verdict, _ in _outcomes(built, "human_majority", "majority-released")] == [
        "a",
        "tie",
        "tie",
        "b",
    ]


def test_the_agreement_of_each_corpus_is_the_mean_kappa_of_what_all_three_judged(tmp_path: Path) -> None:
    # a tie a, a tie b, b b tie. Of 9 pairs by chance 3, 1 and 3 agree; of 3 comparisons 2, 0 and 0.
    # Kappas (6 - 3) / (9 - 3), (0 - 1) / (9 - 1), (0 - 3) / (9 - 3): 1/2, -1/8, -1/2; their mean is -1/24.
    # The second corpus has one comparison in common, on which all agree.
    assert _build(tmp_path).agreement == [
        "Mean pairwise Cohen's kappa, ombrey: -0.042 (3 comparisons judged by all three annotators)",
        "Mean pairwise Cohen's kappa, dravene-two: undefined (1 comparisons judged by all three annotators)",
    ]


def test_the_tournament_holds_outcomes_by_item(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("comparisons", "tournament")
    columns = ("rater", "question_id", "system_a", "system_b", "verdict")
    assert [tuple(row[name] for name in columns) for row in table.rows() if row["corpus"] == "ombrey"] == [
        ("judgelm-7b", 0, "gold_truth", "kite", "b"),
        ("judgelm-7b", 1, "lark", "gold_truth", "a"),
        ("judgelm-7b", 2, "kite", "lark", "tie"),
        ("judgelm-13b", 0, "kite", "gold_truth", "b"),
        ("judgelm-13b", 2, "gold_truth", "lark", "tie"),
        ("judgelm-33b", 0, "gold_truth", "kite", "tie"),
        ("judgelm-33b", 0, "gold_truth", "lark", "tie"),
        ("judgelm-33b", 0, "lark", "kite", "b"),
    ]
    assert table.rows()[2] == {
        **dict.fromkeys(COMPARISON.kinds | WHERE),
        "item_id": _item(HS[2], "Bread is for all."),
        "system_a": "kite",
        "system_b": "lark",
        "rater": "judgelm-7b",
        "rater_kind": "model",
        "verdict": "tie",
        "corpus": "ombrey",
        "question_id": 2,
    }


def test_missing_pairs_of_systems_are_counted_among_those_that_the_systems_make(tmp_path: Path) -> None:
    # Three systems make three pairs; a pair counts as met in whichever order it stands.
    assert _build(tmp_path).facts == FACTS


def test_an_evaluation_file_that_lacks_an_instance_is_noted(tmp_path: Path) -> None:
    notes = _build(tmp_path).notes
    assert notes[0] == (
        "dravene-two: the upstream file of the replies lacks 1 of 2 instances; they come from the verdict files."
    )
    assert not any(note.startswith("ombrey:") for note in notes)


def test_features_are_rated_by_each_rater(tmp_path: Path) -> None:
    built = _build(tmp_path)
    table = built.table("ratings", "features")
    assert table.columns == RATING.kinds
    gold, kite = _reply_id(HS[0], A, "gold_truth"), _reply_id(HS[0], B, "kite")
    other = _reply_id(HS[2], {"gold_truth": "Bread is for all."}, "gold_truth")
    assert [(row["reply_id"], row["rater"], row["aspect"], row["value"], row["reason"]) for row in table.rows()] == [
        (reply, rater, aspect, value, reason)
        for rater in ("rater-1", "rater-3")
        for reply, aspect, value, reason in [
            (gold, "relatedness", 5, None),
            (gold, "overall", 4, None),
            (kite, "relatedness", 0, None),
            (kite, "overall", None, "out_of_scale"),
            (other, "relatedness", 3.5, None),
            (other, "overall", None, "not_rated"),
        ]
    ]
    assert {(row["aspect"], row["low"], row["high"]) for row in table.rows()} == {
        ("relatedness", 0, 5),
        ("overall", 1, 5),
    }


def test_a_gold_reply_of_another_item_that_was_rated_is_a_reply_too(tmp_path: Path) -> None:
    built = _build(tmp_path)
    last = built.table("replies", "ombrey").rows()[-1]
    assert last == {
        "reply_id": _reply_id(HS[2], {"gold_truth": "Bread is for all."}, "gold_truth"),
        "item_id": _item(HS[2], "Bread is for all."),
        "hs_id": make_hs_id(HS[2]),
        "hate_speech": HS[2],
        "text": "Bread is for all.",
        "system": "gold_truth",
        "strategy": None,
        "references": ["Bread is for all."],
        "corpus": "ombrey",
        "question_id": 2,
    }
    assert built.notes[-1] == (
        "1 replies of gold_truth that were rated for features belong to other items than the compared "
        "replies; they are in `replies` too."
    )


Change = tuple[str, int, str, Any]
REFUSED: dict[str, tuple[Change, str]] = {
    "majority that the votes contradict": (
        ("ombrey_common", 0, "majority", "B"),
        "ombrey_common.csv, row 2: the released majority is b, the verdicts give a",
    ),
    "votes that are not those of the annotators": (
        ("ombrey_common", 0, "rater_3", "A"),
        "ombrey_common.csv, row 2: verdicts ('a', 'a', 'a') differ from those of the annotators' own files",
    ),
    "unknown verdict": (
        ("ombrey_human_1", 0, "verdict", "both"),
        "ombrey_human_1.csv, row 2: verdict is 'both', expected one of 'A', 'B', 'T', 'a', 'b', 't'",
    ),
    "text that no judge saw": (
        ("ombrey_human_3", 3, "text_b", "Who said so?"),
        "ombrey_human_3.csv, row 5: HS and texts are 0 pairs of systems in the verdict files, not 1",
    ),
    "winner that did not play": (
        ("ombrey_outcomes_7b", 1, "winner", "kite"),
        "ombrey_outcomes_7b.csv, row 3: found 'kite' of 'lark' and 'gold_truth', expected one of the two, or 'tie'",
    ),
    "outcome that stands twice": (
        ("ombrey_outcomes_33b", 1, "system_b", "kite"),
        "comparisons/tournament: two rows share item_id ",
    ),
    "second reply of a system in one instance": (
        ("dravene_two_judged_33b", 2, "answer1_body", "With cards?"),
        "kite has two replies in one instance; the verdict files changed",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_files_that_contradict_each_other_are_refused(tmp_path: Path, what: str) -> None:
    (file, row, column, cell), message = REFUSED[what]

    def change(files: Files) -> None:
        files[file][row] = files[file][row] | {column: cell}

    assert _fails(tmp_path, change).startswith(message)


def test_a_recipe_file_builds_with_the_counts_that_it_states(tmp_path: Path) -> None:
    data = _recipe(tmp_path, _files())
    built, left_out = build_tables(load_recipe(str(small.write_recipe(tmp_path, data))))
    assert left_out == []
    assert [(table.config, table.split) for table in built.tables] == [
        ("items", "ombrey"),
        ("items", "dravene_two"),
        ("replies", "ombrey"),
        ("replies", "dravene_two"),
        ("comparisons", "human"),
        ("comparisons", "human_majority"),
        ("comparisons", "judgelm"),
        ("comparisons", "tournament"),
        ("ratings", "features"),
        ("ombrey-pairs", "test"),
    ]
