"""`fcconan.compare`: verdicts by hand, the formats, both orders, an endpoint, and users' mistakes."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fcconan import Endpoint, InputError, Result, Rows, compare, rank
from fcconan.models import ChatRequest, ChatResponse
from tests.conftest import RunCli
from tests.models.server import Action, Server, completion, says, use_key

HS = "The Ombrey never return a book."
# Items -> replies of systems.
REPLIES = {
    "i1": {"one": "The library lists no late book.", "two": "No.", "three": "Ombrey readers return books early."},
    "i2": {"one": "Same words.", "two": "Same  words.", "three": "\u200b"},
}
ROWS = [
    {"item_id": item, "reply_id": f"{item}-{system}", "system": system, "hate_speech": HS, "text": text}
    for item, replies in REPLIES.items()
    for system, text in replies.items()
]
FIRST = ROWS[:3]


class Own:
    """A model that answers by a function of the two replies."""

    def __init__(self, answer: Callable[[str, str], str | None], name: str = "own") -> None:
        self.answer, self.name, self.calls, self.identity = answer, name, list[ChatRequest](), {"version": 1}

    def replies(self, calls: Iterable[ChatRequest]) -> Iterator[ChatResponse]:
        for call in calls:
            self.calls.append(call)
            text = self.answer(call.variables["reply_1"], call.variables["reply_2"])
            yield ChatResponse(text) if text else ChatResponse(reason="timeout", detail="too late")


def better(verdict: str) -> str:
    return json.dumps({"better": verdict})


def longer(first: str, second: str) -> str:
    return better("a" if len(first) > len(second) else "b")


def rows(result: Result, *columns: str, table: str = "comparisons") -> list[list[Any]]:
    frame = result.to_frame(table)
    return [list(row) for row in frame[[*columns]].astype(object).where(frame[[*columns]].notna(), None).to_numpy()]


def test_verdicts_of_both_orders_by_hand() -> None:
    """Longer replies win; equal texts are a tie and a missing text is invalid, both without a request."""
    model = Own(longer)
    found = compare(ROWS, model=model)
    assert rows(found, "reply_a", "reply_b", "verdict", "verdict_ab", "verdict_ba", "flipped", "reason") == [
        ["i1-one", "i1-three", "b", "b", "b", False, None],
        ["i1-one", "i1-two", "a", "a", "a", False, None],
        ["i1-three", "i1-two", "a", "a", "a", False, None],
        ["i2-one", "i2-three", "invalid", None, None, None, "empty_reply"],
        ["i2-one", "i2-two", "tie", None, None, None, None],
        ["i2-three", "i2-two", "invalid", None, None, None, "empty_reply"],
    ]
    assert len(model.calls) == 6 and model.calls[0].variables["reply_2"] == model.calls[1].variables["reply_1"]
    assert rows(found, "rater", "reason", "n", table="missing") == [["own", "empty_reply", 2]]
    columns = ("rater", "n", "first", "second", "tie", "flips", "n_missing")
    assert rows(found, *columns, table="raters") == [["own", 6, 0.5, 0.5, 0.0, 0.0, 2]]
    assert found.notes == ("1 of 6 pairs have equal texts: ties without a request.",)
    assert found.to_frame("comparisons")["identical"].tolist() == [False, False, False, False, True, False]


@pytest.mark.parametrize(
    ("orders", "verdicts", "asked"), [("both", ["tie"] * 3, 6), ("ab", ["a"] * 3, 3), ("seeded", ["b", "b", "b"], 3)]
)
def test_a_judge_that_prefers_the_first_place(orders: Any, verdicts: list[str], asked: int) -> None:
    model = Own(lambda *_: better("a"))
    found = compare(FIRST, model=model, orders=orders)
    if orders == "seeded":  # each verdict is that of the drawn order, and draws differ by seed
        shown = [call.variables["reply_1"] for call in model.calls]
        firsts = [text for item in REPLIES.values() for text in item.values()]
        assert set(shown) <= {*firsts}
        drawn = {
            tuple(rows(compare(FIRST, model=Own(lambda *_: better("a")), orders="seeded", seed=seed), "verdict")[0])
            for seed in range(8)
        }
        assert drawn == {("a",), ("b",)}
    else:
        assert [row[0] for row in rows(found, "verdict")] == verdicts
    assert len(model.calls) == asked
    ((first, second, tie, flips),) = rows(found, "first", "second", "tie", "flips", table="raters")
    assert (first, second, tie, flips) == (1, 0, 0, 1 if orders == "both" else None)


def test_one_unreadable_order_is_invalid_and_ties_do_not_outvote() -> None:
    said = {"No.": None, "The library lists no late book.": better("tie")}
    model = Own(lambda first, _: said.get(first, better("a")))
    found = compare(FIRST, model=model)
    assert rows(found, "verdict", "verdict_ab", "verdict_ba", "reason", "reason_ba") == [
        ["tie", "tie", "b", None, None],  # one, three: a tie in one order
        ["invalid", "tie", None, "timeout", "timeout"],  # one, two
        ["invalid", "a", None, "timeout", "timeout"],  # three, two
    ]
    assert rows(found, "n", "first", "tie", "flips", "n_missing", table="raters") == [[3, 0.5, 0.5, 1.0, 2]]


def test_grades_of_judgelm() -> None:
    """8 3 in both orders: the first place wins each time, so it is a tie of mean grades 5.5."""
    model = Own(lambda *_: "8 3")
    found = compare(FIRST, model=model, comparison_format="judgelm")
    assert rows(found, "verdict", "score_a", "score_b") == [["tie", 5.5, 5.5]] * 3
    assert (model.calls[0].sampling.stop, model.calls[0].sampling.max_tokens) == (("\n",), 32)
    graded = Own(lambda first, second: f"{len(first) % 10 + 1} {len(second) % 10 + 1}\nThe first names the library.")
    found = compare(FIRST, model=graded, comparison_format="judgelm", explain=True)
    a, b = (len(REPLIES["i1"][name]) % 10 + 1 for name in ("one", "three"))
    assert rows(found, "score_a", "score_b")[0] == [a, b]
    assert found.to_frame()["rater"].tolist() == ["own:judgelm-explain"]
    assert (graded.calls[0].sampling.stop, graded.calls[0].sampling.max_tokens) == ((), 1024)


def test_a_reference_and_an_own_prompt_are_shown(tmp_path: Path) -> None:
    model = Own(lambda *_: "7 4")
    given = [{**row, "references": ["Ask the librarian."] if row["item_id"] == "i1" else []} for row in ROWS]
    found = compare(given, model=model, comparison_format="judgelm", show_reference=True)
    assert all("| Ask the librarian." in call.messages[-1]["content"] for call in model.calls)
    assert len(model.calls) == 6 and rows(found, "reason")[3:] == [["empty_reply"], [None], ["empty_reply"]]
    (without,) = {row[0] for row in rows(compare([{**row, "references": []} for row in FIRST] + given[:0] + [
        {**row, "item_id": "i3", "reply_id": f"x{row['reply_id']}", "references": ["Ask."]} for row in FIRST
    ], model=model, comparison_format="judgelm", show_reference=True), "reason")[:3]}  # fmt: skip
    assert without == "no_reference"
    file = tmp_path / "mine.yaml"
    file.write_text("[{role: user, content: 'To {{hate_speech}}: {{reply_1}} or {{reply_2}}?'}]", encoding="utf-8")
    found = compare(FIRST, model=(own := Own(longer)), prompt=file)
    assert own.calls[0].messages[0]["content"] == f"To {HS}: {FIRST[0]['text']} or {FIRST[2]['text']}?"
    assert found.to_frame()["rater"].iloc[0].startswith("own:choice-prompt-")
    file.write_text("[{role: user, content: '{{reply_1}} or {{reply_2}}?'}]", encoding="utf-8")
    with pytest.raises(InputError, match="does not show hate_speech"):
        compare(FIRST, model=own, prompt=file)


def test_random_pairs_and_the_first_items() -> None:
    many = [{**row, "item_id": f"{n}", "reply_id": f"{n}{row['reply_id']}"} for n in range(20) for row in FIRST]
    every = rows(compare(many, model=Own(longer)), "reply_a", "reply_b")
    few, more, other = (
        rows(compare(many, model=Own(longer), pairs=n, seed=seed), "reply_a", "reply_b")
        for n, seed in ((8, 0), (30, 0), (8, 1))
    )
    assert (len(every), len(few), len(more)) == (60, 8, 30)
    assert [pair for pair in every if pair in few] == few and all(pair in more for pair in few) and few != other
    assert rows(compare(many, model=Own(longer), limit=2), "reply_a", "reply_b") == every[:6]


def test_own_replies_without_ids_and_those_of_a_dataset() -> None:
    own = [{"item_id": "i1", "system": "mine", "hate_speech": HS, "text": "Ask the librarian."}]
    found = compare(FIRST, own, model=Own(longer))
    assert len(rows(found, "reply_a")) == 6 and found.to_frame("comparisons")["reply_b"].notna().all()


def test_several_judges_are_ranked_and_written(tmp_path: Path, run_cli: RunCli) -> None:
    found = compare(FIRST, model=(Own(longer, "x"), Own(lambda *_: better("b"), "y")))
    assert rows(found, "rater", "n", table="raters") == [["x", 3], ["y", 3]]
    best = rank(found, rater=("x",)).to_frame()["system"].iloc[0]
    assert best == "three"
    replies, said = tmp_path / "replies.jsonl", tmp_path / "said.jsonl"
    replies.write_text("\n".join(map(json.dumps, FIRST)), encoding="utf-8")
    texts = [row["text"] for row in FIRST]
    said.write_text(
        "\n".join(
            json.dumps({"reply_1": one, "reply_2": other, "output": longer(one, other)})
            for one in texts
            for other in texts
            if one != other
        ),
        encoding="utf-8",
    )
    out = tmp_path / "out.parquet"
    run_cli("judge", "compare", replies, "--model", f"replay:{said}", "--out", out)
    (best,) = rank(str(out)).to_frame()["system"].iloc[:1]
    assert best == "three"


# An endpoint


@pytest.fixture
def _endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("_endpoint")
def test_an_unreadable_answer_is_asked_again_and_stored() -> None:
    def answer(body: dict[str, Any], _: int) -> Action:
        return Action(
            body=completion(body, better("a") if len(body["messages"]) > 2 else "Hard to say, both are fine.")
        )

    with Server(answer) as server:
        endpoint = Endpoint(base_url=server.url)
        found = compare(FIRST[:2], model="stub", endpoint=endpoint)
        assert found.notes[0] == "stub was asked once more after 2 answers that could not be read."
        assert rows(found, "verdict", "flipped") == [["tie", True]]
        again = server.bodies[-1]["messages"][-2:]
        assert [each["role"] for each in again] == ["assistant", "user"] and again[1]["content"].startswith(
            "Answer with"
        )
        asked = len(server.requests)
        assert rows(compare(FIRST[:2], model="stub", endpoint=endpoint), "verdict") == [["tie"]]
        assert (asked, len(server.requests)) == (4, 4)
        with pytest.raises(InputError, match=r"no verdict: 1 of 1 are unreadable.*Hard to say.*\"better\": \"a\""):
            compare(FIRST[:2], model="stub", endpoint=endpoint, ask_again=False)


@pytest.mark.usefixtures("_endpoint")
def test_requests_are_counted_without_sending() -> None:
    with Server(says(better("a"))) as server:
        endpoint = Endpoint(base_url=server.url)
        planned = compare(ROWS, model="stub", endpoint=endpoint, dry_run=True)
        assert planned.to_frame()["requests"].tolist() == [6] and not server.requests
        shown = planned.to_frame("messages")["content"].iloc[-1]
        found = compare(ROWS, model="stub", endpoint=endpoint)
        assert server.bodies[0]["response_format"]["json_schema"]["name"] == "comparison"
        assert shown in [body["messages"][-1]["content"] for body in server.bodies]
        assert rows(found, "requests", table="usage") == [[6]]


# Users' mistakes


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (FIRST, {"model": ()}, "found no model"),
        ([FIRST[0], {**FIRST[1], "system": "one"}], {}, "found two replies of the system one to the item i1"),
        (FIRST[:1], {}, "found no item with replies of two systems"),
        (FIRST, {"task": "cseval"}, "the task cseval has the unit"),
        (FIRST, {"rows": Rows(rename={"text": "reply"})}, "no verdict|no column"),
        ([{**row, "hate_speech": ""} for row in FIRST], {}, "no verdict: 3 of 3 are no_hate_speech"),
        (FIRST, {"model": Own(lambda *_: None)}, "no verdict: 3 of 3 are timeout, the first time for: too late"),
    ],
)
def test_mistakes(given: Any, options: dict[str, Any], message: str) -> None:
    options = {"model": Own(longer), **options}
    if "rows" in options:
        given = [{"item_id": "i", "system": s, "hate_speech": HS, "words": "x"} for s in "ab"]
    with pytest.raises(InputError, match=message):
        compare(given, **options)
