"""Options of a publication."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PublishingOptions:
    """Options of a publication.

    Attributes:
        dry_run: Whether to plan only, without changes.
        tag: Name of the version; by default one that changes with the content.
        private: Whether to make the repository private.
        gated: `auto` or `manual`: readers must request access, which is granted automatically or by hand.
        may_redistribute: Confirmation that the user may redistribute restricted texts.
    """

    dry_run: bool = False
    tag: str | None = None
    private: bool = False
    gated: str | None = None
    may_redistribute: bool = False
