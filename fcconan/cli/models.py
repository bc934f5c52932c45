"""Options that verbs with a language model share, and the models that they name."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.llm.call import Call, Model, Reply
    from fcconan.llm.cost import Purse

BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="OpenAI-compatible endpoint; default: $OPENAI_BASE_URL.")
]
KeyVariable = Annotated[str, typer.Option("--api-key-variable", help="Environment variable that holds the key.")]
JournalFile = Annotated[
    Path | None,
    typer.Option("--journal", help="Where answers are kept; default: the cache. A second run asks nothing."),
]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, help="Requests at once.")]
PerMinute = Annotated[float | None, typer.Option("--requests-per-minute", help="The most that are sent.")]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds without a sign of the endpoint.")]
Retries = Annotated[int, typer.Option("--retries", min=0, help="Tries after a failed request.")]
Structured = Annotated[
    bool, typer.Option("--schema/--no-schema", help="Ask the endpoint for structured output, if it has it.")
]
Prices = Annotated[
    Path | None, typer.Option("--prices", help="YAML: MODEL: {input: 2.5, output: 10}, for a million tokens.")
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", help="Stop before more is spent in this run, in the unit of --prices.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print calls, tokens and cost, and send nothing.")]
Device = Annotated[str | None, typer.Option("--device", help="Of local models: cpu, cuda, ...")]
BatchSize = Annotated[int, typer.Option("--batch-size", min=1, help="Prompts a batch of local models.")]
MODEL_HELP = "Name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE of recorded outputs"


@dataclass(frozen=True)
class Connection:
    """What the options say about models. Its fields are the options of every verb that is `connected`, in their order.

    Attributes:
        base_url: The endpoint.
        key_variable: The environment variable with the key.
        journal: The file of answers; None for the one in the cache.
        concurrency: Requests at once.
        per_minute: The most that are sent in a minute.
        timeout: Seconds.
        retries: Tries after a failed request.
        structured: Whether structured output is asked for.
        prices: The file of prices.
        max_cost: What all models of the run may cost together.
        dry_run: Whether nothing is sent, and calls are counted.
        device: Of local models.
        batch_size: Of local models.
    """

    base_url: BaseUrl = None
    key_variable: KeyVariable = "OPENAI_API_KEY"
    journal: JournalFile = None
    concurrency: Concurrency = 8
    per_minute: PerMinute = None
    timeout: Timeout = 60.0
    retries: Retries = 4
    structured: Structured = True
    prices: Prices = None
    max_cost: MaxCost = None
    dry_run: DryRun = False
    device: Device = None
    batch_size: BatchSize = 8

    @cached_property
    def purse(self) -> "Purse | None":
        """What all models of the run may spend together; None for any amount.

        Raises:
            InputError: The limit is no number from 0.
        """
        from fcconan.llm.cost import Purse

        return None if self.max_cost is None else Purse(self.max_cost)

    def journal_path(self) -> Path:
        """Returns the file of answers."""
        from fcconan.retrieve.kept import default_folder

        return self.journal or default_folder() / "journal.jsonl"

    def open(self, name: str, *, of_several: bool = False) -> "Model":
        """Returns the model that a name stands for.

        Args:
            name: See `MODEL_HELP`.
            of_several: Whether its answers are waited for in turn with those of others.

        Raises:
            InputError: There is no such model, or the options do not go together.
        """
        kind, _, rest = name.partition(":")
        if not name.strip() or (kind in ("replay", "local") and not rest):
            raise InputError(
                f"{name!r} names no model: give a name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE"
            )
        if kind == "replay":
            from fcconan.llm.replay import ReplayModel

            return ReplayModel(Path(rest))
        if kind == "local":
            from fcconan.llm.local import LocalModel

            return LocalModel(rest, journal=self.journal_path(), device=self.device, batch_size=self.batch_size)
        from fcconan.llm.client import Client
        from fcconan.llm.cost import Budget, load_price
        from fcconan.llm.endpoint import EndpointModel

        price = None if self.prices is None else load_price(self.prices, name)
        if self.max_cost is not None and price is None:
            raise InputError("--max-cost needs --prices FILE, with the price of the model")
        client = Client(
            journal=self.journal_path(),
            base_url=self.base_url,
            api_key_variable=self.key_variable,
            timeout=self.timeout,
            retries=self.retries,
            concurrency=self.concurrency,
            requests_per_minute=self.per_minute,
            budget=None if price is None or self.purse is None else Budget(self.purse, price),
            own_thread=of_several,
        )
        return EndpointModel(client, name, structured=self.structured)


DEFAULT = Connection()


def connected(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a verb the options of a connection where it has the parameter `connection`, whose default is theirs.

    Args:
        without: Fields of `Connection` that the verb has no option for.
    """
    names = [each.name for each in fields(Connection) if each.name not in without]

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(run)
        place = signature.parameters["connection"]
        options = [
            place.replace(name=each.name, annotation=each.type, default=getattr(place.default, each.name))
            for each in fields(Connection)
            if each.name in names
        ]
        parameters = list(signature.parameters.values())
        where = parameters.index(place)

        @wraps(run)
        def wrapped(**values: Any) -> None:
            given = {name: values.pop(name) for name in names}
            run(**values, connection=replace(place.default, **given))

        # What Typer makes options of.
        wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*parameters[:where], *options, *parameters[where + 1 :]]
        )
        return wrapped

    return decorate


