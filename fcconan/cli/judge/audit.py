"""`fcconan judge audit`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fcconan.cli.judge import inputs
from fcconan.cli.judge.ending import figure, interval
from fcconan.cli.options import MOST_RESAMPLES, seed_option
from fcconan.errors import InputError

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
    from fcconan.judging import COLUMNS, RATED, audit_judge

    if not ratings and not comparisons:
        raise InputError("nothing to audit: give --ratings FILE or --comparisons FILE")
    check_files({"--json": json_file}, read=[*(ratings or ()), *(comparisons or ()), replies])
    check_json_target(json_file, Path("/dev/null"))
    judged = None
    if replies is not None:
        judged = list(inputs.open_replies(replies, config=config, split=split, column=column))
    found = audit_judge(
        ratings=_rows(ratings, split, "ratings", RATED),
        comparisons=_rows(comparisons, split, "comparisons", COLUMNS),
        replies=judged,
        own=inputs.named("--own", own, "RATER=SYSTEM, such as gpt:rubric=gpt") or None,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
        population=_population(ratings, comparisons, replies, split, config),
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


def _rows(paths: list[Path] | None, split: str | None, config: str, columns: dict[str, str]) -> Any:
    """Reads the rows of files, and of the config of dataset folders; None where none are given."""
    from fcconan.data import read_typed_rows

    if not paths:
        return None
    return [row for file in _files(paths, split, config) for row in read_typed_rows(file, columns)]


def _files(paths: list[Path], split: str | None, config: str) -> list[Path]:
    from fcconan.judging import files_of

    return [file for path in paths for file in (files_of(path, split, config) if path.is_dir() else [path])]


def _population(
    ratings: list[Path] | None, comparisons: list[Path] | None, replies: Path | None, split: str | None, config: str
) -> str:
    """Returns the files that are read, each with 12 digits of its sha256."""
    from fcconan.data import sha256_of

    given = {"ratings": ratings, "comparisons": comparisons, config: [replies] if replies else None}
    files = [file for kind, paths in given.items() for file in _files(paths or [], split, kind)]
    return "+".join(f"{file.name}-{sha256_of(file)[:12]}" for file in files)
