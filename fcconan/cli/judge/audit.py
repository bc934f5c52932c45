"""`fcconan judge audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.judge import inputs
from fcconan.cli.judge.ending import figure, interval
from fcconan.cli.options import MOST_RESAMPLES, seed_option
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.data import Table

NAME = "audit"
EXAMPLE = "Example: fcconan judge audit --ratings ratings.parquet --replies demo-dataset --json audit.json"
_NO_INTERVAL = {"one_unit": "none: one HS", "no_spread": "none: no spread", "biased": "none: biased"}


def run(
    ratings: Annotated[
        list[Path] | None, typer.Option("--ratings", help="A file of ratings, or a folder that has some.")
    ] = None,
    comparisons: Annotated[
        list[Path] | None, typer.Option("--comparisons", help="A file of comparisons, or a folder that has some.")
    ] = None,
    replies: Annotated[Path | None, typer.Option("--replies", help="The dataset or file that was judged.")] = None,
    own: Annotated[
        list[str] | None, typer.Option("--own", help="RATER=SYSTEM: the judge is the model behind this system.")
    ] = None,
    config: inputs.Config = "replies",
    split: inputs.Split = None,
    column: inputs.Column = None,
    resamples: Annotated[
        int, typer.Option("--resamples", min=100, max=MOST_RESAMPLES, help="Of the bootstrap over HS.")
    ] = 10_000,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals.")] = 0.95,
    seed: Annotated[int, seed_option("Of the bootstrap.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the findings to this file.")] = None,
) -> None:
    """Look for a judge's biases: length, position, refusals, its own replies, compression of the scale, failures."""
    from fcconan.cli.files import check_files
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.data import open_table, parse_rename
    from fcconan.judging import COLUMNS, RATED, audit_judge
    from fcconan.services import dataset_folder

    if not ratings and not comparisons:
        raise InputError("nothing to audit: give --ratings FILE or --comparisons FILE")
    check_files({"--json": json_file}, read=[*(ratings or ()), *(comparisons or ()), replies])
    check_json_target(json_file, Path("/dev/null"))
    rename = parse_rename(column or ())
    rated = _table("ratings", ratings, split, rename)
    compared = _table("comparisons", comparisons, split, rename)
    judged = None
    if replies is not None:
        beside = [table for table in (rated, compared) if table is not None]
        judged = open_table(
            "replies", [str(replies)], split=split, part=config, rename=rename, beside=beside, locate=dataset_folder
        )
    found = audit_judge(
        ratings=_rows(rated, RATED),
        comparisons=_rows(compared, COLUMNS),
        replies=None if judged is None else list(judged),
        own=inputs.named("--own", own, "RATER=SYSTEM, such as gpt:rubric=gpt") or None,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        population=_population(rated, compared, judged),
    )
    if not found["rows"]:
        given = ", ".join(map(str, [*(ratings or ()), *(comparisons or ())]))
        raise InputError(f"{given}: no rows, nothing to audit; give files that `fcconan judge` wrote")
    rows = [
        (
            row.get("rater") or "",
            row["check"] if row["failure"] is None else f"{row['check']}: {row['failure']}",
            row.get("aspect") or "",
            figure(row["value"]),
            _NO_INTERVAL.get(row["no_interval"]) or interval(row["low"], row["high"]),
            figure(row["baseline"]),
            row["n"],
            "; ".join(filter(None, (row["reason"], row["note"]))),
        )
        for row in found["rows"]
    ]
    columns = ("rater", "check", "aspect", "value", f"{confidence:.0%} interval", "unbiased", "n", "note")
    print_table("Audit", columns, rows)
    if json_file is not None:
        write_json(json_file, found)


def _table(kind: str, sources: list[Path] | None, split: str | None, rename: dict[str, str]) -> "Table | None":
    """Opens files, and parts of dataset folders; None where none are given."""
    from fcconan.data import open_table
    from fcconan.services import dataset_folder

    if not sources:
        return None
    places = [dataset_folder(source) for source in sources]
    chosen = split if any(place.is_dir() for place in places) else None
    return open_table(kind, places, split=chosen, rename=rename)


def _rows(table: "Table | None", columns: dict[str, str]) -> Any:
    from fcconan.data import read_mapping, read_typed_rows

    if table is None:
        return None
    mappings = [(file, {**read_mapping(file)[0], **table.rename}) for file in table.files]
    return [row for file, rename in mappings for row in read_typed_rows(file, columns, rename)]


def _population(*tables: "Table | None") -> str:
    """Returns the files that are read, each with 12 digits of its sha256."""
    from fcconan.data import sha256_of

    files = [file for table in tables if table is not None for file in table.files]
    return "+".join(f"{file.name}-{sha256_of(file)[:12]}" for file in files)
