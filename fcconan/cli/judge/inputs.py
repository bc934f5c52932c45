"""What verbs of `fcconan judge` are given: replies and background knowledge, from options to rows."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.data import Table

Dataset = Annotated[
    list[str],
    typer.Argument(
        help="Folders that `fcconan build` wrote, names of datasets, or CSV, TSV, JSONL or parquet files; several are "
        "concatenated."
    ),
]
Config = Annotated[str, typer.Option("--config", help="Part of the folder: replies, or pairs, bronze, ...")]
Split = Annotated[str | None, typer.Option("--split", help="Split of the folder, where it has several.")]
Column = Annotated[
    list[str] | None, typer.Option("--column", help="NAME=COLUMN of the file, such as text=predicted_reply.")
]
Background = Annotated[
    Path | None, typer.Option("--background", help="Background knowledge: a built kn-conan, or a folder of passages.")
]
PassageCount = Annotated[
    int | None, typer.Option("--passages", min=1, help="Passages a message, of a folder of passages; default: 3.")
]


def open_replies(dataset: Sequence[str | Path], *, config: str, split: str | None, column: list[str] | None) -> "Table":
    """Opens the replies that the options name.

    Raises:
        InputError: They are not there, or a column option is wrong.
    """
    from fcconan.data import open_table
    from fcconan.services import dataset_folder

    return open_table(
        "replies",
        list(map(str, dataset)),
        split=split,
        part=config,
        rename=columns_of(column),
        locate=dataset_folder,
    )


def columns_of(given: list[str] | None) -> dict[str, str]:
    """Reads NAME=COLUMN options.

    Raises:
        InputError: One is written otherwise, or names what no reply has.
    """
    from fcconan.data import REPLY

    found = named("--column", given, "NAME=COLUMN, such as text=predicted_reply")
    known = [*REPLY.kinds, "pair_id", "source_id", "background"]
    unknown = next((name for name in found if name not in known), None)
    if unknown is not None:
        raise InputError(f"--column {unknown}={found[unknown]}: replies have no {unknown!r}, only {', '.join(known)}")
    return found


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


def count_background(replies: Iterable[Mapping[str, Any]], knowledge: Any) -> dict[str, int]:
    """Counts the items of replies, and those without background knowledge, neither a row's own nor found.

    Says so before anything is asked about the others.
    """
    from fcconan import services

    counts = services.count_background(replies, knowledge)
    if (notice := services.background_notice(counts, knowledge)) is not None:
        print(notice)
    return counts
