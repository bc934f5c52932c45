"""The generation card."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

import fcconan
from fcconan.generation.cards import card_of, card_path, describe_messages, package_versions, write_card
from fcconan.generation.splits import open_split
from tests.generation.folders import write_lines
from tests.generation.said import ITEMS

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
    with pytest.raises(OSError, match="No such file or directory"):
        write_card(tmp_path / "none" / "replies.csv", SUMMARY)


def test_the_messages_are_named_by_file_and_content(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "messages.jsonl", [{"hate_speech": each.hate_speech} for each in ITEMS])
    found = describe_messages(open_split(path, config=None, split=None), ITEMS)
    assert (found["name"], found["items"]) == ("messages.jsonl", 3)
    assert "config" not in found
    assert len(found["fingerprint"]) == len(found["items_digest"]) == 12
    fewer = describe_messages(open_split(path, config=None, split=None), ITEMS[:2])
    assert fewer["items_digest"] != found["items_digest"]
    assert json.loads(json.dumps(found)) == found


def test_versions_are_those_of_what_was_used() -> None:
    own = {"fcconan": fcconan.__version__}
    assert package_versions({"strategy": "reference"}) == own
    assert package_versions({"model": {"endpoint": "x"}}) == own | {"aiohttp": version("aiohttp")}
    local = package_versions({"model": {"kind": "local", "model": "stub", "weights": "12"}, "examples": {"k": 3}})
    assert local.keys() >= {"fcconan", "torch", "transformers", "scikit-learn"}
    assert local["torch"] == version("torch")
    assert "aiohttp" not in local
