import asyncio
import base64
import gc
import gzip
import itertools
import json
import logging
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fcconan.errors import InputError
from fcconan.models import transport
from fcconan.models.answers.store import AnswerStore
from fcconan.models.client import OPENAI_URL, Client, EndpointError, EndpointResponse
from fcconan.models.jobs import Job, KnownResult, Sender
from tests.models.server import KEY, Action, Behaviour, Server, always, error, first, use_key
from tests.models.stored import records

ROOT = Path(__file__).parents[2]
CHAT = "/chat/completions"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)


def client(server: Server, folder: Path, **options: Any) -> Client:
    settings: dict[str, Any] = {"timeout": 5, "retries": 2, "backoff": 0.01, **options}
    return Client(journal=folder / "journal.jsonl", base_url=server.url, **settings)


def body(text: str = "Ombrey") -> dict[str, Any]:
    shown = json.dumps({"message": text, "catalogue": [{"id": "c1", "text": "bread"}]})
    return {"model": "m", "messages": [{"role": "user", "content": shown}]}


def said(answer: Any) -> str:
    return str(answer.body["choices"][0]["message"]["content"])


def test_answers_come_in_the_order_of_the_requests_and_repeats_are_sent_once(tmp_path: Path) -> None:
    bodies = [{"model": "m", "input": [word]} for word in ("a", "b", "a", "c")]
    with Server() as server:
        answers = client(server, tmp_path).send_all("/embeddings", bodies)
    vectors = [answer.body["data"][0]["embedding"] for answer in answers if answer.body]
    assert vectors[0] == vectors[2] != vectors[1]
    assert [vectors[1] == vectors[3], len(server.requests)] == [False, 3]


def test_a_finished_request_is_not_sent_again(tmp_path: Path) -> None:
    with Server() as server:
        one = client(server, tmp_path).send_all(CHAT, [body()])
        two = client(server, tmp_path, retries=0, timeout=1).send_all(CHAT, [body()])
        assert (one, len(server.requests)) == (two, 1)
        client(server, tmp_path).send_all(CHAT, [body()], sample=1)
        client(server, tmp_path).send_all(CHAT, [{**body(), "temperature": 0.5}])
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (error(429), "rate_limited"),
        (error(500), "server_error"),
        (error(503), "server_error"),
        (Action(delay=30), "timeout"),
        (Action(cut=True), "connection"),
        (Action(drop=True), "connection"),
        (Action(reset=True), "connection"),
        (Action(headers={"Content-Encoding": "gzip"}), "connection"),
        (Action(status=204, body=""), "server_error"),
        (Action(body="not JSON {"), "bad_body"),
        (Action(body=[1]), "bad_body"),
        (Action(body={"error": {"message": "overloaded", "code": 502}}), "bad_body"),
    ],
)
def test_passing_faults_are_tried_a_bounded_number_of_times(tmp_path: Path, action: Action, reason: str) -> None:
    with Server(always(action)) as server:
        one = client(server, tmp_path, timeout=0.3)
        (answer,) = one.send_all(CHAT, [body()])
        assert (answer.body, answer.reason, len(server.requests)) == (None, reason, 3)
        assert len(one.answers) == 0
        server.behaviour = first(4, action)  # the next one fails, the one after it does not
        (answer,) = one.send_all(CHAT, [body()])
        assert (said(answer), len(server.requests)) == ('{"ranking": ["c1"]}', 5)


def test_nobody_listening_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    with Server() as server:
        pass
    (answer,) = client(server, tmp_path, retries=1).send_all(CHAT, [body()])
    assert (answer.body, answer.reason) == (None, "connection")


