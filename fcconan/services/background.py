"""Background knowledge that a prompt shows: the group of its options, and its source."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fcconan.errors import InputError
from fcconan.services.configuration import Configuration, option
from fcconan.services.locations import dataset_folder

BACKGROUND = "Background knowledge"
PASSAGES = 3


class Background(Configuration):
    """Background knowledge about messages."""

    background: Path | None = option(
        None,
        help="Background knowledge: a built kn-conan or a folder of passages.",
        group=BACKGROUND,
        rare=True,
        metavar="FOLDER",
        role="folder",
    )
    passages: int | None = option(
        None, help="Passages per message, from a folder of passages; default: 3.", group=BACKGROUND, rare=True, ge=1
    )


def knowledge_of(options: Background, *, shown: bool) -> Any:
    """Opens background knowledge: a dataset with pairs, or a folder of passages; None for none.

    Args:
        options: Its folder, and the number of passages.
        shown: Whether the prompt shows background at all.

    Raises:
        InputError: The folder cannot be used, or the prompt shows no background.
    """
    from fcconan.judging import KnownKnowledge, Passages

    if options.background is None:
        options.refuse("passages", why="only for --background FOLDER")
        return None
    if not shown:
        raise InputError(
            "the judge is shown no background: leave --background out, or choose --rating-method grounded, a task "
            "whose context holds background, or a prompt with {{background}}"
        )
    folder = dataset_folder(options.background)
    if not (folder / "pairs").is_dir():
        return Passages(folder, k=options.passages or PASSAGES)
    options.refuse("passages", why=f"{folder} holds knowledge about messages and no passages")
    return KnownKnowledge(folder)


def count_background(replies: Iterable[Mapping[str, Any]], knowledge: Any) -> dict[str, int]:
    """Counts the items of replies, and those without background knowledge, neither a row's own nor found.

    Args:
        replies: Rows of replies.
        knowledge: See `knowledge_of`.
    """
    items: dict[int, bool] = {}
    for row in replies:
        item = hash(row["item_id"])
        own = str(row.get("background") or "").strip()
        items[item] = items.get(item, False) or bool(own or (knowledge is not None and knowledge(row)))
    return {"items": len(items), "without": sum(not known for known in items.values())}


def background_notice(counts: Mapping[str, int], knowledge: Any) -> str | None:
    """Returns a sentence about items without background knowledge; None where each has some.

    Args:
        counts: See `count_background`.
        knowledge: See `knowledge_of`.
    """
    if not counts["without"]:
        return None
    why = "they have none, and none was given" if knowledge is None else knowledge.nothing
    number = f"{counts['without']} of {counts['items']} items"
    return f"{number} have no background knowledge ({why}): their replies are not rated"
