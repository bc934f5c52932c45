"""Options that verbs with a language model share, and the models that they name."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcconan.cli.answer_runs import Fresh, begun, report_answers
from fcconan.errors import InputError

if TYPE_CHECKING:
    from fcconan.models import Answers, Call, Format, Model, Purse, Reply, Run

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
    def purse(self) -> "Purse | None":
        """What all models of the run may spend together; None for any amount.

        Raises:
            InputError: The limit is no number from 0.
        """
        from fcconan.models import Purse

        return None if self.max_cost is None else Purse(self.max_cost)

    def journal_path(self) -> Path:
        """Returns the file of answers that is given, or the one in the cache.

        Raises:
            InputError: The file holds something else.
        """
        from fcconan.models import check_answers_file
        from fcconan.retrieval import default_folder

        path = self.journal or default_folder() / "journal.sqlite"
        if not path.name:  # `.` or `/`
            raise InputError(f"--journal is {str(path)!r}: give the name of a file")
        check_answers_file(path)
        return path

    def answers(self) -> "Answers":
        """Returns the store of answers.

        Raises:
            InputError: The file cannot be used.
        """
        from fcconan.models import Answers

        path = self.journal_path()
        return Answers(path) if self.run is None else self.run.answers(path)

    def epoch(self) -> int:
        """Returns the epoch of the run's answers; a fresh run that sends something opens it first.

        Raises:
            InputError: The file cannot be used.
        """
        answers = self.answers()
        if answers.is_fresh and not self.dry_run:
            answers.prepare()
        return answers.epoch

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
        kind, _, rest = name.partition(":")
        if name == LEXICAL:
            raise InputError("lexical is no model but a baseline of `fcconan judge rate` only: name a model")
        if not name.strip() or (kind in ("replay", "local") and not rest):
            raise InputError(
                f"{name!r} names no model: give a name at the endpoint, local:FOLDER_OR_NAME, or replay:FILE"
            )
        if kind == "replay":
            from fcconan.models import ReplayModel

            return ReplayModel(Path(rest))
        if kind == "local":
            from fcconan.models import LocalModel

            return LocalModel(
                rest,
                journal=self.answers(),
                device=self.device,
                batch_size=self.batch_size,
                template=template,
            )
        from fcconan.models import Budget, Client, EndpointModel, load_price, read_fields

        price = None if self.prices is None else load_price(self.prices, name)
        if self.max_cost is not None and price is None:
            raise InputError("--max-cost needs --prices FILE, with the price of the model")
        sharing = [each for each in beside if _at_endpoint(each)] or [name]
        share, more = divmod(self.concurrency, len(sharing))
        client = Client(
            journal=self.answers(),
            base_url=self.base_url,
            api_key_variable=self.key_variable,
            timeout=self.timeout,
            retries=self.retries,
            concurrency=max(1, share + (sharing.index(name) < more)),
            requests_per_minute=None if self.per_minute is None else self.per_minute / len(sharing),
            budget=Budget(self.purse, price),
            own_thread=bool(beside),
        )
        further = read_fields(self.further or (), option="--field")
        return EndpointModel(client, name, structured=self.structured, further=further)


def _at_endpoint(name: str) -> bool:
    return name != LEXICAL and name.partition(":")[0] not in ("replay", "local")


DEFAULT = Connection()


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

    Args:
        model: The model.
        role: What it is asked for, where a verb asks for several things.
        answer: Makes the text of its answers, of a call and its number; by default it answers nothing.

    Attributes:
        calls: Calls in all.
        kept: Those that are answered already.
        prompt_tokens: Estimate, of those that are not.
        most_prompt_tokens: Bound.
        most_completion_tokens: Bound; None if an answer may be of any length.
    """

    def __init__(
        self, model: "Model", *, role: str | None = None, answer: "Callable[[Call, int], str] | None" = None
    ) -> None:
        self.model, self.name, self.configuration = model, model.name, model.configuration
        self._role, self._answer = role, answer
        self.calls = self.kept = self.prompt_tokens = self.most_prompt_tokens = 0
        self.most_completion_tokens: int | None = 0

    def replies(self, calls: Iterable["Call"]) -> Iterator["Reply"]:
        """Counts the calls."""
        from fcconan.models import EndpointModel, Reply, estimated_tokens, longest_answer, longest_prompt

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
            yield Reply(self._answer(call, self.calls)) if self._answer is not None else Reply(reason="not_recorded")

    def summary(self, prices: Path | None) -> dict[str, Any]:
        """Returns the counts, and the cost if there are prices; models that are no endpoint's cost nothing.

        Raises:
            InputError: There is no price for the model.
        """
        from fcconan.models import EndpointModel, Price, load_price

        found: dict[str, Any] = {
            "model": self.name,
            **({} if self._role is None else {"asked_for": self._role}),
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


def print_rehearsals(
    rehearsals: list[Rehearsal], prices: Path | None, json_file: Path | None, *, at_most: bool = False
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
    from fcconan.cli.output import print_table

    found = []
    for model in opened:
        budget = getattr(getattr(model, "client", None), "budget", None)
        if budget is not None:
            used, cost = budget.used, budget.cost
            origins = model.client.origins.summary(model.name)
            found.append(
                {
                    "model": model.name,
                    "requests": used.requests,
                    "prompt_tokens": used.prompt_tokens,
                    "completion_tokens": used.completion_tokens,
                    "requests_without_count": used.uncounted,
                    "cost": None if cost is None else round(cost, 6),
                    **origins,
                }
            )
    if found:
        shown = [name for name in _SENT if name != "cost" or found[0]["cost"] is not None]
        print_table("What was sent in this run", shown, [[each[name] for name in shown] for each in found])
    report_answers(opened, option=option)
    return found
