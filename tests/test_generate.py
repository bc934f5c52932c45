"""`fcconan.generate`: what a model is sent, what may be shown to it, and the rows of replies."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset, DatasetDict

from fcconan import Endpoint, InputError, Result, Rows, generate
from fcconan.data import make_cn_id, make_hs_id, make_item_id, make_pair_id, make_reply_id, read, short_hash
from fcconan.models import ChatRequest, ChatResponse, Sampling
from tests.conftest import RunCli
from tests.models.server import Action, Server, completion, error, says, use_key

OMBREY, TESSOK, VELMARI = (
    "The Ombrey never return a book",
    "Every Tessok cheats at cards",
    "Nobody needs Velmari bakers",
)
EARLY, WHICH = "They return every book early", "Which book, and when"
Row = dict[str, Any]
Answer = Callable[[ChatRequest], ChatResponse]


class Said:
    """A model whose answers the test chooses; it notes the requests."""

    name = "said"

    def __init__(self, answer: Answer | str = "No.") -> None:
        self.identity: Row = {"kind": "said"}
        self.calls: list[ChatRequest] = []
        self._answer = answer

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        for call in calls:
            self.calls.append(call)
            yield ChatResponse(self._answer) if isinstance(self._answer, str) else self._answer(call)

    @property
    def contents(self) -> list[list[str]]:
        return [[each["content"] for each in call.messages] for call in self.calls]


class Scripted:
    """A retriever that ranks the catalogue in its order, and notes what it was asked."""

    name = "scripted"

    def __init__(self, fails: str = "") -> None:
        self.asked: list[tuple[list[str], list[str], int]] = []
        self._fails = fails

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, list[tuple[str, float]]]:
        self.asked.append(([*queries.values()], [*corpus.values()], k))
        if self._fails in queries.values():
            raise ValueError("no answer")
        return {query: [(key, -float(place)) for place, key in enumerate(corpus)][:k] for query in queries}


class Plane:
    """A retriever of texts such as `30 degrees`, by the cosine of their angles."""

    name = "plane"

    def rank(self, queries: Mapping[str, str], corpus: Mapping[str, str], k: int) -> dict[str, list[tuple[str, float]]]:
        def angle(text: str) -> float:
            return float(np.radians(float(text.split()[0])))

        scores = {
            query: [(key, float(np.cos(angle(asked) - angle(text)))) for key, text in corpus.items()]
            for query, asked in queries.items()
        }
        return {query: sorted(row, key=lambda each: -each[1])[:k] for query, row in scores.items()}


def message(text: str, *references: str, code: str | None = None) -> Row:
    return {"hate_speech": text, "references": [*references], "hs_code": code}


def pair(text: str, reply: str, code: str | None = None, **more: Any) -> Row:
    return {"hate_speech": text, "counter_narrative": reply, "hs_code": code, **more}


def rows(result: Result) -> list[Row]:
    found: list[Row] = result.to_frame("replies").to_dict("records")
    return found


def texts(result: Result) -> list[str | None]:
    return [row["text"] for row in rows(result)]


# What a model is sent


def test_a_prompt_and_the_message() -> None:
    contents = {}
    for name in ("brief", "plain", "message"):
        model = Said()
        generate([message(f" {OMBREY}\n")], model=model, prompt=name)
        assert [each["role"] for each in model.calls[0].messages] == ["system", "user"][name == "message" :]
        assert model.calls[0].variables == {"hate_speech": OMBREY}
        contents[name] = model.contents[0]
    assert contents["message"] == [OMBREY]
    assert contents["plain"] == ["Reply to the hateful message of the user with a counter-narrative.", OMBREY]
    assert contents["brief"] == [
        "The user's message is hateful. Write a counter-narrative to it: a civil reply of one to three sentences that "
        "contradicts what the message claims, with a reason or a fact. Do not repeat the message, do not insult "
        "anybody, and write the reply alone, on a single line.",
        OMBREY,
    ]


def test_examples_are_turns_in_the_form_of_the_message(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(
        "- {role: system, content: 'Answer in {{language}}.'}\n- {role: user, content: 'Message: {{ hate_speech }}'}\n"
    )
    pool = [pair(f"{TESSOK} ", "Cards were banned. "), pair(VELMARI, "Rather well,\n\nsay some")]
    model = Said()
    how: Row = {"background": pool, "retriever": Scripted(), "examples": 2, "model": model, "prompt": str(own)}
    found = generate([{"hate_speech": OMBREY, "language": code} for code in ("it",)], **how)
    assert model.contents == [
        ["Answer in Italian.", f"Message: {TESSOK}", "Cards were banned.", f"Message: {VELMARI}",
         "Rather well,\n\nsay some", f"Message: {OMBREY}"],
    ]  # fmt: skip
    roles = [each["role"] for each in model.calls[0].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert rows(found)[0]["examples"] == [
        make_pair_id(make_hs_id(each["hate_speech"]), make_cn_id(each["counter_narrative"])) for each in pool
    ]
    assert found.to_frame()["system"].tolist() == ["said:few-shot-2-examples-scripted-own"]


@pytest.mark.parametrize(
    ("code", "name"), [("es-MX", "Spanish"), ("xx", "xx"), (None, "the language of the message"), ("EU", "Basque")]
)
def test_languages_have_names(tmp_path: Path, code: str | None, name: str) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("- {role: user, content: '{{language}}: {{hate_speech}}'}\n")
    model = Said()
    generate([{"hate_speech": OMBREY, "language": code}], model=model, prompt=str(own))
    assert model.contents == [[f"{name}: {OMBREY}"]]


def test_background_is_found_or_a_column(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Tessok play chess.\n\nTessok cards are plain.\n\nBread is baked.\n")
    model = Said()
    found = generate([message(OMBREY), message(TESSOK)], model=model, background=tmp_path, strategy="grounded")
    assert [(row["text"], row["reason"]) for row in rows(found)] == [(None, "no_background"), ("No.", None)]
    assert model.contents[0][0].endswith("\n\nBackground:\n\nTessok cards are plain.\n\nTessok play chess.")
    shown = ("Tessok cards are plain.", "Tessok play chess.")
    assert rows(found)[1]["sources"] == [f"passage-{short_hash(text)}" for text in shown]
    assert found.notes == ["1 of 2 messages have no background: they have no reply."]
    braces = "{{hate_speech}} {% raw %}"
    generate([{"hate_speech": "{{background}}", "background": braces}], model=model, strategy="grounded")
    assert model.contents[-1][1] == "{{background}}" and model.contents[-1][0].endswith(f"\n\n{braces}")


# Decoding and candidates


@pytest.mark.parametrize(
    ("preset", "sampling", "candidates"),
    [
        ("greedy", Sampling(temperature=0, max_tokens=512, seed=0), 1),
        # Multi-aspect evaluation, appendix C
        ("paper-zero-shot", Sampling(temperature=1, max_tokens=512, seed=0), 1),
        # Pairwise ranking with JudgeLM, section 3
        ("one-line", Sampling(temperature=0, max_tokens=512, stop=("\n",), seed=0), 1),
        # Multi-aspect evaluation, appendix B, by the values of Tekiroglu et al. (2022)
        ("top-pk", Sampling(temperature=1, max_tokens=156, top_p=0.92, top_k=40, seed=0), 5),
    ],
)
def test_presets_have_the_values_of_the_papers(preset: str, sampling: Sampling, candidates: int) -> None:
    model = Said()
    found = generate([message(OMBREY)], model=model, decoding=preset)
    assert (model.calls[0].sampling, len(model.calls)) == (sampling, candidates)
    assert [(each.sample, each.sampling.seed) for each in model.calls] == [(n, n) for n in range(candidates)]
    assert rows(found)[0]["decoding"] == preset
    # The longest reply takes one more, and the name says so.
    found = generate([message(OMBREY)], model=model, decoding=preset, max_tokens=9, temperature=0.5, seed=2)
    assert (model.calls[-1].sampling.max_tokens, model.calls[-1].sampling.temperature) == (9, 0.5)
    assert rows(found)[0]["decoding"] == f"{preset}, temperature=0.5, max_tokens=9"
    usual = "" if preset == "greedy" else f"{preset}-"
    assert rows(found)[0]["system"] == f"said:zero-shot-{usual}temperature=0.5-max_tokens=9-seed-2"


@pytest.mark.parametrize("pick", ["first", "random"])
def test_the_first_or_a_random_candidate_with_a_text(tmp_path: Path, pick: str) -> None:
    own = tmp_path / "many.yaml"
    own.write_text(f"{{temperature: 1, candidates: 4, pick: {pick}}}")

    def answer(call: ChatRequest) -> ChatResponse:
        if call.sample == 1:
            return ChatResponse(reason="empty", prompt_tokens=5)
        return ChatResponse(f"Reply {call.sample}.", prompt_tokens=5, completion_tokens=call.sample)

    asked = [message(f"Message {number}") for number in range(40)]
    found = rows(generate(asked, model=Said(answer), decoding=str(own), seed=3))
    for row in found:
        order: Any = range(4)
        if pick == "random":
            order = np.random.default_rng([3, int(short_hash(row["item_id"]), 16)]).permutation(4)
        expected = next(int(place) for place in order if place != 1)
        assert (row["picked"], row["text"], row["candidates"]) == (expected, f"Reply {expected}.", 4)
        assert (row["prompt_tokens"], row["completion_tokens"]) == (20, 5)
    assert {row["picked"] for row in found} == ({0} if pick == "first" else {0, 2, 3})


# Replies


@pytest.mark.parametrize(
    ("answer", "text", "reason", "flags"),
    [
        (ChatResponse("  They do.\n"), "They do.", None, []),
        (ChatResponse("One  line\n\nand another."), "One  line\n\nand another.", None, []),
        (ChatResponse("<think>\nWho knows.\n</think>\n\nNo, that is untrue."), "No, that is untrue.", None, []),
        (ChatResponse("<think>Who knows.</think>\n"), None, "empty", []),
        (ChatResponse("<think>Who knows."), None, "empty", []),
        (ChatResponse(reason="truncated", cut="<think>Who knows"), None, "truncated", []),
        (ChatResponse(reason="truncated", cut="<think>Who?</think> They"), "They", None, ["truncated"]),
        (ChatResponse(reason="truncated", cut=" They always"), "They always", None, ["truncated"]),
        (ChatResponse(reason="truncated"), None, "truncated", []),
        (ChatResponse(reason="refused", detail="a policy"), None, "refused", []),
        (ChatResponse("?!… --- \N{WAVING HAND SIGN}"), "?!… --- \N{WAVING HAND SIGN}", None, ["empty"]),
        (ChatResponse("I'm sorry, but I cannot fulfil your request."), ..., None, ["refusal:request"]),
        (ChatResponse("As an AI language model, I cannot take sides."), ..., None, ["refusal:assistant"]),
        (ChatResponse("I am sorry, but that is simply not true."), ..., None, []),
    ],
)
def test_a_reply_is_a_text_with_flags_or_a_reason(
    answer: ChatResponse, text: Any, reason: str | None, flags: list[str]
) -> None:
    found = generate(
        [message(OMBREY), message(TESSOK)],
        model=Said(lambda call: answer if call.messages[-1]["content"] == OMBREY else ChatResponse("Two words.")),
    )
    row, counts = rows(found)[0], found.to_frame().iloc[0]
    assert (row["text"], row["reason"], row["flags"]) == (answer.text if text is ... else text, reason, flags)
    refused = sum(flag.startswith("refusal") for flag in flags)
    assert (counts["n"], counts["n_missing"], counts["refusals"]) == (
        2 - (reason is not None),
        int(bool(reason)),
        refused,
    )
    assert (counts["empty"], counts["truncated"]) == ("empty" in flags, "truncated" in flags)
    assert counts["reasons"] == (f"{reason} 1" if reason else None)
    lengths = [len(each.split()) for each in texts(found) if each is not None]
    assert counts["mean_words"] == sum(lengths) / len(lengths)


def test_a_row_says_how_the_reply_was_made() -> None:
    model = Said(lambda call: ChatResponse(" 1 ", model="said-2", prompt_tokens=5, completion_tokens=2))
    (row,) = rows(generate([message(OMBREY, EARLY)], model=model, system="mine", seed=4))
    item = make_item_id(make_hs_id(OMBREY), [make_cn_id(EARLY)])
    assert row == {
        "reply_id": make_reply_id(item, "mine", "1"), "item_id": item, "hs_id": make_hs_id(OMBREY),
        "hate_speech": OMBREY, "text": "1", "system": "mine", "strategy": "zero-shot", "references": [EARLY],
        "reason": None, "flags": [], "model": "said", "revision": "said-2", "prompt_hash": "e24f4967b11a",
        "format": None, "decoding": "greedy", "seed": 4, "examples": [], "sources": [], "candidates": 1, "picked": 0,
        "prompt_tokens": 5, "completion_tokens": 2,
    }  # fmt: skip


def test_a_reference_is_the_reply_and_the_others_its_references() -> None:
    known = [f"CN {number}." for number in range(4)]
    asked = [message(f"Message {number}", *known) for number in range(40)]
    found = rows(generate(asked, strategy="reference", seed=1))
    for row in found:
        drawn = np.random.default_rng([1, int(short_hash(row["item_id"]), 16)]).integers(4)
        assert (row["text"], row["system"]) == (known[drawn], "gold")
        assert row["references"] == [text for text in known if text != row["text"]]
    again = rows(generate(asked[::-1], strategy="reference", seed=1))
    assert [row["text"] for row in again[::-1]] == [row["text"] for row in found]
    (one, none) = rows(generate([message(OMBREY, " Who saw? "), message(TESSOK, " ")], strategy="reference"))
    assert (one["text"], one["references"], none["text"], none["reason"]) == ("Who saw?", [], None, "no_reference")


# Messages


def test_rows_with_one_id_are_one_message_with_all_references() -> None:
    asked = [
        {"item_id": 2, **message(OMBREY, EARLY)},
        {"item_id": 1, **message(TESSOK)},
        {"item_id": 2, **message(OMBREY, EARLY, "NA")},
    ]
    found = rows(generate(asked, model=Said()))
    assert [(row["item_id"], row["references"]) for row in found] == [("2", [EARLY, "NA"]), ("1", [])]
    assert len(rows(generate(asked, model=Said(), limit=1))) == 1
    with pytest.raises(InputError, match="has several messages under the id 2"):
        generate([*asked, {"item_id": "2", **message(VELMARI)}], model=Said())


def test_pairs_are_one_message_with_its_appropriate_cns() -> None:
    labels = ("appropriate", "not_appropriate", None, "appropriate")
    replies = (EARLY, WHICH, "NA", EARLY)
    asked = [pair(OMBREY, reply, label=label) for reply, label in zip(replies, labels, strict=True)]
    found = rows(generate([*asked, pair(TESSOK, WHICH, label="not_appropriate")], model=Said()))
    ids = [make_item_id(make_hs_id(OMBREY), map(make_cn_id, (EARLY, "NA"))), make_item_id(make_hs_id(TESSOK), [])]
    assert [(row["item_id"], row["references"]) for row in found] == [(ids[0], [EARLY, "NA"]), (ids[1], [])]


def test_files_and_folders(tmp_path: Path, demo: Path) -> None:
    table = tmp_path / "messages.csv"
    table.write_text(f'HS,reference\n"{OMBREY}","[""{EARLY}"", ""NA""]"\n{TESSOK},"{WHICH}"\n')
    found = rows(generate(table, model=Said()))
    assert [row["references"] for row in found] == [[EARLY, "NA"], [WHICH]]
    queries = tmp_path / "queries.jsonl"
    queries.write_text(json.dumps({"_id": "q1", "text": OMBREY}) + "\n")
    assert [(row["hs_id"], row["hate_speech"]) for row in rows(generate(queries, model=Said()))] == [("q1", OMBREY)]
    replies = pd.read_parquet(demo / "replies" / "test-00000-of-00001.parquet").drop_duplicates("item_id")
    found = rows(generate(demo, model=Said()))
    assert [row["item_id"] for row in found] == replies["item_id"].tolist() and len(found) == 24
    tier = pd.read_parquet(demo / "bronze" / "test-00000-of-00001.parquet")
    found = rows(generate(demo / "bronze" / "test-00000-of-00001.parquet", model=Said()))
    assert [row["hate_speech"] for row in found] == tier["hate_speech"].drop_duplicates().tolist()
    good = tier[tier["label"] == "appropriate"].groupby("hate_speech")["counter_narrative"].agg(set)
    assert {row["hate_speech"]: {*row["references"]} for row in found if row["references"]} == good.to_dict()


@pytest.mark.parametrize("make", [pd.DataFrame, Dataset.from_list, list])
def test_rows_in_memory(make: Any) -> None:
    asked = [pair(OMBREY, EARLY, label="appropriate"), pair(TESSOK, WHICH, label="not_appropriate")]
    expected = generate(asked, model=Said()).to_frame("replies")
    assert generate(make(asked), model=Said()).to_frame("replies").equals(expected)
    both = DatasetDict(one=Dataset.from_list(asked), two=Dataset.from_list(asked[:1]))
    assert len(rows(generate(both, model=Said(), rows=Rows(split="two")))) == 1


# Examples and retrieved CNs, without leakage

ANGLES = [
    pair("0 asked", "own", "a"),
    pair("1 the same in other words", "own too", "a"),
    pair("10 near", "first CN", "b"),
    pair("10 near", "second CN", "b"),
    pair("12 near in other words", "third CN", "b"),
    pair("40 farther", "first CN", "c"),
    pair("40 farther", "fourth CN", "c"),
    pair("90 far", "fifth CN", "d"),
]


def shown(asked: Row, pool: list[Row], k: int, retriever: Any = None) -> list[tuple[str, str]]:
    """The pairs that a model is shown for a message."""
    model = Said()
    how: Row = {"background": pool, "retriever": retriever or Plane(), "prompt": "message", "examples": k}
    found = generate([asked], model=model, **how)
    turns = model.contents[0][:-1]
    pairs = [*zip(turns[::2], turns[1::2], strict=True)]
    ids = [make_pair_id(make_hs_id(hs), make_cn_id(cn)) for hs, cn in pairs]
    assert rows(found)[0]["examples"] == ids
    assert found.notes == ["1 of 1 messages were shown fewer than " + f"{k} examples."] * (len(pairs) < k)
    return pairs


def test_the_nearest_messages_one_for_each_group_and_no_cn_twice() -> None:
    assert shown(message("0 asked", code="a"), ANGLES, 3) == [
        ("10 near", "first CN"),
        ("40 farther", "fourth CN"),
        ("90 far", "fifth CN"),
    ]
    assert len(shown(message("0 asked", code="a"), ANGLES, 5)) == 3
    assert len(shown(message("5 new", code="z"), ANGLES, 5)) == 4
    assert shown(message("0 asked", code="a"), ANGLES[:2], 1) == []


def test_a_cn_of_the_message_is_not_shown_with_another_message() -> None:
    found = shown(message("11.5 new", "FIRST cn!", code="z"), ANGLES, 2)
    assert [reply for _, reply in found] == ["third CN", "own too"]  # 12, then 1: both nearer than 40


def test_near_copies_and_written_cns_are_not_shown() -> None:
    pool = [pair("25 The Ombrey never return books", "a"), pair("30 The Tessok cheat", "b")]
    assert [reply for _, reply in shown(message("20 The Ombrey never return a book"), pool, 2)] == ["b"]
    # A CN that was written for both makes two messages one; one that was judged to fit both does not.
    written = [pair("10 Books", EARLY), pair("20 Shelves", EARLY), pair("20 Shelves", "c"), pair("90 Far", "d")]
    assert [reply for _, reply in shown(message("0 Books?", EARLY), written, 3)] == ["d"]
    judged = [each | {"tier": "bronze"} for each in written]
    assert [reply for _, reply in shown(pair("0 Books?", EARLY, tier="bronze"), judged, 3)] == ["c", "d"]


def test_ties_are_in_the_order_of_the_pool() -> None:
    pool = [pair("350 left", "a", "1"), pair("10 right", "b", "2"), pair("20 right", "c", "3")]
    assert [reply for _, reply in shown(message("0 asked", code="z"), pool, 2)] == ["a", "b"]
    assert [reply for _, reply in shown(message("0 asked", code="z"), pool[1::-1], 2)] == ["b", "a"]


def test_examples_by_tfidf() -> None:
    pool = [pair(OMBREY, "a", "1"), pair(TESSOK, "b", "2"), pair(VELMARI, "c", "3")]
    assert [reply for _, reply in shown(message("All those Tessok at their cards"), pool, 1, "tfidf")] == ["b"]
    assert [reply for _, reply in shown(message("Quillish"), pool, 1, "tfidf")] == ["a"]  # all are equal


def test_the_pool_is_the_training_part_with_each_appropriate_pair_once(demo: Path) -> None:
    scripted = Scripted()
    generate(demo, model=Said(), examples=1, retriever=scripted)
    train = pd.read_parquet(demo / "train" / "train-00000-of-00001.parquet")
    assert scripted.asked[0][1] == train["hate_speech"].drop_duplicates().tolist()
    pool = [pair(OMBREY, EARLY, label="appropriate"), pair(OMBREY, EARLY, label=None)]
    pool += [pair(TESSOK, EARLY, label="not_appropriate"), pair(TESSOK, "NA")]
    assert shown(message(VELMARI), pool, 3, Scripted()) == [(OMBREY, EARLY), (TESSOK, "NA")]


PAIRS = [
    pair(OMBREY, EARLY, "1"),
    pair(OMBREY, WHICH, "1"),
    pair(TESSOK, "Cards were banned", "2"),
    pair("Tessok and their cards", WHICH, "2"),
    pair(VELMARI, "Everybody eats their bread", "3"),
]
TEXTS = [each["counter_narrative"] for each in PAIRS]


def retrieved(asked: list[Row], pool: list[Row], retriever: Any) -> list[Row]:
    return rows(generate(asked, strategy="retrieval", background=pool, retriever=retriever))


def test_the_first_cn_outside_of_the_leakage_group() -> None:
    system = Scripted()
    # Four different CNs. For the Ombrey their two CNs are left out and, with these, the other pair with one of them.
    asked = [message(OMBREY, code="1"), message(TESSOK, code="2"), message("The Dravene sing", code="9")]
    found = retrieved(asked, PAIRS, system)
    assert [row["text"] for row in found] == [TEXTS[2], TEXTS[0], TEXTS[0]]
    assert [row["sources"] for row in found] == [[make_cn_id(TEXTS[place])] for place in (2, 0, 0)]
    assert {(row["system"], row["strategy"], row["seed"]) for row in found} == {
        ("scripted:retrieval", "retrieval", None)
    }
    assert system.asked == [
        ([OMBREY, TESSOK, "The Dravene sing"], [TEXTS[place] for place in (0, 1, 2, 4)], 3)  # two left out, and one
    ]
    # References are left out in whatever spelling, and near copies of the message with their CNs.
    spelt = [message("The Dravene sing", "they return EVERY book, early!", code="9")]
    assert retrieved(spelt, PAIRS, Scripted())[0]["text"] == TEXTS[1]
    near = [message("The Ombrey never return any book", code="9")]
    assert retrieved(near, [*PAIRS, pair("Tessok sing", TEXTS[0])], Scripted())[0]["text"] == TEXTS[2]


def test_no_cn_and_failures_have_reasons() -> None:
    asked = [message(OMBREY, code="1"), message(TESSOK, code="2"), message("The Dravene sing", code="9")]
    found = retrieved(asked, PAIRS[:2], Scripted(fails=TESSOK))
    reasons = [(row["text"], row["reason"]) for row in found]
    assert reasons == [(None, "no_candidates"), (None, "ValueError: no answer"), (TEXTS[0], None)]


def test_systems_learn_from_pairs_outside_of_all_leakage_groups() -> None:
    seen: list[list[str]] = []

    class Learns(Scripted):
        def __init__(self, train: list[tuple[str, str]]) -> None:
            super().__init__()
            seen.append([text for text, _ in train])

    retrieved([message(OMBREY, code="1"), message("The Dravene sing", code="9")], PAIRS, Learns)
    assert seen == [[TESSOK, VELMARI]]  # without the pairs of the Ombrey, and the one that shares a CN with them


@pytest.mark.parametrize("name", ["tfidf", "bm25"])
def test_systems_of_the_suite(name: str) -> None:
    asked = [message(OMBREY, code="1"), message("Nobody needs the bread of Velmari", code="9")]
    found = retrieved(asked, PAIRS, name)
    assert found[0]["text"] not in TEXTS[:2] and found[1]["text"] == TEXTS[4]


# Endpoints and the command line


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    use_key(monkeypatch)
    with Server(says("They lend books.")) as running:
        yield running


def test_a_command_writes_rows_that_others_read_and_asks_nothing_twice(
    server: Server, demo: Path, tmp_path: Path, run_cli: RunCli
) -> None:
    out, words = tmp_path / "replies.parquet", ("generate", demo, "--model", "stub", "--base-url", server.url)
    done = run_cli(*words, "--limit", 3, "--dry-run", "--out", out)
    assert (done.returncode, len(server.bodies), out.exists()) == (0, 0, False), done.stderr
    assert "requests" in done.stdout and "counter-narrative" in done.stdout
    done = run_cli(*words, "--limit", 3, "--out", out)
    assert (done.returncode, done.stderr, len(server.bodies)) == (0, "", 3)
    assert "stub:zero-shot" in done.stdout and "They lend" not in done.stdout
    found, _, _ = read("replies", out)
    assert found[["system", "text"]].values.tolist() == [["stub:zero-shot", "They lend books."]] * 3
    again = run_cli(*words, "--limit", 3, "--out", tmp_path / "again.jsonl", "--json", tmp_path / "again.json")
    result = json.loads((tmp_path / "again.json").read_text())
    assert (again.returncode, len(server.bodies)) == (0, 3)
    assert [result["tables"]["usage"][0][name] for name in ("requests", "stored")] == [0, 3]
    assert result["identity"]["prompt"] == "brief@e24f4967b11a"
    lines = [json.loads(line) for line in (tmp_path / "again.jsonl").read_text().splitlines()]
    assert [line["reply_id"] for line in lines] == pd.read_parquet(out)["reply_id"].tolist()
    assert (lines[0]["seed"], lines[0]["flags"], lines[0]["revision"]) == (0, [], "stub-stub")


def test_failed_requests_are_missing_replies_and_are_asked_again(server: Server) -> None:
    def refuses(body: Row, number: int) -> Action:
        return error(413) if body["messages"][-1]["content"] == TESSOK else Action(body=completion(body, "They lend."))

    server.behaviour = refuses
    how: Row = {"model": "stub", "endpoint": Endpoint(base_url=server.url, concurrency=1)}
    found = generate([message(OMBREY), message(TESSOK)], **how)
    assert [(row["text"], row["reason"]) for row in rows(found)] == [("They lend.", None), (None, "bad_request")]
    assert found.notes == ["requests to stub without an answer: bad_request 1; the same command asks them again"]
    server.behaviour = says("They do not.")
    assert texts(generate([message(OMBREY), message(TESSOK)], **how)) == ["They lend.", "They do not."]
    assert len(server.bodies) == 3


# Mistakes


@pytest.mark.parametrize(
    ("asked", "how", "said"),
    [
        ([{"post": "x"}], {}, "has no column hate_speech, only post: name it with --rename.hate_speech COLUMN"),
        ([message(OMBREY), message(" ")], {}, "has no message in 1 rows, row 2 first: remove them"),
        ([message(OMBREY)], {"model": None}, "found strategy zero-shot without a model, expected --model for"),
        ([message(OMBREY)], {"strategy": "reference"}, "found strategy reference with a model"),
        ([message(OMBREY)], {"strategy": "grounded", "examples": 2}, "found --examples with strategy grounded"),
        ([message(OMBREY)], {"strategy": "grounded"}, "found no background, expected it for grounded"),
        ([message(OMBREY)], {"prompt": "grounded"}, "found the prompt grounded with strategy zero-shot"),
        ([message(OMBREY)], {"prompt": "breif"}, "unknown prompt 'breif': did you mean 'brief'?"),
        ([message(OMBREY)], {"decoding": "topk"}, "unknown decoding 'topk': did you mean 'top-pk'?"),
        ([message(OMBREY)], {"prompt_format": "zephyr"}, "found --prompt-format with"),
        ([message(OMBREY)], {"examples": 2}, "no pairs for examples or retrieval: "),
        ([message(OMBREY)], {"examples": 2, "background": [pair(" ", "x")]}, "has 1 pairs without a message or a CN"),
        (
            [message(OMBREY)],
            {"examples": 2, "background": [pair(TESSOK, EARLY)], "retriever": "tf-idf"},
            "unknown system 'tf-idf': did you mean 'tfidf'?",
        ),
    ],
)
def test_mistakes_are_one_line(asked: list[Row], how: Row, said: str) -> None:
    with pytest.raises(InputError, match=r"^[^\n]+$") as caught:
        generate(asked, **{"model": Said(), **how})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {role: user, content: Answer.}", "hate_speech"),
        ("- {role: user, content: '{{hate_speech}} {{counter_narrative}}'}", "has the variable counter_narrative"),
        ("- {role: user, content: '{{hate_speech}}'}\n- {role: assistant, content: 'Well,'}", "end with a message of"),
        ("role: user", "Input should be a valid list"),
    ],
)
def test_prompt_files_with_mistakes(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"^[^\n]+$") as caught:
        generate([message(OMBREY)], model=Said(), prompt=str(path))
    assert str(caught.value).startswith(str(path)) and said in str(caught.value)


def test_decoding_files_with_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("{temprature: 1}")
    with pytest.raises(InputError, match="has temprature: 1, expected some of temperature, top_p, top_k, max_tokens"):
        generate([message(OMBREY)], model=Said(), decoding=str(path))


def test_without_any_reply_the_commonest_reason_is_named() -> None:
    answers = iter([ChatResponse(reason="timeout", detail="no answer within 5 s"), ChatResponse(reason="refused")] * 2)
    with pytest.raises(
        InputError, match=r"said:zero-shot wrote nothing: 1 of 2 messages .* timeout \(no answer within"
    ):
        generate([message(OMBREY), message(TESSOK)], model=Said(lambda _: next(answers)))
    with pytest.raises(
        InputError, match="gold wrote nothing: 1 of 1 messages have the reason no_reference: name a col"
    ):
        generate([message(OMBREY)], strategy="reference")
