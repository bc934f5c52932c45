"""`fcconan.new_campaign`: FC-CONAN's sampling by hand, lists, replies, gold questions, and what users do wrong."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import given, strategies as st

from fcconan import InputError, Result, Rows, new_campaign
from fcconan.annotation import default_encoder, read_corpus, sample_pairs
from fcconan.data import make_cn_id, make_hs_id, make_item_id, make_reply_id
from fcconan.retrieval import Rankings, TfIdf
from tests.conftest import RunCli

Row = dict[str, Any]
OMBREY, TESSOK, VELMARI = (
    "The Ombrey never return a book.",
    "Every Tessok cheats at cards.",
    "Nobody needs Velmari bakers.",
)
LIBRARY, LENT, BANNED, BREAD, ASK = (
    "The library's list shows that they do.",
    "I lent one a book, and got it back.",
    "Cards were banned in Tessok towns.",
    "Their bread feeds half the town.",
    "Who told you so?",
)
ROWS: list[Row] = [
    {"hate_speech": OMBREY, "counter_narrative": LIBRARY, "source_id": "o1", "hs_type": "books", "age": 30},
    {"hate_speech": OMBREY, "counter_narrative": LENT, "source_id": "o2", "hs_type": "books", "age": 41},
    {"hate_speech": TESSOK, "counter_narrative": BANNED, "source_id": "t1", "hs_type": "games", "age": 30},
    {"hate_speech": VELMARI, "counter_narrative": BREAD, "source_id": "v1", "age": 19, "cn_type": "facts"},
    {"hate_speech": VELMARI, "counter_narrative": ASK, "source_id": "v2", "age": 19},
    {"hate_speech": TESSOK, "counter_narrative": ASK, "source_id": "t2", "age": 20},
]
PAIRS = "appropriateness"


class Told:
    """Ranks as a table says, by text; texts that it does not name have no neighbours."""

    name = "told"

    def __init__(self, table: Mapping[str, Mapping[str, float]]) -> None:
        self.table = table
        self.asked = 0

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        self.asked = k
        ids = {text: key for key, text in corpus.items()}
        found = {
            key: [(ids[cn], score) for cn, score in self.table.get(text, {}).items() if cn in ids]
            for key, text in queries.items()
        }
        return Rankings({key: sorted(ranked, key=lambda each: -each[1])[:k] for key, ranked in found.items()})


TABLE = {
    LIBRARY: {LIBRARY: 1.0, LENT: 0.9, BANNED: 0.8, BREAD: 0.7, ASK: 0.1},
    LENT: {LENT: 1.0, BREAD: 0.9, LIBRARY: 0.5, BANNED: 0.0, ASK: 0.0},
}


def sampled(
    rows: list[Row], retriever: Any, hs: Any = (OMBREY,), group_by: str | None = None, **options: Any
) -> tuple[list[str], list[str], dict[str, int]]:
    """Returns the sampled HS and CNs, as texts, and the counts."""
    corpus, _, _ = read_corpus(rows, group_by=group_by)
    ids = hs if isinstance(hs, int) else [make_hs_id(text) for text in hs]
    units, texts, counts = sample_pairs(corpus, retriever, hs=ids, **options)
    keys = [[row[key] for row in texts[name]] for name, key in (("hs.jsonl", "hs_id"), ("cn.jsonl", "cn_id"))]
    assert [(unit.hs_id, unit.cn_id) for unit in units] == [(one, other) for one in keys[0] for other in keys[1]]
    return *([row["text"] for row in texts[name]] for name in ("hs.jsonl", "cn.jsonl")), counts  # type: ignore[return-value]


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counts_of(result: Result) -> dict[str, int]:
    return {row["name"]: row["number"] for row in result.to_frame().to_dict("records")}


def write(path: Path, rows: list[Row]) -> Path:
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


# Sampling from a corpus


# The library's two nearest that may be kept are BANNED and BREAD, behind the original LENT. Of the other original it is
# BREAD, with which alone it has anything in common.
def test_the_nearest_that_are_no_originals_are_kept_and_the_others_counted() -> None:
    hs, cns, counts = sampled(ROWS, Told(TABLE))
    assert (hs, sorted(cns)) == ([OMBREY], sorted([BANNED, BREAD]))
    assert counts == {
        "hs_sampled": 1,
        "originals": 2,
        "dropped_as_original": 2,
        "dropped_as_existing": 0,
        "hits": 3,
        "neighbours": 2,
        "dropped_as_alike": 0,
        "candidates": 2,
        "originals_without_neighbour": 0,
        "cns_sampled": 2,
        "pairs": 2,
    }


# Of the library's two nearest one is itself and one the original LENT; of LENT's one is itself and one BREAD.
def test_counting_itself_as_the_paper_did_leaves_fewer() -> None:
    _, cns, counts = sampled(ROWS, Told(TABLE), neighbours_count_itself=True)
    assert cns == [BREAD]
    assert [counts[name] for name in ("hits", "neighbours", "dropped_as_original", "candidates")] == [2, 2, 1, 1]
    assert counts["originals_without_neighbour"] == 1


def test_other_spellings_of_a_pair_are_no_new_pair() -> None:
    other, again = "the LIBRARY'S list shows that they do", "Their bread feeds half the town!"
    rows = [*ROWS, {"hate_speech": VELMARI, "counter_narrative": other}]
    rows.append({"hate_speech": TESSOK, "counter_narrative": again})
    told = Told({LIBRARY: {other: 0.95, again: 0.9, BREAD: 0.8, BANNED: 0.7}, LENT: {BREAD: 0.6}})
    _, cns, counts = sampled(rows, told)
    assert told.asked == 3  # two, and a second spelling of one of them
    assert (counts["dropped_as_existing"], counts["dropped_as_alike"], counts["candidates"]) == (1, 1, 2)
    assert sorted(cns) == sorted([again, BANNED])


def test_spellings_of_one_hs_are_drawn_once_and_share_their_originals() -> None:
    shout = "THE OMBREY NEVER RETURN A BOOK!"
    rows = [*ROWS, {"hate_speech": shout, "counter_narrative": BREAD, "code": "z"}]
    told = Told({cn: {BANNED: 0.5, ASK: 0.4, BREAD: 0.3, LENT: 0.2} for cn in (LIBRARY, LENT, BANNED, BREAD, ASK)})
    with pytest.raises(InputError, match="found 3 different HS in the corpus, expected 4"):
        sampled(rows, told, hs=4)
    hs, cns, counts = sampled(rows, told, hs=(shout, OMBREY), neighbours=1)
    assert hs[0] in (OMBREY, shout)
    assert (cns, counts["originals"]) == ([BANNED], 3)
    # Also where a column puts them into two groups.
    _, cns, _ = sampled([{"code": row["hate_speech"], **row} for row in rows], told, group_by="code", neighbours=1)
    assert cns == [BANNED]


def test_hs_of_one_value_are_drawn_once() -> None:
    rows = [row | {"code": "x" if row["hate_speech"] != VELMARI else "y"} for row in ROWS]
    with pytest.raises(InputError, match="found 2 different HS in the corpus, expected 3"):
        sampled(rows, Told(TABLE), hs=3, group_by="code")
    every = {cn: {"Count them.": 1.0} for cn in (LIBRARY, LENT, BANNED, BREAD, ASK)}
    new = {"hate_speech": "Boo.", "counter_narrative": "Count them.", "code": "z"}
    hs = sampled([*rows, new], Told(every), hs=(OMBREY, TESSOK, VELMARI), group_by="code")[0]
    assert (len(hs), len({OMBREY, TESSOK} & {*hs})) == (2, 1)
    with pytest.raises(InputError, match="expected one value of each HS: choose for --group-by another one of hate_sp"):
        read_corpus(rows, group_by="topic")
    with pytest.raises(InputError, match="found no code or several of one HS"):
        read_corpus([*rows, rows[0] | {"code": "z"}], group_by="code")


def many(n_hs: int = 6, n_cns: int = 4) -> list[Row]:
    """HS with CNs of their own, each near to the others' CNs of the same number."""
    return [
        {"hate_speech": f"The Dravene spoil thing{hs}.", "counter_narrative": f"Reply{cn} about thing{hs}."}
        for hs in range(n_hs)
        for cn in range(n_cns)
    ]


