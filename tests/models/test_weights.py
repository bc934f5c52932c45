"""The identity of local weights changes with every byte of them, and is computed once for every state of the files."""

import hashlib
import logging
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from fcconan.data.ids import file_sha256
from fcconan.data.sources import cache_folder
from fcconan.errors import InputError
from fcconan.models import weights
from fcconan.models.weights import loading_errors, locate_model, one_line

TICK = 0.05  # seconds; the clock of a disk is coarser than ours


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read whole, as they are."""
    found: list[str] = []

    def noted(path: Path) -> str:
        found.append(path.name)
        return file_sha256(path)

    monkeypatch.setattr(weights, "file_sha256", noted)
    monkeypatch.setattr(weights, "_SETTLED", 0.0)
    return found


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("model-1.safetensors", "model-2.safetensors", "config.json"):
        (folder / name).write_text(f"{name} as it was", encoding="utf-8")
    (folder / "notes.md").write_text("not loaded", encoding="utf-8")
    time.sleep(TICK)
    return folder


def identity(folder: Path) -> str:
    _, commit, found = locate_model(str(folder), None)
    assert commit is None and found is not None
    return found


def expected(folder: Path) -> str:
    files = sorted(path for path in folder.iterdir() if path.suffix != ".md")
    lines = [f"{path.name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:12]


def test_weights_are_read_once_and_the_other_files_always(model: Path, read: list[str]) -> None:
    first = identity(model)
    assert first == expected(model)
    assert read == ["config.json", "model-1.safetensors", "model-2.safetensors"]
    read.clear()
    assert identity(model) == first
    assert read == ["config.json"]


@pytest.mark.parametrize("way", ["written", "replaced", "written back in time", "grown"])
def test_a_changed_file_changes_the_identity_whatever_its_time_says(model: Path, read: list[str], way: str) -> None:
    first = identity(model)
    path = model / "model-2.safetensors"
    before, changed = path.stat(), b"x" * path.stat().st_size
    if way == "replaced":
        (model / "other").write_bytes(changed)
        os.utime(model / "other", ns=(before.st_atime_ns, before.st_mtime_ns))
        (model / "other").replace(path)
    else:
        path.write_bytes(changed + b"x" * (way == "grown"))
    if way == "written back in time":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_mtime_ns == before.st_mtime_ns
    time.sleep(TICK)
    read.clear()
    assert identity(model) == expected(model) != first
    assert read == ["config.json", "model-2.safetensors"]


def test_a_copy_elsewhere_has_the_same_identity_and_is_read_itself(
    model: Path, read: list[str], tmp_path: Path
) -> None:
    first = identity(model)
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in model.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    read.clear()
    assert identity(copy) == first
    assert len(read) == 3


def test_what_was_written_just_now_is_not_kept(model: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "_SETTLED", 60.0)
    assert identity(model) == identity(model) == expected(model)
    assert len(read) == 6
    assert not (cache_folder() / "weights").exists()


def test_what_changes_while_it_is_read_is_not_kept(
    model: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(path: Path) -> str:
        found = file_sha256(path)
        path.write_text("changed meanwhile", encoding="utf-8")
        return found

    monkeypatch.setattr(weights, "file_sha256", meanwhile)
    identity(model)
    monkeypatch.setattr(weights, "file_sha256", file_sha256)
    time.sleep(TICK)
    assert identity(model) == expected(model)


@pytest.mark.parametrize("kept", ["", "[]", "{}", '{"state": {}, "sha256": "0"}', "no JSON"])
def test_a_cache_that_cannot_be_used_costs_time_only(model: Path, read: list[str], kept: str) -> None:
    first = identity(model)
    places = list((cache_folder() / "weights").iterdir())
    assert len(places) == 2
    for place in places:
        place.write_text(kept, encoding="utf-8")
    read.clear()
    assert identity(model) == first
    assert len(read) == 3


def test_no_flipped_bit_of_the_cache_changes_an_identity(model: Path, read: list[str]) -> None:
    first = identity(model)
    place, *_ = (cache_folder() / "weights").iterdir()
    content = place.read_bytes()
    for bit in range(0, 8 * len(content), 13):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        place.write_bytes(damaged)
        assert identity(model) == first
    assert place.read_bytes() == content  # it was written again every time


def test_without_a_place_for_a_cache_files_are_read(
    model: Path, read: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "file"))
    assert identity(model) == identity(model) == expected(model)
    assert len(read) == 6


def test_only_the_error_says_that_the_hub_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants
    from huggingface_hub.utils.logging import get_verbosity

    waits: list[float] = []
    said: list[str] = []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", "http://127.0.0.1:9/{repo_id}/{revision}/{filename}")
    monkeypatch.setattr(time, "sleep", waits.append)
    log = logging.getLogger("huggingface_hub")
    before, listener = get_verbosity(), logging.Handler()
    monkeypatch.setattr(listener, "emit", lambda record: said.append(record.getMessage()))
    log.addHandler(listener)
    try:
        with pytest.raises(InputError, match=r"^the model ombrey/books cannot be found"):
            locate_model("ombrey/books", None)
        with pytest.raises(InputError, match=r"^the model books cannot be loaded"), loading_errors("books"):
            log.warning("Retrying.")
            raise OSError("gone")
        assert waits != []  # it was tried again
        assert said == []
        assert get_verbosity() == before
    finally:
        log.removeHandler(listener)


def test_a_long_error_ends_with_a_sentence_or_a_word() -> None:
    sentence = f"The model is {'far ' * 30}away."
    assert one_line(OSError(f"{sentence}\n{'And more. ' * 3}")) == f"{sentence} And more. And more. And more."
    assert one_line(OSError(f"{sentence} {'and more ' * 30}")) == sentence
    cut = one_line(OSError("word " * 100))
    assert cut == "word " * 40 + "..."
    assert one_line(OSError()) == "OSError"


class _Nothing(BaseHTTPRequestHandler):
    """A Hub that holds nothing."""

    def do_HEAD(self) -> None:
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()

    def log_message(self, *unused: object) -> None:
        pass


def test_a_model_that_the_hub_does_not_have_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    with ThreadingHTTPServer(("127.0.0.1", 0), _Nothing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", url)
        template = url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        try:
            with pytest.raises(InputError) as caught:
                locate_model("ombrey/books", None)
        finally:
            server.shutdown()
    assert str(caught.value).startswith("the model ombrey/books cannot be found (404 ")
    assert str(caught.value).endswith("check the name and the revision, or download it to a folder and give that")
    assert "\n" not in str(caught.value)
