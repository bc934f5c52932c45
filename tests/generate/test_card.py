"""The generation card, and the dates of answers."""

import json
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import fcconan
from fcconan.errors import InputError
from fcconan.generate.card import Dated, card_of, card_path, dataset_of, packages_of, write_card
from fcconan.generate.parts import open_part
from fcconan.llm.call import Call, Reply, Sampling
from fcconan.models.answers import Answers
from fcconan.models.requests import Finished
from tests.generate.folders import write_lines
from tests.generate.said import ITEMS

SYSTEM = {
    "system": "stub|x:few-shot",
    "strategy": "few-shot",
    "n": 2,
    "n_missing": 1,
    "missing": {"timeout": 1},
    "refusals": 1,
    "flags": {"insult": 2, "truncated": 1},
    "mean_words": 3.5,
    "examples_shown": {"3": 3},
    "tokens": {"prompt": 20, "completion": 6},
}
SUMMARY: dict[str, Any] = {
    "dataset": {"name": "small", "items": 3},
    "systems": [SYSTEM],
    "configuration": {"model": {"model": "stub", "revision": None}, "decoding": {"temperature": 0.5, "stop": ["\n"]}},
    "answers": {"first": "2026-01-02T03:04:05+00:00", "last": "2026-01-03T03:04:05+00:00"},
    "packages": {"fcconan": "0"},
    "notes": ["One <b> note."],
}


def test_a_card_says_how_replies_were_made() -> None:
    lines = card_of("replies.csv", SUMMARY).splitlines()
    assert lines[0] == "# replies.csv"
    expected = [
        "| system | strategy | replies | missing | refusals | flags | mean words | prompt tokens | completion tokens |",
        "| stub\\|x:few-shot | few-shot | 2 | timeout 1 | 1 | insult 2, truncated 1 | 3.5 | 20 | 6 |",
        "| name | small |",
        "| items | 3 |",
        "| model.model | stub |",
        "| model.revision | null |",
        "| decoding.temperature | 0.5 |",
        '| decoding.stop | ["\\n"] |',
        "The answers came between 2026-01-02T03:04:05+00:00 and 2026-01-03T03:04:05+00:00.",
        "| fcconan | 0 |",
        "- One &lt;b> note.",
    ]
    assert [line for line in lines if line in expected] == expected
    undated = card_of("replies.csv", SUMMARY | {"answers": None})
    assert "The answers have no date: they were read from a record, or nothing was answered." in undated
    without = card_of("replies.csv", {**SUMMARY, "answers": None, "configuration": {"strategy": "reference"}})
    assert "date" not in without


def test_a_card_is_written_next_to_its_file(tmp_path: Path) -> None:
    out = tmp_path / "replies.csv"
    assert write_card(out, SUMMARY) == card_path(out) == tmp_path / "replies.csv.card.md"
    first = card_path(out).read_bytes()
    assert first == card_of("replies.csv", SUMMARY).encode()
    write_card(out, SUMMARY)
    assert card_path(out).read_bytes() == first
    with pytest.raises(InputError, match=r"replies\.csv\.card\.md cannot be written .*: choose another --out"):
        write_card(tmp_path / "none" / "replies.csv", SUMMARY)


class Stub:
    """A model of which somebody else has filled the journal."""

    name = "stub"

    def __init__(self, configuration: dict[str, Any], fields: dict[str, Any] | None = None) -> None:
        self.configuration = configuration
        if fields is not None:
            self.body = lambda call: {"model": "stub", "messages": call.messages, **fields}

    def replies(self, calls: Iterable[Call]) -> Iterator[Reply]:
        for _ in calls:
            yield Reply("x")


LOCAL = {"kind": "local", "model": "stub", "weights": "12"}
SAMPLED = {"temperature": 0.0, "max_tokens": 512, "top_p": None, "stop": ["\n"], "seed": 0, "top_logprobs": 0}


def asked(text: str, sample: int = 0) -> Call:
    return Call([{"role": "user", "content": text}], Sampling(stop=("\n",)), sample=sample)


def record(text: str, at: str | None, sample: int = 0, fields: dict[str, Any] | None = None, **where: Any) -> Finished:
    body = {"model": "stub", "messages": [{"role": "user", "content": text}], **SAMPLED, **(fields or {})}
    return Finished({"path": "/chat/completions", "body": body, "sample": sample, **where}, {"choices": []}, at)