def test_one_seed_is_one_sample_in_any_order_of_rows_and_a_smaller_one_begins_a_larger_one() -> None:
    def drawn(hs: int, cns: int | None = None, rows: Any = None, **options: Any) -> tuple[list[str], list[str]]:
        return sampled(rows or many(), TfIdf(), hs=hs, cns=cns, neighbours=5, **options)[:2]

    hs, cns = drawn(2, 6, divisible_by=4)
    assert (len(hs), len(cns), len({*cns})) == (2, 6, 6)
    assert drawn(2, 6, many()[::-1]) == (hs, cns) != drawn(2, 6, seed=1)
    assert drawn(2, 4)[1] == cns[:4]
    assert drawn(3)[0][:2] == hs


def test_fewer_than_requested_are_refused_with_the_numbers_found() -> None:
    def refused(**options: Any) -> str:
        with pytest.raises(InputError) as error:
            sampled(many(), TfIdf(), neighbours=5, **options)
        return str(error.value)

    found = len(sampled(many(), TfIdf(), hs=2, neighbours=5)[1])
    assert refused(hs=2, cns=99) == (
        f"found {found} new CNs among the 5 nearest of 8 originals, expected 99, and a multiple of 1: change --cns, "
        "--neighbours or --divisible-by"
    )
    assert "expected 3, and a multiple of 4: change --cns" in refused(hs=3, cns=3, divisible_by=4)
    assert refused(hs=6).startswith("found 0 new CNs among the 5 nearest of 24 originals, expected at least one")
    assert "found 6 different HS in the corpus, expected 7" in refused(hs=7)
    assert "found 6 different HS in the corpus, expected 0" in refused(hs=0)
    assert refused(hs=("Boo.",)).startswith("1 of 1 HS are not in the corpus (hs-")


