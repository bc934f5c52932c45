"""Every way to a file, against a server of our own on the loopback interface."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from pathlib import Path

import pytest
import yaml

from fcconan.building import Recipe, load_recipe
from fcconan.data import file_sha256, sources
from fcconan.data.atomic import leftovers, mark
from fcconan.data.sources import Source, cache_folder, fetch, fetch_all, source_url
from fcconan.errors import InputError
from tests import small

COMMIT = "c" * 40
TEXT = b"hs,cn\nThe Ombrey never return a book.,The library's list says otherwise.\n"
PATH = f"/ombrey/books/{COMMIT}/data/rows.csv"
FETCH = """
import json, sys
from pathlib import Path
from fcconan.building.recipes import Source
from fcconan.data.sources import fetch
print(fetch(Source(**json.loads(sys.argv[1])), folder=Path()))
"""


@dataclass(frozen=True)
class Reply:
    """What the server answers once."""

    status: int = 200
    body: bytes = TEXT
    length: int | None = None  # the length that it states, if not that of the body
    meet: Callable[[], object] | None = None  # called half-way through the body
    send: Callable[[BufferedIOBase], object] | None = None  # writes the body in its own way


class Upstream(ThreadingHTTPServer):
    """Answers with the replies of a path one after the other; the last one stays. Remembers what was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies: dict[str, list[Reply]] = {}
        self.requests: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def reply(self, path: str) -> Reply:
        self.requests.append(path)
        replies = self.replies.get(path, [Reply(status=404, body=b"")])
        return replies.pop(0) if len(replies) > 1 else replies[0]


