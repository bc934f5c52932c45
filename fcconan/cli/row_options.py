"""Options of commands that read rows, and the checks of the files that they write."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.options import MOST_RESAMPLES, seed_option
from fcconan.data import may_be_written
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.data import Table
    from fcconan.scoring import RatedReplies

SOURCES_HELP = "Files of rows (.parquet, .jsonl, .csv, .tsv), folders of datasets, or their names, here or on the Hub."
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


def opened(
    kind: str,
    sources: Sequence[str | Path],
    *,
    split: str | None = None,
    part: str | None = None,
    column: Sequence[str] | None = None,
    where: Sequence[str] | None = None,
    value: Sequence[str] | None = None,
    people: Sequence[str] | None = None,
    complete: bool = True,
    beside: "Table | None" = None,
) -> "Table":
    """Opens a table as the options say.

    Raises:
        InputError: An option is not of its form, or a source cannot be opened.
    """
    from fcconan.data import open_table, parse_filter, parse_rename, parse_wide
    from fcconan.services import dataset_folder

    return open_table(
        kind,
        list(map(str, sources)),
        split=split,
        part=part,
        rename=parse_rename(column or ()),
        filter=parse_filter(where or ()),
        wide_columns=parse_wide(value or ()),
        people=tuple(people or ()),
        complete=complete,
        beside=() if beside is None else (beside,),
        locate=dataset_folder,
    )


def described(replies: str | None, column: Sequence[str] | None) -> "Table | None":
    """Opens the rows of --replies, which describe rated replies; None where the option is not given.

    Raises:
        InputError: They cannot be opened.
    """
    return None if replies is None else opened("replies", [replies], column=column, complete=False)


def rated_replies(ratings: "Table", replies: "Table | None" = None) -> "RatedReplies":
    """Reads ratings and the replies that they rate: given ones, those of the same dataset, or the ratings' own.

    Raises:
        InputError: As `RatedReplies`, or a source cannot be read.
    """
    from fcconan.scoring import RatedReplies

    about = replies or ratings.replies()
    return RatedReplies(ratings, None if about is None else list(about))


def population(*tables: "Table | None") -> str:
    """Returns what signatures say of tables; tables of replies that only describe others are called so."""
    return "+".join(
        "+".join(f"replies:{name.partition('/')[0]}" for name in each.names) if not each.complete else each.population
        for each in tables
        if each is not None
    )


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
