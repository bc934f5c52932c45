"""`fcconan publish` with the real client and a stub of the Hub: requests and their order."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import fcconan.publishing.hub
from fcconan.data import read_manifest
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents
from fcconan.publishing.gate import check_permission
from fcconan.publishing.publication import HubFailure
from tests import small
from tests.conftest import RunCli
from tests.publishing.hub import READER, STRANGER, Blob, Hub, Repository, publish

REPO = "my-name/small"
API = f"/api/datasets/{REPO}"
pytestmark = pytest.mark.usefixtures("unloaded")


def puts(hub: Hub) -> list[str]:
    return [line for line in hub.lines() if line.startswith("PUT /lfs/")]


def steps(hub: Hub) -> list[str]:
    """Returns the kinds of writing requests in order, without repetitions."""
    names = {
        "POST /api/repos/create": "create",
        f"PUT {API}/settings": "settings",
        f"POST {API}/preupload/main": "preupload",
        f"POST /datasets/{REPO}.git/info/lfs/objects/batch": "batch",
        f"POST {API}/commit/main": "commit",
    }
    found = [
        names.get(line) or ("tag" if "/tag/" in line else "large" if "/lfs" in line else line)
        for line in hub.lines(writing=True)
    ]
    return [step for at, step in enumerate(found) if at == 0 or found[at - 1] != step]


def texts() -> list[str]:
    return [*small.HS, *(text for text in small.CN if len(text) > 4), *(cn for _, _, cn in small.TRAIN if len(cn) > 4)]


def leaked(hub: Hub) -> list[str]:
    """Returns the restricted texts and names of columns that reached the Hub."""
    received = list(hub.received())
    return [
        text
        for text in texts()
        if any(text.encode() in body or json.dumps(text)[1:-1].encode() in body for body in received)
    ]


def test_a_first_publication_creates_uploads_commits_once_and_tags(hub: Hub, built: Path) -> None:
    publication = publish(built / "labels", REPO)

    assert steps(hub) == ["create", "preupload", "batch", "large", "commit", "tag"]
    repo = hub.repos[REPO]
    manifest = read_manifest(built / "labels")
    assert set(repo.files) == {".gitattributes", "manifest.json", *manifest["files"]}
    for path in manifest["files"].keys() - {"README.md"}:
        assert repo.files[path] == (built / "labels" / path).read_bytes()
    assert [commit.title for commit in repo.commits] == [
        "initial commit",
        f"Publish small {publication.plan.tag}",
    ]
    assert publication.done is not None
    assert repo.tags == {publication.plan.tag: repo.commits[-1].oid} == {publication.plan.tag: publication.done.commit}
    assert publication.plan.tag.startswith("v0.")
    assert not repo.private
    assert not repo.gated
    assert leaked(hub) == []
    # Every large file is uploaded once.
    assert len(puts(hub)) == len({line.split("/")[-1] for line in puts(hub)}) == len(repo.large)


def test_the_published_card_names_the_repository_and_the_tag(hub: Hub, built: Path, run_cli: RunCli) -> None:
    local = (built / "labels" / "README.md").read_text()
    done = run_cli("publish", built / "labels", REPO)
    repo = hub.repos[REPO]
    (tag,) = repo.tags
    call = f'load_dataset("{REPO}", "gold", split="test", revision="{tag}")'
    assert done.stdout.splitlines()[-1] == f"  datasets.{call}"
    card = repo.files["README.md"].decode()
    assert f"\nrows = {call}\n" in card
    assert f'`gold` is the default: `load_dataset("{REPO}")` loads it, too.' in card
    assert f"\nfcconan hydrate {REPO} --out FULL_FOLDER --recipe PATH/recipe.yaml\n" in card
    assert f"a fingerprint of the content). It has the tag `{tag}` in this repository.\n" in card
    assert "PATH_OR_REPOSITORY" not in card
    # Nothing else differs from the card of the folder, which is unchanged.
    back = card.replace(f', revision="{tag}"', "").replace(f" It has the tag `{tag}` in this repository.", "")
    assert back.replace(REPO, "PATH_OR_REPOSITORY") == local == (built / "labels" / "README.md").read_text()
    files = json.loads(repo.files["manifest.json"])["files"]
    assert files["README.md"]["sha256"] == hashlib.sha256(card.encode()).hexdigest()
    assert files["README.md"]["bytes"] == len(card.encode())
    assert files | {"README.md": 0} == read_manifest(built / "labels")["files"] | {"README.md": 0}


def test_a_second_publication_of_the_same_content_sends_nothing(hub: Hub, built: Path, run_cli: RunCli) -> None:
    publish(built / "labels", REPO)
    hub.log.clear()
    done = run_cli("publish", built / "labels", REPO)
    assert done.returncode == 0, done.stderr
    assert "Nothing to do" in done.stdout
    assert hub.lines(writing=True) == []
    assert len(hub.repos[REPO].commits) == 2


def test_only_changed_files_are_sent_and_only_published_files_are_removed(hub: Hub, built: Path) -> None:
    first = publish(built / "labels", REPO)
    repo = hub.repos[REPO]
    repo.add("by hand", {**repo.commits[-1].files, "notes/mine.txt": Blob(b"mine", lfs=False)})
    hub.log.clear()

    second = publish(built / "other", REPO, dry_run=True)
    changed = {file.path: file.change for file in second.plan.changed}
    # The third training pair, the only one of its HS, has another CN.
    train = "train/train-00000-of-00001.parquet"
    assert changed == dict.fromkeys(("README.md", "manifest.json", train), "changed")
    assert hub.lines(writing=True) == []

    second = publish(built / "other", REPO)
    assert second.plan.kept == ["notes/mine.txt"]
    assert len(puts(hub)) == 1
    assert repo.files["notes/mine.txt"] == b"mine"
    assert len(repo.commits) == 4
    assert second.plan.tag != first.plan.tag
    assert repo.tags == {first.plan.tag: repo.commits[1].oid, second.plan.tag: repo.commits[3].oid}

    # A file of an earlier publication that the new one lacks is removed; the older tag still has it.
    old = json.loads(repo.files["manifest.json"])
    old["files"]["gone/test-00000-of-00001.parquet"] = {"sha256": "", "bytes": 1}
    files = dict(repo.commits[-1].files)
    files["gone/test-00000-of-00001.parquet"] = Blob(b"x", lfs=True)
    files["manifest.json"] = Blob(json.dumps(old).encode(), lfs=False)
    repo.add("an earlier publication", files)
    third = publish(built / "other", REPO, tag="v3")
    assert [file.path for file in third.plan.files if file.change == "removed"] == ["gone/test-00000-of-00001.parquet"]
    assert "gone/test-00000-of-00001.parquet" not in repo.files
    assert repo.files["notes/mine.txt"] == b"mine"
    assert b"gone/" not in repo.files["manifest.json"]

    # Republishing the first content is a new commit; its existing tag is not moved.
    back = publish(built / "labels", REPO)
    assert back.plan.tag == first.plan.tag
    assert back.plan.tagged
    assert repo.tags[first.plan.tag] == repo.commits[1].oid


def test_restricted_text_is_refused_before_any_request(hub: Hub, built: Path, run_cli: RunCli) -> None:
    done = run_cli("publish", built / "full", REPO)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    for part in ("gold: counter_narrative, hate_speech", "--labels-only", "--i-may-redistribute", "--private"):
        assert part in done.stderr
    assert hub.log == []

    done = run_cli("publish", built / "full", REPO, "--i-may-redistribute")
    assert done.returncode == 2
    assert "would be public" in done.stderr
    assert "--private or --gated manual" in done.stderr
    assert hub.lines(writing=True) == []


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (
            "my-pairs",
            "publish the output of `fcconan build PATH/recipe.yaml --labels-only --out FOLDER`; or, if everyone may "
            "have the texts, set `redistributable: true` in the recipe and build the folder again; or, if you",
        ),
        ("fc-conan", "publish the output of `fcconan build fc-conan --labels-only --out FOLDER`; or, if you"),
    ],
)
def test_the_refusal_names_a_command_that_runs(tmp_path: Path, name: str, advice: str) -> None:
    contents = Contents(tmp_path, {"name": name, "kind": "pairs"}, {})
    with pytest.raises(InputError) as refused:
        check_permission(contents, {"pairs": ["hate_speech"]}, may_redistribute=False)
    assert str(refused.value) == (
        f"{name} contains text that must not be redistributed (pairs: hate_speech): {advice} have the right to "
        "redistribute it, give --i-may-redistribute and --private or --gated manual"
    )


def test_the_gate_is_set_and_verified_before_the_upload(hub: Hub, built: Path) -> None:
    publication = publish(built / "full", REPO, may_redistribute=True, gated="manual")
    assert steps(hub) == ["create", "settings", "preupload", "batch", "large", "commit", "tag"]
    lines = hub.lines()
    gate = lines.index(f"PUT {API}/settings")
    assert lines[gate + 1] == f"GET {API}"
    assert lines.index(f"POST {API}/preupload/main") > gate + 1
    assert hub.repos[REPO].gated == "manual"
    assert publication.plan.visibility == "gated (manual approval)"
    assert set(leaked(hub)) == set(texts())  # so `leaked` finds texts if there are any


def test_nothing_is_sent_if_the_hub_does_not_set_the_gate(hub: Hub, built: Path) -> None:
    hub.ignores_settings = True
    with pytest.raises(InputError, match="must be gated, but is not according to the Hub: nothing was published"):
        publish(built / "full", REPO, may_redistribute=True, gated="auto")
    assert steps(hub) == ["create", "settings"]
    assert leaked(hub) == []
    hub.add_repo("my-name/theirs")
    with pytest.raises(InputError, match="must be private, but is not"):
        publish(built / "full", "my-name/theirs", may_redistribute=True, private=True)
    assert leaked(hub) == []


def test_an_existing_public_repository_is_refused_or_made_private_first(hub: Hub, built: Path) -> None:
    repo = hub.add_repo(REPO)
    with pytest.raises(InputError, match="is public and not gated"):
        publish(built / "full", REPO, may_redistribute=True)
    assert hub.lines(writing=True) == []
    publish(built / "full", REPO, may_redistribute=True, private=True)
    assert steps(hub)[:2] == ["settings", "preupload"]
    assert repo.private
    # The repository stays private without the option.
    hub.log.clear()
    publish(built / "labels", REPO)
    assert "settings" not in steps(hub)
    assert repo.private
    publish(built / "full", REPO, may_redistribute=True)
    assert repo.private


def test_a_gate_is_never_weakened(hub: Hub, built: Path) -> None:
    repo = hub.add_repo(REPO, gated="manual")
    with pytest.raises(InputError, match="manual approval, which --gated auto would weaken"):
        publish(built / "labels", REPO, gated="auto")
    publish(built / "labels", REPO)
    assert repo.gated == "manual"
    assert "settings" not in steps(hub)
    other = hub.add_repo("my-name/auto", gated="auto")
    publish(built / "labels", "my-name/auto", gated="manual")
    assert other.gated == "manual"


def test_an_interrupted_upload_is_resumed(hub: Hub, built: Path, run_cli: RunCli) -> None:
    hub.break_next("^PUT /lfs/", "drop", nth=4, times=1_000)
    done = run_cli("publish", built / "labels", REPO)
    assert done.returncode == 1
    assert done.stderr.startswith("fcconan: sending the files broke off (")
    assert "run the same command again" in done.stderr
    assert done.stderr.count("\n") == 1
    repo = hub.repos[REPO]
    assert len(repo.commits) == 1
    assert repo.tags == {}
    there = set(repo.large)
    assert 0 < len(there) <= 3

    hub.clear_faults()
    hub.log.clear()
    done = run_cli("publish", built / "labels", REPO)
    assert done.returncode == 0, done.stderr
    sent = {line.split("/")[-1] for line in puts(hub)}
    assert sent == set(repo.large) - there
    assert len(repo.commits) == 2
    assert "create" not in steps(hub)


@pytest.mark.parametrize("how", [503, "drop"])
def test_temporary_faults_are_retried(hub: Hub, built: Path, how: int | str) -> None:
    hub.break_next("^PUT /lfs/", how, nth=2, times=2)
    hub.break_next("/lfs/objects/batch$", how if how != "drop" else 503)
    publish(built / "labels", REPO)
    assert len(hub.repos[REPO].commits) == 2


@pytest.mark.parametrize("where", ["whoami", "/refs$", "/preupload/", "/batch$"])
def test_an_invalid_answer_is_a_one_line_error(hub: Hub, built: Path, run_cli: RunCli, where: str) -> None:
    hub.add_repo(REPO)
    hub.break_next(where, "garble")
    done = run_cli("publish", built / "labels", REPO)
    assert done.returncode == 1
    assert "broke off (Expecting value" in done.stderr
    assert done.stderr.count("\n") == 1


def test_large_files_are_uploaded_in_parts(hub: Hub, built: Path) -> None:
    hub.chunk_size = 1_000
    publish(built / "labels", REPO)
    path = "gold/test-00000-of-00001.parquet"
    assert hub.repos[REPO].files[path] == (built / "labels" / path).read_bytes()
    assert any(line.startswith("PUT /lfs/") and line.endswith("/2") for line in hub.lines())


def test_a_commit_with_a_lost_answer_is_found_by_the_next_run(hub: Hub, built: Path) -> None:
    hub.break_next("/commit/main$", "lose")
    with pytest.raises(HubFailure, match=r"committing the files broke off .*run the same command again"):
        publish(built / "labels", REPO)
    hub.log.clear()
    publication = publish(built / "labels", REPO)
    assert steps(hub) == ["tag"]
    assert hub.repos[REPO].tags == {publication.plan.tag: hub.repos[REPO].commits[1].oid}
    assert len(hub.repos[REPO].commits) == 2


def test_a_concurrent_commit_is_not_overwritten(hub: Hub, built: Path) -> None:
    repo = hub.add_repo(REPO)

    def somebody() -> None:
        repo.add("somebody else", {**repo.commits[-1].files, "theirs.txt": Blob(b"theirs", lfs=False)})

    hub.before_commit = somebody
    with pytest.raises(HubFailure, match="was changed by another commit, so nothing was published"):
        publish(built / "labels", REPO)
    assert [commit.title for commit in repo.commits] == ["initial commit", "somebody else"]
    assert repo.tags == {}


def test_a_tag_is_never_moved(hub: Hub, built: Path) -> None:
    publish(built / "labels", REPO, tag="v1.0")
    repo = hub.repos[REPO]
    before = dict(repo.tags)
    hub.log.clear()
    with pytest.raises(
        InputError, match=r"the tag v1\.0 of my-name/small points to other content .*give another --tag"
    ):
        publish(built / "other", REPO, tag="v1.0")
    assert hub.lines(writing=True) == []
    assert 'revision="v1.0")' in repo.files["README.md"].decode()
    publish(built / "labels", REPO, tag="v1.0")
    assert hub.lines(writing=True) == []
    # Another tag of the same content needs no commit.
    publish(built / "labels", REPO, tag="final")
    assert steps(hub) == ["tag"]
    assert repo.tags == {**before, "final": before["v1.0"]}


@pytest.mark.parametrize("tag", ["main", "v 1", "a..b", "-x", "x.lock", "0" * 40, "", "ä"])
def test_invalid_tags_are_refused(hub: Hub, built: Path, tag: str) -> None:
    with pytest.raises(InputError, match="--tag"):
        publish(built / "labels", REPO, tag=tag)
    assert hub.log == []


@pytest.mark.parametrize(
    "name", ["small", "a/b/c", "my-name/", "/small", "my-name/a..b", "my-name/a b", "my-name/x.git"]
)
def test_invalid_repository_names_are_refused(hub: Hub, built: Path, name: str) -> None:
    with pytest.raises(InputError, match="OWNER/NAME"):
        publish(built / "labels", name)
    assert hub.log == []


def test_a_dry_run_prints_the_plan_and_sends_nothing(hub: Hub, built: Path, run_cli: RunCli, tmp_path: Path) -> None:
    done = run_cli("publish", built / "labels", REPO, "--dry-run", "--json", tmp_path / "plan.json")
    assert done.returncode == 0, done.stderr
    assert hub.lines(writing=True) == []
    assert hub.repos == {}
    assert "will be created; new visibility: public" in done.stdout
    plan = json.loads((tmp_path / "plan.json").read_text())
    manifest = read_manifest(built / "labels")
    assert {file["path"]: file["change"] for file in plan["files"]} == dict.fromkeys(
        [*manifest["files"], "manifest.json"], "new"
    )
    assert plan["dry_run"] is True
    assert plan["exists"] is False
    assert plan["commit"] is None
    assert plan["nothing_to_do"] is False
    for file in plan["files"]:
        assert file["path"] in done.stdout

    publication = publish(built / "labels", REPO)
    assert publication.plan.tag == plan["tag"]
    done = run_cli(
        "publish", built / "labels", REPO, "--dry-run", "--gated", "manual", "--json", tmp_path / "plan.json"
    )
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert {file["change"] for file in plan["files"]} == {"unchanged"}
    assert plan["gate"] == "manual"
    assert plan["tag_is_there"] is True
    assert "exists; new visibility: gated (manual approval)" in done.stdout
    assert not hub.repos[REPO].gated


def test_a_dry_run_needs_no_token_and_no_hub(
    hub: Hub, built: Path, monkeypatch: pytest.MonkeyPatch, run_cli: RunCli
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.get_token", lambda: None)
    assert "Without a token, a private repository" in publish(built / "labels", REPO, dry_run=True).plan.notes[0]
    assert hub.lines() == [f"GET {API}"]
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    done = run_cli("publish", built / "labels", REPO, "--dry-run")
    assert done.returncode == 0
    assert "HF_HUB_OFFLINE is set: the plan shows all files as new" in done.stdout
    with pytest.raises(InputError, match="no token of the Hugging Face Hub was found: set HF_TOKEN"):
        publish(built / "labels", REPO)
    monkeypatch.setattr("huggingface_hub.get_token", lambda: "hf_x")
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set"):
        publish(built / "labels", REPO)


def test_files_from_other_sources_are_unchanged(hub: Hub, built: Path) -> None:
    def holding(**files: bytes) -> Repository:
        repo = hub.add_repo(REPO)
        repo.add("by hand", {path.replace("__", "/"): Blob(content, lfs=False) for path, content in files.items()})
        return repo

    holding(**{"manifest.json": json.dumps({"name": "cseval", "files": {}}).encode()})
    with pytest.raises(InputError, match="contains the dataset 'cseval', not 'small': publish to another repository"):
        publish(built / "labels", REPO)
    holding(**{"gold__test-00000-of-00001.parquet": b"x"})
    with pytest.raises(InputError, match="which was not uploaded by `fcconan publish`: publish to another"):
        publish(built / "labels", REPO)
    holding(**{"gold__test-extra.parquet": b"x"})
    with pytest.raises(InputError, match=r"gold/test-extra\.parquet, .*would be loaded as a part of gold"):
        publish(built / "labels", REPO)
    assert hub.lines(writing=True) == []
    # A card written by hand in an otherwise empty repository is replaced.
    repo = holding(**{"README.md": b"To come.", "LICENSE": b"?"})
    assert publish(built / "labels", REPO).plan.kept == ["LICENSE"]
    assert repo.files["README.md"].startswith(b"---\n")


def test_private_and_gated_repositories_are_closed_to_strangers(hub: Hub, built: Path) -> None:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    publish(built / "full", REPO, may_redistribute=True, private=True)
    publish(built / "full", "our-group/gated", may_redistribute=True, gated="auto")
    hub.repos["our-group/gated"].readers.add("a-reader")
    for token in (False, STRANGER):
        api = HfApi(endpoint=hub.url, token=token)
        with pytest.raises(RepositoryNotFoundError):
            api.dataset_info(REPO)
        with pytest.raises(GatedRepoError):
            api.auth_check("our-group/gated", repo_type="dataset")
    HfApi(endpoint=hub.url, token=READER).auth_check("our-group/gated", repo_type="dataset")


def test_a_gate_removed_during_the_upload_stops_the_commit(
    hub: Hub, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = fcconan.publishing.hub.Hub.upload

    def open_meanwhile(self: fcconan.publishing.hub.Hub, additions: Any) -> None:
        send(self, additions)
        hub.repos[REPO].gated = False

    monkeypatch.setattr("fcconan.publishing.hub.Hub.upload", open_meanwhile)
    with pytest.raises(InputError, match="must be gated, but is not according to the Hub: nothing was published"):
        publish(built / "full", REPO, may_redistribute=True, gated="manual")
    assert [commit.title for commit in hub.repos[REPO].commits] == ["initial commit"]


def test_a_file_changed_after_the_checks_is_not_sent(hub: Hub, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = fcconan.publishing.hub.Hub.read

    def rebuild_meanwhile(self: fcconan.publishing.hub.Hub, **options: Any) -> Any:
        if (copied / "full").exists():
            (copied / "labels").rename(copied / "old")
            (copied / "full").rename(copied / "labels")
        return read(self, **options)

    monkeypatch.setattr("fcconan.publishing.hub.Hub.read", rebuild_meanwhile)
    with pytest.raises(InputError, match=r"was changed while it was being published: run the same command again"):
        publish(copied / "labels", REPO)
    assert leaked(hub) == []


def test_a_gitignore_on_the_hub_is_ignored(hub: Hub, built: Path) -> None:
    repo = hub.add_repo(REPO)
    repo.add("by hand", {**repo.commits[-1].files, ".gitignore": Blob(b"*.parquet\n", lfs=False)})
    publish(built / "labels", REPO)
    assert set(read_manifest(built / "labels")["files"]) <= set(repo.files)


def test_an_incomplete_commit_gets_no_tag(hub: Hub, built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = fcconan.publishing.hub.Hub.commit
    monkeypatch.setattr(
        "fcconan.publishing.hub.Hub.commit",
        lambda self, operations, *rest: commit(
            self, [each for each in operations if not each.path_in_repo.startswith("gold/")], *rest
        ),
    )
    with pytest.raises(HubFailure, match=r"^gold/.* differs from the uploaded file .*, so the tag was not set"):
        publish(built / "labels", REPO)
    assert hub.repos[REPO].tags == {}


def test_the_card_of_a_foreign_dataset_is_unchanged(hub: Hub, built: Path) -> None:
    repo = hub.add_repo(REPO)
    theirs = {"README.md": Blob(b"Theirs.", lfs=False), "data/train.csv": Blob(b"a", lfs=False)}
    repo.add("by hand", {**repo.commits[-1].files, **theirs})
    with pytest.raises(InputError, match=r"contains README\.md, which was not uploaded by"):
        publish(built / "labels", REPO)
    # A foreign manifest does not cause the removal of files that no build writes.
    manifest = json.dumps({"name": "small", "files": {"data/train.csv": {}, ".gitattributes": {}}}).encode()
    repo.add("by hand", {**repo.commits[-1].files, "manifest.json": Blob(manifest, lfs=False)})
    publish(built / "labels", REPO)
    assert {"data/train.csv", ".gitattributes"} <= set(repo.files)


def test_notes_mention_edited_cards_and_texts_in_the_history(hub: Hub, built: Path) -> None:
    publish(built / "full", REPO, may_redistribute=True, private=True)
    repo = hub.repos[REPO]
    repo.add("edited", {**repo.commits[-1].files, "README.md": Blob(b"Mine.", lfs=False)})
    assert publish(built / "full", REPO, may_redistribute=True, dry_run=True).plan.notes == [
        "README.md was edited on the Hub; the edits will be overwritten."
    ]
    assert publish(built / "labels", REPO, dry_run=True).plan.notes == [
        "The history of the repository contains the texts of an earlier publication: never make it public.",
        "Datasets without local files, whose texts were not searched: cn-ranking, conan, cseval, dialoconan, fc-conan, "
        "kn-conan, mt-conan, multi-aspect.",
    ]
