"""From the options of the group `Endpoint` to models, for all services that ask language models.

A service opens a connection, and its models through it:

    with connected("rate", {"replies": sources}, options, client=client) as connection:
        model = connection.open(options.model)
        if options.dry_run: ...  # `fcconan.models.DryRun` counts the requests
        result = {..., "used": usage_of([model])}
        notices = notices_of([model])

`options` is the whole configuration of the service, which inherits `Endpoint`. Own clients and models of Python users
come in as `client`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.errors import InputError
from fcconan.services.options import Endpoint

if TYPE_CHECKING:
    from fcconan.models import AnswerStore, Client, CommandRun, CostLimit, Format, Model

LEARNED = "learned"  # kind of the models of `fcconan judge train`
MODEL_HELP = "a name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE of recorded outputs"
BATCH_SIZE = 8  # prompts of a local model
_RESERVED = ("model", "messages", "response_format", "n", "stream")  # the package sets them itself
# Options that change neither the requests nor the model: with others, an interrupted fresh run is the same run.
_INCIDENTAL = frozenset(
    "response_cache api_key_variable concurrency requests_per_minute timeout retries prices max_cost dry_run device "
    "batch_size fresh report_folder texts cache_dir cache".split()
)


@dataclass(frozen=True)
class Connection:
    """Opens models.

    Attributes:
        options: How models are called, and how much they may cost.
        run: Which stored answers may be used; None for all.
        client: A client or model of the user, which replaces the endpoint.
    """

    options: Endpoint
    run: "CommandRun | None" = None
    client: "Client | Model | None" = None

    @cached_property
    def cost_limit(self) -> "CostLimit | None":
        """The cost limit that all models of the run share; None for any amount.

        Raises:
            InputError: There are no prices.
        """
        from fcconan.models import CostLimit

        if self.options.max_cost is None:
            return None
        if self.options.prices is None:
            raise InputError("--max-cost needs --prices FILE, with the price of the model")
        return CostLimit(self.options.max_cost)

    def answers(self) -> "AnswerStore":
        """Returns the store of answers.

        Raises:
            InputError: The file cannot be used.
        """
        from fcconan.models import AnswerStore, Client

        if isinstance(self.client, Client):
            return self.client.answers
        path = cache_path(self.options.response_cache)
        return AnswerStore(path) if self.run is None else self.run.answers(path)

    def keep_open(self) -> None:
        """Lets the next run with the same options continue this one, as some requests failed."""
        if self.run is not None:
            self.run.keep_open()

    def open(self, name: str, *, sharing: Sequence[str] = (), template: "Format | None" = None) -> "Model":
        """Returns the model of a name.

        Args:
            name: See `MODEL_HELP`.
            sharing: All models that share the limits of requests, including this one; each gets at least one request.
            template: The prompt format of a local model; None for its own chat template.

        Raises:
            InputError: The model is not found, or the options contradict each other.
        """
        from fcconan.models import Client, EndpointModel, ReplayModel

        kind, _, rest = name.partition(":")
        if kind == LEARNED:
            raise InputError(f"{name} is a learned rater for `fcconan judge rate`; expected a language model: name one")
        if not name.strip() or (kind in ("replay", "local") and not rest):
            raise InputError(
                f"{name!r} names no model: give a name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE"
            )
        if kind == "replay":
            return ReplayModel(Path(rest))
        if kind == "local":
            from fcconan.models import LocalModel

            size = self.options.batch_size or BATCH_SIZE
            model: Any = LocalModel(rest, _OldStore(self.answers()), batch_size=size, template=template)
            model.configuration = model.identity
            return model  # type: ignore[no-any-return]
        if self.client is not None and not isinstance(self.client, Client):
            return self.client
        further = request_fields(self.options.request_field)
        client = self.client or self.client_of(name, **self._shares(name, sharing))
        return EndpointModel(client, name, structured=self.options.structured_output, further=further)

    def client_of(self, model: str, kind: "type[Client] | None" = None, **how: Any) -> "Client":
        """Returns a client of this package for a model at the endpoint.

        Args:
            model: The endpoint's name of the model.
            kind: The class of the client; by default `Client`.
            how: Further arguments of the client.

        Raises:
            InputError: There is no price for the model, or the options do not go together.
        """
        from fcconan.models import Budget, Client, load_price

        price = None if self.options.prices is None else load_price(self.options.prices, model)
        budget = Budget(self.cost_limit, price)
        names = ("base_url", "api_key_variable", "timeout", "retries", "concurrency", "requests_per_minute")
        calling = {name: getattr(self.options, name) for name in names} | how
        return (kind or Client)(journal=self.answers(), **calling, budget=budget)

    def _shares(self, name: str, sharing: Sequence[str]) -> dict[str, Any]:
        """Returns the part of the limits of requests that a model has among those whose answers are awaited in turn."""
        names = [each for each in sharing if is_at_endpoint(each)] or [name]
        share, more = divmod(self.options.concurrency, len(names))
        limit = self.options.requests_per_minute
        return {
            "concurrency": max(1, share + (names.index(name) < more)),
            "requests_per_minute": None if limit is None else limit / len(names),
        }


@contextmanager
def connected(
    service: str, inputs: Mapping[str, Any], options: Endpoint, *, client: "Client | Model | None" = None
) -> Iterator[Connection]:
    """Begins a run that asks models; its fresh epoch ends with the block, and continues later if an error ends it.

    Args:
        service: Name of the service.
        inputs: Everything outside the configuration on which the requests depend, such as the sources.
        options: The configuration of the service.
        client: A client or a model of the user's own.

    Raises:
        InputError: An option does not go with an own client, or there is a limit of cost and there are no prices.
    """
    if client is not None:
        for name in ("fresh", "max_cost"):
            if getattr(options, name) is not None:
                raise InputError(f"{name} is for the client of this package: leave it out, or leave out client")
    run = run_of(service, {**inputs, **options.model_dump()}, options.fresh)
    connection = Connection(options, run, client)
    _ = connection.cost_limit  # refuses a limit without prices, before long work
    try:
        yield connection
        if not options.dry_run:
            run.finish()
    finally:
        run.close()


class _OldStore:
    """The store of answers in the form that `LocalModel` expects."""

    def __init__(self, answers: "AnswerStore") -> None:
        self._answers, self.put = answers, answers.put

    def get(self, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
        found = self._answers.get(request)
        return None if found is None else found.response


def run_of(service: str, values: Mapping[str, Any], fresh: bool | None) -> "CommandRun":
    """Returns the run of a service with certain options; runs that differ in incidental options only are the same.

    Args:
        service: Name of the service.
        values: Inputs and options by name.
        fresh: Whether all requests are repeated.
    """
    from fcconan.data import short_hash
    from fcconan.models import CommandRun

    asked = {name: _plain(value) for name, value in values.items() if name not in _INCIDENTAL}
    return CommandRun(short_hash(json.dumps([service, asked], sort_keys=True, default=str)), fresh)


def default_cache() -> Path:
    """Returns the file of answers in the cache folder."""
    from fcconan.data import cache_folder

    return cache_folder() / "runs" / "journal.sqlite"


def cache_path(given: Path | None) -> Path:
    """Returns the file of answers that is given, or the one in the cache folder.

    Raises:
        InputError: The file holds something else.
    """
    from fcconan.models import check_answers_file

    path = given or default_cache()
    if not path.name:  # `.` or `/`
        raise InputError(f"--response-cache is {str(path)!r}: give the name of a file")
    check_answers_file(path)
    return path


def usage_of(models: Iterable[Any]) -> list[dict[str, Any]]:
    """Returns requests, tokens and cost of this run for each model at an endpoint; others count nothing.

    `cost` is that of the counted tokens; None without prices.
    """
    found = []
    for model in models:
        budget = getattr(getattr(model, "client", None), "budget", None)
        if budget is not None:
            used, cost = budget.used, budget.cost
            found.append(
                {
                    "model": model.name,
                    "requests": used.requests,
                    "prompt_tokens": used.prompt_tokens,
                    "completion_tokens": used.completion_tokens,
                    "requests_without_count": used.uncounted,
                    "cost": None if cost is None else round(cost, 6),
                    **model.client.origins.summary(model.name),
                }
            )
    return found


@dataclass(frozen=True)
class Notices:
    """Sentences about the answers of a run.

    Attributes:
        stored: How many answers were stored ones, a sentence for each model.
        changed: Models that did not always answer as the same model, a sentence for each.
    """

    stored: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


def notices_of(models: Iterable[Any], *, option: str = "--fresh") -> Notices:
    """Returns sentences about stored answers, and about different models that answered under one name.

    Args:
        models: Those that were asked.
        option: The option of the command that repeats requests.
    """
    from fcconan.models import find_origins

    stored, changed = [], []
    for origins in {id(found): found for model in models if (found := find_origins(model)) is not None}.values():
        stored += [origins.stored(name, option=option) for name in origins.models]
        changed += [origins.change(name, option=option) for name in origins.models]
    return Notices(tuple(filter(None, stored)), tuple(filter(None, changed)))


def is_at_endpoint(name: str) -> bool:
    """Returns whether a name is that of a model at an endpoint."""
    return name.partition(":")[0] not in ("replay", "local", LEARNED)


def request_fields(given: Iterable[str]) -> dict[str, Any]:
    """Reads NAME=VALUE; the value is JSON or else text, and an empty one leaves the field out.

    Raises:
        InputError: One has another form, or its name occurs twice or is reserved.
    """
    found: dict[str, Any] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not name or not equals or name in found or name in _RESERVED:
            raise InputError(
                f"--request-field is {each!r}: give NAME=VALUE, each name once and none of {', '.join(_RESERVED)}, or "
                "NAME= to leave a field out"
            )
        try:
            found[name] = json.loads(value, parse_constant=_no_number) if value else None
        except ValueError:
            found[name] = value
    return found


def _no_number(name: str) -> None:
    raise ValueError(name)


def _plain(value: Any) -> Any:
    """Returns a value that identifies an input across processes: files by their path, rows by their type only."""
    if isinstance(value, Path):
        return str(value.resolve())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if value is None or isinstance(value, str | int | float):
        return value
    return type(value).__name__
