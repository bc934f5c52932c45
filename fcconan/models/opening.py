"""Models by their names, and tables of their requests."""

from collections.abc import Iterable, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError
from fcconan.groups import Endpoint
from fcconan.models.chat_template import Format
from fcconan.models.endpoint import EndpointModel
from fcconan.models.replay import ReplayModel
from fcconan.models.requests import ChatRequest, Model
from fcconan.models.store import Answers

if TYPE_CHECKING:
    from pandas import DataFrame

_BYTES_A_TOKEN = 4  # for planning, in languages that tokenizers support well


def open_model(name: str | Model, endpoint: Endpoint, template: Format | None = None) -> Model:
    """Returns the model of a name.

    Args:
        name: A name at the endpoint, `local:FOLDER_OR_NAME`, or `replay:FILE` of recorded outputs; an object with
            `replies` is returned as it is.
        endpoint: Address and limits of the requests.
        template: Prompt format of a local model; default: its own chat template.

    Raises:
        InputError: The name or the endpoint cannot be used.
    """
    if not isinstance(name, str):
        return name
    kind, _, rest = name.partition(":")
    if not name.strip() or (kind in ("local", "replay", "learned") and not rest):
        raise InputError(
            f"found the model {name!r}, expected a name at the endpoint, local:FOLDER_OR_NAME or replay:FILE"
        )
    if kind == "learned":
        raise InputError(f"{name} is a learned rater for `judge rate`, expected a language model: name one")
    if kind == "replay":
        return ReplayModel(Path(rest))
    answers = Answers(read=endpoint.cache)
    if kind == "local":
        from fcconan.models.local import LocalModel

        return LocalModel(rest, answers, batch_size=endpoint.concurrency, template=template)
    return EndpointModel(name, endpoint, answers)


def check_names_of(models: Iterable[Any]) -> None:
    """Checks that there are models, with different names, by which rows name their raters.

    Raises:
        InputError: There is none, or two have the same name.
    """
    names = [getattr(model, "name", model) for model in models]
    if not names:
        raise InputError("found no model, expected one or more: give --model NAME")
    if len({*names}) < len(names):
        raise InputError(f"found the models {', '.join(names)}, expected different names: rename a file or folder")


def identified(model: Any) -> str:
    """Returns the name of a model in identities of results, with its weights and without an address."""
    of_model = getattr(model, "identity", {}).items()
    return ",".join(str(value) for name, value in of_model if name != "endpoint") or str(model.name)


def usage_table(models: Iterable[Any]) -> "DataFrame":
    """Returns a row for each model: numbers of sent requests, of stored answers and of tokens, and the cost."""
    from pandas import DataFrame

    counts = ("requests", "stored", "prompt_tokens", "completion_tokens")
    rows = [
        {
            "model": model.name,
            "reported": ", ".join(getattr(model, "reported", ())) or None,
            **{name: model.used[name] for name in counts},
            "cost": model.cost() if isinstance(model, EndpointModel) else None,
        }
        for model in models
        if hasattr(model, "used")
    ]
    return DataFrame(rows, columns=["model", "reported", *counts, "cost"])


def model_notes(models: Iterable[Any]) -> tuple[str, ...]:
    """Returns sentences about refused fields and failed requests."""
    return tuple(note for model in models for note in getattr(model, "notes", ()))


def plan_requests(*runs: tuple[Any, Sequence[ChatRequest]]) -> "dict[str, DataFrame]":
    """Returns the requests of a run, for a dry run.

    Args:
        runs: Models with their requests.

    Returns:
        `requests`: for each model, numbers of requests, of stored answers and of prompt tokens (about, a token for four
        bytes) and the most tokens of answers of the others, with their largest cost. `messages`: role and content of
        the first request.
    """
    from pandas import DataFrame, concat

    rows = []
    for model, calls in runs:
        new = [call for call in calls if not getattr(model, "is_known", lambda _: False)(call)]
        texts = [each["content"] for call in new for each in call.messages]
        prompt_tokens = ceil(sum(len(text.encode(errors="replace")) for text in texts) / _BYTES_A_TOKEN)
        answer_tokens = sum(call.sampling.max_tokens or 0 for call in new)
        price = model.price if isinstance(model, EndpointModel) else None
        row = {
            "model": model.name,
            "requests": len(calls),
            "stored": len(calls) - len(new),
            "prompt_tokens": prompt_tokens,
            "completion_tokens_at_most": answer_tokens,
            "cost_at_most": price and (prompt_tokens * price[0] + answer_tokens * price[1]) / 1e6,
        }
        rows.append(DataFrame([row]))
    first = runs[0][1][:1]
    return {"requests": concat(rows, ignore_index=True), "messages": DataFrame(first[0].messages if first else [])}
