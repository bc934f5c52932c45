"""`fcconan judge show`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from fcconan.cli.options import MOST_ROWS

NAME = "show"
EXAMPLE = "Example: fcconan judge show --journal answers.jsonl --limit 3"


def run(
    journal: Annotated[Path | None, typer.Option("--journal", help="The file of answers; default: the cache.")] = None,
    contains: Annotated[str | None, typer.Option("--contains", help="Only where a prompt or answer has this.")] = None,
    model: Annotated[str | None, typer.Option("--model", help="Show and count this model only.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST_ROWS, help="How many, the last ones.")] = 5,
    merge: Annotated[
        list[Path] | None, typer.Option("--merge", help="First take over the answers of this file, of another machine.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write counts to this file.")] = None,
) -> None:
    """Show what was asked and answered, and count calls and tokens."""
    from collections import Counter, deque

    from fcconan.cli.files import check_files
    from fcconan.cli.models import Connection
    from fcconan.cli.output import print_table, write_json
    from fcconan.errors import InputError
    from fcconan.models import Answers, store_path

    path = Connection(journal=journal).journal_path()  # refuses other files
    for other in merge or ():
        typer.echo(f"New answers of {other}: {Answers(path).merge(other)}")
    if not path.is_file() and not store_path(path).is_file():
        raise InputError(f"file of answers not found: {path}; give the --journal of a run")
    check_files({"--json": json_file}, read=[path, store_path(path)])
    counts: dict[str, Counter[str]] = {}
    last: deque[dict[str, Any]] = deque(maxlen=limit)
    for record in Answers(path).records():
        name = _model(record)
        if model is not None and name != model:
            continue
        usage = record.get("usage")
        count = counts.setdefault(name, Counter())
        count["answers"] += 1
        for kind in ("prompt_tokens", "completion_tokens"):
            number = usage.get(kind) if isinstance(usage, dict) else None
            count[kind] += number if type(number) is int else 0
        text = json.dumps([record["request"], record["response"]], ensure_ascii=False)
        if contains is None or contains in text:
            last.append(record)
    for record in last:
        typer.echo(_readable(record))
    rows = [(name, each["answers"], each["prompt_tokens"], each["completion_tokens"]) for name, each in counts.items()]
    print_table(f"Answers in {path}", ("model", "answers", "prompt tokens", "completion tokens"), rows)
    if json_file is not None:
        write_json(json_file, {"journal": str(path), "models": {name: dict(each) for name, each in counts.items()}})


def _model(record: dict[str, Any]) -> str:
    request = record["request"]
    return str(request.get("body", request).get("model") or request.get("model"))


def _readable(record: dict[str, Any]) -> str:
    request = record["request"]
    body = request.get("body", request)
    head = f"=== {record['key'][:12]}  {_model(record)}  sample {request.get('sample', 0)}"
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
        said = message.get("content") if isinstance(message, dict) else message
        lines += [f"--- answer ({choices[0].get('finish_reason')})", str(said).rstrip()]
    else:
        lines += ["--- answer", json.dumps(record["response"], ensure_ascii=False)[:500]]
    return "\n".join(lines) + "\n"
