"""`fcconan publish`."""

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.PublishResult", verbose: bool) -> None:
    from fcconan.data import printable
    from fcconan.oldcli.output import print_table
    from fcconan.publishing import format_columns
    from fcconan.reporting import make_table

    publication = result.publication
    plan, done = publication.plan, publication.done
    columns = {"file": lambda row: printable(row["file"]), "change": "change", "bytes": "bytes"}
    print_table(make_table(f"{plan.contents.name} to {publication.url}", result.rows(), columns))
    lines = [
        f"Repository: {'exists' if plan.remote.exists else 'will be created'}; new visibility: {plan.visibility}."
        if done is None
        else f"Repository: {plan.visibility}."
    ]
    if plan.restricted:
        lines.append(f"Restricted text: {format_columns(plan.restricted)}.")
    if plan.kept:
        lines.append(f"Other files in the repository, unchanged: {', '.join(map(printable, plan.kept))}.")
    if plan.contents.left_out:
        lines.append(f"Not published: {', '.join(map(printable, plan.contents.left_out))}.")
    lines += [*plan.contents.notes, *plan.notes]
    if plan.is_done:
        lines.append(f"Nothing to do: {plan.tag} already has this content.")
    elif done is None:
        commit = f"one commit of {len(plan.changed)} files" if plan.changed else "no commit"
        lines.append(f"Plan: {commit}; tag {plan.tag}{' (exists)' if plan.tagged else ''}. Nothing was sent.")
    else:
        commit = f"commit {done.commit[:8]} of {len(plan.changed)} files" if done.committed else "no commit"
        lines.append(f"Done: {commit}; tag {plan.tag}{'' if done.tagged else ' (existed before)'}.")
    config, split = publication.default
    lines.append("Load it:" if plan.is_done or done else "Then load it:")
    lines.append(f'  datasets.load_dataset("{plan.repo_id}", "{config}", split="{split}", revision="{plan.tag}")')
    for line in lines:
        typer.echo(line)


COMMAND = Command(
    name="publish",
    help="Publish a dataset folder on the Hugging Face Hub, in one commit.",
    example="fcconan publish demo-dataset my-name/demo --dry-run",
    show=_show,
)
