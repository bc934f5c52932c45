"""`fcconan evaluate-generators`."""

from pathlib import Path
from typing import Annotated

import typer

from fcconan.cli import models

NAME = "evaluate-generators"
EXAMPLE = "Example: fcconan evaluate-generators generation --out results"


@models.connected()
def run(
    suite: Annotated[
        str, typer.Argument(help="A suite file (YAML) with systems and judges, or generation, the embedded example.")
    ],
    out: Annotated[
        Path, typer.Option("--out", help="Folder of replies, ratings, verdicts and the report; run again to go on.")
    ],
    connection: models.Connection = models.DEFAULT,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the summary to this file.")] = None,
) -> None:
    """Let systems answer a dataset, judge their replies, rank the systems and report, by one suite file."""
    from fcconan.cli.evaluating import Evaluation
    from fcconan.generation import LoadedSuite, alone, suite_path

    evaluation = Evaluation(LoadedSuite(suite_path(suite)), out, connection, json_file)
    if connection.dry_run:
        evaluation.check()
        evaluation.rehearse()
        return
    with alone(out):
        evaluation.check()
        complete = evaluation.run()
    if not complete:
        raise typer.Exit(1)