class Handler(BaseHTTPRequestHandler):
    server: Upstream

    def do_GET(self) -> None:
        reply = self.server.reply(self.path)
        half = len(reply.body) // 2
        self.send_response(reply.status)
        self.send_header("Content-Length", str(len(reply.body) if reply.length is None else reply.length))
        self.end_headers()
        try:
            if reply.send is not None:
                reply.send(self.wfile)
                self.close_connection = True
                return
            self.wfile.write(reply.body[:half])
            if reply.meet is not None:
                reply.meet()
            self.wfile.write(reply.body[half:])
        except (BrokenPipeError, ConnectionResetError, threading.BrokenBarrierError):
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    with Upstream() as server:
        monkeypatch.setenv("FCCONAN_RAW_URL", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def mirror_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    monkeypatch.setenv("FCCONAN_MIRROR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def _fresh_and_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_noticed", set())
    monkeypatch.setattr(sources, "PAUSE_SECONDS", 0)


def _source(*, path: str = "data/rows.csv", body: bytes = TEXT, repository: str | None = "ombrey/books") -> Source:
    return Source(
        repository=repository,
        commit=COMMIT if repository else None,
        path=path,
        sha256=hashlib.sha256(body).hexdigest(),
    )


def _fetch(source: Source | None = None, folder: Path | None = None) -> Path | None:
    return fetch(source or _source(), folder=folder or Path())


def _error(source: Source | None = None, folder: Path | None = None) -> str:
    with pytest.raises(InputError) as caught:
        _fetch(source, folder)
    return str(caught.value)


def _cached(path: str = "data/rows.csv") -> Path:
    """Returns where a file of the repository belongs in the cache of the test."""
    return Path(os.environ["FCCONAN_CACHE"]) / "ombrey" / "books" / COMMIT / path


def _refusal(reason: str, *, url: str, path: str = "data/rows.csv", place: Path | None = None) -> str:
    """Returns the whole message about a file of the repository that cannot be fetched."""
    return (
        f"{url}/ombrey/books/{COMMIT}/{path} cannot be fetched ({reason}): download it by hand, in a browser, and save "
        f"it as {place or _cached(path)}, or set FCCONAN_MIRROR to a folder that holds ombrey/books/{path}"
    )


def _write(path: Path, body: bytes = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    return path


def _in_cache() -> list[Path]:
    """Returns what lies in the cache, temporary folders included."""
    folder = Path(os.environ["FCCONAN_CACHE"])
    return sorted(path for path in folder.rglob("*") if path.is_file() or path.name.startswith("."))


def test_the_mirror_comes_before_the_cache_and_the_cache_before_the_network(
    upstream: Upstream, mirror_folder: Path
) -> None:
    upstream.replies[PATH] = [Reply()]
    mirrored = _write(mirror_folder / "ombrey" / "books" / "data" / "rows.csv")
    _write(_cached())
    assert _fetch() == mirrored
    mirrored.unlink()
    assert _fetch() == _cached()
    assert upstream.requests == []
    _cached().unlink()
    assert _fetch() == _cached()
    assert upstream.requests == [PATH]
    assert _cached().read_bytes() == TEXT
    assert _fetch() == _cached()
    assert upstream.requests == [PATH]
    assert _in_cache() == [_cached()]


IN_CACHE = " (in the cache; delete it to fetch it again)"
WRONG = f"has sha256 {hashlib.sha256(b'changed').hexdigest()}, expected {hashlib.sha256(TEXT).hexdigest()}: "


@pytest.mark.parametrize("place", [" (in the mirror)", IN_CACHE, ""])
def test_the_hash_of_a_file_that_is_there_is_checked(
    upstream: Upstream, mirror_folder: Path, tmp_path: Path, place: str
) -> None:
    upstream.replies[PATH] = [Reply()]
    path = {
        " (in the mirror)": mirror_folder / "ombrey" / "books" / "data" / "rows.csv",
        IN_CACHE: _cached(),
        "": tmp_path / "data" / "rows.csv",  # next to the recipe
    }[place]
    _write(path, b"changed")
    source = _source(repository="ombrey/books" if place else None)
    assert _error(source, tmp_path) == (
        f"{path}{place} {WRONG}get the pinned file, or pin the new hash in the recipe if the change is intended"
    )
    assert path.read_bytes() == b"changed"
    assert upstream.requests == []


def test_a_download_of_another_hash_is_refused_and_never_reaches_the_cache(upstream: Upstream) -> None:
    upstream.replies[PATH] = [Reply(body=b"changed")]
    assert _error().startswith(f"{upstream.url}{PATH} {WRONG}")
    assert upstream.requests == [PATH]
    assert _in_cache() == []


@pytest.mark.parametrize("status", [404, 403, 410])
def test_what_is_not_to_be_had_is_asked_for_once_and_can_be_put_there_by_hand(upstream: Upstream, status: int) -> None:
    upstream.replies[PATH] = [Reply(status=status, body=b"gone")]
    assert _error() == _refusal(f"HTTP {status}", url=upstream.url)
    assert upstream.requests == [PATH]
    assert _in_cache() == []
    _write(_cached())
    assert _fetch() == _cached()
    assert upstream.requests == [PATH]


def test_with_a_mirror_the_file_goes_there_by_hand(upstream: Upstream, mirror_folder: Path) -> None:
    mirrored = mirror_folder / "ombrey" / "books" / "data" / "rows.csv"
    assert _error() == _refusal("HTTP 404", url=upstream.url, place=mirrored)
    _write(mirrored)
    assert _fetch() == mirrored
    assert _in_cache() == []


@pytest.mark.parametrize("there", [False, True])
def test_a_mirror_that_is_no_folder_is_refused_even_if_the_cache_has_the_file(
    upstream: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    upstream.replies[PATH] = [Reply()]
    mirror = tmp_path / "mirrror"
    if there:
        mirror.write_text("a file", encoding="utf-8")
    _write(_cached())
    monkeypatch.setenv("FCCONAN_MIRROR", str(mirror))
    refusal = f"FCCONAN_MIRROR is {mirror}, which is not a folder: correct it, or unset it to fetch the files"
    assert _error() == refusal
    assert _error(_source().model_copy(update={"optional": True})) == refusal
    assert upstream.requests == []
    monkeypatch.setenv("FCCONAN_MIRROR", "")
    assert _fetch() == _cached()


@pytest.mark.parametrize("status", [500, 503, 429])
def test_an_error_that_may_pass_is_tried_again(upstream: Upstream, status: int) -> None:
    failure = Reply(status=status, body=b"later")
    upstream.replies[PATH] = [failure, failure, Reply()]
    assert _fetch() == _cached()
    assert upstream.requests == [PATH, PATH, PATH]
    assert _cached().read_bytes() == TEXT


def test_after_three_attempts_it_is_given_up(upstream: Upstream) -> None:
    upstream.replies[PATH] = [Reply(status=500, body=b"later")]
    assert _error() == _refusal("HTTP 500", url=upstream.url)
    assert upstream.requests == [PATH, PATH, PATH]
    assert _in_cache() == []


def test_a_truncated_download_is_tried_again_and_never_reaches_the_cache(upstream: Upstream) -> None:
    truncated = Reply(body=TEXT[:20], length=len(TEXT))
    upstream.replies[PATH] = [truncated]
    assert _error() == _refusal("ChunkedEncodingError", url=upstream.url)
    assert upstream.requests == [PATH, PATH, PATH]
    assert _in_cache() == []
    upstream.replies[PATH] = [truncated, Reply()]
    assert _fetch() == _cached()
    assert _cached().read_bytes() == TEXT


def test_a_download_that_is_larger_than_its_recipe_allows_ends_early(upstream: Upstream) -> None:
    sent: list[int] = []

    def send(out: BufferedIOBase) -> None:
        for _ in range(200):  # 200 times 64 KiB, without a length that could be checked first
            out.write(b"a" * 65536)
            sent.append(65536)

    upstream.replies[PATH] = [Reply(length=200 * 65536, send=send)]
    source = _source().model_copy(update={"max_bytes": 100_000})
    assert _error(source) == (
        f"{upstream.url}{PATH} is larger than 100000 bytes, the most that its recipe allows: check the address, or "
        "raise `max_bytes` of the source"
    )
    assert upstream.requests == [PATH]
    assert sum(sent) < 200 * 65536
    assert _in_cache() == []
    upstream.replies[PATH] = [Reply()]
    assert _fetch(_source().model_copy(update={"max_bytes": len(TEXT)})) == _cached()


def test_a_refused_connection_names_the_url_and_the_place(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    with Upstream() as closed:
        monkeypatch.setenv("FCCONAN_RAW_URL", closed.url)
    assert _error() == _refusal("ConnectionError", url=closed.url)
    assert _in_cache() == []


def test_an_optional_file_may_be_missing_but_not_changed(upstream: Upstream, tmp_path: Path) -> None:
    optional = _source().model_copy(update={"optional": True})
    assert _fetch(optional) is None
    assert upstream.requests == [PATH]
    upstream.replies[PATH] = [Reply(body=b"changed")]
    assert "expected" in _error(optional)
    upstream.replies[PATH] = [Reply()]
    assert _fetch(optional) == _cached()
    local = _source(repository=None).model_copy(update={"optional": True})
    assert _fetch(local, tmp_path) is None


def test_an_optional_file_without_a_hash_is_never_asked_for(upstream: Upstream, mirror_folder: Path) -> None:
    upstream.replies[PATH] = [Reply()]
    _write(mirror_folder / "ombrey" / "books" / "data" / "rows.csv")
    _write(_cached())
    unpinned = Source(
        repository="ombrey/books", commit=COMMIT, path="data/rows.csv", optional=True, note="not released"
    )
    assert _fetch(unpinned) is None
    assert upstream.requests == []


def test_terms_are_shown_once_for_each_repository_and_not_for_files_at_hand(
    upstream: Upstream, mirror_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (PATH, PATH.replace("rows", "more"), PATH.replace("books", "songs")):
        upstream.replies[path] = [Reply()]
    terms = "Research only;\n  ask the Ombrey."
    _write(mirror_folder / "ombrey" / "poems" / "data" / "rows.csv")
    fetch(_source(repository="ombrey/poems"), folder=Path(), terms=terms)
    assert capsys.readouterr().err == ""
    for source in (_source(), _source(path="data/more.csv"), _source(), _source(repository="ombrey/songs")):
        fetch(source, folder=Path(), terms=terms)
    assert capsys.readouterr().err == (
        "note: fetching from ombrey/books. Terms: Research only; ask the Ombrey.\n"
        "note: fetching from ombrey/songs. Terms: Research only; ask the Ombrey.\n"
    )


def test_a_path_is_quoted_in_the_url_and_not_in_the_cache(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _source(path="all rows/50% #1?é.csv")
    quoted = f"/ombrey/books/{COMMIT}/all%20rows/50%25%20%231%3F%C3%A9.csv"
    upstream.replies[quoted] = [Reply()]
    assert _fetch(source) == _cached("all rows/50% #1?é.csv")
    assert upstream.requests == [quoted]
    monkeypatch.setenv("FCCONAN_RAW_URL", "https://proxy.example.org/raw/")
    assert source_url(source) == f"https://proxy.example.org/raw{quoted}"
    monkeypatch.delenv("FCCONAN_RAW_URL")
    assert source_url(source) == f"https://raw.githubusercontent.com{quoted}"


def test_the_cache_is_the_users_unless_the_environment_names_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert cache_folder() == Path(os.environ["FCCONAN_CACHE"])
    monkeypatch.delenv("FCCONAN_CACHE")
    assert cache_folder().name == "fcconan"
    assert cache_folder().is_absolute()


def test_a_hash_is_that_of_the_bytes(tmp_path: Path) -> None:
    assert file_sha256(_write(tmp_path / "abc", b"abc")) == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )


def _recipe(folder: Path, files: dict[str, Source]) -> Recipe:
    """Writes a recipe with these sources and loads it."""
    folder.mkdir(exist_ok=True)
    data = small.recipe_data(folder)
    data["sources"] = {name: source.model_dump(exclude_defaults=True) for name, source in files.items()}
    (folder / "files.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    return load_recipe(str(folder / "files.yaml"))


def _fetch_all(recipe: Recipe, *, jobs: int = 4) -> dict[str, Path]:
    return fetch_all(recipe.sources, folder=recipe.folder, name=recipe.name, terms=recipe.card.terms, jobs=jobs)


def test_local_files_are_relative_to_the_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = _recipe(tmp_path / "recipes", {"main": _source(repository=None)})
    monkeypatch.chdir(tmp_path)
    local = tmp_path / "recipes" / "data" / "rows.csv"
    with pytest.raises(InputError) as caught:
        _fetch_all(recipe)
    assert str(caught.value) == f"{local} is missing: put the file there, or correct `path` in the recipe"
    _write(local)
    assert _fetch_all(recipe) == {"main": local}


def test_several_files_are_fetched_at_once_without_a_bar_where_no_terminal_is(
    upstream: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    together = threading.Barrier(3)  # breaks, and the bodies stay short, unless three requests are open at once
    files = {f"file {number}": _source(path=f"{number}.csv", body=TEXT * number) for number in (1, 2, 3)}
    for number in (1, 2, 3):
        upstream.replies[f"/ombrey/books/{COMMIT}/{number}.csv"] = [
            Reply(body=TEXT * number, meet=lambda: together.wait(timeout=5))
        ]
    absent = _source(path="absent.csv").model_copy(update={"optional": True})
    found = _fetch_all(_recipe(tmp_path, {**files, "absent": absent}), jobs=4)
    assert found == {f"file {number}": _cached(f"{number}.csv") for number in (1, 2, 3)}
    assert [path.read_bytes() for path in found.values()] == [TEXT, TEXT * 2, TEXT * 3]
    assert len(upstream.requests) == 4
    assert set(capsys.readouterr().err.splitlines()) == {"note: fetching from ombrey/books. Terms: A test."}


def test_one_file_that_is_not_to_be_had_fails_them_all_and_those_before_it_are_kept(
    upstream: Upstream, tmp_path: Path
) -> None:
    upstream.replies[PATH] = [Reply()]
    # One at a time and in this order: the one before the error is kept, the one after it may still be on its way.
    recipe = _recipe(tmp_path, {"1": _source(), "2": _source(path="absent.csv")})
    with pytest.raises(InputError) as caught:
        _fetch_all(recipe, jobs=1)
    assert str(caught.value) == _refusal("HTTP 404", url=upstream.url, path="absent.csv")
    assert _in_cache() == [_cached()]


def test_after_an_error_no_further_download_starts(upstream: Upstream, tmp_path: Path) -> None:
    files = {"0": _source(path="absent.csv")}
    for number in range(1, 40):
        files[str(number)] = _source(path=f"{number}.csv")
        upstream.replies[f"/ombrey/books/{COMMIT}/{number}.csv"] = [Reply(meet=lambda: time.sleep(0.05))]
    with pytest.raises(InputError, match="HTTP 404"):
        _fetch_all(_recipe(tmp_path, files), jobs=2)
    time.sleep(1)  # the downloads that had begun
    assert len(upstream.requests) < 12


def _process(source: Source) -> "subprocess.Popen[str]":
    """Fetches a file in a process of its own, which prints the path."""
    fields = json.dumps(source.model_dump(exclude_defaults=True))
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, fields], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_two_processes_that_fetch_the_same_file_at_once_do_not_disturb_each_other(upstream: Upstream) -> None:
    body = TEXT * 2_000
    together = threading.Barrier(2)  # each gets the second half once both have asked
    upstream.replies[PATH] = [Reply(body=body, meet=lambda: together.wait(timeout=10))]
    with _process(_source(body=body)) as first, _process(_source(body=body)) as second:
        outputs = [process.communicate(timeout=15)[0] for process in (first, second)]
    assert outputs == [f"{_cached()}\n"] * 2
    assert (first.returncode, second.returncode) == (0, 0)
    assert upstream.requests == [PATH, PATH]
    assert _cached().read_bytes() == body
    assert _in_cache() == [_cached()]


def test_a_process_that_is_killed_half_way_leaves_no_file_and_the_next_one_fetches_it(upstream: Upstream) -> None:
    body = TEXT * 2_000
    killed = threading.Event()
    upstream.replies[PATH] = [Reply(body=body, meet=lambda: killed.wait(timeout=10)), Reply(body=body)]
    with _process(_source(body=body)) as process:
        deadline = time.monotonic() + 10
        while not any(path.is_file() and path.stat().st_size for path in _in_cache()):
            assert time.monotonic() < deadline, "nothing was half-written"
            time.sleep(0.01)
        process.kill()
        process.communicate()
    killed.set()
    assert process.returncode == -9
    assert not _cached().exists()
    assert _fetch(_source(body=body)) == _cached()
    assert _cached().read_bytes() == body


def test_what_a_killed_fetch_left_is_swept_by_the_next_one(upstream: Upstream) -> None:
    upstream.replies[PATH] = [Reply()]
    folder = cache_folder() / "ombrey/books" / COMMIT / "data"
    prefix = ".rows.csv."
    stale, running = mark(prefix).replace(f"-{os.getpid()}-", f"-{_ended()}-") + "x", mark(prefix) + "x"
    elsewhere = stale.replace(prefix, f"{prefix}elsewhere_")
    for name in (stale, running, elsewhere):
        _write(folder / name, b"half")
    assert _fetch() == folder / "rows.csv"
    assert {path.name for path in folder.iterdir()} == {running, elsewhere, "rows.csv"}


def _ended() -> int:
    """Returns the id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_leftovers_are_what_an_ended_process_of_this_host_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = _ended()
    monkeypatch.setattr("fcconan.data.atomic.os.getpid", lambda: ended)
    names = {}
    for host in ("node-1", "node-1.example.org", "node", "node-11"):
        monkeypatch.setattr("fcconan.data.atomic.socket.gethostname", lambda host=host: host)
        names[host] = mark(".out.") + "x"
        (tmp_path / names[host]).mkdir()
    assert names["node-1.example.org"] == f".out.node_1_example_org-{ended}-x"
    assert len(set(names.values())) == 4
    other = {f".out.{ended}-x", f".out.node_1-x-{ended}", f".out.node_1--{ended}", f"out.node_1-{ended}-x", "mine"}
    for name in other:
        (tmp_path / name).write_text("mine", encoding="utf-8")
    for host, name in names.items():
        monkeypatch.setattr("fcconan.data.atomic.socket.gethostname", lambda host=host: host)
        assert leftovers(tmp_path, ".out.") == [tmp_path / name]
        assert leftovers(tmp_path, ".other.") == []
    assert {path.name for path in tmp_path.iterdir()} == other | set(names.values())


def test_what_a_running_process_marked_is_no_leftover(tmp_path: Path) -> None:
    (tmp_path / f"{mark('.out.')}x").mkdir()
    assert leftovers(tmp_path, ".out.") == []
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        name = mark(".out.").replace(f"-{os.getpid()}-", f"-{process.pid}-") + "x"
        (tmp_path / name).mkdir()
        assert leftovers(tmp_path, ".out.") == []
        process.communicate(b"\n")
    assert leftovers(tmp_path, ".out.") == [tmp_path / name]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG])
@pytest.mark.parametrize("optional", [False, True])
def test_a_cache_that_is_full_or_read_only_is_named_and_the_download_is_not_blamed(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch, number: int, optional: bool
) -> None:
    attempts = []

    def write(*arguments: object) -> None:
        attempts.append(arguments)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", write)
    assert _error(_source().model_copy(update={"optional": optional})) == (
        f"the cache folder {_cached().parent} cannot be written ({os.strerror(number)}): "
        "set FCCONAN_CACHE to another folder"
    )
    assert len(attempts) == 1
    assert _in_cache() == []


def test_a_cache_in_which_no_folder_can_be_made_is_named(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert _error() == (
        f"the cache folder {_cached().parent} cannot be written (Read-only file system): "
        "set FCCONAN_CACHE to another folder"
    )
    assert upstream.requests == []


@pytest.mark.parametrize("stalled", [False, True], ids=["trickling", "stalled"])
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (
            signal.SIGINT,
            130,
            "fcconan: interrupted; no file is incomplete: run the command again to continue\n",
        ),
        (
            signal.SIGTERM,
            143,
            "fcconan: interrupted; no file is incomplete: run the command again to continue\n",
        ),
    ],
    ids=["SIGINT", "SIGTERM"],
)
def test_a_signal_ends_a_build_that_waits_for_a_slow_server(
    upstream: Upstream, tmp_path: Path, number: int, code: int, said: str, stalled: bool
) -> None:
    asked, over = threading.Event(), threading.Event()
    body = b"x" * 5_000  # at ten bytes a second it would take the server minutes

    def send(out: BufferedIOBase) -> None:
        for byte in body:
            out.write(bytes([byte]))
            asked.set()
            if over.wait(timeout=60 if stalled else 0.1):
                return

    upstream.replies[PATH] = [Reply(body=body, send=send)]
    upstream.replies[PATH.replace("rows", "more")] = [Reply(body=body, send=send)]
    folder = tmp_path / "work"
    folder.mkdir()
    _recipe(tmp_path, {"rows": _source(), "more": _source(path="data/more.csv")})
    command = [sys.executable, "-m", "fcconan", "build", str(tmp_path / "files.yaml"), "--out", str(folder / "out")]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                assert asked.wait(timeout=30), "the build asked for nothing"
                begun = time.monotonic()
                process.send_signal(number)
                output, errors = process.communicate(timeout=20)
            finally:
                process.kill()
        assert time.monotonic() - begun < 5
    finally:
        over.set()
    assert (process.returncode, output) == (code, "")
    assert errors == "note: fetching from ombrey/books. Terms: A test.\n" + said
    assert list(folder.iterdir()) == []
    assert not _cached().exists()


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    monkeypatch.setenv("FCCONAN_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        InputError, match=r"the cache folder .*file.* cannot be written \(Not a directory\): set FCCONAN_CACHE"
    ):
        _fetch(_source().model_copy(update={"optional": True}))
    assert upstream.requests == []


@pytest.mark.parametrize("path", ["/etc/rows.csv", "../rows.csv", "data/../../rows.csv"])
def test_a_path_that_leads_out_of_the_repository_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path must lead down from the top of the repository"):
        _source(path=path)
