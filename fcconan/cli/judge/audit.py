"""`fcconan judge audit`."""

from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli.judge import inputs
from fcconan.errors import InputError

NAME = "audit"
EXAMPLE = "Example: fcconan judge audit --ratings ratings.parquet --replies demo-dataset --json audit.json"


def run(
    ratings: Annotated[list[Path] | None, typer.Option("--ratings", help="A file of ratings; once for each.")] = None,
    comparisons: Annotated[
        list[Path] | None, typer.Option("--comparisons", help="A file of comparisons; once for each.")
    ] = None,
    replies: Annotated[Path | None, typer.Option("--replies", help="The dataset or file that was judged.")] = None,
    own: Annotated[
        list[str] | None, typer.Option("--own", help="RATER=SYSTEM: the judge is the model behind this system.")
    ] = None,
    config: inputs.Config = "replies",
    split: inputs.Split = None,
    column: inputs.Column = None,
    resamples: Annotated[int, typer.Option("--resamples", min=100, help="Of the bootstrap over HS.")] = 10_000,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the bootstrap.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the findings to this file.")] = None,
) -> None:
    """Look for a judge's biases: length, position, refusals, its own replies, compression of the scale, failures."""
    from fcconan.cli.output import check_json_target, print_table, write_json
    from fcconan.judge.audit import audit
    from fcconan.judge.compare import COLUMNS
    from fcconan.judge.rate import RATED
    from fcconan.row_files import read_typed_rows

    if not ratings and not comparisons:
        raise InputError("nothing to audit: give --ratings FILE or --comparisons FILE")
    check_json_target(json_file, Path("/dev/null"))
    judged = None
    if replies is not None:
        judged = list(inputs.open_replies(replies, config=config, split=split, column=column))
    found = audit(
        ratings=[row for path in ratings for row in read_typed_rows(path, RATED)] if ratings else None,
        comparisons=[row for path in comparisons for row in read_typed_rows(path, COLUMNS)] if comparisons else None,
        replies=judged,
        own=inputs.named("--own", own, "RATER=SYSTEM, such as gpt:rubric=gpt") or None,
        resamples=resamples,
        seed=seed,
        confidence=confidence,
    )
    if not found["rows"]:
        given = ", ".join(map(str, [*(ratings or ()), *(comparisons or ())]))
        raise InputError(f"{given}: no rows, nothing to audit; give files that `fcconan judge` wrote")
    rows = [
        (
            row.get("rater") or "",
            row["check"],
            row.get("aspect") or "",
            _number(row["value"]),
            f"[{_number(row['low'])}, {_number(row['high'])}]" if row["low"] is not None else "",
            _number(row["baseline"]),
            row["n"],
            row.get("note") or "",
        )
        for row in found["rows"]
    ]
    columns = ("rater", "check", "aspect", "value", f"{confidence:.0%} interval", "unbiased", "n", "note")
    print_table("Audit", columns, rows)
    if json_file is not None:
        write_json(json_file, found)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
