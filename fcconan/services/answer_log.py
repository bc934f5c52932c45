"""Stored answers of language models: the latest ones, and their number and tokens by model."""

import json
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fcconan
from fcconan.errors import InputError
from fcconan.services.configuration import Configuration, option
from fcconan.services.connections import cache_path
from fcconan.services.results import Result


class AnswerLogOptions(Configuration):
    """Options of `show_answers`: the response cache, and a selection of its answers."""

    response_cache: Path | None = option(
        None,
        help="File of the response cache; default: in the cache folder.",
        metavar="FILE",
        role="read",
    )
    contains: str | None = option(
        None, help="Show only answers whose prompt or text contains this text.", metavar="TEXT"
    )
    only_model: str | None = option(None, help="Show and count answers of this model only.", metavar="NAME")
    last: int = option(5, help="Number of latest answers to show.", ge=1)
    merge: tuple[Path, ...] = option(
        (),
        help="Response caches of other machines to import first.",
        rare=True,
        metavar="FILE",
        role="read",
    )


@dataclass(frozen=True, repr=False)
class AnswerLog(Result):
    """Stored answers. The main table has one row for each model.

    Attributes:
        answers: The latest answers, oldest first: request, response and time.
        merged: Number of new answers by imported file.
    """

    answers: Sequence[Mapping[str, Any]]
    merged: Mapping[str, int]

    def rows(self) -> list[dict[str, Any]]:
        """Returns the columns `model`, `answers`, `prompt_tokens` and `completion_tokens`."""
        return [{"model": name, **counts} for name, counts in self.data["models"].items()]

    @property
    def signature(self) -> str:
        """The package version and the file."""
        return f"fcconan:{fcconan.__version__}|answers:{self.data['journal']}"


def show_answers(options: AnswerLogOptions = AnswerLogOptions()) -> AnswerLog:
    """Reads the latest stored answers of language models, and counts answers and tokens by model.

    Args:
        options: The options.

    Returns:
        The latest answers (`answers`). The main table has one row for each model, with the columns `model`, `answers`,
        `prompt_tokens` and `completion_tokens`.

    Raises:
        InputError: The file does not exist, is not a response cache, or has no answer of the model.

    Examples:
        >>> import tempfile
        >>> from fcconan.models import AnswerStore
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "answers.sqlite"
        ...     AnswerStore(path).put({"body": {"model": "m", "messages": []}}, {"usage": {"prompt_tokens": 7}})
        ...     show_answers(AnswerLogOptions(response_cache=path)).rows()
        [{'model': 'm', 'answers': 1, 'prompt_tokens': 7, 'completion_tokens': 0}]
    """
    from fcconan.models import AnswerStore, store_path

    path = cache_path(options.response_cache)
    merged = {str(other): AnswerStore(path).merge(other) for other in options.merge}
    if not path.is_file() and not store_path(path).is_file():
        raise InputError(f"response cache not found: {path}; give the --response-cache of a run")
    counts: dict[str, Counter[str]] = {}
    others: set[str] = set()
    last: deque[dict[str, Any]] = deque(maxlen=options.last)
    for record in AnswerStore(path).records():
        name = model_name(record)
        if options.only_model is not None and name != options.only_model:
            others.add(name)
            continue
        usage = record.get("usage")
        count = counts.setdefault(name, Counter())
        count["answers"] += 1
        for kind in ("prompt_tokens", "completion_tokens"):
            number = usage.get(kind) if isinstance(usage, dict) else None
            count[kind] += number if type(number) is int else 0
        text = json.dumps([record["request"], record["response"]], ensure_ascii=False)
        if options.contains is None or options.contains in text:
            last.append(record)
    if others and not counts:
        raise InputError(f"found no answer of {options.only_model!r}: choose from {', '.join(sorted(others))}")
    models = {name: dict(each) for name, each in counts.items()}
    return AnswerLog({"journal": str(path), "models": models}, list(last), merged)


def model_name(record: Mapping[str, Any]) -> str:
    """Returns the name of the model in a stored request."""
    request = record["request"]
    return str(request.get("body", request).get("model") or request.get("model"))
