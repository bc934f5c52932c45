"""`fcconan annotate score`."""

from typing import TYPE_CHECKING

import typer

from fcconan.cli.command import Command
from fcconan.cli.model_output import print_dry_run, print_stored_answers, print_usage
from fcconan.cli.progress import CountProgress

if TYPE_CHECKING:
    from fcconan.services import PairScoreResult


def _show(result: "PairScoreResult", verbose: bool) -> None:
    from fcconan.cli.output import print_table
    from fcconan.reporting import table_of

    (row,) = result.rows()
    if "dry_run" in result.data:
        print_dry_run([row])
        return
    print_table(table_of(f"Scored pairs in {result.data['out']}", [row], list(row)))
    if row["finished"] < row["shards"]:
        typer.echo(f"{row['shards'] - row['finished']} shards are left to other processes")
    print_usage(result.data.get("used") or ())
    print_stored_answers(result.notices)


COMMAND = Command(
    name="score",
    help="Pair every HS with every CN and score each pair, in shards, on one machine or many.",
    service="fcconan.services.score_pairs",
    example="fcconan annotate score my-campaign --scorer tfidf --out scores --jobs 2",
    show=_show,
    removed=dict.fromkeys(("--rank", "--world"), "--shard K/N, such as 1/4, counted from 1"),
    keywords={"progress": CountProgress("scoring")},
)
