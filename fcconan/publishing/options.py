"""How something is published."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PublishingOptions:
    """How something is published.

    Attributes:
        dry_run: Only find out what would be done.
        tag: The version; by default one that changes with the content.
        private: Make the repository private.
        gated: `auto` or `manual`: readers must ask, and are let in at once or by hand.
        may_redistribute: The user's word that restricted text may be passed on.
        labels_only: Leave the text columns of rows out. Every string that is left must have a closed form.
        about: The dataset folder that rows are about. If its texts may be passed on, so may theirs.
        title: Title of rows; by default from their file.
        licence: Licence of rows, an identifier of the Hub.
        language: Language of rows, a code of ISO 639-1.
        drop_columns: Columns of rows to leave out.
    """

    dry_run: bool = False
    tag: str | None = None
    private: bool = False
    gated: str | None = None
    may_redistribute: bool = False
    labels_only: bool = False
    about: Path | None = None
    title: str | None = None
    licence: str = "other"
    language: str = "en"
    drop_columns: Collection[str] = ()
