"""Rows that services read: ratings, comparisons, votes and replies, from everything that users can name."""

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

from fcconan.building import dataset_folder
from fcconan.data import Table, cell_text, open_table
from fcconan.errors import InputError
from fcconan.services.configuration import argument
from fcconan.services.options import PartSelection, RowSelection
from fcconan.services.results import Result

# A path, the name of a dataset, a data frame, a `datasets.Dataset`, a table, rows or a result; or a list of these.
Source = str | PathLike[str] | Iterable[Any] | Result


def listed(sources: Source) -> list[Any]:
    """Returns sources as a list; a list of mappings is one source, and a result is the rows that it made.

    >>> listed("rows.csv"), listed([{"rater": "anna"}]), listed(["a.csv", "b.csv"])
    (['rows.csv'], [[{'rater': 'anna'}]], ['a.csv', 'b.csv'])

    Raises:
        InputError: The list is empty.
    """
    given = sources if isinstance(sources, list | tuple) else [sources]
    if not given:
        raise InputError("found no source of rows: give at least one file, folder, name or table")
    if all(isinstance(each, Mapping) for each in given) and given is sources:
        return [sources]
    made = [each.source_rows() if isinstance(each, Result) else each for each in given]
    return [list(each) if isinstance(each, Iterator) else each for each in made]  # read a second time


def open_rows(
    kind: str,
    sources: Source,
    options: RowSelection,
) -> Table:
    """Opens the rows that a configuration selects.

    Args:
        kind: `replies`, `ratings`, `comparisons` or `votes`.
        sources: One source, or a list of them.
        options: The selection of rows.

    Raises:
        InputError: A source cannot be opened.
    """
    return open_table(
        kind,
        listed(sources),
        split=options.split,
        part=options.subset if isinstance(options, PartSelection) else None,
        rename=options.rename,
        filter=wanted(options),
        locate=dataset_folder,
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