def test_400_fails_one_request_at_once_and_no_other(tmp_path: Path) -> None:
    def behaviour(sent: dict[str, Any], number: int) -> Action:
        return error(400) if "Tessok" in str(sent) else Action()

    with Server(behaviour) as server:
        answers = client(server, tmp_path).send_all(CHAT, [body("Ombrey"), body("Tessok"), body("Velmari")])
    assert [answer.reason for answer in answers] == [None, "bad_request", None]
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [401, 402, 403, 404, 405])
def test_what_no_request_can_pass_stops_everything_at_once(tmp_path: Path, status: int) -> None:
    with Server(always(error(status))) as server:
        one = client(server, tmp_path, concurrency=1)
        with pytest.raises(EndpointError, match=f"{server.url} answered {status} .*: check ") as caught:
            one.send_all(CHAT, [body(str(number)) for number in range(20)])
    assert len(server.requests) <= 2
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_wrong_key_names_the_variable_that_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "wrong")
    with Server() as server, pytest.raises(EndpointError, match=r"401 .*check the key in MY_KEY"):
        client(server, tmp_path, api_key_variable="MY_KEY").send_all(CHAT, [body()])


def test_a_spent_quota_stops_everything(tmp_path: Path) -> None:
    with Server(always(error(429, code="insufficient_quota"))) as server:
        with pytest.raises(EndpointError, match=r"429 .*check the account's credit"):
            client(server, tmp_path).send_all(CHAT, [body()])
        assert len(server.requests) == 1


def test_retry_after_goes_before_our_own_waiting(tmp_path: Path) -> None:
    with Server(first(1, error(429, Retry_After="0.4"))) as server:
        start = time.monotonic()
        (answer,) = client(server, tmp_path, backoff=60).send_all(CHAT, [body()])
        assert 0.4 <= time.monotonic() - start < 10
    assert answer.body is not None


def test_who_is_told_to_wait_for_hours_does_not(tmp_path: Path) -> None:
    with Server(always(error(429, Retry_After="7200"))) as server:
        answers = client(server, tmp_path, concurrency=1).send_all(
            CHAT, [body(text) for text in ("one", "two", "three")]
        )
        assert ([answer.reason for answer in answers], len(server.requests)) == (["rate_limited"] * 3, 3)


def test_every_retry_that_was_asked_for_is_made_and_none_waits_longer_than_two_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def at_once(seconds: float) -> None:
        if seconds >= 1:
            waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", at_once)
    with Server(always(error(503))) as server:
        (answer,) = client(server, tmp_path, retries=12, backoff=1.0).send_all(CHAT, [body()])
        assert (answer.reason, len(server.requests)) == ("server_error", 13)
    assert waits == [1, 2, 4, 8, 16, 32, 64, *[120] * 5]


@pytest.mark.parametrize(
    ("message", "code", "reason"),
    [
        ("It is too much.", "context_length_exceeded", "too_long"),
        ("This model's maximum context length is 8192 tokens.", "", "too_long"),
        ("the request exceeds the available context size", "", "too_long"),
        ("Too many tokens: 9000.", "", "too_long"),
        ("Unknown field.", "", "bad_request"),
    ],
)
def test_a_text_that_is_too_long_for_the_model_is_told_as_such(
    tmp_path: Path, message: str, code: str, reason: str
) -> None:
    with Server(always(Action(400, {"error": {"message": message, "code": code}}))) as server:
        (answer,) = client(server, tmp_path).send_all(CHAT, [body()])
        assert (answer.reason, answer.detail, len(server.requests)) == (reason, f"Error code: 400 - {message}", 1)


@pytest.mark.parametrize(
    ("status", "said", "shown"),
    [
        (400, '{"error": {"message": "bad \\ud800 thing"}}', "Error code: 400 - bad \ufffd thing"),
        (200, '{"error": "\\ud800"}', "the body is an error (\ufffd)"),
        (400, "", "Error code: 400 - nothing"),
    ],
)
def test_an_error_can_be_written_to_a_file(tmp_path: Path, status: int, said: str, shown: str) -> None:
    with Server(always(Action(status, said))) as server:
        (answer,) = client(server, tmp_path, retries=0).send_all(CHAT, [body()])
    assert answer.detail == shown


