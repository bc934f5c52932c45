"""Publishes dataset folders and rows on the Hugging Face Hub: checked, gated, in one commit, with a tag."""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError
from fcconan.publishing.hub import HubFailure
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.plan import Plan
from fcconan.publishing.upload import Done

if TYPE_CHECKING:
    from fcconan.publishing.contents import Contents
    from fcconan.publishing.known_texts import KnownTexts

__all__ = ["Done", "HubFailure", "Plan", "Publication", "publish"]

_REPO_ID = re.compile(r"(?!.*(--|\.\.))[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(?<![.-])(?<!\.git)")
_LONGEST = 96


@dataclass(frozen=True)
class Publication:
    """What was published, or would be.

    Attributes:
        plan: The plan.
        url: The page of the repository.
        done: What was done; None after a dry run.
    """

    plan: Plan
    url: str
    done: Done | None

    def as_json(self) -> dict[str, Any]:
        """Returns it for programs."""
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
    """Publishes a dataset folder, or rows, runs or results as one, to a dataset repository on the Hub.

    The folder is checked first: every file against the manifest, the card, and by loading it. Then the Hub is asked
    what is there. Only then anything is changed: the repository is created, made private or gated, and read again;
    the files go up in one commit, and the tag names it. A second run sends nothing where nothing has changed.

    Args:
        source: A folder that `fcconan build` wrote; or a file of rows (replies, ratings, comparisons, votes,
            rankings), a TREC run, a result (JSON), or a folder of such files.
        repo_id: `owner/name`.
        options: How it is published.

    Returns:
        The plan and what came of it.

    Raises:
        InputError: The folder, the options, the token or the repository is not as it should be; nothing was
            committed.
        HubFailure: The Hub cannot be reached or failed; running it again goes on.
    """
    from fcconan.publishing import gate, restricted
    from fcconan.publishing.checks import check_loading, check_published_card
    from fcconan.publishing.forms import check_titles
    from fcconan.publishing.hub import Hub, Remote
    from fcconan.publishing.plan import check_tag, make_plan
    from fcconan.publishing.upload import carry_out

    _check_repo_id(repo_id)
    if options.tag is not None:
        check_tag(options.tag)
    with ExitStack() as stack:
        contents, known = _contents(Path(source), options, stack)
        if known is not None:
            name = repo_id.partition("/")[2]
            check_titles({"the name of the repository": name} | ({"--tag": options.tag} if options.tag else {}), known)
        columns = restricted.restricted_columns(contents, known)
        gate.check_permission(contents, columns, may_redistribute=options.may_redistribute)
        restricted.check_no_text_in_card(contents, columns, known)
        served = check_published_card(contents)
        check_loading(contents)
        hub = Hub(repo_id)
        if hub.is_offline and options.dry_run:
            remote = Remote(exists=False)
        else:
            if hub.has_token or not options.dry_run:
                hub.check_token()
            remote = hub.read()
        gate.check_closed(repo_id, remote, columns, options)
        plan = make_plan(hub, remote, contents, columns, served, options)
        if hub.is_offline and options.dry_run:
            plan.notes.append("HF_HUB_OFFLINE is set: the Hub was not asked, and everything is shown as new.")
        elif not hub.has_token and not remote.exists:
            plan.notes.append("There is no token: a private repository of that name would not be seen.")
        if known is not None and known.not_searched:
            plan.notes.append(f"Not here, so their texts were not searched for: {', '.join(known.not_searched)}.")
        return Publication(plan, hub.url, None if options.dry_run else carry_out(hub, plan, options))


def _contents(source: Path, options: PublishingOptions, stack: ExitStack) -> "tuple[Contents, KnownTexts | None]":
    """Returns what is published, and the texts that no published string may be; None for a folder with its texts."""
    from fcconan.publishing.contents import read_contents
    from fcconan.publishing.known_texts import known_texts
    from fcconan.publishing.rows import is_release, stage_rows

    if not is_release(source):
        return stack.enter_context(stage_rows(source, known_texts(), options))
    if options.about or options.title or options.drop_columns:
        raise InputError(
            f"{source} is a dataset folder, which has its card and columns: leave --about, --title and --drop-column "
            "out"
        )
    contents = read_contents(source)
    if contents.manifest["labels_only"]:
        return contents, known_texts()
    if options.labels_only:
        raise InputError(
            f"{source} was built with its texts: publish what `fcconan build {contents.name} --labels-only` writes"
        )
    return contents, None


def _check_repo_id(repo_id: str) -> None:
    if not _REPO_ID.fullmatch(repo_id) or len(repo_id) > _LONGEST:
        raise InputError(
            f"{repo_id!r} names no repository: give OWNER/NAME, such as my-name/my-dataset, of letters, digits, `-`, "
            "`_` and `.`"
        )
