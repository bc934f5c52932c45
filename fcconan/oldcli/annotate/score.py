"""`fcconan annotate score`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.model_output import print_usage, with_dry_run
from fcconan.oldcli.progress import CountProgress


@with_dry_run
def _show(result: "services.PairScoreResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    (row,) = result.rows()
    print_table(make_table(f"Scored pairs in {result.data['out']}", [row], list(row)))
    if row["finished"] < row["shards"]:
        typer.echo(f"{row['shards'] - row['finished']} shards are left to other processes")
    print_usage(result.data.get("used") or ())


COMMAND = Command(
    name="score",
    help="Pair every HS with every CN and score each pair, in shards, on one machine or many.",
    service="score_pairs",
    example="fcconan annotate score my-campaign --scorer tfidf --out scores --jobs 2",
    show=_show,
    keywords={"progress": CountProgress("scoring")},
)
