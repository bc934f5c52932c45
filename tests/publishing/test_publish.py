"""`publish` with the real client and a stub of the Hub: requests and their order, gates, versions and errors."""

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from fcconan import publish
from fcconan.building import build
from fcconan.data import read_manifest
from fcconan.errors import InputError, RemoteError
from tests import small
from tests.conftest import RunCli
from tests.publishing.hub import OWNER, READ_ONLY, Blob, Hub, Repository

REPO = "my-name/small"
API = f"/api/datasets/{REPO}"
TRAIN = "train/train-00000-of-00001.parquet"


def steps(hub: Hub) -> list[str]:
    """Returns the kinds of writing requests in order, without repetitions."""
    names = {"repos/create": "create", "/settings": "settings", "/preupload/": "preupload", "/commit/": "commit"}
    names |= {"/batch": "large", "/lfs": "large", "/tag/": "tag"}
    found = [next((step for part, step in names.items() if part in line), line) for line in hub.lines(writing=True)]
    return [step for step, _ in itertools.groupby(found)]


def leaked(hub: Hub) -> set[str]:
    """Returns the restricted texts that reached the Hub."""
    received = list(hub.received())
    texts = {text for text in [*small.HS, *small.CN, *(cn for _, _, cn in small.TRAIN)] if len(text) > 4}
    return {text for text in texts if any(json.dumps(text)[1:-1].encode() in body for body in received)}


def test_a_publication_is_one_commit_with_a_tag_whose_card_names_both(hub: Hub, built: Path, run_cli: RunCli) -> None:
    done = run_cli("publish", built / "labels", REPO)
    assert done.returncode == 0, done.stderr
    assert steps(hub) == ["create", "preupload", "large", "commit", "tag"]
    assert not leaked(hub)
    repo, manifest = hub.repos[REPO], read_manifest(built / "labels")
    (tag,) = repo.tags
    assert tag.startswith("v0.")
    assert [commit.title for commit in repo.commits] == ["initial commit", f"Publish small {tag}"]
    assert repo.tags[tag] == repo.commits[-1].oid
    assert set(repo.files) == {".gitattributes", "manifest.json", *manifest["files"]}
    for path in manifest["files"].keys() - {"README.md"}:
        assert repo.files[path] == (built / "labels" / path).read_bytes()
    call = f'load_dataset("{REPO}", "gold", split="test", revision="{tag}")'
    assert f"Load it: {call}" in done.stdout
    card, local = repo.files["README.md"].decode(), (built / "labels" / "README.md").read_text()
    assert f"\nrows = {call}\n" in card
    assert f"\nfcconan hydrate {REPO} --out FULL_FOLDER --recipe PATH/recipe.yaml\n" in card
    back = card.replace(f', revision="{tag}"', "").replace(f" It has the tag `{tag}` in this repository.", "")
    assert back.replace(REPO, "PATH_OR_REPOSITORY") == local
    files = json.loads(repo.files["manifest.json"])["files"]
    assert files["README.md"] == {"sha256": hashlib.sha256(card.encode()).hexdigest(), "bytes": len(card.encode())}

    # The same again sends nothing.
    hub.log.clear()
    again = publish(str(built / "labels"), REPO)
    assert hub.lines(writing=True) == []
    assert (again.identity["tag"], again.identity["commit"]) == (tag, repo.commits[-1].oid)
    assert again.notes[0] == f"The tag {tag} already has this content: no file was sent."


def test_a_new_version_replaces_the_tables_and_keeps_other_files(hub: Hub, built: Path) -> None:
    first = publish(str(built / "other"), REPO).identity["tag"]
    repo = hub.repos[REPO]
    further = {"notes/mine.txt": Blob(b"mine", lfs=False), "old/train-00000-of-00001.parquet": Blob(b"old", lfs=True)}
    repo.add("by hand", {**repo.commits[-1].files, **further})
    hub.log.clear()
    second = publish(str(built / "labels"), REPO).identity["tag"]
    assert set(repo.tags) == {first, second}
    sent = [line for line in hub.lines() if line.startswith("PUT /lfs/")]
    assert sent == [f"PUT /lfs/{REPO}/{hashlib.sha256(repo.files[TRAIN]).hexdigest()}"]  # the only changed table
    assert repo.files["notes/mine.txt"] == b"mine"
    assert "old/train-00000-of-00001.parquet" not in repo.files


def test_a_tag_is_never_moved(hub: Hub, built: Path) -> None:
    publish(str(built / "labels"), REPO, tag="v1.0")
    tags = dict(hub.repos[REPO].tags)
    hub.log.clear()
    with pytest.raises(InputError, match=r"the tag v1\.0 of my-name/small points to other content .*another --tag"):
        publish(str(built / "other"), REPO, tag="v1.0")
    assert hub.lines(writing=True) == []
    assert hub.repos[REPO].tags == tags


