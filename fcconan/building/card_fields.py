"""What the card of a release says, for tools that want it in fields."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fcconan.data import CARD
from fcconan.errors import InputError

_HEAD = re.compile(r"---\n(?P<metadata>.*?)\n---\n\s*(?P<body>.*)", re.DOTALL)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_CITATION = re.compile(r"```bibtex\n(.*?)\n```", re.DOTALL)
_HOMEPAGE = re.compile(r"^Homepage: <([^>]+)>", re.MULTILINE)


@dataclass(frozen=True)
class Card:
    """A card, taken apart.

    Attributes:
        metadata: The YAML block at its head.
        title: The heading.
        summary: What stands between the heading and the content notice, as one line.
        notice: The content notice, as one line.
        sections: Heading to text.
        homepage: Where upstream presents the dataset, or None.
        citation: The BibTeX entry, or None.
    """

    metadata: dict[str, Any]
    title: str
    summary: str
    notice: str
    sections: dict[str, str]
    homepage: str | None
    citation: str | None

    def one(self, name: str) -> str | None:
        """Returns a value of the YAML block if there is exactly one."""
        value = self.metadata.get(name)
        values = value if isinstance(value, list) else [value]
        return str(values[0]) if len(values) == 1 and values[0] is not None else None


def read_card(folder: Path) -> Card:
    """Reads the card of a release.

    Raises:
        InputError: There is none, or it has no YAML block at its head.
    """
    path = folder / CARD
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"{path} cannot be read ({reason}): build the dataset again") from error
    head = _HEAD.fullmatch(text)
    try:
        metadata = yaml.safe_load(head["metadata"]) if head else None
    except yaml.YAMLError:
        metadata = None
    if head is None or not isinstance(metadata, dict):
        raise InputError(f"{path} has no YAML block at its head: build the dataset again")
    parts = _SECTION.split(head["body"])
    top = [" ".join(part.split()) for part in parts[0].split("\n\n") if part.strip()]
    notice = next((part for part in top if part.startswith("> ")), "")
    citation, homepage = _CITATION.search(text), _HOMEPAGE.search(text)
    return Card(
        metadata=metadata,
        title=top[0].removeprefix("# ") if top else "",
        summary=" ".join(part.replace("**", "") for part in top[1:] if part != notice),
        notice=notice.removeprefix("> ").replace("**", "").removeprefix("Content notice. "),
        sections={name.strip(): text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)},
        homepage=homepage[1] if homepage else None,
        citation=citation[1] if citation else None,
    )
