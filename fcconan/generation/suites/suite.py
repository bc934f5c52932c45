"""Suites of generators: YAML files with the systems that reply to a dataset, and the judges of their replies.

The keys of a system, of ratings, of comparisons and of metrics are the options of `fcconan generate`, `judge rate`,
`judge compare` and `metrics`, with `_` for `-`. Paths are relative to the suite's file.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from fcconan.data import Location, YamlFile, content_folder, explain_error, recipe_names
from fcconan.errors import InputError
from fcconan.generation.suites.steps import content_hash

LEXICAL = "lexical"
_NAME = re.compile(r"[^\W_][\w.+=-]*")
_FILES = (".yaml", ".yml", ".jinja", ".json", ".csv", ".jsonl", ".parquet")
# Keys whose values are paths: a file or folder; a dataset with config and split, or MODEL:LABEL; a file or a name of
# the catalogue; a model, which may be a folder. Chat models are `local:FOLDER` or `replay:FILE`.
_PATHS = ("background", "prompt", "steps")
_PARTS = ("from", "pool", "train", "toxicity")
_OR_NAMES = ("task", "format", "judge_task")
_MODELS = ("encoder", "retriever", "bertscore", "bartscore", "unieval")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def options(self) -> dict[str, Any]:
        """Returns the given keys with their values in the file."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class SystemConfig(_Strict):
    """A system: a model with a prompt, a retriever, the references, or imported replies."""

    title: str = ""
    model: str | None = None
    strategy: str | None = None
    task: str | None = None
    format: str | None = None
    decoding: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    stop: list[str] | None = None
    seed: int | None = Field(None, ge=-1)
    candidates: int | None = Field(None, ge=1)
    pick: str | None = None
    judge: str | None = None
    judge_task: str | None = None
    judge_aspect: list[str] | None = None
    examples: int | None = Field(None, ge=1)
    encoder: str | None = None
    retriever: str | None = None
    top: int | None = Field(None, ge=1)
    own: bool = False
    pool: str | None = None
    background: str | None = None
    passages: int | None = Field(None, ge=1)
    made: str | None = Field(None, alias="from")
    system: str | None = None
    column: dict[str, str] | None = None

    @model_validator(mode="after")
    def _of_imports(self) -> Self:
        if self.made is None and (self.system is not None or self.column is not None):
            raise ValueError("`system` and `column` are options of `from`: add `from`, or remove them")
        return self


class MetricsConfig(_Strict):
    """Text metrics; a list in the suite is the value of `metric`."""

    metric: list[str] | None = None
    bertscore: str | None = None
    bartscore: str | None = None
    toxicity: str | None = None
    unieval: str | None = None
    question: list[str] | None = None
    train: str | None = None
    several: Literal["max", "mean", "joint"] = "max"

    @field_validator("metric")
    @classmethod
    def _known(cls, names: list[str] | None) -> list[str] | None:
        from fcconan.scoring import TEXT_METRICS

        unknown = next((name for name in names or () if name not in (*TEXT_METRICS, "novelty")), None)
        if unknown is not None:
            raise ValueError(f"there is no metric {unknown!r}: choose from {', '.join(TEXT_METRICS)}, novelty")
        return names

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if "novelty" in (self.metric or ()) and self.train is None:
            raise ValueError("novelty needs the CNs of the training data: give them as `train`")
        if (self.unieval is None) != (not self.question):
            raise ValueError("`unieval` and `question` go together: give both, or leave them out")
        return self


class RatingConfig(_Strict):
    """A judge of replies, or several; `lexical` is the baseline without a model."""

    model: str | list[str]
    task: str = "multi-aspect"
    strategy: str | None = None
    aspect: list[str] | None = None
    prompt: str | None = None
    steps: list[str] | None = None
    samples: int | None = Field(None, ge=1)
    logprobs: bool = False
    temperature: float | None = None
    max_tokens: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=-1)
    background: str | None = None
    passages: int | None = Field(None, ge=1)
    panel: str | None = None
    name: str | None = None