# Two HS and ten candidates.
@pytest.mark.parametrize(("divisor", "expected"), [(1, 10), (3, 9), (4, 10), (16, 8), (20, 10)])
def test_the_largest_number_of_cns_that_divides_evenly(divisor: int, expected: int) -> None:
    table = {f"Reply{cn} about thing{hs}.": {f"New {n}.": 1.0 for n in range(10)} for hs in range(6) for cn in range(4)}
    rows = [*many(), *({"hate_speech": "Boo.", "counter_narrative": f"New {n}."} for n in range(10))]
    hs = [f"The Dravene spoil thing{n}." for n in (0, 1)]
    assert len(sampled(rows, Told(table), hs=hs, neighbours=10, divisible_by=divisor)[1]) == expected


@given(
    pairs=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1),
    n_hs=st.integers(1, 3),
    seed=st.integers(0, 3),
    itself=st.booleans(),
)
def test_no_corpus_gives_a_pair_that_it_has(pairs: set[tuple[int, int]], n_hs: int, seed: int, itself: bool) -> None:
    spelt = ["Lamp {}", "lamp {}!"]  # the CNs 0 and 1, 2 and 3, ... are spellings of each other
    rows = [{"hate_speech": f"Hs{hs}", "counter_narrative": spelt[cn % 2].format(cn // 2)} for hs, cn in pairs]
    retriever = TfIdf(options={"token_pattern": r"\w+"})
    try:
        hs, cns, _ = sampled(rows, retriever, hs=n_hs, seed=seed, neighbours_count_itself=itself)
    except InputError as error:
        assert "found 0 new CNs" in str(error) or "different HS in the corpus" in str(error)
        return
    new = {(one, other.lower().rstrip("!")) for one in hs for other in cns}
    assert len(new) == len(hs) * len(cns) > 0
    assert not new & {(row["hate_speech"], row["counter_narrative"].lower().rstrip("!")) for row in rows}


def test_a_retriever_that_fails_is_one_line() -> None:
    class Broken:
        name = "broken"

        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
            raise ValueError("no light")

    with pytest.raises(InputError, match=r"^broken finds no neighbours of cn-\w+ \(ValueError: no light\)"):
        sampled(ROWS, Broken())


def test_the_usual_encoder_is_the_paper_s_for_english_only() -> None:
    assert default_encoder("en") == ("minilm", "as in FC-CONAN")
    assert default_encoder("fr")[0] == "tfidf"


# Campaigns


def test_a_campaign_from_a_file_of_pairs(tmp_path: Path) -> None:
    theirs = [{"hs": row["hate_speech"], "counter_narrative": row["counter_narrative"]} for row in many()]
    theirs[0]["text_language"] = "fr"
    corpus = write(tmp_path / "pairs.csv", theirs)
    rows = Rows(rename={"hate_speech": "hs"})
    options: Row = {"task": PAIRS, "corpus": corpus, "hs": 1, "encoder": "tfidf", "seed": 2, "rows": rows}
    made = new_campaign(tmp_path / "Ombrey 1", **options)
    counts = counts_of(made)
    assert (counts["rows"], counts["rows_in_another_language"], counts["pairs_in_corpus"]) == (24, 1, 23)
    settings = yaml.safe_load((tmp_path / "Ombrey 1" / "campaign.yaml").read_text())
    assert (settings["name"], settings["seed"], settings["made_from"]["counts"]) == ("ombrey-1", 2, counts)
    assert (settings["made_from"]["corpus"], settings["made_from"]["encoder"]) == (made.identity["corpus"], "tfidf")
    assert made.identity["corpus"].startswith("pairs.csv@") and made.identity["corpus"].endswith("(hate_speech:hs)")
    assert len(lines(tmp_path / "Ombrey 1" / "units.jsonl")) == counts["pairs"] > 0
    assert (tmp_path / "Ombrey 1" / "raters.csv").read_text() == "rater,role,state\n"
    assert "annotate assign" in made.notes[-1] or "raters" in made.notes[-1]
    with pytest.raises(InputError, match="Ombrey 1 exists: choose another folder"):
        new_campaign(tmp_path / "Ombrey 1", **options)
    again = new_campaign(tmp_path / "other" / "Ombrey 1", **options)
    assert (again.signature, counts_of(again)) == (made.signature, counts)


def test_texts_have_the_metadata_on_which_their_rows_agree() -> None:
    corpus, _, _ = read_corpus([*ROWS, {"hate_speech": "Boo.", "counter_narrative": "Count them."}])
    told = Told({BREAD: {LIBRARY: 0.5, "Count them.": 0.4}, ASK: {LENT: 0.5, BANNED: 0.4}, BANNED: {ASK: 0.5}})
    _, texts, _ = sample_pairs(corpus, told, hs=[make_hs_id(VELMARI)])
    assert texts["hs.jsonl"] == [{"hs_id": make_hs_id(VELMARI), "text": VELMARI, "source_ids": ["v1", "v2"]}]
    rows = {row["text"]: row for row in texts["cn.jsonl"]}
    assert rows[BANNED] == {"cn_id": make_cn_id(BANNED), "text": BANNED, "age": 30, "source_ids": ["t1"]}
    assert rows["Count them."] == {"cn_id": make_cn_id("Count them."), "text": "Count them."}
    told = Told({LIBRARY: {ASK: 0.5, BREAD: 0.4}})
    _, texts, _ = sample_pairs(corpus, told, hs=[make_hs_id(OMBREY)])
    assert (texts["hs.jsonl"][0]["hs_type"], texts["hs.jsonl"][0]["source_ids"]) == ("books", ["o1", "o2"])
    found = {row["text"]: {*row} for row in texts["cn.jsonl"]}
    assert found == {ASK: {"cn_id", "text", "source_ids"}, BREAD: {"cn_id", "text", "cn_type", "age", "source_ids"}}


def test_two_lists_make_their_product_in_their_order(tmp_path: Path) -> None:
    hs = tmp_path / "hs.txt"
    hs.write_bytes(f"\ufeff{TESSOK}\r\n\r\n{OMBREY}\r\n{TESSOK.upper()}\r\n".encode())
    cns = write(
        tmp_path / "cns.csv", [{"reply": text, "cn_type": "question"} for text in (ASK, BREAD, " " + ASK, LENT)]
    )
    rows = Rows(rename={"counter_narrative": "reply"})
    made = new_campaign(tmp_path / "c", task=PAIRS, hs=hs, cns=str(cns), rows=rows)  # type: ignore[arg-type]
    assert [row["text"] for row in lines(tmp_path / "c" / "hs.jsonl")] == [TESSOK, OMBREY]
    assert [row["text"] for row in lines(tmp_path / "c" / "cn.jsonl")] == [ASK, BREAD, LENT]
    assert lines(tmp_path / "c" / "cn.jsonl")[0]["cn_type"] == "question"
    ids = [f"{make_hs_id(one)}:{make_cn_id(other)}" for one in (TESSOK, OMBREY) for other in (ASK, BREAD, LENT)]
    assert [row["unit_id"] for row in lines(tmp_path / "c" / "units.jsonl")] == ids
    assert counts_of(made) == {
        "hs_given": 3,
        "hs_twice": 1,
        "hs_sampled": 2,
        "cns_given": 4,
        "cns_twice": 1,
        "cns_sampled": 3,
        "combinations": 6,
        "pairs": 6,
    }


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Who told you so?", "who told you — so!", True),
        ("ﬁne", "FINE", True),
        ("cafe\u0301", "café", True),
        ("café", "cafe", False),
        ("कि", "की", False),  # vowel signs are no letters, but tell words apart
        ("🙂", "🙁", False),
        ("?!", "...", False),
    ],
)
def test_texts_with_the_same_words_are_one(tmp_path: Path, one: str, other: str, same: bool) -> None:
    (tmp_path / "hs.txt").write_text(OMBREY)
    (tmp_path / "cns.txt").write_text(f"{one}\n{other}\n", encoding="utf-8")
    made = new_campaign(tmp_path / "c", task=PAIRS, hs=tmp_path / "hs.txt", cns=tmp_path / "cns.txt")
    assert counts_of(made)["pairs"] == 2 - same


# ASK answers TESSOK and VELMARI in the corpus, and BREAD, in another spelling here, VELMARI: 9 - 3 pairs remain.
def test_pairs_of_a_corpus_are_left_out_of_the_product(tmp_path: Path) -> None:
    hs = write(tmp_path / "hs.csv", [{"text": text} for text in (OMBREY, TESSOK, VELMARI)])
    cns = write(tmp_path / "cns.csv", [{"text": text} for text in (ASK, BREAD.upper(), "Count them.")])
    counts = counts_of(new_campaign(tmp_path / "c", task=PAIRS, corpus=ROWS, hs=hs, cns=cns))
    assert (counts["combinations"], counts["dropped_as_existing"], counts["pairs"]) == (9, 3, 6)
    assert len(lines(tmp_path / "c" / "units.jsonl")) == 6
    write(hs, [{"text": TESSOK}])
    write(cns, [{"text": ASK}])
    with pytest.raises(InputError, match=r"^all 1 pairs of the lists occur in --corpus, expected new ones"):
        new_campaign(tmp_path / "d", task=PAIRS, corpus=ROWS, hs=hs, cns=cns)


def reply(item: str, system: str, text: str, **more: Any) -> Row:
    ids = {"reply_id": f"re-{item}{system}", "item_id": item, "hs_id": make_hs_id(OMBREY)}
    return {**ids, "hate_speech": OMBREY, "text": text, "system": system, "references": [], "wordcount": 3, **more}


REPLIES = [
    reply("i", "x", LIBRARY),
    reply("i", "y", LIBRARY + " "),
    reply("i", "z", ASK),
    reply("j", "x", BREAD),
    reply("j", "y", "  "),
    reply("j", "z", LENT),
]


def test_every_reply_with_words_is_a_unit(tmp_path: Path) -> None:
    made = new_campaign(tmp_path / "c", task="cseval", replies=REPLIES)
    hs = make_hs_id(OMBREY)
    units = lines(tmp_path / "c" / "units.jsonl")
    assert units[0] == {"unit_id": "re-ix", "hs_id": hs, "item_id": "i", "reply_a": "re-ix"}
    assert [unit["unit_id"] for unit in units] == ["re-ix", "re-iy", "re-iz", "re-jx", "re-jz"]
    about = {"reply_id": "re-ix", "item_id": "i", "hs_id": hs, "hate_speech": OMBREY, "text": LIBRARY, "system": "x"}
    assert lines(tmp_path / "c" / "replies.jsonl")[0] == about
    assert counts_of(made) == {"replies": 6, "systems": 3, "items": 2, "empty": 1, "same_text": 1}


def test_texts_that_the_task_shows_are_looked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^found no reply with background, which the task grounded shows: name it"):
        new_campaign(tmp_path / "c", task="grounded", replies=REPLIES)
    some = [REPLIES[0] | {"background": "Lists."}, *REPLIES[1:]]
    made = new_campaign(tmp_path / "c", task="grounded", replies=some)
    assert counts_of(made)["without_background"] == 4
    assert lines(tmp_path / "c" / "replies.jsonl")[0]["background"] == "Lists."
    with pytest.raises(InputError, match="has no reply with a word"):
        new_campaign(tmp_path / "d", task="cseval", replies=[REPLIES[4]])
    with pytest.raises(InputError, match="row 2: found no hate_speech, expected a text"):
        new_campaign(tmp_path / "d", task="cseval", replies=[REPLIES[4], REPLIES[0] | {"hate_speech": ""}])


# Of item i the pair x, y is the same text; of item j the reply of y has no word. That leaves i: xz, yz; j: xz.
def test_replies_are_compared_with_each_other_unless_they_are_the_same(tmp_path: Path) -> None:
    counts = counts_of(new_campaign(tmp_path / "c", task="pairwise", replies=REPLIES))
    units = lines(tmp_path / "c" / "units.jsonl")
    assert [unit["unit_id"] for unit in units] == ["re-ix:re-iz", "re-iy:re-iz", "re-jx:re-jz"]
    pair = {"unit_id": "re-jx:re-jz", "item_id": "j", "reply_a": "re-jx", "reply_b": "re-jz"}
    assert units[2] == {"hs_id": make_hs_id(OMBREY), **pair}
    assert (counts["possible"], counts["identical"], counts["comparisons"]) == (4, 1, 3)
    with pytest.raises(InputError, match=r"^found 3 pairs of different texts, expected 4: give --pairs up to 3"):
        new_campaign(tmp_path / "d", task="pairwise", replies=REPLIES, pairs=4)


def test_a_choice_of_comparisons_is_random_and_repeatable(tmp_path: Path) -> None:
    rows = [reply(f"i{item}", system, f"{system} on {item}") for item in range(5) for system in "abcd"]
    chosen = []
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        new_campaign(tmp_path / name, task="pairwise", replies=rows, pairs=3, seed=seed)
        chosen.append([unit["unit_id"] for unit in lines(tmp_path / name / "units.jsonl")])
    assert chosen[0] == chosen[1] != chosen[2]
    used = {key for each in chosen[0] for key in each.split(":")}
    assert {row["reply_id"] for row in lines(tmp_path / "one" / "replies.jsonl")} == used


# Gold questions


def test_gold_questions_and_the_test_are_units_with_an_answer(tmp_path: Path) -> None:
    lists = {"hs": tmp_path / "hs.txt", "cns": tmp_path / "cns.txt"}
    lists["hs"].write_text(OMBREY)
    lists["cns"].write_text(f"{BANNED}\n{BREAD}\n")
    row = {"hate_speech": OMBREY, "counter_narrative": LENT, "label": "Appropriate"}
    gold = write(tmp_path / "gold.csv", [row])
    quiz = write(tmp_path / "quiz.csv", [row | {"counter_narrative": "Boo.", "label": "not_appropriate"}])
    made = new_campaign(tmp_path / "c", task=PAIRS, **lists, gold=gold, qualification=quiz)  # type: ignore[arg-type]
    ids = {"hs_id": make_hs_id(OMBREY), "cn_id": make_cn_id(LENT)}
    about = {"unit_id": ":".join(ids.values()), "role": "anchor", **ids, "known": {"label": "appropriate"}}
    units = lines(tmp_path / "c" / "units.jsonl")
    assert units[2] == about
    assert (units[3]["role"], units[3]["known"]) == ("quiz", {"label": "not_appropriate"})
    assert [row["text"] for row in lines(tmp_path / "c" / "hs.jsonl")] == [OMBREY]
    assert [row["text"] for row in lines(tmp_path / "c" / "cn.jsonl")] == [BANNED, BREAD, LENT, "Boo."]
    assert (counts_of(made)["anchor"], counts_of(made)["quiz"]) == (1, 1)
    for wrong, message in (
        (row | {"counter_narrative": BREAD}, "row 2 is already a unit of the campaign"),
        (row | {"label": "yes"}, "row 2: label is 'yes', expected not_appropriate or not_sure"),
        (row | {"label": ""}, "row 2 has no known answer: add one or more of label"),
    ):
        write(gold, [wrong])
        with pytest.raises(InputError, match=message):
            new_campaign(tmp_path / "d", task=PAIRS, **lists, gold=gold)  # type: ignore[arg-type]
    write(gold, [row])
    with pytest.raises(InputError, match="row 2 is already a gold question of the campaign: choose another one"):
        new_campaign(tmp_path / "d", task=PAIRS, **lists, gold=gold, qualification=gold)  # type: ignore[arg-type]
    assert not (tmp_path / "d").exists()


def test_lists_are_read_as_editors_and_spreadsheets_save_them(tmp_path: Path) -> None:
    """A text in cp1252, and a column of a spreadsheet whose texts have commas, without quotation marks."""
    lists = {"hs": tmp_path / "hs.txt", "cns": tmp_path / "cns.csv"}
    lists["hs"].write_bytes("“The Ombrey” never return a book.\r\n".encode("cp1252"))
    lists["cns"].write_bytes("counter_narrative\r\nWho, then?\r\n\r\nNA\r\n".encode("utf-16"))
    new_campaign(tmp_path / "c", task=PAIRS, **lists)  # type: ignore[arg-type]
    assert [row["text"] for row in lines(tmp_path / "c" / "hs.jsonl")] == ["“The Ombrey” never return a book."]
    assert [row["text"] for row in lines(tmp_path / "c" / "cn.jsonl")] == ["Who, then?", "NA"]


def test_gold_questions_of_replies_and_comparisons(tmp_path: Path) -> None:
    rated = {"hate_speech": OMBREY, "text": ASK, "relevance": "4", "coherence": "", "aggressiveness": 1}
    gold = write(tmp_path / "gold.csv", [rated, rated | {"text": LENT, "reference": BREAD}])
    new_campaign(tmp_path / "c", task="cseval", replies=REPLIES, gold=gold)
    hs = make_hs_id(OMBREY)
    items = [make_item_id(hs, references) for references in ([], [make_cn_id(BREAD)])]
    key = make_reply_id(items[0], "anchor", ASK)
    known = {"relevance": 4.0, "aggressiveness": 1.0}
    about = {"unit_id": key, "role": "anchor", "hs_id": hs, "item_id": items[0], "reply_a": key, "known": known}
    units = lines(tmp_path / "c" / "units.jsonl")
    assert (units[-2], units[-1]["item_id"]) == (about, items[1])
    replies = lines(tmp_path / "c" / "replies.jsonl")
    assert (replies[-2]["system"], replies[-1]["references"]) == ("anchor", [BREAD])
    for wrong in ("6", "4.5", "much"):
        write(gold, [rated | {"relevance": wrong}])
        with pytest.raises(InputError, match=rf"row 2: relevance is '{wrong}', expected 1 to 5"):
            new_campaign(tmp_path / "d", task="cseval", replies=REPLIES, gold=gold)

    write(gold, [{"hate_speech": OMBREY, "text_a": LENT, "text_b": "Boo.", "label": "a"}])
    new_campaign(tmp_path / "d", task="pairwise", replies=REPLIES, qualification=gold)
    unit = lines(tmp_path / "d" / "units.jsonl")[-1]
    a, b = (make_reply_id(items[0], f"quiz-{side}", text) for side, text in (("a", LENT), ("b", "Boo.")))
    pair = [unit[name] for name in ("unit_id", "reply_a", "reply_b", "known")]
    assert pair == [f"{a}:{b}", a, b, {"label": "a"}]


# The command line, and what users do wrong


def test_the_command_takes_numbers_lists_and_filters(
    tmp_path: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pairs.csv", many())
    write(tmp_path / "replies.csv", [{"hate_speech": OMBREY, "text": f"{one}: {ASK}", "system": one} for one in "xyz"])
    (tmp_path / "hs.txt").write_text(OMBREY)
    (tmp_path / "cns.txt").write_text(ASK)
    for line, n in {
        "numbers --task appropriateness --corpus pairs.csv --hs 1 --cns 1 --encoder tfidf": 1,
        "lists --task appropriateness --hs hs.txt --cns cns.txt": 1,
        "compared --task pairwise --replies replies.csv --pairs 2": 2,
        "rated --task cseval --replies replies.csv --filter.system y": 1,
    }.items():
        done = run_cli("annotate", "new", *line.split())
        assert (done.returncode, done.stderr) == (0, "")
        assert len(lines(Path(line.split()[0], "units.jsonl"))) == n


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--task appropriateness --replies pairs.csv", "the task appropriateness has the unit pair, expected --corpus"),
        ("--task appropriateness --corpus pairs.csv", "the task appropriateness has the unit pair, expected --corpus"),
        ("--task appropriateness --hs 3 --cns 3", "the task appropriateness has the unit pair, expected --corpus"),
        ("--task appropriateness --corpus pairs.csv --hs 3 --cns c.txt", "the task appropriateness has the unit pair"),
        ("--task cseval --corpus pairs.csv", "the task cseval has the unit reply, expected --replies"),
        ("--task appropriateness --corpus pairs.csv --hs 1 --rename.hate_speech x", "pairs.csv@"),
        ("--task appropriateness --corpus pairs.csv --hs 1 --rename.text hate_speech --filter.age 99", "found no row"),
        (
            "--task appropriateness --corpus pairs.csv --hs 1 --language eng",
            "found the language eng, expected two letters",
        ),
        ("--task appropriateness --hs pairs.csv --cns empty.csv", "empty.csv has no column counter_narrative, only x"),
        ("--task appropriateness --corpus empty.csv --hs 1", "empty.csv@"),
        ("--task appropriateness --corpus blank.csv --hs 1", "blank.csv@"),
        ("--task appropriateness --corpus pairs.csv --hs 1 --encoder ./nowhere", "no model folder at ./nowhere"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, options: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "pairs.csv", ROWS)
    write(tmp_path / "empty.csv", [{"x": "y"}])
    write(tmp_path / "blank.csv", [ROWS[0], ROWS[1] | {"counter_narrative": " "}])
    run = run_cli("annotate", "new", "c", *options.split())
    assert (run.returncode, run.stderr.count("\n")) == (2, 1), run
    assert run.stderr.startswith(f"fcconan: {message}")
    assert not Path("c").exists()
