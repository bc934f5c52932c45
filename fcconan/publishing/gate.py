"""Access to published texts: restricted texts need the confirmation of the user and a closed repository."""

from fcconan.errors import InputError
from fcconan.publishing.contents import Contents
from fcconan.publishing.hub import RepositoryState
from fcconan.publishing.options import PublishingOptions
from fcconan.publishing.restricted import format_columns

ACCESS_OPTIONS = "--private or --gated manual"


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
    advice = f"publish the output of `{contents.labels_only_command}`"
    if not contents.has_catalogue_recipe:
        advice += (
            "; or, if everyone may have the texts, set `redistributable: true` in the recipe and build the folder again"
        )
    raise InputError(
        f"{contents.name} contains text that must not be redistributed ({format_columns(restricted)}): {advice}; or, "
        f"if you have the right to redistribute it, give --i-may-redistribute and {ACCESS_OPTIONS}"
    )


def check_planned_visibility(
    repo_id: str, remote: RepositoryState, restricted: dict[str, list[str]], options: PublishingOptions
) -> None:
    """Checks that a repository for restricted text is private or gated, or will be.

    Args:
        repo_id: `owner/name`.
        remote: Current state of the repository.
        restricted: Columns that must not be redistributed, by config.
        options: The requested visibility.

    Raises:
        InputError: The repository is or would be public.
    """
    if not restricted or options.private or options.gated or remote.has_restricted_access:
        return
    state = "is public and not gated" if remote.exists else "would be public"
    raise InputError(
        f"{repo_id} {state}, and must not give public access to the texts of {', '.join(restricted)}: give "
        f"{ACCESS_OPTIONS}"
    )


def check_visibility(
    repo_id: str, remote: RepositoryState, restricted: dict[str, list[str]], options: PublishingOptions
) -> None:
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
        if restricted and not remote.has_restricted_access
        else None
    )
    if missing:
        raise InputError(
            f"{repo_id} must be {missing}, but is not according to the Hub: nothing was published; check its settings "
            "on the Hub"
        )
