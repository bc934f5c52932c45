"""Replies to the messages of a dataset: by a model, from a catalogue, or by people."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import fcconan
from fcconan.errors import InputError
from fcconan.services.background import knowledge_of
from fcconan.services.configuration import argument, output
from fcconan.services.connections import Connection, connected, notices_of, usage_of
from fcconan.services.locations import dataset_part
from fcconan.services.model_results import ModelResult, Progress, WatchedModel, dry_run_of, reporting
from fcconan.services.reply_notes import failures_of, notes_of
from fcconan.services.reply_options import (
    BY_MODEL,
    ENCODER,
    FEW_SHOT,
    REFERENCE,
    RETRIEVAL,
    RETRIEVER,
    SHOWN,
    GenerateOptions,
)
from fcconan.services.rows import Source, as_file, run_name

if TYPE_CHECKING:
    from fcconan.generation import (
        Examples,
        GenerationPlan,
        Generator,
        Item,
        TrainingPool,
    )
    from fcconan.models import Client, Model

SETTINGS = ".settings.json"  # ending of the file next to the rows


@dataclass(frozen=True, repr=False)
class GenerateResult(ModelResult):
    """A summary of written replies; its main table has one row, or one for each model of a dry run.

    Attributes:
        out: The file of replies.
    """

    out: Path = field(kw_only=True)
    table: ClassVar[str] = "systems"
    kind: ClassVar[str] = "replies"

    def source_rows(self) -> Any:
        """Returns the file of replies."""
        return self.out


def generate(
    dataset: Annotated[
        Source,
        argument(
            "Messages: a folder that `fcconan build` wrote, a name of the catalogue or of the Hub, or a file of rows.",
            path=True,
            role="read",
        ),
    ],
    out: Annotated[Path | str, output("File of replies: .parquet, .jsonl or .csv.", role="write")],
    options: GenerateOptions = GenerateOptions(),
    *,
    client: "Client | Model | None" = None,
    progress: Progress | None = None,
) -> GenerateResult:
    """Writes a reply to every message of a dataset, and the settings as JSON next to the file.

    A reply that fails is missing, with a reason. A second run sends only requests without a stored answer.

    Args:
        dataset: Messages: a folder, the name of a dataset, a file, a data frame, a `datasets.Dataset` or mappings.
        out: The file of replies.
        options: The options.
        client: A client or model of the user instead of the endpoint.
        progress: Function that receives the number of written replies and of all replies.

    Returns:
        A summary. The main table has one row, with the columns `system`, `strategy`, `n`, `n_missing`,
        `missing` (counts by reason), `refusals`, `flags` and `mean_words`. The replies are in the file `out`.

    Raises:
        InputError: Options do not go together, or the data, a model or a file cannot be used.

    Examples:
        >>> import tempfile
        >>> from fcconan.services import build
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     demo = build("demo", f"{folder}/demo", progress=False).folder
        ...     found = generate(demo, f"{folder}/gold.jsonl", GenerateOptions(strategy="reference"))
        >>> found.to_frame()["system"].tolist()
        ['gold']
    """
    from fcconan.data import check_row_target

    check_row_target(Path(out))
    with (
        connected("generate", {"dataset": run_name(dataset, options.split)}, options, client=client) as connection,
        as_file(dataset, options.split) as source,
    ):
        if not isinstance(dataset, str | PathLike):
            options = options.model_copy(update={"split": None})  # `as_file` has chosen it
        result = _Replies(source, Path(out), options, connection, progress).write()
        if result.failed:
            connection.keep_open()
        return result


@dataclass(frozen=True)
class _Replies:
    """One run of `generate` on an opened dataset."""

    dataset: Path
    out: Path
    options: GenerateOptions
    connection: Connection
    progress: Progress | None

    def write(self) -> GenerateResult:
        """Writes the replies and their settings."""
        options = self.options
        strategy = options.used_strategy
        if strategy in BY_MODEL:
            return self._by_model(strategy)
        if self.connection.options.dry_run:
            raise InputError("--dry-run counts requests to a model, and this strategy calls none: leave it out")
        return self._finished(self._retrieve() if strategy == RETRIEVAL else self._references())

    def _references(self) -> dict[str, Any]:
        from fcconan.generation import ReferenceGenerator

        generator = ReferenceGenerator(seed=self.options.seed, name=self.options.system_name or "gold")
        note = "The reference that is the reply is left out of the references of its row."
        return self._generated(generator, self._items()) | {"notes": [note]}

    def _retrieve(self) -> dict[str, Any]:
        from fcconan.generation import RetrievalGenerator

        generator = RetrievalGenerator(
            self._pool(),
            self.options.retriever or RETRIEVER,
            name=self.options.system_name,
            client=self.connection.client_of,
            device=self.connection.options.device,
        )
        result = self._generated(generator, self._items())
        return result | {"notes": notes_of(result)}

    def _by_model(self, strategy: str) -> GenerateResult:
        from fcconan.generation import DEFAULT_PROMPTS, check_prompt, load_generation_prompt

        options = self.options
        if options.model is None:
            raise InputError(
                f"there is no model: name one with --model, or choose --strategy {RETRIEVAL} or {REFERENCE}"
            )
        decoding = options.decoding_settings()
        prompt = load_generation_prompt(options.prompt or DEFAULT_PROMPTS[strategy])
        check_prompt(prompt, background=options.background is not None)
        template = options.chat_format()
        items = self._items()
        model = self.connection.open(options.model, template=template)
        plan = self._plan(strategy, decoding, prompt)
        plan.prepare(items)
        if self.connection.options.dry_run:
            return self._rehearsed(model, plan, items)
        return self._asked(model, plan, items, None if template is None else template.name)

    def _asked(
        self, model: "Model", plan: "GenerationPlan", items: "list[Item]", template: str | None
    ) -> GenerateResult:
        """Writes the replies of a model."""
        from fcconan.generation import ModelGenerator
        from fcconan.models import find_origins

        watched, own = WatchedModel(model), getattr(model, "own_template", None)
        seed, name = self.options.seed, self.options.system_name
        generator = ModelGenerator(watched, plan, seed=seed, name=name, format=template, own_template=own)
        result = self._generated(generator, items)
        origins = find_origins(model)
        dates = None if origins is None else origins.dates()
        result["answers"] = None if dates is None else dict(zip(("first", "last"), dates, strict=True))
        result["failed_requests"] = generator.failed
        result["notes"] = notes_of(result, plan)
        return self._finished(result, opened=[model], failures=failures_of(generator.name, result, watched))

    def _rehearsed(self, model: "Model", plan: "GenerationPlan", items: "list[Item]") -> GenerateResult:
        """Counts the requests to a model."""
        from fcconan.generation import ModelGenerator
        from fcconan.models import DryRun

        asked = DryRun(model)
        for _ in ModelGenerator(asked, plan).answers(items):
            pass
        return GenerateResult(dry_run_of([asked], self.connection.options.prices), out=self.out)

    def _items(self) -> "list[Item]":
        from fcconan.generation import load_items

        options = self.options
        return load_items(
            self.dataset,
            config=options.subset,
            split=options.split,
            columns=options.rename or None,
            filter=options.filter,
            limit=options.limit,
        )

    def _pool(self) -> "TrainingPool":
        from fcconan.generation import load_pool

        options = self.options
        if options.pool is not None:
            source, config, split = dataset_part(options.pool)
            return load_pool(source, config=config, split=split)
        try:
            if options.subset is None or any((self.dataset / "train").glob("*.parquet")):
                return load_pool(self.dataset, columns=options.rename or None)
            return load_pool(self.dataset, config=options.subset, split=options.split)
        except InputError as error:
            raise InputError(f"{error}; or name other pairs with --pool") from error

    def _examples(self) -> "Examples":
        from fcconan.generation import Examples

        options = self.options
        device = self.connection.options.device
        return Examples(self._pool(), options.examples or SHOWN, options.encoder or ENCODER, device=device)

    def _plan(self, strategy: str, decoding: Any, prompt: Any) -> "GenerationPlan":
        from fcconan.generation import GenerationPlan

        options = self.options
        return GenerationPlan(
            prompt,
            decoding,
            examples=self._examples() if strategy == FEW_SHOT or options.examples is not None else None,
            background=knowledge_of(options, shown=True),
            seed=options.sent_seed,
        )

    def _generated(self, generator: "Generator", items: "list[Item]") -> dict[str, Any]:
        """Writes the replies of a system, and returns their counts with the settings."""
        from fcconan.data import RowWriter
        from fcconan.generation import (
            GENERATED,
            ReplyCounts,
            describe_messages,
            generate_rows,
            open_split,
        )

        tally = ReplyCounts(generator)
        with RowWriter(self.out, GENERATED) as writer:
            for row in reporting(generate_rows(generator, items), len(items), self.progress):
                tally.add(row)
                writer.write([row])
        part = open_split(self.dataset, config=self.options.subset, split=self.options.split)
        return {
            "dataset": describe_messages(part, items),
            "systems": [tally.result()],
            "configuration": generator.configuration,
            "version": fcconan.__version__,
        }

    def _finished(
        self, result: dict[str, Any], *, opened: Sequence[Any] | None = None, failures: tuple[str, ...] = ()
    ) -> GenerateResult:
        """Writes the settings next to the rows, and returns the result.

        Args:
            result: The counts, the settings and the notes.
            opened: The models; None where there is none.
            failures: The problems of the result.
        """
        from fcconan.data import write_whole

        settings = self.out.with_name(f"{self.out.name}{SETTINGS}")
        write_whole(settings, json.dumps(result, indent=2, ensure_ascii=False) + "\n", errors="backslashreplace")
        used = {} if opened is None else {"used": usage_of(opened)}
        (counts,) = result["systems"]
        return GenerateResult(
            {"out": str(self.out), **result, **used},
            out=self.out,
            notices=notices_of(opened or ()),
            notes=tuple(result.get("notes", ())),
            problems=failures,
            failed=bool(counts["n_missing"]) or bool(result.get("failed_requests")) or bool(failures),
        )
