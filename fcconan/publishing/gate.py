"""Access to published texts: restricted texts need the confirmation of the user and a closed repository."""

from fcconan.errors import InputError
from fcconan.publishing.contents import Contents
from fcconan.publishing.hub import Remote
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.restricted import columns_text

CLOSE = "--private or --gated manual"


def check_permission(contents: Contents, restricted: dict[str, list[str]], *, may_redistribute: bool) -> None:
    """Checks that the user has confirmed the publication of restricted texts.

    Args:
        contents: The folder.
        restricted: Columns of the folder that must not be redistributed, by config.
        may_redistribute: Confirmation of the user.

    Raises:
        InputError: The folder has restricted texts without confirmation.
    """
    if not restricted or may_redistribute:
        return
    instead = (
        "give --labels-only, which leaves texts out, and --drop-column for other columns"
        if contents.is_rows
        else f"publish the output of `fcconan build {contents.name} --labels-only`"
    )
    raise InputError(
        f"{contents.title} contains text that must not be redistributed ({columns_text(restricted)}): {instead}; or, if "
        f"you have the right to redistribute it, give --i-may-redistribute and {CLOSE}"
    )


def check_closed(repo_id: str, remote: Remote, restricted: dict[str, list[str]], options: PublishingOptions) -> None:
    """Checks that a repository for restricted text is private or gated, or will be.

    Args:
        repo_id: `owner/name`.
        remote: Current state of the repository.
        restricted: Columns that must not be redistributed, by config.
        options: The requested visibility.

    Raises:
        InputError: The repository is or would be public.
    """
    if not restricted or options.private or options.gated or remote.is_closed:
        return
    state = "is public and not gated" if remote.exists else "would be public"
    raise InputError(
        f"{repo_id} {state}, and must not give public access to the texts of {', '.join(restricted)}: give {CLOSE}"
    )


def check_is_closed(repo_id: str, remote: Remote, restricted: dict[str, list[str]], options: PublishingOptions) -> None:
    """Checks that the repository has the requested visibility after its change.

    Args:
        repo_id: `owner/name`.
        remote: State of the repository, as reported by the Hub.
        restricted: Columns that must not be redistributed, by config.
        options: The requested visibility.

    Raises:
        InputError: The repository has another visibility.
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
            f"{repo_id} must be {missing}, but is not according to the Hub: nothing was published; check its settings "
            "on the Hub"
        )
