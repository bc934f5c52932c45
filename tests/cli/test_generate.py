"""`fcconan generate` from the command line to the files: results, faults, bad input, interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from fcconan.models.answers.store import AnswerStore

from fcconan.data import ids
from fcconan.data.files import read_rows
from fcconan.generation.items import GENERATED
from fcconan.models.requests import PASSING_REASONS
from tests.cli.judging import Done, fcconan, judge
from tests.generation.folders import write_lines
from tests.models.server import Action, Behaviour, Body, Server, completion, error, use_key
from tests.models.stored import records
from tests.models.tiny_chat import tiny_chat

Row = dict[str, Any]
OMBREY = "The Ombrey never return a book."
TESSOK = "Every Tessok cheats at cards."
VELMARI = "Nobody needs Velmari bakers."
MESSAGES = [
    {"hate_speech": OMBREY, "references": ["The library's list says otherwise."]},
    {"hate_speech": TESSOK, "references": ["Who has seen it?", "Cards were banned there."]},
    {"hate_speech": VELMARI, "references": []},
]
PAIRS = [
    ("The Ombrey lose every book.", "Ombrey readers pay for no more lost books than others."),
    ("Every Tessok steals.", "The court names no more of the Tessok than of others."),
    ("Velmari bakers sell old bread.", "The inspector found all Velmari bread fresh."),
    (OMBREY, "This one is kin and never shown."),
]
PATIENCE = 120.0
LIMIT = 8  # messages of the run that is killed


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write_lines(Path("messages.jsonl"), MESSAGES)
    write_lines(Path("pairs.jsonl"), [{"hate_speech": hs, "counter_narrative": cn} for hs, cn in PAIRS])
    Path("passages").mkdir()
    Path("passages/library.txt").write_text("Ombrey readers return books early.\n\nThe moon has no air.\n")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("tiny") / "babbler", context=1024)


def asked(body: Body) -> str:
    found: str = body["messages"][-1]["content"]
    return found


def contradict(body: Body, number: int) -> Action:
    """The endpoint says that it is not so; where it is to rate, it rates."""
    if "Texts:\n" in asked(body) or "{" in asked(body):
        return judge(body, number)
    return Action(body=completion(body, f" It is not so: {asked(body)} \n"))


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(contradict) as running:
        yield running


def generate(*options: object, dataset: object = "messages.jsonl", out: str = "replies.jsonl") -> Done:
    return fcconan("generate", dataset, "--out", out, "--response-cache", "journal", "--json", "summary.json", *options)


def by_stub(server: Server, *options: object, **more: Any) -> Done:
    return generate("--model", "stub", "--base-url", server.url, "--retries", 0, *options, **more)


def rows(name: str = "replies.jsonl") -> list[Row]:
    return list(read_rows(Path(name)))


def summary() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("summary.json").read_bytes())
    return found


def content() -> dict[str, bytes]:
    return {name: Path(name).read_bytes() for name in ("replies.jsonl", "replies.jsonl.settings.json")}


def settings() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("replies.jsonl.settings.json").read_bytes())
    return found


# Results


def test_only_replies_of_this_command_are_replaced_without_force(server: Server) -> None:
    for text in ("mine\n", '{"reply_id": "re-1", "system": "mine", "text": "By hand."}\n'):
        Path("replies.jsonl").write_text(text, encoding="utf-8")
        refused = by_stub(server)
        assert refused.complaint == "replies.jsonl exists already: choose another --out, or replace it with --force"
        assert Path("replies.jsonl").read_text(encoding="utf-8") == text
    assert server.requests == []
    assert by_stub(server, "--force").status == 0
    before = content()
    assert by_stub(server).status == 0
    assert content() == before


def test_replies_of_another_system_are_replaced_by_force_only(server: Server) -> None:
    assert by_stub(server).status == 0
    before = content()
    for others in (
        ("--model", "stub-large", "--base-url", server.url),
        ("--model", "stub", "--base-url", server.url, "--examples", 1, "--encoder", "tfidf", "--pool", "pairs.jsonl"),
        ("--model", "stub", "--base-url", server.url, "--system-name", "stub"),
        ("--strategy", "reference"),
        ("--strategy", "retrieval", "--pool", "pairs.jsonl"),
    ):
        refused = generate(*others)
        assert refused.complaint == "replies.jsonl exists already: choose another --out, or replace it with --force"
        assert content() == before
    assert len(server.requests) == 3
    own: tuple[tuple[object, ...], ...] = (
        ("--strategy", "reference"),
        ("--strategy", "retrieval", "--pool", "pairs.jsonl"),
        ("--model", "stub", "--base-url", server.url, "--system-name", "mine"),
    )
    for options in own:
        status = generate(*options, "--force").status
        before = content()
        assert generate(*options).status == status < 2
        assert content() == before


def test_every_message_gets_a_row_and_a_second_run_asks_nothing(server: Server) -> None:
    done = by_stub(server)
    assert (done.status, done.stderr) == (0, "")
    assert len(server.requests) == 3
    found = rows()
    assert [list(row) for row in found] == [list(GENERATED)] * 3
    assert [row["text"] for row in found] == [f"It is not so: {each['hate_speech']}" for each in MESSAGES]
    assert {(row["system"], row["strategy"], row["model"], row["revision"], row["decoding"]) for row in found} == {
        ("stub:zero-shot", "zero-shot", "stub", "stub-stub", "greedy")
    }
    first = found[0]
    assert first["item_id"] == ids.make_item_id(
        ids.make_hs_id(OMBREY), [ids.make_cn_id(text) for text in MESSAGES[0]["references"]]
    )
    assert first["reply_id"] == ids.make_reply_id(first["item_id"], "stub:zero-shot", first["text"])
    said = summary()
    (counts,) = said["systems"]
    assert (counts["n"], counts["missing"], counts["tokens"]) == (3, {}, {"prompt": 21, "completion": 9})
    assert said["dataset"]["items"] == 3
    assert said["failed_requests"] == 0
    at = [record["at"] for record in records(Path("journal"))]
    assert said["answers"] == {"first": min(at), "last": max(at)}
    before = content()
    assert settings() == {name: value for name, value in said.items() if name not in ("out", "used")}
    Path("replies.jsonl").unlink()
    assert by_stub(server).status == 0
    assert len(server.requests) == 3
    assert content() == before


def test_settings_of_decoding_reach_the_endpoint(server: Server) -> None:
    options = ("--decoding", "paper-zero-shot", "--top-p", 0.9, "--max-tokens", 33, "--stop", "\\n", "--seed", 5)
    assert by_stub(server, *options, "--limit", 1).status == 0
    (body,) = server.bodies
    names = ("temperature", "top_p", "max_tokens", "stop", "seed")
    assert [body[name] for name in names] == [1, 0.9, 33, ["\n"], 5]
    (row,) = rows()
    assert (row["seed"], row["text"]) == (5, f"It is not so: {OMBREY}")
    assert row["decoding"].startswith("paper-zero-shot, ")
    assert by_stub(server, "--no-send-seed", "--limit", 1).status == 0
    assert "seed" not in server.bodies[-1]


def test_a_prompt_of_ones_own(server: Server) -> None:
    Path("mine.yaml").write_text('- role: user\n  content: "Contradict: {{hate_speech}}"\n')
    assert by_stub(server, "--prompt", "mine.yaml", "--system-name", "mine", "--concurrency", 1).status == 0
    assert [asked(body) for body in server.bodies] == [f"Contradict: {each['hate_speech']}" for each in MESSAGES]
    assert {row["system"] for row in rows()} == {"mine"}


def test_examples_are_shown_and_none_is_kin(server: Server) -> None:
    options = ("--examples", 2, "--encoder", "tfidf", "--pool", "pairs.jsonl")
    assert by_stub(server, *options, "--concurrency", 1).status == 0
    for body, row in zip(server.bodies, rows(), strict=True):
        roles = [message["role"] for message in body["messages"]]
        assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
        assert len(row["examples"]) == 2
    assert server.bodies[0]["messages"][1]["content"] == PAIRS[0][0]
    assert "kin" not in json.dumps(server.bodies[0])
    assert {row["strategy"] for row in rows()} == {"few-shot"}


def test_background_is_shown_and_its_want_is_said(server: Server) -> None:
    done = by_stub(server, "--background", "passages", "--passages", 1)
    assert done.status == 1
    assert len(server.requests) == 1
    assert "Ombrey readers return books early." in server.bodies[0]["messages"][0]["content"]
    assert [row["reason"] for row in rows()] == [None, "no_background", "no_background"]
    passage = sha256(b"Ombrey readers return books early.").hexdigest()[:12]
    assert [row["sources"] for row in rows()] == [[f"passage-{passage}"], [], []]
    assert "2 of 3 messages have no background knowledge (no passage shares a content word with" in done.stdout


def test_a_random_pick_of_candidates_is_the_same_again(server: Server) -> None:
    server.behaviour = lambda body, number: Action(body=completion(body, f"Reply {body['seed']}."))
    assert by_stub(server, "--decoding", "top-pk").status == 0
    found = rows()
    assert [row["text"] for row in found] == [f"Reply {row['picked']}." for row in found]
    assert len(server.requests) == 15
    before = content()
    write_lines(Path("messages.jsonl"), MESSAGES[::-1])
    assert by_stub(server, "--decoding", "top-pk").status == 0
    assert sorted(content()["replies.jsonl"].splitlines()) == sorted(before["replies.jsonl"].splitlines())


def test_what_people_wrote_and_what_a_catalogue_holds_need_no_model() -> None:
    assert generate("--strategy", "reference").status == 1
    assert [row["text"] in MESSAGES[place]["references"] for place, row in enumerate(rows()[:2])] == [True, True]
    assert rows()[2]["reason"] == "no_reference"
    assert {row["system"] for row in rows()} == {"gold"}
    assert generate("--strategy", "retrieval", "--pool", "pairs.jsonl", "--force").status == 0
    assert {(row["system"], row["strategy"]) for row in rows()} == {("tfidf:retrieval", "retrieval")}
    assert [row["text"] for row in rows()] == [cn for _, cn in PAIRS[:3]]


def test_what_people_judged_is_no_pool(demo: Path) -> None:
    done = generate("--retriever", "bm25", "--pool", f"{demo}:corpus", dataset=demo)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("fcconan: the pool has CNs labelled for ")
    assert done.stderr.count("\n") == 1


def test_judges_and_metrics_read_what_was_written(server: Server) -> None:
    assert by_stub(server, out="one.jsonl").status == 0
    assert generate("--strategy", "reference", out="two.jsonl").status == 1
    Path("all.jsonl").write_bytes(Path("one.jsonl").read_bytes() + Path("two.jsonl").read_bytes())
    ask = ("--model", "stub", "--base-url", server.url, "--response-cache", "journal")
    assert fcconan("judge", "rate", "all.jsonl", "--task", "cseval", *ask, "--out", "ratings.jsonl").status == 0
    ratings = rows("ratings.jsonl")
    assert {row["reply_id"] for row in ratings} == {row["reply_id"] for row in rows("all.jsonl")}
    assert {row["reason"] for row in ratings if row["value"] is None} == {"empty_reply"}
    server.behaviour = judge
    assert fcconan("judge", "compare", "all.jsonl", *ask, "--out", "comparisons.jsonl").status == 0
    verdicts = [(row["system_a"], row["system_b"], row["reason"]) for row in rows("comparisons.jsonl")]
    assert verdicts == [("gold", "stub:zero-shot", reason) for reason in (None, None, "empty_reply")]
    assert fcconan("metrics", "one.jsonl", "--metric", "length-words", "--out", "scores.jsonl").status == 0
    assert [row["value"] for row in rows("scores.jsonl")] == [10.0, 9.0, 8.0]


# Faults of an endpoint


def about_tessok(action: Callable[[Body], Action]) -> Behaviour:
    return lambda body, number: action(body) if TESSOK in asked(body) else contradict(body, number)


@pytest.mark.parametrize(
    ("action", "text", "reason", "flags", "status"),
    [
        (lambda body: error(429, retry_after="0"), None, "rate_limited", [], 1),
        (lambda body: error(500), None, "server_error", [], 1),
        (lambda body: Action(cut=True, body=completion(body, "Not so.")), None, "connection", [], 1),
        (lambda body: Action(body={"choices": []}), None, "bad_body", [], 1),
        (lambda body: error(400), None, "bad_request", [], 1),
        (lambda body: Action(body=completion(body, None, refusal="I won't.")), None, "refused", [], 1),
        (lambda body: Action(body=completion(body, "x", finish_reason="content_filter")), None, "filtered", [], 1),
        (lambda body: Action(body=completion(body, "  ")), None, "empty", [], 1),
        (lambda body: Action(body=completion(body, " Not", finish_reason="length")), "Not", None, ["truncated"], 0),
    ],
)
def test_a_fault_is_a_reason_and_passing_ones_are_asked_again(
    server: Server,
    action: Callable[[Body], Action],
    text: str | None,
    reason: str | None,
    flags: list[str],
    status: int,
) -> None:
    server.behaviour = about_tessok(action)
    done = by_stub(server)
    assert (done.status, done.stderr) == (status, "")
    first, second, third = rows()
    assert (second["text"], second["reason"], second["flags"]) == (text, reason, flags)
    assert all(row["text"] and row["reason"] is None for row in (first, third))
    (counts,) = summary()["systems"]
    assert (counts["n"], counts["missing"]) == (2 + (text is not None), {reason: 1} if reason else {})
    passing = reason in PASSING_REASONS
    assert summary()["failed_requests"] == passing
    assert ("1 request failed for a passing reason: run the command again" in done.stdout) == passing
    if passing:
        server.behaviour = contradict
        before = len(server.requests)
        assert by_stub(server).status == 0
        assert [asked(body) for body in server.bodies[before:]] == [TESSOK]
        assert rows()[1]["text"] == f"It is not so: {TESSOK}"


def test_a_refused_key_stops_the_run_with_a_line(server: Server) -> None:
    server.behaviour = lambda body, number: error(401)
    assert "401" in by_stub(server).complaint
    assert not Path("replies.jsonl").exists()


def test_few_pairs_are_few_examples_and_no_candidates_at_all(server: Server) -> None:
    write_lines(Path("few.jsonl"), [{"hate_speech": OMBREY, "counter_narrative": "Kin of the first."}])
    few = ("--pool", "few.jsonl")
    done = by_stub(server, *few, "--examples", 2, "--encoder", "tfidf")
    assert done.status == 0
    assert "3 of 3 messages were shown fewer than 2 examples: the pool has no more for them." in done.stdout
    assert [len(row["examples"]) for row in rows()] == [0, 1, 1]
    assert summary()["systems"][0]["examples_shown"] == {"0": 1, "1": 2}
    done = generate("--strategy", "retrieval", *few, "--force")
    assert done.status == 1
    said = "1 of 3 messages have no reply: all CNs in the pool belong to near-duplicates of the message."
    assert said in done.stdout
    assert settings()["notes"] == [said]
    assert [row["reason"] for row in rows()] == ["no_candidates", None, None]
    refused = by_stub(server, "--examples", 2, "--encoder", "tfidf", "--force").complaint
    assert refused.endswith("; or name other pairs with --pool")


def test_a_run_without_any_reply_says_why(server: Server) -> None:
    server.behaviour = lambda body, number: Action(body=completion(body, None, refusal="I won't."))
    done = by_stub(server)
    assert done.status == 1
    assert "stub:zero-shot wrote nothing: 3 of 3 are refused; the model refuses such texts: choose" in done.stdout


# Models on this machine


def test_a_local_model_with_a_format_of_ours(tiny: Path) -> None:
    options = ("--model", f"local:{tiny}", "--device", "cpu", "--max-tokens", 6)
    assert generate(*options, "--prompt-format", "zephyr").status == 0
    ours = rows()
    assert {(row["format"], row["system"]) for row in ours} == {("zephyr", "babbler:zero-shot-zephyr-max_tokens=6")}
    assert ours[0]["revision"] == summary()["configuration"]["model"]["weights"]
    before = content()
    assert generate(*options, "--prompt-format", "zephyr", "--batch-size", 2).status == 0
    assert content() == before
    assert generate(*options).status == 0
    assert [row["prompt_tokens"] for row in rows()] != [row["prompt_tokens"] for row in ours]


@pytest.mark.long
def test_killed_in_the_middle_it_goes_on_and_writes_the_same(demo: Path, tiny: Path, tmp_path: Path) -> None:
    options = [
        demo,
        "--model",
        f"local:{tiny}",
        "--device",
        "cpu",
        "--batch-size",
        1,
        "--max-tokens",
        60,
        "--limit",
        LIMIT,
    ]
    drawn = ["--temperature", 1, "--out", "replies.jsonl", "--json", "summary.json"]
    command = [sys.executable, "-m", "fcconan", "generate", *map(str, [*options, *drawn, "--response-cache", "killed"])]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ)
    end = time.monotonic() + PATIENCE
    while not Path("killed").exists() or len(AnswerStore(Path("killed"))) < 2:
        assert process.poll() is None, "the run came to its end before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.02)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    known = [record["key"] for record in records(Path("killed"))]
    assert 2 <= len(known) < LIMIT
    assert not Path("replies.jsonl").exists()
    assert fcconan("generate", *options, *drawn, "--response-cache", "killed").status == 0
    went_on = Path("replies.jsonl").read_bytes()
    keys = [record["key"] for record in records(Path("killed"))]
    assert keys[: len(known)] == known
    assert len(keys) == len(set(keys)) == LIMIT
    assert fcconan("generate", *options, *drawn, "--response-cache", "undisturbed").status == 0
    assert Path("replies.jsonl").read_bytes() == went_on
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "",
            "there is no model: name one with --model, or choose --strategy retrieval or reference",
        ),
        (
            "--model stub --strategy best",
            "Invalid value for '--strategy': 'best' is not one of 'zero-shot', 'few-shot', 'grounded', 're",
        ),
        (
            "--model stub --strategy zero-shot --examples 2",
            "--examples: only for --strategy few-shot or grounded; leave it out",
        ),
        (
            "--model stub --strategy few-shot --background passages",
            "--background: only for --strategy grounded; leave it out",
        ),
        (
            "--model stub --strategy grounded",
            "--strategy grounded needs passages about the messages: give --background",
        ),
        ("--model stub --encoder tfidf", "--encoder: it finds examples, and none are shown; leave it out"),
        (
            "--model stub --pool pairs.jsonl",
            "--pool: only for --strategy few-shot or retrieval; leave it out",
        ),
        ("--model stub --passages 2", "--passages: only for --background FOLDER; leave it out"),
        ("--model stub --candidates 5", "there are 5 candidates: choose the selection (pick): first, random"),
        ("--model stub --decoding nonsense", "unknown decoding 'nonsense': "),
        (
            "--model stub --prompt grounded",
            "the prompt grounded shows background knowledge, and there is none: give --ba",
        ),
        ("--model stub --prompt nonsense", "unknown prompt 'nonsense': "),
        (
            "--model stub --prompt-format zephyr",
            "--prompt-format is for local models: leave it out, or give --model local:FOLDER",
        ),
        (
            "--model stub --temperature -1",
            "Invalid value for '--temperature': Input should be greater than or equal to 0 (found '-1').",
        ),
        (
            "--model local:",
            "'local:' names no model: give a name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE",
        ),
        (
            "--strategy retrieval --model stub",
            "--model: only for --strategy zero-shot or few-shot or grounded; leave it out",
        ),
        (
            "--strategy reference --examples 3",
            "--examples: only for --strategy few-shot or grounded; leave it out",
        ),
        (
            "--strategy reference --dry-run",
            "--dry-run counts requests to a model, and this strategy calls none: leave it out",
        ),
        (
            "--model stub --rename hate_speech=HS",
            "messages.jsonl has no column 'HS', but hate_speech, references: name",
        ),
        ("--model stub --rename HS", "Invalid value for '--rename': found 'HS', expected NAME=COLUMN"),
        (
            "--model stub --json replies.jsonl",
            "replies.jsonl is named by --out and --json: give each a file of its own",
        ),
        (
            "--model stub --json replies.jsonl.settings.json",
            "replies.jsonl.settings.json is named by --out (its settings) and --json:",
        ),
        (
            "--strategy retrieval --pool replies.jsonl",
            "replies.jsonl is read, and --out would destroy it: choose anothe",
        ),
        ("--strategy retrieval --pool pairs.jsonl --retriever nonsense", "unknown system 'nonsense': "),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_asked(
    server: Server, options: str, message: str
) -> None:
    given = options.split()
    done = fcconan("generate", "messages.jsonl", "--out", "replies.jsonl", "--base-url", server.url, *given)
    assert done.complaint.startswith(message), done.complaint
    assert server.requests == []
    assert not Path("replies.jsonl").exists()


def test_a_rehearsal_sends_nothing(server: Server) -> None:
    done = by_stub(server, "--decoding", "top-pk", "--dry-run")
    assert (done.status, server.requests) == (0, [])
    (replies,) = summary()["dry_run"]
    assert (replies["calls"], replies["to_send"]) == (15, 15)
    assert not Path("replies.jsonl").exists()
    assert by_stub(server, "--limit", 2).status == 0
    assert by_stub(server, "--dry-run").status == 0
    (replies,) = summary()["dry_run"]
    assert (replies["calls"], replies["answered_already"], replies["to_send"]) == (3, 2, 1)
