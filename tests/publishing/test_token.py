"""The token: its source, errors of unusable tokens, and that it is never shown."""

import json
import traceback
from pathlib import Path

import pytest

from fcconan.errors import InputError
from fcconan.publishing.publication import HubFailure
from tests.conftest import RunCli
from tests.publishing.hub import OWNER, READ_ONLY, Hub, publish

REPO = "my-name/small"


@pytest.fixture(autouse=True)
def _unloaded(unloaded: None) -> None:
    pass


def test_the_token_is_read_from_the_environment_or_the_token_file(
    hub: Hub, labels: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    publish(labels, REPO)
    monkeypatch.delenv("HF_TOKEN")
    (tmp_path / "token").write_text(OWNER + "\n")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "token"))
    publish(labels, "my-name/again")
    assert {"my-name/small", "my-name/again"} == set(hub.repos)
    assert {request.token for request in hub.log if request.writes and "/lfs/" not in request.path} == {OWNER}


@pytest.mark.parametrize(
    ("token", "repo", "said"),
    [
        ("hf_nobodyKnowsThisOne", REPO, r"does not accept the token \(401, Invalid user token"),
        (READ_ONLY, REPO, "the token is read-only: create one with write permission"),
        (OWNER, "somebody/small", r"refuses creating the repository somebody/small \(403, .*for somebody$"),
    ],
)
def test_an_unusable_token_is_a_one_line_error(
    hub: Hub, labels: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, token: str, repo: str, said: str
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    done = run_cli("publish", labels, repo)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    with pytest.raises(InputError, match=said):
        publish(labels, repo)
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
    labels: Path,
    run_cli: RunCli,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    where: str,
    how: int | str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # A server or proxy that repeats the token in its answer.
    monkeypatch.setattr("tests.publishing.hub.BROKEN", f"broken for Bearer {OWNER} at http://x/y?sig={OWNER}")
    hub.break_next(where, how, times=1_000)
    done = run_cli("publish", labels, REPO, "--json", tmp_path / "done.json")
    assert done.returncode == (2 if how in (401, 403) else 1)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("fcconan: ")
    assert OWNER not in done.stdout + done.stderr + caplog.text
    assert not (tmp_path / "done.json").exists()


def test_output_and_json_do_not_contain_the_token(hub: Hub, labels: Path, run_cli: RunCli, tmp_path: Path) -> None:
    shown = []
    for more in (["--dry-run"], []):
        done = run_cli("publish", labels, REPO, *more, "--json", tmp_path / "done.json")
        assert done.returncode == 0, done.stderr
        shown += [done.stdout, done.stderr, (tmp_path / "done.json").read_text()]
    assert json.loads(shown[-1])["commit"] == hub.repos[REPO].commits[-1].oid
    assert not any(OWNER in text for text in shown)
    hub.break_next("whoami", 500, times=1_000)
    with pytest.raises(HubFailure) as raised:
        publish(labels, REPO)
    assert OWNER not in "".join(traceback.format_exception(raised.value))


def test_credentials_in_an_address_are_not_shown(
    hub: Hub, labels: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    endpoint = hub.url.replace("//", "//me:s3cret@")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tests.publishing.hub.Hub.account", lambda self, request: self.accounts[OWNER])
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    shown = run_cli("publish", labels, REPO, "--json", tmp_path / "done.json")
    assert shown.returncode == 0, shown.stderr
    assert f"/datasets/{REPO}" in shown.stdout
    assert "s3cret" not in shown.stdout + (tmp_path / "done.json").read_text()
    # The warning of the client before a retry contains the address.
    hub.break_next("/resolve/", 503, times=1_000)
    shown = run_cli("hydrate", REPO, "--out", tmp_path / "out")
    assert (shown.returncode, shown.stderr.count("\n")) == (2, 1)
    assert "s3cret" not in shown.stderr


def test_a_token_without_a_known_role_is_accepted(hub: Hub, labels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for auth in (None, {}, {"accessToken": None}):
        monkeypatch.setattr("huggingface_hub.HfApi.whoami", lambda *_, auth=auth: {"name": "my-name", "auth": auth})
        assert publish(labels, REPO, dry_run=True).done is None
