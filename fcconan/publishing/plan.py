"""The planned changes of a publication: files, visibility and tag, without downloading tables."""

import hashlib
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from fcconan.data import CARD, MANIFEST
from fcconan.errors import InputError
from fcconan.publishing.contents import Contents, is_release_file
from fcconan.publishing.hub import Hub, RemoteFile, RepositoryState
from fcconan.publishing.options import PublishingOptions

Change = Literal["new", "changed", "removed", "unchanged"]
# Files that the Hub or the owner creates in a new repository.
GIT_ATTRIBUTES = ".gitattributes"
INITIAL_FILES = frozenset({GIT_ATTRIBUTES, CARD})
_COMMON_FILES = re.compile(r"\.git\w+|(LICEN[CS]E|CITATION|CHANGELOG|CONTRIBUTING)[.\w]*", re.IGNORECASE)
_TAG = re.compile(r"(?!.*\.\.)(?!.*\.lock$)(?![0-9a-f]{40}$)[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_BRANCHES = ("main", "HEAD")


@dataclass(frozen=True)
class FileChange:
    """The planned change of one file.

    Attributes:
        path: Path of the file.
        change: `new`, `changed`, `removed` or `unchanged`.
        size: Size in bytes; for `removed`, that on the Hub.
    """

    path: str
    change: Change
    size: int


@dataclass(frozen=True)
class Plan:
    """The planned changes of a publication.

    Attributes:
        repo_id: `owner/name`.
        contents: Content to publish.
        remote: Current state of the repository.
        restricted: Published columns that must not be redistributed, by config.
        files: Changes of files, sorted by path.
        kept: Files on the Hub that no publication uploaded; they stay unchanged.
        tag: Name of the tag.
        tagged: Whether the tag already points to this content.
        make_private: Whether to make the repository private.
        gate: New gate (`auto` or `manual`), if any.
        notes: Notes for the user.
    """

    repo_id: str
    contents: Contents
    remote: RepositoryState
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
        """The files to change."""
        return [file for file in self.files if file.change != "unchanged"]

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.changed or self.make_private or self.gate) and self.tagged

    @property
    def visibility(self) -> str:
        """Visibility of the repository after the publication."""
        private = self.remote.private or self.make_private
        gate = self.gate or self.remote.gated
        gated = f"gated ({gate} approval)" if gate else ""
        return " and ".join(filter(None, ("private" if private else "", gated))) or "public"

    def as_json(self) -> dict[str, Any]:
        """Returns the plan as JSON values."""
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
    """Checks that a name is a valid tag for git and the Hub.

    Raises:
        InputError: The tag is invalid.
    """
    if not _TAG.fullmatch(tag) or tag in _BRANCHES:
        raise InputError(f"--tag {tag!r}: expected letters, digits, dots and dashes, such as v1.0")


def make_default_tag(contents: Contents) -> str:
    """Returns a tag that changes with the content: package version of the build, and a hash of all files."""
    version = str(contents.manifest.get("package", {}).get("version", "0"))
    return f"v{re.sub(r'[^A-Za-z0-9.]+', '-', version)}-{contents.digest}"


def make_plan(
    hub: Hub,
    remote: RepositoryState,
    contents: Contents,
    restricted: dict[str, list[str]],
    patterns: list[str],
    options: PublishingOptions,
) -> Plan:
    """Compares a folder with the repository on the Hub.

    Args:
        hub: The repository.
        remote: Current state of the repository.
        contents: The folder.
        restricted: Columns of the folder that must not be redistributed, by config.
        patterns: File patterns in the card of the folder.
        options: The tag and the requested visibility.

    Raises:
        InputError: The repository has other content, the tag points to other content, or the gate would become weaker.
        HubFailure: The Hub failed.
    """
    name = options.tag or make_default_tag(contents)
    check_tag(name)
    _check_same_dataset(hub.repo_id, remote, contents)
    if options.gated == "auto" and remote.gated == "manual":
        raise InputError(
            f"{hub.repo_id} is gated with manual approval, which --gated auto would weaken: leave --gated out, or "
            f"change it at {hub.url}/settings"
        )
    files, kept = _compare_files(remote, contents)
    _check_kept(hub.repo_id, kept, patterns)
    changed = any(file.change != "unchanged" for file in files)
    tagged = _is_tagged(hub, remote, contents, name, changed=changed)
    notes = []
    if CARD in {file.path for file in files if file.change == "changed"} and _is_edited(remote, contents):
        notes.append(f"{CARD} was edited on the Hub; the edits will be overwritten.")
    if contents.manifest["labels_only"] and (remote.manifest or {}).get("labels_only") is False:
        notes.append(
            "The history of the repository contains the texts of an earlier publication: never make it public."
        )
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


