"""No key, user name or password is written anywhere: real commands, and every byte that they print or leave."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest

from tests.cli.judging import Done, fcconan, judge
from tests.models.server import KEY, Action, Body, Server, completion, use_key

USER, PASSWORD = "ombrey-user", "tarn/lamp@9"
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = (KEY, PASSWORD, quote(PASSWORD, safe=""), BASIC, f"{USER}:")
# Commands that ask an endpoint; U is its address.
COMMANDS = {
    "rate": "judge rate replies.csv --task cseval --aspect relevance --model stub --base-url U --out out.parquet",
    "compare": "judge compare replies.csv --model stub --base-url U --pairs 2 --out out.parquet",
    "rubric": "judge rubric empathy --definition warm --model stub --base-url U --out out.yaml",
    "generate": "generate replies.csv --model stub --base-url U --out out.parquet",
    "bench": "bench DEMO --system text-embedding-3-large --base-url U --json out.json --report report --resamples 0",
}
Run = Callable[[str, str], Done]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "cache"))
    rows = [(f"Tessok number {n // 2} cheats at cards.", f"Who saw it, {n}?", "ab"[n % 2]) for n in range(6)]
    pd.DataFrame(rows, columns=["hate_speech", "text", "system"]).to_csv("replies.csv", index=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def run(tmp_path: Path, demo: Path) -> Run:
    """Runs a command, and looks for secrets in all that it printed and left."""

    def done(command: str, address: str) -> Done:
        found = fcconan(*command.replace("U", address).replace("DEMO", str(demo)).split())
        places = {"printed": (found.stdout + found.stderr).encode()}
        places |= {str(path): path.read_bytes() if path.is_file() else b"" for path in tmp_path.rglob("*")}
        for name, content in places.items():
            assert [each for each in SECRETS if each.encode() in content or each in name] == [], name
        return found

    return done


@pytest.mark.parametrize("status", [400, 401, 500, 302])
@pytest.mark.parametrize("login", [f"{LOGIN}@", ""], ids=["login", "key"])
def test_an_endpoint_that_repeats_the_key(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, status: int, login: str
) -> None:
    monkeypatch.setattr("fcconan.models.endpoint.PAUSES", (0.01,))
    server.authorization = f"Basic {BASIC}" if login else f"Bearer {KEY}"
    said = json.dumps({"error": {"message": f"found {server.authorization}", "code": KEY}})
    location = {"Location": f"http://{LOGIN}@127.0.0.1:1/?api_key={KEY}"} if status == 302 else {}
    server.behaviour = lambda body, number: Action(status, said, location)
    found = run(COMMANDS["rate"], server.url.replace("//", f"//{login}"))
    assert found.status and "***" in found.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_login_in_the_address_is_used_and_written_nowhere(run: Run, server: Server, command: str) -> None:
    def behaviour(body: Body, number: int) -> Action:
        if "Texts:\n" in str(body) or "better" in str(body):
            return judge(body, number)
        return Action(body=None if "input" in body else completion(body, "Tessok."))

    server.authorization, server.behaviour = f"Basic {BASIC}", behaviour
    found = run(command, server.url.replace("//", f"//{LOGIN}@"))
    assert {headers["Authorization"] for headers in server.headers} == {f"Basic {BASIC}"}
    assert "answered 401" not in found.stderr


@pytest.mark.parametrize("variable", ["OPENAI_BASE_URL", "FCCONAN_RAW_URL", "HF_ENDPOINT"])
@pytest.mark.parametrize("address", [f"htp://{LOGIN}@host/v1", f"http://{LOGIN}@host:port/v1"])
def test_a_wrong_address_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, address: str) -> None:
    monkeypatch.setattr("fcconan.models.endpoint.PAUSES", ())
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # of pooch, before it tries again
    monkeypatch.setenv(variable, address)
    commands = {
        "OPENAI_BASE_URL": COMMANDS["rate"].replace(" --base-url U", ""),
        "FCCONAN_RAW_URL": "build cn-ranking --out out",
        "HF_ENDPOINT": "hydrate my-name/data --out out",
    }
    found = run(commands[variable], "")
    lines = [line for line in found.stderr.splitlines() if not line.startswith("note: fetching from")]
    assert found.status and len(lines) == 1, found.stderr


def test_a_short_key_destroys_no_text(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.authorization = "Bearer none"
    server.behaviour = lambda body, number: Action(body=completion(body, "There is none of it."))
    assert run(COMMANDS["generate"], server.url).status == 0
    assert b"There is none of it." in Path("out.parquet").read_bytes()
