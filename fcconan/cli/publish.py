"""`fcconan publish`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fcconan.publishing import Publication

NAME = "publish"
EXAMPLE = "Example: fcconan publish demo-dataset my-name/demo --dry-run"
FAILED = 1


def run(
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder that `fcconan build` wrote, a file of rows, a TREC run (.trec, .run) or a result (.json), "
            "or a folder of them."
        ),
    ],
    repo_id: Annotated[str, typer.Argument(help="The dataset repository on the Hub: OWNER/NAME.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be done, and send nothing.")] = False,
    tag: Annotated[
        str | None, typer.Option("--tag", help="The version; default: one that changes with the content.")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make the repository private.")] = False,
    gated: Annotated[
        str | None,
        typer.Option("--gated", help="auto or manual: readers must ask, and are let in at once or by hand."),
    ] = None,
    may_redistribute: Annotated[
        bool,
        typer.Option(
            "--i-may-redistribute",
            help="You have the right to pass restricted text on; it goes to a private or gated repository only.",
        ),
    ] = False,
    labels_only: Annotated[bool, typer.Option("--labels-only", help="Leave the columns of text out of rows.")] = False,
    about: Annotated[Path | None, typer.Option("--about", help="The dataset folder that rows are about.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Of rows; default: from the file's name.")] = None,
    licence: Annotated[
        str, typer.Option("--license", help="Of rows, as the Hub calls it, such as cc-by-4.0.")
    ] = "other",
    language: Annotated[str, typer.Option("--language", help="Of rows (ISO 639-1).")] = "en",
    drop_column: Annotated[
        list[str] | None, typer.Option("--drop-column", help="Leave this column of rows out; may be repeated.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the plan and what was done to this file.")
    ] = None,
) -> None:
    """Publish a dataset, or rows, runs and results as one, on the Hugging Face Hub: checked, gated, in one commit."""
    from fcconan.cli.output import check_json_target, write_json
    from fcconan.publishing import HubFailure, publish

    check_json_target(json_file, source)
    try:
        publication = publish(
            source,
            repo_id,
            dry_run=dry_run,
            tag=tag,
            private=private,
            gated=gated,
            may_redistribute=may_redistribute,
            labels_only=labels_only,
            about=about,
            title=title,
            licence=licence,
            language=language,
            drop_columns=drop_column or (),
        )
    except HubFailure as failure:
        print("fcconan: " + " ".join(str(failure).split()), file=sys.stderr)
        raise typer.Exit(FAILED) from failure
    if json_file is not None:
        write_json(json_file, publication.as_json())
    _print(publication)


def _print(publication: "Publication") -> None:
    from fcconan.cli.output import print_table
    from fcconan.data import printable_name
    from fcconan.publishing import listed

    plan, done = publication.plan, publication.done
    print_table(
        f"{plan.contents.title} to {publication.url}",
        ("file", "change", "bytes"),
        [(printable_name(file.path), file.change, file.size) for file in plan.files],
    )
    lines = [
        f"Repository: {'there' if plan.remote.exists else 'to be created'}; in the end {plan.visibility}."
        if done is None
        else f"Repository: {plan.visibility}."
    ]
    if plan.restricted:
        lines.append(f"Restricted text: {listed(plan.restricted)}.")
    if plan.kept:
        lines.append(f"Stays there, though no publication put it there: {', '.join(map(printable_name, plan.kept))}.")
    if plan.contents.left_out:
        lines.append(f"Stays here: {', '.join(map(printable_name, plan.contents.left_out))}.")
    lines += [*plan.contents.notes, *plan.notes]
    if plan.is_done:
        lines.append(f"Nothing to do: {plan.tag} holds this content already.")
    elif done is None:
        commit = f"one commit of {len(plan.changed)} files" if plan.changed else "no commit"
        lines.append(f"Would do: {commit}; tag {plan.tag}{' is there' if plan.tagged else ''}. Nothing was sent.")
    else:
        commit = f"commit {done.commit[:8]} of {len(plan.changed)} files" if done.committed else "no commit"
        lines.append(f"Done: {commit}; tag {plan.tag}{'' if done.tagged else ' was there'}.")
    config, splits = next(iter(plan.contents.manifest["counts"].items()))
    lines.append("Load it:" if plan.is_done or done else "Then load it:")
    lines.append(
        f'  datasets.load_dataset("{plan.repo_id}", "{config}", split="{next(iter(splits))}", revision="{plan.tag}")'
    )
    for line in lines:
        typer.echo(line)
