"""`fcconan judge show`."""

import json
from collections.abc import Mapping
from typing import Any

import typer

from fcconan import services
from fcconan.oldcli.command import Command


def _show(result: "services.AnswerLog", verbose: bool) -> None:
    from fcconan.oldcli.output import print_table
    from fcconan.reporting import make_table

    for path, number in result.merged.items():
        typer.echo(f"New answers of {path}: {number}")
    for record in result.answers:
        typer.echo(_readable(record))
    columns = ("model", "answers", "prompt_tokens", "completion_tokens")
    print_table(make_table(f"Answers in {result.data['journal']}", result.rows(), columns))


def _readable(record: Mapping[str, Any]) -> str:
    """Returns one request with its answer as text."""
    from fcconan.services import model_name

    request = record["request"]
    body = request.get("body", request)
    head = f"=== {record['key'][:12]}  {model_name(record)}  sample {request.get('sample', 0)}"
    if record.get("at"):
        head += f"  {record['at']}"
    if record.get("seconds") is not None:
        head += f"  {record['seconds']} s"
    lines = [head]
    for message in body.get("messages", []):
        lines += [f"--- {message['role']}", str(message["content"]).rstrip()]
    if "messages" not in body:
        lines += ["--- request", json.dumps(body, ensure_ascii=False)[:500]]
    choices = record["response"].get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message")
        content = message.get("content") if isinstance(message, dict) else message
        lines += [f"--- answer ({choices[0].get('finish_reason')})", str(content).rstrip()]
    else:
        lines += ["--- answer", json.dumps(record["response"], ensure_ascii=False)[:500]]
    return "\n".join(lines) + "\n"


COMMAND = Command(
    name="show",
    help="Print the latest requests to language models with their answers, and count calls and tokens.",
    service="show_answers",
    example="fcconan judge show --response-cache answers.sqlite --last 3",
    show=_show,
)
