"""What a publication would change: files, visibility and tag, found without downloading a table."""

import hashlib
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from fcconan.data import CARD, MANIFEST
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents, is_built
from fcconan.publishing.hub import Hub, Remote, RemoteFile
from fcconan.publishing.options import PublishingOptions

Change = Literal["new", "changed", "removed", "unchanged"]
# Files of a new repository that the Hub or its owner wrote.
ATTRIBUTES = ".gitattributes"
EXPECTED = frozenset({ATTRIBUTES, CARD})
_OF_ANY_REPOSITORY = re.compile(r"\.git\w+|(LICEN[CS]E|CITATION|CHANGELOG|CONTRIBUTING)[.\w]*", re.IGNORECASE)
_TAG = re.compile(r"(?!.*\.\.)(?!.*\.lock$)(?![0-9a-f]{40}$)[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_BRANCHES = ("main", "HEAD")


@dataclass(frozen=True)
class FileChange:
    """What happens to one file.

    Attributes:
        path: The file.
        change: `new`, `changed`, `removed` or `unchanged`.
        size: Its bytes, those on the Hub for `removed`.
    """

    path: str
    change: Change
    size: int


@dataclass(frozen=True)
class Plan:
    """Everything that a publication would do.

    Attributes:
        repo_id: `owner/name`.
        contents: What is published.
        remote: What is there.
        restricted: The columns, by config, that may not be passed on and would be.
        files: What happens to every file, by path.
        kept: Files on the Hub that no publication put there; they stay.
        tag: The tag.
        tagged: Whether the tag names this content already.
        make_private: Whether the repository is made private.
        gate: The gate that is put up (`auto` or `manual`), if any.
        notes: Further remarks for the user.
    """

    repo_id: str
    contents: Contents
    remote: Remote
    restricted: dict[str, list[str]]
    files: list[FileChange]
    kept: list[str]
    tag: str
    tagged: bool
    make_private: bool = False
    gate: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def changed(self) -> list[FileChange]:
        """The files that are not as they should be."""
        return [file for file in self.files if file.change != "unchanged"]

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.changed or self.make_private or self.gate) and self.tagged

    @property
    def visibility(self) -> str:
        """Who can read the repository in the end."""
        private = self.remote.private or self.make_private
        gate = self.gate or self.remote.gated
        gated = f"gated ({gate} approval)" if gate else ""
        return " and ".join(filter(None, ("private" if private else "", gated))) or "public"

    def as_json(self) -> dict[str, Any]:
        """Returns the plan for programs."""
        return {
            "repository": self.repo_id,
            "dataset": {
                "name": self.contents.name,
                "fingerprint": self.contents.manifest.get("fingerprint"),
                "labels_only": self.contents.manifest["labels_only"],
            },
            "exists": self.remote.exists,
            "head": self.remote.head,
            "visibility": self.visibility,
            "make_private": self.make_private,
            "gate": self.gate,
            "restricted_columns": self.restricted,
            "files": [{"path": file.path, "change": file.change, "bytes": file.size} for file in self.files],
            "kept": self.kept,
            "left_out": self.contents.left_out,
            "tag": self.tag,
            "tag_is_there": self.tagged,
            "nothing_to_do": self.is_done,
            "notes": [*self.contents.notes, *self.notes],
        }


def check_tag(tag: str) -> None:
    """Checks that git and the Hub take a tag.

    Raises:
        InputError: They do not.
    """
    if not _TAG.fullmatch(tag) or tag in _BRANCHES:
        raise InputError(f"--tag {tag!r}: expected letters, digits, dots and dashes, such as v1.0")


def default_tag(contents: Contents) -> str:
    """Returns a tag that changes with the content: the package's version at the build, and a hash of all files."""
    version = str(contents.manifest.get("package", {}).get("version", "0"))
    return f"v{re.sub(r'[^A-Za-z0-9.]+', '-', version)}-{contents.digest}"


