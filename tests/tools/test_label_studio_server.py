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

from fcconan import InputError, export_sheets, import_answers
from fcconan.annotation import Campaign
from tests.annotation.handed_out import RATERS, campaign_of

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
    campaign, out = campaign_of(task, tmp_path / "campaign"), tmp_path / "out"
    exported = export_sheets(campaign.folder, out=out, tool="label-studio").to_frame().set_index("rater")
    returned = []
    for rater in RATERS:
        project = api("POST", "/api/projects", json.loads((out / "project.json").read_text("utf-8")))
        sent = json.loads(Path(exported["file"][rater]).read_text("utf-8"))
        made = api("POST", f"/api/projects/{project['id']}/import", sent)
        assert made["task_count"] == exported["units"][rater]
        listed = api("GET", f"/api/tasks?project={project['id']}&page_size=100&fields=all")["tasks"]
        listed.sort(key=lambda one: one["id"])
        assert [one["data"] for one in listed] == [one["data"] for one in sent]
        for one, said in zip(listed, SAID[task].get(rater, ()), strict=False):
            if said is not ...:
                _annotate(api, campaign, one["id"], said)
        tasks = api("GET", f"/api/projects/{project['id']}/export?exportType=JSON&download_all_tasks=true")
        assert len(tasks) == exported["units"][rater]
        returned.append(tmp_path / f"{rater}.json")
        returned[-1].write_text(json.dumps(tasks), "utf-8")
    me, who = api("GET", "/api/current-user/whoami")["id"], tmp_path / "who.csv"
    who.write_text(f"user,rater\n{me},{RATERS[0]}\n")
    import_answers(campaign.folder, returned[0], user_map=who, dry_run=True)
    if SAID[task]:
        who.write_text(f"user,rater\n{me},{RATERS[1]}\n")
        with pytest.raises(InputError, match="is assigned to ombrey-1, but tessok-2 answered it"):
            import_answers(campaign.folder, returned[0], user_map=who)
    found = import_answers(campaign.folder, *returned).to_frame()
    expected = _expected(campaign, task)
    assert {question[1:]: answer.value for question, answer in campaign.answers("main").items()} == expected
    assert found["new"].tolist() == [sum(rater == key[0] for key in expected) for rater in RATERS]
    if SAID[task]:
        answered = [answer for answer in campaign.answers().values() if answer.value is not None]
        assert {(answer.seconds, answer.comment) for answer in answered} == {(12.5, "A remark.")}
    again = import_answers(campaign.folder, *returned).to_frame()
    assert again[["new", "changed"]].to_numpy().sum() == 0


def _annotate(api: Api, campaign: Campaign, task: int, said: dict[str, Any] | None) -> None:
    about = {"pair": "counter_narrative", "reply": "reply", "comparison": "reply_b"}[campaign.task.unit]
    result: list[dict[str, Any]] = []
    for name, value in (said or {}).items():
        scale = next((each for each in campaign.task.aspects if each.name == name), None)
        stars = scale is not None and scale.low == 1 and not scale.decimals
        kind = "choices" if scale is None else "rating" if stars else "number"
        held = {kind: [value] if scale is None else value}
        result.append({"from_name": name, "to_name": about, "type": kind, "value": held})
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