def test_dates_are_those_of_the_answers_to_these_calls(tmp_path: Path) -> None:
    here: dict[str, Any] = {"local": LOCAL}
    Answers(tmp_path / "journal").put_all(
        [
            record("a", "2026-01-05", **here),
            record("b", "2026-01-03", **here),
            record("c", "2026-01-04", sample=1, **here),
            record("d", None, **here),
            # None of these is an answer to one of the calls.
            record("a", "2026-01-01", sample=1, **here),
            record("a", "2026-01-01", fields={"temperature": 1.0}, **here),
            record("a", "2026-01-01", fields={"seed": 1}, **here),
            record("a", "2026-01-01", fields={"top_k": 5}, **here),
            record("a", "2026-01-01", fields={"max_tokens": 5}, **here),
            record("a", "2026-01-01", fields={"stop": []}, **here),
            record("a", "2026-01-09", local={**LOCAL, "weights": "13"}),
            record("a", "2026-01-09", endpoint="http://x/v1"),
            record("e", "2026-01-09", **here),
        ]
    )
    model = Dated(Stub(LOCAL))
    assert model.dates(tmp_path / "journal") is None
    assert len(list(model.replies([asked("a"), asked("b"), asked("c", 1), asked("d")]))) == 4
    assert model.dates(tmp_path / "journal") == ("2026-01-03", "2026-01-05")
    assert model.dates(tmp_path / "none") is None


def test_dates_of_an_endpoint_are_found_in_either_form(tmp_path: Path) -> None:
    where = {"endpoint": "http://x/v1"}
    fields = {"temperature": 0.0, "seed": 0, "stop": ["\n"], "reasoning_effort": "low"}
    body = {"model": "stub", **fields}

    def sent(text: str, at: str, **limit: Any) -> Finished:
        messages = [{"role": "user", "content": text}]
        request = {"path": "/chat/completions", "body": {**body, **limit, "messages": messages}, "sample": 0, **where}
        return Finished(request, {"choices": []}, at)

    Answers(tmp_path / "journal").put_all(
        [
            sent("a", "2026-01-02", max_tokens=512),
            sent("b", "2026-01-03", max_completion_tokens=512),
            sent("a", "2026-01-01", max_tokens=5),
            sent("a", "2026-01-01", model="other", max_tokens=512),
        ]
    )
    model = Dated(Stub({"endpoint": "http://x/v1", "model": "stub"}, {**fields, "max_tokens": 512}))
    list(model.replies([asked("a"), asked("b")]))
    assert model.dates(tmp_path / "journal") == ("2026-01-02", "2026-01-03")
    other = Dated(Stub({"endpoint": "http://y/v1", "model": "stub"}, {**fields, "max_tokens": 512}))
    list(other.replies([asked("a")]))
    assert other.dates(tmp_path / "journal") is None
    replayed = Dated(Stub({"replay": "x.csv"}))
    list(replayed.replies([asked("a")]))
    assert replayed.dates(tmp_path / "journal") is None


def test_the_messages_are_named_by_file_and_content(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "messages.jsonl", [{"hate_speech": each.hate_speech} for each in ITEMS])
    found = dataset_of(open_part(path, config=None, split=None), ITEMS)
    assert (found["name"], found["items"]) == ("messages.jsonl", 3)
    assert "config" not in found
    assert len(found["fingerprint"]) == len(found["items_digest"]) == 12
    fewer = dataset_of(open_part(path, config=None, split=None), ITEMS[:2])
    assert fewer["items_digest"] != found["items_digest"]
    assert json.loads(json.dumps(found)) == found


def test_versions_are_those_of_what_was_used() -> None:
    own = {"fcconan": fcconan.__version__}
    assert packages_of({"strategy": "reference"}) == own
    assert packages_of({"model": {"endpoint": "x"}}) == own | {"aiohttp": version("aiohttp")}
    local = packages_of({"model": LOCAL, "examples": {"k": 3}})
    assert local.keys() >= {"fcconan", "torch", "transformers", "scikit-learn"}
    assert local["torch"] == version("torch")
    assert "aiohttp" not in local
