"""Datasets on the Hub, by their names: the real client against the loopback Hub."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fcconan.building import build, hydrate
from fcconan.data import release_folder
from fcconan.errors import InputError
from tests import small
from tests.adapters.published import NAME, publish, reached
from tests.building.test_build import contents
from tests.conftest import RunCli
from tests.publishing.hub import READER, Blob, Hub

GOLD = "gold/test-00000-of-00001.parquet"


@pytest.fixture(scope="module")
def server() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


@pytest.fixture
def hub(server: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    return reached(server, tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset whose texts may not be passed on, built with and without them, next to its recipe."""
    folder = tmp_path_factory.mktemp("folders")
    recipe = small.write_small(folder / "upstream")
    build(str(recipe), out=folder / "full")
    build(str(recipe), out=folder / "labels", labels_only=True)
    return folder


def complaint(name: str, revision: str | None = None) -> str:
    with pytest.raises(InputError) as raised:
        release_folder(name, revision=revision)
    return str(raised.value)


def test_hydrating_from_the_hub_equals_the_full_build(hub: Hub, folders: Path, tmp_path: Path, run_cli: RunCli) -> None:
    repo = publish(hub, folders / "labels")
    repo.tags["v1"] = repo.commits[-1].oid
    repo.add("a later state that is no release", {"notes.txt": Blob(b"moved", lfs=False)})
    options = ("--recipe", folders / "upstream" / "small.yaml", "--revision", "v1")
    done = run_cli("hydrate", NAME, "--out", tmp_path / "full", *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert contents(tmp_path / "full") == contents(folders / "full")
    assert complaint(NAME) == f"{NAME} on the Hub has no manifest.json: give a dataset that `fcconan publish` wrote"


def test_only_the_release_is_downloaded_and_all_of_it_from_one_commit(hub: Hub, folders: Path) -> None:
    repo = publish(hub, folders / "labels")
    repo.commits[-1].files["weights.bin"] = Blob(b"0" * 9, lfs=True)
    folder = release_folder(NAME)
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
        path.relative_to(folders / "labels").as_posix() for path in (folders / "labels").rglob("*") if path.is_file()
    }
    hub.log.clear()
    assert release_folder(NAME) == folder
    assert not [line for line in hub.lines() if line.startswith("GET /datasets/")]  # all is in the cache


def test_a_folder_of_that_name_wins(hub: Hub, folders: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert release_folder(NAME) == Path(NAME)
    assert hub.log == []
    assert complaint(NAME, "v1") == f"{NAME} is a local folder and has no revision 'v1': leave it out"
    assert release_folder("folder") == Path("folder")
    assert release_folder("owner/rows.csv") == Path("owner/rows.csv")


def test_private_and_gated_datasets_need_a_token(hub: Hub, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = publish(hub, folders / "labels", private=True)
    repo.readers.add("a-reader")
    not_seen = " cannot be read from the Hub; there is neither a folder nor a dataset of this name; if private, "
    assert complaint(NAME).startswith(NAME + not_seen)
    assert complaint("our-group/nothing").startswith("our-group/nothing" + not_seen)
    repo.private, repo.gated = False, "manual"
    assert "it is gated: ask for access on its page, and log in with" in complaint(NAME)
    monkeypatch.setenv("HF_TOKEN", READER)
    assert (release_folder(NAME) / GOLD).is_file()
    assert complaint(NAME, "v9").endswith("; it has no revision 'v9': give one of its tags, or leave it out")


def test_without_a_network_what_was_downloaded_serves(hub: Hub, folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    publish(hub, folders / "labels")
    folder = release_folder(NAME)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert release_folder(NAME) == folder
    said = "no folder has this name, and the Hub cannot be reached: check path and network"
    assert complaint("our-group/other") == f"our-group/other cannot be read from the Hub; {said}"


def test_verbs_take_a_dataset_by_its_name_on_the_hub(hub: Hub, demo: Path, tmp_path: Path, run_cli: RunCli) -> None:
    from fcconan import generate
    from fcconan.data import read
    from fcconan.retrieval import load_collection

    publish(hub, demo)
    found, here = load_collection(NAME), load_collection(str(demo))
    assert (found.fingerprint, list(found.partitions)) == (here.fingerprint, list(here.partitions))
    assert read("replies", NAME)[0].equals(read("replies", str(demo))[0])
    replies = [generate(source, strategy="reference").to_frame("replies") for source in (NAME, demo)]
    assert replies[0].equals(replies[1])
    for source, name in ((NAME, "hub"), (demo, "here")):
        done = run_cli("agree", source, "--resamples", 0, "--json", tmp_path / f"{name}.json")
        assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "hub.json").read_text()) == json.loads((tmp_path / "here.json").read_text())


def test_labels_without_texts_from_the_hub_say_how_to_hydrate(hub: Hub, folders: Path) -> None:
    from fcconan.retrieval import load_collection

    publish(hub, folders / "labels")
    with pytest.raises(InputError, match=r"holds labels without texts: `fcconan hydrate .* --out DIR` adds the texts"):
        load_collection(NAME)


def test_full_datasets_are_not_hydrated(hub: Hub, folders: Path, tmp_path: Path) -> None:
    publish(hub, folders / "full")
    with pytest.raises(InputError) as raised:
        hydrate(NAME, out=tmp_path / "again")
    assert str(raised.value) == (
        f"{NAME} has its texts already (labels_only is false in its manifest): nothing to hydrate"
    )


def test_a_token_that_is_not_known_is_said(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_unknown")
    assert "401 Unauthorized" in complaint(NAME) and complaint(NAME).endswith(": check HF_TOKEN and the network")
