"""The generation card: settings, counts and notes of a file of replies, as Markdown next to it.

The card depends on the replies and on stored answers only: a second run writes the same bytes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data import short_hash
from fcconan.generation.items import Item

if TYPE_CHECKING:
    from fcconan.generation.splits import DatasetSplit

# Packages whose versions may change replies, for each kind of component.
_PACKAGES = {
    "local": ("torch", "transformers", "tokenizers", "peft"),
    "endpoint": ("aiohttp",),
    "found": ("sentence-transformers", "scikit-learn", "rank-bm25", "bm25s"),
}
CARD_COLUMNS = ("system", "strategy", "replies", "missing", "refusals", "flags", "mean words")


def describe_messages(part: "DatasetSplit", items: Sequence[Item]) -> dict[str, Any]:
    """Describes the messages: dataset, fingerprint, config, split, number of items, and a hash of their content."""
    content = short_hash(*(text for item in items for text in (item.item_id, item.hate_speech, *item.references)))
    found: dict[str, Any] = {
        "name": part.dataset,
        "fingerprint": part.fingerprint,
        "config": part.config,
        "split": part.split,
    }
    found |= {"items": len(items), "items_digest": content}
    return {key: value for key, value in found.items() if value is not None}


def package_versions(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Returns the installed versions of fcconan and of the packages that a generator depends on."""
    import fcconan

    model = configuration.get("model") or {}
    names: list[str] = []
    if model.get("kind") == "local":
        names += _PACKAGES["local"]
    if "endpoint" in model:
        names += _PACKAGES["endpoint"]
    if any(configuration.get(each) for each in ("examples", "candidates", "background")):
        names += _PACKAGES["found"]
    found = {"fcconan": fcconan.__version__}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def card_of(name: str, summary: Mapping[str, Any]) -> str:
    """Returns the card as Markdown.

    Args:
        name: Name of the file of replies.
        summary: Result of `fcconan generate --json`: `dataset`, `systems`, `configuration`, `answers`, `packages` and,
            if present, `picked` and `notes`.
    """
    tokens = ("prompt", "completion")
    table = [
        [*line, *(each["tokens"][name] for name in tokens)]
        for each, line in zip(summary["systems"], table_rows(summary), strict=True)
    ]
    parts = [
        f"# {_cell(name)}",
        "Counter-narratives, one row for each message and system, with the settings of each reply. A missing reply has "
        "a `reason` and no text; `flags` lists possible problems. No person has checked these replies: review them "
        "before you show them to anyone.",
        _table([*CARD_COLUMNS, *(f"{name} tokens" for name in tokens)], table),
        "## Messages",
        _settings(summary["dataset"]),
        "## How they were made",
        _settings(summary["configuration"]),
    ]
    answers = summary.get("answers")
    if answers:
        parts.append(f"The answers came between {answers['first']} and {answers['last']}.")
    elif summary["configuration"].get("model"):
        parts.append("The answers have no date: they were read from a record, or nothing was answered.")
    for title, key in (("Choice among candidates", "picked"), ("Software", "packages")):
        if summary.get(key):
            parts += [f"## {title}", _settings(summary[key])]
    if summary.get("notes"):
        parts += ["## Notes", "\n".join(f"- {_cell(note)}" for note in summary["notes"])]
    return "\n\n".join(parts) + "\n"


def write_card(out: Path, summary: Mapping[str, Any]) -> Path:
    """Writes the card of a file of replies next to it atomically, and returns its path.

    Raises:
        OSError: The card cannot be written.
    """
    from fcconan.data import write_whole

    path = card_path(out)
    write_whole(path, card_of(out.name, summary), errors="backslashreplace")
    return path


def card_path(out: Path) -> Path:
    """Returns the path of the card of a file of replies."""
    return out.with_name(f"{out.name}.card.md")


def table_rows(summary: Mapping[str, Any]) -> list[list[Any]]:
    """Returns one row with the columns `CARD_COLUMNS` for each system."""
    return [
        [
            each["system"],
            each["strategy"],
            each["n"],
            _counted(each["missing"]),
            each["refusals"],
            _counted(each["flags"]),
            "" if each["mean_words"] is None else each["mean_words"],
        ]
        for each in summary["systems"]
    ]


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items())


def _settings(found: Mapping[str, Any]) -> str:
    return _table(("setting", "value"), list(_flat(found)))


def _flat(found: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in found.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{key}.")
        elif isinstance(value, str) and value:
            yield f"{before}{key}", value
        else:
            yield f"{before}{key}", json.dumps(value, ensure_ascii=False, default=str)


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(value: Any) -> str:
    return " ".join(str(value).split()).replace("|", "\\|").replace("<", "&lt;")
