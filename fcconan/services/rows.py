"""Rows that services read: ratings, comparisons, votes and replies, from everything that users can name."""

from collections.abc import Collection, Iterable, Mapping
from os import PathLike
from typing import Any

from fcconan.data import Table, cell_text, open_table
from fcconan.errors import InputError
from fcconan.scoring import RatedReplies
from fcconan.services.configuration import argument
from fcconan.services.locations import dataset_folder
from fcconan.services.options import PartSelection, RowSelection, WideRowSelection

# A path, the name of a dataset, a data frame, a `datasets.Dataset`, a table or rows; or a list of these.
Source = str | PathLike[str] | Iterable[Any]
SOURCES = argument("Files of rows, folders of datasets, or their names.", many=True, role="folder")


def replies_argument(help: str, *, rare: bool = False) -> Any:
    """Declares `--replies`."""
    return argument(help, flag="--replies", metavar="FILE|FOLDER|NAME", role="folder", rare=rare)


def listed(sources: Source) -> list[Any]:
    """Returns sources as a list; a list of mappings is one source.

    >>> listed("rows.csv"), listed([{"rater": "anna"}]), listed(["a.csv", "b.csv"])
    (['rows.csv'], [[{'rater': 'anna'}]], ['a.csv', 'b.csv'])

    Raises:
        InputError: The list is empty.
    """
    if not isinstance(sources, list | tuple):
        return [sources]
    if not sources:
        raise InputError("found no source of rows: give at least one file, folder, name or table")
    return [sources] if all(isinstance(each, Mapping) for each in sources) else [*sources]


def open_rows(
    kind: str,
    sources: Source,
    options: RowSelection,
    *,
    raters: Collection[str] = (),
    people: Collection[str] = (),
    replies: Table | None = None,
) -> Table:
    """Opens rows as a configuration says.

    Args:
        kind: `replies`, `ratings`, `comparisons` or `votes`.
        sources: One source, or a list of them.
        options: The selection of rows.
        raters: Only rows of these raters; none for all.
        people: Raters of `wide_column` who are people.
        replies: The replies that the rows are about, which share the renamed columns.

    Raises:
        InputError: A source cannot be opened.
    """
    filters = wanted(options)
    if raters:
        filters.setdefault("rater", set()).update(map(cell_text, raters))
    return open_table(
        kind,
        listed(sources),
        split=options.split,
        part=options.subset if isinstance(options, PartSelection) else None,
        rename=options.rename,
        filter=filters,
        wide_columns=options.columns if isinstance(options, WideRowSelection) else None,
        people=people,
        beside=() if replies is None else (replies,),
        locate=dataset_folder,
    )


def open_descriptions(replies: Source | None, options: RowSelection) -> Table | None:
    """Opens rows that only describe replies: their items, systems and texts; None where there are none.

    Raises:
        InputError: They cannot be opened.
    """
    if replies is None:
        return None
    return open_table("replies", listed(replies), rename=options.rename, complete=False, locate=dataset_folder)


def rated_replies(ratings: Table, replies: Table | None = None) -> RatedReplies:
    """Reads ratings and the replies that they rate: given ones, those of the same dataset, or the ratings' own columns.

    Raises:
        InputError: As `RatedReplies`, or a source cannot be read.
    """
    about = replies or ratings.replies()
    return RatedReplies(ratings, None if about is None else list(about), partial=replies is None)


def population(*tables: Table | None) -> str:
    """Returns how signatures name tables; tables of replies that only describe others are marked as such."""
    return "+".join(
        "+".join(f"replies:{name.partition('/')[0]}" for name in each.names) if not each.complete else each.population
        for each in tables
        if each is not None
    )


REPLIES = argument(
    "Files of replies, folders of datasets, or their names; several are concatenated.",
    many=True,
    role="read",
    metavar="DATASET...",
)


def wanted(options: RowSelection) -> dict[str, set[str]]:
    """Returns the values of each column whose rows are read."""
    return {column: {cell_text(value) for value in values} for column, values in options.filter.items()}


def names_of(sources: Source) -> str:
    """Returns how messages name sources.

    >>> names_of(["a.csv", "b.csv"]), names_of([{"text": "No."}])
    ('a.csv, b.csv', 'the given rows')
    """
    named = [str(each) for each in listed(sources) if isinstance(each, str | PathLike)]
    return ", ".join(named) or "the given rows"


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
