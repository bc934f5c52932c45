"""A loopback stub of the Hugging Face Hub for the real clients.

It stores dataset repositories with commits, tags, gates and large files in memory, logs all requests, and simulates
faults.
"""

import base64
import hashlib
import json
import os
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

OWNER, READER, STRANGER = "hf_ownerOwnerOwner", "hf_readerReaderReader", "hf_strangerStranger"
READ_ONLY = "hf_ownReadOnlyToken"
WRITING = ("POST", "PUT", "PATCH", "DELETE")
ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"
LARGE = 10 * 1024 * 1024
BROKEN = "broken on purpose"


@dataclass(frozen=True)
class Account:
    """Owner and permissions of a token."""

    name: str
    role: str = "write"
    organisations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Blob:
    """One file at one commit."""

    content: bytes
    lfs: bool

    @property
    def oid(self) -> str:
        """The git id of the stored content: the file, or the pointer to a large file."""
        stored = self.content
        if self.lfs:
            stored = (
                f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {len(stored)}\n".encode()
            )
        return hashlib.sha1(b"blob %d\0" % len(stored) + stored).hexdigest()

    @property
    def sha256(self) -> str:
        """The hash by which large files are stored."""
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Commit:
    """One state of a repository."""

    oid: str
    title: str
    files: dict[str, Blob]


@dataclass
class Repository:
    """A dataset repository."""

    name: str
    private: bool = False
    gated: str | bool = False
    readers: set[str] = field(default_factory=set)
    commits: list[Commit] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)

    @property
    def files(self) -> dict[str, bytes]:
        """The files at the newest commit."""
        return {path: blob.content for path, blob in self.commits[-1].files.items()}

    def add(self, title: str, files: dict[str, Blob]) -> Commit:
        """Adds a commit."""
        self.commits.append(Commit(hashlib.sha1(uuid.uuid4().bytes).hexdigest(), title, files))
        return self.commits[-1]

    def at(self, revision: str) -> Commit | None:
        """Returns the commit of a branch, tag or id."""
        if revision == "main":
            return self.commits[-1]
        oid = self.tags.get(revision, revision)
        return next((commit for commit in self.commits if commit.oid == oid), None)


@dataclass
class Request:
    """One request and the status of its answer (0: the connection was cut)."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: bytes
    token: str | None
    status: int = 0

    @property
    def line(self) -> str:
        """Method and path."""
        return f"{self.method} {self.path}"

    @property
    def writes(self) -> bool:
        """Whether the request may change something; some POST requests only read."""
        return self.method in WRITING and not re.search(r"/paths-info/|/validate-yaml$", self.path)


@dataclass
class _Break:
    pattern: re.Pattern[str]
    how: int | str
    times: int


class RefusedError(Exception):
    """An error as an answer."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


