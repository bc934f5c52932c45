"""`--fresh` on commands that ask models: everything is asked again, once, also by a run that was killed meanwhile."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcconan.data.files import read_rows
from fcconan.models.answers.store import AnswerStore
from tests.cli.judging import Done, fcconan, texts_of
from tests.cli.scored import write_rows
from tests.models.server import KEY, Action, Body, Server, completion, use_key
from tests.models.stored import records

REPLIES = [
    {"hate_speech": f"The Ombrey took it {number}.", "text": f"They did not {number}.", "system": "one"}
    for number in range(12)
]


class Endpoint:
    """A model that is replaced by another one under the same name."""

    def __init__(self) -> None:
        self.grade, self.fingerprint, self.delay = 2, "fp_old", 0.0

    def __call__(self, body: Body, number: int) -> Action:
        answer = completion(body, json.dumps({"relevance": self.grade}))
        return Action(body=answer | {"system_fingerprint": self.fingerprint}, delay=self.delay)


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Server, Endpoint]]:
    use_key(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write_rows(Path("replies.csv"), REPLIES)
    behaviour = Endpoint()
    with Server(behaviour) as server:
        yield server, behaviour


def command(server: Server, *options: object) -> list[str]:
    asked = ["judge", "rate", "replies.csv", "--task", "cseval", "--aspect", "relevance", "--model", "stub"]
    files = ["--response-cache", "answers.sqlite", "--out", "out.csv", "--json", "out.json"]
    return [*asked, "--base-url", server.url, *files, *map(str, options)]


def rate(server: Server, *options: object) -> Done:
    return fcconan(*command(server, *options))


def values() -> list[int]:
    return [int(float(row["value"])) for row in read_rows(Path("out.csv"))]


def give_up_fresh_run(server: Server, model: Endpoint) -> None:
    """Stores the grade 2, then starts a fresh run with the grade 4 in which one request fails."""
    assert rate(server).status == 0
    model.grade = 4
    server.behaviour = lambda body, number: (
        Action(503, {}) if "not 3." in texts_of(body)["counter_narrative"] else model(body, number)
    )
    assert rate(server, "--fresh", "--retries", 0).status == 1


def used() -> dict[str, Any]:
    (found,) = json.loads(Path("out.json").read_text())["used"]
    assert isinstance(found, dict)
    return found


def test_a_new_checkpoint_under_the_same_name_is_asked_with_fresh_and_reported_without(
    endpoint: tuple[Server, Endpoint],
) -> None:
    server, model = endpoint
    assert rate(server, "--limit", 8).status == 0
    model.grade, model.fingerprint = 4, "fp_new"
    mixed = rate(server)
    assert values() == [2] * 8 + [4] * 4
    assert mixed.stderr == (
        "fcconan: the endpoint reports several models for stub: stub-stub (fp_old): 8 stored, 0 new; stub-stub "
        "(fp_new): 0 stored, 4 new; they may be different checkpoints; --fresh repeats all requests with "
        "the current one\n"
    )
    today = used()["stored_first"][:10]
    assert f"stub: 8 of 12 answers are from the store, of {today}; --fresh repeats the requests" in mixed.stdout
    assert (used()["from_store"], used()["answers"], len(server.requests)) == (8, 12, 12)
    fresh = rate(server, "--fresh")
    assert (fresh.stderr, values(), len(server.requests)) == ("", [4] * 12, 24)
    assert (used()["from_store"], used()["answers"]) == (0, 12)
    assert used()["answered_by"] == [{"model": "stub-stub", "system_fingerprint": "fp_new", "from_store": 0, "new": 12}]
    plain = rate(server)
    assert (plain.stderr, values(), used()["from_store"], len(server.requests)) == ("", [4] * 12, 12, 24)
    model.grade = 5
    assert rate(server, "--fresh").status == 0
    assert (values(), len(server.requests)) == ([5] * 12, 36)


@pytest.mark.long
@pytest.mark.parametrize("options", [["--fresh"], []])
def test_a_fresh_run_that_is_killed_goes_on_and_mixes_nothing(
    endpoint: tuple[Server, Endpoint], options: list[str]
) -> None:
    server, model = endpoint
    assert rate(server).status == 0
    model.grade, model.delay = 4, 0.2
    line = [sys.executable, "-m", "fcconan", *command(server, "--fresh", "--concurrency", 2)]
    killed = subprocess.Popen(line, stdout=subprocess.DEVNULL, env={**os.environ, "OPENAI_API_KEY": KEY})
    end = time.monotonic() + 60
    while len(AnswerStore(Path("answers.sqlite"))) < 12 or len(records(Path("answers.sqlite"))) < 16:
        assert time.monotonic() < end and killed.poll() is None
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    stored = len(records(Path("answers.sqlite"))) - 12
    assert 4 <= stored < 12
    model.delay = 0.0
    planned = rate(server, *options, "--dry-run")
    assert json.loads(Path("out.json").read_text())["dry_run"][0]["to_send"] == 12 - stored
    before = len(server.requests)
    # How to send, and where to write, make no other run of it.
    done = rate(server, *options, "--concurrency", 5, "--out", "out.csv")
    told = "(answers.sqlite); --no-fresh abandons it"
    assert (planned.stderr.count(told), done.stderr.count(told), done.status) == (1, 1, 0)
    assert (values(), len(server.requests) - before) == ([4] * 12, 12 - stored)
    assert (rate(server).stderr, values()) == ("", [4] * 12)
    model.grade = 5
    assert (rate(server, "--fresh").status, values()) == (0, [5] * 12)


def test_a_fresh_run_with_failed_requests_goes_on_next_time(endpoint: tuple[Server, Endpoint]) -> None:
    server, model = endpoint
    give_up_fresh_run(server, model)
    server.behaviour = model
    before = len(server.requests)
    assert rate(server, "--fresh").status == 0
    assert (len(server.requests) - before, values()) == (1, [4] * 12)


def test_answers_of_an_interrupted_run_are_not_taken_by_a_fresh_one(
    endpoint: tuple[Server, Endpoint],
) -> None:
    server, model = endpoint
    server.behaviour = lambda body, number: (
        Action(401, {}) if "not 7." in texts_of(body)["counter_narrative"] else model(body, number)
    )
    assert rate(server, "--concurrency", 1).status == 2
    server.behaviour, model.grade = model, 4
    assert (rate(server, "--fresh").status, values()) == (0, [4] * 12)
    assert (rate(server).status, values()) == (0, [4] * 12)


def test_given_up_it_takes_the_newest_answers(endpoint: tuple[Server, Endpoint]) -> None:
    server, model = endpoint
    give_up_fresh_run(server, model)
    before = len(server.requests)
    assert (rate(server, "--no-fresh").status, len(server.requests)) == (0, before)
    assert values() == [4, 4, 4, 2, 4, 4, 4, 4, 4, 4, 4, 4]


def test_it_is_given_up_also_where_a_request_fails_every_time(endpoint: tuple[Server, Endpoint]) -> None:
    server, model = endpoint
    server.behaviour = lambda body, number: (
        Action(503, {}) if "not 3." in texts_of(body)["counter_narrative"] else model(body, number)
    )
    sent = []
    for option in ("--fresh", "--fresh", "--no-fresh", "--fresh"):
        before = len(server.requests)
        assert rate(server, option, "--retries", 0).status == 1
        sent.append(len(server.requests) - before)
    assert sent == [12, 1, 1, 12]


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv[:2] = ["fcconan"]
from fcconan.oldcli import main
main()
"""


@pytest.mark.parametrize("stored", [False, True])
def test_a_disk_that_is_full_is_told_before_the_first_request(endpoint: tuple[Server, Endpoint], stored: bool) -> None:
    server, _ = endpoint
    if stored:
        assert rate(server, "--limit", 4).status == 0
    before = len(server.requests)
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    line = [sys.executable, "-c", LIMITED, "20000", *command(server)]
    ended = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("fcconan: the file of answers answers.sqlite cannot be used (")
    assert len(server.requests) == before
