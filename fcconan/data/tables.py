"""The reader of rows: opens files, folders, names and objects as tables of one kind of row.

A source is a file of rows (CSV, TSV, JSONL, parquet), a dataset folder, a name that `locate` resolves to one of these
(in the catalogue or on the Hub), a pandas data frame, a `datasets.Dataset`, or an iterable of mappings. Several sources
of one kind are concatenated.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data.columns import NEEDED, check_there, rename_columns
from fcconan.data.files import SUFFIXES, list_configs, part_files, read_rows, row_file
from fcconan.data.ids import cell_text, name_with_hash, with_ids
from fcconan.data.manifest import MANIFEST, read_manifest
from fcconan.data.reply_ids import ReplyIds, later_columns, text_columns
from fcconan.errors import InputError

if TYPE_CHECKING:
    import pandas

Row = dict[str, Any]
Locate = Callable[[str], Path]
_BATCH = 2_000


class PlacedRow(Row):
    """A row with its position in the source, for messages.

    Attributes:
        place: Position, such as `ratings.csv, row 3`.
    """

    def __init__(self, row: Row, place: str) -> None:
        super().__init__(row)
        self.place = place


@dataclass(frozen=True)
class _Stream:
    """The rows of one file or of one object in memory.

    Attributes:
        name: Name of the source in messages.
        short: Name of the source in positions of rows.
        read: Function that reads the rows from the beginning.
        sparse: Whether a row may lack empty columns.
    """

    name: str
    short: str
    read: Callable[[], Iterable[Row]]
    sparse: bool

    def first(self) -> Row:
        """Returns the first row, or an empty one."""
        return next(iter(self.read()), {})


def open_table(
    kind: str,
    sources: Any,
    *,
    split: str | None = None,
    part: str | None = None,
    rename: Mapping[str, str] | None = None,
    filter: Mapping[str, Collection[str]] | None = None,
    complete: bool = True,
    companions: "Sequence[Table]" = (),
    locate: Locate = Path,
) -> "Table":
    """Opens one or several sources as one table.

    Args:
        kind: `pairs`, `votes`, `replies`, `ratings`, `comparisons`, `rankings`, or `rows` for other rows.
        sources: A file, a dataset folder, a name, a data frame, a `datasets.Dataset` or an iterable of mappings; or a
            list of these, whose rows are concatenated.
        split: Split of datasets; required if a dataset has several.
        part: Config of datasets; by default the kind.
        rename: Mapping from a column of this package to its name in the sources.
        filter: Allowed values by column, as text. A row must have one of the values in each column.
        complete: Whether every row gets its texts and ids (replies only). Otherwise the rows only describe rated
            replies: texts may be missing, all splits are read, and replies without `reply_id` occur a second time
            with the id by version 1 of the rule, if it differs.
        companions: Other tables with the same `rename`. A renamed column must be in one of the tables.
        locate: Function that turns a name into the path of a file or folder.

    Raises:
        InputError: A source does not exist, or a part or split of a dataset is missing.

    >>> table = open_table("votes", [[{"pair_id": 1.0, "rater": "anna", "label": "appropriate"}]])
    >>> list(table)
    [{'pair_id': '1', 'rater': 'anna', 'label': 'appropriate'}]
    """
    sources = sources if isinstance(sources, list | tuple) else [sources]
    if split is not None and all(
        isinstance(each, str | PathLike) and Path(each).suffix in SUFFIXES for each in sources
    ):
        files = ", ".join(map(str, sources))
        they = "are files and have" if len(sources) > 1 else "is a file and has"
        raise InputError(f"{files} {they} no splits: leave --split out")
    table = Table(kind, complete=complete, companions=companions)
    table.rename, table.filter = dict(rename or {}), dict(filter or {})
    for source in sources:
        table.add(source, part or kind, split, locate)
    return table


class Table:
    """Rows of one kind. Each iteration reads the sources again, with few rows in memory at a time.

    Attributes:
        kind: Kind of the rows.
        folders: Dataset folders among the sources.
        files: Files of the sources.
    """

    def __init__(self, kind: str, *, complete: bool, companions: "Sequence[Table]") -> None:
        self.kind, self.complete, self.companions = kind, complete, companions
        self.rename: dict[str, str] = {}
        self.filter: dict[str, Collection[str]] = {}
        self.folders: list[Path] = []
        self.files: list[Path] = []
        self._names: list[Callable[[], str]] = []  # computed on demand, because hashing reads all rows
        self._streams: list[_Stream] = []
        self._checked = False

    @property
    def names(self) -> list[str]:
        """Files and datasets with their hashes, without selected columns and rows."""
        return list(dict.fromkeys(name() for name in self._names))

    @property
    def population(self) -> str:
        """The data in signatures: files and datasets with their hashes, and selected columns and rows."""
        chosen = [f"{column}={'/'.join(sorted(values))}" for column, values in sorted(self.filter.items())]
        chosen += [f"{name}={theirs}" for name, theirs in sorted(self.rename.items())]
        return "+".join([*self.names, *([f"({','.join(chosen)})"] if chosen else [])])

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint of the data if the table has a single file or dataset; otherwise None."""
        names = self.names
        return names[0].partition("@")[2].partition("/")[0] or None if len(names) == 1 else None

    def __iter__(self) -> Iterator[PlacedRow]:
        """Yields the selected rows.

        Raises:
            InputError: A source cannot be read, lacks columns or has no row, an id is missing, no row is selected, or
                a reply is a duplicate.
        """
        if not self._checked:
            self._check_columns()
            self._checked = True
        met: dict[str, set[str]] = {column: set() for column in self.filter}
        ids = ReplyIds()
        wanted = False
        for stream in self._streams:
            checked = False
            for row, place in self._rows(stream, ids):
                for column, values in met.items():
                    values.add(cell_text(row.get(column)))
                if met and not all(cell_text(row.get(column)) in values for column, values in self.filter.items()):
                    continue
                if not checked:
                    self._check_needed(stream, row)
                    wanted = checked = True
                yield PlacedRow(row, place)
        self._check_met(met, wanted)

    def to_frame(self) -> "pandas.DataFrame":
        """Returns the rows as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self])

    def replies(self) -> "Table | None":
        """Returns the replies of all splits of the datasets among the sources, or None if no dataset has any."""
        having = [folder for folder in self.folders if any((folder / "replies").glob("*.parquet"))]
        return open_table("replies", having, complete=False) if having else None

    def add(self, source: Any, part: str, split: str | None, locate: Locate) -> None:
        """Opens one more source.

        Args:
            source: As in `open_table`.
            part: Config of a dataset.
            split: Split of a dataset.
            locate: As in `open_table`.

        Raises:
            InputError: The source does not exist, or a part or split of a dataset is missing.
        """
        if not isinstance(source, str | PathLike):
            self._streams.append(stream := _in_memory(source, split))
            self._names.append(lambda: f"{stream.short}@{_digest(stream.read())}")
            return
        place = locate(str(source)) if isinstance(source, str) else Path(source)
        if _is_file(place):
            self._add_file(row_file(place))
            self._names.append(lambda: name_with_hash(place))
            return
        self.folders.append(place)
        parts = sorted(list_configs(place))
        if self.kind != "replies" and parts and part not in parts:
            raise InputError(f"{place} has no {part}, only {', '.join(parts)}: give files or a dataset with {part}")
        if self.kind == "replies" and not self.complete and split is None:
            splits = sorted({file.name.split("-")[0] for file in (place / part).glob("*.parquet")})
            files = [file for each in (splits or (None,)) for file in part_files(place, each, part)]
        else:
            files = part_files(place, split, part)
        for file in files:
            self._add_file(file)
        name = place.name
        if (place / MANIFEST).is_file():
            manifest = read_manifest(place)
            name = f"{manifest['name']}@{manifest['fingerprint']}"
        self._names.append(lambda: name if split is None else f"{name}/{split}")

    def _add_file(self, file: Path) -> None:
        self.files.append(file)
        self._streams.append(_Stream(str(file), file.name, lambda: read_rows(file), file.suffix == ".jsonl"))

    def _rows(self, stream: _Stream, ids: ReplyIds) -> Iterator[tuple[Row, str]]:
        """Yields rows with the columns of this package, and their positions."""
        read = enumerate(stream.read(), start=1)
        if self.kind != "replies" or (not self.complete and "reply_id" in rename_columns(stream.first(), self.rename)):
            for number, raw in read:
                place = f"{stream.short}, row {number}"
                yield with_ids(rename_columns(raw, self.rename), place), place
            return
        names: dict[str, str | None] | None = None
        for number, raw in read:
            names = names or self._text_columns(raw, stream)
            place = f"{stream.name}, row {number}"
            row, earlier = ids.complete(raw, names | later_columns(raw, names), place)
            yield row, place
            if not self.complete and earlier != row["reply_id"]:
                yield {**row, "reply_id": earlier}, place

    def _check_columns(self) -> None:
        """Checks that a source has each renamed column, and that all sources have the columns of filters."""
        first = {stream.name: (stream, stream.first()) for stream in self._streams}
        if not any(row for _, row in first.values()):
            cure = "give replies to judge" if self.kind == "replies" else "check the file"
            raise InputError(f"{', '.join(first)} has no rows: {cure}")
        known = {column for _, row in first.values() for column in row}
        known |= {column for table in self.companions for stream in table._streams for column in stream.first()}
        name, (_, row) = next(iter(first.items()))
        if self.complete:
            check_there(name, [column for column in self.rename.values() if column not in known], row)
        for name, (_, row) in first.items():
            if row:
                ours = rename_columns(row, self.rename)
                derived = NEEDED["replies"] + ("reply_id", "item_id", "hs_id", "system") if self._derives else ()
                check_there(name, [column for column in self.filter if column not in (*ours, *derived)], ours)

    @property
    def _derives(self) -> bool:
        return self.kind == "replies" and self.complete

    def _check_needed(self, stream: _Stream, row: Row) -> None:
        """Raises an error for missing columns of a source, given its first row."""
        if self.kind == "replies":
            return
        lost = [name for name in NEEDED.get(self.kind, ()) if name not in row]
        if lost and stream.sparse:
            known = {name for each in stream.read() for name in rename_columns(each, self.rename)}
            lost = [name for name in lost if name not in known]
        ids = ", or write the reply_id of the replies into it" if "reply_id" in lost else ""
        check_there(stream.name, lost, row, f"{_renaming(lost)}{ids}")

    def _text_columns(self, row: Row, stream: _Stream) -> dict[str, str | None]:
        names = text_columns(row, self.rename)
        lost = [name for name in NEEDED["replies"] if names[name] is None]
        check_there(stream.name, lost, row, _renaming(lost))
        return names

    def _check_met(self, met: Mapping[str, set[str]], wanted: bool) -> None:
        for column, asked in self.filter.items():
            if missing := set(asked) - met[column]:
                lost, known = ", ".join(sorted(missing)), ", ".join(sorted(met[column])[:10])
                more = ", ..." if len(met[column]) > 10 else ""
                raise InputError(f"found no row with the {column} {lost}: choose among {known}{more}")
        if not wanted:
            shown = " and ".join(f"{column} {'/'.join(sorted(asked))}" for column, asked in self.filter.items())
            raise InputError(f"no row has {shown} together: use fewer filters")


def _renaming(lost: Iterable[str]) -> str:
    return f"name the column with {' '.join(f'--rename {name}=COLUMN' for name in lost)}"


def _is_file(source: str | PathLike[str]) -> bool:
    return Path(source).suffix in SUFFIXES


def _in_memory(source: Any, split: str | None) -> _Stream:
    """Opens a data frame, a `datasets.Dataset` or an iterable of mappings."""
    pandas, datasets = sys.modules.get("pandas"), sys.modules.get("datasets")
    if isinstance(source, Table):
        return _Stream(f"table of {source.kind}", "table", lambda: source, True)
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _Stream("data frame", "data frame", lambda: _frame_rows(source), False)
    if datasets is not None and isinstance(source, datasets.DatasetDict):
        if split is None and len(source) > 1:
            raise InputError(f"the dataset has the splits {', '.join(source)}: choose one with --split")
        if split is not None and split not in source:
            raise InputError(f"the dataset has no split {split!r}: it has {', '.join(source)}")
        source = source[split or next(iter(source))]
    if datasets is not None and isinstance(source, datasets.Dataset):
        return _Stream("dataset", "dataset", lambda: source, False)
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise InputError(
            f"{type(source).__name__} is not a source of rows: give a path, a name, a data frame, a dataset or an "
            "iterable of mappings"
        )
    rows = list(source) if iter(source) is source else source  # an iterator cannot be read a second time
    return _Stream("rows", "rows", lambda: map(_row, rows), True)


def _row(given: Any) -> Row:
    if not isinstance(given, Mapping):
        raise InputError(f"a row is a {type(given).__name__}, expected a mapping from columns to values")
    return dict(given)


def _frame_rows(frame: "pandas.DataFrame") -> Iterator[Row]:
    import numpy as np
    import pandas as pd

    def cell(value: Any) -> Any:
        if isinstance(value, np.ndarray):  # the lists of parquet files and of `Dataset.to_pandas`
            return value.tolist()
        return None if not isinstance(value, list | tuple | dict) and pd.isna(value) is True else value

    for start in range(0, len(frame), _BATCH):
        for row in frame.iloc[start : start + _BATCH].to_dict("records"):
            yield {str(name): cell(value) for name, value in row.items()}


def _digest(rows: Iterable[Row]) -> str:
    found = hashlib.sha256()
    for row in rows:
        found.update(json.dumps(row, sort_keys=True, default=str).encode() + b"\n")
    return found.hexdigest()[:12]
