"""Executes a plan: first the visibility, then the files in one commit, then the tag."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcconan.errors import InputError
from fcconan.publishing.contents import Contents
from fcconan.publishing.gate import check_visibility
from fcconan.publishing.hub import Hub, HubFailure
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.plan import Plan, has_same_content

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd


@dataclass(frozen=True)
class ExecutedChanges:
    """The executed changes.

    Attributes:
        commit: Commit with the content.
        committed: Whether the commit is new.
        tagged: Whether the tag is new.
    """

    commit: str
    committed: bool
    tagged: bool


def execute_plan(hub: Hub, plan: Plan, options: PublishingOptions) -> ExecutedChanges:
    """Executes a plan. A plan without changes sends no request.

    Large files of an earlier, failed attempt are not uploaded again. With restricted texts or a requested visibility,
    the visibility is verified before the upload.

    Args:
        hub: The repository.
        plan: The plan.
        options: The requested visibility.

    Raises:
        InputError: The Hub refuses a change, or the repository does not have the requested visibility.
        HubFailure: The Hub failed, or the repository was changed meanwhile.
    """
    from huggingface_hub import CommitOperationDelete

    head = plan.remote.head
    if not plan.remote.exists:
        hub.create(private=options.private)
    hub.restrict_access(private=plan.make_private and plan.remote.exists, gate=plan.gate)
    must_be_closed = bool(plan.restricted or options.private or options.gated)
    if not plan.remote.exists or must_be_closed:
        now = _check_repository(hub, plan, options)
        head = head or now
    commit = head
    if plan.changed:
        additions = [_make_addition(plan.contents, file.path) for file in plan.changed if file.change != "removed"]
        removals = [CommitOperationDelete(file.path) for file in plan.changed if file.change == "removed"]
        hub.upload(additions)
        if must_be_closed:  # verified again after a long upload, because committed files are visible
            _check_repository(hub, plan, options)
        commit = hub.commit([*additions, *removals], f"Publish {plan.contents.name} {plan.tag}", head)
        there = hub.files_at(commit)
        missing = [
            path
            for path in plan.contents.hashes
            if path not in there or not has_same_content(plan.contents, path, there[path])
        ]
        if missing:
            raise HubFailure(
                f"{missing[0]} in {plan.repo_id} differs from the uploaded file (commit {commit[:8]}), so the tag was "
                "not set: check the repository, then run the same command again"
            )
    if not plan.tagged:
        hub.tag(plan.tag, str(commit))
    return ExecutedChanges(str(commit), bool(plan.changed), not plan.tagged)


def _check_repository(hub: Hub, plan: Plan, options: PublishingOptions) -> str | None:
    """Checks the visibility of the repository, and returns the newest commit."""
    now = hub.read(files=False)
    check_visibility(plan.repo_id, now, plan.restricted, options)
    return now.head


def _make_addition(contents: Contents, path: str) -> "CommitOperationAdd":
    """Returns the upload of a file with its verified content.

    Raises:
        InputError: The file was changed since its verification.
    """
    from huggingface_hub import CommitOperationAdd

    content = contents.path(path).read_bytes()
    if hashlib.sha256(content).hexdigest() != contents.hashes[path]:
        raise InputError(f"{contents.path(path)} was changed while it was being published: run the same command again")
    return CommitOperationAdd(path, content)