class ComparisonConfig(_Strict):
    """A judge of pairs of replies."""

    model: str
    protocol: str = "choice"
    task: str = "pairwise"
    prompt: str | None = None
    explain: bool = False
    reference: bool = False
    orders: str = "both"
    disagreement: str = "tie"
    one_order: str = "invalid"
    budget: int | None = Field(None, ge=1)
    context: int | None = Field(None, ge=1)
    overflow: str = "shorten"
    temperature: float | None = None
    max_tokens: int | None = Field(None, ge=1)
    seed: int | None = Field(None, ge=-1)
    name: str | None = None


class TournamentConfig(_Strict):
    """Settings of the ranking by verdicts."""

    majority: bool = False
    regularisation: float = Field(0.01, gt=0)


class GeneratorSuite(_Strict):
    """A suite.

    Attributes:
        name: Name of the suite.
        title: Title of the report.
        dataset: A folder that `fcconan build` wrote, a file of messages, or the name of a dataset, which is built.
        config: Config of the dataset with the messages.
        split: Split of the config.
        column: Name of a column here -> its name in the file of messages.
        limit: Maximum number of messages.
        seed: Default seed of all random choices.
        resamples: Number of bootstrap samples over items; 0 for no intervals.
        systems: Name -> system; the names are used in rows.
        metrics: Text metrics; None for none.
        ratings: Judges of replies.
        comparisons: Judges of pairs of replies.
        tournament: Settings of the ranking by verdicts.
    """

    name: str = Field(min_length=1)
    title: str = ""
    dataset: str = Field(min_length=1)
    config: str | None = None
    split: str | None = None
    column: dict[str, str] | None = None
    limit: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)
    resamples: int = Field(10_000, ge=0)
    systems: dict[str, SystemConfig] = Field(min_length=1)
    metrics: MetricsConfig | None = None
    ratings: list[RatingConfig] = Field(default_factory=list)
    comparisons: list[ComparisonConfig] = Field(default_factory=list)
    tournament: TournamentConfig = TournamentConfig()

    @field_validator("metrics", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        return {"metric": given} if isinstance(given, list) else given

    @field_validator("systems")
    @classmethod
    def _named(cls, systems: dict[str, SystemConfig]) -> dict[str, SystemConfig]:
        odd = next((name for name in systems if not _NAME.fullmatch(name)), None)
        if odd is not None:
            raise ValueError(f"the system {odd!r} is also the name of a file: use only letters, digits and - _ . + =")
        folded = [name.casefold() for name in systems]
        alike = next((name for name in systems if folded.count(name.casefold()) > 1), None)
        if alike is not None:
            raise ValueError(f"names of systems differ from {alike!r} only in capital letters: rename one")
        return systems


class LoadedSuite:
    """A suite with its file: paths are relative to the file, and error messages name its lines.

    Attributes:
        path: The file.
        suite: Its content.
    """

    def __init__(self, path: Path) -> None:
        """Reads the file.

        Raises:
            InputError: The file cannot be read, a key or value is invalid, or a path does not exist; the message names
                the line.
        """
        self.path = path
        self._file = YamlFile(path)
        try:
            self.suite = GeneratorSuite.model_validate(self._file.data)
        except ValidationError as error:
            raise InputError(explain_error(self._file, error, whole="the suite", known_keys=_known_keys)) from error
        self._check_files()

    @property
    def dataset(self) -> Path | None:
        """The folder or file of the dataset; None if the suite names a dataset to build."""
        place = _beside(self.suite.dataset, self.path.parent)
        return None if not place.exists() and self.suite.dataset in recipe_names() else place

    def options(self, config: _Strict) -> dict[str, Any]:
        """Returns the given keys of a part of the suite, with paths relative to the current folder."""
        return {key: self._resolved(key, value) for key, value in config.options().items()}

    def read(self) -> list[Path]:
        """Returns all files and folders that the suite names, and the file of the suite."""
        return [self.path, *(path for _, path in self._named())]

    def line(self, *location: str | int) -> int:
        """Returns the line number of a value."""
        return self._file.line(location)

    def _resolved(self, key: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._resolved(key, each) for each in value]
        found = _located(key, value, self.path.parent)
        return value if found is None else "".join(map(str, found))

    def _named(self) -> Iterator[tuple[Location, Path]]:
        """Yields the location and path of each file that the suite names."""
        suite, folder = self.suite, self.path.parent
        if self.dataset is not None:
            yield ("dataset",), self.dataset
        parts: list[tuple[Location, _Strict]] = [(("systems", name), one) for name, one in suite.systems.items()]
        parts += [(("ratings", place), one) for place, one in enumerate(suite.ratings)]
        parts += [(("comparisons", place), one) for place, one in enumerate(suite.comparisons)]
        parts += [] if suite.metrics is None else [(("metrics",), suite.metrics)]
        for where, part in parts:
            for key, value in part.options().items():
                for each in value if isinstance(value, list) else [value]:
                    if (found := _located(key, each, folder)) is not None:
                        yield (*where, key), found[1]

    def _check_files(self) -> None:
        lost = [(where, path) for where, path in self._named() if not path.exists()]
        if lost:
            where, path = lost[0]
            names = f", or a dataset of {', '.join(recipe_names())}" if where == ("dataset",) else ""
            more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
            raise InputError(
                f"{self.path}, line {self._file.line(where)}: {'.'.join(map(str, where))}: {path} does not exist; "
                f"give a path relative to the folder of the suite{names}{more}"
            )


def suite_path(given: str) -> Path:
    """Returns the file of a suite: a path, or the name of one in `benchmarks/`.

    Raises:
        InputError: The file is missing.
    """
    path = Path(given)
    if path.is_file():
        return path
    known = content_folder() / "benchmarks" / f"{given}.yaml"
    if re.fullmatch(r"[\w-]+", given) and known.is_file():
        return known
    raise InputError(f"there is no suite {given}: give a file such as benchmarks/generation.yaml")


def _located(key: str, value: Any, folder: Path) -> tuple[str, Path, str] | None:
    """Splits a value into prefix, path and suffix; None if it has no path.

    Args:
        key: Key of the value.
        value: Value in the file, or of `LoadedSuite.options`.
        folder: Folder of relative paths.
    """
    if not isinstance(value, str):
        return None
    before, text, after = "", value, ""
    if key in ("model", "judge"):
        kind, _, text = value.partition(":")
        before = f"{kind}:"
        is_path = kind == "replay" or (kind == "local" and _is_folder(text, folder))
    elif key in _PARTS:
        pieces = value.split(":")
        ends = range(len(pieces), 0, -1)
        end = next((end for end in ends if _beside(":".join(pieces[:end]), folder).exists()), 1)
        text, after = ":".join(pieces[:end]), "".join(f":{piece}" for piece in pieces[end:])
        is_path = key != "toxicity" or _is_folder(text, folder)
    elif key in _MODELS:
        is_path = _is_folder(value, folder)
    else:
        is_path = key in _PATHS or (key in _OR_NAMES and ("/" in value or value.endswith(_FILES)))
    return (before, _beside(text, folder), after) if is_path and text else None


def _beside(text: str, folder: Path) -> Path:
    return folder / Path(text).expanduser()


def _is_folder(text: str, folder: Path) -> bool:
    return text.startswith((".", "/", "~")) or _beside(text, folder).is_dir()


def with_content_hashes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a part of the suite, with hashes of the content instead of paths."""
    return {
        key: [_content(key, each) for each in (value if isinstance(value, list) else [value])]
        for key, value in options.items()
        if key != "title"
    }


def _content(key: str, value: Any) -> Any:
    """Returns a value with a content hash instead of a path; the configuration of models has their hashes."""
    found = None if key in ("model", "judge") else _located(key, value, Path())
    return value if found is None else [found[2], content_hash(found[1])]


def _known_keys(location: Location) -> Iterable[str]:
    parts: Mapping[Any, type[_Strict]] = {
        "systems": SystemConfig,
        "metrics": MetricsConfig,
        "ratings": RatingConfig,
        "comparisons": ComparisonConfig,
        "tournament": TournamentConfig,
    }
    model = parts.get(location[0], GeneratorSuite) if len(location) > 1 else GeneratorSuite
    return [field.alias or name for name, field in model.model_fields.items()]
