"""Every way to a source file, against a server of our own on the loopback interface."""

import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from fcconan.data import Source, cache_folder, fetch, fetch_all, file_sha256
from fcconan.errors import InputError

COMMIT = "c" * 40
TEXT = b"hs,cn\nThe Ombrey never return a book.,The library's list says otherwise.\n"
PATH = f"/ombrey/books/{COMMIT}/data/rows.csv"
Reply = tuple[int, bytes]


class Upstream(ThreadingHTTPServer):
    """Answers with the replies of a path one after the other; the last one stays. Remembers the requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: dict[str, list[Reply]] = {}
        self.requests: list[str] = []

    def reply(self, path: str) -> Reply:
        self.requests.append(path)
        replies = self.replies.get(path, [(404, b"")])
        return replies.pop(0) if len(replies) > 1 else replies[0]


class Handler(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        status, body = self.server.reply(self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # of pooch, before it tries again
    with Upstream() as server:
        monkeypatch.setenv("FCCONAN_RAW_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def source(path: str = "data/rows.csv", body: bytes = TEXT, repository: str | None = "ombrey/books") -> Source:
    digest = hashlib.sha256(body).hexdigest()
    return Source(repository=repository, commit=COMMIT if repository else None, path=path, sha256=digest)


def optional(of: Source) -> Source:
    return of.model_copy(update={"optional": True})


def cached(path: str = "data/rows.csv") -> Path:
    return Path(os.environ["FCCONAN_CACHE"]) / "ombrey" / "books" / COMMIT / path


def write(path: Path, body: bytes = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def error(of: Source, folder: Path = Path()) -> str:
    with pytest.raises(InputError) as caught:
        fetch(of, folder=folder)
    return str(caught.value)


def test_the_mirror_comes_before_the_cache_and_the_cache_before_the_network(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.replies[PATH] = [(200, TEXT)]
    monkeypatch.setenv("FCCONAN_MIRROR", str(tmp_path))
    mirrored = write(tmp_path / "ombrey" / "books" / "data" / "rows.csv")
    assert fetch(source(), folder=Path()) == mirrored
    mirrored.unlink()
    for _ in range(2):
        assert fetch(source(), folder=Path()) == cached() and cached().read_bytes() == TEXT
    assert upstream.requests == [PATH]


def test_the_hash_of_a_file_is_checked(upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, wanted = (hashlib.sha256(each).hexdigest() for each in (b"changed", TEXT))
    for repository in (None, "ombrey/books"):
        path = write(tmp_path / (repository or "") / "data" / "rows.csv", b"changed")
        monkeypatch.setenv("FCCONAN_MIRROR", str(tmp_path))
        said = f"{path} has sha256 {found}, expected {wanted}: get the pinned file"
        assert error(source(repository=repository), tmp_path) == said
    monkeypatch.delenv("FCCONAN_MIRROR")
    upstream.replies[PATH] = [(200, b"changed")]
    assert wanted in error(source()) and not cached().exists()
    upstream.replies[PATH] = [(200, TEXT)]
    assert fetch(source(), folder=Path()) == write(cached(), b"changed")  # and is fetched again
    assert fetch(source(), folder=Path()) == cached() and cached().read_bytes() == TEXT


def test_a_failed_download_is_repeated_and_says_how_to_help_oneself(upstream: Upstream) -> None:
    upstream.replies[PATH] = [(503, b"later"), (503, b"later"), (200, TEXT)]
    assert fetch(source(), folder=Path()) == cached() and upstream.requests == [PATH] * 3
    said = error(source("data/more.csv"))
    assert said.startswith("data/more.csv cannot be fetched (404 ")
    assert said.endswith(
        f": save it as {cached('data/more.csv')}, or set FCCONAN_MIRROR to a folder with ombrey/books/data/more.csv"
    )
    assert [path for path in cache_folder().rglob("*") if path.is_file()] == [cached()]


def test_an_optional_file_may_be_missing(upstream: Upstream, tmp_path: Path) -> None:
    local = source(repository=None)
    assert fetch(optional(source()), folder=Path()) is None
    assert fetch(optional(local), folder=tmp_path) is None
    assert error(local, tmp_path) == (
        f"{tmp_path / 'data/rows.csv'} is missing: put the file there, or correct `path` in the recipe"
    )
    asked = len(upstream.requests)
    write(cached())
    assert fetch(source().model_copy(update={"sha256": None, "optional": True}), folder=Path()) is None
    assert len(upstream.requests) == asked


def test_all_files_of_a_recipe_are_found_and_terms_are_shown_once(
    upstream: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "all rows/50% #1?é.csv"
    quoted = f"/ombrey/songs/{COMMIT}/all%20rows/50%25%20%231%3F%C3%A9.csv"
    upstream.replies |= {quoted: [(200, TEXT)], quoted.replace("50", "60"): [(200, TEXT)]}
    songs = {each: source(each, repository="ombrey/songs") for each in (odd, odd.replace("50", "60"))}
    files = {**songs, "local": source(repository=None), "lost": optional(source("lost.csv", repository="ombrey/songs"))}
    local = write(tmp_path / "data" / "rows.csv")
    found = fetch_all(files, folder=tmp_path, terms="Research only;\n  ask the Ombrey.")
    assert [*found] == [*songs, "local"] and found["local"] == local
    assert {file_sha256(path) for path in found.values()} == {source().sha256}
    assert capsys.readouterr().err == "note: fetching from ombrey/songs. Terms: Research only; ask the Ombrey.\n"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"path": "../rows.csv"}, "path must lead down from the top of the repository"),
        ({"path": "/etc/rows.csv"}, "path must lead down from the top of the repository"),
        ({"commit": None}, "repository and commit go together"),
        ({"sha256": None}, "sha256 is missing"),
    ],
)
def test_a_source_is_pinned(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Source(**source().model_dump() | changes)
