"""The verbs that a suite's steps are, run as from the command line; and what their results depend on."""

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fcconan.cli import models
from fcconan.cli.judge import compare, rate
from fcconan.data import content_folder
from fcconan.errors import InputError
from fcconan.generation import LEXICAL, LoadedSuite, content_of, key_of, known

if TYPE_CHECKING:
    from fcconan.generation import Item

Options = dict[str, Any]
_RENAMED = {
    "strategy": "rating_method",
    "name": "rater_name",
    "protocol": "comparison_format",
    "reference": "show_reference",
    "budget": "pairs",
    "context": "context_tokens",
}
REPLIES, RATINGS, COMPARISONS = "replies", "ratings", "comparisons"


class Verbs:
    """Generates, rates and compares as a suite says.

    Args:
        loaded: The suite.
        out: The folder of results.
        connection: How models are asked.

    Attributes:
        suite: The content of the suite.
        systems: The options of each system, with paths as they are found from here.
        dataset: Where the dataset is, once it is built.
        replies: The file of all replies.
    """

    def __init__(self, loaded: LoadedSuite, out: Path, connection: models.Connection) -> None:
        self.loaded, self.suite, self.out, self.connection = loaded, loaded.suite, out, connection
        self.systems = {name: loaded.options(config) for name, config in self.suite.systems.items()}
        self.dataset = loaded.dataset or out / "dataset"
        self.replies = out / "replies.parquet"
        self._opened: dict[str, Any] = {}
        self._keys: dict[str, str] = {}

    @cached_property
    def items(self) -> "list[Item]":
        """The messages."""
        from fcconan.generation import load_items

        suite = self.suite
        return load_items(self.dataset, config=suite.config, split=suite.split, columns=suite.column, limit=suite.limit)

    @cached_property
    def dataset_content(self) -> str:
        """A digest of the dataset, as it is when it is first asked for."""
        return content_of(self.dataset)

    @cached_property
    def terms(self) -> dict[str, bool]:
        """What a release says of its texts, `synthetic` and `redistributable`; nothing else is known to be so."""
        from fcconan.data import MANIFEST, read_manifest

        is_release = (self.dataset / MANIFEST).is_file()
        told = read_manifest(self.dataset) if is_release else {}
        return {name: told.get(name) is True for name in ("synthetic", "redistributable")}

    def generate(
        self, name: str, out: Path, json_file: Path | None, connection: models.Connection, limit: int | None
    ) -> None:
        """Lets a system answer the messages."""
        from fcconan.services import GenerateOptions, configured, generate

        suite, entry = self.suite, dict(self.systems[name])
        made, theirs = entry.get("from"), entry.pop("system", None)
        columns = entry.pop("column", None) if made is not None else suite.column
        given = {
            "seed": suite.seed,
            **entry,
            "system": theirs or (name if made is None else self._only_system(name, made, columns)),
            "config": suite.config,
            "split": suite.split,
            "column": columns,
            "limit": limit,
        }
        options = configured(GenerateOptions, "systems", given, connection.service.options)
        result = generate(self.dataset, out, options, client=connection.service)
        if json_file is not None:
            result.to_json(json_file)
        if result.may_improve and not result.is_dry_run:  # refused or empty replies stay so, and the step is done
            raise typer.Exit(1)

    def _only_system(self, name: str, made: str, columns: Mapping[str, str] | None) -> str:
        """Returns whose replies a file holds: those of a system of this name, or else of the only one."""
        from fcconan.data import id_of
        from fcconan.generation import open_part
        from fcconan.services import dataset_part

        source, config, split = dataset_part(made)
        if split is None and source.resolve() == self.dataset.resolve():
            split = self.suite.split
        part = open_part(source, config=config, split=split, columns=columns)
        named = {id_of(row, "system", place): None for place, row in part.rows()}
        found = [each for each in named if each is not None]
        if name in found or not found:
            return name
        if len(found) > 1:
            raise InputError(
                f"systems.{name}: {source} has replies of {', '.join(found)}: say whose are meant with `system`"
            )
        return found[0]

    def rate(
        self, replies: Path, out: Path, options: Mapping[str, Any], json_file: Path, connection: models.Connection
    ) -> None:
        """Lets a judge, or several, rate replies."""
        from fcconan.services import RateOptions, rate as rate_replies

        given = {**self._given(options, connection), "model": models_in(options)}
        result = rate_replies(str(replies), RateOptions(**given), out=out, client=connection.service)
        result.to_json(json_file)
        rate.COMMAND.show(result, False)

    def compare(
        self, replies: Path, out: Path, options: Mapping[str, Any], json_file: Path, connection: models.Connection
    ) -> None:
        """Lets a judge compare replies."""
        from fcconan.services import CompareOptions, compare as compare_replies

        given = self._given(options, connection)
        result = compare_replies(str(replies), CompareOptions(**given), out=out, client=connection.service)
        result.to_json(json_file)
        compare.COMMAND.show(result, False)

    def _given(self, options: Mapping[str, Any], connection: models.Connection) -> dict[str, Any]:
        """Returns the options of a judge by their names in services; a seed below 0 is not sent."""
        named = {_RENAMED.get(key, key): value for key, value in options.items() if value is not None}
        seed = named.get("seed", self.suite.seed)
        seeds = {"seed": max(seed, 0), "send_seed": seed >= 0}
        return {**connection.endpoint.model_dump(), **named, **seeds}

    def files_of(self, name: str) -> list[Path]:
        """Returns what a system's step writes: replies, summary and card."""
        from fcconan.generation import card_path

        rows = self.out / REPLIES / f"{name}.parquet"
        return [rows, rows.with_name(f"{name}.json"), card_path(rows)]

    def key_of_system(self, name: str) -> str:
        """Returns a digest of all that a system's replies depend on, as it is when it is first asked for."""
        suite, options = self.suite, self.systems[name]
        if name not in self._keys:
            self._keys[name] = key_of(
                step="generate",
                options=known(options),
                models=[self.model(each) for each in models_in(options)],
                retriever=_makers_of(options),
                **self._epoch(options),
                dataset=self.dataset_content,
                chosen=[suite.config, suite.split, suite.limit, suite.column, suite.seed],
            )
        return self._keys[name]

    def key_of_judge(self, kind: str, options: Options) -> str:
        """Returns a digest of all that ratings or comparisons depend on."""
        return key_of(
            step=kind,
            options=known(options),
            seed=self.suite.seed,
            models=[self.model(name) for name in models_in(options)],
            replies=content_of(self.replies),
            **self._epoch(options),
        )

    def _epoch(self, options: Options) -> dict[str, int]:
        """Returns the epoch of the answers that a step with models uses; nothing where none was ever asked afresh."""
        epoch = self.connection.epoch() if set(models_in(options)) - {LEXICAL} else 0
        return {"epoch": epoch} if epoch else {}

    def model(self, name: str) -> Any:
        """Returns what changes the answers of a model; for one that cannot be opened, why."""
        if name not in self._opened:
            try:
                self._opened[name] = name if name == LEXICAL else self.connection.open(name).configuration
            except InputError as error:
                self._opened[name] = str(error)
        return self._opened[name]

    @property
    def models(self) -> list[str]:
        """The names of all models."""
        parts = [*self.systems.values(), *map(self.loaded.options, (*self.suite.ratings, *self.suite.comparisons))]
        return list(dict.fromkeys(name for options in parts for name in models_in(options)))