def test_a_body_that_unpacks_to_more_than_the_bound_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_LARGEST", 2 << 20)
    raw = gzip.compress(json.dumps({"choices": [], "said": " " * (3 << 20)}).encode())
    assert len(raw) < 10_000
    with Server(always(Action(body=raw, headers={"Content-Encoding": "gzip"}))) as server:
        (answer,) = client(server, tmp_path, retries=0).send_all(CHAT, [body()])
    assert (answer.reason, answer.detail) == ("bad_body", "the body is larger than 2 MB")


@pytest.mark.parametrize(("deep", "reason"), [(150, None), (300, "bad_body"), (990, "bad_body"), (50_000, "bad_body")])
def test_a_body_that_the_journal_could_not_write_is_refused(tmp_path: Path, deep: int, reason: str | None) -> None:
    raw = '{"choices": [], "x": ' + "[" * deep + "]" * deep + "}"
    with Server(always(Action(body=raw))) as server:
        (answer,) = client(server, tmp_path, retries=0).send_all(CHAT, [body()])
    assert answer.reason == reason


def test_what_is_no_finite_number_is_the_same_in_every_run(tmp_path: Path) -> None:
    raw = '{"choices": [], "x": [NaN, -Infinity, Infinity, 1e999, 1.5, 123456789012345678901234567890]}'
    with Server(always(Action(body=raw))) as server:
        answers = [client(server, tmp_path).send_all(CHAT, [body()])[0] for _ in range(2)]
        assert len(server.requests) == 1
    assert answers[0] == answers[1]
    assert answers[0].body is not None
    assert answers[0].body["x"] == [None, None, None, None, 1.5, 123456789012345678901234567890.0]


def test_a_body_of_the_wrong_shape_is_asked_again_and_not_kept(tmp_path: Path) -> None:
    def check(sent: Any, received: Any) -> str | None:
        return None if "choices" in received else "no choices"

    with Server(first(1, Action(body={"x": 1}))) as server:
        one = client(server, tmp_path)
        (answer,) = one.send_all(CHAT, [body()], check=check)
        assert (answer.reason, len(server.requests), len(one.answers)) == (None, 2, 1)
        server.behaviour = always(Action(body={"x": 1}))
        (answer,) = one.send_all(CHAT, [body("Tessok")], check=check)
        assert (answer.body, answer.reason, answer.detail) == (None, "bad_body", "no choices")


def test_a_missing_key_fails_before_the_first_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with Server() as server:
        with pytest.raises(InputError, match=r"no key for http://127.0.0.1:\d+/v1: set OPENAI_API_KEY"):
            client(server, tmp_path).send_all(CHAT, [body()])
        assert server.requests == []


@pytest.mark.parametrize("key", ["secret-k\ney-1234", "secret-\x07-1234", "secret-kéy-1234"])
def test_a_key_that_no_header_can_hold_is_bad_input_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with Server() as server:
        with pytest.raises(InputError, match="OPENAI_API_KEY has characters that are invalid in a key") as caught:
            client(server, tmp_path).send_all(CHAT, [body()])
        assert (server.requests, "secret" in str(caught.value)) == ([], False)


@pytest.mark.parametrize("around", ["{}\n", "{}\r\n", " {}"])
def test_white_space_around_a_key_is_not_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, around: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", around.format(KEY))
    with Server() as server:
        (answer,) = client(server, tmp_path).send_all(CHAT, [body()])
    assert said(answer) == '{"ranking": ["c1"]}'


@pytest.mark.parametrize("filler", ["", "x" * 255])
def test_an_endpoint_that_repeats_the_key_does_not_get_it_shown(tmp_path: Path, filler: str) -> None:
    repeated = {"error": {"message": f"{filler} no such key: {KEY}"}}
    with Server(always(Action(401, repeated))) as server:
        with pytest.raises(EndpointError, match="401") as caught:
            client(server, tmp_path).send_all(CHAT, [body()])
        assert KEY[:4] not in str(caught.value)
        for action in (Action(400, repeated), Action(200, repeated)):
            server.behaviour = always(action)
            (answer,) = client(server, tmp_path, retries=0).send_all(CHAT, [body()])
            assert (KEY[:4] in answer.detail, "no such" in answer.detail) == (False, True)


