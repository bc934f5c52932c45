"""The token: where it comes from, what is said where it does not do, and that nobody ever sees it."""

import json
import socket
import traceback
from pathlib import Path

import pytest

from fcconan.data.hub import hub_error, limit_hub_wait
from fcconan.errors import InputError
from fcconan.publishing.publication import HubFailure
from tests.conftest import RunCli
from tests.publishing.hub import OWNER, READ_ONLY, Hub, publish

REPO = "my-name/ratings"


@pytest.fixture(autouse=True)
def _unloaded(unloaded: None) -> None:
    pass


def test_the_token_comes_from_the_environment_or_the_hubs_own_store(
    hub: Hub, ratings: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    publish(ratings, REPO)
    monkeypatch.delenv("HF_TOKEN")
    (tmp_path / "token").write_text(OWNER + "\n")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    publish(ratings, "my-name/again")
    assert {"my-name/ratings", "my-name/again"} == set(hub.repos)
    assert {request.token for request in hub.log if request.writes and "/lfs/" not in request.path} == {OWNER}


@pytest.mark.parametrize(
    ("token", "repo", "said"),
    [
        ("hf_nobodyKnowsThisOne", REPO, r"does not accept the token \(401, Invalid user token"),
        (READ_ONLY, REPO, "the token is read-only: create one with write permission"),
        (OWNER, "somebody/ratings", r"refuses creating the repository somebody/ratings \(403, .*for somebody$"),
    ],
)
def test_a_token_that_does_not_do_is_said_in_one_line(
    hub: Hub, ratings: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, token: str, repo: str, said: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    done = run_cli("publish", ratings, repo)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    with pytest.raises(InputError, match=said):
        publish(ratings, repo)
    assert hub.repos == {}


@pytest.mark.parametrize(
    ("where", "how"),
    [
        ("whoami", 500),
        (f"GET /api/datasets/{REPO}$", 401),
        ("repos/create", 403),
        ("repos/create", "drop"),
        ("/preupload/", 400),
        ("PUT /lfs/", 500),
        ("/commit/", 403),
        ("/commit/", "drop"),
        ("/tag/", 500),
    ],
)
def test_the_token_is_never_shown(
    hub: Hub,
    ratings: Path,
    run_cli: RunCli,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    where: str,
    how: int | str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # A server, or a proxy before it, that says the token back.
    monkeypatch.setattr("tests.publishing.hub.BROKEN", f"broken for Bearer {OWNER} at http://x/y?sig={OWNER}")
    hub.break_next(where, how, times=1_000)
    done = run_cli("publish", ratings, REPO, "--json", tmp_path / "done.json")
    assert done.returncode == (2 if how in (401, 403) else 1)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("fcconan: ")
    assert OWNER not in done.stdout + done.stderr + caplog.text
    assert not (tmp_path / "done.json").exists()


def test_neither_a_dry_run_nor_a_publication_writes_the_token(
    hub: Hub, ratings: Path, run_cli: RunCli, tmp_path: Path
) -> None:
    shown = []
    for more in (["--dry-run"], []):
        done = run_cli("publish", ratings, REPO, *more, "--json", tmp_path / "done.json")
        assert done.returncode == 0, done.stderr
        shown += [done.stdout, done.stderr, (tmp_path / "done.json").read_text()]
    assert json.loads(shown[-1])["commit"] == hub.repos[REPO].commits[-1].oid
    assert not any(OWNER in text for text in shown)
    hub.break_next("whoami", 500, times=1_000)
    with pytest.raises(HubFailure) as raised:
        publish(ratings, REPO)
    assert OWNER not in "".join(traceback.format_exception(raised.value))


def test_no_secret_of_an_address_is_shown(
    hub: Hub, ratings: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    endpoint = hub.url.replace("//", "//me:s3cret@")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tests.publishing.hub.Hub.account", lambda self, request: self.accounts[OWNER])
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    shown = run_cli("publish", ratings, REPO, "--json", tmp_path / "done.json")
    assert shown.returncode == 0, shown.stderr
    assert f"to {hub.url}/datasets/{REPO}" in shown.stdout
    assert "s3cret" not in shown.stdout + (tmp_path / "done.json").read_text()
    # The client warns, with the address, before it tries again.
    hub.break_next("/resolve/", 503, times=1_000)
    shown = run_cli("hydrate", REPO, "--out", tmp_path / "out")
    assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)
    assert "s3cret" not in shown.stderr


def test_what_is_said_holds_no_token_however_it_is_written() -> None:
    for token in ("hf_plain", "hf_with\x1bcontrol", "hf_of two", "hf_ä-long", "hf_☃-long"):
        for written in (token, repr(token), repr(token.encode()), f"Bearer {token}"):
            found = hub_error(ValueError(f"Illegal header value {written} here"), token)
            assert "***" in found
            assert "hf_" not in found
    assert (
        hub_error(ValueError("at https://me:pw@x.org/y?sig=z, Bearer hf_other"), None)
        == "at https://x.org/y Bearer ***"
    )


def test_a_hub_that_accepts_and_says_nothing_is_given_up(
    hub: Hub, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fcconan.data.hub.LONGEST_SILENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(HubFailure, match=r"^checking the token broke off \(.*timed out.*\): check the"):
            publish(ratings, REPO)
    monkeypatch.undo()
    limit_hub_wait()


def test_a_hub_that_tells_less_of_a_token_is_believed(hub: Hub, ratings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for auth in (None, {}, {"accessToken": None}):
        monkeypatch.setattr("huggingface_hub.HfApi.whoami", lambda *_, auth=auth: {"name": "my-name", "auth": auth})
        assert publish(ratings, REPO, dry_run=True).done is None
