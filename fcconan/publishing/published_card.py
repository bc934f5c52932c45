"""The card as published: the repository and the tag replace the placeholder of a local folder."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from fcconan.data import CARD, MANIFEST, file_sha256, temporary_folder
from fcconan.publishing.contents import Contents

PLACEHOLDER = "PATH_OR_REPOSITORY"
_CALL = re.compile(rf'load_dataset\("{PLACEHOLDER}", "[^"\n]*", split="[^"\n]*"(?=\))')
_VERSION = "(version of the package that built it, and a fingerprint of the content)."


@contextmanager
def name_repository(contents: Contents, repo_id: str, tag: str) -> Iterator[Contents]:
    """Writes the published card, and the manifest with its hash, to a temporary folder.

    Args:
        contents: The content to publish. Its folder is unchanged.
        repo_id: `owner/name`.
        tag: Tag of the publication.

    Yields:
        The content with the published card and manifest.
    """
    card = publish_card(contents.path(CARD).read_text(encoding="utf-8"), repo_id, tag)
    with temporary_folder("fcconan-card-") as folder:
        files = {CARD: folder / CARD, MANIFEST: folder / MANIFEST}
        files[CARD].write_text(card, encoding="utf-8")
        entry = {"sha256": file_sha256(files[CARD]), "bytes": files[CARD].stat().st_size}
        manifest = {**contents.manifest, "files": {**contents.manifest["files"], CARD: entry}}
        files[MANIFEST].write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        hashes = contents.hashes | {name: file_sha256(path) for name, path in files.items()}
        yield replace(contents, manifest=manifest, hashes=hashes, replaced=files)


def publish_card(card: str, repo_id: str, tag: str) -> str:
    """Returns a card with the repository, and the tag as the revision of its example.

    Examples:
        >>> publish_card('load_dataset("PATH_OR_REPOSITORY", "gold", split="test")', "me/oaks", "v1.0")
        'load_dataset("me/oaks", "gold", split="test", revision="v1.0")'
    """
    named = _CALL.sub(lambda call: f'{call[0]}, revision="{tag}"', card).replace(PLACEHOLDER, repo_id)
    return named.replace(_VERSION, f"{_VERSION} It has the tag `{tag}` in this repository.", 1)
