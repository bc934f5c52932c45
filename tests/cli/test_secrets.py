"""No key, user name or password is written anywhere: real commands, and every byte that they print or leave."""

import base64
import csv
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from fcconan.models.answers.store import AnswerStore

from fcconan.building.builds import build
from tests.cli.judging import judge
from tests.conftest import RunCli
from tests.models.server import KEY, Action, Behaviour, Body, Server, completion, use_key

USER, PASSWORD = "ombrey-user", "tarn/lamp@9"
LOGIN = f"{USER}:{quote(PASSWORD, safe='')}"
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = (KEY, PASSWORD, quote(PASSWORD, safe=""), BASIC, f"{USER}:")
# Commands that ask an endpoint; U is its address.
COMMANDS = {
    "rate": "judge rate replies.csv --task cseval --aspect relevance --model stub --base-url U --out out.parquet",
    "compare": "judge compare replies.csv --model stub --base-url U --pairs 2 --out out.parquet",
    "calibrate": "judge calibrate demo --task cseval --aspect relevance --model stub --base-url U --out out.yaml",
    "rubric": "judge rubric empathy --definition warm --model stub --base-url U --out out.yaml",
    "generate": "generate replies.csv --model stub --base-url U --out out.parquet",
    "bench": "bench demo --system text-embedding-3-large --base-url U --json out.json --report report",
}


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_key(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "cache"))
    rows = [
        (f"Tessok number {n // 2} cheats at cards.", f"Who saw it, {n}?", "one" if n % 2 else "two") for n in range(6)
    ]
    with Path("replies.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("hate_speech", "text", "system"), *rows])


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


def _left(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every name and every byte under a folder."""
    for path in folder.rglob("*"):
        yield str(path), path.read_bytes() if path.is_file() else b""


def _check(folder: Path, *printed: str) -> None:
    places = [("printed", text.encode()) for text in printed] + list(_left(folder))
    found = [
        (secret, name)
        for name, content in places
        for secret in SECRETS
        if secret.encode() in content or secret in name or json.dumps(secret)[1:-1].encode() in content
    ]
    assert found == []


def _echo(form: str, where: str, sent: str) -> Behaviour:
    """An endpoint that repeats the key or the login that it was sent."""
    written = {
        "raw": sent,
        "percent": quote(sent, safe=""),
        "unicode": "".join(f"\\u{ord(each):04x}" for each in sent),
        "twice": json.dumps(json.dumps(sent)),
    }[form]

    def behaviour(body: Body, number: int) -> Action:
        if where == "answer":
            answer = judge(body, number).body if "Texts:\n" in str(body) else completion(body, "Tessok people bake.")
            answer["choices"][0]["message"]["content"] += " SENT"
            answer["id"] = answer["system_fingerprint"] = "SENT"
            answer["SENT"] = {"SENT": ["SENT"]}
            return Action(
                body=json.dumps(answer).replace("SENT", written if form == "unicode" else json.dumps(written)[1:-1])
            )
        if where == "location":
            return Action(302, "", {"Location": f"http://{LOGIN}@127.0.0.1:1/?api_key={KEY}"})
        text = json.dumps({"error": {"message": "SENT", "code": "SENT"}})
        text = text.replace("SENT", written if form == "unicode" else json.dumps(written)[1:-1])
        return Action(int(where), text if form != "raw" else f"not JSON: {written}")

    return behaviour


@pytest.mark.parametrize("login", [f"{LOGIN}@", ""], ids=["login", "key"])
@pytest.mark.parametrize(
    ("form", "where"),
    [
        *((form, "answer") for form in ("raw", "percent", "unicode", "twice")),
        *(("raw", where) for where in ("200", "400", "401", "403", "404", "500", "location")),
        *(("unicode", where) for where in ("200", "400", "401")),
    ],
)
def test_what_an_endpoint_repeats_of_the_key_is_masked(
    run_cli: RunCli, server: Server, tmp_path: Path, form: str, where: str, login: str
) -> None:
    server.authorization = f"Basic {BASIC}" if login else f"Bearer {KEY}"
    server.behaviour = _echo(form, where, f"{PASSWORD} and {BASIC} and {KEY}" if login else KEY)
    command = COMMANDS["rate"].replace("U", server.url.replace("//", f"//{login}"))
    done = run_cli(
        *command.split(), "--response-cache", "journal", "--retries", 0, "--json", "out.json", "--no-structured-output"
    )
    assert len(server.requests) == 6 if where in ("answer", "200", "400", "500") else 1
    assert len(AnswerStore(Path("journal"))) == (6 if where == "answer" else 0)
    assert "***" in done.stdout + done.stderr or where in ("answer", "200", "500")  # of which nothing is printed
    _check(tmp_path, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, id=name, marks=[pytest.mark.long] if name == "calibrate" else [])
        for name, command in COMMANDS.items()
    ],
)
def test_a_login_in_the_address_is_used_and_written_nowhere(
    run_cli: RunCli, server: Server, tmp_path: Path, command: str
) -> None:
    build("demo", "demo", progress=False)
    server.authorization = f"Basic {BASIC}"
    server.behaviour = lambda body, number: (
        judge(body, number)
        if "Texts:\n" in str(body)
        else Action(body=None if "input" in body else completion(body, "Tessok."))
    )
    address = server.url.replace("//", f"//{LOGIN}@")
    done = run_cli(*command.replace("U", address).split())
    assert len(server.requests) > 0, done.stderr
    assert {headers["Authorization"] for headers in server.headers} == {f"Basic {BASIC}"}
    assert "answered 401" not in done.stderr
    assert server.url.encode() in b"".join(content for _, content in _left(tmp_path))  # the endpoint is recorded
    _check(tmp_path, done.stdout, done.stderr)


TYPOS = [
    f"htp://{USER}:{PASSWORD}@host/v1",
    f"http:/{USER}:{PASSWORD}@host/v1",
    f"{USER}:{PASSWORD}@host/v1",
    f"//{USER}:{PASSWORD}@host/v1",
    f"http://{USER}:{PASSWORD}@host/v1",
    f"http://{USER}:{PASSWORD}@host:port/v1",
    f"http://{quote(f'{USER}:{PASSWORD}@', safe='')}host/v1",
    f"http://{LOGIN}@ho\nst/v1",
    f"http://{LOGIN}@exa_mple..com/v1",
    f"http://{LOGIN}@host/v1?key={PASSWORD}",
]


@pytest.mark.parametrize("address", TYPOS)
@pytest.mark.parametrize("how", ["option", "OPENAI_BASE_URL", "http_proxy", "FCCONAN_RAW_URL", "HF_ENDPOINT"])
def test_a_wrong_address_is_one_line_that_shows_no_login(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, address: str
) -> None:
    rate = COMMANDS["rate"].replace(" --base-url U", "").split()
    before = dict(_left(tmp_path))
    if how == "option":
        done = run_cli(*rate, "--base-url", address)
    elif how == "OPENAI_BASE_URL":
        done = run_cli(*rate, **{how: address})
    elif how == "http_proxy":
        monkeypatch.delenv("NO_PROXY")
        # urllib takes the part before :// for the scheme; with another one, any text is an address without scheme.
        done = run_cli(*rate, "--base-url", "http://endpoint.invalid/v1", "--retries", 0, **{how: address})
    elif how == "FCCONAN_RAW_URL":
        done = run_cli("build", "cn-ranking", "--out", "out", **{how: address})
    else:
        done = run_cli("hydrate", "my-name/data", "--out", "out", **{how: address})
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: fetching from")]
    assert (done.returncode, done.stdout, len(lines)) == (2, "", 1), done.stderr
    _check(tmp_path, done.stderr)
    assert {name for name, content in _left(tmp_path) if content} == {
        name for name, content in before.items() if content
    }


@pytest.mark.parametrize("variable", [KEY, f"{KEY}\n", "sk_a_key_of_this_test"])
def test_a_key_in_the_place_of_its_variable_is_not_repeated(run_cli: RunCli, tmp_path: Path, variable: str) -> None:
    command = COMMANDS["rate"].replace("U", "http://127.0.0.1:9/v1").split()
    done = run_cli(*command, "--api-key-variable", variable)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "set the environment variable that --api-key-variable names" in done.stderr
    assert "key_of" not in done.stderr
    _check(tmp_path, done.stdout, done.stderr)


def test_a_short_key_destroys_no_text(run_cli: RunCli, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.authorization = "Bearer none"
    server.behaviour = lambda body, number: Action(body=completion(body, "There is none of it."))
    done = run_cli(*COMMANDS["generate"].replace("U", server.url).split())
    assert done.returncode == 0, done.stderr
    assert b"There is none of it." in Path("out.parquet").read_bytes()