def make_plan(
    hub: Hub,
    remote: Remote,
    contents: Contents,
    restricted: dict[str, list[str]],
    served: list[str],
    options: PublishingOptions,
) -> Plan:
    """Compares a folder with what is on the Hub.

    Args:
        hub: The repository.
        remote: What is there.
        contents: The folder.
        restricted: Its columns that may not be passed on.
        served: The patterns of files that its card serves.
        options: The tag, and whether the repository is to be private or gated.

    Raises:
        InputError: The repository holds something else, the tag names other content, or a gate would be loosened.
        HubFailure: The Hub cannot be asked.
    """
    name = options.tag or default_tag(contents)
    check_tag(name)
    _check_same_dataset(hub.repo_id, remote, contents)
    if options.gated == "auto" and remote.gated == "manual":
        raise InputError(
            f"{hub.repo_id} is gated with manual approval, which --gated auto would loosen: leave --gated out, or "
            f"change it at {hub.url}/settings"
        )
    files, kept = _compare(remote, contents)
    _check_kept(hub.repo_id, kept, served)
    changed = any(file.change != "unchanged" for file in files)
    tagged = _is_tagged(hub, remote, contents, name, changed=changed)
    notes = []
    if CARD in {file.path for file in files if file.change == "changed"} and _is_edited(remote, contents):
        notes.append(f"{CARD} was edited on the Hub; that is replaced.")
    if contents.manifest["labels_only"] and (remote.manifest or {}).get("labels_only") is False:
        notes.append("The texts of the earlier publication stay in the history of the repository: never open it.")
    return Plan(
        hub.repo_id,
        contents,
        remote,
        restricted,
        files,
        kept,
        name,
        tagged,
        make_private=options.private and not remote.private,
        gate=options.gated if options.gated != remote.gated else None,
        notes=notes,
    )


def _is_edited(remote: Remote, contents: Contents) -> bool:
    """Whether the card of this very content was edited on the Hub."""
    there = remote.files.get(MANIFEST)
    return there is not None and is_same(contents, MANIFEST, there)


def _compare(remote: Remote, contents: Contents) -> tuple[list[FileChange], list[str]]:
    files = []
    for path in sorted(contents.hashes):
        size = contents.path(path).stat().st_size
        there = remote.files.get(path)
        change: Change = "new" if there is None else "unchanged" if is_same(contents, path, there) else "changed"
        files.append(FileChange(path, change, size))
    ours = {*filter(is_built, remote.manifest["files"]), MANIFEST} if remote.manifest is not None else set()
    gone = sorted((ours & remote.files.keys()) - contents.hashes.keys())
    files += [FileChange(path, "removed", remote.files[path].size) for path in gone]
    return files, sorted(remote.files.keys() - contents.hashes.keys() - ours - {ATTRIBUTES})


def is_same(contents: Contents, path: str, there: RemoteFile) -> bool:
    """Whether a file on the Hub is that of a folder."""
    if there.sha256 is not None:
        return there.sha256 == contents.hashes[path]
    content = contents.path(path).read_bytes() if contents.path(path).stat().st_size == there.size else None
    return content is not None and hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == there.blob


def _check_same_dataset(repo_id: str, remote: Remote, contents: Contents) -> None:
    if remote.manifest is not None and remote.manifest.get("name") != contents.name:
        advice = ", or give the rows their old --title" if contents.is_rows else ""
        raise InputError(
            f"{repo_id} holds the dataset {remote.manifest.get('name')!r}, not {contents.name!r}: publish to another "
            f"repository{advice}"
        )
    if remote.manifest is None:
        others = [path for path in remote.files.keys() - EXPECTED if not _OF_ANY_REPOSITORY.fullmatch(path)]
        taken = sorted((remote.files.keys() & contents.hashes.keys()) - (frozenset() if others else EXPECTED))
        if taken:
            raise InputError(
                f"{repo_id} holds {taken[0]}, which no earlier publication put there: publish to another repository, "
                "or remove the file there"
            )


def _check_kept(repo_id: str, kept: list[str], served: list[str]) -> None:
    for pattern in served:
        for path in kept:
            if fnmatchcase(path, pattern):
                raise InputError(
                    f"{repo_id} holds {path}, which no publication put there and which readers would take for a part "
                    f"of {pattern.split('/')[0]}: remove it there, or publish to another repository"
                )


def _is_tagged(hub: Hub, remote: Remote, contents: Contents, tag: str, *, changed: bool) -> bool:
    """Whether a tag names this content; one that names other content is never moved."""
    commit = remote.tags.get(tag)
    if commit is None:
        return False
    if commit == remote.head:
        if not changed:
            return True
    else:
        there = hub.files_at(commit)
        if all(path in there and is_same(contents, path, there[path]) for path in contents.hashes):
            return True
    raise InputError(
        f"the tag {tag} of {hub.repo_id} names other content (commit {commit[:8]}) and is not moved, as somebody may "
        "rely on it: give another --tag"
    )