def _is_edited(remote: RepositoryState, contents: Contents) -> bool:
    """Returns whether the card of the same content was edited on the Hub."""
    remote_file = remote.files.get(MANIFEST)
    return remote_file is not None and has_same_content(contents, MANIFEST, remote_file)


def _compare_files(remote: RepositoryState, contents: Contents) -> tuple[list[FileChange], list[str]]:
    files = []
    for path in sorted(contents.hashes):
        size = contents.path(path).stat().st_size
        remote_file = remote.files.get(path)
        change: Change = (
            "new"
            if remote_file is None
            else "unchanged"
            if has_same_content(contents, path, remote_file)
            else "changed"
        )
        files.append(FileChange(path, change, size))
    published = {*filter(is_release_file, remote.manifest["files"]), MANIFEST} if remote.manifest is not None else set()
    removed = sorted((published & remote.files.keys()) - contents.hashes.keys())
    files += [FileChange(path, "removed", remote.files[path].size) for path in removed]
    return files, sorted(remote.files.keys() - contents.hashes.keys() - published - {GIT_ATTRIBUTES})


def has_same_content(contents: Contents, path: str, remote_file: RemoteFile) -> bool:
    """Returns whether a file on the Hub equals that of a folder."""
    if remote_file.sha256 is not None:
        return remote_file.sha256 == contents.hashes[path]
    content = contents.path(path).read_bytes() if contents.path(path).stat().st_size == remote_file.size else None
    return content is not None and hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == remote_file.blob


def _check_same_dataset(repo_id: str, remote: RepositoryState, contents: Contents) -> None:
    if remote.manifest is not None and remote.manifest.get("name") != contents.name:
        raise InputError(
            f"{repo_id} contains the dataset {remote.manifest.get('name')!r}, not {contents.name!r}: publish to "
            "another repository"
        )
    if remote.manifest is None:
        others = [path for path in remote.files.keys() - INITIAL_FILES if not _COMMON_FILES.fullmatch(path)]
        taken = sorted((remote.files.keys() & contents.hashes.keys()) - (frozenset() if others else INITIAL_FILES))
        if taken:
            raise InputError(
                f"{repo_id} contains {taken[0]}, which was not uploaded by `fcconan publish`: publish to another "
                "repository, or remove the file there"
            )


def _check_kept(repo_id: str, kept: list[str], patterns: list[str]) -> None:
    for pattern in patterns:
        for path in kept:
            if fnmatchcase(path, pattern):
                raise InputError(
                    f"{repo_id} contains {path}, which was not uploaded by `fcconan publish` and would be loaded as a "
                    f"part of {pattern.split('/')[0]}: remove it there, or publish to another repository"
                )


def _is_tagged(hub: Hub, remote: RepositoryState, contents: Contents, tag: str, *, changed: bool) -> bool:
    """Returns whether a tag points to this content; raises an error if it points to other content."""
    commit = remote.tags.get(tag)
    if commit is None:
        return False
    if commit == remote.head:
        if not changed:
            return True
    else:
        files = hub.files_at(commit)
        if all(path in files and has_same_content(contents, path, files[path]) for path in contents.hashes):
            return True
    raise InputError(
        f"the tag {tag} of {hub.repo_id} points to other content (commit {commit[:8]}) and is not moved: "
        "give another --tag"
    )
