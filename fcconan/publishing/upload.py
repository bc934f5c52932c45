"""Carries a plan out: the gate first, then the files in one commit, then the tag."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcconan.errors import InputError
from fcconan.publishing.contents import Contents
from fcconan.publishing.gate import check_is_closed
from fcconan.publishing.hub import Hub, HubFailure
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.plan import Plan, is_same

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd


@dataclass(frozen=True)
class Done:
    """What was done.

    Attributes:
        commit: The commit that holds the content.
        committed: Whether it is a new one.
        tagged: Whether the tag is new.
    """

    commit: str
    committed: bool
    tagged: bool


def carry_out(hub: Hub, plan: Plan, options: PublishingOptions) -> Done:
    """Does what a plan says; a plan with nothing to do sends nothing.

    Large files that an earlier, broken attempt sent are not sent again. With restricted text, or where a gate was
    asked for, the Hub is asked again whether it is up before any file is sent.

    Args:
        hub: The repository.
        plan: The plan.
        options: Whether the repository was asked to be private or gated.

    Raises:
        InputError: The Hub refuses, or does not put the gate up.
        HubFailure: The Hub cannot be reached, or the repository was changed meanwhile.
    """
    from huggingface_hub import CommitOperationDelete

    head = plan.remote.head
    if not plan.remote.exists:
        hub.create(private=options.private)
    hub.close(private=plan.make_private and plan.remote.exists, gate=plan.gate)
    must_be_closed = bool(plan.restricted or options.private or options.gated)
    if not plan.remote.exists or must_be_closed:
        now = _check_gate(hub, plan, options)
        head = head or now
    commit = head
    if plan.changed:
        additions = [_addition(plan.contents, file.path) for file in plan.changed if file.change != "removed"]
        removals = [CommitOperationDelete(file.path) for file in plan.changed if file.change == "removed"]
        hub.upload(additions)
        if must_be_closed:  # sending may have taken long, and readers see files once they are committed
            _check_gate(hub, plan, options)
        commit = hub.commit([*additions, *removals], f"Publish {plan.contents.title} {plan.tag}", head)
        there = hub.files_at(commit)
        missing = [
            path for path in plan.contents.hashes if path not in there or not is_same(plan.contents, path, there[path])
        ]
        if missing:
            raise HubFailure(
                f"{plan.repo_id} does not hold {missing[0]} as it was sent (commit {commit[:8]}), so the tag was not "
                "set: look at the repository, then run the same command again"
            )
    if not plan.tagged:
        hub.tag(plan.tag, str(commit))
    return Done(str(commit), bool(plan.changed), not plan.tagged)


def _check_gate(hub: Hub, plan: Plan, options: PublishingOptions) -> str | None:
    """Asks the Hub whether the gate is up, and returns the newest commit."""
    now = hub.read(files=False)
    check_is_closed(plan.repo_id, now, plan.restricted, options)
    return now.head


def _addition(contents: Contents, path: str) -> "CommitOperationAdd":
    """Returns what is to be sent of a file: the bytes that were checked, even if the folder is rebuilt meanwhile.

    Raises:
        InputError: The file is another one by now.
    """
    from huggingface_hub import CommitOperationAdd

    content = contents.path(path).read_bytes()
    if hashlib.sha256(content).hexdigest() != contents.hashes[path]:
        raise InputError(f"{contents.path(path)} was changed while it was being published: run the same command again")
    return CommitOperationAdd(path, content)
