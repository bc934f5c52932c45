"""Publishes dataset folders on the Hugging Face Hub, after checks, in one commit with a tag."""

import re
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError
from fcconan.publishing.hub import HubFailure
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.plan import Plan
from fcconan.publishing.upload import ExecutedChanges

if TYPE_CHECKING:
    from fcconan.publishing.contents import Contents
    from fcconan.publishing.hub import RepositoryState

__all__ = ["ExecutedChanges", "HubFailure", "Plan", "Publication", "publish"]

_REPO_ID = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?<![.-])(?<!\.git)")
_MAX_LENGTH = 96


@dataclass(frozen=True)
class Publication:
    """The result of a publication or dry run.

    Attributes:
        plan: The plan.
        url: Address of the repository.
        done: Executed changes; None after a dry run.
        default: Config that `load_dataset` loads if no config is named, and its first split.
    """

    plan: Plan
    url: str
    done: ExecutedChanges | None
    default: tuple[str, str]

    def as_json(self) -> dict[str, Any]:
        """Returns the result as JSON values."""
        done = self.done
        return {
            **self.plan.as_json(),
            "url": self.url,
            "dry_run": done is None,
            "commit": done.commit if done else None,
            "committed": bool(done and done.committed),
            "tagged": bool(done and done.tagged),
        }


def publish(source: Path | str, repo_id: str, options: PublishingOptions) -> Publication:
    """Publishes a dataset folder to a dataset repository on the Hub.

    The steps are:

    1. Check the folder: files against the manifest, the card with the name of the repository and the tag, and loading
       with `datasets`.
    2. Read the state of the repository.
    3. Create the repository if necessary, make it private or gated, and read its visibility again.
    4. Upload the files in one commit, and tag it.

    A second run uploads only changes.

    Args:
        source: A folder by `fcconan build`.
        repo_id: `owner/name`.
        options: Options of the publication.

    Returns:
        The plan and the executed changes.

    Raises:
        InputError: The folder, the options, the token or the repository is invalid; nothing was committed.
        HubFailure: The Hub failed; run the command again to continue.
    """
    from fcconan.publishing import gate, restricted
    from fcconan.publishing.checks import check_loading, check_published_card, read_default_config
    from fcconan.publishing.contents import read_contents
    from fcconan.publishing.forms import check_titles
    from fcconan.publishing.hub import Hub, RepositoryState
    from fcconan.publishing.known_texts import load_known_texts
    from fcconan.publishing.plan import check_tag, make_default_tag, make_plan
    from fcconan.publishing.published_card import name_repository
    from fcconan.publishing.upload import execute_plan

    _check_repo_id(repo_id)
    if options.tag is not None:
        check_tag(options.tag)
    with ExitStack() as stack:
        contents = read_contents(Path(source))
        known = load_known_texts() if contents.manifest["labels_only"] else None  # which must not be published
        if known is not None:
            name = repo_id.partition("/")[2]
            check_titles({"the name of the repository": name} | ({"--tag": options.tag} if options.tag else {}), known)
        columns = restricted.find_restricted_columns(contents, known)
        gate.check_permission(contents, columns, may_redistribute=options.may_redistribute)
        tag = make_default_tag(contents) if options.tag is None else options.tag
        unnamed, contents = contents, stack.enter_context(name_repository(contents, repo_id, tag))
        restricted.check_no_text_in_card(contents, columns, known)
        patterns = check_published_card(contents)
        check_loading(contents)
        hub = Hub(repo_id)
        if hub.is_offline and options.dry_run:
            remote = RepositoryState(exists=False)
        else:
            if hub.has_token or not options.dry_run:
                hub.check_token()
            remote = hub.read()
            contents = _with_published_card(unnamed, repo_id, remote, stack) or contents
        gate.check_planned_visibility(repo_id, remote, columns, options)
        plan = make_plan(hub, remote, contents, columns, patterns, replace(options, tag=tag))
        if hub.is_offline and options.dry_run:
            plan.notes.append("HF_HUB_OFFLINE is set: the plan shows all files as new, without reading the Hub.")
        elif not hub.has_token and not remote.exists:
            plan.notes.append("Without a token, a private repository of this name is not visible.")
        if known is not None and known.unavailable:
            plan.notes.append(
                f"Datasets without local files, whose texts were not searched: {', '.join(known.unavailable)}."
            )
        done = None if options.dry_run else execute_plan(hub, plan, options)
        return Publication(plan, hub.url, done, read_default_config(contents))


def _with_published_card(
    contents: "Contents", repo_id: str, remote: "RepositoryState", stack: ExitStack
) -> "Contents | None":
    """Returns the content with the card of an earlier publication of it, whose tag may differ; None without one.

    Another tag of the same content thus needs no commit.
    """
    from fcconan.publishing.plan import has_same_content
    from fcconan.publishing.published_card import name_repository

    for tag in [name for name, commit in remote.tags.items() if commit == remote.head]:
        named = stack.enter_context(name_repository(contents, repo_id, tag))
        if all(name in remote.files and has_same_content(named, name, remote.files[name]) for name in named.replaced):
            return named
    return None


def _check_repo_id(repo_id: str) -> None:
    if not _REPO_ID.fullmatch(repo_id) or len(repo_id) > _MAX_LENGTH:
        raise InputError(
            f"{repo_id!r} is not a name of a repository: give OWNER/NAME, such as my-name/my-dataset, of letters, "
            "digits, `-`, `_` and `.`"
        )
