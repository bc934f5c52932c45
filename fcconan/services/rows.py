"""Rows that services read: ratings, comparisons, votes and replies, from everything that users can name."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fcconan.data import UNKNOWN, Table, cell_text, open_table
from fcconan.errors import InputError
from fcconan.services.configuration import Role, argument
from fcconan.services.locations import built_folder, dataset_folder
from fcconan.services.options import PartSelection, RowSelection
from fcconan.services.results import Result

# A path, the name of a dataset, a data frame, a `datasets.Dataset`, a table, rows or a result; or a list of these.
Source = str | PathLike[str] | Iterable[Any] | Result


def rows_argument(flag: str, help: str, *, many: bool = False, role: Role = "read", rare: bool = False) -> Any:
    """Declares an option that names rows.

    Args:
        flag: Its spelling.
        help: As in `Argument`, and so are the following ones.
        many: See above.
        role: See above.
        rare: See above.
    """
    return argument(help, flag=flag, many=many, metavar="FILE|FOLDER|NAME", role=role, rare=rare)


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


def run_name(source: Source, split: str | None = None) -> Path | str:
    """Returns the name of a source in the record of a resumable run: a path or name, or the hash of rows in memory.

    Raises:
        InputError: The value is not a source.
    """
    if isinstance(source, str | PathLike):
        return Path(source)
    return open_table("rows", [source], split=split).population


@contextmanager
def as_file(source: Source, split: str | None = None) -> Iterator[Path]:
    """Gives a source as a path, for readers of files; rows in memory are in a temporary file for as long.

    Args:
        source: A path, the name of a dataset, or rows in memory.
        split: The split of a `DatasetDict`.

    Raises:
        InputError: The rows cannot be read, or the message of an error within the block, which names the rows.
    """
    if isinstance(source, str | PathLike):
        yield built_folder(source)
        return
    table = open_table("rows", [source], split=split)
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{table.population.partition('@')[0]}.jsonl"
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in table), encoding="utf-8")
        try:
            yield path
        except InputError as error:
            raise InputError(str(error).replace(str(path), path.stem)) from error


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


def check_systems(sources: Source, replies: Table) -> None:
    """Checks that replies name the systems that wrote them.

    Args:
        sources: Where they are from, for messages.
        replies: The replies.

    Raises:
        InputError: No reply names one, as is the case for pairs.
    """
    if all(row["system"] == UNKNOWN for row in replies):
        raise InputError(
            f"{names_of(sources)} names no system for its replies, as pairs do not, and only replies of different "
            "systems are compared: choose the subset replies, or name a column with --rename system=COLUMN"
        )