class Hub:
    """The stub; use it in a `with` statement.

    Attributes:
        url: Address of the server.
        repos: The dataset repositories, by `owner/name`.
        log: All requests in the order in which they were answered.
        accounts: Accounts by token.
        before_commit: Function that is called once before the next commit, to simulate a concurrent one.
        ignores_settings: Whether changes of settings are accepted without effect.
    """

    def __init__(self) -> None:
        self.repos: dict[str, Repository] = {}
        self.log: list[Request] = []
        self.accounts = {
            OWNER: Account("my-name", organisations=("our-group",)),
            READ_ONLY: Account("my-name", role="read"),
            READER: Account("a-reader"),
            STRANGER: Account("a-stranger"),
        }
        self.before_commit: Callable[[], None] | None = None
        self.ignores_settings = False
        self._breaks: list[_Break] = []
        self._lock = threading.RLock()
        hub = self

        class Handler(_Handler):
            pass

        Handler.hub = hub
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reset(self) -> None:
        """Clears the state, so that many tests can share a server."""
        with self._lock:
            self.repos.clear()
            self.log.clear()
            self._breaks.clear()
            self.before_commit, self.ignores_settings = None, False

    def add_repo(self, name: str, *, private: bool = False, gated: str | bool = False) -> Repository:
        """Adds a repository with the initial commit of the Hub."""
        repo = self.repos[name] = Repository(name, private=private, gated=gated)
        repo.add("initial commit", {".gitattributes": Blob(ATTRIBUTES, lfs=False)})
        return repo

    def break_next(self, pattern: str, how: int | str, *, times: int = 1) -> None:
        """Simulates faults of future requests.

        Args:
            pattern: Regular expression to search in `METHOD /path`, such as `PUT /lfs/`.
            how: Status of the answer; `lose` to execute the request and cut the connection before the answer.
            times: Number of failing requests.
        """
        self._breaks.append(_Break(re.compile(pattern), how, times))

    def lines(self, *, writing: bool = False) -> list[str]:
        """Returns method and path of all requests, or of the writing ones."""
        return [request.line for request in self.log if request.writes or not writing]

    def received(self) -> Iterator[bytes]:
        """Yields all received data: bodies, the files in them, and tables column by column.

        A text that is not part of it was not sent by the client.
        """
        for request in self.log:
            yield request.body
            if re.search(r"/(commit|preupload)/", request.path):
                for found in re.findall(rb'"(?:content|sample)":\s*"([A-Za-z0-9+/=]+)"', request.body):
                    yield base64.b64decode(found)
            if request.body[:4] == b"PAR1" and request.body[-4:] == b"PAR1":
                table = pq.read_table(pa.BufferReader(request.body))
                for name in table.column_names:
                    yield name.encode()
                    yield json.dumps(table[name].to_pylist(), ensure_ascii=False, default=str).encode()

    def broken(self, line: str) -> _Break | None:
        """Returns the fault of a request, if any."""
        with self._lock:
            for each in self._breaks:
                if each.times and each.pattern.search(line):
                    each.times -= 1
                    return each
        return None

    def answer(self, request: Request, headers: Any) -> tuple[int, dict[str, str], bytes]:
        """Returns status, headers and body of the answer to a request."""
        with self._lock:
            for method, pattern, act in _ROUTES:
                found = re.fullmatch(pattern, request.path)
                if found and request.method in method:
                    result: tuple[int, dict[str, str], bytes] = act(self, request, headers, **found.groupdict())
                    return result
        raise RefusedError(404, f"no such address: {request.line}")

    # --- permissions -----------------------------------------------------------------------------------------------

    def account(self, request: Request) -> Account | None:
        """Returns the account of the token of a request."""
        if request.token is None:
            return None
        if request.token not in self.accounts:
            raise RefusedError(401, "Invalid credentials in Authorization header")
        return self.accounts[request.token]

    def owns(self, account: Account | None, name: str) -> bool:
        """Whether an account owns a namespace."""
        return account is not None and name.split("/")[0] in (account.name, *account.organisations)

    def readable(self, request: Request, name: str, *, content: bool = False) -> Repository:
        """Returns a repository if the account may see it and, with `content`, read its files."""
        account = self.account(request)
        repo = self.repos.get(name)
        known = self.owns(account, name) or (repo is not None and account is not None and account.name in repo.readers)
        if repo is None or (repo.private and not known):
            raise RefusedError(404 if account else 401, "Repository not found", "RepoNotFound")
        if content and repo.gated and not known:
            raise RefusedError(
                403 if account else 401, f"Access to dataset {name} is restricted and you are not allowed", "GatedRepo"
            )
        return repo

    def writable(self, request: Request, name: str) -> Repository:
        """Returns a repository if the account may change it."""
        repo = self.readable(request, name)
        account = self.account(request)
        if account is None:
            raise RefusedError(401, "Invalid username or password.")
        if not self.owns(account, name) or account.role != "write":
            raise RefusedError(403, f"Forbidden: you don't have the required permissions on {name}")
        return repo

    # --- reading ---------------------------------------------------------------------------------------------------

    def _whoami(self, request: Request, headers: Any) -> tuple[int, dict[str, str], bytes]:
        account = self.account(request)
        if account is None:
            raise RefusedError(401, "Invalid username or password.")
        return _json(
            {
                "type": "user",
                "name": account.name,
                "orgs": [{"name": name, "type": "org"} for name in account.organisations],
                "auth": {"type": "access_token", "accessToken": {"displayName": "a token", "role": account.role}},
            }
        )

    def _create(self, request: Request, headers: Any) -> tuple[int, dict[str, str], bytes]:
        asked = json.loads(request.body)
        account = self.account(request)
        if account is None:
            raise RefusedError(401, "Invalid username or password.")
        name = f"{asked.get('organization') or account.name}/{asked['name']}"
        if not self.owns(account, name) or account.role != "write":
            raise RefusedError(403, f"You don't have the rights to create a dataset under {name.split('/')[0]}")
        if asked.get("type") != "dataset":
            raise RefusedError(400, "only datasets are kept here")
        if name in self.repos:
            answer = {"error": "You already created this dataset repo", "url": f"{self.url}/datasets/{name}"}
            return _json(answer, status=409)
        self.add_repo(name, private=asked.get("visibility") == "private" or bool(asked.get("private")))
        return _json({"url": f"{self.url}/datasets/{name}", "name": name, "id": uuid.uuid4().hex})

    def _settings(self, request: Request, headers: Any, name: str) -> tuple[int, dict[str, str], bytes]:
        repo = self.writable(request, name)
        asked = json.loads(request.body)
        if not self.ignores_settings:
            repo.gated = asked.get("gated", repo.gated)
            if "visibility" in asked or "private" in asked:
                repo.private = asked.get("visibility") == "private" or bool(asked.get("private"))
        return _json({"private": repo.private, "gated": repo.gated})

    def _info(self, request: Request, headers: Any, name: str, revision: str = "main") -> tuple[int, Any, bytes]:
        repo = self.readable(request, name)
        commit = _commit(repo, revision)
        return _json(
            {
                "_id": hashlib.sha1(name.encode()).hexdigest()[:24],
                "id": name,
                "author": name.split("/")[0],
                "sha": commit.oid,
                "private": repo.private,
                "gated": repo.gated,
                "disabled": False,
                "downloads": 0,
                "likes": 0,
                "tags": [],
                "lastModified": "2026-01-01T00:00:00.000Z",
                "createdAt": "2026-01-01T00:00:00.000Z",
                "siblings": [{"rfilename": path} for path in sorted(commit.files)],
            }
        )

    def _may(self, request: Request, headers: Any, name: str, write: str | None) -> tuple[int, dict[str, str], bytes]:
        if write:
            self.writable(request, name)
        else:
            self.readable(request, name, content=True)
        return _json({})

    def _tree(
        self, request: Request, headers: Any, name: str, revision: str, folder: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        commit = _commit(self.readable(request, name), revision)
        deep = request.query.get("recursive", ["false"])[0].lower() in ("true", "1")
        start = f"{unquote(folder).strip('/')}/" if folder else ""
        inside = {path: blob for path, blob in commit.files.items() if path.startswith(start)}
        if start and not inside:
            raise RefusedError(404, f"{start} does not exist on {revision}", "EntryNotFound")
        entries = [_entry(path, blob) for path, blob in inside.items() if deep or "/" not in path[len(start) :]]
        folders = {
            start + "/".join(parts[:depth])
            for parts in (path[len(start) :].split("/") for path in inside)
            for depth in range(1, len(parts) if deep else min(2, len(parts)))
        }
        return _json(sorted(entries + [_folder(each) for each in folders], key=lambda entry: str(entry["path"])))

    def _paths(self, request: Request, headers: Any, name: str, revision: str) -> tuple[int, dict[str, str], bytes]:
        commit = _commit(self.readable(request, name), revision)
        if "json" in headers.get("Content-Type", ""):
            asked = json.loads(request.body)["paths"]
        else:
            asked = parse_qs(request.body.decode()).get("paths", [])
        entries = []
        for path in [asked] if isinstance(asked, str) else asked:
            if path in commit.files:
                entries.append(_entry(path, commit.files[path]))
            elif any(each.startswith(f"{path}/") for each in commit.files):
                entries.append(_folder(path))
        return _json(entries)

    def _refs(self, request: Request, headers: Any, name: str) -> tuple[int, dict[str, str], bytes]:
        repo = self.readable(request, name)
        tags = [{"name": tag, "ref": f"refs/tags/{tag}", "targetCommit": commit} for tag, commit in repo.tags.items()]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.commits[-1].oid}
        return _json({"branches": [main], "converts": [], "tags": tags, "pullRequests": []})

    def _tag(self, request: Request, headers: Any, name: str, revision: str) -> tuple[int, dict[str, str], bytes]:
        repo = self.writable(request, name)
        tag = json.loads(request.body)["tag"]
        if tag in repo.tags:
            raise RefusedError(409, f"Tag reference exists already: {tag}")
        repo.tags[tag] = _commit(repo, revision).oid
        return _json({})

    def _resolve(
        self, request: Request, headers: Any, name: str, revision: str, path: str
    ) -> tuple[int, dict[str, str], bytes]:
        repo = self.readable(request, name, content=True)
        commit = _commit(repo, revision)
        blob = commit.files.get(unquote(path))
        about = {"X-Repo-Commit": commit.oid, "Accept-Ranges": "bytes"}
        if blob is None:
            raise RefusedError(404, f"Entry not found: {path}", "EntryNotFound")
        about["ETag"] = f'"{blob.sha256 if blob.lfs else blob.oid}"'
        if blob.lfs:
            about |= {"X-Linked-Etag": about["ETag"], "X-Linked-Size": str(len(blob.content))}
        span = re.fullmatch(r"bytes=(\d*)-(\d*)", headers.get("Range", ""))
        if span is None:
            return 200, about, blob.content
        size = len(blob.content)
        first = int(span[1]) if span[1] else size - int(span[2])
        last = min(int(span[2]), size - 1) if span[1] and span[2] else size - 1
        if first >= size:
            return 416, about | {"Content-Range": f"bytes */{size}"}, b""
        return 206, about | {"Content-Range": f"bytes {first}-{last}/{size}"}, blob.content[first : last + 1]

    # --- uploading -------------------------------------------------------------------------------------------------

    def _yaml(self, request: Request, headers: Any) -> tuple[int, dict[str, str], bytes]:
        return _json({"errors": [], "warnings": []})

    def _preupload(self, request: Request, headers: Any, name: str, revision: str) -> tuple[int, dict[str, str], bytes]:
        files = _commit(self.writable(request, name), revision).files
        answers = []
        sent = json.loads(request.body)
        there = files.get(".gitignore", Blob(b"", lfs=False)).content.decode()
        ignored = [line for line in sent.get("gitIgnore", there).splitlines() if line and not line.startswith("#")]
        for asked in sent["files"]:
            path = asked["path"]
            large = path.endswith(".parquet") or asked["size"] > LARGE
            known = files.get(path)
            skipped = any(fnmatch(path, pattern) for pattern in ignored)
            answer = {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": skipped}
            if known is not None:
                answer["oid"] = known.sha256 if known.lfs else known.oid
            answers.append(answer)
        return _json({"files": answers})

    def _batch(self, request: Request, headers: Any, name: str) -> tuple[int, dict[str, str], bytes]:
        repo = self.writable(request, name)
        objects = []
        for asked in json.loads(request.body)["objects"]:
            oid, size = asked["oid"], asked["size"]
            answer: dict[str, Any] = {"oid": oid, "size": size}
            if oid not in repo.large:
                answer["actions"] = {
                    "upload": {"href": f"{self.url}/lfs/{name}/{oid}", "header": {}},
                    "verify": {"href": f"{self.url}/lfs-verify/{name}", "header": {}},
                }
            objects.append(answer)
        return _json({"transfer": "basic", "objects": objects})

    def _put_large(self, request: Request, headers: Any, name: str, oid: str) -> tuple[int, dict[str, str], bytes]:
        if hashlib.sha256(request.body).hexdigest() != oid:
            raise RefusedError(400, "the content has another hash")
        self.repos[name].large[oid] = request.body
        return 200, {}, b""

    def _verify(self, request: Request, headers: Any, name: str) -> tuple[int, dict[str, str], bytes]:
        asked = json.loads(request.body)
        if len(self.writable(request, name).large.get(asked["oid"], b"")) != asked["size"]:
            raise RefusedError(404, "no such object")
        return _json({})

    def _commit(self, request: Request, headers: Any, name: str, revision: str) -> tuple[int, dict[str, str], bytes]:
        repo = self.writable(request, name)
        if self.before_commit is not None:
            act, self.before_commit = self.before_commit, None
            act()
        files = dict(_commit(repo, revision).files)
        title = ""
        for line in request.body.splitlines():
            entry = json.loads(line)
            key, value = entry["key"], entry["value"]
            if key == "header":
                title = value["summary"]
                if value.get("parentCommit", repo.commits[-1].oid) != repo.commits[-1].oid:
                    raise RefusedError(412, "A commit has happened since. Please refresh and try again.")
            elif key == "file":
                files[value["path"]] = Blob(base64.b64decode(value["content"]), lfs=False)
            elif key == "lfsFile":
                if value["oid"] not in repo.large:
                    raise RefusedError(400, f"the large file {value['oid']} is not there")
                files[value["path"]] = Blob(repo.large[value["oid"]], lfs=True)
            elif key == "deletedFile":
                if files.pop(value["path"], None) is None:
                    raise RefusedError(404, "A file with this name doesn't exist", "EntryNotFound")
            else:
                raise RefusedError(400, f"unknown operation {key}")
        commit = repo.add(title, files)
        url = f"{self.url}/datasets/{name}/commit/{commit.oid}"
        return _json({"success": True, "commitOid": commit.oid, "commitUrl": url, "pullRequestUrl": None})


_REPO = r"/api/datasets/(?P<name>[^/]+/[^/]+)"
_ROUTES: list[tuple[tuple[str, ...], str, Callable[..., tuple[int, dict[str, str], bytes]]]] = [
    (("GET",), r"/api/whoami-v2", Hub._whoami),
    (("POST",), r"/api/repos/create", Hub._create),
    (("POST",), r"/api/validate-yaml", Hub._yaml),
    (("PUT",), _REPO + r"/settings", Hub._settings),
    (("GET",), _REPO, Hub._info),
    (("GET",), _REPO + r"/revision/(?P<revision>.+)", Hub._info),
    (("GET",), _REPO + r"/auth-check(?P<write>/write)?", Hub._may),
    (("GET",), _REPO + r"/tree/(?P<revision>[^/]+)(?:/(?P<folder>.*))?", Hub._tree),
    (("POST",), _REPO + r"/paths-info/(?P<revision>[^/]+)", Hub._paths),
    (("GET",), _REPO + r"/refs", Hub._refs),
    (("POST",), _REPO + r"/tag/(?P<revision>[^/]+)", Hub._tag),
    (("POST",), _REPO + r"/preupload/(?P<revision>[^/]+)", Hub._preupload),
    (("POST",), _REPO + r"/commit/(?P<revision>[^/]+)", Hub._commit),
    (("POST",), r"/datasets/(?P<name>[^/]+/[^/]+)\.git/info/lfs/objects/batch", Hub._batch),
    (("GET", "HEAD"), r"/datasets/(?P<name>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)", Hub._resolve),
    (("PUT",), r"/lfs/(?P<name>[^/]+/[^/]+)/(?P<oid>[0-9a-f]{64})", Hub._put_large),
    (("POST",), r"/lfs-verify/(?P<name>[^/]+/[^/]+)", Hub._verify),
]


def _json(data: Any, status: int = 200) -> tuple[int, dict[str, str], bytes]:
    return status, {"Content-Type": "application/json; charset=utf-8"}, json.dumps(data).encode()


def _commit(repo: Repository, revision: str) -> Commit:
    commit = repo.at(unquote(unquote(revision)))
    if commit is None:
        raise RefusedError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    return commit


def _entry(path: str, blob: Blob) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "path": path, "size": len(blob.content), "oid": blob.oid}
    if blob.lfs:
        entry["lfs"] = {"oid": blob.sha256, "size": len(blob.content), "pointerSize": 130}
    return entry