class Nobody:
    """Stands where a model would, to make the calls that are never sent."""

    def __init__(self) -> None:
        self.name, self.configuration = "nobody", dict[str, Any]()

    def replies(self, calls: "Iterable[Call]") -> "Iterator[Reply]":
        """Answers nothing.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError


class Rehearsal:
    """Stands in for a model and counts what it would be asked.

    Attributes:
        calls: Calls in all.
        kept: Those that are answered already.
        prompt_tokens: Estimate, of those that are not.
        most_prompt_tokens: Bound.
        most_completion_tokens: Bound; None if an answer may be of any length.
    """

    def __init__(self, model: "Model") -> None:
        self.model, self.name, self.configuration = model, model.name, model.configuration
        self.calls = self.kept = self.prompt_tokens = self.most_prompt_tokens = 0
        self.most_completion_tokens: int | None = 0

    def replies(self, calls: Iterable["Call"]) -> Iterator["Reply"]:
        """Counts the calls and answers none."""
        from fcconan.llm.call import Reply
        from fcconan.llm.cost import estimated_tokens, longest_answer, longest_prompt
        from fcconan.llm.endpoint import EndpointModel

        known = getattr(self.model, "known", lambda call: None)
        for call in calls:
            self.calls += 1
            if known(call) is not None:
                self.kept += 1
            else:
                self.prompt_tokens += estimated_tokens(call.messages)
                body: dict[str, Any] = {"messages": call.messages, "max_tokens": call.sampling.max_tokens}
                if isinstance(self.model, EndpointModel):
                    body, _ = self.model.bodies(call)[-1]
                self.most_prompt_tokens += longest_prompt(body)
                answer = longest_answer(body)
                if answer is None or self.most_completion_tokens is None:
                    self.most_completion_tokens = None
                else:
                    self.most_completion_tokens += answer
            yield Reply(reason="not_recorded")

    def summary(self, prices: Path | None) -> dict[str, Any]:
        """Returns the counts, and the cost if there are prices; models that are no endpoint's cost nothing.

        Raises:
            InputError: There is no price for the model.
        """
        from fcconan.llm.cost import Price, load_price
        from fcconan.llm.endpoint import EndpointModel

        found: dict[str, Any] = {
            "model": self.name,
            "calls": self.calls,
            "answered_already": self.kept,
            "to_send": self.calls - self.kept,
            "prompt_tokens_about": self.prompt_tokens,
            "completion_tokens_at_most": self.most_completion_tokens,
        }
        if prices is not None:
            price = load_price(prices, self.name) if isinstance(self.model, EndpointModel) else Price(0, 0)
            answers = self.most_completion_tokens
            for name, prompts in (("cost_about", self.prompt_tokens), ("cost_at_most", self.most_prompt_tokens)):
                found[name] = None if answers is None else round(price.of(prompts, answers), 6)
        return found


def print_rehearsals(rehearsals: list[Rehearsal], prices: Path | None, json_file: Path | None) -> None:
    """Prints what models would be asked; the estimate counts a token for four bytes."""
    from fcconan.cli.output import print_table, write_json

    found = [rehearsal.summary(prices) for rehearsal in rehearsals]
    print_table("What would be asked (nothing was sent)", list(found[0]), [list(each.values()) for each in found])
    if json_file is not None:
        write_json(json_file, {"dry_run": found})
