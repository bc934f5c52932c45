"""Steps of a suite of generators: a service and a configuration each; and their dry run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcconan.data import content_folder
from fcconan.errors import InputError
from fcconan.generation import (
    ComparisonConfig,
    LoadedSuite,
    RatingConfig,
    StepCache,
    cache_key,
    complete_replies,
    content_hash,
    placeholder_replies,
    with_content_hashes,
    write_replies,
)
from fcconan.services.configuration import Configuration, ConfigurationError, Model, error_message
from fcconan.services.connections import Connection
from fcconan.services.generated_replies import LONGEST, GenerateResult, generate
from fcconan.services.judgements import RateOptions, RateResult, rate
from fcconan.services.locations import dataset_part
from fcconan.services.options import Endpoint
from fcconan.services.preferences import CompareOptions, CompareResult, compare
from fcconan.services.reply_options import REFERENCE, RETRIEVAL, GenerateOptions
from fcconan.services.text_metrics import MetricsOptions, MetricsResult, metrics

if TYPE_CHECKING:
    from fcconan.generation import Item

# Keys of suites that are fields of another name.
_SYSTEM = {
    "task": "prompt", "format": "prompt_format", "pick": "selection", "top": "retrieved", "own": "allow_own_cns",
    "from": "replies", "system": "system_name", "column": "rename", "config": "subset",
}  # fmt: skip
_RATING = {"strategy": "rating_method", "name": "rater_name"}
_COMPARISON = {
    "protocol": "comparison_format", "reference": "show_reference", "budget": "pairs", "name": "rater_name",
}  # fmt: skip
_METRICS = {"several": "multi_reference"}
NAMES = {"systems": _SYSTEM, "ratings": _RATING, "comparisons": _COMPARISON, "metrics": _METRICS}


def configured(model: type[Model], kind: str, given: Mapping[str, Any], endpoint: Endpoint | None = None) -> Model:
    """Returns the configuration of a service.

    Args:
        model: Its class.
        kind: The part of the suite: `systems`, `ratings`, `comparisons` or `metrics`.
        given: The keys of an entry; None is a missing one. A seed below 0 is not sent to models.
        endpoint: The options of models, for all entries.

    Raises:
        InputError: A value cannot be used.
    """
    names, fields = NAMES[kind], model.model_fields
    values = {names.get(key, key): value for key, value in given.items() if value is not None and key != "title"}
    if values.get("seed", 0) < 0:
        values |= {"seed": 0, "send_seed": False}
    if isinstance(values.get("model"), str) and kind == "ratings":
        values["model"] = (values["model"],)
    shared = {} if endpoint is None else {name: getattr(endpoint, name) for name in Endpoint.model_fields}
    try:
        return model(**{name: value for name, value in shared.items() if name in fields}, **values)
    except ConfigurationError as error:
        first = error.error.errors()[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        key = next((each for each, name in names.items() if name == field), field)
        raise InputError(f"{key}: {error_message(first)}") from error


Entry = dict[str, Any]
REPLIES, RATINGS, COMPARISONS = "replies", "ratings", "comparisons"
# Kind of judgement -> the configuration and the service.
JUDGES: dict[str, tuple[type[Configuration], Callable[..., Any]]] = {
    RATINGS: (RateOptions, rate),
    COMPARISONS: (CompareOptions, compare),
}


class SuiteSteps:
    """The steps of a suite that generate, rate and compare.

    Args:
        loaded: The suite.
        out: The folder of results.
        connection: Opens the models.

    Attributes:
        suite: The content of the suite.
        systems: The entry of each system, with paths relative to the current folder.
        dataset: The dataset, once it is built.
        replies: The file of all replies.
    """

    def __init__(self, loaded: LoadedSuite, out: Path, connection: Connection) -> None:
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
        """A digest of the dataset, computed once."""
        return content_hash(self.dataset)

    @cached_property
    def terms(self) -> dict[str, bool]:
        """Whether the texts are `synthetic` and `redistributable`, as in the manifest; false without a manifest."""
        from fcconan.data import MANIFEST, read_manifest

        is_release = (self.dataset / MANIFEST).is_file()
        manifest = read_manifest(self.dataset) if is_release else {}
        return {name: manifest.get(name) is True for name in ("synthetic", "redistributable")}

    def generate(self, name: str, out: Path, connection: Connection, limit: int | None) -> GenerateResult:
        """Has a system reply to the messages.

        Args:
            name: The system.
            out: The file of replies.
            connection: Opens the models.
            limit: The number of messages; None for all.
        """
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
        options = configured(GenerateOptions, "systems", given, connection.options)
        return generate(self.dataset, out, options, client=connection)

    def _only_system(self, name: str, made: str, columns: Mapping[str, str] | None) -> str:
        """Returns whose replies a file holds: those of a system of this name, or else of the only one."""
        from fcconan.data import optional_id
        from fcconan.generation import open_split

        source, config, split = dataset_part(made)
        if split is None and source.resolve() == self.dataset.resolve():
            split = self.suite.split
        part = open_split(source, config=config, split=split, columns=columns)
        named = {optional_id(row, "system", place): None for place, row in part.rows()}
        found = [each for each in named if each is not None]
        if name in found or not found:
            return name
        if len(found) > 1:
            raise InputError(
                f"systems.{name}: {source} has replies of {', '.join(found)}: say whose are meant with `system`"
            )
        return found[0]

    def judge(
        self, kind: str, replies: Path, out: Path, entry: Mapping[str, Any], connection: Connection
    ) -> RateResult | CompareResult:
        """Has one or several judges rate or compare replies.

        Args:
            kind: `ratings` or `comparisons`.
            replies: The file of replies.
            out: The file of ratings or comparisons.
            entry: The entry of the suite.
            connection: Opens the models.
        """
        model, service = JUDGES[kind]
        options = configured(model, kind, {"seed": self.suite.seed, **entry}, connection.options)
        result: RateResult | CompareResult = service(str(replies), options, out=out, client=connection)
        return result

    def judging(self, kind: str) -> Sequence[RatingConfig | ComparisonConfig]:
        """Returns the entries of the suite for ratings or comparisons."""
        entries: Sequence[RatingConfig | ComparisonConfig] = getattr(self.suite, kind)
        return entries

    def measure(self, out: Path, entry: Mapping[str, Any]) -> MetricsResult:
        """Computes text metrics of the replies."""
        given = {"device": self.connection.options.device, **entry}
        against = given.pop("train", None)
        if "question" in given:
            given["question"] = dict(each.split("=", 1) for each in given["question"])
        options = configured(MetricsOptions, "metrics", given)
        return metrics(str(self.replies), options, out=out, novelty_against=against)

    def files_of(self, name: str) -> list[Path]:
        """Returns the files of a system's step: replies, summary and card."""
        from fcconan.generation import card_path

        rows = self.out / REPLIES / f"{name}.parquet"
        return [rows, rows.with_name(f"{name}.json"), card_path(rows)]

    def key_of_system(self, name: str) -> str:
        """Returns a digest of all inputs of a system's replies, computed once."""
        suite, options = self.suite, self.systems[name]
        if name not in self._keys:
            self._keys[name] = cache_key(
                step="generate",
                options=with_content_hashes(options),
                models=[self.model(each) for each in models_in(options)],
                retriever=_makers_of(options),
                **self._epoch(options),
                dataset=self.dataset_content,
                chosen=[suite.config, suite.split, suite.limit, suite.column, suite.seed],
            )
        return self._keys[name]

    def key_of_judge(self, kind: str, options: Entry) -> str:
        """Returns a digest of all that ratings or comparisons depend on."""
        return cache_key(
            step=kind,
            options=with_content_hashes(options),
            seed=self.suite.seed,
            models=[self.model(name) for name in models_in(options)],
            replies=content_hash(self.replies),
            **self._epoch(options),
        )

    def _epoch(self, options: Entry) -> dict[str, int]:
        """Returns the epoch of the answers that a step with models uses; nothing where none was ever asked afresh."""
        epoch = self.connection.epoch() if models_in(options) else 0
        return {"epoch": epoch} if epoch else {}

    def model(self, name: str) -> Any:
        """Returns the configuration of a model, or the reason why it cannot be opened."""
        if name not in self._opened:
            try:
                self._opened[name] = self.connection.open(name).configuration
            except InputError as error:
                self._opened[name] = str(error)
        return self._opened[name]

    @property
    def models(self) -> list[str]:
        """The names of all models."""
        parts = [*self.systems.values(), *map(self.loaded.options, (*self.suite.ratings, *self.suite.comparisons))]
        return list(dict.fromkeys(name for options in parts for name in models_in(options)))