def test_a_missing_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with Server() as server, pytest.raises(InputError, match=r"pip install 'fcconan\[llm\]'"):
        client(server, tmp_path).send_all(CHAT, [body()])


def test_the_endpoint_comes_from_the_environment_and_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal.jsonl"
    assert Client(journal=journal).endpoint == OPENAI_URL
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:secret@127.0.0.1:8000/v1/")
    assert Client(journal=journal).endpoint == "http://127.0.0.1:8000/v1"
    assert Client(journal=journal, base_url="https://one.example/v1").endpoint == "https://one.example/v1"


def test_user_and_password_of_the_address_are_sent_in_place_of_the_key_and_never_shown(tmp_path: Path) -> None:
    with Server() as server:
        url = server.url.replace("http://", "http://ombrey:secret-word@")
        one = Client(journal=tmp_path / "journal.jsonl", base_url=url, retries=0)
        # This server knows the key only: it answers 401 to a user and a password.
        with pytest.raises(EndpointError, match="answered 401") as caught:
            one.send_all(CHAT, [body()])
        assert len(server.requests) == 1
    assert (one.endpoint, "secret-word" in str(caught.value)) == (server.url, False)


@pytest.mark.parametrize("url", ["one.example/v1", "ftp://one.example", "http://", "http://one:port/", "http://a/?k=1"])
def test_what_is_no_address_is_bad_input(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="give one such as https://api"):
        Client(journal=tmp_path / "journal.jsonl", base_url=url)


