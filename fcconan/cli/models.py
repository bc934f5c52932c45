"""Options that older commands with a language model share; `fcconan.services.connections` opens the models.

It is deleted with the last command that is no service.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.answer_runs import Fresh, begun, report_answers

if TYPE_CHECKING:
    from fcconan import services
    from fcconan.models import Answers, Format, Model, Purse, Rehearsal as Rehearsal, Run, UnaskedModel

    Nobody = UnaskedModel

BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="OpenAI-compatible endpoint; default: $OPENAI_BASE_URL.")
]
KeyVariable = Annotated[str, typer.Option("--api-key-variable", help="Environment variable that holds the key.")]
JournalFile = Annotated[
    Path | None,
    typer.Option("--journal", help="File of paid answers; default: in the cache. A second run asks nothing."),
]
Concurrency = Annotated[int, typer.Option("--concurrency", min=1, help="Requests at once, of a panel together.")]
PerMinute = Annotated[
    float | None, typer.Option("--requests-per-minute", help="The most that are sent, by a panel together.")
]
Timeout = Annotated[float, typer.Option("--timeout", help="Seconds without a sign of the endpoint.")]
Retries = Annotated[int, typer.Option("--retries", min=0, help="Tries after a failed request.")]
Structured = Annotated[
    bool, typer.Option("--schema/--no-schema", help="Ask the endpoint for structured output, if it has it.")
]
Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--field", help="NAME=VALUE: a field of every request, such as reasoning_effort=low; NAME= leaves it out."
    ),
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
LEXICAL = "lexical"
_SENT = "model requests prompt_tokens completion_tokens requests_without_count from_store cost".split()
MODEL_HELP = "Name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE of recorded outputs"


@dataclass(frozen=True)
class Connection:
    """What the options say about models. Its fields are the options of every verb that is `connected`, in their order.

    Attributes:
        base_url: The endpoint.
        key_variable: The environment variable with the key.
        journal: The file of answers; None for the one in the cache.
        concurrency: Requests at once, of all models that are asked at the same time.
        per_minute: The most that are sent in a minute, by all models that are asked at the same time.
        timeout: Seconds.
        retries: Tries after a failed request.
        structured: Whether structured output is asked for.
        further: Fields of every request, as NAME=VALUE.
        prices: The file of prices.
        max_cost: What all models of the run may cost together.
        dry_run: Whether nothing is sent, and calls are counted.
        device: Of local models.
        batch_size: Of local models.
        fresh: True asks everything again; None goes on with an interrupted run that does; False gives that up.
        run: Which stored answers may be used; it is no option.
    """

    base_url: BaseUrl = None
    key_variable: KeyVariable = "OPENAI_API_KEY"
    journal: JournalFile = None
    concurrency: Concurrency = 8
    per_minute: PerMinute = None
    timeout: Timeout = 60.0
    retries: Retries = 4
    structured: Structured = True
    further: Fields = None
    prices: Prices = None
    max_cost: MaxCost = None
    dry_run: DryRun = False
    device: Device = None
    batch_size: BatchSize = 8
    fresh: Fresh = None
    run: "Run | None" = field(default=None, compare=False)

    @cached_property
    def service(self) -> "services.Connection":
        """The connection of the services, which opens the models; older commands check the limits of numbers later."""
        from fcconan import services

        return services.Connection(self.endpoint, self.run)

    @property
    def endpoint(self) -> "services.Endpoint":
        """The group of options of services."""
        from fcconan import services

        return services.Endpoint.model_construct(
            base_url=self.base_url,
            api_key_variable=self.key_variable,
            response_cache=self.journal,
            concurrency=self.concurrency,
            requests_per_minute=self.per_minute,
            timeout=self.timeout,
            retries=self.retries,
            structured_output=self.structured,
            request_field=tuple(self.further or ()),
            prices=self.prices,
            max_cost=self.max_cost,
            dry_run=self.dry_run,
            device=self.device,
            batch_size=self.batch_size,
            fresh=self.fresh,
        )

    @property
    def purse(self) -> "Purse | None":
        """See `fcconan.services.Connection`."""
        return self.service.purse

    def journal_path(self) -> Path:
        """Returns the file of answers; see `fcconan.services.cache_path`."""
        from fcconan import services

        return services.cache_path(self.journal)

    def answers(self) -> "Answers":
        """Returns the store of answers; see `fcconan.services.Connection`."""
        return self.service.answers()

    def epoch(self) -> int:
        """Returns the epoch of the run's answers; see `fcconan.services.Connection`."""
        return self.service.epoch()

    def check_files(
        self,
        written: Mapping[str, Path | None],
        *,
        read: Iterable[Path | None] = (),
        folders: Iterable[Path | None] = (),
        names: Iterable[str] = (),
    ) -> None:
        """Checks that a run destroys nothing: see `fcconan.cli.files.check_files`.

        Args:
            written: Option -> file, besides the journal.
            read: What is read, besides prices and models.
            folders: Folders of which every file counts.
            names: Of the models.

        Raises:
            InputError: It would.
        """
        from fcconan.cli.files import check_files, files_of_models
        from fcconan.models import store_path

        recorded, local = files_of_models(names)
        journal = self.journal_path()
        store = {} if store_path(journal) == journal else {"the store of --journal": store_path(journal)}
        check_files(
            {**written, "--journal": journal, **store},
            read=[*read, self.prices, *recorded],
            folders=[*folders, *local],
        )

    def open(self, name: str, *, beside: Sequence[str] = (), template: "Format | None" = None) -> "Model":
        """Returns the model that a name stands for.

        Args:
            name: See `MODEL_HELP`.
            beside: All models, this one among them, whose answers are waited for in turn. They share the limits of
                requests, of which everyone gets one at least.
            template: How a model on this machine is prompted; None for its own chat template.

        Raises:
            InputError: There is no such model, or the options do not go together.
        """
        return self.service.open(name, beside=beside, template=template)


