"""Publishes dataset folders and rows on the Hugging Face Hub: checked, gated, in one commit, with a tag."""

import re
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.publishing.hub import HubFailure
from fcconan.publishing.plan import Plan
from fcconan.publishing.upload import Done

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


def publish(
    source: Path | str,
    repo_id: str,
    *,
    dry_run: bool = False,
    tag: str | None = None,
    private: bool = False,
    gated: str | None = None,
    may_redistribute: bool = False,
    labels_only: bool = False,
    about: Path | None = None,
    title: str | None = None,
    licence: str = "other",
    language: str = "en",
    drop_columns: Collection[str] = (),
) -> Publication:
    """Publishes a dataset folder, or rows, runs or results as one, to a dataset repository on the Hub.

    The folder is checked first: every file against the manifest, the card, and by loading it. Then the Hub is asked
    what is there. Only then anything is changed: the repository is created, made private or gated, and read again;
    the files go up in one commit, and the tag names it. A second run sends nothing where nothing has changed.

    Args:
        source: A folder that `fcconan build` wrote; or a file of rows (replies, ratings, comparisons, votes,
            rankings), a TREC run, a result (JSON), or a folder of such files.
        repo_id: `owner/name`.
        dry_run: Only find out what would be done.
        tag: The version; by default one that changes with the content.
        private: Make the repository private.
        gated: `auto` or `manual`: readers must ask, and are let in at once or by hand.
        may_redistribute: The user's word that restricted text may be passed on.
        labels_only: Leave the text columns of rows out. Every string that is left must have a closed form.
        about: The dataset folder that rows are about. If its texts may be passed on, so may theirs.
        title: Of rows; by default from their file.
        licence: Of rows, an identifier of the Hub.
        language: Of rows, a code of ISO 639-1.
        drop_columns: Columns of rows to leave out.

    Returns:
        The plan and what came of it.

    Raises:
        InputError: The folder, the options, the token or the repository is not as it should be; nothing was
            committed.
        HubFailure: The Hub cannot be reached or failed; running it again goes on.
    """
    from fcconan.publishing import gate, restricted
    from fcconan.publishing.checks import check_loading, check_published_card
    from fcconan.publishing.contents import read_contents
    from fcconan.publishing.forms import check_titles
    from fcconan.publishing.hub import Hub, Remote
    from fcconan.publishing.known_texts import known_texts
    from fcconan.publishing.plan import check_tag, make_plan
    from fcconan.publishing.rows import is_release, stage_rows
    from fcconan.publishing.upload import carry_out

    _check_repo_id(repo_id)
    if tag is not None:
        check_tag(tag)
    folder = Path(source)
    with ExitStack() as stack:
        known = None
        if is_release(folder):
            if about or title or drop_columns:
                raise InputError(
                    f"{folder} is a dataset folder, which has its card and columns: leave --about, --title and "
                    "--drop-column out"
                )
            contents = read_contents(folder)
            if contents.manifest["labels_only"]:
                known = known_texts()
            elif labels_only:
                raise InputError(
                    f"{folder} was built with its texts: publish what `fcconan build {contents.name} --labels-only` "
                    "writes"
                )
        else:
            contents, known = stack.enter_context(
                stage_rows(
                    folder,
                    known_texts(),
                    labels_only=labels_only,
                    about=about,
                    title=title,
                    licence=licence,
                    language=language,
                    dropped=drop_columns,
                )
            )
        if known is not None:
            name = repo_id.partition("/")[2]
            check_titles({"the name of the repository": name} | ({"--tag": tag} if tag else {}), known)
        columns = restricted.restricted_columns(contents, known)
        gate.check_permission(contents, columns, may_redistribute=may_redistribute)
        restricted.check_no_text_in_card(contents, columns, known)
        served = check_published_card(contents)
        check_loading(contents)
        hub = Hub(repo_id)
        if hub.is_offline and dry_run:
            remote = Remote(exists=False)
        else:
            if hub.has_token or not dry_run:
                hub.check_token()
            remote = hub.read()
        gate.check_closed(repo_id, remote, columns, private=private, gated=gated)
        plan = make_plan(hub, remote, contents, columns, served=served, tag=tag, private=private, gated=gated)
        if hub.is_offline and dry_run:
            plan.notes.append("HF_HUB_OFFLINE is set: the Hub was not asked, and everything is shown as new.")
        elif not hub.has_token and not remote.exists:
            plan.notes.append("There is no token: a private repository of that name would not be seen.")
        if known is not None and known.not_searched:
            plan.notes.append(f"Not here, so their texts were not searched for: {', '.join(known.not_searched)}.")
        done = None if dry_run else carry_out(hub, plan, private=private, gated=gated)
        return Publication(plan, hub.url, done)


def _check_repo_id(repo_id: str) -> None:
    if not _REPO_ID.fullmatch(repo_id) or len(repo_id) > _LONGEST:
        raise InputError(
            f"{repo_id!r} names no repository: give OWNER/NAME, such as my-name/my-dataset, of letters, digits, `-`, "
            "`_` and `.`"
        )