RUN = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from fcconan.models.client import Client

    client = Client(journal=Path(sys.argv[1]), base_url=sys.argv[2], concurrency=2, backoff=0.01)
    bodies = [{"model": "m", "input": [f"text {number}"]} for number in range(int(sys.argv[3]))]
    answers = client.send_all("/embeddings", bodies)
    print(sum(answer.body is not None for answer in answers))
    """
)


def start(journal: Path, server: Server, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, str(journal), server.url, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=dict(os.environ))


@pytest.mark.long
def test_after_kill_9_a_run_repeats_no_finished_request(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with Server(always(Action(delay=0.05))) as server:
        killed = start(journal, server, 40)
        try:
            end = time.monotonic() + 30
            while time.monotonic() < end and len(AnswerStore(journal)) < 8:
                time.sleep(0.01)
        finally:
            killed.send_signal(signal.SIGKILL)
            killed.communicate()
        finished = [each["request"]["body"]["input"][0] for each in records(journal)]
        assert 8 <= len(finished) < 40
        server.behaviour = always(Action())
        resumed = start(journal, server, 40)
        output, _ = resumed.communicate(timeout=30)
        assert (resumed.returncode, output.strip()) == (0, "40")
        sent = Counter(sent["input"][0] for sent in server.bodies)
        assert (len(sent), {sent[text] for text in finished}) == (40, {1})
        # Only the requests under way at the kill, of which there are two at most, were sent twice.
        assert 40 <= sent.total() <= 42


@pytest.mark.long
def test_two_processes_on_one_journal_both_get_every_answer(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with Server(always(Action(delay=0.01))) as server:
        both = [start(journal, server, 20) for _ in range(2)]
        assert [each.communicate(timeout=30)[0].strip() for each in both] == ["20", "20"]
        sent = len(server.requests)
        assert 20 <= sent <= 40
        third = start(journal, server, 20)
        assert third.communicate(timeout=30)[0].strip() == "20"
        assert len(server.requests) == sent


def test_the_server_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "tests.models.server", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            one = Client(journal=tmp_path / "journal.jsonl", base_url=url)
            (answer,) = one.send_all("/embeddings", [{"model": "m", "input": ["a"]}])
        finally:
            process.kill()
    assert answer.body is not None
    assert log.read_text() == '{"input": ["a"], "model": "m"}\n'


def test_behaviours_count_requests() -> None:
    behaviour: Behaviour = first(1, error(500))
    assert [behaviour({}, number).status for number in range(3)] == [500, 200, 200]


def jobs(one: Client, texts: list[str]) -> list[Job[EndpointResponse]]:
    def job(text: str) -> Job[EndpointResponse]:
        return lambda sender: sender.send(one.request(CHAT, body(text)))

    return [job(text) for text in texts]


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "fcconan-client"]


def test_results_come_in_the_order_of_the_jobs_whatever_their_delays(tmp_path: Path) -> None:
    generator = random.Random(0)

    def behaviour(sent: dict[str, Any], number: int) -> Action:
        shown = json.loads(sent["messages"][0]["content"])["message"]
        return Action(delay=generator.random() / 20, body={"choices": [], "said": shown})

    words = [f"text {number}" for number in range(60)]
    with Server(behaviour) as server:
        one = client(server, tmp_path, concurrency=7)
        results = list(one.run(jobs(one, words)))
    assert [each.body and each.body["said"] for each in results] == words
    assert threads() == []


@pytest.mark.parametrize("concurrency", [1, 2])
def test_jobs_are_read_as_far_as_the_window_and_no_further(tmp_path: Path, concurrency: int) -> None:
    read, release, results = [], threading.Event(), []

    def endless() -> Iterator[Job[int]]:
        for number in itertools.count():
            read.append(number)

            async def job(sender: Sender, number: int = number) -> int:
                if number == 0:
                    await asyncio.to_thread(release.wait)
                return number

            yield job

    running = Client(journal=tmp_path / "journal.jsonl", concurrency=concurrency).run(endless())
    waiting = threading.Thread(target=lambda: results.append(next(running)))
    waiting.start()
    end = time.monotonic() + 10
    while len(read) < 8 * concurrency and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(0.1)
    assert (len(read), results) == (8 * concurrency, [])
    release.set()
    waiting.join()
    assert [*results, next(running), next(running)] == [0, 1, 2]
    running.close()
    assert threads() == []


def test_known_results_need_no_key_and_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    seen = []

    def known() -> Iterator[KnownResult[int]]:
        for number in itertools.count():
            seen.append(number)
            yield KnownResult(number)

    results = Client(journal=tmp_path / "journal.jsonl").run(known())
    assert [next(results) for _ in range(3)] == seen == [0, 1, 2]
    assert threads() == []
    results.close()


def test_who_stops_early_keeps_what_was_answered_and_leaves_no_thread(tmp_path: Path) -> None:
    with Server(lambda sent, number: Action(delay=0 if number < 3 else 30)) as server:
        one = client(server, tmp_path, concurrency=1, timeout=60)
        results = one.run(jobs(one, [str(each) for each in range(40)]))
        assert [said(next(results)) for _ in range(3)] == ['{"ranking": ["c1"]}'] * 3
        start = time.monotonic()
        results.close()
        assert time.monotonic() - start < 10
        assert len(server.requests) in (3, 4)  # the fourth may have been on its way
        assert threads() == []
    assert len(AnswerStore(tmp_path / "journal.jsonl")) == 3


def test_a_refusal_of_all_is_raised_while_an_earlier_job_still_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def behaviour(sent: dict[str, Any], number: int) -> Action:
        return Action(delay=30) if "Ombrey" in str(sent) else Action(401, {}, delay=0.2)

    with Server(behaviour) as server:
        start = time.monotonic()
        with pytest.raises(EndpointError, match="answered 401"):
            client(server, tmp_path, concurrency=8, timeout=60).send_all(
                CHAT, [body("Ombrey"), *(body(str(number)) for number in range(50))]
            )
        assert time.monotonic() - start < 10
        assert len(server.requests) <= 8 + 7  # those that waited for a place may have begun in that moment
    gc.collect()
    assert (threads(), [each for each in caplog.records if each.levelno >= logging.WARNING]) == ([], [])


def test_a_refusal_of_all_ends_the_others_while_nobody_waits(tmp_path: Path) -> None:
    with Server(lambda sent, number: Action() if number == 0 else Action(401, {})) as server:
        one = client(server, tmp_path, concurrency=1)
        results = one.run(jobs(one, [str(each) for each in range(40)]))
        assert said(next(results)) == '{"ranking": ["c1"]}'
        time.sleep(1)  # the work with the first result
        sent = len(server.requests)
        with pytest.raises(EndpointError, match="answered 401"):
            next(results)
    assert 1 <= sent <= 3


def test_a_job_that_fails_by_itself_ends_all_with_its_own_error(tmp_path: Path) -> None:
    async def fails(sender: Sender) -> EndpointResponse:
        raise ZeroDivisionError("own")

    with Server(always(Action(delay=30))) as server:
        with pytest.raises(ZeroDivisionError, match="own"):
            one = client(server, tmp_path, timeout=60)
            list(one.run([*jobs(one, ["Ombrey", "Tessok"]), fails]))
        assert threads() == []


def test_no_job_begins_after_one_that_ended_all(tmp_path: Path) -> None:
    begun = []

    async def fails(sender: Sender) -> None:
        raise ZeroDivisionError("own")

    async def late(sender: Sender) -> None:
        begun.append("late")
        await asyncio.sleep(10)

    with pytest.raises(ZeroDivisionError, match="own"):
        list(Client(journal=tmp_path / "journal.jsonl").run([fails, late]))
    assert begun == []


def test_jobs_that_cannot_be_read_end_all(tmp_path: Path) -> None:
    def broken() -> Iterator[Job[EndpointResponse]]:
        yield from jobs(one, ["Ombrey"])
        raise InputError("row 2 is damaged")

    with Server(always(Action(delay=30))) as server, pytest.raises(InputError, match="row 2 is damaged"):
        one = client(server, tmp_path, timeout=60)
        list(one.run(broken()))
    assert threads() == []


def test_the_same_request_in_flight_is_sent_once(tmp_path: Path) -> None:
    with Server(always(Action(delay=0.2))) as server:
        one = client(server, tmp_path, concurrency=8)
        results = list(one.run(jobs(one, ["Ombrey"] * 20 + ["Tessok"])))
        assert [len(results), len({json.dumps(each.body) for each in results}), len(server.requests)] == [21, 1, 2]


def test_a_client_runs_where_a_loop_runs_already_as_in_notebooks(tmp_path: Path) -> None:
    async def cell() -> list[EndpointResponse]:
        return client(server, tmp_path).send_all(CHAT, [body("Ombrey"), body("Tessok")])

    with Server() as server:
        assert [said(each) for each in asyncio.run(cell())] == ['{"ranking": ["c1"]}'] * 2


@pytest.mark.long
@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_never_more_requests_are_under_way_than_allowed(tmp_path: Path, concurrency: int) -> None:
    def behaviour(sent: dict[str, Any], number: int) -> Action:
        return Action(500 if number % 7 == 3 else 200, delay=0.05)

    with Server(behaviour) as server:
        answers = client(server, tmp_path, concurrency=concurrency, retries=9).send_all(
            CHAT, [body(str(number)) for number in range(48)]
        )
        assert {each.reason for each in answers} == {None}
        assert 1 <= server.busiest <= concurrency
        assert concurrency == 16 or server.busiest == concurrency  # the server is too slow to see 16 at once


@pytest.mark.parametrize(("retries", "reason", "sent"), [(0, "rate_limited", 12), (2, None, 13)])
def test_retry_after_holds_back_all_requests(tmp_path: Path, retries: int, reason: str | None, sent: int) -> None:
    def behaviour(request: dict[str, Any], number: int) -> Action:
        return error(429, Retry_After="1") if number == 0 else Action(delay=0.1)

    with Server(behaviour) as server:
        answers = client(server, tmp_path, retries=retries).send_all(CHAT, [body(str(number)) for number in range(12)])
        first, last = min(server.times), max(server.times)
        assert [each for each in server.times if first + 0.5 < each < first + 1] == []
        assert (len(server.times), sorted({str(each.reason) for each in answers})) == (
            sent,
            sorted({"None", str(reason)}),
        )
        assert last >= first + 1


@pytest.mark.parametrize("retry_after", [None, "0.3"])
def test_requests_are_spread_over_the_minute(tmp_path: Path, retry_after: str | None) -> None:
    held = Action() if retry_after is None else error(429, Retry_After=retry_after)
    with Server(first(1, held)) as server:
        start = time.monotonic()
        answers = client(server, tmp_path, requests_per_minute=600, concurrency=8).send_all(
            CHAT, [body(str(number)) for number in range(6)]
        )
        # Five gaps of a tenth of a second; those that were held back keep their distance, too.
        took = time.monotonic() - start
        assert took >= 0.5
        gaps = [late - early for early, late in itertools.pairwise(sorted(server.times))]
        assert sum(gaps) >= 0.4
        assert sorted(gaps)[1] > 0.02
    assert [each.reason for each in answers] == [None] * 6


@pytest.mark.long
def test_a_body_that_trickles_for_ever_fails_after_ten_timeouts(tmp_path: Path) -> None:
    with Server(always(Action(trickle=0.02))) as server:
        start = time.monotonic()
        (answer,) = client(server, tmp_path, retries=0, timeout=0.4).send_all(CHAT, [body()])
        assert 4 <= time.monotonic() - start < 40
    assert (answer.reason, answer.detail) == ("timeout", "no whole answer within 4 s")


def test_bodies_may_be_compressed_and_large(tmp_path: Path) -> None:
    words = 1_250_000
    long = "Velmari " * words
    raw = gzip.compress(json.dumps({"choices": [], "said": long}).encode(), 1)
    with Server(always(Action(body=raw, headers={"Content-Encoding": "gzip"}))) as server:
        (answer,) = client(server, tmp_path, timeout=30).send_all(CHAT, [body()])
        (again,) = client(server, tmp_path, timeout=30).send_all(CHAT, [body()])
        assert len(server.requests) == 1
    assert answer.body is not None
    assert (len(answer.body["said"]), answer.body["said"] == long, again == answer) == (8 * words, True, True)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_nothing_follows_a_redirection(tmp_path: Path, status: int) -> None:
    with Server() as other, Server() as server:
        server.behaviour = always(Action(status, headers={"Location": f"{other.url}/moved"}))
        with pytest.raises(EndpointError) as refused:
            client(server, tmp_path, retries=1).send_all(CHAT, [body()])
        moved = f"answered {status} (moved to {other.url}/moved): give the new address"
        assert str(refused.value) == f"{server.url} {moved}"
        assert (len(server.requests), other.requests) == (1, [])


def test_no_proxy_stands_before_an_endpoint_that_is_exempt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        with Server() as server:
            (answer,) = client(server, tmp_path, retries=0).send_all(CHAT, [body()])
            assert (said(answer), len(server.requests), proxy.requests) == ('{"ranking": ["c1"]}', 1, [])


def test_a_proxy_that_the_environment_names_is_used_and_told_its_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Server() as proxy:
        named = proxy.url.removesuffix("/v1").replace("//", "//user:p%40ss@")
        monkeypatch.setenv("http_proxy", named)
        asking = Client(journal=tmp_path / "journal", base_url="http://endpoint.invalid/v1", retries=0)
        (answer,) = asking.send_all(CHAT, [body()])
        assert said(answer) == '{"ranking": ["c1"]}'
        assert [path for path, _ in proxy.requests] == ["http://endpoint.invalid/v1/chat/completions"]
        given = proxy.headers[0]["Proxy-Authorization"]
        assert given == "Basic " + base64.b64encode(b"user:p@ss").decode()


def test_a_proxy_that_is_none_is_refused_without_its_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "socks5://user:secret@127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(InputError, match=r"^http_proxy: 'socks5://127\.0\.0\.1:1' is not an address") as caught:
        Client(journal=tmp_path / "journal", base_url="http://endpoint.invalid/v1", retries=0)
    assert "secret" not in str(caught.value)


def test_nothing_is_left_open_and_nothing_is_logged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def behaviour(sent: dict[str, Any], number: int) -> Action:
        if sent["model"] == "wrong":
            return error(401)
        return (Action(), Action(drop=True), Action(cut=True), Action(delay=2), error(500))[number % 5]

    bodies = [{"model": "m", "input": [f"text {number}"]} for number in range(40)]
    with Server(behaviour) as server:
        one = client(server, tmp_path, retries=0, timeout=0.3)
        assert [each.reason for each in one.send_all("/embeddings", bodies[:20])].count(None) == 4
        results = one.run(jobs(one, [f"text {number}" for number in range(40)]))
        next(results)
        results.close()
        with pytest.raises(EndpointError, match="answered 401"):
            one.send_all("/embeddings", [{"model": "wrong", "input": [str(number)]} for number in range(8)])
    del one, results
    gc.collect()  # what was left open warns now, and pytest makes an error of it
    assert (capfd.readouterr().err, [each for each in caplog.records if each.levelno >= logging.WARNING]) == ("", [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_never_interrupts_a_step_of_the_loop(tmp_path: Path, number: signal.Signals) -> None:
    def terminate(number: int, frame: object) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, terminate)
    done = []

    async def job(_: Sender) -> None:
        try:
            os.kill(os.getpid(), number)
            done.append("the step")
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            done.append("cancelled")
            raise

    began = time.monotonic()
    try:
        with Server() as server, pytest.raises((KeyboardInterrupt, SystemExit)) as caught:
            list(client(server, tmp_path).run([job]))
        assert signal.getsignal(signal.SIGTERM) is terminate
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught.type is (KeyboardInterrupt if number == signal.SIGINT else SystemExit)
    assert done == ["the step", "cancelled"]
    assert time.monotonic() - began < 30
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_only_takes_note_of_a_signal_ends_nothing(tmp_path: Path) -> None:
    noted: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: noted.append(number))

    async def job(_: Sender) -> str:
        signal.raise_signal(signal.SIGTERM)
        await asyncio.sleep(0.01)
        return "done"

    try:
        with Server() as server:
            assert list(client(server, tmp_path).run([job, job])) == ["done", "done"]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert set(noted) == {signal.SIGTERM}


def test_an_answer_that_an_earlier_version_kept_does_not_stand_for_a_checked_one(tmp_path: Path) -> None:
    with Server(always(Action(body={"x": 1}))) as server:
        one = client(server, tmp_path)
        (loose,) = one.send_all(CHAT, [body()])
        server.behaviour = always(Action())
        (answer,) = one.send_all(CHAT, [body()], check=lambda sent, got: None if "choices" in got else "no choices")
    assert (loose.body, said(answer)) == ({"x": 1}, '{"ranking": ["c1"]}')


OPEN = """
import json, sys
from pathlib import Path
from fcconan.models import ChatRequest, Client, EndpointModel, Sampling
client = Client(journal=Path(sys.argv[2]), base_url=sys.argv[1], concurrency=2)
content = [json.dumps({"catalogue": [{"id": "c1", "text": "x"}], "wanted": 1, "message": str(n)}) for n in range(30)]
requests = (ChatRequest([{"role": "user", "content": each}], Sampling()) for each in content)
replies = EndpointModel(client, "m").replies(requests)
print(next(replies).text)
import builtins
builtins.still_open = [replies]
builtins.still_open.append(builtins.still_open)
"""


def test_a_client_that_stays_open_ends_quietly_with_python(tmp_path: Path) -> None:
    with Server(lambda body, number: Action(delay=0.05)) as server:
        command = [sys.executable, "-c", OPEN, server.url, str(tmp_path / "answers.sqlite")]
        environment = {**os.environ, "OPENAI_API_KEY": KEY, "NO_PROXY": "127.0.0.1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(AnswerStore(tmp_path / "answers.sqlite")) < len(server.requests) + 1 <= 30
