"""Options that older commands share with judges; deleted with the last of them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fcconan.errors import InputError

Split = Annotated[str | None, typer.Option("--split", help="Split of the folder, where it has several.")]
Background = Annotated[
    Path | None, typer.Option("--background", help="Background knowledge: a built kn-conan, or a folder of passages.")
]
PassageCount = Annotated[
    int | None, typer.Option("--passages", min=1, help="Passages a message, of a folder of passages; default: 3.")
]


def named(option: str, given: list[str] | None, expected: str) -> dict[str, str]:
    """Reads options such as NAME=COLUMN.

    Raises:
        InputError: One is written otherwise, or a name is given twice.
    """
    found: dict[str, str] = {}
    for each in given or ():
        name, equals, theirs = each.partition("=")
        if not (name and equals and theirs):
            raise InputError(f"{option} {each}: expected {expected}")
        if name in found:
            raise InputError(f"{option} {each}: {name} is {found[name]} already; name it once")
        found[name] = theirs
    return found


def knowledge_of(folder: Path | None, passages: int | None, *, shown: bool) -> Any:
    """Opens background knowledge: a dataset with pairs, or a folder of passages.

    Args:
        folder: Where it is; None for none.
        passages: How many passages a message gets; None for the default.
        shown: Whether the judge is shown background at all.

    Raises:
        InputError: It cannot be used, or nobody would see it.
    """
    from fcconan import services

    return services.knowledge_of(services.Background.model_construct(background=folder, passages=passages), shown=shown)