DEFAULT = Connection()


def __getattr__(name: str) -> Any:
    """Loads the stand-ins for models when a command needs them."""
    import fcconan.models

    return getattr(fcconan.models, {"Nobody": "UnaskedModel", "Rehearsal": "Rehearsal"}.get(name, name))


def connected(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a verb the options of a connection where it has the parameter `connection`, whose default is theirs.

    Args:
        without: Fields of `Connection` that the verb has no option for.
    """
    names = [each.name for each in fields(Connection) if each.name not in (*without, "run")]

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
            connection = replace(place.default, **given)
            with begun(
                run.__module__, {**values, **vars(connection)}, connection.fresh, dry_run=connection.dry_run
            ) as answering:
                run(**values, connection=replace(connection, run=answering))

        # What Typer makes options of.
        wrapped.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*parameters[:where], *options, *parameters[where + 1 :]]
        )
        return wrapped

    return decorate


def print_rehearsals(
    rehearsals: "list[Rehearsal]", prices: Path | None, json_file: Path | None, *, at_most: bool = False
) -> None:
    """Prints what models would be asked; the estimate counts a token for four bytes."""
    from fcconan.cli.output import print_table, write_json

    found = [rehearsal.summary(prices) for rehearsal in rehearsals]
    most = " at most" if at_most else ""
    print_table(
        f"What would be asked{most} (nothing was sent)", list(found[0]), [list(each.values()) for each in found]
    )
    if json_file is not None:
        write_json(json_file, {"dry_run": found})


def print_used(opened: Sequence[Any], *, option: str = "--fresh") -> list[dict[str, Any]]:
    """Prints what models behind an endpoint were sent in this run, and returns it; others count nothing.

    `cost` is that of the counted tokens; None without prices. For all models, it prints how many answers were stored.

    Args:
        opened: The models.
        option: The option of the command that asks again.
    """
    from fcconan import services
    from fcconan.cli.output import print_table

    opened = list(opened)
    found = services.usage_of(opened)
    if found:
        shown = [name for name in _SENT if name != "cost" or found[0]["cost"] is not None]
        print_table("What was sent in this run", shown, [[each[name] for name in shown] for each in found])
    report_answers(opened, option=option)
    return found
