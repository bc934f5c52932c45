"""Who may read what is published: restricted text needs the user's word and a closed repository."""

from fcconan.errors import InputError
from fcconan.publishing.contents import Contents
from fcconan.publishing.hub import Remote
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.restricted import columns_text

CLOSE = "--private or --gated manual"


def check_permission(contents: Contents, restricted: dict[str, list[str]], *, may_redistribute: bool) -> None:
    """Checks that restricted text is published only on the user's word.

    Args:
        contents: The folder.
        restricted: Its columns that may not be passed on.
        may_redistribute: The user's word.

    Raises:
        InputError: It holds such text without the user's word.
    """
    if not restricted or may_redistribute:
        return
    instead = (
        "give --labels-only, which leaves texts out, and --drop-column for other columns"
        if contents.is_rows
        else f"publish what `fcconan build {contents.name} --labels-only` writes"
    )
    raise InputError(
        f"{contents.title} holds text that may not be passed on ({columns_text(restricted)}): {instead}; or, if you "
        f"have the right to pass it on, give --i-may-redistribute and {CLOSE}"
    )


def check_closed(repo_id: str, remote: Remote, restricted: dict[str, list[str]], options: PublishingOptions) -> None:
    """Checks that a repository for restricted text is private or gated, or will be.

    Args:
        repo_id: `owner/name`.
        remote: The repository as it is.
        restricted: The columns that may not be passed on.
        options: Whether it is to be private or gated.

    Raises:
        InputError: It is not.
    """
    if not restricted or options.private or options.gated or remote.is_closed:
        return
    state = "is public and not gated" if remote.exists else "would be public"
    raise InputError(
        f"{repo_id} {state}, and not everybody may read the texts of {', '.join(restricted)}: give {CLOSE}"
    )


def check_is_closed(repo_id: str, remote: Remote, restricted: dict[str, list[str]], options: PublishingOptions) -> None:
    """Checks, when the gate should be up, that the Hub says so.

    Args:
        repo_id: `owner/name`.
        remote: The repository as the Hub says that it is.
        restricted: The columns that may not be passed on.
        options: Whether it is to be private or gated.

    Raises:
        InputError: It does not.
    """
    missing = (
        "private"
        if options.private and not remote.private
        else "gated"
        if options.gated and not remote.gated
        else "private or gated"
        if restricted and not remote.is_closed
        else None
    )
    if missing:
        raise InputError(
            f"{repo_id} was to be {missing}, and the Hub says that it is not: nothing was published; look at its "
            "settings on the Hub"
        )