def verb_of(run: Callable[..., None]) -> Callable[..., None]:
    """Returns a verb as it stands in its file, which takes a connection in the place of its options.

    What it is not given has the default of the command line.
    """
    plain: Callable[..., None] = inspect.unwrap(run)
    return plain


def step_of(system: str) -> str:
    """Returns the name of a system's step."""
    return f"{REPLIES}/{system}"


def models_in(options: Mapping[str, Any]) -> list[str]:
    """Returns the models that options name."""
    named = [options.get("model"), options.get("judge")]
    return [name for each in named if each for name in ([each] if isinstance(each, str) else each)]


def _makers_of(options: Options) -> list[str]:
    """Returns digests of the files that say what a retriever is: the list of retrievers, and a factory's module."""
    retriever = options.get("retriever") or ""
    if not ({"retriever", "top"} & options.keys() or options.get("strategy") == "retrieval"):
        return []
    files = [content_folder() / "benchmarks" / "retrieval.yaml"]
    module, colon, _ = retriever.partition(":")
    if colon and not Path(retriever).exists():
        try:
            spec = find_spec(module)
        except Exception:  # whatever a user's package raises; the rehearsal complains of it
            spec = None
        if spec is not None and spec.has_location and spec.origin is not None:
            files.append(Path(spec.origin))
    return [content_of(file) for file in files]
