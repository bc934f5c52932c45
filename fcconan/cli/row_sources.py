"""Where rows to score come from: files, folders of datasets, and datasets by their name, which are built then."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.options import MOST_RESAMPLES, seed_option
from fcconan.data import cell_text, is_missing, may_be_written, with_ids
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.reproduction import Datasets
    from fcconan.scoring import RatedReplies

Row = dict[str, Any]
Values = dict[tuple[str, str], str]

SOURCES_HELP = "Files of rows (.parquet, .jsonl, .csv), folders of datasets, or their names, here or on the Hub."
Sources = Annotated[list[str], typer.Argument(help=SOURCES_HELP)]
Split = Annotated[str | None, typer.Option("--split", help="The split of a dataset; needed where it has several.")]
Column = Annotated[
    list[str] | None, typer.Option("--column", help="NAME=COLUMN: what a column of the rows is called in the files.")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="COLUMN=VALUE: only these rows; repeat it for several values or columns."),
]
Value = Annotated[
    list[str] | None,
    typer.Option("--value", help="RATER[:ASPECT]=COLUMN: files with a column for each rater; repeat it."),
]
Resamples = Annotated[
    int, typer.Option("--resamples", min=0, max=MOST_RESAMPLES, help="Of the bootstrap over items; 0 for no intervals.")
]
Confidence = Annotated[float, typer.Option("--confidence", help="Of the intervals.")]
Baseline = Annotated[
    str | None, typer.Option("--baseline", help="Test each other system against this one. Default: all pairs.")
]
Seed = Annotated[int, seed_option("Decides every draw.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")]

# What rows of each kind hold that a rater says; a file with a column for each rater has it under the raters' names.
SAID = {"ratings": "value", "comparisons": "verdict", "votes": "label"}
# Columns that rows need.
NEEDED = {
    "ratings": ("reply_id", "rater", "aspect", "value"),
    "comparisons": ("item_id", "system_a", "system_b", "verdict"),
    "votes": ("pair_id", "rater", "label"),
}


class PlacedRow(Row):
    """A row that knows where it comes from, for complaints.

    Attributes:
        place: Such as `ratings.csv, row 3`.
    """

    def __init__(self, row: Row, place: str) -> None:
        super().__init__(row)
        self.place = place


@dataclass
class RowSources(AbstractContextManager["RowSources"]):
    """Opens sources; datasets that are named are built in a folder that is removed at the end.

    Attributes:
        sources: Files, folders and names.
        split: Of the datasets.
        columns: Name here -> name in the files.
        where: Columns and the values that are wanted.
        values: Rater and aspect to column, for files with a column for each rater.
        people: The raters of `values` who are people.
        population: What the rows are, for signatures: files and datasets with their fingerprints, and what was chosen.
    """

    sources: Sequence[str]
    split: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    where: dict[str, set[str]] = field(default_factory=dict)
    values: Values = field(default_factory=dict)
    people: Sequence[str] = ()
    population: list[str] = field(default_factory=list)
    _built: "Datasets | None" = None
    _found: dict[str, Path] = field(default_factory=dict)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._built is not None:
            self._built.__exit__(kind, error, trace)

    def rows(self, config: str) -> Iterator[Row]:
        """Yields the rows of all sources that are wanted; of a file with a column for each rater, one for each of them.

        Args:
            config: The part of a dataset that is read.

        Raises:
            InputError: A source cannot be read, lacks a column that is asked for or needed, or has no row, an id is
                none, or no row is wanted.
        """
        from fcconan.data import read_rows

        files = [file for source in self.sources for file in self._files(source, config)]
        self._check_columns(files)
        met: dict[str, set[str]] = {column: set() for column in self.where}
        wanted = 0
        for file in files:
            checked = False
            for number, raw in enumerate(read_rows(file), start=1):
                place = f"{file.name}, row {number}"
                row = with_ids(self._renamed(raw), place)
                for column, values in met.items():
                    values.add(cell_text(row.get(column)))
                if all(cell_text(row.get(column)) in values for column, values in self.where.items()):
                    wanted += 1
                    if not checked:
                        self._check_needed(file, row, config)
                        checked = True
                    yield from self._said(row, config, place)
        for column, asked in self.where.items():
            if missing := asked - met[column]:
                lost, known = ", ".join(sorted(missing)), ", ".join(sorted(met[column])[:10])
                more = ", ..." if len(met[column]) > 10 else ""
                raise InputError(
                    f"no row has the {column} {lost} that was asked for: there are {known}{more}; choose these"
                )
        if not wanted:
            shown = " and ".join(f"{column} {'/'.join(sorted(asked))}" for column, asked in self.where.items())
            raise InputError(f"no row has {shown} together: ask for less")
        self.population += self._chosen()

    def _check_needed(self, file: Path, row: Row, config: str) -> None:
        """Complains of columns that a file lacks, given its first row: they are not the same as empty cells."""
        from fcconan.data import read_rows

        # What --value makes, or has a stand-in for.
        others = {"reply_id", "pair_id", "rater", "aspect", SAID.get(config)} if self.values else ()
        lost = [name for name in NEEDED.get(config, ()) if name not in row and name not in others]
        if lost and file.suffix == ".jsonl":  # whose rows may leave out what is empty
            known = {name for each in read_rows(file) for name in self._renamed(each)}
            lost = [name for name in lost if name not in known]
        if lost:
            theirs = " ".join(f"--column {name}=THEIRS" for name in lost)
            said = SAID[config]
            wide = f", or name a column for each rater with --value RATER{':ASPECT' * (config == 'ratings')}=COLUMN"
            raise InputError(
                f"{file} has no column {', '.join(lost)}, but {', '.join(row) or 'none'}: say what is meant with "
                f"{theirs}{wide if said in lost else ''}"
            )

    def _chosen(self) -> list[str]:
        """Says which rows and columns: others are other data, so signatures name them."""
        chosen = [f"{column}={'/'.join(sorted(values))}" for column, values in sorted(self.where.items())]
        chosen += [f"{name}={theirs}" for name, theirs in sorted(self.columns.items())]
        chosen += [f"{rater}:{aspect}={column}" for (rater, aspect), column in sorted(self.values.items())]
        return [f"({','.join(chosen)})"] if chosen else []

    def _said(self, row: Row, config: str, place: str) -> Iterator[Row]:
        if not self.values:
            yield PlacedRow(row, place)
        for (rater, aspect), column in self.values.items():
            said = row.get(column)
            if is_missing(said) and config != "ratings":
                continue  # this rater did not judge it; a rating that is not there is missing, and counted
            # Numbers without a person behind them are a metric's; who gave a verdict is not known.
            kind = "metric" if config == "ratings" else "human" if config == "votes" else None
            kind = "human" if rater in self.people else kind
            new = {**row, "rater": rater, "rater_kind": kind, SAID[config]: said}
            if config == "ratings":
                new |= {"aspect": aspect, "reply_id": row.get("reply_id") or place}
            elif config == "votes":
                new["pair_id"] = row.get("pair_id") or place
            yield PlacedRow(new, f"{place}, column {column}")

    def described(self, source: str, config: str) -> tuple[Path, str]:
        """Returns where a source is, and what signatures say of it.

        Raises:
            InputError: It cannot be read.
        """
        list(self._files(source, config))
        return self._place(source), "+".join([*self.population, *self._chosen()])

    def replies(self) -> list[Row] | None:
        """Returns the replies of all splits of the datasets among the sources, or None if there is no dataset.

        Raises:
            InputError: A file cannot be read.
        """
        from fcconan.data import read_rows

        files = [file for folder in self.folders() for file in sorted((folder / "replies").glob("*.parquet"))]
        return [row for file in files for row in read_rows(file)] if files else None

    def folders(self) -> list[Path]:
        """Returns the folders of datasets among the sources."""
        from fcconan.data import SUFFIXES

        return [place for place in map(self._place, self.sources) if place.suffix not in SUFFIXES]

    def configs(self) -> set[str]:
        """Returns the parts that every dataset among the sources has; empty if there is none."""
        found = [{file.parent.name for file in folder.glob("*/*.parquet")} for folder in self.folders()]
        return set.intersection(*found) if found else set()

    def first_columns(self) -> set[str]:
        """Returns the names of the columns of the first file among the sources; empty if there is none.

        Raises:
            InputError: It cannot be read.
        """
        from fcconan.data import SUFFIXES

        for source in self.sources:
            if (path := self._place(source)).suffix in SUFFIXES:
                return set(self._renamed(_first_row(self._there(path))))
        return set()

    def _check_columns(self, files: Sequence[Path]) -> None:
        """Checks that some file has each column that an option names, and all files those that choose rows."""
        first = {file: _first_row(file) for file in files}
        if not any(first.values()):
            raise InputError(f"{', '.join(map(str, files))} has no rows: check the file")
        for column in (*self.columns.values(), *self.values.values()):
            if not any(column in row for row in first.values()):
                file, row = next(iter(first.items()))
                raise InputError(_no_column(file, column, row))
        for column in self.where:
            for file, row in first.items():
                if row and column not in self._renamed(row):
                    raise InputError(_no_column(file, column, self._renamed(row)))

    def _renamed(self, row: Row) -> Row:
        return {**row, **{name: row.get(theirs) for name, theirs in self.columns.items() if theirs in row}}

    def _files(self, source: str, config: str) -> Iterable[Path]:
        from fcconan.data import MANIFEST, SUFFIXES, name_with_hash, read_manifest
        from fcconan.judging import files_of

        place = self._place(source)
        if place.suffix in SUFFIXES:
            files = [self._there(place)]
            name = name_with_hash(place)
        else:
            parts = sorted({each.parent.name for each in place.glob("*/*.parquet")})
            if parts and config not in parts:
                raise InputError(
                    f"{place} has no {config}, only {', '.join(parts)}: give files or a dataset with {config}"
                )
            files = files_of(place, self.split, config)
            name = place.name
            if (place / MANIFEST).is_file():
                manifest = read_manifest(place)
                name = f"{manifest['name']}@{manifest['fingerprint']}"
            if self.split is not None:
                name += f"/{self.split}"
        if name not in self.population:
            self.population.append(name)
        return files

    @staticmethod
    def _there(file: Path) -> Path:
        from fcconan.judging import files_of

        return files_of(file, None, "")[0]

    def _place(self, source: str) -> Path:
        from fcconan.data import recipe_names, release_folder
        from fcconan.reproduction import Datasets

        path = Path(source)
        if path.exists() or source not in recipe_names():
            if source not in self._found:
                self._found[source] = release_folder(source)
            return self._found[source]
        if self._built is None:
            self._built = Datasets()
        return self._built.path(source)


def opened(
    sources: Sequence[str],
    *,
    split: str | None = None,
    column: list[str] | None = None,
    where: list[str] | None = None,
    value: list[str] | None = None,
    people: Sequence[str] | None = None,
) -> RowSources:
    """Opens sources as the options say.

    Raises:
        InputError: An option is not of its form, a column is named twice or is none that rows have, or there is a split
            and no dataset.
    """
    from fcconan.data import COMPARISON, RATING, REPLY, SUFFIXES, VOTE

    known = list(dict.fromkeys([*RATING.kinds, *COMPARISON.kinds, *VOTE.kinds, *REPLY.kinds]))
    columns: dict[str, str] = {}
    for each in column or ():
        name, theirs = _pair("--column", each, "NAME=COLUMN, such as rater=annotator")
        if name not in known:
            raise InputError(f"--column is {each!r}: rows have no {name!r}, only {', '.join(known)}")
        if columns.setdefault(name, theirs) != theirs:
            raise InputError(f"--column is {each!r}: {name} is {columns[name]} already; name it once")
    wanted: dict[str, set[str]] = {}
    for each in where or ():
        name, wish = _pair("--where", each, "COLUMN=VALUE, such as rater=rater-1")
        wanted.setdefault(name, set()).add(cell_text(wish))
    if split is not None and all(Path(source).suffix in SUFFIXES for source in sources):
        raise InputError(f"{', '.join(sources)} has no splits, expected a dataset: leave --split out")
    return RowSources(sources, split, columns, wanted, value_columns(value or []), tuple(people or ()))


def check_targets(
    sources: Sequence[str],
    json_file: Path | None = None,
    report: Path | None = None,
    *,
    out: Path | None = None,
    models: Sequence[str | None] = (),
) -> None:
    """Checks before long work that results can be written, over nothing that is read and into no release.

    Args:
        sources: What is read.
        json_file: Of `--json`.
        report: Of `--report`.
        out: Of `--out`.
        models: Names and folders of models, of which every file counts.

    Raises:
        InputError: They cannot.
    """
    from fcconan.cli.files import check_files
    from fcconan.data import MANIFEST

    given = [target for target in (out, json_file, report) if target is not None]
    for target in given:
        if target.exists() and not target.is_file():  # a device would be replaced by a file
            raise InputError(f"{target} is no file: choose another file for the result")
        if not may_be_written(target):
            raise InputError(f"{target} cannot be written: choose another file, in a folder that is there")
        for source in map(Path, sources):
            if (source / MANIFEST).is_file() and target.resolve().is_relative_to(source.resolve()):
                raise InputError(
                    f"{target} is in the folder {source}, which holds the release only: choose another file"
                )
            if source.is_file() and target.exists() and source.samefile(target):
                raise InputError(f"{target} is what is read: choose another file for the result")
    if len({target.resolve() for target in given}) < len(given):
        raise InputError(f"{given[0]} is named for two results: choose another file for one of them")
    read = [Path(source) for source in sources]
    folders = [*read, *(Path(model) for model in models if model)]
    check_files({"--json": json_file, "--report": report, "--out": out}, read=read, folders=folders)


def draws(resamples: int, confidence: float, seed: int) -> dict[str, Any]:
    """Returns the options of the bootstrap as scoring functions take them.

    Raises:
        InputError: The confidence is none.
    """
    if math.isnan(confidence) or not 0 < confidence < 1:
        raise InputError(f"--confidence is {confidence:g}: give a number between 0 and 1, such as 0.95")
    return {"resamples": resamples, "seed": seed, "confidence": confidence}


def _first_row(file: Path) -> Row:
    from fcconan.data import read_rows

    return next(iter(read_rows(file)), {})


def _no_column(file: Path, column: str, row: Row) -> str:
    return f"{file} has no column {column!r}, but {', '.join(row) or 'none'}: name one of these"


def _pair(option: str, given: str, form: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not (name and equals and value):
        raise InputError(f"{option} is {given!r}: give {form}")
    return name, value


def rated_replies(sources: RowSources, replies: str | None = None) -> "RatedReplies":
    """Reads ratings, and the replies that they rate: from a file or dataset, the dataset itself, or the same rows.

    Args:
        sources: Of the ratings.
        replies: A file or a dataset of the replies.

    Raises:
        InputError: As `RatedReplies`, or a source cannot be read.
    """
    from fcconan.scoring import RatedReplies

    known = list(known_replies(replies, sources)) if replies is not None else sources.replies()
    return RatedReplies(sources.rows("ratings"), known)


def known_replies(source: str, beside: RowSources | None = None) -> Iterator[Row]:
    """Yields the replies of a file, or of all splits of a dataset.

    Args:
        source: A file, a folder or the name of a dataset.
        beside: Is told what the replies are, for signatures.

    Raises:
        InputError: They cannot be read.
    """
    from fcconan.data import SUFFIXES, name_with_hash, read_rows
    from fcconan.judging import load_replies

    if Path(source).suffix in SUFFIXES:
        opened_file = load_replies(Path(source))
        # Ids that are not there follow from the texts; where they are, texts may be missing.
        if "reply_id" in _first_row(Path(source)):
            for number, row in enumerate(read_rows(Path(source)), start=1):
                place = f"{Path(source).name}, row {number}"
                yield PlacedRow(with_ids(row, place), place)
        else:
            yield from opened_file
        name = name_with_hash(Path(source))
    else:
        with opened([source]) as given:
            folder = given.folders()[0]
            splits = {file.name.split("-")[0] for file in (folder / "replies").glob("*.parquet")}
            for split in sorted(splits) or [""]:
                given.split = split or None
                yield from given.rows("replies")
            name = given.population[0].partition("/")[0]
    if beside is not None:
        beside.population.append(f"replies:{name}")


def value_columns(given: list[str]) -> Values:
    """Reads RATER[:ASPECT]=COLUMN options: rater and aspect to column.

    Raises:
        InputError: One is not of that form, or names a rater and aspect a second time.
    """
    columns: Values = {}
    for each in given:
        name, column = _pair("--value", each, "RATER[:ASPECT]=COLUMN, such as people:relevance=human_relevance")
        rater, _, aspect = name.partition(":")
        if not rater or (rater, aspect or "score") in columns:
            raise InputError(f"--value is {each!r}: name a rater, and each rater and aspect once")
        columns[rater, aspect or "score"] = column
    return columns