def _folder(path: str) -> dict[str, Any]:
    return {"type": "directory", "path": path, "size": 0, "oid": hashlib.sha1(path.encode()).hexdigest()}


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        bearer = self.headers.get("Authorization", "")
        request = Request(
            self.command,
            parts.path,
            parse_qs(parts.query),
            b"",
            bearer.removeprefix("Bearer ") if bearer.startswith("Bearer ") else None,
        )
        broken = self.hub.broken(request.line)
        how = broken.how if broken else None
        request.body = self._body()
        self.hub.log.append(request)
        try:
            if isinstance(how, int):
                raise RefusedError(how, BROKEN)
            status, headers, body = self.hub.answer(request, self.headers)
        except RefusedError as refused:
            status, headers, body = _json({"error": refused.message}, refused.status)
            headers["X-Error-Message"] = quote(refused.message, safe=" ':,.'")
            if refused.code:
                headers["X-Error-Code"] = refused.code
        if how == "lose":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        request.status = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815 - the names that http.server calls

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)


def connect(patch: pytest.MonkeyPatch, hub: Hub, token: str | None = OWNER) -> None:
    """Connects the clients of this process to a stub, with a token.

    `datasets` reads the address when it is imported: give it in the environment of a new process (`environment`).
    """
    from huggingface_hub import constants

    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.url)
    changed = {"HUGGINGFACE_CO_URL_TEMPLATE": template, "ENDPOINT": hub.url}
    for name, value in {**changed, "HF_HUB_OFFLINE": False, "HF_HUB_DISABLE_XET": True}.items():
        patch.setattr(constants, name, value)
    patch.setenv("HF_ENDPOINT", hub.url)
    if token is None:
        patch.delenv("HF_TOKEN", raising=False)
    else:
        patch.setenv("HF_TOKEN", token)


def environment(hub: Hub, home: object, token: str | None = OWNER) -> dict[str, str]:
    """Returns the environment of a process whose clients use a stub, with separate caches."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    return {
        **kept,
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        **({"HF_TOKEN": token} if token else {}),
    }
