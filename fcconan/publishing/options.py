"""Options of a publication."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PublishingOptions:
    """Options of a publication.

    Attributes:
        dry_run: Whether to plan only, without changes.
        tag: Name of the version; by default one that changes with the content.
        private: Whether to make the repository private.
        gated: `auto` or `manual`: readers must request access, which is granted automatically or by hand.
        may_redistribute: Confirmation that the user may redistribute restricted texts.
        labels_only: Whether to leave out the text columns of rows. All other strings must have a closed form.
        about: Dataset folder that the rows refer to. If its texts may be redistributed, so may the same texts in rows.
        title: Title of rows; by default the name of the file.
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
