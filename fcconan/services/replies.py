"""Replies that judges read: which rows of which part, and what they must have."""

from typing import Any

from fcconan.data import Table, cell_text, open_table
from fcconan.errors import InputError
from fcconan.services.configuration import argument, option
from fcconan.services.locations import dataset_folder
from fcconan.services.options import ROWS, RowSelection
from fcconan.services.row_tables import Source, listed

REPLIES = argument(
    "Files of replies, folders of datasets, or their names; several are concatenated.",
    many=True,
    role="read",
    metavar="DATASET...",
)


class ReplySelection(RowSelection):
    """Which replies are read, and how their columns are called."""

    subset: str | None = option(
        None,
        help="Config of the dataset, such as replies, pairs or bronze; default: replies.",
        group=ROWS,
        rare=True,
        metavar="NAME",
    )
    split: str | None = option(
        None, help="Split of the dataset; needed where it has several.", group=ROWS, rare=True, metavar="NAME"
    )


def open_replies(sources: Source, options: ReplySelection) -> Table:
    """Opens replies.

    Args:
        sources: One source, or a list of them.
        options: The selection of rows.

    Raises:
        InputError: A source cannot be opened.
    """
    return open_table(
        "replies",
        listed(sources),
        split=options.split,
        part=options.subset,
        rename=options.rename,
        filter=wanted(options),
        locate=dataset_folder,
    )


def wanted(options: RowSelection) -> dict[str, set[str]]:
    """Returns the values of each column whose rows are read."""
    return {column: {cell_text(value) for value in values} for column, values in options.filter.items()}


def names_of(sources: Source) -> str:
    """Returns how messages name sources.

    >>> names_of(["a.csv", "b.csv"]), names_of([{"text": "No."}])
    ('a.csv, b.csv', 'the given rows')
    """
    named = [str(each) for each in listed(sources) if not _is_in_memory(each)]
    return ", ".join(named) or "the given rows"


def _is_in_memory(source: Any) -> bool:
    from os import PathLike

    return not isinstance(source, str | PathLike)


def check_systems(sources: Source, replies: Table) -> None:
    """Checks that replies name the systems that wrote them.

    Args:
        sources: Where they are from, for messages.
        replies: The replies.

    Raises:
        InputError: No reply names one, as is the case for pairs.
    """
    from fcconan.data import UNKNOWN

    if all(row["system"] == UNKNOWN for row in replies):
        raise InputError(
            f"{names_of(sources)} names no system for its replies, as pairs do not, and only replies of different "
            "systems are compared: choose the subset replies, or name a column with --rename system=COLUMN"
        )
