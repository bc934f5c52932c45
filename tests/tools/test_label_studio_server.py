"""A real Label Studio server takes what is exported, and what it exports imports without loss."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fcconan.annotation import Campaign, import_files
from fcconan.annotation.tools import exchange, task_view
from fcconan.errors import InputError
from tests.annotation.handed_out import RATERS, as_result, campaign_of

pytestmark = pytest.mark.tools
SERVER = os.environ.get("FCCONAN_LABEL_STUDIO")
USER, TOKEN = "tarn@example.org", "0123456789abcdef0123456789abcdef01234567"
STARTS_WITHIN = 240  # seconds; its data base is made first
Api = Callable[..., Any]

# What both raters say of the units in the order in which they see them; None is a skip, `...` nothing.
SAID: dict[str, dict[str, list[Any]]] = {
    "appropriateness": {
        RATERS[0]: [{"label": "appropriate"}, {"label": "not_sure"}, None, ...],
        RATERS[1]: [{"label": "not_appropriate"}, {"label": "appropriate"}, {"label": "appropriate"}, None],
    },
    "cseval": {
        RATERS[0]: [
            {"relevance": 5, "coherence": 4, "aggressiveness": 1, "suitableness": 3},
            None,
            {"relevance": 1, "coherence": 1, "aggressiveness": 5, "suitableness": 1},
        ],
        RATERS[1]: [..., {"relevance": 2, "coherence": 3, "aggressiveness": 4, "suitableness": 2}, None],
    },
    "grounded": {
        RATERS[0]: [
            {"relatedness": 4.25, "opposition": 5, "specificity": 1, "toxicity": 3.5, "fluency": 2.01},
            None,
            ...,
        ],
        RATERS[1]: [..., ..., {"relatedness": 1, "opposition": 1.5, "specificity": 2, "toxicity": 3, "fluency": 5}],
    },
    "features": {},
    "pairwise": {
        RATERS[0]: [{"label": "a"}, {"label": "tie"}, {"label": "b"}],
        RATERS[1]: [{"label": "a"}, {"label": "b"}, None],  # shown the other way round
    },
}


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Sends requests to a server that runs as long as these tests."""
    if SERVER is None:
        pytest.skip("FCCONAN_LABEL_STUDIO does not name the executable of Label Studio: run `make check-tools`")
    folder = tmp_path_factory.mktemp("label-studio")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HF_"))}
    # It is to talk to nobody.
    environment |= {"LATEST_VERSION_CHECK": "false", "COLLECT_ANALYTICS": "false", "SENTRY_DSN": ""}
    environment |= {"FRONTEND_SENTRY_DSN": "", "LABEL_STUDIO_BASE_DATA_DIR": str(folder), "HOME": str(folder)}
    command = [SERVER, "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    command += ["--username", USER, "--password", "lamps-of-tarn", "--user-token", TOKEN, "--enable-legacy-api-token"]
    command += ["--data-dir", str(folder)]

    def send(method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"},
        )
        try:
            with direct.open(request, timeout=60) as response:
                content = response.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:2000]!r}") from error
        return json.loads(content) if content else None

    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + STARTS_WITHIN
        while True:
            with suppress(OSError, AssertionError):
                send("GET", "/api/projects")
                break
            assert server.poll() is None and time.monotonic() < until, (folder / "server.log").read_text()[-3000:]
            time.sleep(1)
        yield send
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait(20)


@pytest.mark.parametrize("task", SAID)
def test_the_whole_way(api: Api, tmp_path: Path, task: str) -> None:
    campaign = campaign_of(task, tmp_path / "campaign")
    export = exchange.export(campaign, "label-studio")
    assert exchange.write(tmp_path / "out", export.files)
    returned = []
    for rater in RATERS:
        name, items = export.handed[rater]
        project = api("POST", "/api/projects", json.loads((tmp_path / "out" / "project.json").read_text("utf-8")))
        sent = json.loads((tmp_path / "out" / name).read_text("utf-8"))
        made = api("POST", f"/api/projects/{project['id']}/import", sent)
        assert made["task_count"] == len(items)
        listed = api("GET", f"/api/tasks?project={project['id']}&page_size=100&fields=all")["tasks"]
        listed.sort(key=lambda one: one["id"])
        assert [one["data"] for one in listed] == [one["data"] for one in sent]
        for one, said in zip(listed, SAID[task].get(rater, ()), strict=False):
            if said is not ...:
                _annotate(api, campaign, one["id"], said)
        exported = api("GET", f"/api/projects/{project['id']}/export?exportType=JSON&download_all_tasks=true")
        assert len(exported) == len(items)
        returned.append(tmp_path / f"{rater}.json")
        returned[-1].write_text(json.dumps(exported), "utf-8")
    me = api("GET", "/api/current-user/whoami")["id"]
    checked = [exchange.read_file(returned[0], campaign)]
    assert import_files(campaign, checked, people={str(me): RATERS[0]}, dry_run=True)[0].earlier is None
    if SAID[task]:
        with pytest.raises(InputError, match="it is ombrey-1's, and tessok-2 answered it"):
            import_files(campaign, checked, people={str(me): RATERS[1]})
    found = import_files(campaign, [exchange.read_file(path, campaign) for path in returned])
    assert {question[1:]: answer.value for question, answer in campaign.answers("main").items()} == _expected(
        campaign, task
    )
    assert [one.new for one in found] == [
        sum(len(campaign.aspects) for said in SAID[task].get(rater, ()) if said is not ...) for rater in RATERS
    ]
    if SAID[task]:
        answered = [answer for answer in campaign.answers().values() if answer.value is not None]
        assert {(answer.seconds, answer.comment) for answer in answered} == {(12.5, "A remark.")}
    again = import_files(campaign, [exchange.read_file(path, campaign) for path in returned])
    assert [one.new + one.changed for one in again] == [0, 0]


def _annotate(api: Api, campaign: Campaign, task: int, said: dict[str, Any] | None) -> None:
    about = {"pair": "counter_narrative", "reply": "reply", "comparison": "reply_b"}[campaign.task.unit]
    result = []
    for question in task_view.questions(campaign, "main") if said else ():
        assert said is not None
        result.append(as_result(question, said[question.name], about))
    if said:
        comment = {"type": "textarea", "from_name": "comment", "to_name": about, "value": {"text": ["A remark."]}}
        result.append(comment)
    body = {"result": result, "was_cancelled": said is None, "lead_time": 12.5}
    api("POST", f"/api/tasks/{task}/annotations/", body)


def _expected(campaign: Campaign, task: str) -> dict[tuple[str, str, str], Any]:
    """The answers about the units' own order: the second rater sees the units, and their replies, in reverse."""
    units = list(campaign.units())
    found = {}
    for rater, in_order in ((RATERS[0], units), (RATERS[1], units[::-1])):
        for unit, said in zip(in_order, SAID[task].get(rater, ()), strict=False):
            if said is ...:
                continue
            for aspect in campaign.aspects:
                value = None if said is None else said[aspect]
                if task == "pairwise" and rater == RATERS[1] and value is not None:
                    value = {"a": "b", "b": "a"}.get(value, value)
                found[rater, unit, aspect] = value
    return found