def step_of(system: str) -> str:
    """Returns the name of a system's step."""
    return f"{REPLIES}/{system}"


def models_in(options: Mapping[str, Any]) -> list[str]:
    """Returns the models that options name."""
    named = [options.get("model"), options.get("judge")]
    return [name for each in named if each for name in ([each] if isinstance(each, str) else each)]


def _makers_of(options: Entry) -> list[str]:
    """Returns digests of the files that define a retriever: the list of retrievers, and the module of a factory."""
    retriever = options.get("retriever") or ""
    if not ({"retriever", "top"} & options.keys() or options.get("strategy") == "retrieval"):
        return []
    files = [content_folder() / "benchmarks" / "retrieval.yaml"]
    module, colon, _ = retriever.partition(":")
    if colon and not Path(retriever).exists():
        try:
            spec = find_spec(module)
        except Exception:  # any error of a user's package; the dry run reports it
            spec = None
        if spec is not None and spec.has_location and spec.origin is not None:
            files.append(Path(spec.origin))
    return [content_hash(file) for file in files]


Row = Mapping[str, Any]


def rehearsed(suite: SuiteSteps, steps: StepCache, folder: Path, *, whole: bool) -> tuple[list[Row], bool]:
    """Does each step that asks a model, without asking.

    Args:
        suite: The steps of the suite.
        steps: The record; steps that are done are left out.
        folder: A folder for temporary files.
        whole: Whether all messages are taken, and not the first one only.

    Returns:
        The requests to models, and whether all replies are written already.

    Raises:
        InputError: A step cannot be done.
    """
    items = suite.items if whole else suite.items[:1]
    asking = suite.connection
    counting = asking.joined(asking.options.model_copy(update={"dry_run": True}))
    found: list[Row] = []
    rows: list[Row] = []
    are_written = True
    for name, entry in suite.systems.items():
        if steps.is_reusable(step_of(name), suite.key_of_system(name)):
            rows += complete_replies(name, items, suite.files_of(name)[0])
            continue
        out = folder / f"{name}.parquet"
        with _at(suite, "systems", name):
            if _asks_model(entry):
                are_written = False
                requests = suite.generate(name, out, counting, len(items)).rows()
                found += [{"step": step_of(name), **row} for row in requests]
                rows += placeholder_replies(name, items, _longest(entry))
            else:
                # A file of replies may answer other messages than the first one.
                suite.generate(name, out, asking, suite.suite.limit if "from" in entry else len(items))
                rows += complete_replies(name, items, out)
    replies, out = folder / "replies.parquet", folder / "judged.parquet"
    write_replies(replies, [dict(row) for row in rows])
    judging = [(kind, place, config) for kind in JUDGES for place, config in enumerate(suite.judging(kind))]
    for kind, place, config in judging:
        entry = suite.loaded.options(config)
        with _at(suite, kind, place):
            if kind == RATINGS:
                _check_task(entry.get("task", config.task))
            result = suite.judge(kind, replies, out, entry, counting)
            found += [{"step": f"{kind}/{place + 1}", **row} for row in result.rows()]
    return found, are_written


@contextmanager
def _at(suite: SuiteSteps, *location: str | int) -> Iterator[None]:
    """Adds to messages the line of the suite that they refer to."""
    try:
        yield
    except InputError as error:
        where, line = ".".join(map(str, location)), suite.loaded.line(*location)
        raise InputError(f"{suite.loaded.path}, line {line}: {where}: {error}") from error


def _asks_model(entry: Entry) -> bool:
    return "from" not in entry and entry.get("strategy") not in (RETRIEVAL, REFERENCE)


def _longest(entry: Entry) -> int:
    """Returns the largest number of tokens in a reply of a system."""
    from fcconan.generation import USUAL_DECODING, load_decoding

    preset = load_decoding(entry.get("decoding") or USUAL_DECODING)
    return entry.get("max_tokens") or preset.max_tokens or LONGEST


def _check_task(name: str) -> None:
    from fcconan.judging import load_rubric

    if load_rubric(name).labels:
        raise InputError(f"the task {name} has labels, and suites compare systems by grades: choose one with aspects")