def test_a_dry_run_sends_nothing_and_needs_no_token(
    hub: Hub, built: Path, monkeypatch: pytest.MonkeyPatch, run_cli: RunCli, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_TOKEN", "")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    options = ("--dry-run", "--private", "--json", tmp_path / "plan.json")
    done = run_cli("publish", built / "labels", REPO, *options)
    assert done.returncode == 0, done.stderr
    assert "The repository will be private." in done.stdout
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["identity"]["commit"] is None
    assert {file["path"] for file in plan["tables"]["files"]} == {
        "manifest.json",
        *read_manifest(built / "labels")["files"],
    }
    assert hub.lines() == [f"GET {API}"]
    hub.log.clear()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert publish(str(built / "labels"), REPO, dry_run=True).identity["visibility"] == "public"
    with pytest.raises(InputError, match="no token of the Hugging Face Hub was found: set HF_TOKEN"):
        publish(str(built / "labels"), REPO)
    assert hub.log == []


def test_a_dry_run_needs_no_network(hub: Hub, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")  # nothing listens there
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    found = publish(str(built / "labels"), REPO, dry_run=True)
    assert (found.identity["visibility"], found.identity["commit"]) == ("public", None)
    assert found.notes[0].startswith("The Hub was not reached (")
    assert found.notes[0].endswith("): my-name/small was not checked.")
    with pytest.raises(RemoteError, match="publishing my-name/small failed"):
        publish(str(built / "labels"), REPO)
    assert hub.log == []


def test_restricted_texts_need_a_confirmation_and_a_closed_repository(hub: Hub, built: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"must not be redistributed \(bronze: hate_speech, counter_narrative; .*build RECIPE --labels-only",
    ):
        publish(str(built / "full"), REPO, gated="manual")
    with pytest.raises(InputError, match=r"would be public, and must not give public access .* --private or --gated"):
        publish(str(built / "full"), REPO, may_redistribute=True)
    hub.add_repo("my-name/public")
    with pytest.raises(InputError, match="is public and not gated"):
        publish(str(built / "full"), "my-name/public", may_redistribute=True)
    assert hub.lines(writing=True) == []
    found = publish(str(built / "full"), REPO, may_redistribute=True, gated="manual")
    assert steps(hub)[:3] == ["create", "settings", "preupload"]
    assert hub.repos[REPO].gated == "manual"
    assert found.identity["visibility"] == "gated (manual approval)"
    assert set(small.HS) <= leaked(hub)  # so `leaked` finds texts if there are any


def test_a_repository_never_becomes_more_visible(hub: Hub, built: Path) -> None:
    manual, automatic = hub.add_repo(REPO, gated="manual"), hub.add_repo("my-name/auto", gated="auto", private=True)
    with pytest.raises(InputError, match="manual approval, which --gated auto would weaken"):
        publish(str(built / "labels"), REPO, gated="auto")
    publish(str(built / "labels"), REPO)
    assert manual.gated == "manual"
    publish(str(built / "full"), "my-name/auto", gated="manual", may_redistribute=True)
    assert (automatic.gated, automatic.private) == ("manual", True)


CHOICES = st.sampled_from([*itertools.product((True, False), (True, False), (None, "auto", "manual"))])


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.booleans(), CHOICES, st.sampled_from([None, "public", "private", "auto"]), st.booleans(), st.booleans())
def test_restricted_text_never_reaches_a_public_repository(
    hub: Hub,
    built: Path,
    labels_only: bool,
    choice: tuple[bool, bool, Any],
    there: str | None,
    obedient: bool,
    refusing: bool,
) -> None:
    may, private, gated = choice
    hub.reset()
    hub.ignores_settings = not obedient
    if there is not None:
        hub.add_repo(REPO, private=there == "private", gated="auto" if there == "auto" else False)
    if refusing:
        hub.break_next("/settings$|repos/create$", 403)
    folder = str(built / ("labels" if labels_only else "full"))
    try:
        publish(folder, REPO, may_redistribute=may, private=private, gated=gated)
    except (InputError, RemoteError):
        assert not labels_only or refusing or not obedient  # without text, only the Hub fails
    if leaked(hub):
        repo, lines = hub.repos[REPO], hub.lines()
        assert may and not labels_only and (repo.private or repo.gated)
        closing = [at for at, line in enumerate(lines) if line.endswith(("/settings", "repos/create"))]
        assert all(at < lines.index(f"POST {API}/preupload/main") for at in closing)


def test_nothing_is_sent_if_the_hub_does_not_restrict_the_access(hub: Hub, built: Path) -> None:
    hub.ignores_settings = True
    hub.add_repo("my-name/theirs")
    for repo, options in ((REPO, {"gated": "auto"}), ("my-name/theirs", {"private": True})):
        with pytest.raises(InputError, match=r"must be (gated|private), but is not according to the Hub: nothing was"):
            publish(str(built / "full"), repo, may_redistribute=True, **options)
    assert steps(hub) == ["create", "settings"]


def test_other_repositories_are_refused(hub: Hub, built: Path) -> None:
    def holding(**files: bytes) -> Repository:
        repo = hub.add_repo(REPO)
        repo.add("by hand", {name.replace("_", "."): Blob(content, lfs=False) for name, content in files.items()})
        return repo

    holding(manifest_json=json.dumps({"name": "cseval", "files": {}}).encode())
    with pytest.raises(InputError, match="contains the dataset 'cseval', not 'small': publish to another repository"):
        publish(str(built / "labels"), REPO)
    holding(README_md=b"Theirs.", train_csv=b"a")
    with pytest.raises(InputError, match=r"contains train\.csv and no dataset that `fcconan publish` wrote"):
        publish(str(built / "labels"), REPO)
    assert hub.lines(writing=True) == []
    repo = holding(README_md=b"To come.")  # an empty repository with a card
    publish(str(built / "labels"), REPO)
    assert repo.files["README.md"].startswith(b"---\nannotations_creators:")


def test_changed_folders_are_refused_and_other_files_stay_here(hub: Hub, copied: Path) -> None:
    folder = copied / "labels"
    (folder / "notes.txt").write_text("mine")
    assert "Not published: notes.txt." in publish(str(folder), REPO, dry_run=True).notes
    (folder / "README.md").write_text("Changed.")
    with pytest.raises(InputError, match=r"README\.md was changed or removed after the build: build the folder again"):
        publish(str(folder), REPO)


def test_the_card_of_a_gated_dataset_quotes_no_text(hub: Hub, tmp_path: Path) -> None:
    small.write_small(tmp_path)
    data = small.recipe_data(tmp_path)
    recipe = small.write_recipe(tmp_path, data | {"summary": f"They say: {small.HS[1].upper()}"})
    build(str(recipe), out=tmp_path / "full")
    with pytest.raises(InputError, match=r"README\.md quotes a restricted text, and is public even in a gated"):
        publish(str(tmp_path / "full"), REPO, may_redistribute=True, gated="manual")
    assert hub.log == []


@pytest.mark.parametrize(
    ("repo", "tag", "said"),
    [
        ("small", None, "expected OWNER/NAME"),
        ("a/b/c", None, "OWNER/NAME"),
        (REPO, "v 1", "--tag 'v 1'"),
        (REPO, "-x", "--tag"),
    ],
)
def test_invalid_names_are_refused(hub: Hub, built: Path, repo: str, tag: str | None, said: str) -> None:
    with pytest.raises(InputError, match=said):
        publish(str(built / "labels"), repo, tag=tag)
    assert hub.log == []


def test_a_lost_answer_and_a_concurrent_commit_are_noticed(hub: Hub, built: Path) -> None:
    hub.break_next("/commit/main$", "lose")
    with pytest.raises(RemoteError, match=r"publishing my-name/small failed .*run the same command again"):
        publish(str(built / "labels"), REPO)
    hub.log.clear()
    tag = publish(str(built / "labels"), REPO).identity["tag"]
    repo = hub.repos[REPO]
    assert len(repo.commits) == 2
    assert repo.tags == {tag: repo.commits[-1].oid}
    assert "commit" not in steps(hub)

    def commit_meanwhile() -> None:
        repo.add("another", dict(repo.commits[-1].files))

    hub.before_commit = commit_meanwhile
    with pytest.raises(RemoteError, match=r"412, .*changed meanwhile"):
        publish(str(built / "other"), REPO)
    assert len(repo.tags) == 1


@pytest.mark.parametrize(
    ("token", "where", "status"),
    [
        (OWNER, f"GET {API}$", 401),
        (OWNER, "repos/create", 403),
        (OWNER, "/preupload/", 400),
        (OWNER, "/commit/", 403),
        (OWNER, "/tag/", 409),
        (READ_ONLY, "none", 403),
        ("hf_unknownToEverybody", "none", 401),
    ],
)
def test_a_failure_is_one_line_without_the_token(
    hub: Hub, built: Path, run_cli: RunCli, monkeypatch: pytest.MonkeyPatch, token: str, where: str, status: int
) -> None:
    monkeypatch.setenv("HF_TOKEN", token)
    # A server or proxy that repeats the token in its answer.
    monkeypatch.setattr("tests.publishing.hub.BROKEN", f"broken for Bearer {token} at http://x/y?sig={token}")
    hub.break_next(where, status, times=1_000)
    done = run_cli("publish", built / "labels", REPO)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"fcconan: publishing my-name/small failed ({status}, ")
    assert token not in done.stdout + done.stderr
