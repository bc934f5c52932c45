"""`fcconan generate`."""

from pathlib import Path
from typing import Any

from fcconan import services
from fcconan.oldcli.command import Command
from fcconan.oldcli.model_output import print_failed, with_dry_run
from fcconan.oldcli.progress import CountProgress

MADE = {"prompt_hash", "decoding"}  # columns that only this command writes


@with_dry_run
def _show(result: "services.GenerateResult", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import format_counts, format_number, make_table

    columns = {
        "system": "system",
        "strategy": "strategy",
        "replies": "n",
        "missing": lambda row: format_counts(row["missing"]),
        "refusals": "refusals",
        "flags": lambda row: format_counts(row["flags"]),
        "mean words": lambda row: format_number(row["mean_words"], 2),
    }
    print_table(make_table(f"Replies in {result.out}", result.rows(), columns))
    print_failed(result.data.get("failed_requests", 0))


def _is_output(out: Path, options: "services.GenerateOptions") -> bool:
    """Returns whether an existing file is empty, or was written by this command and has replies of this system only.

    Its settings do not count: a kill may come before they are written.
    """
    from fcconan.oldcli.targets import has_own_rows

    return has_own_rows(out, lambda row: row.keys() >= MADE and _is_own(row, options))


def _is_own(row: dict[str, Any], options: "services.GenerateOptions") -> bool:
    """Returns whether a reply is of the named system, or of the same source with the same strategy."""
    from fcconan.oldcli.targets import name_of_model

    system = str(row.get("system"))
    if options.system_name is not None:
        return system == options.system_name
    strategy = options.used_strategy
    if strategy == "reference":
        return system == "gold"
    if strategy == "retrieval":
        return system == f"{Path(options.retriever or 'tfidf').name}:retrieval"
    is_of_model = system.rpartition(":")[0] == name_of_model(options.model or "")
    return is_of_model and row.get("strategy") == strategy


COMMAND = Command(
    name="generate",
    help="Write a reply to each message of a dataset: by a model, or from a catalogue.",
    example="fcconan generate demo-dataset --model local:models/my-chat-model --examples 3 --out replies.parquet",
    show=_show,
    detailed=True,
    protected=True,
    resumes=_is_output,
    companions=lambda out: {"--out (its settings)": out.with_name(f"{out.name}{services.SETTINGS}")},
    keywords={"progress": CountProgress("generating")},
)
